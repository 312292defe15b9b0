"""Discrete and continuous variables together, exactly, whatever the holes.

The discrete engine does the discrete work. To it, the continuous cells of a row are one observed child of
the discrete variables they depend on: a *stand-in*, whose state is the row and whose table holds, for every
configuration c of its parents, p(observed continuous cells | c). One sweep then gives the counts of all
tables, the log-likelihood, and, as the counts of the stand-ins, the weights of every (row, c): the
continuous statistics are moments of the rows with these weights (TMCH98 eq. 14 and 16).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import count, islice
from math import prod
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import room, said
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import TooWideError
from lacunary.family.distribution import NormalMixture
from lacunary.infer.engine import Asked, DiscreteRows, Distinct, check_possible, observed_in
from lacunary.infer.gaussian import Conditioned
from lacunary.infer.pack import pack
from lacunary.infer.posterior import Reader, marginals_of
from lacunary.infer.unit import Unit, units_of
from lacunary.kernels.lanes import LANES
from lacunary.model.dag import Dag
from lacunary.model.stats import Batch

if TYPE_CHECKING:
    from lacunary.infer.filled import FilledRows
    from lacunary.infer.spread import Triples
    from lacunary.infer.walker import Walker

__all__ = ["MixedRows", "StandIn", "prepare_mixed"]

LOWEST = -700.0
"""Where the logs in a stand-in's table end, relative to its row's largest: the smallest normal double."""

KEPT = 2**19
"""Log-densities up to which those of the last vector are kept, for who asks about it again."""


@dataclass(frozen=True, eq=False)
class StandIn:
    """What the discrete engine sees of some units: a child whose state is the row.

    ``parents`` are discrete variables that are a hole somewhere; without any, the units' rows count as
    they are and the engine is not asked.
    """

    parents: tuple[int, ...]
    sizes: tuple[int, ...]
    units: tuple[Unit, ...]

    def spread(self, unit: Unit, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a unit's (rows, its configurations) as it stands in (rows, *sizes); to be broadcast."""
        shape = [size if v in unit.open_core else 1 for v, size in zip(self.parents, self.sizes, strict=True)]
        return table.reshape(len(table), *shape)

    def summed(self, unit: Unit, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (rows, *sizes) summed down to (rows, the unit's configurations)."""
        others = tuple(k + 1 for k, v in enumerate(self.parents) if v not in unit.open_core)
        summed = weights.sum(axis=others) if others else weights
        return np.asarray(summed.reshape(len(weights), prod(summed.shape[1:])))


@dataclass(frozen=True, eq=False)
class _Seen:
    """The rows under one vector: for each stand-in its units' rows, log-densities, and the rows' largest."""

    conditioned: list[list[Conditioned]]
    log: list[NDArray[np.float64]]
    scale: list[NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class MixedRows:
    """A graph with continuous variables and a table, laid out: a kind of `lacunary.infer.rows.Rows`.

    Vectors may be parameters or potentials; their length tells which.

    Attributes
    ----------
    dag
        The graph.
    inverse
        Which distinct row each row of the table is; (rows,).
    weight
        Σ of the rows' weights: the sample size N.
    inner
        The discrete variables and the stand-ins, laid out.
    codes, reals, weights
        The distinct rows.
    stand_ins
        The continuous part.
    shift
        What is added to the rows' log-densities, such as the Jacobian of standardised columns;
        (distinct rows,).
    """

    dag: Dag
    inverse: NDArray[np.int64]
    weight: float
    inner: DiscreteRows
    codes: NDArray[np.signedinteger]
    reals: NDArray[np.float64]
    weights: NDArray[np.float64]
    stand_ins: tuple[StandIn, ...]
    shift: NDArray[np.float64]
    _filled: list[FilledRows] = field(default_factory=list, repr=False)
    _last: list[tuple[NDArray[np.float64], _Seen]] = field(default_factory=list, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": []}

    def expect(self, potentials: NDArray[Any]) -> Batch:
        """Return expected statistics, (vectors, statistics size), and log-likelihood, (vectors,).

        Complex vectors must have the same real part, as those of derivatives by complex steps have.
        """
        if np.iscomplexobj(potentials):
            from lacunary.infer.mixed_complex import complex_expect  # for derivatives alone

            return Batch(self.dag, *complex_expect(self, potentials), self.weight)
        statistics = np.zeros((len(potentials), self.dag.layout.statistics_size))
        log_likelihood = np.empty(len(potentials))
        for first in range(0, len(potentials), LANES):
            some = slice(first, first + LANES)
            self._expect_some(potentials[some], statistics[some], log_likelihood[some])
        return Batch(self.dag, statistics, log_likelihood, self.weight)

    def _expect_some(
        self,
        vectors: NDArray[np.float64],
        statistics: NDArray[np.float64],
        log_likelihood: NDArray[np.float64],
    ) -> None:
        seen = [self._see(vector) for vector in vectors]
        inner = np.array([self._inner_vector(v, s) for v, s in zip(vectors, seen, strict=True)])
        swept = self.inner.expect(inner)
        lost = self._lost(swept.counts, seen)
        if lost:
            inner = np.array([self._inner_vector(v, s) for v, s in zip(vectors, lost, strict=True)])
            swept = self.inner.expect(inner)
            seen = lost
        tables, counts, log = self.dag.layout.tables, swept.counts, swept.log_likelihood
        statistics[:, :tables] = counts[:, :tables]
        for k, view in enumerate(seen):
            taken = np.sum(view.scale, axis=0) + self.shift
            # A row that does not count may be impossible.
            log_likelihood[k] = log[k] + float(self.weights @ np.where(self.weights > 0, taken, 0.0))
            for stand_in, conditioned, weights in zip(
                self.stand_ins, view.conditioned, self._weights(counts[k]), strict=True
            ):
                for unit, rows in zip(stand_in.units, conditioned, strict=True):
                    unit.add_moments(rows.moments(stand_in.summed(unit, weights)), statistics[k])

    def log_evidence(self, potentials: NDArray[Any]) -> NDArray[Any]:
        """Return the log-density of each row's observed cells; (vectors, rows of the table)."""
        if np.iscomplexobj(potentials):
            from lacunary.infer.mixed_complex import complex_log_evidence

            return complex_log_evidence(self, potentials)
        out = np.empty((len(potentials), len(self.inverse)))
        for k, vector in enumerate(potentials):
            out[k] = self._log_evidence(vector, self.see(vector))
        return out

    def _log_evidence(self, vector: NDArray[np.float64], seen: _Seen) -> NDArray[np.float64]:
        """Return the same under one vector; (rows of the table,)."""
        rows = self.inner.log_evidence(self._inner_vector(vector, seen)[None])[0]
        return np.asarray(rows + (np.sum(seen.scale, axis=0) + self.shift)[self.inverse])

    def weighed(self, weights: NDArray[np.float64]) -> MixedRows:
        """Return the same table with other row weights, not negative; all else is shared; (rows,)."""
        inner = self.inner.weighed(weights)
        return replace(self, inner=inner, weights=inner.packed.weights, weight=float(np.sum(weights)))

    def finer(self) -> None:
        """Return nothing: these rows are exact."""

    def shifted(self, units: NDArray[np.float64]) -> MixedRows:
        """Return the same rows with so much added to log-densities for every value seen; (variables,)."""
        columns = list(self.dag.continuous)
        added = ~np.isnan(self.reals[:, columns]) @ units[columns]
        return replace(self, shift=_base(self.dag, self.reals) + added)

    def check_possible(self, theta: NDArray[np.float64]) -> None:
        """Raise an error that names the first row to which these parameters give probability zero."""
        check_possible(self, theta)

    def __len__(self) -> int:
        return len(self.inverse)

    def shown(self, row: int) -> str:
        """Return what one row shows in words, shortened when there is much."""
        at = self.inverse[row]
        return observed_in(self.dag.schema, self.codes[at], self.reals[at])

    @property
    def observed(self) -> NDArray[np.float64]:
        """Counts of the tables that rows show whole, which no parameter changes; (tables,)."""
        return self.inner.observed[: self.dag.layout.tables]

    @cached_property
    def open_columns(self) -> NDArray[np.bool_]:
        """Which variables, of other than one state, are a hole in some row; (variables,)."""
        sizes = np.array(self.dag.schema.sizes)
        holes = np.where(sizes > 0, self.codes == HOLE, np.isnan(self.reals))
        return np.asarray(holes.any(axis=0) & (sizes != 1))

    def gathered(self, purpose: str) -> Distinct:
        """Return the distinct rows; they are in one place, whatever they are needed for."""
        return Distinct(self.codes, self.reals, self.weights)

    def marginals(
        self, vector: NDArray[np.float64], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float64]]:
        """Return the posterior of sets of discrete variables in each row; all zero in an impossible row."""
        seen = self.see(vector)
        inner, codes = self._inner_vector(vector, seen), self.inner.packed.codes
        found = marginals_of(self.inner.dag, inner, codes, [self._places(target) for target in targets])
        apart = np.isneginf(np.sum(seen.scale, axis=0))  # by numbers that no open state is told of
        return [np.where(_column(apart, posterior), 0.0, posterior)[self.inverse] for posterior in found]

    def ask(self, targets: Sequence[Sequence[int]]) -> Asked:
        """Return a question about sets of discrete variables that can be put under many vectors."""
        reader = Reader.of(
            self.inner.dag, self.inner.packed.codes, [self._places(target) for target in targets]
        )
        return Asked(self.weights, lambda vector: reader.posteriors(self.discrete(vector)[1]))

    def normals(self, vector: NDArray[np.float64], targets: Sequence[int]) -> list[NormalMixture]:
        """Return the posterior of continuous variables in each row; weights of zero in an impossible row."""
        if not targets:
            return []
        seen = self.see(vector)
        inner, rows = self._inner_vector(vector, seen), self.inner.packed.codes
        found: dict[int, NormalMixture] = {}
        for unit in (unit for stand_in in self.stand_ins for unit in stand_in.units):
            mine = [v for v in targets if v in unit.families]
            if not mine:
                continue
            weights = np.ones((len(rows), 1))
            if unit.open_core:
                core = self._places(unit.open_core)
                weights = marginals_of(self.inner.dag, inner, rows, [core])[0]
                weights = weights.reshape(len(rows), prod(weights.shape[1:]))
            found |= self.mixtures(unit, vector, mine, weights)
        possible = self._log_evidence(vector, seen)[:, None] > -np.inf
        return [replace(found[v], weights=np.where(possible, found[v].weights, 0.0)) for v in targets]

    def _places(self, variables: Sequence[int]) -> list[int]:
        """Return where discrete variables stand among the discrete ones alone."""
        return [self.dag.discrete.schema.index(self.dag.names[v]) for v in variables]

    def completed(
        self, vector: NDArray[np.float64], rng: np.random.Generator | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return codes and reals with every hole filled: drawn, or without a generator most probable."""
        from lacunary.infer.complete import completed_mixed

        return completed_mixed(self, vector, rng)

    def families(self, vector: NDArray[np.float64]) -> Triples:
        """Return what gives the expected statistics of any family, in the graph or not."""
        from lacunary.infer.filled import FilledRows

        if not self._filled:
            known = Table(self.dag.schema, self.codes, self.reals, self.weights)
            self._filled.append(FilledRows(known))
        return self._filled[0].triples(self.dag, vector, self.weights)

    def score_covariance(
        self, vector: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Refuse: beside regressions derivatives are taken by complex steps of `expect`."""
        raise TypeError("the covariance of scores is for graphs of tables alone")

    def walker(self, purpose: str, alpha: NDArray[np.float64]) -> Walker:
        """Refuse: chains beside regressions are walked over `gathered` rows."""
        raise TypeError("chains of tables are for graphs of tables alone")

    def discrete(
        self, vector: NDArray[np.float64]
    ) -> tuple[Dag, NDArray[np.float64], NDArray[np.signedinteger]]:
        """Return a discrete graph, parameters and rows with the same posterior of all discrete variables."""
        return self.inner.dag, self._inner_vector(vector, self.see(vector)), self.inner.packed.codes

    def see(self, vector: NDArray[np.float64]) -> _Seen:
        """Return the rows under one vector, scaled so that whatever is possible can be told from nothing."""
        seen = self._see(vector)
        if not any(stand_in.parents for stand_in in self.stand_ins):
            return seen  # no engine is asked, and nothing can be lost
        counts = self.inner.expect(self._inner_vector(vector, seen)[None]).counts
        lost = self._lost(counts, [seen])
        return lost[0] if lost else seen

    def mixtures(
        self, unit: Unit, vector: NDArray[np.float64], targets: Sequence[int], weights: NDArray[np.float64]
    ) -> dict[int, NormalMixture]:
        """Return the posterior of some of a unit's variables, configurations weighted; (rows, columns)."""
        means, sds = unit.rows.under(unit.forms(vector)).normals()
        back, found = self.inverse, {}
        for v in targets:
            column = unit.variables.index(v) + 1
            found[v] = unit.mixture(v, weights[back], means[back, :, column], sds[back, :, column])
        return found

    def log_densities(self, unit: Unit, conditioned: Conditioned) -> NDArray[np.float64]:
        """Return the log-density of what a unit's rows show in each configuration; (rows, columns)."""
        return conditioned.log_evidence()

    def _see(self, vector: NDArray[np.float64]) -> _Seen:
        """Return the rows under one vector; weights have no part in it, and the last is kept."""
        for known, seen in self._last[:1]:
            if np.array_equal(known, vector):
                return seen
        seen = self._seen(vector)
        if sum(log.size for log in seen.log) <= KEPT:
            self._last[:] = [(vector.copy(), seen)]
        return seen

    def _seen(self, vector: NDArray[np.float64]) -> _Seen:
        conditioned, logs, scales = [], [], []
        for stand_in in self.stand_ins:
            mine = [unit.rows.under(unit.forms(vector)) for unit in stand_in.units]
            each = zip(stand_in.units, mine, strict=True)
            parts = [stand_in.spread(unit, self.log_densities(unit, rows)) for unit, rows in each]
            log = reduce(add, parts)  # the first unit's has all sizes
            conditioned.append(mine)
            logs.append(log.reshape(len(log), prod(stand_in.sizes)))
            top = logs[-1].max(axis=1)  # −∞ outside all bounds: for the engine to refuse
            scales.append(np.where(np.isneginf(top), 0.0, top) if stand_in.parents else top)
        return _Seen(conditioned, logs, scales)

    def _inner_vector(self, vector: NDArray[np.float64], seen: _Seen) -> NDArray[np.float64]:
        """Return the tables with those of the stand-ins behind them."""
        parts = [vector[: self.dag.layout.tables]]
        for log, scale in zip(self._asked(seen.log), self._asked(seen.scale), strict=True):
            potential = np.exp(np.clip(log - scale[:, None], LOWEST, 0.0))
            outside = np.isneginf(log) if self.dag.leaves else False
            parts.append(np.where(outside, 0.0, potential).ravel())
        missing = self.inner.dag.layout.size - sum(len(part) for part in parts)
        return np.concatenate([*parts, np.ones(missing)])

    def _asked(self, things: Sequence[Any]) -> Iterator[Any]:
        """Yield those that belong to stand-ins of which the engine is asked."""
        return (thing for stand_in, thing in zip(self.stand_ins, things, strict=True) if stand_in.parents)

    def _weights(self, counts: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """Yield for each stand-in the weight of every row and configuration; (rows, *sizes)."""
        at, rows = self.dag.layout.tables, len(self.codes)
        for stand_in in self.stand_ins:
            if not stand_in.parents:
                yield self.weights
                continue
            size = rows * prod(stand_in.sizes)
            yield counts[at : at + size].reshape(rows, *stand_in.sizes)
            at += size

    def _lost(self, counts: NDArray[np.float64], seen: list[_Seen]) -> list[_Seen] | None:
        """Return views with better scales if some row's likeliest configuration is impossible.

        Beside one that is far more likely, all that are possible may vanish. The scale is then taken
        over the configurations that the discrete part allows.
        """
        if not any(self._missed(c, s) for c, s in zip(counts, seen, strict=True)):
            return None
        return [self._rescaled(c, s) for c, s in zip(counts, seen, strict=True)]

    def _missed(self, counts: NDArray[np.float64], seen: _Seen) -> bool:
        for stand_in, weights, log in zip(self.stand_ins, self._weights(counts), seen.log, strict=True):
            if stand_in.parents:
                flat = weights.reshape(log.shape)
                if flat.all():
                    continue
                best = np.take_along_axis(flat, log.argmax(axis=1)[:, None], axis=1)[:, 0]
                if np.any((best == 0) & (self.weights > 0)):
                    return True
        return False

    def _rescaled(self, counts: NDArray[np.float64], seen: _Seen) -> _Seen:
        scales = []
        for weights, log, scale in zip(self._weights(counts), seen.log, seen.scale, strict=True):
            possible = np.where(weights.reshape(log.shape) > 0, log, -np.inf).max(axis=1)
            scales.append(np.where(np.isfinite(possible), possible, scale))
        return _Seen(seen.conditioned, seen.log, scales)


def prepare_mixed(dag: Dag, table: Table, *, budget: int | None = None) -> MixedRows:
    """Lay out a table for a graph with continuous variables; see `lacunary.infer.rows.prepare`."""
    distinct = table.distinct
    codes, reals = table.codes[distinct.first], table.reals[distinct.first]
    budget = room() if budget is None else budget
    stand_ins = _stand_ins(dag, units_of(dag, codes, reals, budget))
    inner, seen = _inner(dag, codes, [s for s in stand_ins if s.parents], budget)
    packed = pack(inner, seen, distinct.weights, budget=budget)
    return MixedRows(
        dag,
        distinct.inverse,
        table.size,
        inner=DiscreteRows(inner, packed, distinct.inverse, table.size),
        codes=codes,
        reals=reals,
        weights=distinct.weights,
        stand_ins=tuple(stand_ins),
        shift=_base(dag, reals),
    )


def _column(rows: NDArray[np.bool_], like: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return one truth a row, to be broadcast against (rows, …)."""
    return rows.reshape(-1, *[1] * (like.ndim - 1))


def _base(dag: Dag, reals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what rows' log-densities have whatever the parameters; (rows,)."""
    return np.asarray(sum((family.log_base(reals[:, i]) for i, family in dag.leaves), np.zeros(len(reals))))


def _stand_ins(dag: Dag, units: list[Unit]) -> list[StandIn]:
    """Give every unit a stand-in; units whose open parents are among those of another share its.

    What is multiplied before it is scaled cannot vanish in between, so few stand-ins are best.
    """
    groups: dict[tuple[int, ...], list[Unit]] = {}
    for unit in sorted(units, key=lambda unit: -len(unit.open_core)):
        wider = next((parents for parents in groups if set(unit.open_core) <= set(parents)), unit.open_core)
        # What has no open parent needs no engine, unless it would be alone in that.
        groups.setdefault(wider if unit.open_core else (), []).append(unit)
    sizes = dag.schema.sizes
    return [StandIn(ps, tuple(sizes[p] for p in ps), tuple(us)) for ps, us in groups.items()]


def _inner(
    dag: Dag, codes: NDArray[np.signedinteger], stand_ins: list[StandIn], budget: int
) -> tuple[Dag, NDArray[np.int32]]:
    """Return the discrete graph with the stand-ins as children, and the rows over its variables."""
    rows = len(codes)
    needed = float(rows) * sum(prod(s.sizes) for s in stand_ins) * 8 * 3 * LANES
    if needed > budget:
        widest = max(stand_ins, key=lambda s: prod(s.sizes))
        names = ", ".join(dag.names[v] for v in widest.parents)
        raise TooWideError(
            f"exact inference would need about {said(needed)}, more than the "
            f"{said(budget)} allowed: continuous variables depend on {names}, all of "
            "which are open. Remove arcs from them to continuous variables, observe some of them, or raise "
            "the budget."
        )
    plain = dag.discrete
    fresh = (name for k in count() if (name := f"rows {k}") not in plain.schema)
    labels = list(islice(fresh, max(len(stand_ins), 0 if plain.names else 1)))  # never no variable at all
    states = tuple(range(max(rows, 1))) if stand_ins else (0,)
    schema = Schema((*plain.schema, *(Variable(name, states) for name in labels)))
    parents = [tuple(dag.names[v] for v in s.parents) for s in stand_ins] or [()] * len(labels)
    graph = Dag(schema, (*plain.parents, *parents), plain.tied)
    where = [dag.schema.index(name) for name in plain.names]
    own = np.repeat(
        np.arange(rows)[:, None] if stand_ins else np.zeros((rows, 1), dtype=np.int64), len(labels), 1
    )
    return graph, np.concatenate([codes[:, where], own], axis=1).astype(np.int32)
