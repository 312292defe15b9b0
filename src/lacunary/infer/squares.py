"""Sums of E[z zᵀ] over the ways to fill rows, of which many have the same matrix.

What a row's numbers hold depends on the few discrete variables that are parents of continuous ones, and on no
other: a row that can be filled in ten thousand ways has some dozens of matrices. They are kept once, in their
upper halves, beside what each way weighs; a family's moments are added up from these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.squares import add_squares

__all__ = ["Squares"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Squares:
    """Σ weight · matrix over ways, by entry.

    Attributes
    ----------
    entries
        How many entries there are.
    entry, group, weight
        Of each way its entry, its matrix, and how often it counts, which is above zero; ways that share a
        matrix stand together; (ways,) each.
    each
        The upper halves of symmetric matrices, row by row; (groups, size · (size + 1) / 2).
    size
        Rows and columns of a matrix: n + 1, of z = (1, x).
    """

    entries: int
    entry: Index
    group: Index
    weight: Array
    each: Array
    size: int

    @classmethod
    def of(cls, moment: Array) -> Squares:
        """Return matrices of which each is an entry of its own; (entries, n + 1, n + 1)."""
        own = np.arange(len(moment))
        return cls(len(own), own, own, np.ones(len(own)), _halved(moment), moment.shape[-1])

    @classmethod
    def shared(cls, entries: int, entry: Index, group: Index, weight: Array, each: Array) -> Squares:
        """Return matrices, (groups, n + 1, n + 1), that ways share; these may stand in any order."""
        order = np.argsort(group, kind="stable")
        order = order[weight[order] > 0]
        return cls(entries, entry[order], group[order], weight[order], _halved(each), each.shape[-1])

    @property
    def plain(self) -> bool:
        """Whether each matrix is an entry of its own."""
        return len(self.entry) == self.entries == len(self.each)

    @cached_property
    def count(self) -> Array:
        """How many rows each entry stands for; (entries,)."""
        rows = self.weight * self.each[self.group, 0]
        return np.bincount(self.entry, rows, minlength=self.entries).astype(np.float64)

    @property
    def whole(self) -> Array:
        """All entries' matrices, of those that are not zero each by itself; (entries, n + 1, n + 1)."""
        return self.sums(np.arange(self.entries), self.entries)

    def sums(self, where: Index, many: int) -> Array:
        """Return the sums of entries by their places, (entries,), of which there are so many."""
        halves, mass = np.zeros((many, self.each.shape[1])), np.zeros(many)
        met = np.empty(many, dtype=np.int64)
        place = np.ascontiguousarray(where, dtype=np.int64)
        add_squares(place, self.entry, self.group, self.weight, self.each, mass, met, halves)
        above = np.triu_indices(self.size)
        out = np.empty((many, self.size, self.size))
        out[:, above[0], above[1]] = halves
        out[:, above[1], above[0]] = halves
        return out

    def taken(self, entries: Index) -> Squares:
        """Return some of the entries, in their order."""
        if len(entries) == self.entries:
            return self
        place = np.full(self.entries, -1)
        place[entries] = np.arange(len(entries))
        mine = np.flatnonzero(place[self.entry] >= 0)
        return replace(
            self,
            entries=len(entries),
            entry=place[self.entry[mine]],
            group=self.group[mine],
            weight=self.weight[mine],
        )

    def times(self, factor: float) -> Squares:
        """Return the same as if every row counted so many times."""
        return replace(self, weight=self.weight * factor)

    def joined(self, other: Squares, which: Index, many: int) -> Squares:
        """Return both; ``which`` says of these entries and then the other's which of ``many`` they become."""
        if self.plain and other.plain:
            out = np.zeros((many, self.size, self.size))
            np.add.at(out, which, np.concatenate([self.whole, other.whole]))
            return Squares.of(out)
        return Squares(
            many,
            which[np.concatenate([self.entry, other.entry + self.entries])],
            np.concatenate([self.group, other.group + len(self.each)]),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.each, other.each]),
            self.size,
        )


def _halved(moment: Array) -> Array:
    above = np.triu_indices(moment.shape[-1])
    return np.ascontiguousarray(moment[:, above[0], above[1]])
