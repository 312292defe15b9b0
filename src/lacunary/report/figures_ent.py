"""Figures of the reproduction of ENT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from lacunary.report.figures import INK, LINES, MARKS, MUTED, NEARNESS, STYLE

__all__ = ["Ratio", "Runs", "ratios", "runs", "stopping"]


class Runs(NamedTuple):
    """Many climbs on one table: score, entropy and KL from the truth of each; (runs,)."""

    title: str
    scores: NDArray[np.float64]
    entropies: NDArray[np.float64]
    far: NDArray[np.float64]


class Ratio(NamedTuple):
    """A relative median, printed and found, with the standard error of the latter."""

    label: str
    printed: float
    ours: float
    error: float


def runs(panels: Sequence[Runs]) -> Figure:
    """Draw entropy against score, the darker the nearer to the truth (ENT, Figure 1)."""
    with rc_context(STYLE):
        figure = Figure(figsize=(4.6 * len(panels), 3.8), layout="constrained")
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            order = np.argsort(-panel.far)  # the nearest on top
            low, high = np.quantile(panel.far, [0.02, 0.98])
            shades = axes.scatter(
                panel.scores[order],
                panel.entropies[order],
                c=panel.far[order],
                cmap=NEARNESS,
                s=12,
                vmin=low,
                vmax=high,
            )
            bar = figure.colorbar(shades, ax=axes, pad=0.02, aspect=28)
            bar.set_label("KL from the truth (nats)")
            bar.outline.set_visible(False)
            axes.set_title(panel.title, fontsize=10)
            axes.set_xlabel("score (nats; higher is better)")
            axes.set_ylabel("local entropy (nats)")
            axes.xaxis.set_major_locator(MaxNLocator(5))
            axes.xaxis.set_major_formatter(FuncFormatter(_signed))
            axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
            axes.set_axisbelow(True)
        return figure


def ratios(panels: Mapping[str, Mapping[str, Sequence[Ratio]]]) -> Figure:
    """Draw relative medians, printed beside ours: a panel for each table, a colour for each method."""
    with rc_context(STYLE):
        figure = Figure(figsize=(3.3 * len(panels) + 0.6, 4.6), layout="constrained")
        grid = figure.subplots(1, len(panels), sharex=True, squeeze=False)[0]
        for axes, (title, methods) in zip(grid, panels.items(), strict=True):
            for place, (method, found) in enumerate(methods.items()):
                y = np.arange(len(found)) + 0.22 * (place - 0.5)
                ink = LINES[place]
                ours, error = (np.array([getattr(r, n) for r in found]) for n in ("ours", "error"))
                axes.errorbar(
                    ours,
                    y,
                    xerr=1.96 * error,
                    fmt=MARKS[place],
                    color=ink,
                    markersize=5,
                    label=f"{method}, ours",
                )
                printed = [r.printed for r in found]
                axes.plot(
                    printed, y, MARKS[place], color=ink, markerfacecolor="none", label=f"{method}, printed"
                )
            axes.axvline(1.0, color=INK, linewidth=0.8)
            labels = [r.label for r in next(iter(methods.values()))]
            axes.set_yticks(range(len(labels)), labels if axes is grid[0] else [""] * len(labels))
            axes.invert_yaxis()
            axes.set_title(title, fontsize=10)
            axes.set_xlabel("median KL over that of best")
            axes.grid(axis="x", color=MUTED, alpha=0.3, linewidth=0.6)
        handles, names = grid[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
        return figure


def stopping(
    curves: Mapping[str, Sequence[tuple[str, float, float]]], printed: Mapping[str, tuple[float, float]]
) -> Figure:
    """Draw relative medians against the bound at which climbs stop; printed values as lines across."""
    with rc_context(STYLE):
        figure = Figure(figsize=(8.2, 5.2), layout="constrained")
        grid = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
        for axes, (title, points) in zip(grid, curves.items(), strict=False):
            x = np.arange(len(points))
            for place, method in enumerate(("average", "entropy")):
                y = [point[1 + place] for point in points]
                axes.plot(x, y, "-" + MARKS[place], color=LINES[place], label=method)
                axes.axhline(
                    printed[title][place], color=LINES[place], linestyle=":", label=f"{method}, printed"
                )
            axes.axhline(1.0, color=INK, linewidth=0.8)
            axes.set_xticks(x, [point[0] for point in points])
            axes.set_title(title, fontsize=10)
        for axes in grid[2:]:
            axes.set_xlabel("stop: change of the score, as a share")
        for axes in grid[::2]:
            axes.set_ylabel("median KL over best's")
        handles, names = grid[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
        return figure


def _signed(value: float, _: object) -> str:
    return f"{value:,.6g}".replace("-", "\N{MINUS SIGN}")
