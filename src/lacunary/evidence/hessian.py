"""Exact second derivatives of the log-likelihood and of the log posterior, for any discrete network.

As a function of ψ = log θ, each row's likelihood is a sum of exponentials of its counts, so that the
first derivatives of the log-likelihood are expected counts and the second ones the counts' posterior
covariance C. Everything follows from these two by the chain rule, in both bases (the page
docs/derivations/laplace.md has the steps). C comes from the rows (`Rows.score_covariance`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lacunary.errors import TooWideError
from lacunary.infer.covariance import free_places, slopes_of
from lacunary.infer.pack import MEMORY_BUDGET
from lacunary.infer.rows import Rows
from lacunary.learn.em import Basis
from lacunary.model.layout import Layout

__all__ = ["Curvature", "check_memory", "curvature", "softmax_by_probability"]


@dataclass(frozen=True, eq=False)
class Curvature:
    """The log-likelihood's derivatives at a point, in the free softmax coordinates φ_k = log(θ_k / θ_r).

    Attributes
    ----------
    layout, theta
        Where parameters lie, and the point; (size,).
    counts
        E[N_ijk], without those of open variables that have no observed descendant; (size,).
    covariance
        Posterior covariance of the scores Σ N_ijk ∂ log θ_ijk / ∂φ, summed over rows; (free, free).
    """

    layout: Layout
    theta: NDArray[np.float64]
    counts: NDArray[np.float64]
    covariance: NDArray[np.float64]

    @cached_property
    def slopes(self) -> sparse.csr_array:
        """∂ log θ / ∂φ = 1[same parameter] − θ_k within each distribution; (size, free)."""
        return slopes_of(self.layout, self.theta)

    def gradient(self, pseudo: NDArray[np.float64], basis: Basis = "softmax") -> NDArray[np.float64]:
        """Return the slope of g = log-likelihood + Σ pseudo · log θ along the basis' coordinates; (free,)."""
        slope = np.asarray(self.slopes.T @ (self.counts + pseudo))
        if basis == "softmax":
            return slope
        return np.asarray(softmax_by_probability(self.layout, self.theta).T @ slope)

    def softmax_information(self, pseudo: NDArray[np.float64], basis: Basis) -> NDArray[np.float64]:
        """Return A as it looks along φ, whichever basis its derivatives were taken in; (free, free).

        A is minus the Hessian of g = log-likelihood + Σ pseudo · log θ. In the softmax basis this is A
        itself; in the probability basis it is DᵀAD with D = ∂θ/∂φ, which is far better conditioned.
        """
        held = self.counts + pseudo
        if basis == "softmax":
            held = self.theta * self.layout.total(held)[self.layout.group]
        complete = self.slopes.T @ sparse.diags_array(held) @ self.slopes
        return np.asarray(complete.toarray() - self.covariance)

    def information(self, pseudo: NDArray[np.float64], basis: Basis) -> NDArray[np.float64]:
        """Return A itself, along φ or along the θ's of all states but the last; (free, free)."""
        pulled = self.softmax_information(pseudo, basis)
        if basis == "softmax":
            return pulled
        back = softmax_by_probability(self.layout, self.theta)
        return np.asarray(back.T @ pulled @ back)

    @property
    def log_stretch(self) -> float:
        """Log of the Jacobian |∂θ/∂φ|, Σ log θ over the distributions of more than one state."""
        several = np.array(self.layout.states)[self.layout.variable] > 1
        return float(np.log(self.theta[several]).sum())


def curvature(rows: Rows, theta: NDArray[np.float64]) -> Curvature:
    """Return the derivatives of the log-likelihood at one parameter vector; (size,)."""
    check_memory(rows.dag.layout.free)
    if np.any(theta == 0.0):
        rows.check_possible(theta)
    return Curvature(rows.dag.layout, theta, *rows.score_covariance(theta))


def softmax_by_probability(layout: Layout, theta: NDArray[np.float64]) -> sparse.csr_array:
    """Return ∂φ/∂θ = 1[same parameter] / θ_k + 1 / θ_r within each distribution; (free, free)."""
    places = free_places(layout)
    free, column = len(places), np.arange(len(places))
    last = np.ones(layout.groups)
    ends = np.ones(layout.tables, dtype=np.bool_)
    ends[places] = False
    last[layout.group[ends]] = theta[ends]
    member = sparse.csr_array((np.ones(free), (column, layout.group[places])), shape=(free, layout.groups))
    return (
        sparse.diags_array(1.0 / theta[places]).tocsr() + member @ sparse.diags_array(1.0 / last) @ member.T
    )


def check_memory(free: int) -> None:
    """Refuse a Hessian of so many parameters that it does not fit into memory."""
    needed = 4.0 * 8 * free**2  # the covariance, the information, its factor, and one to spare
    if needed > MEMORY_BUDGET:
        raise TooWideError(
            f"the Hessian of {free} parameters needs about {needed / 2**30:.0f} GiB, and "
            f"{MEMORY_BUDGET / 2**30:.0f} GiB are allowed; use 'cheeseman-stutz' or 'variational', "
            "which need no Hessian"
        )
