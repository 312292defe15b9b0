"""Facts about columns that learning needs before there is a graph; all of them add over parts of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lacunary.data.source import Source
    from lacunary.data.table import Table

__all__ = [
    "Facts",
    "below",
    "co_moments",
    "condensed",
    "hole_patterns",
    "open_cells",
    "quantiles",
    "sketched",
    "state_weights",
]

Array = NDArray[np.float64]

TINY = np.finfo(np.float64).tiny

FLAT = 1e-14
"""A standard deviation that is so small a share of the largest value is rounding of a constant."""

KEPT = 2**14
"""Values of a column that are kept for quantiles; of more, neighbours are merged."""


@dataclass(frozen=True, eq=False)
class Facts:
    """Sizes, ranges and moments of the columns of some rows. Rows of weight zero are not looked at.

    Attributes
    ----------
    rows, weight
        The number of rows, and Σ of their weights.
    shown
        Whether any row, of whatever weight, shows the column; (columns,).
    holes
        Number of open cells in each column, whatever their rows weigh; (columns,).
    seen
        Σ weight of the rows that show each column; (columns,).
    low, high
        Range of each continuous column; NaN where nothing is seen; (columns,).
    unit
        A power of two in which a column's moments are kept: squares of 1e160 are no numbers; (columns,).
    mean, scatter
        Weighted mean, and Σ weight · (x − mean)², in these units; (columns,).
    """

    rows: int
    weight: float
    shown: NDArray[np.bool_]
    holes: NDArray[np.int64]
    seen: Array
    low: Array
    high: Array
    unit: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, table: Table) -> Facts:
        """Return the facts about one table."""
        numbers = np.tile([[np.nan], [np.nan], [TINY], [0.0], [0.0]], len(table.schema))
        for i, variable in enumerate(table.schema):
            if not variable.discrete:
                numbers[:, i] = _column(table, i)
        holes = table.holes.sum(axis=0)
        return cls(len(table), table.size, holes < len(table), holes, _seen(table, holes), *numbers)

    def __add__(self, other: Facts) -> Facts:
        unit = np.maximum(self.unit, other.unit)
        a, b = self._in(unit), other._in(unit)
        seen = self.seen + other.seen
        share = np.divide(other.seen, seen, out=np.zeros_like(seen), where=seen > 0)
        shift = np.where((self.seen > 0) & (other.seen > 0), b[0] - a[0], 0.0)
        mean = np.where(self.seen > 0, a[0] + share * shift, b[0])
        return Facts(
            self.rows + other.rows,
            self.weight + other.weight,
            self.shown | other.shown,
            self.holes + other.holes,
            seen,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
            unit,
            mean,
            a[1] + b[1] + self.seen * share * shift**2,
        )

    def _in(self, unit: Array) -> tuple[Array, Array]:
        ratio = self.unit / unit
        return self.mean * ratio, self.scatter * ratio**2

    def centre_and_spread(self, columns: Sequence[int]) -> tuple[float, float]:
        """Return mean and standard deviation of some columns taken together.

        Zero and one where nothing is seen of them; one, too, of what rounding leaves of a constant.
        """
        some = [self._one(i) for i in columns if self.seen[i] > 0]
        if not some:
            return 0.0, 1.0
        joint = some[0]
        for one in some[1:]:
            joint = joint + one
        unit, mean = float(joint.unit[0]), float(joint.mean[0])
        deviation = float(np.sqrt(joint.scatter[0] / joint.seen[0]))
        largest = float(max(abs(joint.low[0]), abs(joint.high[0]))) / unit
        return mean * unit, deviation * unit if deviation > FLAT * largest else 1.0

    def _one(self, i: int) -> Facts:
        one = slice(i, i + 1)
        numbers = (a[one] for a in (self.seen, self.low, self.high, self.unit, self.mean, self.scatter))
        return Facts(self.rows, self.weight, self.shown[one], self.holes[one], *numbers)


def _seen(table: Table, holes: NDArray[np.int64]) -> Array:
    """Return Σ weight of the rows that show each column; (columns,)."""
    if np.all(table.weights == 1.0):
        return np.asarray(len(table) - holes, dtype=np.float64)
    return np.array([table.weights[~column].sum() for column in table.holes.T])


def _column(table: Table, i: int) -> tuple[float, ...]:
    """Return low, high, unit, mean and scatter of one continuous column."""
    counted = ~table.holes[:, i] & (table.weights > 0)
    x, weight = table.reals[counted, i], table.weights[counted]
    if not len(x):
        return np.nan, np.nan, TINY, 0.0, 0.0
    low, high = float(x.min()), float(x.max())
    unit = 2.0 ** np.floor(np.log2(np.abs(x).max(initial=TINY)))
    x = x / unit
    mean = x[0] + np.average(x - x[0], weights=weight)
    return low, high, unit, float(mean), float(weight @ (x - mean) ** 2)


def state_weights(source: Source, name: str) -> Array:
    """Return Σ weight of the rows that show each state of a discrete column; (states,)."""
    return source.fold(partial(_states, source.schema.index(name)))


def _states(i: int, table: Table) -> Array:
    codes, size = table.codes[:, i], table.schema.sizes[i]
    there = codes >= 0
    return np.bincount(codes[there], table.weights[there], minlength=size).astype(np.float64)[:size]


def co_moments(source: Source) -> tuple[Array, Array, Array]:
    """Return Σ weight, mean and co-moment of every two continuous columns, over rows that show both.

    (columns, columns) each: of i and j the weight, the mean of i where j is shown too, and
    Σ weight · (x_i − mean)(x_j − mean). Discrete columns have zeros.
    """
    return source.fold(_co_moments, _co_merged)


def _co_moments(table: Table) -> tuple[Array, Array, Array]:
    columns = len(table.schema)
    if not table.reals.shape[1]:
        return np.zeros((columns, columns)), np.zeros((columns, columns)), np.zeros((columns, columns))
    there = ~np.isnan(table.reals)
    weighed = there * table.weights[:, None]
    x = np.where(there, table.reals, 0.0)
    total = weighed.T @ there
    centre = np.divide(
        (x * weighed).sum(axis=0), np.diagonal(total), out=np.zeros(columns), where=np.diagonal(total) > 0
    )
    x = np.where(there, table.reals - centre, 0.0)
    offset = np.divide((x * weighed).T @ there, total, out=np.zeros_like(total), where=total > 0)
    moment = (x * weighed).T @ x - total * offset * offset.T
    return total, np.where(total > 0, centre[:, None] + offset, 0.0), moment


def _co_merged(a: tuple[Array, Array, Array], b: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    total = a[0] + b[0]
    share = np.divide(b[0], total, out=np.zeros_like(total), where=total > 0)
    shift = np.where((a[0] > 0) & (b[0] > 0), b[1] - a[1], 0.0)
    mean = np.where(a[0] > 0, a[1] + share * shift, b[1])
    return total, mean, a[2] + b[2] + a[0] * share * shift * shift.T


def open_cells(source: Source) -> NDArray[np.int64]:
    """Return the number of open cells in each column, of all rows where one stands for many equal ones."""
    facts = source.facts
    if facts.rows == len(source):
        return facts.holes
    return np.rint(facts.weight - facts.seen).astype(np.int64)


def hole_patterns(source: Source) -> dict[tuple[bool, ...], float]:
    """Return Σ weight of the rows with each pattern of holes, the heaviest first."""
    found = source.fold(_patterns, _together)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _patterns(table: Table) -> dict[tuple[bool, ...], float]:
    patterns, which = np.unique(table.holes, axis=0, return_inverse=True)
    weight = np.bincount(which.ravel(), table.weights, minlength=len(patterns))
    return {tuple(map(bool, p)): float(w) for p, w in zip(patterns, weight, strict=True)}


def _together(
    a: dict[tuple[bool, ...], float], b: dict[tuple[bool, ...], float]
) -> dict[tuple[bool, ...], float]:
    return {pattern: a.get(pattern, 0.0) + b.get(pattern, 0.0) for pattern in {**a, **b}}


def quantiles(source: Source, name: str, shares: Sequence[float] | Array) -> Array:
    """Return the values below which such shares of a continuous column's weight lie; (shares,).

    Exact for up to `KEPT` different values; beyond, every merging of parts moves ranks by
    at most 1 / KEPT.
    """
    return below(source.fold(partial(_sorted, source.schema.index(name)), condensed), shares)


def below(sketch: tuple[Array, Array], shares: Sequence[float] | Array) -> Array:
    """Return the values below which such shares of all weight lie, from what `sketched` kept; (shares,)."""
    values, weight = sketch
    if not len(values):
        return np.full(len(shares), np.nan)
    total = np.cumsum(weight)
    place = np.searchsorted(total, np.asarray(shares) * total[-1], side="left")
    return np.asarray(values[np.minimum(place, len(values) - 1)])


def _sorted(column: int, table: Table) -> tuple[Array, Array]:
    x = table.reals[:, column]
    there = ~np.isnan(x) & (table.weights > 0)
    return sketched(x[there], table.weights[there])


def sketched(x: Array, weights: Array) -> tuple[Array, Array]:
    """Return different values, in order, and their weights; neighbours become one where they are many."""
    values, which = np.unique(x, return_inverse=True)
    return _thinned(values, np.bincount(which, weights, minlength=len(values)).astype(np.float64))


def condensed(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return what `sketched` keeps of the values of two parts."""
    return sketched(np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]]))


def _thinned(values: Array, weight: Array) -> tuple[Array, Array]:
    """Return at most about `KEPT` values: runs of neighbours that weigh little become their last."""
    if len(values) <= KEPT:
        return values, weight
    bucket = np.floor((np.cumsum(weight) - weight) * (KEPT / weight.sum()))
    last = np.flatnonzero(np.diff(bucket, append=np.inf))
    return values[last], np.diff(np.cumsum(weight)[last], prepend=0.0)
