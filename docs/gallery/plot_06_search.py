"""
Which columns depend on which?
==============================

A search over graphs, with a tenth of the cells missing: structural EM fills them with what the
present graph expects, finds a better graph, and goes on until nothing improves. Thick arcs are
strong: what the score would lose without them.
"""

import lacunary as lac

truth = lac.asia()
rows = lac.make_holes(truth.sample(1000, rng=1), 0.1, rng=1)
found = lac.search(rows)
picture = found.drawing()

# %%
# The rows were drawn from a known network, so that the distance can be told: pairs of variables
# joined in another way.

lac.structural_hamming_distance(truth.dag, found.dag)
