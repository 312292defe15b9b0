"""
Clusters of incomplete points
=============================

A Gaussian mixture in which a fifth of the coordinates are missing. A point with one coordinate
still belongs somewhere; it is drawn on the edge where the other would be read off.
"""

import matplotlib.pyplot as plt
import numpy as np

import lacunary as lac

rng = np.random.default_rng(2)
points = np.vstack([rng.normal(centre, 0.8, size=(80, 2)) for centre in ([0, 0], [4, 1], [1, 4])])
table = lac.make_holes(lac.read({"x": points[:, 0], "y": points[:, 1]}), 0.2, rng=2)
found = lac.fit_mixture(table, components=(1, 2, 3, 4), structure="complete")
belongs = found.mixture.responsibilities(table).argmax(axis=1)

with plt.rc_context(lac.FigureStyle.settings):
    picture, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
    seen = np.where(np.isnan(table.reals), -2.6, table.reals)
    for k, colour in zip(range(belongs.max() + 1), lac.FigureStyle.lines, strict=False):
        whole = (belongs == k) & ~table.holes.any(axis=1)
        part = (belongs == k) & table.holes.any(axis=1)
        axes.scatter(*seen[whole].T, s=22, color=colour, label=f"group {k + 1}")
        axes.scatter(*seen[part].T, s=26, facecolors="none", edgecolors=colour)
    axes.set(xlabel="x", ylabel="y", title="Open circles miss a coordinate")
    axes.legend(frameon=False, loc="upper right")
plt.close(picture)
