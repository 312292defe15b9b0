"""
What predicts that a value is missing?
======================================

Before filling in, look at who did not answer. Bars are Cramér's V between *being missing* and
another column.
"""

import matplotlib.pyplot as plt

import lacunary as lac

votes = lac.house_votes()
found = lac.missingness(votes)
most = [one for one in found.predictors if not one.by.endswith("is missing")][:8]
with plt.rc_context(lac.FigureStyle.settings):
    picture, axes = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
    axes.barh(
        [f"{one.missing} by {one.by}"[:52] for one in most],
        [one.size for one in most],
        color=lac.FigureStyle.steady,
    )
    axes.invert_yaxis()
    axes.set(xlabel="strength (Cramér's V)")
plt.close(picture)
