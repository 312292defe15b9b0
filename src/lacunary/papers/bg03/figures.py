"""Figures of the reproduction of BG03."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from lacunary import FigureStyle
from lacunary.papers import Drawing, Results
from lacunary.papers.bg03.contest import Place, places
from lacunary.papers.bg03.course import MOVES, annealed, averaged, followed, lines_of, ranks_of
from lacunary.papers.bg03.summary import NAMES, scored
from lacunary.papers.bg03.work import ROWS, TRUE, graph, structures
from lacunary.papers.figures import INK, LINES, MARKS, finish, legend_below, sheet, signed

Array = NDArray[np.float64]

FADED = 0.45

ASIDE = 1.35
"""Between the chains of a length and the one from the truth."""


def drawings(results: Results) -> Iterator[Drawing]:
    """Return the figures for which there is something to draw."""
    found = {way: scored(results, way, ROWS) for way in TRUE}
    panels = {way: here.columns for way, here in found.items() if here is not None and "ais" in here.columns}
    if panels:
        caption = f"Scores of all structures at {ROWS} rows; the best of each method is drawn large."
        yield Drawing("figure-1", "Figure 1, right", caption, _structures(panels))
    by_way = {way: ranks_of(results, way) for way in TRUE}
    ranks = {way: own for way, own in by_way.items() if followed(own)}
    if ranks:
        caption = (
            "Rank that each score gives to the true structure; higher is better. AIS has one chain, as in "
            "print. A line only joins the sizes that were tried, which for the evidence are few."
        )
        yield Drawing("figure-2-left", "Figure 2, left", caption, _ranks(ranks))
    certified = places(results, "apart")
    if len(certified) > 1:
        caption = (
            "Rank of the true structure by certified evidence and by the variational bound. A bar spans the "
            "ranks that it may have where others are within two standard errors of it, or not certain."
        )
        yield Drawing("contest", "By certified evidence", caption, _contest(certified))
    if lines_of(results) and annealed(results, "metropolis"):
        caption = "Every chain's own estimate; stars are set off sideways. Below the axes none is shown."
        yield Drawing("figure-2-right", "Figure 2, right", caption, _annealing(results))
    shares = averaged(results)[2]
    if shares:
        caption = (
            "How often the true structure comes first, over true parameters drawn anew; one standard error."
        )
        yield Drawing("averages", "Over many true parameters", caption, _averages(shares))


def _structures(panels: dict[str, Any]) -> Any:
    """Draw the score of every structure against its parameters, a colour for each method (Figure 1)."""
    with sheet(5.6 * len(panels) + 0.4, 4.8, columns=len(panels)) as (figure, [grid]):
        for axes, (way, columns) in zip(grid, panels.items(), strict=True):
            for place, method in enumerate(("map", "ais", "vb", "bic")):
                _staggered(axes, columns["parameters"], columns[method], place, NAMES[method])
            true = graph(TRUE["apart"]).layout.free
            axes.axvline(true, color=INK, linewidth=0.8, linestyle="--", zorder=0)
            x = "number of parameters (dashed: the true structure's)"
            finish(axes, title=f"single parents {way}", x=x, y="log evidence (nats; higher is better)")
            signed(axes.yaxis)
        legend_below(figure, grid[0], markerscale=2.0)
        return figure


def _staggered(axes: Axes, parameters: Array, values: Array, place: int, label: str) -> None:
    """Draw one of four methods' scores, set off sideways from the others', by rank among equal parameters."""
    order = np.lexsort((values, parameters))
    x, y = parameters[order], values[order]
    runs = np.unique(x, return_counts=True)[1]
    offset = np.concatenate([np.linspace(-0.28, 0.28, n) if n > 1 else [0.0] for n in runs])
    x = x + 0.7 * (place - 3 / 2) + offset
    look: dict[str, Any] = {"marker": MARKS[place], "color": LINES[place]}
    axes.scatter(x, y, s=13, alpha=FADED, linewidths=0, label=label, **look)
    best = int(y.argmax())
    axes.scatter([x[best]], [y[best]], s=95, edgecolors=INK, linewidths=1.3, zorder=4, **look)


def _ranks(panels: dict[str, dict[str, dict[int, int]]]) -> Any:
    """Draw the rank of the true structure against the rows; higher is better (Figure 2, left)."""
    worst = len(structures())
    with sheet(5.4 * len(panels) + 0.4, 4.2, columns=len(panels), sharey=True) as (figure, [grid]):
        for axes, (way, found) in zip(grid, panels.items(), strict=True):
            shown = [name for name in found if name != "map"]
            for place, method in enumerate(shown):
                x, y = zip(*sorted(found[method].items()), strict=True)
                under = len(shown) - 1 - place  # what lies under other curves is wider, so that its rim shows
                width: dict[str, Any] = {"markersize": 4 + 1.6 * under, "linewidth": 1.1 + 1.2 * under}
                axes.plot(x, y, "-" + MARKS[place], color=LINES[place], label=NAMES[method], **width)
            _rank_axes(axes, f"single parents {way}")
        grid[0].set_ylabel(f"rank of the true structure among {worst}")
        grid[0].legend(frameon=False, fontsize=9, loc="best")
        return figure


def _contest(certified: dict[int, Place]) -> Any:
    """Draw the ranks that the evidence leaves open, and those by the bound."""
    x, found = np.array(list(certified)), list(certified.values())
    low, high, middle = (np.array([getattr(p, name) for p in found]) for name in ("low", "high", "rank"))
    with sheet(6.4, 4.0) as (figure, [[axes]]):
        axes.plot(
            x, [p.by_bound for p in found], "-s", color=LINES[1], label="VB", markersize=7, linewidth=2.5
        )
        bars = np.abs(np.vstack([middle - low, high - middle]))
        axes.errorbar(x, middle, yerr=bars, fmt="-D", color=LINES[3], label="evidence", capsize=3)
        _rank_axes(axes, "single parents apart")
        axes.set_ylabel(f"rank of the true structure among {len(structures())}")
        legend_below(figure, axes)
        return figure


def _annealing(results: Results) -> Any:
    """Draw every chain's estimate against its length (Figure 2, right)."""
    lines, lengths = lines_of(results), sorted(annealed(results, "metropolis"))
    low, high = min(lines.values()), max(lines.values())
    floor = low - 2.0 * (high - low)
    ceiling = max(high, *(r.value["started"] for moves in MOVES for r in annealed(results, moves).values()))
    accent, steady = FigureStyle.accent, FigureStyle.steady
    with sheet(5.2 * len(MOVES) + 0.4, 4.4, columns=len(MOVES), sharey=True) as (figure, [grid]):
        for axes, (moves, title) in zip(grid, MOVES.items(), strict=True):
            runs = [record.value for _, record in sorted(annealed(results, moves).items())]
            for steps, run in zip(lengths, runs, strict=False):
                weights, label = run["log_weights"], "start from the prior" if steps == lengths[0] else None
                x = [steps] * len(weights)
                axes.plot(x, weights, "o", color=steady, alpha=0.5, markersize=4, label=label)
            started = [run["started"] for run in runs]
            beside = [steps * ASIDE for steps in lengths[: len(started)]]  # where they hide no chain
            axes.plot(beside, started, "*", color=accent, markersize=8, label="start at the truth")
            for style, (name, value) in zip(("--", "-", ":"), lines.items(), strict=False):
                axes.axhline(value, color=INK, linestyle=style, linewidth=1.0, label=name)
            axes.set_xscale("log", base=2)
            axes.set_xticks([64, 512, 4096, 32768, 262144], ["64", "512", "4 096", "32 768", "262 144"])
            axes.set_ylim(floor, ceiling + 0.04 * (ceiling - floor))
            finish(axes, title=title, x="steps of annealing")
            signed(axes.yaxis)
        grid[0].set_ylabel("log evidence (nats)")
        grid[-1].legend(frameon=False, fontsize=9, loc="lower right")
        return figure


def _averages(panels: dict[str, dict[str, list[tuple[int, float, float]]]]) -> Any:
    """Draw the share of settings in which the true structure comes first; one standard error."""
    lines = [(title, rows) for title, of in panels.items() for rows, _, _ in of["VB"]]
    with sheet(6.4, 0.42 * len(lines) + 1.3) as (figure, [[axes]]):
        for place, method in enumerate(("BIC", "VB")):
            points = [point for of in panels.values() for point in of[method]]
            _, x, error = (np.array(part) for part in zip(*points, strict=True))
            y = np.arange(len(lines)) + 0.22 * (place - 0.5)
            look: dict[str, Any] = {"fmt": MARKS[place], "color": LINES[place], "label": method}
            axes.errorbar(x, y, xerr=error, **look)
        axes.set_yticks(range(len(lines)), [f"{title}, {rows} rows" for title, rows in lines])
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_xlim(-0.02, 1.02)
        finish(axes, x="share of settings with the true structure first", rule="x")
        legend_below(figure, axes)
        return figure


def _rank_axes(axes: Axes, title: str) -> None:
    """Give axes of rows and ranks, both by their logarithms, the first rank at the top."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(len(structures()), 0.9)
    axes.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    axes.yaxis.set_minor_locator(NullLocator())
    finish(axes, title=title, x="number of rows")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}".replace(",", " ")))
