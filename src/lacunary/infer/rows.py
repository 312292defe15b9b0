"""The waist: what a graph says about rows with holes, and what makes rows ready to be asked.

Everything above uses rows through this contract alone: learners, estimates, searches and mixtures do not know
whether rows lie in memory, on disk, on other machines, or are the sum of parts. Everything below is a way to
have rows. What adds over rows is a sum over parts; what does not (`gathered`, `walker`) is told for what
purpose it is asked, and a source that cannot do it refuses by that name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.data.source import Source
from lacunary.data.table import Table
from lacunary.errors import TooWideError
from lacunary.exactness import approximate, exact_only
from lacunary.infer.engine import Asked, Distinct, prepare_discrete
from lacunary.model.dag import Dag
from lacunary.model.stats import Batch

if TYPE_CHECKING:
    from lacunary.family.distribution import NormalMixture
    from lacunary.infer.sampled import SampledRows
    from lacunary.infer.walker import Walker

__all__ = ["Asked", "Distinct", "Expected", "Rows", "Sweep", "laid_by", "prepare", "sampled_instead"]

Array = NDArray[np.float64]


class Sweep(Protocol):
    """What an E-step is asked of: all rows, or some of them at a time."""

    @property
    def dag(self) -> Dag:
        """The graph."""
        ...

    @property
    def observed(self) -> Array:
        """Statistics of the families that rows show whole, which no parameter changes; (tables,)."""
        ...

    def expect(self, vectors: NDArray[Any]) -> Batch:
        """Return the E-step: expected statistics of the graph's families, and log-likelihoods.

        Where they are Monte Carlo estimates the batch has their standard errors.
        """
        ...

    def finer(self) -> Sweep | None:
        """Return the same rows with a smaller Monte Carlo error; None where it is small enough, or none."""
        ...


class Rows(Sweep, Protocol):
    """A graph and rows with holes, laid out: all that does not depend on parameters has been worked out.

    Vectors hold parameters, or potentials that need not be normalised, in the places of ``dag.layout``; they
    may be complex, for derivatives. A batch of them is (vectors, size). All that follows adds over rows or
    concerns each row by itself.
    """

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def shown(self, row: int) -> str:
        """Return the observed states of one row in words."""
        ...

    @property
    def weight(self) -> float:
        """N: Σ of the rows' weights."""
        ...

    @property
    def open_columns(self) -> NDArray[np.bool_]:
        """Which variables, of more than one state, are a hole in some row; (variables,)."""
        ...

    def finer(self) -> Rows | None:
        """Return the same rows with a smaller Monte Carlo error; None where it is small enough, or none."""
        ...

    def families(self, vector: Array) -> Expected:
        """Return what gives the expected statistics of any family, in the graph or not."""
        ...

    def log_evidence(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return the log-probability or log-density of each row's observed cells; (vectors, rows)."""
        ...

    def marginals(self, vector: Array, targets: Sequence[Sequence[int]]) -> list[Array]:
        """Return the posterior of sets of discrete variables in each row; all zero in an impossible row."""
        ...

    def ask(self, targets: Sequence[Sequence[int]]) -> Asked:
        """Return a question about sets of discrete variables that can be put under many vectors."""
        ...

    def normals(self, vector: Array, targets: Sequence[int]) -> list[NormalMixture]:
        """Return the posterior of continuous variables in each row."""
        ...

    def completed(self, vector: Array, rng: np.random.Generator | None) -> tuple[NDArray[np.int32], Array]:
        """Return codes and reals with every hole filled: drawn, or without a generator most probable."""
        ...

    def score_covariance(self, vector: Array) -> tuple[Array, Array]:
        """Return expected counts, and the posterior covariance of the scores, of a graph of tables alone.

        Counts leave out open variables that no observed cell depends on; (size,). Scores are the derivatives
        of the complete log-likelihood along the free softmax coordinates; (free, free).
        """
        ...

    def weighed(self, weights: Array) -> Rows:
        """Return the same rows with other weights, not negative; all else is shared; (rows,)."""
        ...

    def shifted(self, units: Array) -> Rows:
        """Return the same rows with so much added to log-densities for every value seen; (variables,).

        That is the Jacobian of standardised columns: densities are then those in the data's units.
        """
        ...

    def check_possible(self, vector: Array) -> None:
        """Raise an error that names the first row to which these parameters give probability zero."""
        ...

    def gathered(self, purpose: str) -> Distinct:
        """Return the distinct rows in one place; `SourceError`, naming the purpose, where they cannot be."""
        ...

    def walker(self, purpose: str, alpha: Array) -> Walker:
        """Return what walks chains over completions of the rows; `SourceError` where that cannot be."""
        ...


class Expected(Protocol):
    """What is expected of the holes under one vector, from which statistics of any family are read."""

    def statistics(self, dag: Dag) -> Array:
        """Return the statistics of all families of any graph over the same variables; (statistics size,)."""
        ...


def prepare(dag: Dag, source: Source, *, budget: int | None = None) -> Rows:
    """Lay rows out whose columns are the graph's variables; see `Table.align`.

    Where exact inference does not fit they are `lacunary.infer.sampled.SampledRows`, which is announced, or
    forbidden: `lacunary.exactness`. What a ``budget`` that is given does not allow is refused.
    """
    return laid_by(partial(_lay, budget, exact_only() or budget is not None), dag, source)


def laid_by(lay: Callable[[Dag, Table], Rows], dag: Dag, source: Source) -> Rows:
    """Lay rows out in a given way: a table as it is, any other source part by part.

    Such a source has a method ``prepare(dag, lay)``, which lays out its parts wherever they are.
    """
    if isinstance(source, Table):
        return lay(dag, source)
    rows: Rows = source.prepare(dag, lay)  # type: ignore[attr-defined]
    return rows


def _lay(budget: int | None, exact: bool, dag: Dag, table: Table) -> Rows:
    try:
        if dag.continuous:
            from lacunary.infer.mixed import prepare_mixed  # loaded where there are continuous variables

            return prepare_mixed(dag, table, budget=budget)
        return prepare_discrete(dag, table, budget=budget)
    except TooWideError as why:
        return sampled_instead(dag, table, why, exact)


def sampled_instead(dag: Dag, table: Table, why: TooWideError, exact: bool | None = None) -> SampledRows:
    """Return rows for chains where no tree fits; where they draw, say so, or raise why, if forbidden."""
    from lacunary.infer.sampled import prepare_sampled

    made = prepare_sampled(dag, table, str(why))
    if made.sampled:
        approximate("what holes hold is drawn by Gibbs chains, with a stated error", why, exact)
    return made
