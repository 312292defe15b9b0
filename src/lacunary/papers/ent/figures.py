"""Figures of the reproduction of ENT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from lacunary import FigureStyle
from lacunary.papers import Drawing, Record, Results
from lacunary.papers.ent.experiment import NETWORKS, SETTINGS, figure_runs, table_block
from lacunary.papers.ent.judgement import Cell
from lacunary.papers.ent.stopping import curves
from lacunary.papers.ent.summary import MEDIANS, cells_of
from lacunary.papers.figures import INK, LINES, MARKS, finish, legend_below, sheet, signed

NAMES = {"asia": "Asia", "alarm": "ALARM", "random": "random networks"}


def drawings(results: Results) -> Iterator[Drawing]:
    """Return the figures for which there is something to draw."""
    runs = results.of(figure_runs)
    if runs:
        many = len(runs[0].value["scores"])
        caption = f"{many} climbs, one table of 200 rows from Asia; darker is nearer the truth."
        yield Drawing("figure-1-runs", "Figure 1", caption, _runs(runs))
    cells = {
        network: list(cells_of(results, table_block, "joint", network=network).values())
        for network in NETWORKS
    }
    whole = {network: own for network, own in cells.items() if len(own) == len(SETTINGS)}
    if len(whole) == len(NETWORKS):
        caption = "Full marks with 95 % intervals are ours, empty ones printed; below 1 beats the best start."
        yield Drawing("tables", "Tables 1 to 3, joint metric", caption, _ratios(whole))
    traced = curves(results)
    if traced:
        caption = "Asia, joint metric, uniform starts: average and entropy against the best start."
        yield Drawing("stopping", "Stopped earlier or later", caption, _stopping(traced))


def _runs(records: Sequence[Record]) -> Any:
    """Draw entropy against score, the darker the nearer to the truth (Figure 1)."""
    with sheet(4.6 * len(records), 3.8, columns=len(records)) as (figure, [grid]):
        for axes, record in zip(grid, records, strict=True):
            scores, entropies, far = (np.array(record.value[name]) for name in ("scores", "entropies", "kl"))
            order = np.argsort(-far)  # the nearest on top
            low, high = np.quantile(far, [0.02, 0.98])
            look: dict[str, Any] = {"cmap": FigureStyle.nearness, "s": 12, "vmin": low, "vmax": high}
            shades = axes.scatter(scores[order], entropies[order], c=far[order], **look)
            bar = figure.colorbar(shades, ax=axes, pad=0.02, aspect=28)
            bar.set_label("KL from the truth (nats)")
            bar.outline.set_visible(False)
            title = f"{record.arguments['missing']:.0%} missing"
            finish(axes, title=title, x="score (nats; higher is better)", y="local entropy (nats)")
            axes.xaxis.set_major_locator(MaxNLocator(5))
            signed(axes.xaxis, ",")
            axes.set_axisbelow(True)
        return figure


def _ratios(found: dict[str, list[Cell]]) -> Any:
    """Draw relative medians, printed beside ours: a panel for each table, a colour for each method."""
    labels = [f"n = {rows}\n{missing:.0%} missing" for rows, missing in SETTINGS]
    with sheet(3.3 * len(found) + 0.6, 4.6, columns=len(found), sharex=True) as (figure, [grid]):
        for axes, (network, cells) in zip(grid, found.items(), strict=True):
            for place, method in enumerate(("average", "entropy")):
                y = np.arange(len(cells)) + 0.22 * (place - 0.5)
                look: dict[str, Any] = {"color": LINES[place], "label": f"{method}, ours"}
                ours, error = np.array([cell.relative(method) for cell in cells]).T
                axes.errorbar(ours, y, xerr=1.96 * error, fmt=MARKS[place], markersize=5, **look)
                printed = [medians[place] for medians in MEDIANS[network]["joint"]]
                look = {"color": LINES[place], "label": f"{method}, printed"}
                axes.plot(printed, y, MARKS[place], markerfacecolor="none", **look)
            axes.axvline(1.0, color=INK, linewidth=0.8)
            axes.set_yticks(range(len(labels)), labels if axes is grid[0] else [""] * len(labels))
            axes.invert_yaxis()
            finish(axes, title=NAMES[network], x="median KL over that of best", rule="x")
        legend_below(figure, grid[0], 4, fontsize=9)
        return figure


def _stopping(found: dict[tuple[int, float], list[tuple[str, float, float]]]) -> Any:
    """Draw relative medians against the tolerance at which climbs stop; printed values as lines across."""
    printed = dict(zip(SETTINGS, MEDIANS["asia"]["joint"], strict=True))
    with sheet(8.2, 5.2, 2, 2, sharex=True, sharey=True) as (figure, grid):
        for axes, (setting, points) in zip(grid.ravel(), found.items(), strict=False):
            x = np.arange(len(points))
            for place, method in enumerate(("average", "entropy")):
                colour = LINES[place]
                y = [point[1 + place] for point in points]
                axes.plot(x, y, "-" + MARKS[place], color=colour, label=method)
                level = printed[setting][place]
                axes.axhline(level, color=colour, linestyle=":", label=f"{method}, printed")
            axes.axhline(1.0, color=INK, linewidth=0.8)
            axes.set_xticks(x, [point[0] for point in points])
            axes.set_title(f"n = {setting[0]}, {setting[1]:.0%} missing", fontsize=10)
        for axes in grid[1]:
            axes.set_xlabel("stop: change of the score, as a share")
        for axes in grid[:, 0]:
            axes.set_ylabel("median KL over best's")
        legend_below(figure, grid[0, 0], 4, fontsize=9)
        return figure
