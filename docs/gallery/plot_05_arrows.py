"""
A graph from arrows
===================

A graph is written as it is drawn. Hidden variables have a dashed edge, continuous ones are boxes.
"""

import lacunary as lac

graph = lac.dag(
    "smoking -> cancer bronchitis; gene -> smoking cancer; cancer bronchitis -> cough; cancer -> size",
    hidden=["gene"],
    kinds={"size": "continuous"},
)
picture = graph.drawing()

# %%
# What it says about independence:

print(lac.independencies(graph))
