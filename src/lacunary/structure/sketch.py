"""A graph that is being changed an arc at a time, and always knows who is whose ancestor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from lacunary.errors import GraphError
from lacunary.kernels.graph import join, part
from lacunary.maths.arrays import Booleans, Integers
from lacunary.structure.move import Add, Move, Remove
from lacunary.structure.score import Parents, toggle

__all__ = ["Sketch"]


class Sketch:
    """A directed acyclic graph in which single arcs change.

    Attributes
    ----------
    parents
        The parents of each variable, in increasing order.
    arcs
        ``arcs[i, j]`` says whether i → j; (n, n).
    above
        ``above[j, i]`` says whether i is an ancestor of j, and so j → i would make a cycle; (n, n).
    many
        How many parents each variable has; (n,).
    """

    def __init__(self, parents: Sequence[Iterable[int]]) -> None:
        n = len(parents)
        self.parents: list[Parents] = [()] * n
        self.arcs = np.zeros((n, n), dtype=bool)
        self.above = np.zeros((n, n), dtype=bool)
        self.many = np.zeros(n, dtype=np.int64)
        self._waiting = np.empty(n, dtype=np.int64)
        for child, others in enumerate(parents):
            for parent in sorted(others):
                if not self.may_add(parent, child):
                    raise GraphError("the arcs make a cycle")
                self.add(parent, child)

    def copy(self) -> Sketch:
        """Return a graph of its own with the same arcs."""
        other = object.__new__(Sketch)
        other.parents, other.arcs, other.above = self.parents.copy(), self.arcs.copy(), self.above.copy()
        other.many, other._waiting = self.many.copy(), np.empty_like(self._waiting)
        return other

    def __len__(self) -> int:
        return len(self.parents)

    @property
    def size(self) -> int:
        """How many arcs there are."""
        return sum(map(len, self.parents))

    def may_add(self, tail: int, head: int) -> bool:
        """Whether tail → head is absent and would make no cycle."""
        return not (tail == head or self.arcs[tail, head] or self.above[tail, head])

    def may_reverse(self, tail: int, head: int) -> bool:
        """Whether tail → head is there and no other path leads from tail to head."""
        return bool(self.arcs[tail, head]) and not any(self.above[p, tail] for p in self.parents[head])

    def reversible(self, tails: Integers, heads: Integers) -> Booleans:
        """Whether each of these arcs can be turned round without a cycle; (arcs,)."""
        return np.asarray(~np.any(self.above[:, tails] & self.arcs[:, heads], axis=0))

    def apply(self, move: Move) -> None:
        """Change the graph; the move must be one that keeps it acyclic."""
        if isinstance(move, Add):
            self.add(move.tail, move.head)
        elif isinstance(move, Remove):
            self.remove(move.tail, move.head)
        else:
            self.remove(move.tail, move.head)
            self.add(move.head, move.tail)

    def add(self, tail: int, head: int) -> None:
        """Put in an arc: head and all below it have tail and all above it as ancestors."""
        self._toggle(tail, head)
        join(self.above, tail, head)

    def remove(self, tail: int, head: int) -> None:
        """Take out an arc; ancestors are worked out anew for head and all below it."""
        self._toggle(tail, head)
        part(self.arcs, self.above, head, self._waiting)

    def become(self, parents: Sequence[Parents]) -> list[int]:
        """Turn into another graph, arcs out first and then in; return the variables whose parents differ."""
        pairs = enumerate(zip(self.parents, parents, strict=True))
        differ = [child for child, (mine, others) in pairs if mine != others]
        for child in differ:
            for parent in set(self.parents[child]) - set(parents[child]):
                self.remove(parent, child)
        for child in differ:
            for parent in sorted(set(parents[child]) - set(self.parents[child])):
                self.add(parent, child)
        return differ

    def changed(self, children: Iterable[int]) -> None:
        """Take note that a kernel has changed some variables' parents in `arcs`."""
        for child in children:
            self.parents[child] = tuple(np.flatnonzero(self.arcs[:, child]).tolist())

    def _toggle(self, tail: int, head: int) -> None:
        parents = self.parents[head] = toggle(self.parents[head], tail)
        self.arcs[tail, head] = not self.arcs[tail, head]
        self.many[head] = len(parents)
