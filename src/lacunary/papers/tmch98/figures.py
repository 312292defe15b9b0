"""Figures of the reproduction of TMCH98."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from lacunary import FigureStyle
from lacunary.papers import Drawing, Results, error_of_mean
from lacunary.papers.figures import INK, LINES, MARKS, MUTED, finish, sheet, signed
from lacunary.papers.tmch98.cars import car_scores
from lacunary.papers.tmch98.compare import chosen, grown, peaks
from lacunary.papers.tmch98.discrete import vote_curves
from lacunary.papers.tmch98.recovery import differences
from lacunary.papers.tmch98.seven import Journey, faces_of, journeys
from lacunary.papers.tmch98.tables import KINDS, SIZES, TABLE_2, VEHICLES

ACCENT, STEADY = FigureStyle.accent, FigureStyle.steady

SIDE, GAP = 8, 1
"""Pixels of an image's side, and between two images."""

CHEESEMAN_STUTZ = "Cheeseman\N{EN DASH}Stutz"

Scores = dict[str, dict[str, tuple[float, float]]]
"""By class of mixture and data set: a mean log predictive score and its standard error."""

Face = Mapping[str, Any]
"""A component: its weight, its mean, and samples drawn from it, grey values of 64 pixels each."""


def drawings(results: Results) -> Iterator[Drawing]:
    """Return the figures for which there is something to draw."""
    lines = {n: {d: chosen(r) for d, r in grown(results, kind).items()} for kind, n in KINDS.items()}
    digits = {n: {f"“{d}”": (x["score"], x["spread"]) for d, x in own.items()} for n, own in lines.items()}
    if any(digits.values()):
        caption = "Log predictive scores of 400 test images of each digit; one standard error over images."
        yield Drawing("figure-2", "Figure 2", caption, predictive(digits, "digit"))
    portraits = faces_of(results)
    if portraits:
        caption = "Components of the mixtures for “7”: weight, mean, and four samples of each."
        yield Drawing("figure-3", "Figure 3", caption, faces(portraits))
    here = journeys(results).get((7, 0))
    if here is not None:
        caption = (
            "Cheeseman–Stutz after every arc change on the way to a mixture of three for “7”. "
            f"It falls after {here.falls} of {len(here.values)}; in print after 149 of 964."
        )
        yield Drawing("figure-4", "Figure 4", caption, journey(here))
    for variant, name, told in (
        ("64", "figure-5", "with the prior of print"),
        ("print", "figure-5-print", "with the prior and the starts of print"),
        ("opel", "figure-5-opel", "with means expected at the Opel's"),
    ):
        cars = {
            kind: {car: (float(np.mean(each)), error_of_mean(each)) for car, each in found.items()}
            for kind, found in car_scores(results, variant).items()
        }
        if all(len(own) == len(VEHICLES) for own in cars.values()):
            caption = f"Log predictive scores of the vehicles, {told}; one standard error over splits."
            yield Drawing(name, f"Figure 5, {told}", caption, predictive(cars, "vehicle"))
    yield from _smaller(results)


def _smaller(results: Results) -> Iterator[Drawing]:
    found = [[differences(results, rows, c) for rows in SIZES] for c in range(3)]
    if any(any(each) for each in found):
        caption = (
            "Arc differences of the three largest components; discs are seeds, the larger the more of them."
        )
        yield Drawing("table-2", "Table 2", caption, recovery(found))
    curves = peaks(results)[1]
    if curves:
        caption = (
            "Both scores of MDAG/n against the number of components, from worst to best; peaks are large."
        )
        yield Drawing("peaks", "Do the two scores peak together?", caption, synchrony(curves))
    votes = vote_curves(results)
    if votes:
        caption = (
            "Cheeseman–Stutz of mixtures for the House votes; few components without arcs are off the scale."
        )
        yield Drawing("votes", "A discrete example", caption, vote_figure(votes))


def predictive(scores: Scores, label: str) -> Any:
    """Draw predictive scores by class of mixture (Figures 2 and 5)."""
    names = list(dict.fromkeys(name for found in scores.values() for name in found))
    with sheet(max(5.0, 0.62 * len(names) + 2.6), 4.0) as (figure, [[axes]]):
        for place, (kind, found) in enumerate(scores.items()):
            x = np.array([names.index(name) for name in found]) + 0.16 * (place - (len(scores) - 1) / 2)
            values, errors = zip(*found.values(), strict=True) if found else ((), ())
            look: dict[str, Any] = {"fmt": MARKS[place], "color": LINES[place], "label": kind}
            axes.errorbar(x, values, yerr=errors, markersize=7, capsize=2, **look)
        axes.set_xticks(range(len(names)), names)
        axes.set_xlim(-0.6, len(names) - 0.4)
        finish(axes, x=label, y="log predictive score (nats a row)")
        signed(axes.yaxis)
        figure.legend(loc="outside upper center", ncols=len(scores), frameon=False)
        return figure


def faces(kinds: Mapping[str, Sequence[Face]]) -> Any:
    """Draw the components' means and samples as images, one class of mixtures beside another (Figure 3)."""
    rows = 1 + max(len(face["samples"]) for found in kinds.values() for face in found)
    counts = [len(found) for found in kinds.values()]
    # Widths in pixels of the images, so that all images are drawn equally large.
    widths = [many * (SIDE + GAP) - GAP for many in counts]
    width, height = 0.56 * sum(counts) + 1.3, 0.56 * rows + 0.8
    with sheet(width, height, columns=len(kinds), width_ratios=widths) as (figure, [grid]):
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
        for row, image in enumerate((face["mean"], *face["samples"])):
            top, left = row * step, column * step
            whole[top : top + SIDE, left : left + SIDE] = np.reshape(image, (SIDE, SIDE))
    return whole


def _name_images(axes: Axes, found: Sequence[Face], rows: int) -> None:
    step = SIDE + GAP
    middles = [place * step + (SIDE - 1) / 2 for place in range(max(len(found), rows))]
    axes.set_xticks(middles[: len(found)], [f"{face['weight']:.2f}" for face in found])
    axes.xaxis.tick_top()
    axes.set_yticks(middles[:rows], ["mean", *["sample"] * (rows - 1)])
    axes.tick_params(length=0, labelsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for column in range(len(found)):
        for row in range(rows):
            left, top = column * step - 0.5, row * step - 0.5
            x, y = [left, left + SIDE, left + SIDE, left, left], [top, top, top + SIDE, top + SIDE, top]
            axes.plot(x, y, color=INK if row == 0 else MUTED, linewidth=0.8)


def journey(path: Journey) -> Any:
    """Draw the Cheeseman–Stutz score along the search (Figure 4)."""
    y, searches = np.asarray(path.values), path.searches
    falls = np.array([i for i in np.flatnonzero(np.diff(y) < 0) + 1 if i not in searches], dtype=np.int64)
    turns = [at for at in path.climbs if at not in searches]
    with sheet(7.2, 4.2) as (figure, [[axes]]):
        for at in searches:
            label = "EM before a new search" if at == 0 else None
            axes.axvline(at + 1, color=MUTED, linewidth=0.8, label=label)
        for at in turns:
            label = "search turns to the next component" if at == turns[0] else None
            axes.axvline(at + 1, color=MUTED, linewidth=0.8, linestyle=":", label=label)
        axes.plot(np.arange(1, len(y) + 1), y, color=STEADY, linewidth=1.4, label=CHEESEMAN_STUTZ)
        axes.plot(falls + 1, y[falls], "v", color=ACCENT, markersize=3.5, label="it falls")
        axes.set_xlabel("arc changes")
        axes.set_ylabel("log evidence (nats)")
        signed(axes.yaxis)
        figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
        return figure


def synchrony(curves: Mapping[int, Sequence[Mapping[str, Any]]]) -> Any:
    """Draw both scores against the number of components, each as its distance below its best."""
    columns = min(5, len(curves))
    lines = -(-len(curves) // columns)
    with sheet(max(4.6, 2.3 * columns), 2.2 * lines + 0.5, lines, columns) as (figure, grid):
        for axes in grid.flat[len(curves) :]:
            axes.set_visible(False)
        for place, (axes, (digit, tried)) in enumerate(zip(grid.flat, curves.items(), strict=False)):
            x = [line["asked"] for line in tried]
            for order, (name, score) in enumerate(((CHEESEMAN_STUTZ, "cs"), ("predictive score", "plug-in"))):
                y = np.array([line[score] for line in tried])
                span = max(float(y.max() - y.min()), 1e-12)
                scaled, top = (y - y.min()) / span, int(np.argmax(y))
                look: dict[str, Any] = {"color": LINES[order], "linewidth": 1.3, "markersize": 3.5}
                axes.plot(x, scaled, "-" + MARKS[order], label=None if place else name, **look)
                look = {"color": LINES[order], "markersize": 9, "markeredgecolor": INK}
                axes.plot(x[top], 1.0, MARKS[order], **look)
            axes.set_title(f"“{digit}”", fontsize=10)
            axes.set_ylim(-0.05, 1.12)
            axes.set_yticks([0, 1], ["worst", "best"])
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.supxlabel("components", fontsize=10)
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        return figure


def recovery(found: Sequence[Sequence[Sequence[int]]]) -> Any:
    """Draw arc differences over seeds against the rows, a panel for each component (Table 2)."""
    with sheet(9.0, 3.5, columns=3, sharey=True) as (figure, [grid]):
        for number, axes in enumerate(grid):
            have = [(x, values) for x, values in zip(SIZES, found[number], strict=True) if values]
            for x, values in have:
                seen, times = np.unique(values, return_counts=True)
                at = np.full(len(seen), x)
                axes.scatter(at, seen, s=18 * times, color=STEADY, alpha=0.45, linewidths=0)
            if have:
                means = [np.mean(values) for _, values in have]
                axes.plot([x for x, _ in have], means, color=STEADY, label="ours, mean")
            theirs = [(rows, p) for rows in SIZES if (p := TABLE_2[rows][2][number]) is not None]
            axes.plot(*zip(*theirs, strict=True), "X", color=ACCENT, markersize=8, label="printed")
            axes.set_xscale("log")
            axes.set_xticks(SIZES, [str(s) for s in SIZES], rotation=45)
            axes.minorticks_off()
            finish(axes, title=f"COMP{number + 1}", x="rows")
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        grid[0].set_ylabel("arc differences")
        grid[-1].legend(frameon=False, fontsize=9)
        return figure


def vote_figure(curves: Mapping[str, Sequence[tuple[int, float]]]) -> Any:
    """Draw the Cheeseman–Stutz score of discrete mixtures against the number of components."""
    with sheet(5.8, 3.6) as (figure, [[axes]]):
        for place, (name, curve) in enumerate(curves.items()):
            x, y = zip(*curve, strict=True)
            axes.plot(x, y, "-" + MARKS[place], color=LINES[place], label=name)
        # A few components without arcs lie so far below that nothing else could be told apart.
        low, top = (float(f(value for _, value in next(iter(curves.values())))) for f in (min, max))
        axes.set_ylim(low - 0.6 * (top - low), top + 0.1 * (top - low))
        finish(axes, x="components", y="log evidence (nats)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        signed(axes.yaxis)
        axes.legend(frameon=False, fontsize=9)
        return figure
