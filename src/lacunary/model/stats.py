"""Expected sufficient statistics: all that learning ever needs to know of the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.errors import ParameterError
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["Batch", "Stats"]


@dataclass(frozen=True, eq=False)
class Stats:
    """Expected counts of a network's families over some rows, and those rows' log-likelihood.

    Parts add: the statistics of two sets of rows are the sum of theirs, so rows can be split over
    chunks, threads and machines at will. They are never scaled.

    Attributes
    ----------
    dag
        The graph whose families were counted.
    counts
        E[N_ijk] and, for continuous variables, their families' statistics, in the places given by
        ``dag.layout``; (statistics size,).
    log_likelihood
        Σ over rows of weight · log p(observed cells), in nats.
    weight
        Σ over rows of weight: the sample size N.
    error, log_error
        Standard errors of ``counts`` and of ``log_likelihood`` where they are Monte Carlo estimates; None
        where they are exact.
    """

    dag: Dag
    counts: Array
    log_likelihood: float
    weight: float
    error: Array | None = None
    log_error: float | None = None

    def __repr__(self) -> str:
        return f"<Stats: {self.dag!r}, weight {self.weight:g}, log-likelihood {self.log_likelihood:.4f}>"

    @classmethod
    def zero(cls, dag: Dag) -> Stats:
        """Return the statistics of no rows at all."""
        return cls(dag, np.zeros(dag.layout.statistics_size), 0.0, 0.0)

    def __add__(self, other: Stats) -> Stats:
        if other.dag != self.dag:
            raise ParameterError("statistics of different graphs do not add")
        return Stats(
            self.dag,
            self.counts + other.counts,
            self.log_likelihood + other.log_likelihood,
            self.weight + other.weight,
            _both(self.error, other.error),
            _both(self.log_error, other.log_error),
        )

    def table(self, name: str) -> Array:
        """Return one family's expected counts: parents first, the variable last.

        For a continuous variable: its family's statistics, discrete parents first; of a regression E[Σ z zᵀ]
        with z = (1, continuous parents, variable).
        """
        i, layout = self.dag.schema.index(name), self.dag.layout
        family = self.dag.families[i]
        if self.dag.schema[name].discrete:
            return layout.table(self.counts, i)
        found = layout.moments(self.counts, i) if family.linear else layout.statistics(self.counts, i)
        return found.reshape(*family.sizes, *found.shape[1:])


@dataclass(frozen=True, eq=False)
class Batch:
    """Statistics of the same rows under several parameter vectors: what one E-step gives to many climbs.

    Attributes
    ----------
    dag, weight
        As in `Stats`.
    counts
        The statistics under each vector; (vectors, statistics size); complex at complex vectors.
    log_likelihood
        Log-likelihoods, −∞ where some row is impossible; (vectors,).
    error, log_error
        Standard errors of ``counts`` and of ``log_likelihood`` where they are Monte Carlo estimates, of the
        same shapes; None where they are exact.
    """

    dag: Dag
    counts: NDArray[Any]
    log_likelihood: NDArray[Any]
    weight: float
    error: Array | None = None
    log_error: Array | None = None

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, k: int) -> Stats:
        noise = (
            () if self.error is None or self.log_error is None else (self.error[k], float(self.log_error[k]))
        )
        return Stats(self.dag, self.counts[k], float(self.log_likelihood[k]), self.weight, *noise)

    def __iter__(self) -> Iterator[Stats]:
        return (self[k] for k in range(len(self)))

    def __add__(self, other: Batch) -> Batch:
        return Batch(
            self.dag,
            self.counts + other.counts,
            self.log_likelihood + other.log_likelihood,
            self.weight + other.weight,
            _both(self.error, other.error),
            _both(self.log_error, other.log_error),
        )


def _both(one: Any, other: Any) -> Any:
    """Return the standard error of a sum, of which either part may be exact."""
    if one is None or other is None:
        return other if one is None else one
    return np.hypot(one, other)
