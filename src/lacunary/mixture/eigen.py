"""Gaussian components whose covariances share parts of their eigenvalue decompositions λ_c D_c A_c D_cᵀ.

The models EEV, VEV, EVE and VVE of Celeux & Govaert (1995), after Banfield & Raftery (1993): the *volume* λ,
the *shape* A of determinant one and the *orientation* D are equal or vary. In all other models of that family
what is shared can be said of regressions as well, see `lacunary.mixture.tied`; eigenvectors cannot, and
depend on the units of the columns, which here are those of the data.

With W_c the scatter of a component and n_c its rows, both with the prior's pseudo-rows, the M-step minimises
Σ_c n_c Σ_j log v_cj + Σ_c Σ_j (D_cᵀ W_c D_c)_jj / v_cj over variances v and rotations D.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from lacunary.errors import ParameterError
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.moments import parted
from lacunary.mixture.gaussian import Gaussians
from lacunary.mixture.sharing import Sharing
from lacunary.mixture.tied import Tied, variances
from lacunary.structure.score import Structure

__all__ = ["Eigen", "covariances"]

SWEEPS, TOLERANCE = 500, 1e-13
"""The most sweeps of rotations in one M-step, and the part of the objective that the last must gain."""


class Eigen(Tied):
    """The engine of Gaussian components that share volume, shape or orientation of their covariances."""

    def maximize(self, statistics: Array, structures: Sequence[Structure]) -> Gaussians:
        """Return the components at the mode of the posterior among those that share what is shared."""
        n = len(self.schema)
        if any(structure != tuple(tuple(range(i)) for i in range(n)) for structure in structures):
            raise ParameterError("eigenvectors are shared by components with all arcs: structure='complete'")
        rows = statistics[:, 0, 0] + self.belief.alpha - self.belief.size
        _, mean, scatter = parted(statistics + self.belief.moments)
        units = self.scale.spread[:, None] * self.scale.spread
        found = covariances(scatter * units, rows, self.sharing) / units
        lower = np.linalg.inv(np.linalg.cholesky(found))
        root = np.concatenate([-np.einsum("cij,cj->ci", lower, mean)[:, :, None], np.tril(lower)], axis=2)
        return Gaussians(tuple(structures), root)


def covariances(scatter: Array, rows: Array, sharing: Sharing) -> Array:
    """Return the best covariances given scatters W_c and rows n_c; (components, n, n)."""
    values, vectors = np.linalg.eigh(scatter)  # ascending, in every component alike
    if not sharing.orientation:
        found = variances(np.maximum(values, np.finfo(np.float64).tiny), rows, sharing)
    else:
        common = np.linalg.eigh((scatter / rows[:, None, None]).sum(axis=0))[1]
        found, turned = _rotated(scatter, rows, sharing, np.concatenate([common[None], vectors]))
        vectors = np.broadcast_to(turned, vectors.shape)
    return np.asarray(np.einsum("cij,cj,ckj->cik", vectors, found, vectors))


def _rotated(scatter: Array, rows: Array, sharing: Sharing, begin: Array) -> tuple[Array, Array]:
    """Return variances and the common eigenvectors, the best that rotations lead to from several starts.

    Given variances, turning two columns of D by an angle t makes the objective P cos 2t + Q sin 2t, whose
    minimum is known, disjoint pairs turn at once. Rotations and variances take turns, so that none loses.
    """
    turn = begin.copy()
    within = np.einsum("sji,cjk,skl->scil", turn, scatter, turn, optimize=True)
    before = np.full(len(turn), np.inf)
    for _ in range(SWEEPS):
        found = _all_variances(within, rows, sharing)
        value = (rows[:, None] * np.log(found)).sum(axis=(1, 2))
        if np.all(before - value <= TOLERANCE * np.abs(value)):
            break
        before = value
        for pairs in _rounds(scatter.shape[1]):
            _turn(turn, within, found, *pairs)
    best = int(value.argmin())
    return found[best], turn[best]


def _all_variances(within: Array, rows: Array, sharing: Sharing) -> Array:
    """Return the best variances for each start; (starts, components, n)."""
    left = np.maximum(np.diagonal(within, axis1=2, axis2=3), np.finfo(np.float64).tiny)
    alone = Sharing(volume=sharing.volume)
    return np.array([variances(each, rows, alone) for each in left])


def _turn(turn: Array, within: Array, variance: Array, p: Integers, q: Integers) -> None:
    """Turn columns p and q of every start by their best angles, in place."""
    weight = 1.0 / variance[:, :, p] - 1.0 / variance[:, :, q]
    apart = 0.5 * (within[:, :, p, p] - within[:, :, q, q])
    cosine, sine = (weight * apart).sum(axis=1), (weight * within[:, :, p, q]).sum(axis=1)
    angle = 0.5 * np.arctan2(-sine, -cosine)
    c, s = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    one, two = turn[:, :, p], turn[:, :, q]
    turn[:, :, p], turn[:, :, q] = c * one + s * two, c * two - s * one
    c, s = c[:, None], s[:, None]
    one, two = within[:, :, :, p], within[:, :, :, q]
    within[:, :, :, p], within[:, :, :, q] = c * one + s * two, c * two - s * one
    c, s = np.swapaxes(c, -1, -2), np.swapaxes(s, -1, -2)
    one, two = within[:, :, p, :], within[:, :, q, :]
    within[:, :, p, :], within[:, :, q, :] = c * one + s * two, c * two - s * one


@lru_cache(maxsize=32)
def _rounds(n: int) -> list[tuple[Integers, Integers]]:
    """Return all pairs of n columns in rounds of disjoint ones, as a tournament is drawn up."""
    order, rounds = list(range(n + n % 2)), []
    for _ in range(len(order) - 1):
        half = len(order) // 2
        pairs = [(a, b) for a, b in zip(order[:half], reversed(order[half:]), strict=True) if max(a, b) < n]
        if pairs:
            rounds.append((np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])))
        order = [order[0], order[-1], *order[1:-1]]
    return rounds
