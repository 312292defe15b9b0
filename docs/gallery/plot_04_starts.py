"""
Does EM find the same top from everywhere?
==========================================

EM climbs to *a* maximum. Many starts climb together as one batch; where only one of them reaches
the best, more should be asked for.
"""

import lacunary as lac

votes = lac.house_votes()
found = lac.fit(lac.naive_bayes(votes, hidden="bloc", states=4), votes, starts=30)
climbs = found.plot("traces")

# %%
# The heights at which the thirty starts ended.

ends = found.plot("starts")
