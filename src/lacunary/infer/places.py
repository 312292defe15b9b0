"""Where the engine finds the families: as in the layout, but a hole that nothing hangs on is one more state.

A hole in a variable without children is summed out whatever else is known: its family then depends on the
parents alone, by the sum over its states. That sum stands behind the variable's own states as if it were one
of them, so that such a hole is laid out like an observed cell: no clique, no message. What is counted there
belongs to the states in proportion to their potentials. Of probabilities the sum is one; of potentials in
general, as in variational Bayes, it is not.

Some such variables with the same parents make a *group*: a row knows the states of all of them, so that one
table of the products of their potentials takes the place of several, and a row with many of them costs a
fraction. What is counted there is added up for each of them.

A large table is *turned* where that puts its numbers in the order in which the configurations of cliques meet
them: the parent that comes last there moves fastest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE
from lacunary.kernels.aligned import aligned, is_long
from lacunary.kernels.places import join, narrow, part, widen
from lacunary.model.layout import Layout

__all__ = ["Places", "as_taken"]


@dataclass(frozen=True, eq=False)
class Places:
    """The layout of a graph, with one more state in the tables of some variables.

    Attributes
    ----------
    layout
        The layout of the graph's parameters.
    summed
        Whether a hole of each variable stands for the sum over its states; (variables,).
    groups
        Variables that are laid out together.
    turned
        Variables whose tables have their parents in another order: which parent comes first, second, and so
        on.
    """

    layout: Layout
    summed: NDArray[np.bool_]
    groups: tuple[tuple[int, ...], ...] = ()
    turned: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        fields = self.__dataclass_fields__
        return {name: held for name, held in self.__dict__.items() if name in fields}

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
        """Length of a vector with sums, and with the tables of groups."""
        return self._joined[1]

    @cached_property
    def _joined(self) -> tuple[NDArray[np.int64], int, list[int]]:
        """Tables of products, as kernels take them, where the last ends, and where that of each group starts.

        A group's table is that of all its variables but the last times that of the last.
        """
        rows: list[tuple[int, ...]] = []
        end, tops = self.layout.size + int(self._shift[-1]), []
        states = [n + int(more) for n, more in zip(self.layout.states, self.summed, strict=True)]
        for first, *others in self.groups:
            at, length, many = self.start[first], states[first], self.layout.configurations[first]
            for i in others:
                rows.append((at, self.start[i], length, states[i], many, end))
                at, length, end = end, length * states[i], end + length * states[i] * many
            tops.append(at)
        return np.array(rows, dtype=np.int64).reshape(-1, 6), end, tops

    @property
    def pairs(self) -> NDArray[np.int64]:
        """The tables of products, as the kernels take them."""
        return self._joined[0]

    @cached_property
    def factors(self) -> list[tuple[tuple[int, ...], tuple[int, ...], int]]:
        """Of every factor the variables, how far a step in each of them leads, and where its table starts."""
        layout, grouped = self.layout, {i for group in self.groups for i in group}
        strides = list(layout.strides)
        for i, order in self.turned:
            strides[i] = (strides[i][0], *self._steps(i, order))
        families = enumerate(zip(layout.members, strides, self.start, strict=True))
        found = [family for i, family in families if i not in grouped]
        for group, at in zip(self.groups, self._joined[2], strict=True):
            step, steps = layout.configurations[group[0]], list(layout.strides[group[0]][1:])
            for i in reversed(group):
                steps.insert(0, step)
                step *= layout.states[i] + int(self.summed[i])
            found.append(((*group, *layout.members[group[0]][1:]), tuple(steps), at))
        return found

    def _steps(self, i: int, order: tuple[int, ...]) -> list[int]:
        """Return how far a step in each parent leads in a table whose parents come in this order."""
        sizes, step = [self.layout.states[p] for p in self.layout.members[i][1:]], 1
        steps = [0] * len(sizes)
        for k in reversed(order):
            steps[k], step = step, step * sizes[k]
        return steps

    def _turn(self, own: NDArray[Any], places: NDArray[Any], back: bool = False) -> None:
        """Write turned tables of the layout, (vectors, layout size), to their places, or of places back."""
        for i, order in self.turned:
            where, at, many = self.layout.slice(i), self.start[i], len(own)
            sizes = [self.layout.states[v] for v in self.layout.members[i]]
            axes = (0, 1, *(k + 2 for k in order))
            table = own[:, where].reshape(many, *sizes).transpose(axes)
            turned = places[:, at : at + where.stop - where.start].reshape(table.shape)
            if back:
                table[:] = turned
            else:
                turned[:] = table

    @cached_property
    def _own(self) -> NDArray[np.int64]:
        """Where each place of the layout stands; (layout size,)."""
        return np.arange(self.layout.size) + self._shift[:-1]

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """The tables that are not turned, as the kernels take them."""
        layout, longer, turned = self.layout, set(self._longer), {i for i, _ in self.turned}
        rows = [
            (layout.start[i], self.start[i], layout.states[i], layout.configurations[i], i in longer)
            for i in layout.blocks
            if i not in turned
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
        """Return vectors with the sums, and room for `join`; (vectors, layout size) → (vectors, size)."""
        if not self._longer and not self.groups and not self.turned:
            return potentials
        size = (len(potentials), self.size)
        if is_long(size):
            wide = aligned(self.size, potentials.dtype)[None]
        else:
            wide = np.empty(size, dtype=potentials.dtype)
        if potentials.dtype.kind == "c":
            wide[:, self._own] = potentials
            for own, shape, sums in self._summed_tables():
                wide[:, sums] = potentials[:, own].reshape(shape).sum(axis=1)
        else:
            widen(as_taken(potentials), self.blocks, wide)
        self._turn(potentials, wide)
        return wide

    def _summed_tables(self) -> Iterator[tuple[slice, tuple[int, int, int], slice]]:
        """Yield the places in the layout of every table with sums, its shape, and where they are here.

        For complex numbers, which derivatives are taken by: kernels of their own would take a second to
        compile.
        """
        for start, place, states, many, longer in self.blocks.tolist():
            if longer:
                size = states * many
                yield slice(start, start + size), (-1, states, many), slice(place + size, place + size + many)

    def taken(self, potentials: NDArray[Any]) -> tuple[NDArray[Any], bool]:
        """Return vectors with sums and the tables of groups, and whether no product has lost digits."""
        wide = self.widened(potentials)
        return wide, self.join(wide)

    def join(self, wide: NDArray[Any]) -> bool:
        """Write the tables of groups; return whether no product vanished that is not zero."""
        return not self.groups or bool(join(wide, self.pairs))

    def narrowed(self, counts: NDArray[Any], potentials: NDArray[Any], wide: NDArray[Any]) -> NDArray[Any]:
        """Return counts with sums divided among their states; (vectors, size) → (vectors, layout size).

        ``wide`` are the potentials with their sums. Counts of groups are added to those of each, within
        ``counts``, which is no more what it was.
        """
        if self.groups:
            part(counts, self.pairs)
        elif not self._longer and not self.turned:
            return counts
        if counts.dtype.kind == "c":
            out = counts[:, self._own]
            for own, shape, sums in self._summed_tables():
                share = np.zeros_like(counts[:, sums])
                np.divide(counts[:, sums], wide[:, sums], out=share, where=wide[:, sums] != 0.0)
                added = share[:, None] * potentials[:, own].reshape(shape)
                out[:, own] += added.reshape(len(out), -1)
        else:
            out = np.empty(potentials.shape, dtype=counts.dtype)
            narrow(counts, as_taken(potentials), wide, self.blocks, out)
        self._turn(out, counts, back=True)
        return out

    def shown(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what was counted where states were seen; (size,) → (layout size,)."""
        if self.groups:
            counts = counts[None].copy()
            part(counts, self.pairs)
            counts = counts[0]
        if not (self._longer or self.groups or self.turned):
            return counts
        out = counts[self._own]
        self._turn(out[None], counts[None], back=True)
        return out


def as_taken(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return vectors as the kernels are compiled for: in one piece, and not read-only."""
    flags = vectors.flags
    return vectors if flags.c_contiguous and flags.writeable else np.array(vectors, order="C")
