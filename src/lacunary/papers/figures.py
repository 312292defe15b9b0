"""What the papers' figures have in common: sheets of axes, panels of lines, and how axes are finished."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil, log10
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from lacunary import FigureStyle
from lacunary.papers.sample import minus

__all__ = ["Line", "Panel", "finish", "legend_below", "panels", "sheet", "signed"]

INK, MUTED = FigureStyle.ink, FigureStyle.muted
LINES, MARKS = FigureStyle.lines, FigureStyle.marks


@contextmanager
def sheet(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[tuple[Figure, Any]]:
    """Open a figure in the library's style; give it and its axes, (rows, columns)."""
    with rc_context(FigureStyle.settings):
        figure = FigureStyle.sheet(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns, squeeze=False, **options)


def finish(axes: Axes, *, title: str = "", x: str = "", y: str = "", rule: Literal["x", "y"] = "y") -> None:
    """Name what axes show, and draw rules across."""
    if title:
        axes.set_title(title, fontsize=10)
    if x:
        axes.set_xlabel(x)
    if y:
        axes.set_ylabel(y)
    axes.grid(axis=rule, color=MUTED, alpha=0.3, linewidth=0.6)


def signed(axis: Any, between: str = " ") -> None:
    """Write the numbers of an axis with a true minus, and something between thousands."""
    axis.set_major_formatter(
        FuncFormatter(
            lambda value, _: minus(f"{value:,.6g}").replace(",", between)
        )  # a tick's place is known
    )


def legend_below(figure: Figure, axes: Axes, columns: int | None = None, **options: Any) -> None:
    """Draw one legend for all axes of a sheet, under them."""
    handles, names = axes.get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns or len(names), "frameon": False}
    figure.legend(handles, names, **(place | options))


@dataclass(frozen=True)
class Line:
    """A line through points; ``place`` chooses its colour and mark; the point at x = ``ring`` is ringed."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    error: Sequence[float] | None = None
    place: int = 0
    ring: float | None = None


@dataclass(frozen=True)
class Panel:
    """One set of axes: a title, lines, and what it marks with vertical or horizontal rules.

    Beyond ``linear`` from zero heights go by their logarithms, so that large ones do not flatten the small.
    """

    title: str
    lines: Sequence[Line]
    marked: float | None = None
    level: float | None = None
    linear: float | None = None


def panels(drawn: Sequence[Panel], *, x: str, y: str, columns: int = 2, log_x: bool = False) -> Figure:
    """Draw panels side by side with one legend above them all."""
    columns = min(columns, len(drawn))
    rows = ceil(len(drawn) / columns)
    with sheet(3.6 * columns if columns > 1 else 6.4, 2.7 * rows + 0.5, rows, columns) as (figure, grid):
        for axes, panel in zip_longest(grid.ravel(), drawn):
            if panel is None:
                axes.set_visible(False)
            else:
                _panel(axes, panel, log_x=log_x)
        for axes in grid[-1]:
            axes.set_xlabel(x)
        figure.supylabel(y, fontsize=10, color=INK)
        seen: dict[str, Any] = {}
        for axes in grid.ravel():
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                seen.setdefault(label, handle)
        if seen:
            look: dict[str, Any] = {"ncols": min(len(seen), 5), "frameon": False, "fontsize": 9}
            figure.legend(seen.values(), seen.keys(), loc="outside upper center", **look)
        return figure


def _panel(axes: Axes, panel: Panel, *, log_x: bool) -> None:
    for place, line in enumerate(panel.lines):
        # A line that lies under others is wider than they are, so that its rim shows; bars are not hidden.
        under = len(panel.lines) - 1 - place if line.error is None else 0
        look: dict[str, Any] = {"color": LINES[line.place], "marker": MARKS[line.place]}
        look |= {"linewidth": 1.2 + 0.5 * under, "markersize": 3.6 + 0.8 * under}
        capsize = 2 if line.error is not None else 0
        axes.errorbar(line.x, line.y, yerr=line.error, capsize=capsize, label=line.label, **look)
        if line.ring is not None:
            height = line.y[list(line.x).index(line.ring)]
            axes.plot([line.ring], [height], "o", markersize=10, fillstyle="none", color=INK, linewidth=0.8)
    if panel.marked is not None:
        axes.axvline(panel.marked, color=MUTED, linewidth=1.0, linestyle=":")
    if panel.level is not None:
        axes.axhline(panel.level, color=INK, linewidth=0.8)
    finish(axes, title=panel.title)
    axes.set_axisbelow(True)
    if log_x:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(_power))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    if panel.linear is None:
        axes.yaxis.set_major_locator(MaxNLocator(5))
    else:
        axes.set_yscale("symlog", linthresh=panel.linear)
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(_number))


def _number(value: float, _: int) -> str:
    return minus(
        f"{value:,.0f}".replace(",", " ") if abs(value) >= 10 or value == int(value) else f"{value:g}"
    )


def _power(value: float, _: int) -> str:
    """Return a power of ten as such from ten thousand on."""
    return f"10{str(round(log10(value))).translate(RAISED)}" if value >= 1e4 else f"{value:g}"


RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
