"""Rows for Gibbs chains: a graph and its distinct rows, visited island by island under any parameters.

`lacunary.kernels.gibbs` says what is done with a row; this module lays a graph, rows and parameters out for
it, and adds up what was found, in an order that the rows alone decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.engine import Distinct
from lacunary.infer.parallel import check_wanted, in_parallel
from lacunary.infer.shape import flat, starts
from lacunary.kernels.blocks import BLOCK, BLOCK_HOLES
from lacunary.kernels.gather import MOMENTS
from lacunary.kernels.gibbs import visit
from lacunary.kernels.holes import (
    LEAF,
    LINEAR,
    NEVER,
    TABLE,
    Chart,
    Families,
    Found,
    Plan,
    Seen,
    Workspace,
    any_wide,
)
from lacunary.model.dag import Dag

__all__ = ["Chains", "Effort", "Visited"]

Array = NDArray[np.float64]

TASKS, NUMBERS = 16, 2**24
"""Runs of rows that threads take, and numbers that the statistics of all runs may take, about."""

HEARD = 0.25
"""Seconds that a kernel works before it looks up."""

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Effort:
    """How hard holes are tried for.

    Attributes
    ----------
    ways
        An island whose discrete holes can be filled in no more ways is gone through, exactly.
    chains
        Else so many chains draw them, each by itself, more than three: their spread is the error.
    steps, again
        Steps from a chain's first draw to the posterior; four times as many, and that so many times at most,
        while the chains' weights are uneven.
    sweeps
        Sweeps through the holes from there on, of which statistics are taken.
    seed
        Whatever chains draw depends on it, the row and the chain alone.
    """

    ways: int = 512
    chains: int = 16
    steps: int = 12
    again: int = 3
    sweeps: int = 8
    seed: int = 0

    def times(self, factor: int) -> Effort:
        """Return so many times as many chains."""
        return replace(self, chains=self.chains * factor)

    @property
    def widening(self) -> float:
        """What a spread between so few chains is multiplied by: the standard deviation of Student's t."""
        return float(np.sqrt((self.chains - 1) / (self.chains - 3)))

    def plan(self, first: int) -> Plan:
        """Return the same as kernels take it, counting families from the first on."""
        return Plan(self.ways, self.chains, self.steps, self.again, self.sweeps, first, np.uint64(self.seed))


@dataclass(frozen=True, eq=False)
class Visited:
    """What was found of rows under one vector.

    Attributes
    ----------
    statistics, error
        Expected statistics, and the standard error of each; (statistics size,).
    log, log_error
        Log-evidence of each row, and its standard error; (rows,).
    """

    statistics: Array
    error: Array
    log: Array
    log_error: Array


@dataclass(frozen=True, eq=False)
class Chains:
    """A graph and distinct rows over its variables, holes and all."""

    dag: Dag
    rows: Distinct
    effort: Effort
    sets: tuple[tuple[int, ...], ...] = ()

    def posteriors(self, vector: Array, sets: Sequence[Sequence[int]]) -> list[tuple[Array, Array]]:
        """Return the posterior of sets of discrete variables in each row, and its standard error.

        Each is (rows, states of the first, …), all zero in an impossible row. To the kernel a set is a leaf
        below its variables that is the same whatever they are.
        """
        asked = replace(self, sets=tuple(map(tuple, sets)))
        found, error, log = asked._swept(vector, np.ones(len(self.rows.codes)))
        out, sizes = [], self.dag.schema.sizes
        for k, members in enumerate(sets):
            shape = (log.shape[1], *(sizes[v] for v in members))
            here = asked._leaf(len(self.dag.schema) + k)
            possible = np.isfinite(log[0]).reshape(-1, *(1 for _ in members))
            out.append((found[here].reshape(shape) * possible, error[here].reshape(shape) * possible))
        return out

    def visited(self, vector: Array) -> Visited:
        """Return expected statistics and log-evidence under parameters, or potentials."""
        found, error, log = self._swept(vector, self.rows.weights)
        return Visited(*self._gathered(found, error), log[0], self.effort.widening * np.sqrt(log[1]))

    @cached_property
    def sampled(self) -> bool:
        """Whether some island has too many ways to be gone through; what chains say is exact else."""
        seen, n = self._seen(None), len(self._kinds)
        flat = seen._replace(codes=seen.codes.ravel(), reals=seen.reals.ravel())
        whole, truths = (np.empty((6, n), dtype=np.int64), np.empty((2, n), dtype=np.bool_))
        code, island, home, spot, state, family = whole
        chart = Chart(n, code, island, truths[0], truths[1], home, spot, state, family)
        return bool(any_wide(self._families, flat, chart, self.effort.ways))

    def _swept(self, vector: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Return the kernel's statistics, their standard errors, and log-evidence with its squared error."""
        seen = self._seen(vector)._replace(weight=weights.astype(np.float64))
        places, log = len(seen.value), np.empty((2, len(seen.codes)))

        def run(part: slice) -> Found:
            zeros = np.zeros((3, places))
            found = Found(zeros[0], zeros[1], zeros[2], log[0], log[1], self._drawn(0))
            self._visit(seen, self._workspace(places, 0), part, found)
            return found

        counts, spread, floor = np.zeros(places), np.zeros(places), np.zeros(places)
        for found in in_parallel(run, self._runs(max(1, min(TASKS, NUMBERS // (8 * max(places, 1)))))):
            counts += found.counts
            spread += found.spread
            np.maximum(floor, found.floor, out=floor)
        return counts, self.effort.widening * np.sqrt(spread + floor), log

    def _visit(self, seen: Seen, room: Workspace, part: slice, found: Found) -> None:
        """Go through a run of rows, so many at a time that an interrupt is heard within about `HEARD`."""
        first, many = part.start, 1
        while first < part.stop:
            check_wanted()
            last, began = min(first + many, part.stop), perf_counter()
            visit(self._families, seen, self._plan(), room, first, last, found)
            first, many = last, max(1, int(many * min(HEARD / max(perf_counter() - began, 1e-6), 8.0)))

    def _plan(self) -> Plan:
        """Return how hard to try, and what to count: all families, or the sets that are asked about."""
        return self.effort.plan(len(self.dag.schema) if self.sets else 0)

    def drawn(self, vector: Array, draws: int) -> tuple[NDArray[np.int32], Array]:
        """Return draws of the rows' discrete cells, (rows, draws, variables), and the rows' log-evidence."""
        seen, out = self._seen(vector), self._drawn(draws)
        log, square, none = np.empty(len(out)), np.empty(len(out)), np.empty(0)

        def run(part: slice) -> None:
            found = Found(none, none, none, log, square, out)
            self._visit(seen, self._workspace(0, self.effort.chains * self.effort.sweeps), part, found)

        in_parallel(run, self._runs(TASKS))
        return out, log

    def _runs(self, many: int) -> list[slice]:
        """Cut the rows into so many runs, or a run for each."""
        edges = np.linspace(0, len(self.rows.codes), min(many, max(len(self.rows.codes), 1)) + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(edges.tolist())]

    def _drawn(self, draws: int) -> NDArray[np.int32]:
        return np.empty((len(self.rows.codes), draws, len(self.dag.schema)), dtype=np.int32)

    @cached_property
    def _kinds(self) -> NDArray[np.int64]:
        sizes = self.dag.schema.sizes
        known = [
            TABLE if size else LEAF if f.leaf else LINEAR
            for f, size in zip(self.dag.families, sizes, strict=True)
        ]
        return np.array([*known, *(LEAF for _ in self.sets)], dtype=np.int64)

    @cached_property
    def _many(self) -> NDArray[np.int64]:
        """How many configurations each family has."""
        sizes = self.dag.schema.sizes
        return np.array([*self.dag.layout.configurations, *(prod(sizes[v] for v in s) for s in self.sets)])

    @cached_property
    def _leaves(self) -> dict[int, int]:
        """Where the numbers of leaves, which each row has for itself, begin."""
        leaves = np.flatnonzero(self._kinds == LEAF)
        sizes = len(self.rows.codes) * self._many[leaves]
        return dict(
            zip(
                leaves.tolist(),
                (self.dag.layout.statistics_size + np.cumsum(sizes) - sizes).tolist(),
                strict=True,
            )
        )

    @cached_property
    def _families(self) -> Families:
        dag, layout, kinds, n = self.dag, self.dag.layout, self._kinds, len(self.dag.schema)
        table, sizes = kinds == TABLE, dag.schema.sizes
        members = [m if table[i] else m[1:] for i, m in enumerate(layout.members)] + [*self.sets]
        strides = [s if table[i] else s[1:] for i, s in enumerate(layout.strides)]
        strides += [tuple(prod(sizes[v] for v in s[k + 1 :]) for k in range(len(s))) for s in self.sets]
        columns = [(*layout.regressors[i], i) if kinds[i] == LINEAR else () for i in range(len(kinds))]
        behind = [layout.start[i] if table[i] else self._leaves.get(i, -1) for i in range(len(kinds))]
        place = np.arange(layout.statistics_size)
        begun = [
            int(layout.statistics(place, i)[0, 0]) if kinds[i] == LINEAR else b for i, b in enumerate(behind)
        ]
        asking = [[n + k for k, s in enumerate(self.sets) if i in s] for i in range(len(kinds))]
        below = [*dag.child_indices, *(() for _ in self.sets)]
        touch = [(i, *below[i], *asking[i]) for i in range(len(kinds))]
        own = np.where(kinds == LINEAR, self._many, 0)
        return Families(
            kind=kinds,
            size=np.array([*sizes, *(0 for _ in self.sets)], dtype=np.int64),
            many=self._many,
            member=_flat(members),
            stride=_flat(strides),
            member_start=starts(members).astype(np.int64),
            column=_flat(columns),
            column_start=starts(columns).astype(np.int64),
            touch=_flat(touch),
            touch_start=starts(touch).astype(np.int64),
            touch_step=self._steps(members, strides, touch),
            start=np.array(begun, dtype=np.int64),
            base=np.cumsum(own) - own,
            order=np.array([*dag.order_indices, *range(n, len(kinds))], dtype=np.int64),
        )

    def _steps(
        self,
        members: Sequence[Sequence[int]],
        strides: Sequence[Sequence[int]],
        touch: Sequence[Sequence[int]],
    ) -> NDArray[np.int64]:
        """Return how far apart a variable's states are in each family that it is in; 0 in regressions."""
        step = [dict(zip(m, s, strict=True)) for m, s in zip(members, strides, strict=True)]
        plain = self._kinds != LINEAR
        return _flat([[step[i].get(v, 0) if plain[i] else 0 for i in each] for v, each in enumerate(touch)])

    def _seen(self, vector: Array | None) -> Seen:
        """Return the rows under parameters or potentials, by length; None: the rows, under nothing at all."""
        layout, (codes, reals, weights), sets = self.dag.layout, self.rows, len(self.sets)
        value = np.zeros(layout.statistics_size + len(codes) * int(self._many[self._kinds == LEAF].sum()))
        total, constant = np.zeros(len(value)), np.zeros(int(self._many[self._kinds == LINEAR].sum()))
        if vector is not None:
            self._evaluate(vector, value, total, constant)
        full = reals if reals.shape[1] else np.full(codes.shape, np.nan)
        return Seen(
            np.pad(codes, ((0, 0), (0, sets))).astype(np.int32),
            np.pad(full, ((0, 0), (0, sets))),
            weights.astype(np.float64),
            value,
            total,
            constant,
        )

    def _evaluate(self, vector: Array, value: Array, total: Array, constant: Array) -> None:
        """Write the numbers of families into their places."""
        layout, tables = self.dag.layout, vector[: self.dag.layout.tables]
        with np.errstate(divide="ignore", invalid="ignore"):
            total[: layout.tables] = np.maximum(np.log(layout.total(tables)), NEVER)[layout.group]
            value[: layout.tables] = np.maximum(np.log(layout.normalize(tables)), NEVER)
        for i in self.dag.continuous:
            if self._kinds[i] == LEAF:
                value[self._leaf(i)] = self._log_leaf(i, vector).ravel()
                continue
            at = int(self._families.base[i])
            form, constant[at : at + self._many[i]] = _form(self.dag, vector, i)
            layout.moments(value[: layout.statistics_size], i)[:] = form

    def _leaf(self, i: int) -> slice:
        start = self._leaves[i]
        return slice(start, start + len(self.rows.codes) * int(self._many[i]))

    def _log_leaf(self, i: int, vector: Array) -> Array:
        """Return a leaf's log-densities; (rows, configurations)."""
        layout, family, x = self.dag.layout, dict(self.dag.leaves)[i], self.rows.reals[:, i]
        plain = len(vector) == layout.size
        potentials = family.point(layout.records(vector, i)) if plain else layout.potentials(vector, i)
        out, shown = np.zeros((len(x), layout.configurations[i])), ~np.isnan(x)
        out[shown] = np.maximum(family.log_values(x[shown], potentials), NEVER).T
        return out

    def _gathered(self, found: Array, error: Array) -> tuple[Array, Array]:
        """Return statistics and their errors in their places, those of leaves gathered; (places,) each."""
        layout = self.dag.layout
        out, noise = found[: layout.statistics_size].copy(), error[: layout.statistics_size].copy()
        for i, family in self.dag.leaves:
            x, q = np.nan_to_num(self.rows.reals[:, i]), layout.configurations[i]
            each = np.zeros((len(x), 1, layout.statistics(out, i).shape[-1]))  # what a row counts by itself
            family.gather(x[:, None, None], np.zeros((len(x), 1), dtype=np.int64), np.ones((len(x), 1)), each)
            mine, apart = found[self._leaf(i)].reshape(len(x), q), error[self._leaf(i)].reshape(len(x), q)
            layout.statistics(out, i)[:] = mine.T @ each[:, 0]
            layout.statistics(noise, i)[:] = np.sqrt((apart**2).T @ each[:, 0] ** 2)
        return out, noise

    def _workspace(self, places: int, records: int) -> Workspace:
        n, sizes = len(self._kinds), self.dag.schema.sizes
        records = max(self.effort.ways, records)

        def whole() -> NDArray[np.int64]:
            return np.full(n, -1, dtype=np.int64)

        return Workspace(
            n=n,
            code=whole(),
            island=whole(),
            alone=np.zeros(n, dtype=np.bool_),
            live=np.zeros(n, dtype=np.bool_),
            home=whole(),
            spot=whole(),
            state=whole(),
            family=whole(),
            stamp=whole(),
            place=whole(),
            block=whole(),
            digit=whole(),
            factor=whole(),
            base=whole(),
            only=whole(),
            step=np.empty(BLOCK_HOLES * n, dtype=np.int64),
            lone=np.empty(max(BLOCK, sum(sorted(sizes)[-BLOCK_HOLES:]))),
            matrix=np.empty((n, n)),
            vector=np.empty(n),
            z=np.empty(n + 1),
            at=np.empty(n + 1, dtype=np.int64),
            choice=np.empty(max(BLOCK, *sizes)),
            record=np.empty((records, n), dtype=np.int32),
            share=np.empty(records),
            end=np.empty((self.effort.chains, n), dtype=np.int32),
            weight=np.empty(self.effort.chains),
            part=np.zeros(places),
            moment=np.zeros(MOMENTS * places),
            met=np.zeros(places, dtype=np.bool_),
            hit=np.empty(places, dtype=np.int64),
            listed=np.zeros(1, dtype=np.int64),
            stream=np.empty(1, dtype=np.uint64),
        )


def _form(dag: Dag, vector: Array, i: int) -> tuple[Array, Array]:
    """Return Q and g of a regression in each configuration; (q, m + 2, m + 2) and (q,)."""
    layout = dag.layout
    if len(vector) != layout.size:
        return dag.number(i).form(layout.potentials(vector, i))
    theta = layout.records(vector, i)
    contrast = np.concatenate([-theta[:, :-1], np.ones((len(theta), 1))], axis=1) / np.sqrt(theta[:, -1:])
    return contrast[:, :, None] * contrast[:, None, :], -0.5 * (LOG_2PI + np.log(theta[:, -1]))


def _flat(lists: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.asarray(flat(lists), dtype=np.int64)
