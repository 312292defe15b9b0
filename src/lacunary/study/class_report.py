"""A report on latent classes that can be published: estimates with errors, fit, classification, criteria."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import permutations
from math import factorial
from typing import Any, Literal

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.frame import frame_of
from lacunary.data.wording import MISSING_AT_RANDOM, counted, latex
from lacunary.errors import ParameterError
from lacunary.evidence.sampled import posterior_mean
from lacunary.infer.answers import as_source
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array
from lacunary.study.class_errors import BORDER, curvature_covariance, resampled_places, robust_covariance
from lacunary.study.class_fit import ClassFit, climbed, fit_classes, refitted
from lacunary.study.class_tests import Residual, absolute_fit, bivariate_residuals, bootstrap_fit
from lacunary.study.result import Classes

__all__ = ["ClassReport", "Parameter", "class_report"]

Errors = Literal["curvature", "robust", "bootstrap", "posterior"]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a latent class model, with its standard error and interval.

    ``error`` is NaN where the estimate lies on the border (a probability of 0 or 1).
    """

    variable: str
    label: str
    group: str
    estimate: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class ClassReport:
    """All that is reported of a latent class model; prints, and writes CSV and LaTeX.

    Attributes
    ----------
    fit
        The model, with criteria, entropy R² and classification.
    parameters
        Shares of the classes, then what each column is like in each class.
    errors
        Where standard errors come from.
    level
        How much the intervals cover.
    absolute
        L², X² and degrees of freedom, where columns are discrete.
    residuals
        Bivariate residuals, the largest first.
    p_values
        Bootstrap p-values of L², X² and, by pair, of residuals; empty if none were asked for.
    """

    fit: ClassFit
    parameters: tuple[Parameter, ...]
    errors: Errors
    level: float
    absolute: Mapping[str, float]
    residuals: tuple[Residual, ...]
    p_values: Mapping[Any, float]

    def __str__(self) -> str:
        fit, n = self.fit, self.fit.table.size
        lines = [
            f"{counted(fit.classes, 'class')} of {counted(len(fit.table), 'row')} (weight {n:g}), "
            f"{counted(fit.parameters, 'parameter')}, log-likelihood {fit.log_likelihood:.4f}",
            "  ".join(f"{name} {value:.4f}" for name, value in fit.criteria.items()),
            *self._absolute_lines(),
            f"entropy R² {fit.entropy_r2:.4f}, classification error {fit.classification_error:.4f}",
            "",
            *self._table_lines(),
            "",
            *self._classification_lines(),
            *self._residual_lines(),
            f"Errors from {WORDS[self.errors]}; a dash is a probability of 0 or 1. {MISSING_AT_RANDOM}",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ClassReport: {self.fit.classes} classes, {len(self.fit.table)} rows>"

    def _absolute_lines(self) -> list[str]:
        told = [f"{SYMBOL[key]} {self.absolute[key]:.4f}" for key in ("L2", "X2") if key in self.absolute]
        told += [
            f"{SYMBOL[key]}: bootstrap p {self.p_values[key]:.4g}" for key in self.p_values if key in SYMBOL
        ]
        return ["  ".join([*told, f"{self.absolute['dof']:g} degrees of freedom"])] if told else []

    def _by_label(self) -> dict[tuple[str, str], dict[str, Parameter]]:
        """Return the parameters of each variable and state, by class."""
        rows: dict[tuple[str, str], dict[str, Parameter]] = {}
        for one in self.parameters:
            rows.setdefault((one.variable, one.label), {})[one.group] = one
        return rows

    def _table_lines(self) -> list[str]:
        labels, rows = self.fit.labels, self._by_label()
        width = min(max(len(f"{v}={s}") for v, s in rows), WIDEST)
        lines = [f"{'':<{width}}  " + "  ".join(f"{label:>17}" for label in labels)]
        for (variable, label), told in rows.items():
            name = f"{variable}={label}" if label else variable
            cells = [_cell(told.get(group)) for group in labels]
            lines.append(f"{name:<{width}}  " + "  ".join(f"{cell:>17}" for cell in cells))
        return lines

    def _classification_lines(self) -> list[str]:
        labels = self.fit.labels
        lines = ["assigned to (expected rows)   " + " ".join(f"{label:>9}" for label in labels)]
        for label, row in zip(labels, self.fit.classification, strict=True):
            lines.append(f"  {label:<26}  " + " ".join(f"{value:9.2f}" for value in row))
        average = np.diag(self.fit.average_posterior)
        return [*lines, f"  {'average posterior':<26}  " + " ".join(f"{value:9.4f}" for value in average)]

    def _residual_lines(self) -> list[str]:
        if not self.residuals:
            return []
        lines = ["largest bivariate residuals"]
        for one in self.residuals[:5]:
            p = self.p_values.get((one.first, one.second))
            said = f"  bootstrap p {p:.4g}" if p is not None else ""
            lines.append(f"  {one.first}, {one.second}: {one.value:.4f}{said}")
        return lines

    def to_frame(self, library: str | None = None) -> Any:
        """Return all parameters as a frame, one row each."""
        keys = ("variable", "label", "group", "estimate", "error", "low", "high")
        return frame_of({key: [getattr(one, key) for one in self.parameters] for key in keys}, library)

    def to_csv(self) -> str:
        """Return all parameters as CSV."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["variable", "state", self.fit.hidden, "estimate", "error", "low", "high"])
        for one in self.parameters:
            numbers = ("" if np.isnan(x) else repr(x) for x in (one.estimate, one.error, one.low, one.high))
            writer.writerow([one.variable, one.label, one.group, *numbers])
        return out.getvalue()

    def to_latex(self) -> str:
        """Return the table of parameters in LaTeX, errors in brackets, for the package booktabs."""
        labels, rows = self.fit.labels, self._by_label()
        head = " & ".join(["", *(latex(label) for label in labels)])
        body = [
            " & ".join([latex(f"{v} = {s}" if s else v), *(_cell(told.get(g)) for g in labels)]) + r" \\"
            for (v, s), told in rows.items()
        ]
        criteria = ", ".join(f"{name} {value:.2f}" for name, value in self.fit.criteria.items())
        note = (
            rf"\multicolumn{{{len(labels) + 1}}}{{l}}{{$\log L = {self.fit.log_likelihood:.2f}$, {criteria}, "
            rf"entropy $R^2 = {self.fit.entropy_r2:.3f}$}} \\"
        )
        assumed = rf"\multicolumn{{{len(labels) + 1}}}{{l}}{{{MISSING_AT_RANDOM}}} \\"
        begin = rf"\begin{{tabular}}{{l{'r' * len(labels)}}}"
        return "\n".join(
            [
                begin,
                r"\toprule",
                head + r" \\",
                r"\midrule",
                *body,
                r"\midrule",
                note,
                assumed,
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )


WIDEST = 60
"""A longer name stands out of its column, and does not widen all others'."""

SYMBOL = {"L2": "L²", "X2": "X²"}
WORDS = {
    "curvature": "the exact curvature of the likelihood",
    "robust": "the sandwich of curvature and scores",
    "bootstrap": "rows drawn again",
    "posterior": "posterior draws",
}


def _cell(one: Parameter | None) -> str:
    if one is None:
        return ""
    error = "-" if np.isnan(one.error) else f"{one.error:.4f}"
    return f"{one.estimate:.4f} ({error})"


@budgeted
def class_report(
    model: int | Network | Classes | Any,
    table: Any = None,
    *,
    hidden: str = "class",
    errors: Errors = "curvature",
    replicates: int = 0,
    draws: int = 200,
    starts: int = 20,
    clusters: Sequence[Any] | None = None,
    strata: Sequence[Any] | None = None,
    level: float = 0.95,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator = 0,
) -> ClassReport:
    """Return a report on a latent class model of highest likelihood, with errors of every parameter.

    Parameters
    ----------
    model
        How many classes; or what `classes` found; or a network with one hidden class above all columns, from
        which the likelihood is climbed on.
    table
        Rows with holes; not needed beside what `classes` found. Weights may be sampling weights.
    hidden
        What to call the class.
    errors
        "curvature": the exact second derivatives of the log-likelihood. "robust": a sandwich, for sampling
        weights, ``clusters`` and ``strata``. "bootstrap": rows, or clusters, drawn again ``draws`` times.
        "posterior": Gibbs draws under a uniform prior; estimates stay those of highest likelihood. Classes
        of refits and draws are named as in the fit they resemble most.
    replicates
        How many tables are drawn from the model for bootstrap p-values of L², X² and residuals.
    draws
        How many resamples, or posterior draws a chain, errors are taken from.
    starts, rng
        As of `lacunary.fit`.
    level
        How much the intervals cover.
    watch
        Called with how many replicates are done and how many there are.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> report = lac.class_report(2, votes.select(votes.schema.names[:6]), starts=3)
    >>> report.fit.classes, 0 < report.fit.entropy_r2 < 1
    (2, True)
    """
    random = np.random.default_rng(rng)
    fit = _fitted(model, table, hidden, starts, random)
    estimate, covariance, draws_of = fit.network.theta, None, None
    if errors in ("curvature", "robust"):
        covariance = (
            curvature_covariance(fit.network, fit.table)
            if errors == "curvature"
            else robust_covariance(fit.network, fit.table, clusters, strata)
        )
    elif errors == "bootstrap":
        draws_of = _resampled(fit, draws, clusters, random, watch)
    elif errors == "posterior":
        found = posterior_mean(fit.network.dag, fit.table, draws=draws, rng=random)
        draws_of = _alike(fit, found.draws.reshape(-1, len(estimate)))
    else:
        raise ParameterError(f"errors must be curvature, robust, bootstrap or posterior, not {errors!r}")
    p_values = bootstrap_fit(fit, replicates, random, watch) if replicates else {}
    parameters = _parameters(fit, covariance, draws_of, level)
    residuals = bivariate_residuals(fit)
    return ClassReport(fit, parameters, errors, level, absolute_fit(fit), residuals, p_values)


def _fitted(model: Any, table: Any, hidden: str, starts: int, random: np.random.Generator) -> ClassFit:
    if isinstance(model, Classes):
        table = model.table
    if table is None:
        raise ParameterError("a report needs the rows as well: class_report(model, table)")
    rows = as_source(table).whole("a report on classes")
    if isinstance(model, int):
        return fit_classes(rows, model, hidden=hidden, starts=starts, rng=random)
    return climbed(getattr(model, "network", model), rows, hidden)


def _resampled(fit: ClassFit, draws: int, clusters: Any, random: np.random.Generator, watch: Any) -> Array:
    """Return the parameters refitted to resampled rows; (draws, size)."""
    out = []
    for k in range(draws):
        if watch is not None:
            watch(k, draws)
        rows = fit.table.take(resampled_places(len(fit.table), random, clusters))
        out.append(refitted(fit.network, rows, fit.hidden).network.theta)
    return _alike(fit, np.array(out))


def _alike(fit: ClassFit, thetas: Array) -> Array:
    """Return parameters with classes named as in the fit: the order under which they differ least."""
    k = fit.classes
    if factorial(k) > 50_000:
        return thetas
    own, layout = fit.network, fit.network.dag.layout
    orders = [list(order) for order in permutations(range(k))]
    out = np.empty_like(thetas)
    tables = {name: own.table(name).reshape(k, -1) for name in own.dag.names}
    scale = {name: np.maximum(np.abs(t).max(), 1e-9) for name, t in tables.items()}
    for row, theta in enumerate(thetas):
        told = {n: layout.table(theta, i).reshape(k, -1) for i, n in enumerate(own.dag.names)}
        cost = sum(
            np.abs(tables[n][:, None] / scale[n] - told[n][None] / scale[n]).sum(axis=2) for n in tables
        )
        best = min(orders, key=lambda order: float(np.asarray(cost)[range(k), order].sum()))
        named = {n: layout.table(theta, i)[best] for i, n in enumerate(own.dag.names)}
        out[row] = Network.from_tables(own.dag, named, renormalize=True).theta
    return out


def _parameters(
    fit: ClassFit, covariance: Array | None, draws: Array | None, level: float
) -> tuple[Parameter, ...]:
    from scipy import stats

    network, dag, layout = fit.network, fit.network.dag, fit.network.dag.layout
    z = float(stats.norm.ppf((1 + level) / 2))
    groups = fit.labels
    places = np.arange(layout.size)
    out = []
    for name in (fit.hidden, *(n for n in dag.names if n != fit.hidden)):
        variable, i = dag.schema[name], dag.schema.index(name)
        table, at = network.table(name), layout.table(places.astype(np.float64), i).astype(np.int64)
        cells: list[tuple[str, str, tuple[int, ...]]]
        if name == fit.hidden:
            cells = [("", groups[k], (k,)) for k in range(fit.classes)]
        else:
            labels = [str(s) for s in variable.states] if variable.discrete else ["mean", "variance"]
            cells = [(label, groups[k], (k, j)) for j, label in enumerate(labels) for k in range(fit.classes)]
        for label, group, where in cells:
            value, place = float(table[where]), int(at[where])
            border = variable.discrete and min(value, 1 - value) < BORDER
            if draws is not None:
                error = float(draws[:, place].std(ddof=1))
                low, high = np.quantile(draws[:, place], [(1 - level) / 2, (1 + level) / 2])
            else:
                assert covariance is not None
                error = float("nan") if border else float(np.sqrt(max(covariance[place, place], 0.0)))
                low, high = _interval(value, error, z, variable.discrete)
            out.append(Parameter(name, label, group, value, error, float(low), float(high)))
    return tuple(out)


def _interval(value: float, error: float, z: float, probability: bool) -> tuple[float, float]:
    """Return an interval; of a probability, one symmetric in its log-odds, which stays within 0 and 1."""
    if np.isnan(error):
        return float("nan"), float("nan")
    if not probability or not 0 < value < 1:
        return value - z * error, value + z * error
    odds, wide = np.log(value / (1 - value)), z * error / (value * (1 - value))
    return tuple(float(1 / (1 + np.exp(-edge))) for edge in (odds - wide, odds + wide))  # type: ignore[return-value]
