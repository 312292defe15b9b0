"""Rows of a leaf family: any density of one number given discrete parents, asked of the family itself.

A leaf has no children, so a hole in it says nothing: it counts in no statistics, and its density is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.family.leaf import LeafFamily

__all__ = ["LeafPosed", "LeafRows"]


@dataclass(frozen=True, eq=False)
class LeafRows:
    """A column of numbers.

    Attributes
    ----------
    family
        The family.
    x
        The values, NaN where there is a hole; (rows,).
    allowed
        The rows each configuration may explain.
    columns, width
        For each configuration, the column in which its log-densities and weights stand, and how many columns
        there are. Configurations that share one must not share rows.
    """

    family: LeafFamily
    x: NDArray[np.float64]
    allowed: Sequence[NDArray[np.int64]]
    columns: NDArray[np.int64]
    width: int

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def seen(self) -> list[NDArray[np.int64]]:
        """The rows each configuration may explain and that show a value."""
        return [rows[~np.isnan(self.x[rows])] for rows in self.allowed]

    def under(self, potentials: NDArray[Any]) -> LeafPosed:
        """Return the rows as these densities see them; (configurations, potentials)."""
        return LeafPosed(self, potentials)


@dataclass(frozen=True, eq=False)
class LeafPosed:
    """The rows under some densities, complex ones too."""

    rows: LeafRows
    potentials: NDArray[Any]

    def log_evidence(self) -> NDArray[Any]:
        """Return the log-density of observed values, zero of holes, −∞ where not allowed; (rows, columns)."""
        rows = self.rows
        out = np.full((len(rows), rows.width), -np.inf, dtype=self.potentials.dtype)
        for c, potential in enumerate(self.potentials):
            out[rows.allowed[c], rows.columns[c]] = 0.0
            out[rows.seen[c], rows.columns[c]] = rows.family.log_values(rows.x[rows.seen[c]], potential)
        return out

    def moments(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the statistics in each configuration, rows weighted; (configurations, statistics)."""
        rows = self.rows
        out = np.zeros((len(self.potentials), rows.family.statistics), dtype=weights.dtype)
        for c, seen in enumerate(rows.seen):
            none = np.zeros(len(seen), dtype=np.int64)
            weight = weights[:, None] if weights.ndim == 1 else weights
            rows.family.gather(rows.x[seen, None], none, weight[seen, rows.columns[c]], out[c : c + 1])
        return out

    def normals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of (1, x) given the observed cells; (rows, columns, 2) each."""
        rows = self.rows
        mean, deviation = np.zeros((len(rows), rows.width, 2)), np.zeros((len(rows), rows.width, 2))
        for c, (potential, mine) in enumerate(zip(self.potentials, rows.allowed, strict=True)):
            middle, spread = rows.family.mean_sd(potential)
            hole = np.isnan(rows.x[mine])
            mean[mine, rows.columns[c], 1] = np.where(hole, middle, rows.x[mine])
            deviation[mine, rows.columns[c], 1] = np.where(hole, spread, 0.0)
        return mean, deviation

    def filled(self, inverse: NDArray[np.int64], random: np.random.Generator | None) -> NDArray[np.float64]:
        """Return a value for every row of a table that allows one configuration alone; (rows of it,).

        A hole takes a draw or, without a generator, the mean.
        """
        rows, which = self.rows, np.full(len(self.rows), -1)
        for c, mine in enumerate(rows.allowed):
            which[mine] = c
        out = rows.x[inverse]
        for c, potential in enumerate(self.potentials):
            holes = np.flatnonzero(np.isnan(out) & (which[inverse] == c))
            if random is None:
                out[holes] = rows.family.mean_sd(potential)[0]
            else:
                out[holes] = rows.family.drawn(potential, len(holes), random)
        return out
