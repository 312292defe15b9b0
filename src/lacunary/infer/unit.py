"""Units: the families of continuous variables that must be looked at together.

Families are tied together by the continuous variables that are a hole somewhere: integrating such a
variable out joins every family it is in. Given a configuration of its *core*, the discrete parents of its
families, a unit is one Gaussian; what is never a hole only conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import said
from lacunary.data.table import HOLE, unique_rows
from lacunary.errors import TooWideError
from lacunary.family.distribution import NormalMixture
from lacunary.family.leaf import LeafFamily
from lacunary.infer.gaussian import LOG_2PI, Forms, GaussianRows
from lacunary.infer.leaf import LeafRows
from lacunary.model.dag import Dag

__all__ = ["LeafUnit", "Unit", "units_of"]

DENSE = 0.25
"""Families that are never open are taken together if so much of their joint matrix is not zero."""

FEW, MATRIX = 2**18, 2**10
"""They are also if each has at most so many zeros multiplied: to look at it by itself costs as much. Their
joint matrix costs what so many rows do."""

CONFIGURATIONS = 2**20
"""The most configurations of discrete parents that are gone through one by one."""

NO_REALS = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Unit:
    """Some continuous families, and the rows as they see them.

    Attributes
    ----------
    dag
        The graph.
    families
        The continuous variables whose regressions these are, parents before children.
    variables
        All continuous variables in them, in the order of the columns of z = (1, variables).
    core
        Their discrete parents.
    open_core
        Those of the core that are a hole in some row.
    configurations
        The configurations of the core that some row allows, the last variable fastest.
    rows
        The rows; a column is a configuration of ``open_core``, whether some row allows it or not.
    """

    dag: Dag
    families: tuple[int, ...]
    variables: tuple[int, ...]
    core: tuple[int, ...]
    open_core: tuple[int, ...]
    configurations: NDArray[np.int64]
    rows: Any

    @cached_property
    def columns(self) -> list[NDArray[np.int64]]:
        """For each family, the columns of z that are (1, its continuous parents, itself)."""
        place = {v: k + 1 for k, v in enumerate(self.variables)}
        regressors = self.dag.layout.regressors
        return [np.array([0, *(place[p] for p in regressors[i]), place[i]]) for i in self.families]

    @cached_property
    def chosen(self) -> list[NDArray[np.int64]]:
        """For each family, which of its configurations belongs to each of ``configurations``."""
        layout = self.dag.layout
        states = dict(zip(self.core, _digits(self.configurations, self._sizes), strict=True))
        zero = np.zeros(len(self.configurations), dtype=np.int64)
        return [
            sum(
                (states[p] * s for p, s in zip(layout.members[i][1:], layout.strides[i][1:], strict=True)),
                zero,
            )
            for i in self.families
        ]

    @property
    def _sizes(self) -> list[int]:
        return [self.dag.schema.sizes[v] for v in self.core]

    def forms(self, vector: NDArray[np.float64]) -> Any:
        """Return the densities under a vector of parameters, or of potentials; `Forms`."""
        if len(vector) == self.dag.layout.size:
            return self._at_point(vector)
        parts = [self._parts(vector, i) for i in self.families]
        heights = np.cumsum([0, *(root.shape[-2] for root, _ in parts)])
        root = np.zeros((len(self.configurations), int(heights[-1]), len(self.variables) + 1))
        constant = np.zeros(len(self.configurations))
        for (part, g), columns, j, at in zip(parts, self.columns, self.chosen, heights[:-1], strict=False):
            root[:, at : at + part.shape[-2], columns] = part[j]
            constant += g[j]
        return Forms(root, constant)

    def _parts(self, vector: NDArray[np.float64], i: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the roots of family i's potentials and its constants; (q, k, m + 2) and (q,)."""
        form, constant = self.dag.number(i).form(self.dag.layout.potentials(vector, i))
        value, axes = np.linalg.eigh(form)
        return np.sqrt(np.maximum(value, 0.0))[..., None] * np.swapaxes(axes, -1, -2), constant

    def _at_point(self, vector: NDArray[np.float64]) -> Forms:
        """Return the densities under parameters: of each family one row, its residual over its deviation."""
        spots = self._spots
        root = np.zeros((len(self.configurations), len(self.families), len(self.variables) + 1))
        deviation = np.sqrt(vector[spots.variance])
        flat = root.reshape(-1)
        flat[spots.entry] = -vector[spots.coefficient] / deviation[spots.family, spots.configuration]
        flat[spots.own] = 1.0 / deviation
        return Forms(root, np.cumsum(-0.5 * LOG_2PI - np.log(deviation), axis=0)[-1])

    @cached_property
    def _spots(self) -> _Spots:
        """Where parameters stand in their vector and in the roots, all families together."""
        layout, many = self.dag.layout, len(self.configurations)
        places, parts, own, variance = np.arange(layout.size), [], [], []
        width, high = len(self.variables) + 1, len(self.families)
        for f, (i, columns, j) in enumerate(zip(self.families, self.columns, self.chosen, strict=True)):
            records = layout.records(places, i)[j]
            start = (np.arange(many) * high + f) * width
            c = np.repeat(np.arange(many), len(columns) - 1)
            entry = (start[:, None] + columns[:-1]).ravel()
            parts.append([entry, records[:, :-1].ravel(), np.full(len(c), f), c])
            own.append(start + columns[-1])
            variance.append(records[:, -1])
        return _Spots._make([*np.concatenate(parts, axis=1), np.array(own), np.array(variance)])

    @cached_property
    def _ways(self) -> list[tuple[bool, bool, bool]]:
        """For each family, whether columns are the first, configurations all in order, or distinct."""
        layout = self.dag.layout
        return [
            (
                np.array_equal(columns, np.arange(len(columns))),
                np.array_equal(j, np.arange(layout.configurations[i])),
                len(np.unique(j)) == len(j),
            )
            for i, columns, j in zip(self.families, self.columns, self.chosen, strict=True)
        ]

    def add_moments(self, moments: NDArray[np.float64], statistics: NDArray[np.float64]) -> None:
        """Add each family's part of E[Σ z zᵀ], (configurations, n + 1, n + 1), to its places."""
        each = zip(self.families, self.columns, self.chosen, self._ways, strict=True)
        for i, columns, j, (leading, whole, distinct) in each:
            width, places = len(columns), self.dag.layout.moments(statistics, i)
            part = moments[:, :width, :width] if leading else moments[:, columns[:, None], columns]
            if whole:
                places += part
            elif distinct:
                places[j] += part
            else:
                np.add.at(places, j, part)

    def mixture(
        self, v: int, weights: NDArray[np.float64], means: NDArray[np.float64], sds: NDArray[np.float64]
    ) -> NormalMixture:
        """Return what is known of one of its variables in rows; (rows, columns) each."""
        return NormalMixture(self.dag.schema.variables[v], weights, means, sds)


class _Spots(NamedTuple):
    """Parameters of a unit, in their vector and in its roots, (configurations, families, n + 1) and flat.

    Attributes
    ----------
    entry, coefficient
        Where coefficients stand in the roots, and in the vector; (coefficients,) each.
    family, configuration
        Whose coefficients they are; (coefficients,) each.
    own, variance
        Where the child's own entries stand in the roots, and variances in the vector; (families,
        configurations) each.
    """

    entry: NDArray[np.int64]
    coefficient: NDArray[np.int64]
    family: NDArray[np.int64]
    configuration: NDArray[np.int64]
    own: NDArray[np.int64]
    variance: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LeafUnit(Unit):
    """A leaf family alone, whose densities are (configurations, potentials)."""

    @property
    def family(self) -> LeafFamily:
        """The family."""
        found = self.dag.families[self.families[0]]
        assert isinstance(found, LeafFamily)
        return found

    def forms(self, vector: NDArray[Any]) -> NDArray[Any]:
        """Return the densities under a vector of parameters, or of potentials."""
        layout, i = self.dag.layout, self.families[0]
        if vector.shape[-1] == layout.size:
            potentials = self.family.point(layout.records(vector, i))
        else:
            potentials = layout.potentials(vector, i)
        return np.asarray(potentials[..., self.chosen[0], :])

    def add_moments(self, moments: NDArray[Any], statistics: NDArray[Any]) -> None:
        """Add the statistics of each configuration to their places."""
        np.add.at(self.dag.layout.statistics(statistics, self.families[0]), self.chosen[0], moments)

    def mixture(
        self, v: int, weights: NDArray[np.float64], means: NDArray[np.float64], sds: NDArray[np.float64]
    ) -> NormalMixture:
        """Return what is known of the variable in rows; (rows, columns) each."""
        return self.family.mixture(weights, means, sds)


def units_of(
    dag: Dag, codes: NDArray[np.signedinteger], reals: NDArray[np.float64], budget: int
) -> list[Unit]:
    """Divide the continuous families into units; codes and reals are (rows, variables)."""
    is_open = (codes == HOLE).any(axis=0) & (np.array(dag.schema.sizes) > 1)
    holes = np.asarray(np.isnan(reals).any(axis=0))
    rank = {v: k for k, v in enumerate(dag.order_indices)}
    return [
        _unit(dag, sorted(group, key=rank.__getitem__), codes, reals, is_open, budget)
        for group in _merged(dag, _connected(dag, holes), len(codes))
    ]


def _connected(dag: Dag, holes: NDArray[np.bool_]) -> list[list[int]]:
    """Group the continuous families that share a continuous variable which is a hole somewhere."""
    head = {i: i for i in dag.continuous}

    def find(i: int) -> int:
        while head[i] != i:
            head[i] = head[head[i]]
            i = head[i]
        return i

    for i in dag.continuous:
        for p in dag.layout.regressors[i]:
            if holes[p]:
                head[find(i)] = find(p)
    groups: dict[int, list[int]] = {}
    for i in dag.continuous:
        groups.setdefault(find(i), []).append(i)
    return list(groups.values())


def _merged(dag: Dag, groups: list[list[int]], rows: int) -> list[list[int]]:
    """Take lone families with the same core together where their joint matrix is mostly full, or rows few."""
    lone: dict[tuple[int, ...], list[int]] = {}
    for group in groups:
        if len(group) == 1 and not dag.families[group[0]].leaf:
            lone.setdefault(tuple(sorted(dag.layout.members[group[0]][1:])), []).append(group[0])
    out = [group for group in groups if len(group) > 1 or dag.families[group[0]].leaf]
    for families in lone.values():
        width = len({v for i in families for v in (i, *dag.layout.regressors[i])}) + 1
        filled = sum(len(dag.layout.regressors[i]) + 2 for i in families)
        joint = width * len(families)
        together = filled >= DENSE * joint or max(rows, MATRIX) * (joint - filled) <= FEW * (
            len(families) - 1
        )
        out.extend([families] if together else [[i] for i in families])
    return out


def _unit(
    dag: Dag,
    families: Sequence[int],
    codes: NDArray[np.signedinteger],
    reals: NDArray[np.float64],
    is_open: NDArray[np.bool_],
    budget: int,
) -> Unit:
    layout, sizes = dag.layout, dag.schema.sizes
    inside = {v for i in families for v in (i, *layout.regressors[i])}
    variables = tuple(v for v in dag.order_indices if v in inside)
    core = tuple(sorted({p for i in families for p in layout.members[i][1:]}))
    open_core = tuple(v for v in core if is_open[v])
    present, allowed = _allowed(dag, core, codes, budget)
    states = dict(zip(core, _digits(present, [sizes[v] for v in core]), strict=True))
    column = np.zeros(len(present), dtype=np.int64)
    for v in open_core:
        column = column * sizes[v] + states[v]
    parts = dag, tuple(families), variables, core, open_core, present
    family, width = dag.families[families[0]], prod(sizes[v] for v in open_core)
    if isinstance(family, LeafFamily):
        return LeafUnit(*parts, LeafRows(family, reals[:, variables[0]], allowed, column, width))
    return Unit(*parts, GaussianRows(reals[:, list(variables)], allowed, (column, width)))


def _allowed(
    dag: Dag, core: tuple[int, ...], codes: NDArray[np.signedinteger], budget: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the configurations of the core that some row allows, and the rows that allow each."""
    sizes = [dag.schema.sizes[v] for v in core]
    mine = codes[:, list(core)].astype(np.int64)
    mine[:, [k for k, size in enumerate(sizes) if size == 1]] = 0
    first, inverse = unique_rows(mine, sizes, NO_REALS)
    keys = mine[first]
    ways = np.where(keys == HOLE, np.array(sizes, dtype=np.float64), 1.0).prod(axis=1)
    pairs = float(ways[inverse].sum())
    if pairs * 8 > budget or ways.sum() > CONFIGURATIONS:
        names = ", ".join(dag.names[v] for v in core)
        raise TooWideError(
            f"given the rows, {names} can be in {ways.sum():.3g} configurations, which would need at least "
            f"{said(pairs * 8)}; allowed are {CONFIGURATIONS} and {said(budget)}. "
            "Remove arcs from them to continuous variables, observe some of them, or raise the budget."
        )
    ends = np.cumsum(np.bincount(inverse, minlength=len(keys)))[:-1]
    by_key = np.split(np.argsort(inverse, kind="stable"), ends)[: len(keys)]  # of no rows, nothing
    found: dict[int, list[NDArray[np.int64]]] = {}
    for key, rows in zip(keys, by_key, strict=True):
        choices = [
            range(size) if code == HOLE else (int(code),) for code, size in zip(key, sizes, strict=True)
        ]
        for states in product(*choices):
            place = 0
            for state, size in zip(states, sizes, strict=True):
                place = place * size + state
            found.setdefault(place, []).append(rows)
    present = sorted(found)
    return np.array(present, dtype=np.int64), [np.concatenate(found[c]) for c in present]


def _digits(places: NDArray[np.int64], sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return the states of each variable in configurations in which the last moves fastest."""
    out = []
    for size in reversed(sizes):
        out.append(places % size)
        places = places // size
    return out[::-1]
