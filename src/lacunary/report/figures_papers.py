"""Figures that several papers need: panels of lines, and maps of cells that fall into a few kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from lacunary.report.figures import INK, LINES, MARKS, MUTED, STYLE

__all__ = ["Line", "Map", "Panel", "maps", "panels"]


@dataclass(frozen=True)
class Line:
    """A line through points; ``place`` chooses its colour and mark; the point at x = ``ring`` is ringed."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] | None = None
    place: int = 0
    style: str = "-"
    ring: float | None = None


@dataclass(frozen=True)
class Panel:
    """One set of axes: a title, lines, and what it marks with vertical or horizontal rules."""

    title: str
    lines: Sequence[Line]
    marked: float | None = None
    level: float | None = None
    bottom: float | None = None


@dataclass(frozen=True)
class Map:
    """Cells by row and column, each of one kind (its place among the names), −1 where there is none."""

    title: str
    kinds: Any
    rows: Sequence[int]
    columns: Sequence[int]


def panels(
    drawn: Sequence[Panel],
    *,
    x: str,
    y: str,
    columns: int = 2,
    log_x: bool = False,
    log_y: bool = False,
    whole: bool = True,
    height: float = 2.7,
) -> Figure:
    """Draw panels side by side with one legend above them all."""
    with rc_context(STYLE):
        columns = min(columns, len(drawn))
        rows = ceil(len(drawn) / columns)
        figure = Figure(
            figsize=(3.6 * columns if columns > 1 else 6.4, height * rows + 0.5), layout="constrained"
        )
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, panel in zip_longest(grid.ravel(), drawn):
            if panel is None:
                axes.set_visible(False)
                continue
            _panel(axes, panel, log_x=log_x, log_y=log_y, whole=whole)
        for axes in grid[-1]:
            axes.set_xlabel(x)
        figure.supylabel(y, fontsize=10, color=INK)
        _legend(figure, grid)
        return figure


def _panel(axes: Axes, panel: Panel, *, log_x: bool, log_y: bool, whole: bool) -> None:
    for line in panel.lines:
        axes.errorbar(
            line.x,
            line.y,
            yerr=line.error,
            color=LINES[line.place % len(LINES)],
            marker=MARKS[line.place % len(MARKS)],
            markersize=4,
            linewidth=1.3,
            linestyle=line.style,
            capsize=2 if line.error is not None else 0,
            label=line.label,
        )
        if line.ring is not None:
            height = line.y[list(line.x).index(line.ring)]
            axes.plot([line.ring], [height], "o", markersize=10, fillstyle="none", color=INK, linewidth=0.8)
    if panel.marked is not None:
        axes.axvline(panel.marked, color=MUTED, linewidth=1.0, linestyle=":")
    if panel.level is not None:
        axes.axhline(panel.level, color=INK, linewidth=0.8)
    if panel.bottom is not None:
        axes.set_ylim(bottom=panel.bottom)
    axes.set_title(panel.title, fontsize=10)
    axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)
    if log_x:
        axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(7, integer=whole))
    if log_y:
        axes.set_yscale("log")
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(FuncFormatter(_number))


def _number(value: float, _: int) -> str:
    text = f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:g}"
    return text.replace("-", "\N{MINUS SIGN}")


def _legend(figure: Figure, grid: Any) -> None:
    seen: dict[str, Any] = {}
    for axes in grid.ravel():
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            seen.setdefault(label, handle)
    if seen:
        figure.legend(
            seen.values(),
            seen.keys(),
            loc="outside upper center",
            ncols=min(len(seen), 5),
            frameon=False,
            fontsize=9,
        )


def maps(drawn: Sequence[Map], names: Sequence[str], *, x: str, y: str) -> Figure:
    """Draw maps side by side, a colour for each kind, with a legend of the kinds."""
    colours = ["#ffffff", "#c6dbef", "#fdd0a2", "#b30000", "#6a51a3"][: len(names) + 1]
    scale = ListedColormap(colours)
    norm = BoundaryNorm(np.arange(-1.5, len(names) + 0.5), len(colours))
    with rc_context(STYLE):
        widths = [max(len(m.columns), 2) for m in drawn]
        figure = Figure(figsize=(2.2 + 0.3 * sum(widths), 5.6), layout="constrained")
        grid = figure.subplots(1, len(drawn), squeeze=False, width_ratios=widths)[0]
        for axes, one in zip(grid, drawn, strict=True):
            across = np.arange(len(one.columns) + 1) - 0.5
            thin = 0.3 if len(one.rows) < 40 else 0.08
            up = np.array([row - 0.5 for row in one.rows] + [one.rows[-1] + 0.5])
            axes.pcolormesh(
                across, up, one.kinds, cmap=scale, norm=norm, edgecolors="#ffffff", linewidth=thin
            )
            axes.set_title(one.title, fontsize=10)
            axes.set_xticks(range(len(one.columns)), [str(c) for c in one.columns])
            axes.set_yscale("log")
            ticks = [t for t in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60, 90) if t <= one.rows[-1]]
            axes.set_yticks(ticks, [str(t) for t in ticks])
            axes.minorticks_off()
            axes.set_xlabel(x)
        grid[0].set_ylabel(y)
        patches = [Patch(facecolor=c, label=n) for c, n in zip(colours[1:], names, strict=True)]
        figure.legend(handles=patches, loc="outside upper center", ncols=1, frameon=False, fontsize=9)
        return figure
