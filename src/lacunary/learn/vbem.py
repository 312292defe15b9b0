"""Variational Bayesian EM: the update of the parameters' posterior, and the bound it raises (BG03).

The posterior over holes x and parameters θ is approximated by q(x) q(θ). Given q(θ), a Dirichlet with
hyperparameters α̂ for each distribution, the best q(x) is the posterior of a network with the
unnormalised potentials exp E[log θ_ijk] = exp(ψ(α̂_ijk) − ψ(α̂_ij)); given q(x), the best q(θ) has
α̂ = α + E[N]. The bound, after the first of these two steps, is

    F = Σ over rows of log Z(row) − KL(q(θ) ‖ p(θ)),

where Z sums the potentials over the holes. It never falls, and never exceeds log p(observed cells).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, gammaln

from lacunary.infer.belief import Belief
from lacunary.infer.engine import Prepared
from lacunary.learn.em import known_parameters
from lacunary.model.dag import Dag

__all__ = ["Update", "update_rule"]


@dataclass(frozen=True, eq=False)
class Update:
    """The variational step. Points are hyperparameters α̂ of the approximate posterior.

    Attributes
    ----------
    dag
        The graph.
    alpha
        Hyperparameters of the prior; (size,).
    known
        Parameters that are given and not learned, NaN elsewhere; (size,).
    """

    dag: Dag
    alpha: NDArray[np.float64]
    known: NDArray[np.float64]

    def begin(self, prepared: Prepared, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the posteriors that follow from the responsibilities at these parameters; (starts, size)."""
        counts, _ = prepared.expect(np.where(np.isnan(self.known), theta, self.known))
        return self.improve(counts)

    def potentials(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return exp E[log θ], which sums to less than one; (starts, size)."""
        return np.where(np.isnan(self.known), np.exp(self._expected_log(points)), self.known)

    def objective(
        self, points: NDArray[np.float64], log_likelihood: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the bound F for each start, with every constant; (starts,)."""
        return np.asarray(log_likelihood - self.divergence(points))

    def divergence(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return KL(q(θ) ‖ p(θ)), summed over all distributions that are learned; (starts,)."""
        free = np.isnan(self.known)
        layout = self.dag.layout
        learned = np.unique(layout.group[free])
        totals = gammaln(layout.total(points)) - gammaln(layout.total(self.alpha))
        cells = gammaln(self.alpha) - gammaln(points) + (points - self.alpha) * self._expected_log(points)
        return np.asarray(totals[..., learned].sum(axis=-1) + cells[..., free].sum(axis=-1))

    def improve(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return α + E[N]; (starts, size)."""
        return self.alpha + counts

    def settle(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest hyperparameters: no posterior is worth less than its prior."""
        return np.maximum(points, self.alpha)

    def parameters(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return E[θ]; (starts, size)."""
        return np.where(np.isnan(self.known), self.dag.layout.normalize(points), self.known)

    def _expected_log(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        totals = digamma(self.dag.layout.total(points))
        return np.asarray(digamma(points) - totals[..., self.dag.layout.group])


def update_rule(belief: Belief, fixed: Mapping[str, ArrayLike] | None) -> Update:
    """Return the step for this prior belief; families in ``fixed`` are known and have no posterior."""
    return Update(belief.dag, belief.alpha, known_parameters(belief.dag, fixed))
