"""Rows that are too wide for exact inference, by chains: a kind of `lacunary.infer.rows.Rows`.

Islands of holes are gone through one by one where their ways are few; else Gibbs chains draw the discrete
holes, continuous ones integrated out (`lacunary.kernels.gibbs`). Whatever comes back depends on the rows, the
vector and a seed alone: under the same vector it is the same, bit for bit, on any number of threads, and
under nearly the same vector chains draw nearly the same (common random numbers), so that EM sees a surface
that is nearly smooth. `finer` has more chains, for when what is climbed is no more than noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.errors import TooWideError
from lacunary.family.distribution import NormalMixture
from lacunary.infer.chains import Chains, Effort
from lacunary.infer.engine import Asked, Distinct, check_possible, observed_in
from lacunary.maths.drawn import with_error
from lacunary.model.dag import Dag
from lacunary.model.stats import Batch

if TYPE_CHECKING:
    from lacunary.infer.islands import Islands
    from lacunary.infer.spread import Triples
    from lacunary.infer.walker import Walker

__all__ = ["SampledRows", "prepare_sampled"]

Array = NDArray[np.float64]

DRAWS = 32
"""Completions that are drawn of each row where no single statistic is asked for."""

FIRST, ASKED, MANY = 16, 2048, 2**13
"""Sweeps of each chain for questions about a row, first and at most, and at most for all rows together."""

FINE = 0.003
"""The standard error of a posterior from which on a row is gone on with."""

DRAWN = 512
"""Chains that completions of a single row are drawn from."""

FINEST = 256
"""The most chains of each row that learning grows to."""


@dataclass(frozen=True, eq=False)
class SampledRows:
    """A graph and a table, for Gibbs chains.

    Attributes
    ----------
    dag
        The graph.
    inverse
        Which distinct row each row of the table is; (rows,).
    rows
        The distinct rows, and how often each counts.
    why
        Why exact inference does not fit.
    effort
        How hard is tried.
    shift
        What is added to the rows' log-densities, such as the Jacobian of standardised columns;
        (distinct rows,).
    weight
        Σ of the rows' weights: the sample size N.
    """

    dag: Dag
    inverse: NDArray[np.int64]
    rows: Distinct
    why: str
    effort: Effort
    shift: Array
    weight: float

    @cached_property
    def _chains(self) -> Chains:
        return Chains(self.dag, self.rows, self.effort)

    @property
    def sampled(self) -> bool:
        """Whether chains are needed; where all islands are gone through, everything is exact."""
        return self._chains.sampled

    def finer(self) -> SampledRows | None:
        """Return the same rows with four times as many chains; None where there are enough."""
        if self.effort.chains >= FINEST or not self.sampled:
            return None
        return replace(self, effort=self.effort.times(4))

    def expect(self, vectors: NDArray[Any]) -> Batch:
        """Return expected statistics and log-likelihoods, with their standard errors."""
        self._refuse_complex(vectors)
        found, weights = [self._chains.visited(vector) for vector in vectors], self.rows.weights
        counted = weights > 0  # a row that does not count may be impossible
        logs = [float(weights[counted] @ (each.log + self.shift)[counted]) for each in found]
        noise = [float(np.sqrt(weights[counted] ** 2 @ each.log_error[counted] ** 2)) for each in found]
        shape = len(found), self.dag.layout.statistics_size
        counts = np.array([each.statistics for each in found]).reshape(shape)
        if not self.sampled:
            return Batch(self.dag, counts, np.array(logs), self.weight)
        error = np.array([each.error for each in found]).reshape(shape)
        return Batch(self.dag, counts, np.array(logs), self.weight, error, np.array(noise))

    def log_evidence(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return an estimate of each row's log-density, with errors; (vectors, rows)."""
        self._refuse_complex(vectors)
        found = np.array([self.evidence(vector) for vector in vectors]).reshape(-1, 2, len(self))
        return np.asanyarray(with_error(found[:, 0], found[:, 1] if self.sampled else None))

    def evidence(self, vector: Array) -> tuple[Array, Array]:
        """Return each row's log-evidence and its standard error; (rows,) each."""
        found = self._chains.visited(vector)
        return (found.log + self.shift)[self.inverse], found.log_error[self.inverse]

    def families(self, vector: Array) -> Triples | Islands:
        """Return what gives the expected statistics of any family: those of completed rows."""
        from lacunary.infer.filled import drawn_triples
        from lacunary.infer.islands import chart

        if self.dag.continuous:
            return drawn_triples(self._chains, vector)
        codes = self._chains.drawn(vector, DRAWS)[0].reshape(-1, len(self.dag.schema))
        return chart(self.dag, codes).under(vector, np.repeat(self.rows.weights / DRAWS, DRAWS))

    def marginals(self, vector: Array, targets: Sequence[Sequence[int]]) -> list[Array]:
        """Return the posterior of sets of discrete variables in each row, with errors.

        All are zero in an impossible row.
        """
        sampled = self.sampled
        return [
            with_error(found[self.inverse], error[self.inverse] if sampled else None)
            for found, error in self.posteriors(vector, targets)
        ]

    def posteriors(self, vector: Array, targets: Sequence[Sequence[int]]) -> list[tuple[Array, Array]]:
        """Return the posterior of sets of discrete variables in each distinct row, and its standard error.

        Questions are asked once, of rows that may be few: chains are longer than for learning. How long they
        must be for an error of `FINE` is told by short ones, which are forgotten where they are not enough.
        """
        rows, first = len(self.rows.codes), replace(self._chains, effort=replace(self.effort, sweeps=FIRST))
        out = first.posteriors(vector, targets)
        sweeps = FIRST * 4.0 ** np.ceil(np.log2(np.maximum(_worst(out, rows) / FINE, 1.0)))
        sweeps = np.minimum(sweeps, max(min(ASKED, MANY // max(rows, 1)), FIRST)).astype(int)
        for many in np.unique(sweeps[sweeps > FIRST]):
            here = np.flatnonzero(sweeps == many)
            effort = replace(self.effort, sweeps=int(many), seed=self.effort.seed + 1)
            codes, reals, weights = self.rows
            some = replace(
                self._chains, rows=Distinct(codes[here], reals[here], weights[here]), effort=effort
            )
            for (found, error), (more, less) in zip(out, some.posteriors(vector, targets), strict=True):
                found[here], error[here] = more, less
        return out

    def ask(self, targets: Sequence[Sequence[int]]) -> Asked:
        """Return a question about sets of discrete variables that can be put under many vectors."""

        def posteriors(vector: Array) -> Array:
            found = self._chains.posteriors(vector, targets)
            return np.concatenate([each.reshape(len(each), -1) for each, _ in found], axis=1)

        return Asked(self.rows.weights, posteriors)

    def normals(self, vector: Array, targets: Sequence[int]) -> list[NormalMixture]:
        """Return the posterior of continuous variables in each row: a component for every draw."""
        if not targets:
            return []
        from lacunary.infer.mixed import prepare_mixed

        codes, log = self._chains.drawn(vector, DRAWS)
        many, flat = codes.shape[1], codes.reshape(-1, codes.shape[-1])
        reals = np.repeat(self.rows.reals, many, axis=0)
        known = prepare_mixed(self.dag, Table(self.dag.schema.reveal(), flat, reals))
        weights = np.where(np.isneginf(log), 0.0, 1.0 / many)[:, None] * np.ones(many)
        out, shape = [], (len(codes), many)
        for found in known.normals(vector, targets):
            best = found.weights.argmax(axis=1)[:, None]
            parts: dict[str, Any] = {
                name: np.take_along_axis(array, best, axis=1).reshape(shape)[self.inverse]
                for name, array in found.arrays.items()
            }
            out.append(replace(found, **{**parts, "weights": weights[self.inverse]}))
        return out

    def completions(self, vector: Array, draws: int) -> tuple[NDArray[np.int32], Array]:
        """Return distinct completions of the first row's states, and their shares; none of what cannot be."""
        asked = replace(self._chains, effort=replace(self.effort, chains=max(DRAWN, self.effort.chains)))
        codes, log = asked.drawn(vector, draws)
        found, counts = np.unique(codes[0], axis=0, return_counts=True)
        possible = not np.isneginf(log[0])
        return found[: len(found) * possible], counts[: len(found) * possible] / draws

    def completed(self, vector: Array, rng: np.random.Generator | None) -> tuple[NDArray[np.int32], Array]:
        """Return codes and reals with every hole filled: drawn, or without a generator likeliest."""
        from lacunary.infer.complete import filled_numbers

        codes, reals, weights = self.rows
        whole = Distinct(codes[self.inverse], reals[self.inverse], weights[self.inverse])
        if rng is None:
            drawn = self._likeliest(vector)[self.inverse]
        else:
            effort = replace(self.effort, seed=int(rng.integers(2**63)))
            drawn = Chains(self.dag, whole, effort).drawn(vector, 1)[0][:, 0]
        if not self.dag.continuous:
            return drawn, whole.reals
        return drawn, filled_numbers(self.dag, vector, drawn, whole.reals, rng)

    def _likeliest(self, vector: Array) -> NDArray[np.int32]:
        """Return the most probable of the completions that were drawn of each distinct row."""
        from lacunary.infer.rows import prepare

        codes, _ = self._chains.drawn(vector, DRAWS)
        flat, reals = codes.reshape(-1, codes.shape[-1]), np.repeat(self.rows.reals, DRAWS, axis=0)
        known = prepare(self.dag, Table(self.dag.schema.reveal(), flat, reals))
        best = known.log_evidence(vector[None])[0].reshape(len(codes), DRAWS).argmax(axis=1)
        return np.asarray(codes[np.arange(len(codes)), best])

    def weighed(self, weights: Array) -> SampledRows:
        """Return the same rows with other weights, not negative; all else is shared; (rows,)."""
        many = np.bincount(self.inverse, weights, minlength=len(self.rows.codes)).astype(np.float64)
        return replace(self, rows=self.rows._replace(weights=many), weight=float(np.sum(weights)))

    def shifted(self, units: Array) -> SampledRows:
        """Return the same rows with so much added to log-densities for every value seen; (variables,)."""
        columns = list(self.dag.continuous)
        added = ~np.isnan(self.rows.reals[:, columns]) @ units[columns] if columns else 0.0
        return replace(self, shift=_base(self.dag, self.rows) + added)

    def check_possible(self, vector: Array) -> None:
        """Raise an error that names the first row for which chains found nothing possible."""
        check_possible(self, vector)

    def __len__(self) -> int:
        return len(self.inverse)

    def shown(self, row: int) -> str:
        """Return what one row shows in words, shortened when there is much."""
        at = self.inverse[row]
        return observed_in(self.dag.schema, self.rows.codes[at], self.rows.reals[at])

    @cached_property
    def observed(self) -> Array:
        """Counts of the tables that rows show whole, which no parameter changes; (tables,)."""
        from lacunary.infer.completions import complete_statistics

        codes, reals, weights = self.rows
        out = np.zeros(self.dag.layout.statistics_size)
        for i, members in enumerate(self.dag.layout.members):
            if self.dag.layout.sizes[i]:
                shown = (codes[:, members] != HOLE).all(axis=1)
                out += complete_statistics(self.dag, codes[shown], reals[shown], weights[shown], [i])
        return out[: self.dag.layout.tables]

    @cached_property
    def open_columns(self) -> NDArray[np.bool_]:
        """Which variables, of other than one state, are a hole in some row; (variables,)."""
        sizes = np.array(self.dag.schema.sizes)
        holes = self.rows.codes == HOLE
        if self.dag.continuous:
            holes = np.where(sizes > 0, holes, np.isnan(self.rows.reals))
        return np.asarray(holes.any(axis=0) & (sizes != 1))

    def gathered(self, purpose: str) -> Distinct:
        """Return the distinct rows; they are in one place, whatever they are needed for."""
        return self.rows

    def score_covariance(self, vector: Array) -> tuple[Array, Array]:
        """Refuse: the covariance of scores is worked out exactly or not at all."""
        raise self._refusal("the covariance of scores")

    def walker(self, purpose: str, alpha: Array) -> Walker:
        """Refuse: these chains draw all holes at once, exactly."""
        raise self._refusal(purpose)

    def _refuse_complex(self, vectors: NDArray[Any]) -> None:
        if np.iscomplexobj(vectors):
            raise self._refusal("a derivative")

    def _refusal(self, what: str) -> TooWideError:
        return TooWideError(f"{what} needs exact inference, which does not fit: {self.why}")


def prepare_sampled(dag: Dag, table: Table, why: str, effort: Effort | None = None) -> SampledRows:
    """Lay out a table for chains; see `lacunary.infer.rows.prepare`."""
    distinct = table.distinct
    sizes = np.array(dag.schema.sizes)
    codes = np.where(sizes == 1, 0, table.codes[distinct.first]).astype(np.int32)
    rows = Distinct(codes, table.reals[distinct.first], distinct.weights)
    return SampledRows(dag, distinct.inverse, rows, why, effort or Effort(), _base(dag, rows), table.size)


def _worst(found: Sequence[tuple[Array, Array]], rows: int) -> Array:
    """Return the greatest error of any posterior in each row; (rows,)."""
    worst = np.zeros(rows)
    for _, error in found:
        np.maximum(worst, error.reshape(rows, -1).max(axis=1, initial=0.0), out=worst)
    return worst


def _base(dag: Dag, rows: Distinct) -> Array:
    """Return what rows' log-densities have whatever the parameters; (rows,)."""
    zero = np.zeros(len(rows.codes))
    return np.asarray(sum((family.log_base(rows.reals[:, i]) for i, family in dag.leaves), zero))
