"""Exact second derivatives of the log-likelihood and of the log posterior.

Coordinates are (φ, η): φ_k = log(θ_k / θ_r) for tables, and for each other family those η of its MAP estimate
(`NumericFamily.slope`). The slopes of the log-likelihood are those of complete rows at expected statistics
(Fisher's identity), and its second derivatives those of complete rows less C, the posterior covariance of the
scores. Everything follows from these by the chain rule, in both bases (the page docs/derivations/laplace.md
has the steps). C comes from the rows: of tables alone by matrix products (`Rows.score_covariance`), else by
complex steps of the E-step, which are exact to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from lacunary.budget import reserve
from lacunary.errors import TooWideError
from lacunary.family.numeric import NumericFamily
from lacunary.infer.belief import Belief
from lacunary.infer.covariance import ROOM, STEP, free_places, slopes_of
from lacunary.infer.rows import Rows
from lacunary.learn.em import Basis
from lacunary.maths.arrays import Array, Integers
from lacunary.model.dag import Dag
from lacunary.model.layout import Layout

__all__ = ["Curvature", "curvature", "moved"]


@dataclass(frozen=True, eq=False)
class Curvature:
    """The derivatives at a point of g = log-likelihood + log prior density, free coordinates (φ, η).

    Attributes
    ----------
    dag, theta
        The graph, and the point; (size,).
    counts
        Expected statistics; of tables alone, without open variables that have no observed descendant;
        (statistics size,).
    covariance
        Posterior covariance of the scores, summed over rows; (free, free).
    belief
        The prior of families that are no tables; pseudo-counts of tables are given to the methods.
    """

    dag: Dag
    theta: Array
    counts: Array
    covariance: Array
    belief: Belief | None = None

    @property
    def layout(self) -> Layout:
        """Where parameters lie."""
        return self.dag.layout

    @cached_property
    def slopes(self) -> sparse.csr_array:
        """∂ log θ / ∂φ = 1[same parameter] − θ_k within each distribution; (tables, tables' free)."""
        return slopes_of(self.layout, self.theta)

    @cached_property
    def back(self) -> sparse.csr_array:
        """∂(φ, η)/∂(θ, η): 1[same parameter] / θ_k + 1 / θ_r within each distribution; (free, free)."""
        layout, places = self.layout, free_places(self.layout)
        last, ends = np.ones(layout.groups), np.ones(layout.tables, dtype=np.bool_)
        ends[places] = False
        last[layout.group[ends]] = self.theta[: layout.tables][ends]
        column, one = np.arange(len(places)), np.ones(len(places))
        member = sparse.csr_array((one, (column, layout.group[places])), shape=(layout.free, layout.groups))
        own = np.ones(layout.free)
        own[: len(places)] = 1.0 / self.theta[places]
        return sparse.diags_array(own).tocsr() + member @ sparse.diags_array(1.0 / last) @ member.T

    def gradient(self, pseudo: Array, basis: Basis = "softmax") -> Array:
        """Return the slope of g along the basis' coordinates, given pseudo-counts of tables; (free,)."""
        slope = _score(self.dag, self.theta, self.slopes, self._held(pseudo)[None], self.belief)[0]
        return slope if basis == "softmax" else np.asarray(self.back.T @ slope)

    def softmax_information(self, pseudo: Array, basis: Basis) -> Array:
        """Return A as it looks along (φ, η), whichever basis its derivatives were taken in; (free, free).

        A is minus the Hessian of g. In the softmax basis this is A itself; in the probability basis it is
        DᵀAD with D = ∂(θ, η)/∂(φ, η), which is far better conditioned.
        """
        layout, held = self.layout, self._held(pseudo)
        tables = held[: layout.tables]
        if basis == "softmax":
            tables = self.theta[: layout.tables] * layout.total(tables)[layout.group]
        out = -self.covariance
        size = self.slopes.shape[1]
        out[:size, :size] += (self.slopes.T @ sparse.diags_array(tables) @ self.slopes).toarray()
        for i, family in self.dag.numeric:
            theta, statistics = layout.records(self.theta, i), layout.statistics(held, i)
            bent = _complete_hessian(family, theta, statistics, _extra(self.belief, i, family))
            for j, block in enumerate(bent):
                first = size + layout.start[i] - layout.tables + j * family.parameters
                here = slice(first, first + family.parameters)
                out[here, here] -= (block + block.T) / 2
        return out

    def information(self, pseudo: Array, basis: Basis) -> Array:
        """Return A itself, along φ or along the θ's of all states but the last, and η; (free, free)."""
        pulled = self.softmax_information(pseudo, basis)
        return pulled if basis == "softmax" else np.asarray(self.back.T @ pulled @ self.back)

    def log_stretch(self, known: Array | None = None) -> float:
        """Return the log of the Jacobian |∂θ/∂φ|: Σ log θ over tables of several states, known ones apart."""
        counted = np.array(self.layout.states)[self.layout.variable] > 1
        if known is not None:
            counted &= np.isnan(known[: self.layout.tables])
        return float(np.log(self.theta[: self.layout.tables][counted]).sum())

    def _held(self, pseudo: Array) -> Array:
        """Return the statistics with the prior's, as if it were rows; (statistics size,)."""
        tables = self.layout.tables
        prior = np.zeros(len(self.counts) - tables) if self.belief is None else self.belief.alpha[tables:]
        return np.asarray(self.counts + np.concatenate([pseudo, prior]))


def curvature(rows: Rows, theta: Array, belief: Belief | None = None) -> Curvature:
    """Return the derivatives at one parameter vector, with the prior of families that are no tables."""
    _check_memory(rows.dag.layout.free)
    if rows.dag.numeric:
        counts = rows.expect(theta[None]).counts[0]
        return Curvature(rows.dag, theta, counts, _score_covariance(rows, theta), belief)
    if np.any(theta == 0.0):
        rows.check_possible(theta)
    return Curvature(rows.dag, theta, *rows.score_covariance(theta))


def _score_covariance(rows: Rows, theta: Array) -> Array:
    """Return the posterior covariance of the scores by complex steps of the E-step; (free, free)."""
    dag, layout, touched = rows.dag, rows.dag.layout, _touched(rows)
    out = np.zeros((layout.free, layout.free))
    batch = max(8, ROOM // (layout.size + 2 * layout.statistics_size))
    slopes = slopes_of(layout, theta)
    for first in range(0, len(touched), batch):
        some = touched[first : first + batch]
        steps = rows.expect(moved(dag, theta, some)).counts
        out[some] = _score(dag, theta, slopes, steps.imag / STEP, None)
    return (out + out.T) / 2


def moved(dag: Dag, theta: Array, coordinates: Integers) -> NDArray[np.complex128]:
    """Return the parameters after a tiny imaginary step along each of some coordinates; (steps, size)."""
    layout, places = dag.layout, free_places(dag.layout)
    out = np.repeat(theta.astype(np.complex128)[None], len(coordinates), axis=0)
    chosen = np.flatnonzero(coordinates < len(places))
    slope = slopes_of(layout, theta)[:, coordinates[chosen]].toarray().T
    out[chosen, : layout.tables] *= 1.0 + 1j * STEP * slope
    for k in np.flatnonzero(coordinates >= len(places)):
        place = int(coordinates[k]) - len(places) + layout.tables
        i = next(i for i in layout.numeric if layout.slice(i).start <= place < layout.slice(i).stop)
        j, which = divmod(place - layout.start[i], layout.widths[i][0])
        dag.number(i).step(layout.records(out[k], i)[j], which, 1j * STEP)
    return out


def _score(
    dag: Dag, theta: Array, slopes: sparse.csr_array, statistics: Array, belief: Belief | None
) -> Array:
    """Return the slopes of complete rows along (φ, η) for each of some statistics; (vectors, free).

    ``slopes`` are ∂ log θ / ∂φ of the tables. With a belief the statistics have the prior's in them, and what
    its density has beyond these is added.
    """
    layout = dag.layout
    parts = [(slopes.T @ statistics[:, : layout.tables].T).T]
    for i, family in dag.numeric:
        own, extra = layout.statistics(statistics, i), _extra(belief, i, family)
        record = np.broadcast_to(layout.records(theta, i), (len(own), *layout.records(theta, i).shape))
        parts.append(family.slope(record, own, extra).reshape(len(own), -1))
    return np.concatenate(parts, axis=1)


def _complete_hessian(family: NumericFamily, theta: Array, statistics: Array, extra: ArrayLike) -> Array:
    """Return the second derivatives of complete rows in each configuration, by complex steps; (q, w, w)."""
    out = np.empty((*theta.shape, family.parameters))
    for which in range(family.parameters):
        moved: NDArray[Any] = theta.astype(np.complex128)
        for record in moved:
            family.step(record, which, 1j * STEP)
        out[:, which] = family.slope(moved, statistics, extra).imag / STEP
    return out


def _extra(belief: Belief | None, i: int, family: NumericFamily) -> ArrayLike:
    """Return what the prior has beyond its hyperparameters taken for statistics."""
    return 0.0 if belief is None else family.extra(belief.hyper(i), belief.surplus)


def _touched(rows: Rows) -> Integers:
    """Return the coordinates of families that have a hole somewhere: the statistics of others are fixed."""
    dag, layout, holes = rows.dag, rows.dag.layout, rows.open_columns
    hit = np.zeros(layout.size, dtype=np.bool_)
    for i, parents in enumerate(dag.parent_indices):
        if holes[[i, *parents]].any():
            hit[layout.slice(i)] = True
    free = np.concatenate([free_places(layout), np.arange(layout.tables, layout.size)])
    return np.flatnonzero(hit[free])


def _check_memory(free: int) -> None:
    """Refuse a Hessian of so many parameters that it does not fit into memory."""
    needed = 4.0 * 8 * free**2  # the covariance, the information, its factor, and one to spare
    advice = "use 'cheeseman-stutz' or 'variational', which need no Hessian"
    reserve(needed, f"the Hessian of {free} parameters", advice, TooWideError)
