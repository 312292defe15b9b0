"""A graph and a table to be weighed, with the work that several estimates share."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.engine import Prepared, prepare
from lacunary.learn.em import Basis
from lacunary.learn.fit import Fit, fit
from lacunary.learn.start import Starts
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag

__all__ = ["At", "Point", "Problem"]

At = Literal["map", "ml"]


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters at which an estimate is worked out, and what the E-step says there.

    Attributes
    ----------
    theta
        The parameters; (size,).
    counts
        E[N_ijk] there; (size,).
    log_likelihood
        log p(observed cells | θ), in nats.
    where
        What point it is, in words.
    """

    theta: NDArray[np.float64]
    counts: NDArray[np.float64]
    log_likelihood: float
    where: str


@dataclass(eq=False)
class Problem:
    """A graph, a table and a prior. Fits are made once and kept.

    Attributes
    ----------
    dag, table, prior
        What is weighed; the table is aligned with the graph's schema.
    basis, starts, stop, rng
        How fits are made; see `lacunary.fit`.
    given
        A fit the caller has already, used instead of making one.
    """

    dag: Dag
    table: Table
    prior: Prior
    basis: Basis = "softmax"
    starts: int | Starts | None = None
    stop: Stop | None = None
    rng: int | np.random.Generator = 0
    given: Fit | None = None
    _points: dict[str, Point] = field(default_factory=dict, repr=False)

    @cached_property
    def belief(self) -> Belief:
        """The prior belief about this graph's parameters."""
        return self.prior(self.dag)

    @cached_property
    def prepared(self) -> Prepared:
        """The table, laid out for sweeping."""
        return prepare(self.dag, self.table)

    @property
    def size(self) -> float:
        """N, the sum of the rows' weights; an estimate that charges log N needs at least one row."""
        if self.table.size < 1:
            raise ParameterError(
                f"a penalty of log N needs N ≥ 1 rows, but the weights sum to {self.table.size}"
            )
        return self.table.size

    def point(self, at: At) -> Point:
        """Return the parameters of highest posterior density or likelihood, or those of the given fit."""
        if at not in ("map", "ml"):
            raise ParameterError(f"at must be 'map' or 'ml', not {at!r}")
        key = "given" if self.given else at
        if key not in self._points:
            found = self.given or fit(
                self.dag,
                self.table,
                method=at,
                prior=self.prior,
                basis=self.basis,
                starts=self.starts,
                stop=self.stop,
                rng=self.rng,
            )
            if found is not self.given and found.interrupted:
                raise KeyboardInterrupt  # half a climb is no peak to weigh a model by
            counts, log_likelihood = self.prepared.expect(found.network.theta[None])
            where = f"the given fit by {found.method}" if self.given else f"{at} ({self.basis} basis)"
            where = "ml" if key == "ml" else where
            self._points[key] = Point(found.network.theta, counts[0], float(log_likelihood[0]), where)
        return self._points[key]
