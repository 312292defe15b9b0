"""Where the tables and regressions of a network lie in one flat vector of parameters.

Parameters, pseudo-counts, expected counts and gradients are all vectors over the same layout, so
adding, normalising and summing them are single array operations, whatever the network looks like.

The tables of discrete variables come first. Behind them each continuous variable has a block, and there
the vectors differ, as a regression has not one number for everything. With z = (1, continuous parents,
child), m continuous parents and q configurations of the discrete parents there are, per configuration,

- *parameters*: intercept, m coefficients, variance; m + 2 numbers;
- *statistics*, and the hyperparameters that are added to them: Σ weight · z zᵀ; (m + 2)² numbers;
- *potentials*: a quadratic form Q over z and a constant g, for the log-density g − ½ zᵀQz;
  (m + 2)² + 1 numbers.

For discrete variables alone the three are one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np
from numpy.typing import NDArray

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """The positions of θ_ijk = p(variable i in state k | its parents in configuration j).

    The table of variable i with r states and q parent configurations takes the r·q places from
    ``start[i]`` on; θ_ijk stands at ``start[i] + k·q + j``, and in j the last parent moves fastest.
    (The child's state comes first so that the configurations of hidden parents lie side by side.)
    Tied families share their places. A continuous variable has no states; the m + 2 parameters of its
    regression in configuration j of its discrete parents stand from ``start[i] + j·(m + 2)`` on.

    Attributes
    ----------
    members
        For each variable, itself and then its discrete parents.
    strides
        For each variable, how far a step in each of ``members`` moves within the table; for a
        continuous variable, how far it moves in j.
    start, states, configurations
        For each variable, where its table or regressions start, r (0 if continuous) and q.
    size
        Length of a vector of parameters.
    regressors
        For each variable, its continuous parents.
    tables
        How many places the tables take; those of the regressions follow.
    """

    sizes: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    strides: tuple[tuple[int, ...], ...]
    start: tuple[int, ...]
    states: tuple[int, ...]
    configurations: tuple[int, ...]
    size: int
    regressors: tuple[tuple[int, ...], ...]
    tables: int

    @classmethod
    def of(
        cls, sizes: Sequence[int], parents: Sequence[Sequence[int]], tied: Sequence[Sequence[int]] = ()
    ) -> Layout:
        """Lay out the tables of variables with these sizes and parents, one after the other."""
        leader = {i: group[0] for group in tied for i in group}
        start: dict[int, int] = {}
        discrete = [[p for p in ps if sizes[p]] for ps in parents]
        regressors = tuple(tuple(p for p in ps if not sizes[p]) for ps in parents)
        configurations = [prod(sizes[p] for p in ps) for ps in discrete]
        size = tables = 0
        for i in sorted(range(len(sizes)), key=lambda i: sizes[i] == 0):  # tables before regressions
            head = leader.get(i, i)
            if head not in start:
                start[head] = size
                size += configurations[i] * (sizes[i] or len(regressors[i]) + 2)
                tables = size if sizes[i] else tables
            start[i] = start[head]
        return cls(
            sizes=tuple(sizes),
            members=tuple((i, *ps) for i, ps in enumerate(discrete)),
            strides=tuple(_strides(sizes[i], [sizes[p] for p in ps]) for i, ps in enumerate(discrete)),
            start=tuple(start[i] for i in range(len(parents))),
            states=tuple(sizes),
            configurations=tuple(configurations),
            size=size,
            regressors=regressors,
            tables=tables,
        )

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """One discrete variable for every table: the first of each tied group, and every other one."""
        first = {start: i for i, start in reversed(list(enumerate(self.start))) if self.sizes[i]}
        return tuple(first[start] for start in sorted(first))

    @cached_property
    def regressions(self) -> tuple[int, ...]:
        """One continuous variable for every block of regressions, in the order of their places."""
        first = {start: i for i, start in reversed(list(enumerate(self.start))) if not self.sizes[i]}
        return tuple(first[start] for start in sorted(first))

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """For each place of the tables, which distribution (variable and configuration) it belongs to."""
        group = np.empty(self.tables, dtype=np.int64)
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
        """Number of distributions that are tables."""
        return sum(self.configurations[i] for i in self.blocks)

    @cached_property
    def variable(self) -> NDArray[np.int64]:
        """For each place of the tables, the variable whose table it is in."""
        counts = [self.states[i] * self.configurations[i] for i in self.blocks]
        return np.repeat(np.array(self.blocks, dtype=np.int64), counts)

    @cached_property
    def variable_of_group(self) -> NDArray[np.int64]:
        """For each distribution that is a table, the variable it belongs to."""
        return np.repeat(np.array(self.blocks, dtype=np.int64), [self.configurations[i] for i in self.blocks])

    @property
    def free(self) -> int:
        """Number of free parameters: Σ over tables of (states − 1), and all of the regressions."""
        return self.size - self.groups

    def slice(self, i: int) -> slice:
        """Return the places of variable i's table or regressions."""
        width = self.states[i] or len(self.regressors[i]) + 2
        return slice(self.start[i], self.start[i] + width * self.configurations[i])

    def total(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum each distribution that is a table; (..., size) → (..., groups)."""
        lead = vector.shape[:-1]
        rows = int(np.prod(lead))
        bins = self.group if rows == 1 else (np.arange(rows)[:, None] * self.groups + self.group).ravel()
        places = vector[..., : self.tables].ravel()
        summed = np.bincount(bins, weights=places, minlength=rows * self.groups)
        return np.asarray(summed.reshape(*lead, self.groups), dtype=np.float64)

    def normalize(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale each table to sum to one, a table of zeros to uniform, and leave regressions; (..., size)."""
        if self.tables < vector.shape[-1]:
            tables = self.normalize(vector[..., : self.tables])
            return np.concatenate([tables, vector[..., self.tables :]], axis=-1)
        total = self.total(vector)
        if total.all():
            return np.asarray(vector / total[..., self.group])
        spread = total[..., self.group]
        uniform = 1.0 / np.array(self.states, dtype=np.float64)[self.variable]
        return np.where(spread > 0, vector / np.where(spread > 0, spread, 1.0), uniform)

    def table(self, vector: NDArray[np.float64], i: int) -> NDArray[np.float64]:
        """Return variable i's table as people index it: parents first, the variable last.

        For a continuous variable: discrete parents first, then intercept, coefficients, variance.
        """
        shape = [self.sizes[m] for m in self.members[i]]
        if not self.sizes[i]:
            return vector[self.slice(i)].reshape(*shape[1:], len(self.regressors[i]) + 2)
        return np.moveaxis(vector[self.slice(i)].reshape(shape), 0, -1)

    def flat(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a discrete variable's table, indexed as by `table`, as its places in the vector."""
        return np.moveaxis(table, -1, 0).reshape(-1)

    def parent_sizes(self, i: int) -> tuple[int, ...]:
        """Return the numbers of states of variable i's discrete parents."""
        return tuple(self.sizes[p] for p in self.members[i][1:])

    def binary(self, vector: NDArray[np.float64], i: int) -> NDArray[np.float64]:
        """Return a binary variable's places, its state first; (..., size) → (..., 2, q), a view."""
        return vector[..., self.slice(i)].reshape(*vector.shape[:-1], 2, self.configurations[i])

    @cached_property
    def statistics_size(self) -> int:
        """Length of a vector of statistics or hyperparameters."""
        return self._ends(lambda width: width * width)[-1]

    @cached_property
    def potentials_size(self) -> int:
        """Length of a vector of potentials."""
        return self._ends(lambda width: width * width + 1)[-1]

    def records(self, parameters: NDArray[np.float64], i: int) -> NDArray[np.float64]:
        """Return continuous variable i's places among parameters; (..., size) → (..., q, m + 2), a view."""
        width = len(self.regressors[i]) + 2
        return parameters[..., self.slice(i)].reshape(*parameters.shape[:-1], self.configurations[i], width)

    def moments(self, statistics: NDArray[np.float64], i: int) -> NDArray[np.float64]:
        """Return continuous variable i's Σ z zᵀ; (..., statistics_size) → (..., q, m + 2, m + 2), a view."""
        width = len(self.regressors[i]) + 2
        start = self._starts_squared[self.start[i]]
        block = statistics[..., start : start + self.configurations[i] * width * width]
        return block.reshape(*statistics.shape[:-1], self.configurations[i], width, width)

    def forms(
        self, potentials: NDArray[np.float64], i: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return continuous variable i's Q, (..., q, m + 2, m + 2), and g, (..., q), as views."""
        width = len(self.regressors[i]) + 2
        start = self._starts_formed[self.start[i]]
        block = potentials[..., start : start + self.configurations[i] * (width * width + 1)]
        block = block.reshape(*potentials.shape[:-1], self.configurations[i], width * width + 1)
        return block[..., :-1].reshape(*block.shape[:-1], width, width), block[..., -1]

    def _ends(self, numbers: Callable[[int], int]) -> list[int]:
        """Return where each block of regressions starts, with so many numbers for a width, and the end."""
        sizes = [self.configurations[i] * numbers(len(self.regressors[i]) + 2) for i in self.regressions]
        return list(accumulate([self.tables, *sizes]))

    @cached_property
    def _starts_squared(self) -> dict[int, int]:
        ends = self._ends(lambda width: width * width)
        return {self.start[i]: end for i, end in zip(self.regressions, ends, strict=False)}

    @cached_property
    def _starts_formed(self) -> dict[int, int]:
        ends = self._ends(lambda width: width * width + 1)
        return {self.start[i]: end for i, end in zip(self.regressions, ends, strict=False)}


def _strides(states: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return how far a step in the child and in each parent leads; the last parent moves fastest."""
    below = list(accumulate(reversed(sizes), mul, initial=1))[::-1]
    return (below[0] if states else 0, *below[1:])
