"""Rows spread over the discrete configurations they allow: expected statistics of the complete model.

A row with discrete holes stands for several rows without, one for each way to fill them, weighted by how
probable that way is given all that is observed in the row. Given it, continuous holes are normal. The sums of
z zᵀ over rows, for every configuration of all discrete variables, are the triples (N, R, S) of TMCH98's
appendix: statistics of every graph over the variables. The spread depends on the table alone: it is made once
for all graphs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import room
from lacunary.data.facts import Facts
from lacunary.data.table import HOLE, Table, unique_rows
from lacunary.errors import TooWideError
from lacunary.family.registry import family_class
from lacunary.infer.gaussian import LOG_2PI, Forms, GaussianRows
from lacunary.infer.scattered import ScatteredRows
from lacunary.infer.squares import Squares
from lacunary.model.dag import Dag

__all__ = ["Spread", "Triples", "forms_of"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

LESS = 2
"""Configurations are put together by what numbers depend on where that leaves at most this part of them."""

CORES = 4
"""Sets of variables that numbers depend on for which rows are kept."""

FAMILIES = 512
"""Families of which statistics are kept."""

FEW = 32
"""Rows that a configuration and a pattern of holes must share, on average, or else they are scattered."""


@dataclass(frozen=True, eq=False)
class Triples:
    """Moments of the continuous variables in each configuration of the discrete ones.

    Attributes
    ----------
    codes
        The configurations that rows allow, over all variables, HOLE for continuous ones; (k, variables).
    squares
        Σ w E[z zᵀ] of z = (1, continuous variables) in each: N, R and S of TMCH98. Leaves are not among
        these variables.
    leaves
        By place, a leaf's statistics in each, (k, statistics), and the mean of its column.
    """

    codes: Codes
    squares: Squares
    leaves: Mapping[int, tuple[Array, float]] = field(default_factory=dict)
    #: Statistics of families, by their members: a search asks for graphs that have most of them in common.
    _families: dict[tuple[int, ...], Array] = field(default_factory=dict, repr=False)

    @property
    def moment(self) -> Array:
        """The moments in each configuration; (k, n + 1, n + 1)."""
        return self.squares.whole

    def around(self, facts: Facts) -> Triples:
        """Return the triples with the means of leaves' columns as they are over all rows."""
        mean = {i: float(facts.mean[i] * facts.unit[i]) or 1.0 for i in self.leaves}
        leaves = {i: (each, mean[i]) for i, (each, _) in self.leaves.items()}
        return Triples(self.codes, self.squares, leaves)

    def times(self, factor: float) -> Triples:
        """Return the triples as if every row counted so many times."""
        leaves = {i: (each * factor, typical) for i, (each, typical) in self.leaves.items()}
        return Triples(self.codes, self.squares.times(factor), leaves)

    def __add__(self, other: Triples) -> Triples:
        codes = np.concatenate([self.codes, other.codes])
        first, which = np.unique(codes, axis=0, return_index=True, return_inverse=True)[1:]
        squares = self.squares.joined(other.squares, which.ravel(), len(first))
        leaves = {}
        for i, (mine, typical) in self.leaves.items():
            each = np.concatenate([mine, other.leaves[i][0]])
            added = np.zeros((len(first), each.shape[1]))
            np.add.at(added, which.ravel(), each)
            leaves[i] = added, typical
        return Triples(codes[first], squares, leaves)

    def statistics(self, dag: Dag) -> Array:
        """Return the statistics of one graph's families, in the places of its layout; (statistics size,)."""
        layout, out = dag.layout, np.zeros(dag.layout.statistics_size)
        for i, size in enumerate(layout.sizes):
            place = out[layout.slice(i)] if size else layout.statistics(out, i)
            place += self._family(dag, i)  # tied families share their places
        return out

    def _family(self, dag: Dag, i: int) -> Array:
        """Return one family's statistics; those that were asked for last are kept."""
        layout = dag.layout
        key = (*layout.members[i], *(() if layout.sizes[i] else (-1, *layout.regressors[i])))
        if key not in self._families:
            if len(self._families) >= FAMILIES:
                self._families.clear()
            self._families[key] = self._added(dag, i)
        return self._families[key]

    def _added(self, dag: Dag, i: int) -> Array:
        layout, where, many = dag.layout, _places(dag, self.codes, i), dag.layout.configurations[i]
        if layout.sizes[i]:
            cells = layout.sizes[i] * many
            counts = np.bincount(where - layout.start[i], self.squares.count, minlength=cells)
            return counts.astype(np.float64)
        if i in self.leaves:
            out = np.zeros((many, layout.widths[i][1]))
            np.add.at(out, where, self.leaves[i][0])
            return out
        place = {v: k + 1 for k, v in enumerate(_linear(dag))}
        columns = np.array([0, *(place[p] for p in layout.regressors[i]), place[i]])
        return self.squares.sums(where, many)[:, columns[:, None], columns].reshape(many, -1)


class Spread:
    """A table's distinct rows, each with every discrete configuration it allows.

    Parameters
    ----------
    table
        The rows; continuous columns best standardised.
    budget
        Bytes that may be taken; beyond them a `TooWideError` says which variables are open.
    """

    def __init__(self, table: Table, budget: int | None = None) -> None:
        budget = room() if budget is None else budget
        distinct, self.schema = table.distinct, table.schema
        self.inverse, self.weights = distinct.inverse, distinct.weights
        sizes = np.array(self.schema.sizes)
        leaf = np.array([family_class(variable).leaf for variable in self.schema], dtype=bool)
        self.continuous = np.flatnonzero((sizes == 0) & ~leaf)
        codes = table.codes[distinct.first].astype(np.int64)
        self._check(codes, budget)
        #: The distinct row behind each row of the spread, and its codes; (spread,), (spread, variables).
        self.owner, spread = _spelled(codes, sizes)
        first, self.which = unique_rows(spread, [int(size) + (size == 0) for size in sizes], np.empty((0, 0)))
        #: The configurations that occur; (k, variables).
        self.codes = spread[first]
        if len(self.codes) * (len(self.continuous) + 1) ** 2 * 8 > budget:
            self._refuse(codes, float(len(self.codes)))
        #: Values of the continuous variables, NaN where there is a hole; (spread, n).
        self.values = table.reals[distinct.first][self.owner][:, self.continuous]
        #: Values of each leaf in the rows of the spread, and the mean of its column.
        self.leaves = {
            int(i): (table.reals[distinct.first, i][self.owner], _typical(table, int(i)))
            for i in np.flatnonzero(leaf)
        }
        self._starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        self._cores: dict[tuple[int, ...], Core | None] = {}

    @cached_property
    def rows(self) -> GaussianRows:
        """The rows of the spread as configurations see them, each its own."""
        order = np.argsort(self.which, kind="stable")
        ends = np.cumsum(np.bincount(self.which, minlength=len(self.codes)))[:-1]
        return GaussianRows(
            self.values, np.split(order, ends), (np.zeros(len(self.codes), dtype=np.int64), 1)
        )

    @cached_property
    def scattered(self) -> ScatteredRows | None:
        """The same, to be worked on across configurations; None where these have rows enough."""
        blocks = len(self.codes) * max(len(self.rows.patterns), 1)
        return ScatteredRows(self.rows, self.which) if len(self.which) < FEW * blocks else None

    def core(self, variables: tuple[int, ...]) -> Core | None:
        """Return the rows with what they allow of some discrete variables; None if that is hardly less."""
        if variables not in self._cores:
            while len(self._cores) >= CORES:
                self._cores.pop(next(iter(self._cores)), None)
            self._cores[variables] = self._core(variables)
        return self._cores[variables]

    def _core(self, variables: tuple[int, ...]) -> Core | None:
        mine = list(variables)
        sizes = [self.schema.sizes[v] for v in mine]
        first, own = unique_rows(self.codes[:, mine], sizes, np.empty((0, 0)))
        # Ways of a row stand together: a pair is told by its row and its configuration.
        key = self.owner * len(first) + own[self.which]
        pairs, pair = np.unique(key, return_inverse=True)
        if len(pairs) * LESS > len(self.codes):
            return None
        rows, configuration = np.divmod(pairs, len(first))
        values = GaussianRows(self.values[self._starts[rows]])
        return Core(self.codes[first], pair, ScatteredRows(values, configuration))

    def _check(self, codes: Codes, budget: int) -> None:
        """Refuse a table that would not fit when spread, before it is."""
        sizes = np.array(self.schema.sizes, dtype=np.float64)
        ways = np.where((codes == HOLE) & (sizes > 0), sizes, 1.0).prod(axis=1).sum()
        if ways * 8 * (len(self.schema) + len(self.continuous) + 4) > budget:
            self._refuse(codes, float(ways))

    def _refuse(self, codes: Codes, ways: float) -> None:
        discrete = np.array(self.schema.sizes) > 1
        holes = np.flatnonzero((codes == HOLE).any(axis=0) & discrete)
        names = ", ".join(self.schema.names[v] for v in holes[:8]) + ("" if len(holes) <= 8 else ", …")
        raise TooWideError(
            f"the missing states of {names} can be filled in about {ways:.3g} ways, too many to go through "
            "one by one; leave columns with many missing states out, or take fewer hidden variables"
        )

    def places(self, dag: Dag, i: int) -> NDArray[np.int64]:
        """Return where each row of the spread finds variable i: its table's place, or its regression."""
        return _places(dag, self.codes, i)[self.which]

    def summed(self, log: Array) -> Array:
        """Return the log of the sum over the ways to fill each distinct row, given their logs."""
        if not len(log):
            return np.empty(0)
        return np.asarray(np.logaddexp.reduceat(log, self._starts))

    def log_densities(self, forms: Forms) -> Array:
        """Return the log-density of what each row of the spread shows of continuous variables; (spread,)."""
        if self.scattered is not None:
            return self.scattered.log_evidence(forms)
        return np.asarray(self.rows.log_evidence(forms)[:, 0])

    def moments(self, forms: Forms, weights: Array) -> Array:
        """Return Σ weight · E[z zᵀ] in each configuration, for the rows of the spread; (k, n + 1, n + 1)."""
        if self.scattered is not None:
            return self.scattered.moments(forms, weights)
        return self.rows.moments(forms, weights[:, None])

    def under(self, dag: Dag, theta: Array) -> Seen:
        """Return the rows as a network sees them."""
        return Seen(self, dag, theta)


@dataclass(frozen=True, eq=False)
class Core:
    """Rows with every configuration they allow of the variables on which their numbers depend.

    Attributes
    ----------
    codes
        These configurations, as rows over all variables; (q, variables).
    pair
        Which pair of a row and such a configuration each row of the spread belongs to; (spread,).
    rows
        The pairs.
    """

    codes: Codes
    pair: NDArray[np.int64]
    rows: ScatteredRows


@dataclass(frozen=True, eq=False)
class Seen:
    """The spread under one network."""

    spread: Spread
    dag: Dag
    theta: Array

    @cached_property
    def forms(self) -> Forms:
        """The density of the continuous variables in each configuration."""
        return forms_of(self.dag, self.theta, self.spread.codes)

    @cached_property
    def _core(self) -> tuple[Core, Forms] | None:
        """The rows with what numbers depend on alone, and the densities; None if all else is hardly more."""
        layout = self.dag.layout
        parents = {p for i in _linear(self.dag) for p in layout.members[i][1:]}
        core = self.spread.core(tuple(sorted(parents)))
        return None if core is None else (core, forms_of(self.dag, self.theta, core.codes))

    @cached_property
    def _log(self) -> Array:
        """The log-density of each row of the spread; (spread,)."""
        table = np.zeros(len(self.spread.codes))
        with np.errstate(divide="ignore"):
            logs = np.log(self.theta[: self.dag.layout.tables])
        for i, size in enumerate(self.dag.layout.sizes):
            if size:
                table += logs[_places(self.dag, self.spread.codes, i)]
        if self._core is None:
            numbers = self.spread.log_densities(self.forms)
        else:
            core, forms = self._core
            numbers = core.rows.log_evidence(forms)[core.pair]
        log = numbers + table[self.spread.which]
        for i, family in self.dag.leaves:
            x, where = self.spread.leaves[i][0], self.spread.places(self.dag, i)
            potentials = family.point(self.dag.layout.records(self.theta, i))
            for j in np.unique(where):
                mine = (where == j) & ~np.isnan(x)
                log[mine] += family.log_values(x[mine], potentials[j])
        return np.asarray(log)

    @cached_property
    def shares(self) -> Array:
        """How probable each way to fill a row's discrete holes is; (spread,)."""
        log, owner, starts = self._log, self.spread.owner, self.spread._starts
        top = np.maximum.reduceat(log, starts) if len(log) else np.empty(0)
        possible = np.exp(log - np.where(np.isfinite(top), top, 0.0)[owner])
        total = np.add.reduceat(possible, starts) if len(log) else np.empty(0)
        return np.asarray(possible / np.where(total > 0, total, 1.0)[owner])

    def triples(self, weights: Array | None = None) -> Triples:
        """Return the expected statistics of the complete model, the table's rows weighted; (rows,)."""
        spread = self.spread
        known = spread.weights
        if weights is not None:
            known = np.bincount(spread.inverse, weights, minlength=len(known)).astype(np.float64)
        weight = self.shares * known[spread.owner]
        leaves = {}
        for i, family in self.dag.leaves:
            x, typical = spread.leaves[i]
            each = np.zeros((len(spread.codes), family.statistics))
            family.gather(np.nan_to_num(x)[:, None], spread.which, weight * ~np.isnan(x), each)
            leaves[i] = each, typical
        if self._core is None:
            return Triples(spread.codes, Squares.of(spread.moments(self.forms, weight)), leaves)
        core, forms = self._core
        each = core.rows.squares(forms)
        squares = Squares.shared(len(spread.codes), spread.which, core.pair, weight, each)
        return Triples(spread.codes, squares, leaves)

    def draw(self, rows: NDArray[np.int64], rng: np.random.Generator) -> tuple[Codes, Array]:
        """Return rows of the table with every hole drawn, codes and values; (rows, variables) each."""
        spread, known = self.spread, self.spread.rows
        ends = np.append(spread._starts[1:], len(spread.owner))
        mine, total = spread.inverse[rows], np.cumsum(self.shares)
        low = total[spread._starts[mine]] - self.shares[spread._starts[mine]]
        height = low + rng.random(len(rows)) * (total[ends[mine] - 1] - low)
        way = np.clip(np.searchsorted(total, height, side="right"), spread._starts[mine], ends[mine] - 1)
        place = np.empty(len(known), dtype=np.int64)
        place[known.order] = np.arange(len(known))
        z, conditioned = known.sorted[place[way]], known.under(self.forms)
        pattern = np.searchsorted([p.last for p in known.patterns], place[way], side="right")
        key = spread.which[way] * max(len(known.patterns), 1) + pattern
        for each in np.unique(key):
            holes, here = known.patterns[each % len(known.patterns)].holes, np.flatnonzero(key == each)
            if len(holes):
                c, number = divmod(int(each), len(known.patterns))
                slope, root, _ = conditioned.given(number, c)
                noise = rng.standard_normal((len(here), len(holes))) @ root.T
                z[np.ix_(here, holes)] = z[here] @ slope.T + noise
        reals = np.full((len(rows), len(spread.schema)), np.nan)
        reals[:, spread.continuous] = z[:, 1:]
        for i, family in self.dag.leaves:
            x, record = spread.leaves[i][0][way], self.dag.layout.records(self.theta, i)
            drawn = family.sampled(record[spread.places(self.dag, i)[way]], np.empty((len(way), 0)), rng)
            reals[:, i] = np.where(np.isnan(x), drawn, x)
        return spread.codes[spread.which[way]], reals


def forms_of(dag: Dag, theta: Array, codes: Codes) -> Forms:
    """Return the density of all continuous variables but leaves in some configurations; (k, variables)."""
    layout, linear = dag.layout, _linear(dag)
    n = len(linear)
    root, constant = np.zeros((len(codes), n, n + 1)), np.zeros(len(codes))
    place = {v: k + 1 for k, v in enumerate(linear)}
    for k, i in enumerate(linear):
        record = layout.records(theta, i)[_places(dag, codes, i)]
        columns = [0, *(place[p] for p in layout.regressors[i]), k + 1]
        contrast = np.concatenate([-record[:, :-1], np.ones((len(record), 1))], axis=1)
        root[:, k, columns] = contrast / np.sqrt(record[:, -1:])
        constant -= 0.5 * (LOG_2PI + np.log(record[:, -1]))
    return Forms(root, constant)


def _linear(dag: Dag) -> list[int]:
    """Return the continuous variables that are no leaves."""
    return [i for i in dag.continuous if dag.families[i].linear]


def _typical(table: Table, i: int) -> float:
    """Return the mean of a column; one if there is none, or if it is zero."""
    seen = ~np.isnan(table.reals[:, i]) & (table.weights > 0)
    return float(np.average(table.reals[seen, i], weights=table.weights[seen])) or 1.0 if seen.any() else 1.0


def _places(dag: Dag, codes: Codes, i: int) -> NDArray[np.int64]:
    """Return where configurations lie: in the tables for a discrete variable, else among regressions."""
    layout = dag.layout
    members, strides = list(layout.members[i]), np.array(layout.strides[i], dtype=np.int64)
    if layout.sizes[i]:
        return np.asarray(layout.start[i] + codes[:, members] @ strides)
    return np.asarray(codes[:, members[1:]] @ strides[1:])


def _spelled(codes: Codes, sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], Codes]:
    """Return every row with each way to fill its discrete holes, and which row it was; rows stay in order."""
    owner = np.arange(len(codes))
    for column, size in enumerate(sizes.tolist()):
        if not size:
            continue
        times = np.where(codes[:, column] == HOLE, size, 1)
        again = np.repeat(np.arange(len(codes)), times)
        state = np.arange(len(again)) - np.repeat(np.cumsum(times) - times, times)
        codes, owner = codes[again], owner[again]
        codes[:, column] = np.where(codes[:, column] == HOLE, state, codes[:, column])
    return owner, codes
