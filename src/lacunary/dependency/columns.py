"""Columns as features: what one variable's cells look like to the regressions of the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Variable
from lacunary.data.table import Table
from lacunary.dependency.monotone import Monotone, monotone, straight
from lacunary.maths.arrays import Array

__all__ = ["Column", "columns", "numbers_of"]

CUTS = 31
"""Into so many and one bins a continuous column is cut for trees."""

LABELLED = 12
"""States that are numbers are labels as well up to so many."""


@dataclass(frozen=True, eq=False)
class Column:
    """A variable's way to features. Cells are transformed values, or codes of states.

    Attributes
    ----------
    variable
        The variable.
    shape
        The transform of a continuous one.
    numbers
        What the states stand for if they are numbers or in order, standardised; else empty.
    shares
        How often each state was observed; of a continuous variable empty.
    cuts
        Where a continuous column is cut into bins.
    other
        Of a skewed column the transform that was not taken; it gives a feature, too.
    """

    variable: Variable
    shape: Monotone | None
    numbers: Array
    shares: Array
    cuts: Array
    other: Monotone | None = None

    @cached_property
    def labels(self) -> Array:
        """Features of each state; (states, features)."""
        size = self.variable.size
        sd = np.maximum(np.sqrt(self.shares * (1 - self.shares)), 0.1)
        dummies = ((np.eye(size) - self.shares) / sd)[:, 1:] if size > 1 else np.empty((size, 0))
        if not self.numbers.size:
            return np.asarray(dummies)
        number = self.numbers[:, None]
        return np.asarray(number if size == 2 or size > LABELLED else np.column_stack([number, dummies]))

    def features(self, cells: Array) -> Array:
        """Return features for linear models; (rows, features)."""
        if self.shape is None:
            return np.asarray(self.labels[cells.astype(np.int64)])
        if self.other is None:
            return cells[:, None]
        return np.column_stack([cells, self.other.forward(self.shape.back(cells))])

    def turned(self) -> Column:
        """Return the column with its two transforms exchanged."""
        assert self.shape is not None
        assert self.other is not None
        cuts = self.other.forward(self.shape.back(self.cuts))
        return replace(self, shape=self.other, other=self.shape, cuts=cuts)

    def bins(self, cells: Array) -> NDArray[np.uint8]:
        """Return features for trees; (rows, features)."""
        if self.shape is not None:
            return np.searchsorted(self.cuts, cells)[:, None].astype(np.uint8)
        codes = cells.astype(np.int64)
        if self.numbers.size or self.variable.size == 2:
            order = np.argsort(np.argsort(self.numbers)) if self.numbers.size else np.arange(2)
            return np.minimum(order[codes], 255)[:, None].astype(np.uint8)
        return np.asarray(codes[:, None] == np.arange(self.variable.size), dtype=np.uint8)


def numbers_of(variable: Variable) -> Array:
    """Return what the states stand for where they are numbers, or in order; else nothing."""
    numeric = all(isinstance(s, int | float) and not isinstance(s, bool) for s in variable.states)
    if numeric:
        return np.array(variable.states, dtype=np.float64)
    return np.arange(variable.size, dtype=np.float64) if variable.ordered else np.empty(0)


def columns(table: Table) -> list[Column]:
    """Return every variable's way to features, from what is observed of it."""
    return [_column(table, i) for i in range(len(table.schema))]


def _column(table: Table, i: int) -> Column:
    variable, seen = table.schema.variables[i], ~table.holes[:, i]
    if not variable.discrete:
        x = table.reals[seen, i]
        shape = monotone(x)
        z = shape.forward(x)
        cuts = np.unique(np.quantile(z, np.arange(1, CUTS + 1) / (CUTS + 1))) if z.size else np.empty(0)
        return Column(variable, shape, np.empty(0), np.empty(0), cuts, straight(x) if shape.curved else None)
    counts = np.bincount(table.codes[seen, i], minlength=variable.size).astype(np.float64)
    shares = counts / max(counts.sum(), 1.0)
    numbers = numbers_of(variable)
    if numbers.size:
        mean = shares @ numbers
        numbers = (numbers - mean) / max(float(np.sqrt(shares @ (numbers - mean) ** 2)), 1e-9)
    return Column(variable, None, numbers, shares, np.empty(0))
