"""A graph and a table to be weighed, with the work that several estimates share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lacunary.data.absent import Lean, left_behind
from lacunary.data.source import Source
from lacunary.errors import NoEstimateError, ParameterError, TableError
from lacunary.evidence.bounded import runaway, unbounded
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.empirical import stated
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

__all__ = ["At", "Point", "Problem", "Tell"]

At = Literal["map", "ml"]

MOST = 1e25
"""Hyperparameter above which what rows say is lost to rounding, and samplers overflow."""

CERTAIN = 1e15
"""Rows that would have to speak before a known probability was doubted."""

Tell = Callable[[str, float | None], object]


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
    error
        The standard error of ``log_likelihood`` where it is a Monte Carlo estimate; None where it is exact.
    """

    theta: Array
    counts: Array
    log_likelihood: float
    where: str
    error: float | None = None


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
    unbounded
        A variable whose likelihood has no maximum in a model this one is compared with: none is taken then.
    tell
        Called with what is being done and how much of it is done, between 0 and 1, or None.
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
    tell: Tell | None = None
    unbounded: str | None = None
    _points: dict[str, Point] = field(default_factory=dict, repr=False)
    siblings: dict[Dag, Problem] = field(default_factory=dict, init=False, repr=False)
    """Problems of the same rows that share work: in a comparison, all of them."""

    def __post_init__(self) -> None:
        self.prior = stated(self.prior, self.table, self.scale)

    def __getstate__(self) -> dict[str, Any]:
        # Rows stay behind, unless asked for; what they are laid out as can be worked out again.
        _ = self.scale, self.belief
        return left_behind(
            {name: held for name, held in self.__dict__.items() if name not in ("prepared", "tell")}
        )

    @cached_property
    def belief(self) -> Belief:
        """The prior belief about this graph's parameters."""
        found = self.scale.believed_inside(self.prior(self.dag))
        worth = found.alpha[: self.dag.layout.tables].max(initial=0.0)
        if worth > MOST:
            raise ParameterError(
                f"a Dirichlet hyperparameter of {worth:.3g} leaves no digits for what rows say; if the table "
                "is known, give it to lac.fit as fixed=... and score that fit"
            )
        return found

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

    def with_known(self, theta: Array) -> Array:
        """Return parameters with what is fixed in its place; (..., size)."""
        return theta if self.known is None else np.where(np.isnan(self.known), theta, self.known)

    @cached_property
    def sampled_alpha(self) -> Array:
        """The hyperparameters of tables, with so many rows behind known ones that these never change.

        What is known to be impossible has one of these rows: samplers that come from where all completions
        are alike leave it gradually, and end where it is as rare as one in all of them.
        """
        alpha = np.array(self.belief.alpha)
        if self.known is not None:
            tables = self.known[: self.dag.layout.tables]
            given = np.flatnonzero(~np.isnan(tables))
            alpha[given] = np.maximum(tables[given] * CERTAIN, 1.0)
        return alpha

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

    def network(self, at: At | None) -> Network:
        """Return the network at a point, in the data's units."""
        return Network(self.dag, self.scale.outward(self.dag, self.point(at).theta))

    @property
    def size(self) -> float:
        """N, the sum of the rows' weights; an estimate that charges log N needs at least one row."""
        if self.table.size < 1:
            raise NoEstimateError(
                f"a penalty of log N needs N ≥ 1 rows, but the weights sum to {self.table.size:.3g}; use "
                "'laplace' or 'sampled'"
            )
        return self.table.size

    def check_rows(self) -> None:
        """Refuse a table in which no row counts."""
        if not self.table.size > 0:
            what = "all rows have weight zero" if len(self.table) else "there are no rows"
            raise TableError(f"{what}, so that there is nothing to weigh; what 'exact' says of that is 0")

    def point(self, at: At | None) -> Point:
        """Return the parameters of highest posterior density or likelihood.

        Of a given fit they are its own, unless the other is asked for: then they are climbed to from there.
        Without "map" or "ml" they are the fit's own, or the MAP. Where the likelihood has no maximum, the
        MAP stands for it, and says so.
        """
        if at not in ("map", "ml", None):
            raise ParameterError(f"at must be 'map' or 'ml', not {at!r}")
        given = self.given if at is None or (self.given and self.given.method == at) else None
        key = "given" if given else at or "map"
        if key not in self._points:
            self._points[key] = self._found(given, at or "map")
        return self._points[key]

    def _found(self, given: Fit | None, at: At) -> Point:
        """Return the point of a fit, or find it."""
        if given:
            return self._at(given, f"the given fit by {given.method}")
        if at == "map":
            return self._at(self._climbed("map"), f"map ({self.basis} basis)")
        variable = self.unbounded or unbounded(self)
        if variable is None:
            found = self._climbed("ml")
            variable = runaway(self.dag, found.network.theta)
        if variable is None:
            return self._at(found, "ml")
        at_map = self.point("map")
        return replace(at_map, where=f"{at_map.where}: the likelihood of {variable} has no maximum")

    def _climbed(self, at: At) -> Fit:
        return self.fitted(method=at, basis=self.basis, initial=self.given)

    def fitted(self, **how: Any) -> Fit:
        """Fit the model, from random starts unless ``initial`` is given; options are `lacunary.fit`'s."""
        starts = self.starts if how.get("initial") is None else None
        usual = {
            "prior": self.prior,
            "fixed": self.fixed,
            "starts": starts,
            "stop": self.stop,
            "rng": self.rng,
        }
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*maximum likelihood has no finite weights.*")
            found = fit(self.dag, self.table, **(usual | how))
        if found.interrupted:
            raise KeyboardInterrupt  # half a climb is no peak to weigh a model by
        return found

    def _at(self, found: Fit, where: str) -> Point:
        theta = self.scale.inward(self.dag, found.network.theta)
        (stats,) = self.prepared.expect(theta[None])
        return Point(theta, stats.counts, stats.log_likelihood, where, stats.log_error)

    def say(self, what: str, part: float | None = None) -> None:
        """Tell what is being done, and how much of it is done where that is known."""
        if self.tell is not None:
            self.tell(what, part)
