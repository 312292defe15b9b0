"""Figures, as SVG that can stand inside a page: its text and axes take the page's own colour."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter

from lacunary.data.schema import Label
from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.evidence.compare import Comparison
from lacunary.evidence.sensitivity import Sensitivity
from lacunary.infer.divergence import kl
from lacunary.infer.network import Network
from lacunary.learn.fit import Fit
from lacunary.learn.select import local_entropy
from lacunary.maths.arrays import Array
from lacunary.report import figures_style as style
from lacunary.report.figures_style import picture, svg
from lacunary.report.words import method as method_name
from lacunary.report.words import minus, shortened
from lacunary.study.result import Classes, Drawn

__all__ = [
    "classes",
    "evidence",
    "fit",
    "heat_map",
    "holes",
    "picture",
    "sensitivity",
    "starts",
    "svg",
    "traces",
]

PATTERNS = 30
"""The most patterns of holes that are drawn."""

NEAR = 1e-3
"""Nats below the best that are drawn as this much: a logarithmic axis has no zero."""


LEAST_SPAN = 0.1
"""Nats that an axis of scores or entropies spans at least."""


def classes(study: Classes, what: Drawn) -> Figure:
    """Draw the evidence by number of classes, the profiles of the best, or how its starts climbed."""
    if what == "evidence":
        return evidence(study.comparison)
    if what == "profiles":
        return heat_map(study)
    if what not in ("traces", "starts"):
        raise ParameterError(f"what must be 'evidence', 'profiles', 'traces' or 'starts', not {what!r}")
    return traces(study.best.fit) if what == "traces" else starts(study.best.fit)


def evidence(comparison: Comparison) -> Figure:
    """Draw the log evidence of every model, a line for each estimate.

    Against the number of hidden states where that is all the models differ in (as CH96 does), and
    against the number of parameters otherwise (as BG03 does).
    """
    hidden = {dag.schema.hidden for dag in comparison.models.values()}
    names = next(iter(hidden))
    by_states = len(hidden) == 1 and len(names) == 1
    with rc_context(style.STYLE):
        figure, axes = style.canvas(6.8, 4.0)
        x = np.array(
            [
                dag.schema[names[0]].size if by_states else comparison.parameters(name)
                for name, dag in comparison.models.items()
            ]
        )
        order = np.argsort(x, kind="stable")
        found = {m: comparison.values(m) for m in comparison.methods if comparison.estimated(m)}
        tops = [float(np.nanmax(values)) for values in found.values()]
        floor = min(_floor(values[~np.isnan(values)]) for values in found.values())
        for place, (method, values) in enumerate(found.items()):
            errors = [
                getattr(one.get(method), "stderr", None) or 0.0 for one in comparison.estimates.values()
            ]
            axes.errorbar(
                x[order],
                values[order],
                yerr=np.array(errors)[order],
                linestyle="-" if by_states else "none",
                color=style.LINES[place % len(style.LINES)],
                marker=style.MARKS[place % len(style.MARKS)],
                label=method_name(method),
            )
        highest = np.fmax.reduce(list(found.values()), axis=0)
        for at, value in zip(x, highest, strict=True):
            if value < floor:
                _label_far(axes, float(at), float(value), floor, max(tops))
        axes.set_ylim(floor, max(tops) + 0.08 * (max(tops) - floor))
        if by_states:
            axes.set_xlim(x.min() - 0.5, x.max() + 0.5)
        axes.set_xlabel(f"number of states of {names[0]}" if by_states else "number of parameters")
        axes.set_ylabel("log evidence (nats; higher is better)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        style.in_nats(axes.yaxis)
        axes.legend(frameon=False, loc="best", fontsize=9)
        style.rule(axes)
        return figure


def sensitivity(found: Sensitivity, method: str | None = None) -> Figure:
    """Draw the log evidence of every model, with its error, against the prior's hyperparameter."""
    order = np.argsort(found.alphas, kind="stable")
    values, errors = found.values(method)[order], found.errors(method)[order]
    with rc_context(style.STYLE):
        figure, axes = style.canvas(6.8, 4.0)
        for place, name in enumerate(found.models):
            axes.errorbar(
                found.alphas[order],
                values[:, place],
                yerr=errors[:, place],
                color=style.LINES[place % len(style.LINES)],
                marker=style.MARKS[place % len(style.MARKS)],
                label=name,
            )
        axes.set_xscale("log")
        axes.set_xlabel(found.axis)
        axes.set_ylabel(f"log evidence by {method_name(method or found.methods[0])} (nats)")
        axes.xaxis.set_major_locator(FixedLocator(found.alphas[order].tolist()))
        axes.xaxis.set_minor_formatter(NullFormatter())
        style.numbered(axes.xaxis, lambda value: f"{value:g}")
        style.in_nats(axes.yaxis)
        axes.legend(frameon=False, loc="best", fontsize=9)
        style.rule(axes)
        return figure


def heat_map(study: Classes) -> Figure:
    """Draw the chance of every state in every class; of two states only the last."""
    rows = [
        (name, state)
        for name in study.telling
        if study.table.schema[name].discrete
        for state in range(study.table.schema[name].size)
        if study.table.schema[name].size != 2 or state == 1
    ]
    values = np.array([study.chance(name)[:, state] for name, state in rows])
    shares = [f"{p.label}\n{p.share:.0%}" for p in study.profiles]
    schema, only = study.table.schema, _only_state(study)
    named = [name if only is not None else f"{name}: {schema[name].states[state]}" for name, state in rows]
    heads = f"{study.hidden}, and its share of the rows", shares, named
    with rc_context(style.STYLE):
        figure, axes = style.canvas(max(6.4, 3.4 + 0.8 * len(study.labels)), 1.5 + 0.34 * len(rows))
        bar = style.heat_map(
            axes, values, lambda row, column: f"{100 * values[row, column]:.0f}", (0.0, 1.0), heads
        )
        bar.set_label("chance of the state (%)" if only is None else f"chance of “{only}” (%)")
        style.numbered(bar.ax.yaxis, lambda value: f"{100 * value:.0f}")
        return figure


def fit(found: Fit, what: str) -> Figure:
    """Draw how the starts of a fit climbed, or where each ended."""
    if what not in ("traces", "starts"):
        raise ParameterError(f"what must be 'traces' or 'starts', not {what!r}")
    return traces(found) if what == "traces" else starts(found)


def holes(table: Table) -> Figure:
    """Draw the commonest patterns of holes, a line each: what is missing, and in how many rows."""
    distinct, counts = np.unique(table.holes, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:PATTERNS]
    many, columns = len(order), len(table.schema)
    with rc_context(style.STYLE):
        figure, axes = style.canvas(max(4.0, 1.8 + 0.3 * columns), 1.9 + 0.24 * many)
        for line, pattern in enumerate(distinct[order]):
            for column, empty in enumerate(pattern):
                colour = style.ACCENT if empty else style.MUTED
                alpha = 1.0 if empty else 0.18
                axes.barh(line, 0.9, height=0.8, left=column - 0.45, color=colour, alpha=alpha)
        axes.set_xticks(
            range(columns), [shortened(name, 24) for name in table.columns], rotation=60, ha="right"
        )
        axes.set_yticks(range(many), [f"{count} rows" for count in counts[order]])
        axes.set_xlim(-0.6, columns - 0.4)
        axes.set_ylim(many - 0.4, -0.6)
        axes.set_xlabel(f"missing in orange; {len(distinct)} patterns in all")
        return figure


def traces(fit: Fit) -> Figure:
    """Draw how far below the best each start was, sweep by sweep."""
    top = max(start.objective for start in fit.starts)
    with rc_context(style.STYLE):
        figure, axes = style.canvas(6.4, 3.6)
        ordered = sorted(fit.starts, key=lambda start: start.objective)
        for start in ordered:
            best = start is ordered[-1]
            gap = np.maximum(top - np.array(start.trace), NEAR)
            axes.plot(
                np.arange(1, len(gap) + 1),
                gap,
                color=style.ACCENT if best else style.STEADY,
                linewidth=2.0 if best else 0.9,
                alpha=1.0 if best else 0.55,
                label="best start" if best else ("other starts" if start is ordered[0] else None),
            )
        axes.set_yscale("log")
        axes.set_xscale("log")
        style.numbered(axes.xaxis, lambda value: f"{value:g}")
        style.numbered(axes.yaxis, lambda value: f"{value:,g}")
        axes.minorticks_off()
        axes.set_xlabel("iteration")
        axes.set_ylabel("nats below the best")
        axes.set_ylim(NEAR * 0.7, None)
        axes.legend(frameon=False, loc="lower left", fontsize=9)
        style.rule(axes)
        return figure


def starts(fit: Fit, truth: Network | None = None) -> Figure:
    """Draw the entropy of every start against its objective, and where the chosen parameters lie.

    Where the truth is known, the darker a start the nearer it is: KL(truth ‖ start) (ENT, Figure 1).
    """
    reached = np.array([start.objective for start in fit.starts])
    with rc_context(style.STYLE):
        figure, axes = style.canvas(6.4, 4.0)
        look: dict[str, Any] = {"s": 34, "edgecolors": style.INK, "linewidths": 0.5, "label": "start"}
        if truth is None:
            axes.scatter(reached, fit.entropies, color=style.STEADY, **look)
        else:
            far = np.array([kl(truth, start.network) for start in fit.starts])
            shades = axes.scatter(reached, fit.entropies, c=far, cmap=style.NEARNESS, **look)
            bar = figure.colorbar(shades, ax=axes, pad=0.02, aspect=24)
            bar.set_label("KL from the truth (nats)")
            bar.outline.set_visible(False)
        axes.scatter(
            [fit.objective],
            [float(local_entropy(fit.dag, fit.network.theta))],
            s=150,
            facecolors="none",
            edgecolors=style.ACCENT,
            linewidths=2.0,
            label=f"chosen: {fit.selection.name}",
        )
        axes.set_xlim(_widened(*axes.get_xlim()))
        axes.set_ylim(_widened(*axes.get_ylim()))
        axes.set_xlabel("objective (nats; higher is better)")
        axes.set_ylabel("local entropy (nats)")
        axes.xaxis.set_major_locator(MaxNLocator(6))
        style.numbered(axes.xaxis, lambda value: f"{value:,.6g}".replace("-", "\N{MINUS SIGN}"))
        style.numbered(axes.yaxis, lambda value: f"{value:.6g}")
        axes.legend(frameon=False, loc="best", fontsize=9)
        style.rule(axes)
        return figure


def _floor(values: Array) -> float:
    """Return where the axis begins: one value far below all others would flatten their differences."""
    gaps = np.sort(values.max() - values)[::-1]
    widest = gaps[1] if len(gaps) > 2 and gaps[0] > 5 * gaps[1] > 0 else gaps[0]
    return float(values.max() - 1.2 * max(widest, 1.0))


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return an axis on which starts that differ by rounding lie together, as they do in truth."""
    short = max(LEAST_SPAN - (high - low), 0.0) / 2
    return low - short, high + short


def _label_far(axes: Axes, at: float, value: float, floor: float, top: float) -> None:
    """Point to a value that lies below the axis."""
    axes.annotate(
        f"{minus(value, 0)}\n(off the scale)",
        (at, floor),
        (at, floor + 0.18 * (top - floor)),
        ha="center",
        fontsize=9,
        arrowprops={"arrowstyle": "->", "color": style.INK, "linewidth": 0.8},
    )


def _only_state(study: Classes) -> Label | None:
    """Return the state whose chance every line shows, None where lines differ in that."""
    tables = [variable for variable in study.table.schema if variable.discrete]
    lasts = {variable.states[-1] for variable in tables}
    return lasts.pop() if len(lasts) == 1 and all(variable.size == 2 for variable in tables) else None
