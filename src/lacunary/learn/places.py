"""Rows as points, so that groups of them can begin a climb: standardised columns, indicators of states.

Every variable has variance one altogether. Groups are looked for among at most 2000 different rows; which,
depends on their cells alone, so that neither the order of rows, nor how they lie in parts, nor whether a
row counts twice or is there twice changes anything. All rows then go to the nearest centre.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from lacunary.data.facts import co_moments, state_weights
from lacunary.data.source import Source, distinct_rows, joined, merged_rows
from lacunary.data.table import Table
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.cluster import Ward, centres_of, k_means, nearest

__all__ = ["DRAWN", "Places"]

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

    def points(self, table: Table) -> Array:
        """Return rows as points, NaN where a cell is a hole; (rows, width)."""
        parts = [self._column(table, i) for i in self.used]
        out = np.concatenate(parts, axis=1) if parts else np.zeros((len(table), 0))
        if self._turn is None:
            return out
        turned = np.nan_to_num(out[:, self._continuous]) @ self._turn  # a hole stands for the mean
        return np.concatenate([turned, np.delete(out, self._continuous, axis=1)], axis=1)

    def nearest(self, centres: Array) -> Integers:
        """Return which centre each row of the source is nearest to; (rows,)."""
        return self.source.fold(partial(_nearest, self, centres), joined)

    def k_means(self, groups: int, rng: np.random.Generator) -> Integers:
        """Return which group of k-means each row belongs to; (rows,)."""
        return self.nearest(k_means(*self.drawn, groups, rng))

    def merged(self, groups: int) -> Integers:
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

    def _column(self, table: Table, i: int) -> Array:
        centre, spread = self._scale[i]
        variable = self.source.schema.variables[i]
        if not variable.discrete:
            return np.asarray((table.reals[:, [i]] - centre) / spread)
        shown = (table.codes[:, [i]] == np.arange(variable.size)).astype(np.float64) / spread
        shown[table.holes[:, i]] = np.nan
        return np.asarray(shown)

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


def _nearest(places: Places, centres: Array, table: Table) -> Integers:
    return nearest(places.points(table), centres)


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
    out = np.zeros(len(rows), dtype=np.uint64)
    reals = np.where(np.isnan(rows.reals), np.nan, rows.reals + 0.0)  # one zero, one hole
    columns = [
        *rows.codes.T.astype(np.uint64),
        *np.ascontiguousarray(reals.T).view(np.uint64),
    ]
    for column in columns:
        out = (out ^ column) * np.uint64(0x9E3779B97F4A7C15)
        out ^= out >> np.uint64(29)
        out *= np.uint64(0xBF58476D1CE4E5B9)
        out ^= out >> np.uint64(32)
    return np.asarray(out)
