"""Posterior predictive checks: whether rows look like those that the model would make.

Parameters are drawn from their posterior, and from each of them a table as large as the rows, with the same
holes. A statistic of the rows is set beside its values in these tables (Rubin 1984; Gelman and others 1996).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import budgeted
from lacunary.data.frame import frame_of
from lacunary.data.table import HOLE, Table
from lacunary.data.wording import counted
from lacunary.errors import ParameterError
from lacunary.evidence.sampled import posterior_mean
from lacunary.infer.belief import Prior
from lacunary.infer.network import Network
from lacunary.learn.check import with_graph
from lacunary.maths.arrays import Array, Booleans
from lacunary.study.class_tests import simulated

__all__ = ["CheckedStatistic", "PredictiveCheck", "predictive_check"]

SHOWN = 12
"""The most statistics that are printed."""

CHAINS = 4
"""Gibbs chains that parameters come from."""

Values = NDArray[Any]
"""A column's codes, or its numbers."""

Statistics = Mapping[str, Callable[[Table], float]]


@dataclass(frozen=True)
class CheckedStatistic:
    """A statistic of the rows beside its values in tables that the model made.

    Attributes
    ----------
    name, observed
        What it is, and what it is of the rows.
    mean, low, high
        Its mean in the tables drawn, and the interval that holds 95 % of them.
    p
        (1 + how many tables have at least as much) / (1 + tables): near 0 or 1 where the model does not make
        rows like these.
    """

    name: str
    observed: float
    mean: float
    low: float
    high: float
    p: float

    @property
    def beyond(self) -> bool:
        """Whether it lies outside the interval."""
        return not self.low <= self.observed <= self.high


@dataclass(frozen=True)
class PredictiveCheck:
    """Statistics of the rows beside those of tables drawn from the model, the most extreme first."""

    statistics: tuple[CheckedStatistic, ...]
    tables: int

    def __str__(self) -> str:
        beyond = sum(one.beyond for one in self.statistics)
        lines = [
            f"{counted(self.tables, 'table')} drawn from the posterior, with the same holes; "
            f"{beyond} of {counted(len(self.statistics), 'statistic')} beyond 95 % of them",
            f"{'':2}{'rows':>9} {'drawn':>9}   {'95 % of tables':>19} {'p':>7}",
        ]
        for one in self.statistics[:SHOWN]:
            lines.append(
                f"{'*' if one.beyond else ' '} {one.observed:9.4f} {one.mean:9.4f}   "
                f"{one.low:9.4f} {one.high:9.4f} {one.p:7.3f}  {one.name}"
            )
        more = len(self.statistics) - SHOWN
        return "\n".join([*lines, f"  and {more} less extreme"] if more > 0 else lines)

    def to_frame(self, library: str | None = None) -> Any:
        """Return all statistics as a data frame."""
        keys = ("name", "observed", "mean", "low", "high", "p", "beyond")
        return frame_of({key: [getattr(one, key) for one in self.statistics] for key in keys}, library)


@budgeted
def predictive_check(
    model: Any,
    table: Any,
    statistics: Statistics | None = None,
    *,
    tables: int = 200,
    prior: Prior | None = None,
    burn: int = 200,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator = 0,
) -> PredictiveCheck:
    """Return how statistics of the rows compare with those of tables drawn from the posterior.

    Parameters
    ----------
    model
        A graph, arrows, a network, a fit or what `classes` found: its graph is what is checked.
    table
        Rows with holes; the tables drawn have holes in the same cells.
    statistics
        Functions of a table, by name. By default how strongly every two columns hang together (Cramér's V,
        correlation ratio or correlation, over rows in which both are observed), and the skewness of
        every continuous column.
    tables
        How many are drawn.
    prior, burn, rng
        As of `lacunary.posterior_mean`.
    watch
        Called with how many tables are done and how many there are.

    Examples
    --------
    Votes hang together more than a model without arcs would have it:

    >>> import lacunary as lac
    >>> votes = lac.house_votes()[["crime", "mx_missile", "el_salvador_aid"]]
    >>> found = lac.predictive_check(lac.Dag.from_parents(votes.schema, {}), votes, tables=40)
    >>> [one.beyond for one in found.statistics]
    [True, True, True]
    """
    dag, rows = with_graph("predictive_check", getattr(getattr(model, "network", model), "dag", model), table)
    rows = rows.whole("a posterior predictive check")
    if tables < 1:
        raise ParameterError("a posterior predictive check needs at least one table")
    random = np.random.default_rng(rng)
    observed = _told(rows, statistics)
    if not observed:
        raise ParameterError("there is nothing to compare: give statistics={'name': function of a table}")
    draws = max(-(-tables // CHAINS), 4)  # fewer have no R̂
    found = posterior_mean(dag, rows, prior=prior, draws=draws, burn=burn, chains=CHAINS, rng=random)
    thetas = np.swapaxes(found.draws, 0, 1).reshape(-1, found.draws.shape[-1])[:tables]
    drawn = {name: np.empty(tables) for name in observed}
    for k, theta in enumerate(thetas):
        if watch is not None:
            watch(k, tables)
        told = _told(simulated(Network(dag, dag.layout.normalize(theta)), rows, random), statistics)
        for name in observed:
            drawn[name][k] = told.get(name, np.nan)
    checked = [_checked(name, value, drawn[name]) for name, value in observed.items()]
    return PredictiveCheck(tuple(sorted(checked, key=lambda one: min(one.p, 1 - one.p))), tables)


def _checked(name: str, observed: float, drawn: Array) -> CheckedStatistic:
    """Return a statistic beside those of tables in which it has a value."""
    known = drawn[np.isfinite(drawn)]
    if not len(known):
        none = float("nan")
        return CheckedStatistic(name, observed, none, none, none, 1.0 / (1 + len(drawn)))
    low, high = (float(edge) for edge in np.quantile(known, [0.025, 0.975]))
    p = (1 + int(np.sum(known >= observed))) / (1 + len(known))
    return CheckedStatistic(name, observed, float(known.mean()), low, high, p)


def _told(rows: Table, statistics: Statistics | None) -> dict[str, float]:
    """Return the statistics of some rows that have a value."""
    pairs = _usual(rows) if statistics is None else ((n, float(f(rows))) for n, f in statistics.items())
    return {name: value for name, value in pairs if np.isfinite(value)}


def _usual(rows: Table) -> Iterator[tuple[str, float]]:
    """Go over how strongly columns hang together, and the skewness of continuous ones."""
    seen = [v for v in rows.schema if not v.hidden]
    held = {v.name: _column(rows, v.name) for v in seen}
    for one, two in combinations(seen, 2):
        (a, here), (b, there) = held[one.name], held[two.name]
        both = here & there
        together = _together(a[both], b[both], rows.weights[both], one.discrete, two.discrete)
        yield f"{one.name}, {two.name}", together
    for variable in seen:
        if not variable.discrete:
            values, here = held[variable.name]
            yield f"skewness of {variable.name}", _skewness(values[here], rows.weights[here])


def _column(rows: Table, name: str) -> tuple[Values, Booleans]:
    """Return a column's codes or numbers, and where it is observed."""
    i = rows.schema.index(name)
    if rows.schema[name].discrete:
        return rows.codes[:, i], rows.codes[:, i] != HOLE
    return rows.reals[:, i], ~np.isnan(rows.reals[:, i])


def _together(a: Values, b: Values, weights: Array, one: bool, two: bool) -> float:
    """Return Cramér's V of two discrete columns, the correlation of two others, or the correlation ratio."""
    if not weights.sum() > 0:
        return float("nan")
    if one and two:
        return _cramer(a, b, weights)
    if not one and not two:
        x, y = (v - np.average(v, weights=weights) for v in (a, b))
        size = np.sqrt((weights @ x**2) * (weights @ y**2))
        return float(weights @ (x * y) / size) if size > 0 else float("nan")
    groups, values = (a, b) if one else (b, a)
    return _ratio(groups, values, weights)


def _cramer(a: Values, b: Values, weights: Array) -> float:
    """Return √(X² / (N · (the fewer states that occur − 1)))."""
    counts = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(counts, (a, b), weights)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    fewer = min(counts.shape) - 1
    if not fewer:
        return float("nan")
    return float(np.sqrt(((counts - expected) ** 2 / expected).sum() / (counts.sum() * fewer)))


def _ratio(groups: Values, values: Array, weights: Array) -> float:
    """Return the correlation ratio: the share of the variance that lies between groups, its root."""
    sizes = np.bincount(groups, weights)
    away = values - np.average(values, weights=weights)
    sums = np.bincount(groups, weights * away)
    total = float(weights @ away**2)
    between = float((sums[sizes > 0] ** 2 / sizes[sizes > 0]).sum())
    return float(np.sqrt(between / total)) if total > 0 else float("nan")


def _skewness(values: Array, weights: Array) -> float:
    """Return the third central moment over the cube of the standard deviation."""
    if not weights.sum() > 0:
        return float("nan")
    away = values - np.average(values, weights=weights)
    spread = np.average(away**2, weights=weights)
    return float(np.average(away**3, weights=weights) / spread**1.5) if spread > 0 else float("nan")
