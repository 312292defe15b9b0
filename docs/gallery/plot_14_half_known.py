"""
A density given half a row
==========================

A network with discrete and continuous variables answers with a mixture of normals. What a blood
value is, before and after the group is known, and when another value was measured.
"""

import matplotlib.pyplot as plt
import numpy as np

import lacunary as lac

graph = lac.dag("ill -> iron; ill iron -> count", kinds={"iron": "continuous", "count": "continuous"})
network = lac.Network.from_tables(
    graph,
    {
        "ill": [0.7, 0.3],
        "iron": lac.Regression([100.0, 45.0], variance=[225.0, 225.0]),
        "count": lac.Regression([8.0, 6.0], [[0.06], [0.05]], [0.5, 0.5]),
    },
)
grid = np.linspace(4, 18, 300)
questions = {"nothing known": {}, "ill": {"ill": 1}, "iron is 80": {"iron": 80.0}}
with plt.rc_context(lac.FigureStyle.settings):
    picture, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for (label, given), colour in zip(questions.items(), lac.FigureStyle.lines, strict=False):
        density = np.exp(network.query("count", given=given).log_density(grid))
        axes.plot(grid, density, label=label, color=colour)
    axes.set(xlabel="count", ylabel="density")
    axes.legend(frameon=False)
plt.close(picture)
