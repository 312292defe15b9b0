"""Figures of mixtures: how many components, what they are like, and how they were learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lacunary.infer.mixture import Mixture
from lacunary.mixture.found import MixtureFit
from lacunary.report.figures_style import (
    ACCENT,
    MUTED,
    STEADY,
    STYLE,
    Sheet,
    canvas,
    heat_map,
    in_nats,
    numbered,
    rule,
)
from lacunary.report.mixture import features, tried
from lacunary.report.words import method, minus
from lacunary.structure.plan import Tick

__all__ = ["course", "numbers", "profiles"]

MOST = 50
"""Rows of the figure of profiles: those that tell most."""

FAR = 2.0
"""Standard deviations from the whole at which the colour is full."""

FLATTENED = 6.0
"""An axis is cut where the worst lies so many times farther below the best than the middle does."""


def numbers(found: MixtureFit) -> Figure:
    """Draw the estimate against the number of components: the best start as a line, the others as dots."""
    best = tried(found)
    with rc_context(STYLE):
        figure, axes = canvas(6.8, 3.6)
        asked, values = [t.asked for t in found.path], [t.estimate.value for t in found.path]
        axes.scatter(asked, values, color=MUTED, s=18, zorder=2)
        axes.plot([t.asked for t in best], [t.estimate for t in best], color=STEADY, marker="o", zorder=3)
        chosen = next((t for t in best if t.chosen), best[0])
        axes.scatter(
            [chosen.asked], [chosen.estimate], s=150, facecolors="none", edgecolors=ACCENT, linewidths=2.0
        )
        axes.annotate(
            f"{minus(chosen.estimate, 1)}",
            (chosen.asked, chosen.estimate),
            (0, -20),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
        axes.margins(x=0.08, y=0.18)
        axes.set_xlabel("number of components")
        axes.set_ylabel("log evidence (nats; higher is better)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        in_nats(axes.yaxis)
        rule(axes)
        return figure


def profiles(mixture: Mixture) -> Figure:
    """Draw every mean and chance in every component; the colour says how far it is from the whole."""
    rows = features(mixture)[:MOST]
    apart = np.array([feature.apart for feature in rows])
    many = len(mixture.components)
    shares = [f"{c + 1}\n{mixture.weights[c]:.0%}" for c in range(many)]
    heads = "component, and its weight", [*shares, "all"], [feature.name for feature in rows]

    def said(row: int, column: int) -> str:
        return rows[row].said(float(rows[row].values[column]))

    with rc_context(STYLE):
        figure, axes = canvas(max(6.4, 3.6 + 0.85 * (many + 1)), max(3.0, 1.5 + 0.34 * len(rows)))
        bar = heat_map(axes, apart, said, (-FAR, FAR), heads)
        for row, feature in enumerate(rows):
            axes.text(many, row, feature.said(feature.overall), ha="center", va="center", fontsize=9)
        axes.set_xlim(-0.5, many + 0.5)
        bar.set_ticks([-FAR, -FAR / 2, 0.0, FAR / 2, FAR])
        bar.set_label("standard deviations from the whole")
        numbered(bar.ax.yaxis, lambda value: minus(value, 0))
        return figure


def course(ticks: Sequence[Tick]) -> Figure:
    """Draw how one mixture was learned: the objective of EM, estimates, and the arcs, step by step."""
    steps = np.arange(1, len(ticks) + 1)
    em = np.array([tick.phase == "em" for tick in ticks], dtype=bool)
    scores = np.array([tick.objective for tick in ticks])
    weighed = [(i, t.cheeseman_stutz) for i, t in zip(steps, ticks, strict=True) if t.cheeseman_stutz]
    arcs = [tick.arcs for tick in ticks]
    learned = len(set(arcs)) > 1
    with rc_context(STYLE):
        figure = Sheet(figsize=(6.8, 4.6 if learned else 3.0), layout="constrained")
        panels = figure.subplots(2 if learned else 1, 1, sharex=True, squeeze=False)[:, 0]
        panels[0].plot(steps[em], scores[em], color=STEADY, label="objective of EM")
        if weighed:
            panels[0].plot(
                *zip(*weighed, strict=True),
                color=ACCENT,
                marker="o",
                markersize=4,
                label=method("cheeseman-stutz"),
            )
            panels[0].legend(frameon=False, fontsize=9)
        lowest = _floor(scores[em])
        panels[0].set_ylim(lowest, None)
        panels[0].set_ylabel("nats")
        in_nats(panels[0].yaxis)
        if learned:
            panels[1].step(steps, arcs, where="post", color=STEADY)
            panels[1].set_ylabel("arcs in all")
            panels[1].yaxis.set_major_locator(MaxNLocator(integer=True))
        panels[-1].set_xlabel("step")
        for axes in panels:
            axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
        return figure


def _floor(scores: np.ndarray) -> float | None:
    """Return where the axis begins if the first steps, far below the rest, would flatten them; or nothing."""
    below = scores.max() - scores[np.isfinite(scores)]
    middle = float(np.median(below))
    if below.max() <= FLATTENED * middle or middle <= 0:
        return None
    return float(scores.max() - FLATTENED * middle)
