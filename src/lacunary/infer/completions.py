"""Draws of what the holes of rows with discrete and continuous variables hold, for many parameters at once.

Every completion of a row's discrete holes is written down; its weight is p(it, observed cells | θ)^τ, the
continuous holes integrated out against u^(1 − τ), a standard normal each. One is drawn for each row, and then
the continuous holes from the normal distribution that they have given it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import room
from lacunary.data.table import HOLE
from lacunary.errors import NoEstimateError, TooWideError
from lacunary.infer.engine import Distinct
from lacunary.infer.unit import LeafUnit, Unit, units_of
from lacunary.model.dag import Dag

__all__ = ["Completions", "check_whole", "complete_statistics", "completions_of", "configuration_of"]

MOST = 2**20
"""Completions of single rows, over all rows, that are gone through at each draw."""

LOWEST = -700.0
"""Where weights end, relative to the largest of their row: less is never drawn."""

GATHERED = 2**21
"""Numbers that are gathered at once, where rows differ in their holes."""

LOG_2PI = float(np.log(2.0 * np.pi))

Array = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Group:
    """Rows of a unit with equally many holes.

    Attributes
    ----------
    rows, z
        Which rows, and (1, x) with zeros for holes; (rows,) and (rows, n + 1).
    holes, pattern
        The different patterns of holes, and which each row has; (patterns, holes) and (rows,).
    """

    rows: Places
    z: Array
    holes: Places
    pattern: Places


@dataclass(frozen=True, eq=False)
class _Part:
    """A unit with holes: its rows by their number, and which of its configurations every completion has."""

    unit: Unit
    groups: tuple[_Group, ...]
    configuration: Places

    def given(self, theta: Array, tau: float) -> list[_Way]:
        """Return holes given what is observed, by the number of holes."""
        return _given(self, *self.roots(theta, tau))

    def roots(self, theta: Array, tau: float) -> tuple[Array, Array]:
        """Return A and g of p^τ u^(1 − τ), density exp(g − ½‖Az‖²); (chains, configurations, 2F, n + 1).

        Below the F rows of the regressions there is one of u for each family's child. In cells that are
        observed u only adds a constant, whatever the configuration.
        """
        unit, layout = self.unit, self.unit.dag.layout
        families, width = len(unit.families), len(unit.variables) + 1
        root = np.zeros((len(theta), len(unit.configurations), 2 * families, width))
        constant = np.zeros(root.shape[:2])
        for k, (i, columns, j) in enumerate(zip(unit.families, unit.columns, unit.chosen, strict=True)):
            record = layout.records(theta, i)[:, j]
            root[:, :, k, columns[:-1]] = -record[..., :-1]
            root[:, :, k, columns[-1]] = 1.0
            root[:, :, k] *= np.sqrt(tau / record[..., -1:])
            root[:, :, families + k, columns[-1]] = np.sqrt(1.0 - tau)
            constant -= 0.5 * tau * (LOG_2PI + np.log(record[..., -1]))
        return root, constant


@dataclass(frozen=True, eq=False)
class _LeafPart(_Part):
    """A leaf, whose holes are not drawn: they say nothing."""

    unit: LeafUnit

    def given(self, theta: Array, tau: float) -> list[_Way]:
        """Return how probable the rows' values are in each configuration, and no holes."""
        x, (group,) = self.unit.rows.x, self.groups
        seen = ~np.isnan(x)
        log = np.zeros((len(theta), len(self.unit.configurations), len(x)))
        log[..., seen] = tau * self.unit.family.log_values(x[seen], self.unit.forms(theta))
        return [_Way(group, np.empty(0), np.empty(0), log)]


@dataclass(frozen=True, eq=False)
class Completions:
    """The rows with holes, each as often as it counts, and all completions of their discrete holes.

    Attributes
    ----------
    dag, reals
        The graph, and the rows' continuous cells; (rows, variables).
    row, first
        Which row each completion is of, and where those of each row begin; (completions,) and (rows,).
    places
        For each open discrete variable, by its number, where its family's parameter stands in every
        completion; and for each open continuous one, its configuration.
    parts
        The units with holes or open parents.
    base
        Statistics of all that no hole touches.
    log_ways
        Log of the number of completions of all rows.
    """

    dag: Dag
    reals: Array
    row: Places
    first: Places
    places: dict[int, Places]
    parts: tuple[_Part, ...]
    base: Array
    log_ways: float

    def draw(self, theta: Array, tau: float, rng: np.random.Generator) -> Array:
        """Return statistics of completed rows, and log u of their holes; (chains, statistics size + 1).

        ``theta`` is (chains, size).
        """
        given = [part.given(theta, tau) for part in self.parts]
        chosen = self._choose(theta, tau, given, rng)
        full = np.repeat(self.reals[None], len(theta), axis=0)
        log_u = np.full(len(theta), -self.log_ways)
        for part, ways in zip(self.parts, given, strict=True):
            configuration = part.configuration[chosen]
            for group, way in zip(part.groups, ways, strict=True):
                if group.holes.size:
                    x = way.draw(configuration[:, group.rows], rng)
                    columns = np.array(part.unit.variables)[group.holes[group.pattern] - 1]
                    full[:, group.rows[:, None], columns] = x
                    log_u -= 0.5 * (x**2 + LOG_2PI).sum(axis=(1, 2))
        return np.concatenate([self._statistics(chosen, full), log_u[:, None]], axis=1)

    def _choose(self, theta: Array, tau: float, given: list[list[_Way]], rng: np.random.Generator) -> Places:
        """Draw one completion of each row; (chains, rows)."""
        chains, rows = len(theta), len(self.first)
        if len(self.row) == rows:
            return np.broadcast_to(np.arange(rows), (chains, rows))
        log = np.zeros((chains, len(self.row)))
        tables = tau * np.log(theta[:, : self.dag.layout.tables])
        for i, places in self.places.items():
            if self.dag.layout.sizes[i]:
                log += tables[:, places]
        for part, ways in zip(self.parts, given, strict=True):
            if part.unit.open_core:
                evidence = np.empty((chains, len(part.unit.configurations), rows))
                for group, way in zip(part.groups, ways, strict=True):
                    evidence[:, :, group.rows] = way.log
                log += evidence[:, part.configuration, self.row]
        log -= np.maximum.reduceat(log, self.first, axis=1)[:, self.row]
        log = np.maximum(log, LOWEST) + rng.gumbel(size=log.shape)  # the largest is a draw
        best = np.maximum.reduceat(log, self.first, axis=1)[:, self.row]
        number = np.where(log == best, np.arange(len(self.row)), -1)
        return np.asarray(np.maximum.reduceat(number, self.first, axis=1))

    def _statistics(self, chosen: Places, full: Array) -> Array:
        layout, chains = self.dag.layout, len(chosen)
        out = np.repeat(self.base[None], chains, axis=0)
        for i, places in self.places.items():
            mine = places[chosen]
            if layout.sizes[i]:
                flat = (np.arange(chains)[:, None] * layout.tables + mine).ravel()
                counted = np.bincount(flat, minlength=chains * layout.tables)
                out[:, : layout.tables] += counted.reshape(chains, layout.tables)
                continue
            values = full[..., [*layout.regressors[i], i]]
            weights = (~np.isnan(full[..., i])).astype(np.float64)  # holes of leaves are not drawn
            family, statistics = self.dag.number(i), layout.statistics(out, i)
            family.gather(np.nan_to_num(values) if family.leaf else values, mine, weights, statistics)
        return out


@dataclass(frozen=True, eq=False)
class _Way:
    """Holes of a group of rows given what is observed, in each configuration.

    Attributes
    ----------
    group
        The rows.
    mean
        (chains, configurations, rows, holes).
    spread
        R⁻¹, covariance R⁻¹R⁻ᵀ; (chains, configurations, patterns, holes, holes).
    log
        Log of the density of the observed cells, up to what is the same in all configurations; (chains,
        configurations, rows).
    """

    group: _Group
    mean: Array
    spread: Array
    log: Array

    def draw(self, configuration: Places, rng: np.random.Generator) -> Array:
        """Return the holes given each row's configuration; (chains, rows) → (chains, rows, holes)."""
        chain, row = np.ogrid[: configuration.shape[0], : configuration.shape[1]]
        mean = self.mean[chain, configuration, row]
        spread = self.spread[chain, configuration, self.group.pattern]
        return np.asarray(mean + np.einsum("crij,crj->cri", spread, rng.standard_normal(mean.shape)))


def _given(part: _Part, root: Array, constant: Array) -> list[_Way]:
    """Integrate holes out by the orthogonal decomposition UR of their columns of A.

    Given the observed cells they have mean −R⁻¹Uᵀ(Az) with zeros for them in z, and of ‖Az‖² there is
    ‖Az‖² − ‖UᵀAz‖² left.
    """
    out = []
    for group in part.groups:
        unit, upper = np.linalg.qr(np.moveaxis(root[..., group.holes], 3, 2))
        spread = np.asarray(np.linalg.inv(upper))
        pushed = np.swapaxes(root @ group.z.T, 2, 3)  # (chains, configurations, rows, 2F)
        along = _each(pushed, unit, group.pattern)
        mean = -_each(along, np.swapaxes(spread, -1, -2), group.pattern)
        squared = np.maximum((pushed**2).sum(axis=-1) - (along**2).sum(axis=-1), 0.0)
        scale = np.log(np.abs(np.diagonal(upper, axis1=-2, axis2=-1))).sum(axis=-1)
        log = constant[..., None] - scale[:, :, group.pattern] - 0.5 * squared
        out.append(_Way(group, mean, spread, log))
    return out


def _each(vectors: Array, matrices: Array, pattern: Places) -> Array:
    """Return vᵀM, M that of each row's pattern; (.., rows, a), (.., patterns, a, b) → (.., rows, b)."""
    if matrices.shape[2] == 1:
        return np.asarray(vectors @ matrices[:, :, 0])
    out = np.empty((*vectors.shape[:3], matrices.shape[-1]))
    step = max(1, GATHERED // max(1, matrices[:, :, 0].size))
    for first in range(0, len(pattern), step):
        some = slice(first, first + step)
        chosen = matrices[:, :, pattern[some]]
        out[:, :, some] = (vectors[:, :, some, None, :] @ chosen)[..., 0, :]
    return out


def check_whole(weights: Array, others: str) -> None:
    """Refuse weights of rows with holes that are not whole; ``others`` says which estimates take them."""
    if np.any(weights != np.round(weights)):
        raise NoEstimateError(
            "drawing completions needs whole weights, because a row of weight w draws w of them; a row with "
            f"holes has weight {weights[weights != np.round(weights)][0]:g}; {others}"
        )


def completions_of(dag: Dag, rows: Distinct) -> Completions:
    """Lay rows out over a graph's variables; half a row cannot be completed, so weights must be whole."""
    codes, reals, weights = rows
    codes, reals, weights = codes[weights > 0], reals[weights > 0], weights[weights > 0]
    holes = np.where(np.array(dag.schema.sizes) > 0, codes == HOLE, np.isnan(reals))
    is_open = holes.any(axis=1)
    check_whole(weights[is_open], "'laplace' and 'variational' take any")
    names = range(len(dag.names))
    touched = [bool(holes[:, [i, *dag.parent_indices[i]]].any()) for i in names]
    base = complete_statistics(dag, codes[~is_open], reals[~is_open], weights[~is_open])
    often = weights[is_open].astype(np.int64)
    codes, reals = np.repeat(codes[is_open], often, axis=0), np.repeat(reals[is_open], often, axis=0)
    base += complete_statistics(dag, codes, reals, np.ones(len(codes)), [i for i in names if not touched[i]])
    filled, row, first = _filled(dag, codes)
    units = units_of(dag, codes, reals, room()) if len(codes) else []
    return Completions(
        dag,
        reals,
        row,
        first,
        {i: _places(dag, i, filled) for i in names if touched[i]},
        tuple(_part(unit, reals, filled) for unit in units if any(touched[i] for i in unit.families)),
        base,
        float(np.log(np.diff([*first, len(row)])).sum()),
    )


def _filled(dag: Dag, codes: NDArray[np.signedinteger]) -> tuple[Places, Places, Places]:
    """Return all completions of rows with discrete holes, whose each is, and where those of a row begin."""
    sizes = np.array(dag.schema.sizes)
    is_open = (codes == HOLE) & (sizes > 0)
    ways = np.where(is_open, sizes, 1).astype(np.float64).prod(axis=1)
    if ways.sum() > MOST:
        raise TooWideError(
            f"the rows' discrete holes have {ways.sum():.3g} completions, row by row, more than the {MOST} "
            "that are gone through at each step; use 'variational' for a lower bound, or 'cheeseman-stutz'"
        )
    first = np.concatenate([[0], np.cumsum(ways)[:-1]]).astype(np.int64) if len(codes) else np.empty(0, int)
    row = np.repeat(np.arange(len(codes)), ways.astype(np.int64))
    filled = codes[row].astype(np.int64)
    for r in np.flatnonzero(ways > 1):
        columns = np.flatnonzero(is_open[r])
        states = np.array(list(product(*(range(sizes[c]) for c in columns))))
        filled[first[r] : first[r] + len(states), columns] = states
    filled[:, sizes == 1] = 0
    return filled, row, first


def _places(dag: Dag, i: int, filled: Places) -> Places:
    """Return where a discrete variable's parameter stands, or which configuration a continuous one has."""
    layout = dag.layout
    members, strides = list(layout.members[i]), np.array(layout.strides[i], dtype=np.int64)
    if layout.sizes[i]:
        return np.asarray(layout.start[i] + filled[:, members] @ strides)
    return configuration_of(dag, filled, i)


def _part(unit: Unit, reals: Array, filled: Places) -> _Part:
    place = np.zeros(len(filled), dtype=np.int64)
    for v in unit.core:
        place = place * unit.dag.schema.sizes[v] + filled[:, v]
    configuration = np.searchsorted(unit.configurations, place)
    if isinstance(unit, LeafUnit):
        none = np.zeros((1, 0), dtype=np.int64)
        rows = np.arange(len(reals))
        return _LeafPart(unit, (_Group(rows, np.empty(0), none, np.zeros(len(rows), int)),), configuration)
    mine = reals[:, list(unit.variables)]
    empty = np.isnan(mine)
    z = np.concatenate([np.ones((len(mine), 1)), np.nan_to_num(mine)], axis=1)
    groups = []
    for count in np.unique(empty.sum(axis=1)):
        rows = np.flatnonzero(empty.sum(axis=1) == count)
        keys, which = np.unique(empty[rows], axis=0, return_inverse=True)
        holes = np.array([np.flatnonzero(key) + 1 for key in keys], dtype=np.int64).reshape(len(keys), -1)
        groups.append(_Group(rows, z[rows], holes, which.reshape(-1)))
    return _Part(unit, tuple(groups), configuration)


def complete_statistics(
    dag: Dag,
    codes: NDArray[np.signedinteger],
    reals: NDArray[np.float64],
    weights: NDArray[np.float64],
    families: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """Return the counts N_ijk and other families' statistics of rows without holes; (statistics size,).

    ``codes`` and ``reals`` are (rows, variables), ``weights`` (rows,). With ``families`` only those of some
    variables are counted, and only in these must there be no holes. Holes of leaves count for nothing.
    """
    layout, out = dag.layout, np.zeros(dag.layout.statistics_size)
    seen: slice | NDArray[np.bool_]
    for i in range(len(dag.names)) if families is None else families:
        members, strides, start = layout.members[i], layout.strides[i], layout.start[i]
        if layout.sizes[i]:
            places = start + codes[:, members].astype(np.int64) @ np.array(strides)
            out[: layout.tables] += np.bincount(places, weights, minlength=layout.tables)
            continue
        values, seen = reals[:, [*layout.regressors[i], i]], slice(None)
        if dag.families[i].leaf:
            seen = ~np.isnan(reals[:, i])
        configuration = configuration_of(dag, codes[seen], i)
        dag.number(i).gather(values[seen], configuration, weights[seen], layout.statistics(out, i))
    return out


def configuration_of(dag: Dag, codes: NDArray[np.signedinteger], i: int) -> NDArray[np.int64]:
    """Return the configuration of variable i's discrete parents in each row; (rows,)."""
    parents, strides = list(dag.layout.members[i][1:]), dag.layout.strides[i][1:]
    return np.asarray(codes[:, parents].astype(np.int64) @ np.array(strides, dtype=np.int64))
