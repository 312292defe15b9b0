"""Some rows at a time: what online learning sweeps in place of all rows.

Every part is cut into pieces of nearly as many rows as are asked for, rows drawn without regard to their
order; where parts are smaller than that, several make a batch. Which rows a batch has depends on the rows
alone, and a pass takes every batch once, in an order drawn anew. What is expected of a batch is multiplied
by their number, so that its mean over a pass is what is expected of all rows, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.parts import Parts
from lacunary.data.source import Source, in_tree
from lacunary.data.table import Table
from lacunary.infer.rows import Rows
from lacunary.model.dag import Dag
from lacunary.model.stats import Batch

__all__ = ["Batches"]

Lay = Callable[[Table], Rows]


class Batches:
    """Batches of rows, one after the other: every E-step is of the next one.

    Attributes
    ----------
    dag
        The graph.
    many
        Batches in a pass.
    taken
        How many were swept.
    """

    def __init__(self, dag: Dag, source: Source, lay: Lay, size: int) -> None:
        self.dag, self.taken = dag, 0
        rows = source.fold(_number)
        self._parts: Parts[tuple[Rows, ...]] = source.laid(partial(_cut, lay, size))
        self._pieces = [(part, k) for part, many in enumerate(rows) for k in range(_pieces(many, size))]
        self.many = max(1, min(len(self._pieces), round(sum(rows) / size)))

    @property
    def observed(self) -> NDArray[np.float64]:
        """Statistics of the families that rows show whole, as the next batch tells them."""
        return np.asarray(in_tree(self._each(_observed)) * self.many)

    def expect(self, vectors: NDArray[Any]) -> Batch:
        """Return the E-step of the next batch, multiplied by the number of batches."""
        found: Batch = in_tree(self._each(partial(_expected, vectors)))
        self.taken += 1
        many = self.many
        return Batch(self.dag, found.counts * many, found.log_likelihood * many, found.weight * many)

    def finer(self) -> None:
        """Return nothing: batches are noise enough, and steps grow small by themselves."""

    def _each(self, function: Callable[[tuple[Rows, ...], int], Any]) -> list[Any]:
        """Return what a function says of every piece of the next batch."""
        number, place = divmod(self.taken, self.many)
        order = np.random.default_rng(number).permutation(len(self._pieces))
        mine = [self._pieces[k] for k in np.array_split(order, self.many)[place]]
        parts, pieces = zip(*mine, strict=True)
        return self._parts.only(parts).each(function, pieces)


def _number(table: Table) -> tuple[int, ...]:
    return (len(table),)  # tuples add up to longer ones


def _pieces(rows: int, size: int) -> int:
    return min(rows, max(1, round(rows / size)))


def _cut(lay: Lay, size: int, table: Table) -> tuple[Rows, ...]:
    """Return the pieces of a part, laid out."""
    rows = len(table)
    order = np.random.default_rng(rows).permutation(rows)
    pieces: Sequence[NDArray[np.int64]] = np.array_split(order, _pieces(rows, size)) if rows else []
    return tuple(lay(table.take(np.sort(piece))) for piece in pieces)


def _observed(pieces: tuple[Rows, ...], k: int) -> NDArray[np.float64]:
    return pieces[k].observed


def _expected(vectors: NDArray[Any], pieces: tuple[Rows, ...], k: int) -> Batch:
    return pieces[k].expect(vectors)
