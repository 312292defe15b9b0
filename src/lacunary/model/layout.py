"""Where the tables and other families of a network lie in one flat vector of parameters.

Parameters, pseudo-counts, expected counts and gradients are all vectors over the same layout, so
adding, normalising and summing them are single array operations, whatever the network looks like.

The tables of discrete variables come first. Behind them each continuous variable has a block, and there
the vectors differ, as its family has not one number for everything. For each configuration of the discrete
parents there are so many *parameters*, *statistics* (and hyperparameters, which are added to them) and
*potentials*, as the family says (`lacunary.family.protocol`). For discrete variables alone the three are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import SMALL, reserve
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.gamma import gammas

__all__ = ["Layout", "Widths"]

Widths = tuple[int, int, int]
"""How many parameters, statistics and potentials a family has in each configuration."""

Places = slice

VECTORS = 4
"""Parameters, expected counts, hyperparameters and one more: as many vectors as anything learned needs."""


@dataclass(frozen=True)
class Layout:
    """The positions of θ_ijk = p(variable i in state k | its parents in configuration j).

    The table of variable i with r states and q parent configurations takes the r·q places from
    ``start[i]`` on; θ_ijk stands at ``start[i] + k·q + j``, and in j the last parent moves fastest.
    (The child's state comes first so that the configurations of hidden parents lie side by side.)
    Tied families share their places. A continuous variable has no states; the w parameters of its family in
    configuration j of its discrete parents stand from ``start[i] + j·w`` on.

    Attributes
    ----------
    members
        For each variable, itself and then its discrete parents.
    strides
        For each variable, how far a step in each of ``members`` moves within the table; for a
        continuous variable, how far it moves in j.
    start, states, configurations
        For each variable, where its table or other family starts, r (0 if continuous) and q.
    size
        Length of a vector of parameters.
    regressors
        For each variable, its continuous parents.
    tables
        How many places the tables take; those of the other families follow.
    widths
        For each variable, how many parameters, statistics and potentials its family has in a configuration;
        zeros if it is discrete.
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
    widths: tuple[Widths, ...]

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        parents: Sequence[Sequence[int]],
        tied: Sequence[Sequence[int]] = (),
        widths: Sequence[Widths] | None = None,
    ) -> Layout:
        """Lay out the families of variables with these sizes and parents, one after the other.

        Continuous ones have linear regressions unless ``widths`` says otherwise.
        """
        leader = {i: group[0] for group in tied for i in group}
        start: dict[int, int] = {}
        discrete = [[p for p in ps if sizes[p]] for ps in parents]
        regressors = tuple(tuple(p for p in ps if not sizes[p]) for ps in parents)
        configurations = [prod(sizes[p] for p in ps) for ps in discrete]
        if widths is None:
            widths = [_regression(len(ps) + 2, size) for ps, size in zip(regressors, sizes, strict=True)]
        size = tables = 0
        for i in sorted(range(len(sizes)), key=lambda i: sizes[i] == 0):  # tables before regressions
            head = leader.get(i, i)
            if head not in start:
                start[head] = size
                size += configurations[i] * (sizes[i] or widths[i][0])
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
            widths=tuple(widths),
        )

    def check_room(self) -> None:
        """Refuse tables that are so large that a few vectors over them do not fit into memory."""
        if self.size * VECTORS * 8 > SMALL:
            widest = max(range(len(self.sizes)), key=lambda i: self.configurations[i] * max(self.sizes[i], 1))
            cells = self.configurations[widest] * max(self.sizes[widest], 1)
            what = f"a network of {self.size} parameters (one family alone has {cells})"
            reserve(float(VECTORS * 8) * self.size, what, "take arcs away, or merge states")

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """One discrete variable for every table: the first of each tied group, and every other one."""
        first = {start: i for i, start in reversed(list(enumerate(self.start))) if self.sizes[i]}
        return tuple(first[start] for start in sorted(first))

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """One continuous variable for every block behind the tables, in the order of their places."""
        first = {start: i for i, start in reversed(list(enumerate(self.start))) if not self.sizes[i]}
        return tuple(first[start] for start in sorted(first))

    @cached_property
    def group(self) -> Integers:
        """For each place of the tables, which distribution (variable and configuration) it belongs to."""
        self.check_room()
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
    def variable(self) -> Integers:
        """For each place of the tables, the variable whose table it is in."""
        counts = [self.states[i] * self.configurations[i] for i in self.blocks]
        return np.repeat(np.array(self.blocks, dtype=np.int64), counts)

    @cached_property
    def variable_of_group(self) -> Integers:
        """For each distribution that is a table, the variable it belongs to."""
        return np.repeat(np.array(self.blocks, dtype=np.int64), [self.configurations[i] for i in self.blocks])

    @cached_property
    def sharing(self) -> Array:
        """For each place of the tables, how many families share it."""
        counts = np.bincount(self.start, minlength=self.size + 1)
        return counts[np.array(self.start, dtype=np.int64)[self.variable]].astype(np.float64)

    @property
    def free(self) -> int:
        """Number of coordinates: Σ over tables of (states − 1), and all parameters of other families."""
        return self.size - self.groups

    def slice(self, i: int) -> Places:
        """Return the places of variable i's family."""
        width = self.states[i] or self.widths[i][0]
        return slice(self.start[i], self.start[i] + width * self.configurations[i])

    def total(self, vector: Array) -> Array:
        """Sum each distribution that is a table; (..., size) → (..., groups)."""
        lead = vector.shape[:-1]
        rows = int(np.prod(lead))
        bins = self.group if rows == 1 else (np.arange(rows)[:, None] * self.groups + self.group).ravel()
        places = vector[..., : self.tables].ravel()
        summed = np.bincount(bins, weights=places, minlength=rows * self.groups)
        return np.asarray(summed.reshape(*lead, self.groups), dtype=np.float64)

    def normalize(self, vector: Array) -> Array:
        """Scale each table to sum to one, a table of zeros to uniform, and leave all else; (..., size)."""
        if self.tables < vector.shape[-1]:
            tables = self.normalize(vector[..., : self.tables])
            return np.concatenate([tables, vector[..., self.tables :]], axis=-1)
        total = self.total(vector)
        if total.all():
            return np.asarray(vector / total[..., self.group])
        spread = total[..., self.group]
        uniform = 1.0 / np.array(self.states, dtype=np.float64)[self.variable]
        return np.where(spread > 0, vector / np.where(spread > 0, spread, 1.0), uniform)

    def drawn(self, alpha: Array, rng: np.random.Generator) -> Array:
        """Draw each table's distributions from Dirichlet(alpha), none of them 0; (..., tables) → the same."""
        return self.normalize(gammas(alpha, self.group, self.groups, rng))

    def table(self, vector: Array, i: int) -> Array:
        """Return variable i's table as people index it: parents first, the variable last.

        For a continuous variable: discrete parents first, then its parameters.
        """
        shape = [self.sizes[m] for m in self.members[i]]
        if not self.sizes[i]:
            return vector[self.slice(i)].reshape(*shape[1:], self.widths[i][0])
        return np.moveaxis(vector[self.slice(i)].reshape(shape), 0, -1)

    def flat(self, table: Array) -> Array:
        """Return a discrete variable's table, indexed as by `table`, as its places in the vector."""
        return np.moveaxis(table, -1, 0).reshape(-1)

    def states_first(self, vector: Array, i: int) -> Array:
        """Return a discrete variable's places, its state first; (..., size) → (..., states, q), a view."""
        return vector[..., self.slice(i)].reshape(*vector.shape[:-1], self.states[i], self.configurations[i])

    @cached_property
    def statistics_size(self) -> int:
        """Length of a vector of statistics or hyperparameters."""
        return self._ends(1)[-1]

    @cached_property
    def potentials_size(self) -> int:
        """Length of a vector of potentials."""
        return self._ends(2)[-1]

    def records(self, parameters: NDArray[Any], i: int) -> NDArray[Any]:
        """Return continuous variable i's parameters; (..., size) → (..., q, own), a view."""
        return self._view(parameters, i, 0)

    def statistics(self, statistics: NDArray[Any], i: int) -> NDArray[Any]:
        """Return continuous variable i's statistics; (..., statistics size) → (..., q, own), a view."""
        return self._view(statistics, i, 1)

    def potentials(self, potentials: NDArray[Any], i: int) -> NDArray[Any]:
        """Return continuous variable i's potentials; (..., potentials size) → (..., q, own), a view."""
        return self._view(potentials, i, 2)

    def moments(self, statistics: NDArray[Any], i: int) -> NDArray[Any]:
        """Return a regression's Σ z zᵀ; (..., statistics_size) → (..., q, m + 2, m + 2), a view."""
        block, width = self.statistics(statistics, i), len(self.regressors[i]) + 2
        return block.reshape(*block.shape[:-1], width, width)

    def _view(self, vector: NDArray[Any], i: int, which: int) -> NDArray[Any]:
        start, width = self._starts[which][self.start[i]], self.widths[i][which]
        block = vector[..., start : start + self.configurations[i] * width]
        return block.reshape(*vector.shape[:-1], self.configurations[i], width)

    def _ends(self, which: int) -> list[int]:
        """Return where each block behind the tables starts in vectors of a kind, and the end."""
        sizes = [self.configurations[i] * self.widths[i][which] for i in self.numeric]
        return list(accumulate([self.tables, *sizes]))

    @cached_property
    def _starts(self) -> tuple[dict[int, int], ...]:
        """For parameters, statistics and potentials, where blocks start, by where their parameters do."""
        starts = [self.start[i] for i in self.numeric]
        return tuple(dict(zip(starts, self._ends(which), strict=False)) for which in range(3))


def _regression(width: int, states: int) -> Widths:
    """Return the widths of a linear regression; nothing for a table."""
    return (0, 0, 0) if states else (width, width * width, width * width + 1)


def _strides(states: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """Return how far a step in the child and in each parent leads; the last parent moves fastest."""
    below = list(accumulate(reversed(sizes), mul, initial=1))[::-1]
    return (below[0] if states else 0, *below[1:])
