"""Figures of the reproduction of TMCH98."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from lacunary.report.figures import ACCENT, INK, LINES, MARKS, MUTED, STEADY, STYLE

__all__ = ["Face", "Panel", "Scored", "faces", "journey", "predictive", "recovery", "synchrony", "votes"]

SIDE = 8
"""Pixels of an image's side."""

CHEESEMAN_STUTZ = "Cheeseman\N{EN DASH}Stutz"

GAP = 1
"""Pixels between two images."""


class Scored(NamedTuple):
    """A mean log predictive score and its standard error over what it was averaged over."""

    value: float
    error: float


class Face(NamedTuple):
    """A component: its weight, its mean, and images drawn from it, grey values of 64 pixels each."""

    weight: float
    mean: Sequence[int]
    samples: Sequence[Sequence[int]]


class Panel(NamedTuple):
    """Both scores against the number of components."""

    title: str
    components: Sequence[int]
    evidence: Sequence[float]
    prediction: Sequence[float]


def predictive(scores: Mapping[str, Mapping[str, Scored]], label: str) -> Figure:
    """Draw predictive scores by class of mixture (TMCH98, Figures 2 and 5).

    Parameters
    ----------
    scores
        By class of mixture: by data set, the score.
    label
        What the data sets are.
    """
    names = list(dict.fromkeys(name for found in scores.values() for name in found))
    with rc_context(STYLE):
        figure = Figure(figsize=(max(5.0, 0.62 * len(names) + 2.6), 4.0), layout="constrained")
        axes = figure.add_subplot()
        for place, (kind, found) in enumerate(scores.items()):
            x = np.array([names.index(name) for name in found]) + 0.16 * (place - (len(scores) - 1) / 2)
            axes.errorbar(
                x,
                [s.value for s in found.values()],
                yerr=[s.error for s in found.values()],
                fmt=MARKS[place],
                color=LINES[place],
                markersize=7,
                capsize=2,
                label=kind,
            )
        axes.set_xticks(range(len(names)), names)
        axes.set_xlim(-0.6, len(names) - 0.4)
        axes.set_xlabel(label)
        axes.set_ylabel("log predictive score (nats a row)")
        axes.yaxis.set_major_formatter(FuncFormatter(_signed))
        axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
        figure.legend(loc="outside upper center", ncols=len(scores), frameon=False)
        return figure


def faces(kinds: Mapping[str, Sequence[Face]]) -> Figure:
    """Draw the components' means and samples as images, one class of mixtures beside another (Figure 3)."""
    rows = 1 + max(len(face.samples) for found in kinds.values() for face in found)
    counts = [len(found) for found in kinds.values()]
    with rc_context(STYLE):
        figure = Figure(figsize=(0.56 * sum(counts) + 1.3, 0.56 * rows + 0.8), layout="constrained")
        # Widths in pixels of the images, so that all images are drawn equally large.
        widths = [many * (SIDE + GAP) - GAP for many in counts]
        grid = figure.subplots(1, len(kinds), squeeze=False, width_ratios=widths)[0]
        for place, (axes, (kind, found)) in enumerate(zip(grid, kinds.items(), strict=True)):
            axes.imshow(_montage(found, rows), cmap="gray_r", vmin=0, vmax=255, interpolation="nearest")
            _name_images(axes, found, rows)
            axes.set_title(kind, fontsize=10)
            if place:
                axes.set_yticks([])
        return figure


def _montage(found: Sequence[Face], rows: int) -> NDArray[np.float64]:
    """Return all images in one, the rest blank: a column for each component, its mean on top."""
    step = SIDE + GAP
    whole = np.full((rows * step - GAP, len(found) * step - GAP), np.nan)
    for column, face in enumerate(found):
        for row, image in enumerate((face.mean, *face.samples)):
            top, left = row * step, column * step
            whole[top : top + SIDE, left : left + SIDE] = np.reshape(image, (SIDE, SIDE))
    return whole


def _name_images(axes: Axes, found: Sequence[Face], rows: int) -> None:
    step = SIDE + GAP
    middle = (SIDE - 1) / 2
    axes.set_xticks(
        [column * step + middle for column in range(len(found))], [f"{face.weight:.2f}" for face in found]
    )
    axes.xaxis.tick_top()
    axes.set_yticks([row * step + middle for row in (0, *range(1, rows))], ["mean", *["sample"] * (rows - 1)])
    axes.tick_params(length=0, labelsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for column in range(len(found)):
        for row in range(rows):
            left, top = column * step - 0.5, row * step - 0.5
            axes.plot(
                [left, left + SIDE, left + SIDE, left, left],
                [top, top, top + SIDE, top + SIDE, top],
                color=INK if row == 0 else MUTED,
                linewidth=0.8,
            )


def journey(values: Sequence[float], searches: Sequence[int], climbs: Sequence[int]) -> Figure:
    """Draw the Cheeseman–Stutz score along the search (Figure 4).

    Parameters
    ----------
    values
        After every arc change.
    searches
        Changes at which a search begins, EM having been run before.
    climbs
        Changes at which the search turns to another component.
    """
    y = np.asarray(values)
    falls = np.flatnonzero(np.diff(y) < 0) + 1
    falls = np.array([i for i in falls if i not in searches], dtype=np.int64)
    with rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for at in searches:
            axes.axvline(
                at + 1, color=MUTED, linewidth=0.8, label="EM before a new search" if at == 0 else None
            )
        for at in climbs:
            if at not in searches:
                first = at == next(c for c in climbs if c not in searches)
                label = "search turns to the next component" if first else None
                axes.axvline(at + 1, color=MUTED, linewidth=0.8, linestyle=":", label=label)
        axes.plot(np.arange(1, len(y) + 1), y, color=STEADY, linewidth=1.4, label=CHEESEMAN_STUTZ)
        axes.plot(falls + 1, y[falls], "v", color=ACCENT, markersize=3.5, label="it falls")
        axes.set_xlabel("arc changes")
        axes.set_ylabel("log evidence (nats)")
        axes.yaxis.set_major_formatter(FuncFormatter(_signed))
        figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
        return figure


def synchrony(panels: Sequence[Panel]) -> Figure:
    """Draw both scores against the number of components, each as its distance below its best."""
    columns = min(5, len(panels))
    lines = -(-len(panels) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(max(4.6, 2.3 * columns), 2.2 * lines + 0.5), layout="constrained")
        grid = figure.subplots(lines, columns, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for place, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
            for order, (name, values) in enumerate(
                ((CHEESEMAN_STUTZ, panel.evidence), ("predictive score", panel.prediction))
            ):
                y = np.asarray(values)
                span = max(float(y.max() - y.min()), 1e-12)
                scaled, top = (y - y.min()) / span, int(np.argmax(y))
                style = {"color": LINES[order], "linewidth": 1.3, "markersize": 3.5}
                axes.plot(
                    panel.components, scaled, "-" + MARKS[order], label=name if not place else None, **style
                )
                axes.plot(
                    panel.components[top],
                    1.0,
                    MARKS[order],
                    color=LINES[order],
                    markersize=9,
                    markeredgecolor=INK,
                )
            axes.set_title(panel.title, fontsize=10)
            axes.set_ylim(-0.05, 1.12)
            axes.set_yticks([0, 1], ["worst", "best"])
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.supxlabel("components", fontsize=10)
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        return figure


def recovery(
    sizes: Sequence[int], found: Sequence[Sequence[Sequence[int]]], printed: Sequence[Sequence[int | None]]
) -> Figure:
    """Draw arc differences against the rows, a panel for each component (Table 2).

    Parameters
    ----------
    sizes
        Numbers of rows.
    found
        By component and size: arc differences over seeds.
    printed
        By component and size: the paper's, None where the component was not found.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.5), layout="constrained")
        grid = figure.subplots(1, 3, sharey=True)
        for number, axes in enumerate(grid):
            have = [(x, values) for x, values in zip(sizes, found[number], strict=True) if values]
            for x, values in have:
                seen, times = np.unique(values, return_counts=True)
                axes.scatter(
                    np.full(len(seen), x), seen, s=18 * times, color=STEADY, alpha=0.45, linewidths=0
                )
            if have:
                axes.plot(
                    [x for x, _ in have], [np.mean(v) for _, v in have], color=STEADY, label="ours, mean"
                )
            theirs = [(x, p) for x, p in zip(sizes, printed[number], strict=True) if p is not None]
            axes.plot(*zip(*theirs, strict=True), "X", color=ACCENT, markersize=8, label="printed")
            axes.set_xscale("log")
            axes.set_xticks(sizes, [str(s) for s in sizes], rotation=45)
            axes.minorticks_off()
            axes.set_title(f"COMP{number + 1}", fontsize=10)
            axes.set_xlabel("rows")
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
            axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
        grid[0].set_ylabel("arc differences")
        grid[-1].legend(frameon=False, fontsize=9)
        return figure


def votes(curves: Mapping[str, Sequence[tuple[int, float]]]) -> Figure:
    """Draw the Cheeseman–Stutz score of discrete mixtures against the number of components."""
    with rc_context(STYLE):
        figure = Figure(figsize=(5.8, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for place, (name, curve) in enumerate(curves.items()):
            x, y = zip(*curve, strict=True)
            axes.plot(x, y, "-" + MARKS[place], color=LINES[place], label=name)
        # A few components without arcs lie so far below that nothing else could be told apart.
        low, top = (float(f(value for _, value in next(iter(curves.values())))) for f in (min, max))
        axes.set_ylim(low - 0.6 * (top - low), top + 0.1 * (top - low))
        axes.set_xlabel("components")
        axes.set_ylabel("log evidence (nats)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(_signed))
        axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
        axes.legend(frameon=False, fontsize=9)
        return figure


def _signed(value: float, _: object) -> str:
    return f"{value:,.6g}".replace("-", "\N{MINUS SIGN}").replace(",", " ")
