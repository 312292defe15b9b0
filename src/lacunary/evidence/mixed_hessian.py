"""Exact second derivatives of the log-likelihood and of the log posterior, for continuous and mixed networks.

Coordinates are those of `lacunary.evidence.hessian` for tables, and for each other family those η of its MAP
estimate; for a regression η = (a, B, w) = (intercept, coefficients/σ², 1/σ²). With v = (−a, −B/w, 1) and
M = Σ z zᵀ over N rows the complete log-likelihood N/2 · log w − ½ w vᵀMv has the slopes

    ∂a = w (Mv)₀,      ∂B = (Mv)_x,      ∂w = N/(2w) − ½ vᵀMv − (B/w)ᵀ(Mv)_x,

and with the expected M in its place they are those of the log-likelihood with holes (Fisher's identity). The
prior's density has the same form. Second derivatives are complex steps of these: exact to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.evidence.hessian import check_memory, softmax_by_probability
from lacunary.infer.belief import Belief
from lacunary.infer.covariance import ROOM, STEP, free_places, slopes_of
from lacunary.infer.rows import Rows
from lacunary.learn.em import Basis
from lacunary.model.dag import Dag
from lacunary.model.layout import Layout

__all__ = ["MixedCurvature", "mixed_curvature", "moved", "score"]

Array = NDArray[np.float64]
Extra = dict[int, Array | float]


@dataclass(frozen=True, eq=False)
class MixedCurvature:
    """The log-likelihood's derivatives at a point; as `Curvature`, with the prior of regressions.

    Attributes
    ----------
    belief, theta
        The prior, and the point; (size,).
    counts
        Expected statistics there; (statistics size,).
    hessian
        Second derivatives of the log-likelihood along (φ, η), φ the free softmax coordinates; (free, free).
    """

    belief: Belief
    theta: Array
    counts: Array
    hessian: Array

    @property
    def layout(self) -> Layout:
        """Where parameters lie."""
        return self.belief.dag.layout

    def _tables(self) -> int:
        return len(free_places(self.layout))

    def gradient(self, pseudo: Array, basis: Basis = "softmax") -> Array:
        """Return the slope of g = log-likelihood + log prior along the basis' coordinates; (free,)."""
        slope = self._slope(self.theta[None], self.counts, pseudo)[0]
        if basis == "probability":
            tables = self._tables()
            back = softmax_by_probability(self.layout, self.theta[: self.layout.tables])
            slope[:tables] = back.T @ slope[:tables]
        return np.asarray(slope)

    def _slope(self, theta: NDArray[Any], counts: NDArray[Any], pseudo: Array) -> NDArray[Any]:
        """Return the slopes of g along (φ, η), given expected statistics; (vectors, free)."""
        held, extra = counts + _prior(self.belief, pseudo), _extra(self.belief)
        return score(self.belief.dag, theta, np.broadcast_to(held, (len(theta), held.shape[-1])), extra)

    def softmax_information(self, pseudo: Array, basis: Basis) -> Array:
        """Return A as it looks along (φ, η), whichever basis its derivatives were taken in; (free, free)."""
        layout, tables = self.layout, self._tables()
        prior = _complete_hessian(
            self.belief.dag, self.theta, _prior(self.belief, pseudo), _extra(self.belief)
        )
        out = -(self.hessian + prior)
        if basis == "probability":
            theta = self.theta[: layout.tables]
            held = self.counts[: layout.tables] + pseudo
            left = held - theta * layout.total(held)[layout.group]
            slopes = slopes_of(layout, theta)
            out[:tables, :tables] += slopes.T @ (left[:, None] * slopes.toarray())
        return (out + out.T) / 2

    def information(self, pseudo: Array, basis: Basis) -> Array:
        """Return A itself, along φ or along the θ's of all states but the last, and η; (free, free)."""
        pulled = self.softmax_information(pseudo, basis)
        if basis == "softmax":
            return pulled
        back = np.eye(len(pulled))
        tables = self._tables()
        by = softmax_by_probability(self.layout, self.theta[: self.layout.tables])
        back[:tables, :tables] = by.toarray()
        return np.asarray(back.T @ pulled @ back)

    @property
    def log_stretch(self) -> float:
        """Log of the Jacobian |∂θ/∂φ| of the tables."""
        several = np.array(self.layout.states)[self.layout.variable] > 1
        return float(np.log(self.theta[: self.layout.tables][several]).sum())


def mixed_curvature(prepared: Rows, theta: Array, belief: Belief) -> MixedCurvature:
    """Return the derivatives of the log-likelihood of a table at some parameters; (size,)."""
    dag, layout = prepared.dag, prepared.dag.layout
    check_memory(layout.free)
    counts = prepared.expect(theta[None]).counts[0]
    hessian = _complete_hessian(dag, theta, counts, {})
    touched = _touched(prepared)
    batch = max(8, ROOM // (layout.size + 2 * layout.statistics_size))
    for first in range(0, len(touched), batch):
        some = touched[first : first + batch]
        steps = prepared.expect(moved(dag, theta, some)).counts
        real = np.broadcast_to(theta, (len(some), layout.size))
        hessian[some] += score(dag, real, steps.imag / STEP, {})
    return MixedCurvature(belief, theta, counts, (hessian + hessian.T) / 2)


def moved(dag: Dag, theta: Array, coordinates: NDArray[np.int64]) -> NDArray[np.complex128]:
    """Return the parameters after a tiny imaginary step along each of some coordinates; (steps, size)."""
    layout = dag.layout
    out = np.repeat(theta.astype(np.complex128)[None], len(coordinates), axis=0)
    places = free_places(layout)
    tables = coordinates < len(places)
    chosen = np.flatnonzero(tables)
    same = layout.group[None] == layout.group[places[coordinates[chosen]]][:, None]
    slope = np.where(same, -theta[places[coordinates[chosen]]][:, None], 0.0)
    slope[np.arange(len(chosen)), places[coordinates[chosen]]] += 1.0
    out[chosen, : layout.tables] *= 1.0 + 1j * STEP * slope
    for k in np.flatnonzero(~tables):
        place = int(coordinates[k]) - len(places) + layout.tables
        i = next(i for i in layout.numeric if layout.slice(i).start <= place < layout.slice(i).stop)
        j, which = divmod(place - layout.start[i], layout.widths[i][0])
        dag.number(i).step(layout.records(out[k], i)[j], which, 1j * STEP)
    return out


def score(dag: Dag, theta: NDArray[Any], counts: NDArray[Any], extra: Extra) -> NDArray[Any]:
    """Return the complete data's slopes along (φ, η) for these statistics; (vectors, size) → (vectors, free).

    ``extra`` is what priors have beyond their hyperparameters taken for statistics, by continuous variable.
    """
    layout = dag.layout
    places, tables = free_places(layout), layout.tables
    out = np.zeros((len(theta), layout.free), dtype=np.result_type(theta, counts))
    counted = counts[:, :tables]
    total = layout.total(np.ascontiguousarray(counted.real)) + 0j
    if np.iscomplexobj(counted):
        total += 1j * layout.total(np.ascontiguousarray(counted.imag))
    slope = counted - theta[:, :tables] * (total if np.iscomplexobj(out) else total.real)[:, layout.group]
    out[:, : len(places)] = slope[:, places]
    rest = out[:, len(places) :]
    for i, family in dag.numeric:
        record, statistics = layout.records(theta, i), layout.statistics(counts, i)
        where = slice(layout.slice(i).start - tables, layout.slice(i).stop - tables)
        rest[:, where] = family.slope(record, statistics, extra.get(i, 0.0)).reshape(len(theta), -1)
    return out


def _complete_hessian(dag: Dag, theta: Array, counts: Array, extra: Extra) -> Array:
    """Return the second derivatives for statistics that stay as they are: complex steps of `score`."""
    steps = moved(dag, theta, np.arange(dag.layout.free))
    held = np.broadcast_to(counts, (len(steps), len(counts)))
    return np.asarray(score(dag, steps, held, extra).imag / STEP)


def _prior(belief: Belief, pseudo: Array) -> Array:
    """Return pseudo-counts and pseudo-moments as if they were statistics; (statistics size,)."""
    return np.concatenate([pseudo, belief.alpha[belief.dag.layout.tables :]])


def _extra(belief: Belief) -> Extra:
    """Return what the priors have beyond their hyperparameters taken for statistics."""
    return {i: family.extra(belief.hyper(i), belief.surplus) for i, family in belief.dag.numeric}


def _touched(prepared: Rows) -> NDArray[np.int64]:
    """Return the coordinates of families that have a hole somewhere: the statistics of others are fixed."""
    dag, layout, holes = prepared.dag, prepared.dag.layout, prepared.open_columns
    hit = np.zeros(layout.size, dtype=np.bool_)
    for i, parents in enumerate(dag.parent_indices):
        if holes[[i, *parents]].any():
            hit[layout.slice(i)] = True
    free = np.concatenate([free_places(layout), np.arange(layout.tables, layout.size)])
    return np.flatnonzero(hit[free])
