"""A graph and a table to be weighed, with the work that several estimates share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lacunary.data.absent import Lean, left_behind
from lacunary.data.source import Source
from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.network import Network
from lacunary.infer.rows import Distinct, Rows
from lacunary.infer.scale import Scale
from lacunary.learn.em import Basis, known_parameters
from lacunary.learn.fit import Fit, fit
from lacunary.learn.start import Starts
from lacunary.learn.stop import Stop
from lacunary.learn.units import standardized
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["At", "Point", "Problem"]

At = Literal["map", "ml"]


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters at which an estimate is worked out, and what the E-step says there.

    Attributes
    ----------
    theta
        The parameters, for standardised columns; (size,).
    counts
        E[N_ijk] there, and E[Σ z zᵀ] for continuous variables; (statistics size,).
    log_likelihood
        log p(observed cells | θ), in nats.
    where
        What point it is, in words.
    """

    theta: Array
    counts: Array
    log_likelihood: float
    where: str


@dataclass(eq=False)
class Problem(Lean):
    """A graph, a table and a prior. Fits are made once and kept.

    Continuous columns are standardised: ``belief``, ``prepared`` and ``point`` speak of them as they are
    then, but log-likelihoods are those of the table as it was measured.

    Attributes
    ----------
    dag, table, prior
        What is weighed; the table is aligned with the graph's schema.
    basis, starts, stop, rng
        How fits are made; see `lacunary.fit`.
    given
        A fit the caller has already, used instead of making one.
    fixed
        Tables that are known and not learned, by name, in the data's units.
    """

    dag: Dag
    table: Source
    prior: Prior
    basis: Basis = "softmax"
    starts: int | Starts | None = None
    stop: Stop | None = None
    rng: int | np.random.Generator = 0
    given: Fit | None = None
    fixed: Mapping[str, ArrayLike] | None = None
    _points: dict[str, Point] = field(default_factory=dict, repr=False)
    kin: dict[Dag, Problem] = field(default_factory=dict, init=False, repr=False)
    """Problems of the same rows that share work: in a comparison, all of them."""
    memory: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    """What estimates keep for others."""

    def __getstate__(self) -> dict[str, Any]:
        # Rows stay behind, unless asked for; what they are laid out as can be worked out again.
        _ = self.scale, self.belief
        return left_behind({name: held for name, held in self.__dict__.items() if name != "prepared"})

    @cached_property
    def belief(self) -> Belief:
        """The prior belief about this graph's parameters."""
        return self.scale.believed_inside(self.prior(self.dag))

    @cached_property
    def scale(self) -> Scale:
        """How columns are standardised; discrete ones are left as they are."""
        return Scale.of(self.table, self.dag)

    @cached_property
    def held(self) -> Mapping[str, ArrayLike] | None:
        """What is fixed, as it holds for standardised columns."""
        return standardized(self.dag, self.scale, self.fixed)

    @cached_property
    def known(self) -> Array | None:
        """Parameters that are fixed, for standardised columns, NaN elsewhere; (size,). None if none are."""
        return known_parameters(self.dag, self.held) if self.fixed else None

    @cached_property
    def prepared(self) -> Rows:
        """The table, laid out for sweeping."""
        inside = self.scale.source(self.table) if self.dag.continuous else self.table
        return self.scale.prepare(self.dag, inside)

    def rows(self, purpose: str) -> Distinct:
        """Return the distinct rows, standardised, in one place, for a purpose that needs them so."""
        return self.prepared.gathered(purpose)

    @property
    def log_jacobian(self) -> float:
        """What the log-density of the observed cells gains from standardised columns to the data's units."""
        return self.scale.log_jacobian(self.table, self.dag) if self.dag.continuous else 0.0

    def network(self, at: At) -> Network:
        """Return the network at a point, in the data's units."""
        return Network(self.dag, self.scale.outward(self.dag, self.point(at).theta))

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
                fixed=self.fixed,
                stop=self.stop,
                rng=self.rng,
            )
            if found is not self.given and found.interrupted:
                raise KeyboardInterrupt  # half a climb is no peak to weigh a model by
            theta = self.scale.inward(self.dag, found.network.theta)
            (stats,) = self.prepared.expect(theta[None])
            where = f"the given fit by {found.method}" if self.given else f"{at} ({self.basis} basis)"
            where = "ml" if key == "ml" else where
            self._points[key] = Point(theta, stats.counts, stats.log_likelihood, where)
        return self._points[key]
