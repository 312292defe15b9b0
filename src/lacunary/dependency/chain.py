"""Columns drawn by turns, each given all others, until the holes of a table are filled."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import reserve
from lacunary.data.table import Table
from lacunary.dependency.columns import Column
from lacunary.dependency.conditional import Effort, Number, States, conditional
from lacunary.dependency.start import Joint
from lacunary.maths.arrays import Array, Booleans, Integers

__all__ = ["Chain", "cells_of", "check_room"]

MOST = 5000
"""Rows that a column's distribution is fitted to; of more, so many are drawn each time."""


def check_room(table: Table, chains: int) -> None:
    """Refuse chains whose cells and features do not fit into memory."""
    width = sum(max(variable.size, 1) for variable in table.schema)
    # Every chain has cells, features and bins of its own; while a column is learned, these stand twice more.
    needed = float(len(table)) * (chains * (8 * len(table.schema) + 9 * width) + 18 * width)
    advice = "take fewer chains, rows or columns, or merge states"
    reserve(needed, f"{chains} chains over {len(table)} rows", advice)


def cells_of(table: Table, columns: Sequence[Column]) -> Array:
    """Return transformed values and codes in one matrix, NaN where there is a hole; (rows, columns)."""
    out = np.full(table.holes.shape, np.nan)
    for i, column in enumerate(columns):
        seen = ~table.holes[:, i]
        if column.shape is not None:
            out[seen, i] = column.shape.forward(table.reals[seen, i])
        else:
            out[seen, i] = table.codes[seen, i]
    return out


@dataclass(eq=False)
class Chain:
    """A table whose holes hold draws, its features, and each column's distribution given the others."""

    columns: Sequence[Column]
    cells: Array
    holes: Booleans
    rng: np.random.Generator
    weights: Array
    known: dict[int, Number | States] = field(default_factory=dict)

    @classmethod
    def begun(cls, columns: Sequence[Column], cells: Array, start: Joint, weights: Array, seed: Any) -> Chain:
        """Return a chain of cells with holes, which begins with a draw."""
        rng = np.random.default_rng(seed)
        return cls(columns, start.drawn(cells, rng), np.isnan(cells), rng, weights).coded()

    def coded(self) -> Chain:
        """Return the chain with features of all its cells."""
        self._features = [c.features(self.cells[:, i]) for i, c in enumerate(self.columns)]
        self._bins = [c.bins(self.cells[:, i]) for i, c in enumerate(self.columns)]
        return self

    _features: list[Array] = field(default_factory=list)
    _bins: list[NDArray[np.uint8]] = field(default_factory=list)

    def beside(self, i: int) -> tuple[Array, NDArray[np.uint8]]:
        """Return the features and bins of all columns but one."""
        others = [k for k in range(len(self.columns)) if k != i]
        if not others:
            return np.empty((len(self.cells), 0)), np.empty((len(self.cells), 0), dtype=np.uint8)
        return (
            np.concatenate([self._features[k] for k in others], axis=1),
            np.concatenate([self._bins[k] for k in others], axis=1),
        )

    def learn(self, i: int, effort: Effort) -> None:
        """Fit a column's distribution to the rows in which it is observed."""
        features, bins = self.beside(i)
        seen = self._learned_from(np.flatnonzero(~self.holes[:, i]))
        self.known[i] = conditional(
            self.columns[i],
            features[seen],
            bins[seen],
            self.cells[seen, i],
            effort,
            self.rng,
            self.known.get(i),
        )

    def _learned_from(self, seen: Integers) -> Integers:
        """Return rows, each as often as it counts; where they are many, or weights no numbers, drawn ones."""
        weights = self.weights[seen]
        if np.all(weights == np.floor(weights)) and weights.sum() <= MOST:
            return np.repeat(seen, weights.astype(np.int64))
        number = min(MOST, max(int(weights.sum()), 1))
        return np.asarray(self.rng.choice(seen, number, p=weights / weights.sum()))

    def draw(self, i: int) -> None:
        """Draw the holes of a column."""
        rows = self.holes[:, i]
        if not rows.any():
            return
        features, bins = self.beside(i)
        self.cells[rows, i] = self.known[i].drawn(features[rows], bins[rows], self.rng)
        column = self.columns[i]
        self._features[i] = column.features(self.cells[:, i])
        self._bins[i] = column.bins(self.cells[:, i])

    def sweep(self, effort: Effort | None = None, wooded: Container[int] | None = None) -> None:
        """Draw every column with holes in turn, the fullest first; with an effort, fit each before.

        Only ``wooded`` columns get forests; by default all.
        """
        number = self.holes.sum(axis=0)
        for i in np.argsort(number, kind="stable"):
            if not number[i]:
                continue
            if effort is not None:
                bare = wooded is not None and i not in wooded
                self.learn(int(i), replace(effort, trees=0) if bare else effort)
            self.draw(int(i))
