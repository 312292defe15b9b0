"""Exact second derivatives of the log-likelihood and of the log posterior, for any discrete network.

As a function of ψ = log θ, each row's likelihood is a sum of exponentials of its counts, so that the
first derivatives of the log-likelihood are expected counts and the second ones the counts' posterior
covariance C. Everything follows from these two by the chain rule, in both bases (the page
docs/derivations/laplace.md has the steps). C comes from the E-step: where holes stand alone by matrix
products (`louis`), elsewhere by complex steps, which have no difference to cancel and so are exact to
rounding: Im E[N](θ + i·h·t) / h is C's product with the direction t, for any tiny h.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lacunary.errors import TooWideError
from lacunary.evidence.louis import find_holes, louis
from lacunary.infer.engine import Prepared
from lacunary.infer.pack import MEMORY_BUDGET, pack
from lacunary.learn.em import Basis
from lacunary.model.layout import Layout

__all__ = [
    "Curvature",
    "check_memory",
    "curvature",
    "free_places",
    "slopes_of",
    "softmax_by_probability",
]

STEP = 1e-20
"""Length of a complex step: its square is lost in rounding, its products are far from underflow."""

ROOM = 2**22
"""Complex numbers that one batch of steps may take (64 MB)."""


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


def curvature(prepared: Prepared, theta: NDArray[np.float64], *, products: bool = True) -> Curvature:
    """Return the derivatives of the log-likelihood of a table at some parameters.

    Parameters
    ----------
    prepared, theta
        The table, laid out for its graph, and one parameter vector; (size,).
    products
        Use matrix products where holes stand alone; complex steps alone give the same, more slowly.
    """
    dag, packed = prepared.dag, prepared.packed
    column = _columns(dag.layout)
    check_memory(dag.layout.free)
    if np.any(theta == 0.0):
        prepared.check_possible(theta)
    holes = find_holes(dag, packed.codes)
    simple = holes.alone & products
    counts, covariance = louis(
        dag, packed.codes[simple], packed.weights[simple], theta, holes.live[simple], column
    )
    rest = np.flatnonzero(~simple & holes.live.any(axis=1))
    if len(rest):
        part = _restricted(prepared, rest)
        steps = _complex_steps(part, theta)
        counts += part.expect(theta[None])[0][0] - part.packed.constant
        covariance += steps
    return Curvature(dag.layout, theta, packed.constant + counts, covariance)


def free_places(layout: Layout) -> NDArray[np.int64]:
    """Return the places of the free parameters: all states but the last of each distribution; (free,)."""
    kept = [
        np.arange(layout.start[i], layout.start[i] + (layout.states[i] - 1) * layout.configurations[i])
        for i in layout.blocks
    ]
    return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)


def _columns(layout: Layout) -> NDArray[np.int64]:
    """For each parameter, which free coordinate it is; −1 for the last state of a distribution."""
    column = np.full(layout.size, -1, dtype=np.int64)
    column[free_places(layout)] = np.arange(layout.free)
    return column


def slopes_of(layout: Layout, theta: NDArray[np.float64]) -> sparse.csr_array:
    """Return ∂ log θ / ∂φ of the tables; (tables, free)."""
    places, size = free_places(layout), layout.tables
    free, column = len(places), np.arange(len(places))
    same = sparse.csr_array((np.ones(free), (places, column)), shape=(size, free))
    member = sparse.csr_array((np.ones(size), (np.arange(size), layout.group)), shape=(size, layout.groups))
    share = sparse.csr_array((theta[places], (layout.group[places], column)), shape=(layout.groups, free))
    return same - member @ share


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


def _restricted(prepared: Prepared, rows: NDArray[np.int64]) -> Prepared:
    """Lay out some of the distinct rows alone; all of them are laid out already."""
    packed = prepared.packed
    if len(rows) == len(packed.codes):
        return prepared
    weights = packed.weights[rows]
    part = pack(prepared.dag, packed.codes[rows], weights)
    return Prepared(prepared.dag, part, np.arange(len(rows)), float(weights.sum()))


def _complex_steps(prepared: Prepared, theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance of the scores of all rows, a batch of columns at a time; (free, free)."""
    layout = prepared.dag.layout
    slopes = slopes_of(layout, theta)
    counted = prepared.expect(theta[None])[0][0] != prepared.packed.constant
    alive = np.zeros(layout.groups, dtype=np.bool_)
    alive[layout.group[counted]] = True  # other distributions have fixed counts, whose covariance is zero
    columns = np.flatnonzero(alive[layout.group[free_places(layout)]])
    covariance = np.zeros((layout.free, layout.free))
    batch = max(8, ROOM // layout.size)
    for first in range(0, len(columns), batch):
        some = columns[first : first + batch]
        directions = slopes[:, some].toarray().T
        counts, _ = prepared.expect(theta * (1.0 + 1j * STEP * directions))
        covariance[:, some] = slopes.T @ (counts.imag.T / STEP)
    return (covariance + covariance.T) / 2


def check_memory(free: int) -> None:
    """Refuse a Hessian of so many parameters that it does not fit into memory."""
    needed = 4.0 * 8 * free**2  # the covariance, the information, its factor, and one to spare
    if needed > MEMORY_BUDGET:
        raise TooWideError(
            f"the Hessian of {free} parameters needs about {needed / 2**30:.0f} GiB, and "
            f"{MEMORY_BUDGET / 2**30:.0f} GiB are allowed; use 'cheeseman-stutz' or 'variational', "
            "which need no Hessian"
        )
