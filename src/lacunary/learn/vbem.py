"""Variational Bayesian EM: the update of the parameters' posterior, and the bound it raises (BG03).

The posterior over holes x and parameters θ is approximated by q(x) q(θ). Given q(θ), a Dirichlet with
hyperparameters α̂ for each distribution, the best q(x) is the posterior of a network with the
unnormalised potentials exp E[log θ_ijk] = exp(ψ(α̂_ijk) − ψ(α̂_ij)); given q(x), the best q(θ) has
α̂ = α + E[N]. The bound, after the first of these two steps, is

    F = Σ over rows of log Z(row) − KL(q(θ) ‖ p(θ)),

where Z sums the potentials over the holes. It never falls, and never exceeds log p(observed cells).

A regression's q is of its prior's kind, with pseudo-moments T + E[Σ z zᵀ]; its potential is the quadratic
form E[vvᵀ/σ²] with the constant −½ E[log 2πσ²] (`lacunary.maths.regression.expected_form`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief
from lacunary.infer.rows import Rows
from lacunary.learn.coordinates import logs, moment_coordinates, moments_at
from lacunary.learn.em import known_parameters, learned_regressions
from lacunary.maths import regression, special
from lacunary.model.dag import Dag

__all__ = ["Update", "update_rule"]


@dataclass(frozen=True, eq=False)
class Update:
    """The variational step. Points are hyperparameters α̂ of the approximate posterior.

    Attributes
    ----------
    belief
        The prior.
    known
        Parameters that are given and not learned, NaN elsewhere; (size,).
    """

    belief: Belief
    known: NDArray[np.float64]

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.belief.dag

    @property
    def alpha(self) -> NDArray[np.float64]:
        """Hyperparameters of the prior; (statistics size,)."""
        return self.belief.alpha

    @cached_property
    def _known_tables(self) -> NDArray[np.float64]:
        return self.known[: self.dag.layout.tables]

    def begin(self, prepared: Rows, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the posteriors that follow from the responsibilities at these parameters; (starts, size)."""
        counts = prepared.expect(np.where(np.isnan(self.known), theta, self.known)).counts
        return self.improve(counts)

    def potentials(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return exp E[log θ], which sums to less than one, and forms; (starts, potentials size)."""
        known, layout = self._known_tables, self.dag.layout
        tables = np.where(np.isnan(known), np.exp(self._expected_log(points)), known)
        if not layout.regressions:
            return tables
        out = np.empty((*points.shape[:-1], layout.potentials_size))
        out[..., : layout.tables] = tables
        learned = learned_regressions(self.dag, self.known)
        for i in layout.regressions:
            form, constant = layout.forms(out, i)
            if i in learned:
                form[:], constant[:] = regression.expected_form(
                    layout.moments(points, i), self._dof(points, i)
                )
            else:
                form[:], constant[:] = regression.point_form(layout.records(self.known, i))
        return out

    def objective(
        self, points: NDArray[np.float64], log_likelihood: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the bound F for each start, with every constant; (starts,)."""
        return np.asarray(log_likelihood - self.divergence(points))

    def divergence(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return KL(q(θ) ‖ p(θ)), summed over all distributions that are learned; (starts,)."""
        layout, free = self.dag.layout, np.isnan(self._known_tables)
        learned = np.unique(layout.group[free])
        alpha, tables = self.alpha[: layout.tables], points[..., : layout.tables]
        gained = tables - alpha
        totals = special.log_rising(layout.total(alpha), layout.total(gained))
        cells = gained * self._expected_log(points) - special.log_rising(alpha, gained)
        out = totals[..., learned].sum(axis=-1) + cells[..., free].sum(axis=-1)
        for i in learned_regressions(self.dag, self.known):
            after, before = layout.moments(points, i), layout.moments(self.alpha, i)
            apart = regression.divergence(after, self._dof(points, i), before, self.belief.dof(i))
            out = out + apart.sum(axis=-1)
        return np.asarray(out)

    def improve(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return α + E[N]; (starts, statistics size)."""
        return self.alpha + counts

    def settle(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest hyperparameters: no posterior is worth less than its prior."""
        layout = self.dag.layout
        if not layout.regressions:
            return np.maximum(points, self.alpha)
        out, tables = points.copy(), slice(layout.tables)
        out[..., tables] = np.maximum(points[..., tables], self.alpha[tables])
        for i in layout.regressions:
            count, least = layout.moments(out, i)[..., 0, 0], layout.moments(self.alpha, i)[..., 0, 0]
            count[:] = np.maximum(count, least)
        return out

    def unfold(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return free coordinates, and how much each matters; (starts, statistics size) each."""
        layout = self.dag.layout
        if not layout.regressions:
            return logs(points), points
        coordinates, weights = np.empty_like(points), points.copy()
        coordinates[..., : layout.tables] = logs(points[..., : layout.tables])
        for i in layout.regressions:
            each = moment_coordinates(layout.moments(points, i))
            layout.moments(coordinates, i)[:], layout.moments(weights, i)[:] = each
        return coordinates, weights

    def fold(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest hyperparameters with such coordinates; (starts, statistics size)."""
        layout = self.dag.layout
        if not layout.regressions:
            return self.settle(np.exp(coordinates))
        points = np.empty_like(coordinates)
        points[..., : layout.tables] = np.exp(coordinates[..., : layout.tables])
        for i in layout.regressions:
            layout.moments(points, i)[:] = moments_at(layout.moments(coordinates, i))
        return self.settle(points)

    def parameters(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return E[θ], with s/dof for a variance as in `Belief.mean`; (starts, size)."""
        layout = self.dag.layout
        out = np.empty((*points.shape[:-1], layout.size))
        out[..., : layout.tables] = layout.normalize(points[..., : layout.tables])
        for i in layout.regressions:
            moments = layout.moments(points, i)
            layout.records(out, i)[:] = regression.mean(moments, self._dof(points, i) + 2.0)
        return np.where(np.isnan(self.known), out, self.known)

    def _dof(self, points: NDArray[np.float64], i: int) -> NDArray[np.float64]:
        """Return the degrees of freedom of regressions, which rise with their counts; (starts, q)."""
        gained = self.dag.layout.moments(points, i) - self.dag.layout.moments(self.alpha, i)
        return np.asarray(self.belief.dof(i) + gained[..., 0, 0])

    def _expected_log(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return E[log θ] of the tables; (starts, tables)."""
        layout = self.dag.layout
        tables = points[..., : layout.tables]
        return np.asarray(special.digamma(tables) - special.digamma(layout.total(tables))[..., layout.group])


def update_rule(belief: Belief, fixed: Mapping[str, ArrayLike] | None) -> Update:
    """Return the step for this prior belief; families in ``fixed`` are known and have no posterior."""
    dag = belief.dag
    for i, family in [*((i, "a sigmoid") for i in dag.sigmoids), *((i, "uniform") for i in dag.uniforms)]:
        raise ParameterError(
            f"'variational' needs conjugate families, and that of {dag.names[i]} is {family}; use 'map' "
            "or 'ml'"
        )
    return Update(belief, known_parameters(belief.dag, fixed))
