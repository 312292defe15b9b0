"""Where the tables of a discrete network lie in one flat vector of parameters.

Parameters, pseudo-counts, expected counts and gradients are all vectors over the same layout, so
adding, normalising and summing them are single array operations, whatever the network looks like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """The positions of θ_ijk = p(variable i in state k | its parents in configuration j).

    The table of variable i with r states and q parent configurations takes the r·q places from
    ``start[i]`` on; θ_ijk stands at ``start[i] + k·q + j``, and in j the last parent moves fastest.
    (The child's state comes first so that the configurations of hidden parents lie side by side.)
    Tied families share their places.

    Attributes
    ----------
    members
        For each variable, itself and then its parents.
    strides
        For each variable, how far a step in each of ``members`` moves within the table.
    start, states, configurations
        For each variable, where its table starts, r and q.
    size
        Length of the vector.
    """

    sizes: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...]
    start: tuple[int, ...]
    states: tuple[int, ...]
    configurations: tuple[int, ...]
    size: int

    @classmethod
    def of(
        cls, sizes: Sequence[int], parents: Sequence[Sequence[int]], tied: Sequence[Sequence[int]] = ()
    ) -> Layout:
        """Lay out the tables of variables with these sizes and parents, one after the other."""
        leader = {i: group[0] for group in tied for i in group}
        start: dict[int, int] = {}
        members, strides, configurations, size = [], [], [], 0
        for i, ps in enumerate(parents):
            below = [1] * (len(ps) + 1)
            for position in range(len(ps) - 1, -1, -1):
                below[position] = below[position + 1] * sizes[ps[position]]
            members.append((i, *ps))
            strides.append((below[0], *below[1:]))
            configurations.append(below[0])
            head = leader.get(i, i)
            if head not in start:
                start[head] = size
                size += sizes[i] * below[0]
            start[i] = start[head]
        return cls(
            sizes=tuple(sizes),
            members=tuple(members),
            strides=tuple(strides),
            start=tuple(start[i] for i in range(len(parents))),
            states=tuple(sizes),
            configurations=tuple(configurations),
            size=size,
        )

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """One variable for every table: the first of each tied group, and every other variable."""
        first = {start: i for i, start in reversed(list(enumerate(self.start)))}
        return tuple(first[start] for start in sorted(first))

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """For each parameter, which distribution (variable and parent configuration) it belongs to."""
        group = np.empty(self.size, dtype=np.int64)
        count = 0
        for i in self.blocks:
            q = self.configurations[i]
            group[self.start[i] : self.start[i] + self.states[i] * q] = count + np.tile(
                np.arange(q), self.states[i]
            )
            count += q
        return group

    @cached_property
    def groups(self) -> int:
        """Number of distributions."""
        return sum(self.configurations[i] for i in self.blocks)

    @cached_property
    def variable(self) -> NDArray[np.int64]:
        """For each parameter, the variable whose table it is in."""
        counts = [self.states[i] * self.configurations[i] for i in self.blocks]
        return np.repeat(np.array(self.blocks, dtype=np.int64), counts)

    @cached_property
    def variable_of_group(self) -> NDArray[np.int64]:
        """For each distribution, the variable whose table it is in."""
        return np.repeat(np.array(self.blocks, dtype=np.int64), [self.configurations[i] for i in self.blocks])

    @property
    def free(self) -> int:
        """Number of free parameters: Σ over distributions of (states − 1)."""
        return self.size - self.groups

    def slice(self, i: int) -> slice:
        """Return the places of variable i's table."""
        return slice(self.start[i], self.start[i] + self.states[i] * self.configurations[i])

    def total(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum each distribution; (..., size) → (..., groups)."""
        lead = vector.shape[:-1]
        rows = int(np.prod(lead))
        bins = self.group if rows == 1 else (np.arange(rows)[:, None] * self.groups + self.group).ravel()
        summed = np.bincount(bins, weights=vector.ravel(), minlength=rows * self.groups)
        return np.asarray(summed.reshape(*lead, self.groups), dtype=np.float64)

    def normalize(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale each distribution to sum to one, a distribution of zeros to uniform; (..., size)."""
        total = self.total(vector)
        if total.all():
            return np.asarray(vector / total[..., self.group])
        spread = total[..., self.group]
        uniform = 1.0 / np.array(self.states, dtype=np.float64)[self.variable]
        return np.where(spread > 0, vector / np.where(spread > 0, spread, 1.0), uniform)

    def table(self, vector: NDArray[np.float64], i: int) -> NDArray[np.float64]:
        """Return variable i's table as people index it: parents first, the variable last."""
        shape = [self.sizes[m] for m in self.members[i]]
        return np.moveaxis(vector[self.slice(i)].reshape(shape), 0, -1)

    def flat(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a table indexed as by `table` as its places in the vector."""
        return np.moveaxis(table, -1, 0).reshape(-1)
