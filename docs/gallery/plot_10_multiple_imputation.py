"""
Filling in, without pretending to know
======================================

Income is missing more often for the old, and the old earn more: the mean of what was observed is
too low. Filling each cell with its mean mends the estimate but claims to know too much; several
drawn copies, pooled by Rubin's rules, have an interval that counts what was missing.
"""

import matplotlib.pyplot as plt
import numpy as np

import lacunary as lac

rng = np.random.default_rng(5)
age = rng.uniform(20, 70, size=400)
income = 10 + 0.6 * age + rng.normal(0, 6, size=400)
told = income.copy()
told[rng.random(400) < 1 / (1 + np.exp(-(age - 50) / 6))] = np.nan
table = lac.read({"age": age, "income": told})


def mean(frame):
    values = np.asarray(frame["income"], dtype=float)
    return {"mean": (values.mean(), values.std(ddof=1) / len(values) ** 0.5)}


copies = lac.impute(
    lac.fit("age -> income", table).belief, table, how="draw", copies=20, copy_column="copy", rng=1
)
pooled = lac.pool(copies, mean, library="dict")["mean"]
seen = told[~np.isnan(told)]

with plt.rc_context(lac.FigureStyle.settings):
    picture, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
    rows = [
        ("complete rows only", seen.mean(), 1.96 * seen.std(ddof=1) / len(seen) ** 0.5),
        ("20 copies, pooled", pooled.estimate, (pooled.high - pooled.low) / 2),
    ]
    for place, (_, estimate, half) in enumerate(rows):
        axes.errorbar(estimate, place, xerr=half, fmt="o", color=lac.FigureStyle.steady, capsize=4)
    axes.axvline(income.mean(), color=lac.FigureStyle.accent, label="had nothing been missing")
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows])
    axes.set(ylim=(-0.6, 1.6), xlabel="mean income")
    axes.legend(frameon=False, loc="lower right")
plt.close(picture)
