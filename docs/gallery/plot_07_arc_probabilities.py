"""
How sure is each arc?
=====================

One graph is seldom the only one that explains a table. Averaged over all graphs, every link has a
probability, and where it is there, each direction has one too.
"""

import lacunary as lac

rows = lac.asia().sample(400, rng=3).select(["smoke", "lung", "bronc", "xray", "dysp"])
found = lac.arc_probabilities(rows)
picture = found.plot()

# %%
print(found)
