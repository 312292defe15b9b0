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
from lacunary.data.fewest import fewest
from lacunary.data.parts import Parts
from lacunary.data.schema import Schema
from lacunary.data.source import Source
from lacunary.data.table import Table
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.cluster import Ward, centres_of, k_means, nearest

__all__ = ["Places", "Points"]

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
        rows = fewest(self.source)
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
