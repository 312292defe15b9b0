"""Expectation–maximisation: the M-step, and the objective it climbs.

One iteration replaces the parameters by those that would be best if the expected counts had been
observed: θ_ijk ∝ E[N_ijk] + c_ijk, where c are the pseudo-counts of the prior (CH96 section 3.1,
Lauritzen 1995). The objective g(θ) = log p(observed cells | θ) + log p(θ) never falls.

A regression becomes the least-squares one of its expected moments E[Σ z zᵀ], to which the prior's
pseudo-moments are added (TMCH98 section 6): the peak of the density of (intercept, coefficients / variance,
1 / variance), whatever the basis of the tables. See `lacunary.maths.regression`. A sigmoid family becomes
the logistic regression of its expected counts; see `lacunary.learn.sigmoid`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief
from lacunary.infer.network import check_family
from lacunary.infer.rows import Rows
from lacunary.kernels.normalize import normalize
from lacunary.learn.coordinates import logs, regression_coordinates, regressions_at
from lacunary.learn.sigmoid import Weights, sigmoid_places
from lacunary.maths import regression, special
from lacunary.model.dag import Dag

__all__ = ["VARIANCE_FLOOR", "Basis", "Maximize", "known_parameters", "learned_regressions", "maximize_rule"]

Basis = Literal["softmax", "probability"]

VARIANCE_FLOOR = 1e-8
"""The least variance that maximum likelihood gives a regression, in variances of its column: without it the
likelihood of a class with a single row, or of a relation without noise, has no end."""


@dataclass(frozen=True, eq=False)
class Maximize:
    """The maximum-likelihood or maximum-a-posteriori step.

    Attributes
    ----------
    dag
        The graph.
    pseudo
        Pseudo-counts c: zero for maximum likelihood, α in the softmax basis, α − 1 in the
        probability basis; (tables,).
    log_constant
        The part of log p(θ) that does not depend on θ.
    known
        Parameters that are given and not learned, NaN elsewhere; (size,).
    belief
        The prior of the regressions; none for maximum likelihood.
    weights
        The sigmoid families that are learned, if there are any.
    """

    dag: Dag
    pseudo: NDArray[np.float64]
    log_constant: float
    known: NDArray[np.float64]
    belief: Belief | None = None
    weights: Weights | None = None

    def begin(self, prepared: Rows, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points from which to climb, given starting parameters; (starts, size)."""
        settled = self.settle(theta)
        return self.weights.settle(settled) if self.weights else settled

    def parameters(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the parameters at these points: the points themselves; (starts, size)."""
        return points

    def potentials(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the sweep multiplies: the parameters themselves; (starts, size)."""
        return points

    def objective(
        self, points: NDArray[np.float64], log_likelihood: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return g(θ) for each start, with every constant; (starts,)."""
        return np.asarray(log_likelihood + self.log_prior(points))

    def log_prior(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log p(θ) in the chosen basis, zero for maximum likelihood; (starts,)."""
        out = np.full(points.shape[:-1], self.log_constant)
        counted = self._counted
        if len(counted):
            with np.errstate(divide="ignore"):
                out += np.log(points[..., counted]) @ self.pseudo[counted]
        if self.weights:
            out += self.weights.log_prior(points)
        if self.belief is None:
            return out
        for i in learned_regressions(self.dag, self.known):
            theta, moments = self.dag.layout.records(points, i), self.dag.layout.moments(self.belief.alpha, i)
            out += regression.log_density(theta, moments, self.belief.dof(i)).sum(axis=-1)
        return out

    def improve(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the best parameters for these expected counts; (starts, statistics) → (starts, size)."""
        layout = self.dag.layout
        if not layout.regressions:
            settled = self.settle(counts + self.pseudo)
            return self.weights.improve(counts, settled) if self.weights else settled
        out = np.empty((*counts.shape[:-1], layout.size))
        out[..., : layout.tables] = counts[..., : layout.tables] + self.pseudo
        for i in layout.regressions:
            layout.records(out, i)[:] = self._regression(layout.moments(counts, i), i)
        settled = self.settle(out)
        return self.weights.improve(counts, settled) if self.weights else settled

    def _regression(self, moments: NDArray[np.float64], i: int) -> NDArray[np.float64]:
        if self.belief is not None:
            count = moments[..., 0, 0]
            prior = self.dag.layout.moments(self.belief.alpha, i)
            return regression.peak(prior + moments, self.belief.dof(i) + count)
        best = regression.maximum_likelihood(moments, VARIANCE_FLOOR)
        best[..., -1] = np.where(
            moments[..., 0, 0] > 0, best[..., -1], 1.0
        )  # of nothing seen, nothing is known
        return best

    def settle(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest admissible parameters: distributions sum to one, known ones are as given."""
        layout, learned = self.dag.layout, np.empty(points.shape)
        tables, room = self._tables
        if layout.regressions or not normalize(points, tables, np.empty(room), learned):
            learned = layout.normalize(points)
        return learned if self._learns_all else np.where(np.isnan(self.known), learned, self.known)

    def unfold(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return free coordinates, and how much each matters; (starts, size) each."""
        layout, coordinates = self.dag.layout, logs(points)
        if not layout.regressions:
            return coordinates, points
        weights = points.copy()
        coordinates[..., layout.tables :], weights[..., layout.tables :] = points[..., layout.tables :], 0.0
        for i in learned_regressions(self.dag, self.known):
            each = regression_coordinates(layout.records(points, i))
            layout.records(coordinates, i)[:], layout.records(weights, i)[:] = each
        return coordinates, weights

    def fold(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the admissible parameters with such coordinates; (starts, size)."""
        layout = self.dag.layout
        if not layout.regressions:
            return self.settle(np.exp(coordinates))
        points = coordinates.copy()
        points[..., : layout.tables] = np.exp(coordinates[..., : layout.tables])
        floor = VARIANCE_FLOOR if self.belief is None else 0.0
        for i in learned_regressions(self.dag, self.known):
            layout.records(points, i)[:] = regressions_at(layout.records(coordinates, i), floor)
        return self.settle(points)

    @cached_property
    def _counted(self) -> NDArray[np.int64]:
        """Where the prior has something to say."""
        return np.flatnonzero(self.pseudo)

    @cached_property
    def _tables(self) -> tuple[NDArray[np.int64], int]:
        """Start, states and configurations of each table, and the most configurations; (tables, 3)."""
        layout = self.dag.layout
        tables = [(layout.start[i], layout.states[i], layout.configurations[i]) for i in layout.blocks]
        found = np.array(tables, dtype=np.int64).reshape(-1, 3)
        return found, int(found[:, 2].max(initial=0))

    @cached_property
    def _learns_all(self) -> bool:
        return bool(np.isnan(self.known).all())


def maximize_rule(
    belief: Belief, method: Literal["ml", "map"], basis: Basis, fixed: Mapping[str, ArrayLike] | None
) -> Maximize:
    """Return the step for this method, prior belief and basis.

    In the softmax basis the density of θ carries the Jacobian Π θ of the map from free coordinates,
    which turns the exponent α − 1 of the Dirichlet into α. The coordinates of sigmoid families are their
    weights in either basis. Families in ``fixed`` have no prior.
    """
    if basis not in ("softmax", "probability"):
        raise ParameterError(f"basis must be 'softmax' or 'probability', not {basis!r}")
    dag = belief.dag
    known = known_parameters(dag, fixed)
    weights = _weights(belief, known, method)
    if method == "ml":
        return Maximize(dag, np.zeros(dag.layout.tables), 0.0, known, weights=weights)
    alpha, free = belief.alpha[: dag.layout.tables], np.isnan(known)[: dag.layout.tables]
    if dag.sigmoids:
        free = free & ~sigmoid_places(dag)
    if basis == "probability" and np.any(alpha[free] < 1.0):
        raise ParameterError(
            "in the probability basis a Dirichlet with a hyperparameter below one peaks on the border, "
            "where the density is infinite; use basis='softmax', or a prior with every alpha at least 1"
        )
    pseudo = np.where(free, alpha - (basis == "probability"), 0.0)
    summed = dag.layout.total(alpha)[np.unique(dag.layout.group[free])]
    constant = special.sum_log_gamma(summed) - special.sum_log_gamma(alpha[free])
    return Maximize(dag, pseudo, constant, known, belief if dag.layout.regressions else None, weights)


def _weights(belief: Belief, known: NDArray[np.float64], method: str) -> Weights | None:
    """Return the sigmoid families that are learned, None if there are none."""
    dag = belief.dag
    learned = tuple(i for i in dag.sigmoids if np.isnan(known[dag.layout.start[i]]))
    return Weights(dag, learned, belief.weight_sd**-2 if method == "map" else 0.0) if learned else None


def learned_regressions(dag: Dag, known: NDArray[np.float64]) -> list[int]:
    """Return the continuous variables whose regressions are not given, one for each block."""
    return [i for i in dag.layout.regressions if np.isnan(known[dag.layout.start[i]])]


def known_parameters(dag: Dag, fixed: Mapping[str, ArrayLike] | None) -> NDArray[np.float64]:
    """Return the parameters of the families that are given, NaN for those that are learned; (size,)."""
    known = np.full(dag.layout.size, np.nan)
    for name, table in (fixed or {}).items():
        i = dag.schema.index(name)
        given, place = check_family(dag, i, table), dag.layout.slice(i)
        if not np.all(np.isnan(known[place]) | (known[place] == given)):
            raise ParameterError(f"{name} is tied to a family for which fixed gives another table")
        known[place] = given
    return known
