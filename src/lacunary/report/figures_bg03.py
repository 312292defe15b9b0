"""Figures of the reproduction of BG03."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from lacunary.report.figures import ACCENT, INK, LINES, MARKS, MUTED, STEADY, STYLE

__all__ = ["annealing", "averages", "ranks", "structures"]

Array = NDArray[np.float64]

FADED = 0.45


def structures(panels: Mapping[str, tuple[Array, Mapping[str, Array]]], true: int) -> Figure:
    """Draw the score of every structure against its parameters, a colour for each method (BG03, Figure 1).

    Parameters
    ----------
    panels
        By title: the number of parameters of every structure, and by method their scores; (structures,).
    true
        The parameters of the true structure, where a line is drawn.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(5.6 * len(panels) + 0.4, 4.8), layout="constrained")
        grid = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, (parameters, scores)) in zip(grid, panels.items(), strict=True):
            for place, (method, values) in enumerate(scores.items()):
                _staggered(axes, parameters, values, place, len(scores), method)
            axes.axvline(true, color=INK, linewidth=0.8, linestyle="--", zorder=0)
            axes.set_title(title, fontsize=10)
            axes.set_xlabel("number of parameters (dashed: the true structure's)")
            axes.set_ylabel("log evidence (nats; higher is better)")
            axes.yaxis.set_major_formatter(FuncFormatter(_signed))
            axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
        handles, names = grid[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
        return figure


def _staggered(axes: Axes, parameters: Array, values: Array, place: int, methods: int, label: str) -> None:
    """Draw one method's scores, set off sideways from the others' and by rank among equal parameters."""
    order = np.lexsort((values, parameters))
    x, y = parameters[order], values[order]
    offset = np.concatenate([np.linspace(-0.28, 0.28, n) if n > 1 else [0.0] for n in _runs(x)])
    x = x + 0.7 * (place - (methods - 1) / 2) + offset
    axes.scatter(x, y, s=13, marker=MARKS[place], color=LINES[place], alpha=FADED, linewidths=0, label=label)
    best = int(values[order].argmax())
    axes.scatter(
        [x[best]],
        [y[best]],
        s=95,
        marker=MARKS[place],
        color=LINES[place],
        edgecolors=INK,
        linewidths=1.3,
        zorder=4,
    )


def _runs(ordered: Array) -> list[int]:
    return [int(count) for count in np.unique(ordered, return_counts=True)[1]]


def ranks(panels: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]], worst: int) -> Figure:
    """Draw the rank of the true structure against the rows; higher is better (BG03, Figure 2, left)."""
    with rc_context(STYLE):
        figure = Figure(figsize=(5.4 * len(panels) + 0.4, 4.2), layout="constrained")
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (title, methods) in zip(grid, panels.items(), strict=True):
            for place, (method, points) in enumerate(methods.items()):
                x, y = zip(*points, strict=True)
                axes.plot(
                    x, y, "-" + MARKS[place], color=LINES[place], markersize=5, linewidth=1.3, label=method
                )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_ylim(worst, 0.9)
            axes.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
            axes.yaxis.set_minor_locator(NullLocator())
            _rows_axis(axes)
            axes.set_title(title, fontsize=10)
            axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
        grid[0].set_ylabel(f"rank of the true structure among {worst}")
        grid[0].legend(frameon=False, fontsize=9, loc="best")
        return figure


def annealing(
    lengths: Sequence[int],
    chains: Mapping[str, tuple[Sequence[Sequence[float]], Sequence[float]]],
    lines: Mapping[str, float],
) -> Figure:
    """Draw every chain's estimate against its length (BG03, Figure 2, right).

    Parameters
    ----------
    lengths
        Steps of the annealing schedules.
    chains
        By title: for each length the estimates from random starts, and the one from the true parameters.
    lines
        Values drawn across by name: BIC, the variational bound, a reference.
    """
    with rc_context(STYLE):
        figure = Figure(figsize=(5.2 * len(chains) + 0.4, 4.4), layout="constrained")
        grid = figure.subplots(1, len(chains), sharey=True, squeeze=False)[0]
        floor = min(lines.values()) - 2.0 * (max(lines.values()) - min(lines.values()))
        for axes, (title, (drawn, started)) in zip(grid, chains.items(), strict=True):
            for steps, weights in zip(lengths, drawn, strict=False):
                first = steps == lengths[0]
                axes.plot([steps] * len(weights), weights, "o", color=STEADY, alpha=0.5, markersize=4,
                          label="start from the prior" if first else None)  # fmt: skip
            axes.plot(
                lengths[: len(started)], started, "*", color=ACCENT, markersize=10, label="start at the truth"
            )
            for style, (name, value) in zip(("--", "-", ":"), lines.items(), strict=False):
                axes.axhline(value, color=INK, linestyle=style, linewidth=1.0, label=name)
            axes.set_xscale("log", base=2)
            axes.set_xticks([64, 512, 4096, 32768, 262144], ["64", "512", "4 096", "32 768", "262 144"])
            axes.set_ylim(floor, max(lines.values()) + 0.06 * (max(lines.values()) - floor))
            axes.set_title(title, fontsize=10)
            axes.set_xlabel("steps of annealing")
            axes.yaxis.set_major_formatter(FuncFormatter(_signed))
            axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
        grid[0].set_ylabel("log evidence (nats)")
        grid[-1].legend(frameon=False, fontsize=9, loc="lower right")
        return figure


def averages(panels: Mapping[str, Mapping[str, Sequence[tuple[int, float, float]]]]) -> Figure:
    """Draw the share of settings in which the true structure comes first, with standard errors."""
    with rc_context(STYLE):
        figure = Figure(figsize=(3.6 * len(panels) + 0.6, 3.8), layout="constrained")
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (title, methods) in zip(grid, panels.items(), strict=True):
            for place, (method, points) in enumerate(methods.items()):
                x, y, error = (np.array(part) for part in zip(*points, strict=True))
                axes.errorbar(
                    x * 1.05 ** (place - 0.5),
                    y,
                    yerr=error,
                    fmt="-" + MARKS[place],
                    color=LINES[place],
                    label=method,
                )
            axes.set_xscale("log")
            _rows_axis(axes)
            axes.set_xticks(sorted({rows for points in methods.values() for rows, _, _ in points}))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_title(title, fontsize=10)
            axes.set_ylim(-0.04, 1.04)
            axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
        grid[0].set_ylabel("share with the true structure first")
        grid[0].legend(frameon=False, fontsize=9, loc="upper left")
        return figure


def _rows_axis(axes: Axes) -> None:
    axes.set_xlabel("number of rows")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}".replace(",", " ")))


def _signed(value: float, _: object) -> str:
    return f"{value:,.6g}".replace("-", "\N{MINUS SIGN}").replace(",", " ")
