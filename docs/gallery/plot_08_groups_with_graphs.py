"""
Groups with different graphs
============================

Two groups of rows in which the same three columns hang together in different ways: in the one
*dose* drives *response*, in the other it does not. A mixture of networks finds the groups and a
graph for each.
"""

import numpy as np

import lacunary as lac

rng = np.random.default_rng(0)
dose, mood = rng.normal(size=(2, 400))
takes = np.arange(400) < 200
table = lac.read(
    {
        "dose": dose,
        "mood": mood + np.where(takes, 0.0, 4.0),
        "response": np.where(takes, 2.0 * dose, -1.5 * mood) + 0.4 * rng.normal(size=400),
    }
)
found = lac.fit_mixture(lac.make_holes(table, 0.1, rng=0), components=(1, 2))
print(found)

# %%
first = found.mixture.components[0].dag.drawing(title="The first group")

# %%
second = found.mixture.components[1].dag.drawing(title="The second group")
