"""Rows as points, so that groups of them can begin a climb: standardised columns, indicators of states.

Every variable has variance one altogether. Groups are looked for among at most 2000 different rows; which,
depends on their cells alone, so that neither the order of rows, nor how they lie in parts, nor whether a
row counts twice or is there twice changes anything. All rows then go to the nearest centre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from lacunary.data.facts import co_moments, state_weights
from lacunary.data.parts import Parts
from lacunary.data.schema import Schema
from lacunary.data.source import Source, distinct_rows, merged_rows
from lacunary.data.table import Table
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.cluster import Ward, centres_of, k_means, nearest

__all__ = ["DRAWN", "Places", "Points", "fewer"]

DRAWN = 2000
"""Different rows among which groups are looked for."""

LEAST = 1e-3
"""Directions in which columns together vary less than this part of the widest are not stretched further."""


@dataclass(frozen=True, eq=False)
class Places:
    """Rows of a source as points.

    Attributes
    ----------
    source
        The rows; hidden columns are not looked at.
    columns
        Which columns count; by default all that are not hidden.
    sphere
        Whether continuous columns are turned and stretched until they are uncorrelated.
    """

    source: Source
    columns: tuple[int, ...] = ()
    sphere: bool = False

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The columns that count."""
        given = self.columns or range(len(self.source.schema))
        return tuple(i for i in given if not self.source.schema.variables[i].hidden)

    @cached_property
    def drawn(self) -> tuple[Array, Array]:
        """Different rows, at most 2000, as points, and how often each counts; (points, width), (points,)."""
        rows = self.source.fold(_fewest, _merged)
        return self.points(rows), rows.weights

    @cached_property
    def points(self) -> Points:
        """What makes points of rows."""
        return Points(self.source.schema, self.used, self._scale, self._turn, tuple(self._continuous))

    def nearest(self, centres: Array) -> Parts[Integers]:
        """Return which centre each row of the source is nearest to, where the rows are; (rows,)."""
        return self.source.laid(partial(_nearest, self.points, centres), keep=False)

    def k_means(self, groups: int, rng: np.random.Generator) -> Parts[Integers]:
        """Return which group of k-means each row belongs to; (rows,)."""
        return self.nearest(k_means(*self.drawn, groups, rng))

    def merged(self, groups: int) -> Parts[Integers]:
        """Return which group of hierarchical merging each row is nearest to; (rows,)."""
        return self.nearest(self.merged_centres(groups))

    def merged_centres(self, groups: int) -> Array:
        """Return the centres of groups by hierarchical merging, of all points if they are no more."""
        points, weights = self.drawn
        if len(points) <= groups:
            return np.nan_to_num(points)
        return centres_of(points, weights, self._tree.labels(groups), groups)

    @cached_property
    def _tree(self) -> Ward:
        return Ward(self.drawn[0])

    @cached_property
    def _continuous(self) -> list[int]:
        """Where continuous columns stand among coordinates."""
        out, at = [], 0
        for i in self.used:
            variable = self.source.schema.variables[i]
            if not variable.discrete:
                out.append(at)
            at += 1 if not variable.discrete else variable.size
        return out

    @cached_property
    def _turn(self) -> Array | None:
        """What standardised continuous columns are multiplied by; (continuous, directions)."""
        columns = [i for i in self.used if not self.source.schema.variables[i].discrete]
        if not self.sphere or len(columns) < 2:
            return None
        total, _, moment = (part[np.ix_(columns, columns)] for part in co_moments(self.source))
        covariance = np.divide(moment, total, out=np.zeros_like(moment), where=total > 0)
        spread = np.array([self._scale[i][1] for i in columns])
        values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
        if not values.max() > 0:  # no column varies
            return None
        return np.asarray(vectors / np.sqrt(np.maximum(values, LEAST * values.max())))

    @cached_property
    def _scale(self) -> dict[int, tuple[float, float]]:
        """Centre and spread of a column; of a discrete one the root of its states' variances together."""
        out = {}
        for i in self.used:
            variable = self.source.schema.variables[i]
            if not variable.discrete:
                out[i] = self.source.facts.centre_and_spread((i,))
                continue
            weights = state_weights(self.source, variable.name)
            chances = weights / max(weights.sum(), 1.0)
            out[i] = 0.0, float(np.sqrt((chances * (1.0 - chances)).sum())) or 1.0
        return out


@dataclass(frozen=True, eq=False)
class Points:
    """What makes points of rows: all that parts must know to do it by themselves.

    Attributes
    ----------
    schema, used
        The variables, and which of them count.
    scale
        Centre and spread of each of these.
    turn, continuous
        What standardised continuous columns are multiplied by, if anything, and where they stand.
    """

    schema: Schema
    used: tuple[int, ...]
    scale: dict[int, tuple[float, float]]
    turn: Array | None
    continuous: tuple[int, ...]

    def __call__(self, table: Table) -> Array:
        """Return rows as points, NaN where a cell is a hole; (rows, width)."""
        parts = [self._column(table, i) for i in self.used]
        out = np.concatenate(parts, axis=1) if parts else np.zeros((len(table), 0))
        if self.turn is None:
            return out
        turned = np.nan_to_num(out[:, list(self.continuous)]) @ self.turn  # a hole stands for the mean
        return np.concatenate([turned, np.delete(out, list(self.continuous), axis=1)], axis=1)

    def _column(self, table: Table, i: int) -> Array:
        centre, spread = self.scale[i]
        variable = self.schema.variables[i]
        if not variable.discrete:
            return np.asarray((table.reals[:, [i]] - centre) / spread)
        shown = (table.codes[:, [i]] == np.arange(variable.size)).astype(np.float64) / spread
        shown[table.holes[:, i]] = np.nan
        return np.asarray(shown)


def _nearest(points: Points, centres: Array, table: Table) -> Integers:
    return nearest(points(table), centres)


def _fewest(table: Table) -> Table:
    return _kept(distinct_rows(table))


def _merged(a: Table, b: Table) -> Table:
    return _kept(merged_rows(a, b))


def _kept(rows: Table) -> Table:
    """Return the rows whose cells have the smallest hashes: a draw that any division into parts shares."""
    if len(rows) <= DRAWN:
        return rows
    return rows.take(np.sort(np.argpartition(_hashes(rows), DRAWN)[:DRAWN]))


def _hashes(rows: Table) -> Integers:
    """Return a number for each row that its cells determine, spread over all numbers; (rows,)."""
    return _scattered([*rows.codes.T.astype(np.uint64), *_words(rows.reals)])


def fewer(points: Array, weights: Array) -> tuple[Array, Array]:
    """Return at most `DRAWN` different points and their weights: a draw that any division into parts shares.

    In an order that depends on the points alone.
    """
    found, first, which = np.unique(_scattered(_words(points)), return_index=True, return_inverse=True)
    total = np.bincount(which.ravel(), weights, minlength=len(found)).astype(np.float64)
    return points[first[:DRAWN]], total[:DRAWN]


def _words(numbers: Array) -> list[Integers]:
    """Return the columns of numbers as words of bits; there is one zero, and one hole."""
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    return list(np.ascontiguousarray(plain.T).view(np.uint64))


def _scattered(columns: Sequence[Integers]) -> Integers:
    """Return a number for each line of columns, spread over all numbers; (rows,)."""
    out: Integers = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
    for column in columns:
        out = (out ^ column) * np.uint64(0x9E3779B97F4A7C15)
        out ^= out >> np.uint64(29)
        out *= np.uint64(0xBF58476D1CE4E5B9)
        out ^= out >> np.uint64(32)
    return np.asarray(out)
