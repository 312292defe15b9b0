"""Where the engine finds the families: as in the layout, but a hole that nothing hangs on is one more state.

A hole in a variable without children is summed out whatever else is known: its family then depends on the
parents alone, by the sum over its states. That sum stands behind the variable's own states as if it were one
of them, so that such a hole is laid out like an observed cell: no clique, no message. What is counted there
belongs to the states in proportion to their potentials. Of probabilities the sum is one; of potentials in
general, as in variational Bayes, it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE
from lacunary.kernels.places import narrow, widen
from lacunary.model.layout import Layout

__all__ = ["Places"]


@dataclass(frozen=True, eq=False)
class Places:
    """The layout of a graph, with one more state in the tables of some variables.

    Attributes
    ----------
    layout
        The layout of the graph's parameters.
    summed
        Whether a hole of each variable stands for the sum over its states; (variables,).
    """

    layout: Layout
    summed: NDArray[np.bool_]

    def __getstate__(self) -> dict[str, Any]:
        return {"layout": self.layout, "summed": self.summed}

    @cached_property
    def _longer(self) -> tuple[int, ...]:
        """One variable for every table with a sum."""
        starts = {self.layout.start[i] for i in np.flatnonzero(self.summed)}
        return tuple(i for i in self.layout.blocks if self.layout.start[i] in starts)

    @cached_property
    def _shift(self) -> NDArray[np.int64]:
        """How many sums stand before each place of the layout; (size + 1,)."""
        before = np.zeros(self.layout.size + 1, dtype=np.int64)
        for i in self._longer:
            before[self.layout.slice(i).stop] += self.layout.configurations[i]
        return np.cumsum(before)

    @cached_property
    def start(self) -> tuple[int, ...]:
        """Where each variable's table starts."""
        return tuple(int(start + self._shift[start]) for start in self.layout.start)

    @cached_property
    def size(self) -> int:
        """Length of a vector with sums."""
        return self.layout.size + int(self._shift[-1])

    @cached_property
    def _own(self) -> NDArray[np.int64]:
        """Where each place of the layout stands; (layout size,)."""
        return np.arange(self.layout.size) + self._shift[:-1]

    @cached_property
    def _blocks(self) -> NDArray[np.int64]:
        """The tables, as the kernels take them."""
        layout, longer = self.layout, set(self._longer)
        rows = [
            (layout.start[i], self.start[i], layout.states[i], layout.configurations[i], i in longer)
            for i in layout.blocks
        ]
        return np.array(rows, dtype=np.int64).reshape(-1, 5)

    @cached_property
    def of_holes(self) -> NDArray[np.int64]:
        """The state that a hole of each variable is, or `HOLE` where it is open; (variables,)."""
        return np.where(self.summed, np.array(self.layout.states, dtype=np.int64), HOLE)

    def coded(self, codes: NDArray[np.signedinteger]) -> NDArray[np.int32]:
        """Return rows in which the holes that stand for a sum are that state; (variables, rows)."""
        out = np.array(codes.T, dtype=np.int32, order="C")
        for i in np.flatnonzero(self.summed).tolist():
            np.copyto(out[i], self.layout.states[i], where=out[i] == HOLE)
        return out

    def widened(self, potentials: NDArray[Any]) -> NDArray[Any]:
        """Return vectors with the sums; (vectors, layout size) → (vectors, size)."""
        if not self._longer:
            return potentials
        wide = np.empty((len(potentials), self.size), dtype=potentials.dtype)
        widen(_as_taken(potentials), self._blocks, wide)
        return wide

    def narrowed(self, counts: NDArray[Any], potentials: NDArray[Any], wide: NDArray[Any]) -> NDArray[Any]:
        """Return counts with sums divided among their states; (vectors, size) → (vectors, layout size).

        ``wide`` are the potentials with their sums.
        """
        if not self._longer:
            return counts
        out = np.empty(potentials.shape, dtype=counts.dtype)
        narrow(counts, _as_taken(potentials), wide, self._blocks, out)
        return out

    def shown(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what was counted where states were seen; (size,) → (layout size,)."""
        return counts[self._own] if self._longer else counts


def _as_taken(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return vectors as the kernels are compiled for: in one piece, and not read-only."""
    flags = vectors.flags
    return vectors if flags.c_contiguous and flags.writeable else np.array(vectors, order="C")
