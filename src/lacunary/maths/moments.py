"""Moment matrices Σ w z zᵀ of z = (1, x): all that a Gaussian belief needs to know of complete rows.

Rows, weighted rows, expected rows and pseudo-rows of a prior all live in this one space, and there
they add. The leading entry is the number of rows. A moment matrix is only as exact as its origin is
close to the data: with means a million standard deviations away, twelve digits of every variance
are gone before anything here is called. Take moments of columns that are centred, best of all
standardised ones, and move the result (``move``) if the data's own units are wanted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lacunary.maths.arrays import Array

__all__ = ["are_moments", "factor", "joined", "moments", "move", "part_of", "parted"]


BLOCK = 2048
"""Rows that are copied at a time."""

ROUNDING = 1e-9
"""How far, as a share of its diagonal, a matrix of moments may be from one that rows can have."""


def moments(rows: ArrayLike, weights: ArrayLike | None = None, origin: ArrayLike = 0.0) -> Array:
    """Return Σ w z zᵀ with z = (1, row − origin).

    Parameters
    ----------
    rows
        Complete rows; (rows, variables).
    weights
        One for each row, or several sets of them side by side; (rows,) or (rows, sets). Default: one.
    origin
        From where the rows are measured; (variables,) or one number.

    Returns
    -------
    (variables + 1, variables + 1), or (sets, variables + 1, variables + 1).
    """
    x = np.asarray(rows, dtype=np.float64)
    root: Array = np.ones(len(x)) if weights is None else np.sqrt(np.asarray(weights, dtype=np.float64))
    if root.ndim == 1:
        return _moments(x, root, origin)
    return np.stack([_moments(x, one, origin) for one in root.T])


def _moments(x: Array, root: Array, origin: ArrayLike) -> Array:
    """Return Σ w z zᵀ, given √w; in blocks, which is quicker than to make a table of all z."""
    size = x.shape[1] + 1
    total, room = np.zeros((size, size)), np.empty((min(BLOCK, len(x)), size))
    for first in range(0, len(x), BLOCK):
        z = room[: min(BLOCK, len(x) - first)]
        here = slice(first, first + len(z))
        np.subtract(x[here], origin, out=z[:, 1:])
        z[:, 0] = 1.0
        z *= root[here, None]
        total += z.T @ z  # of which BLAS computes one half: it is symmetric to the last bit
    return total


def parted(moment: Array) -> tuple[Array, Array, Array]:
    """Return number of rows N, mean and scatter Σ w (x − mean)(x − mean)ᵀ; (...,), (..., n), (..., n, n).

    The mean of no rows is taken as zero.
    """
    count = moment[..., 0, 0]
    total = moment[..., 1:, 0]
    mean = total / np.where(count > 0, count, 1.0)[..., None]
    return count, mean, moment[..., 1:, 1:] - mean[..., :, None] * total[..., None, :]


def joined(count: ArrayLike, mean: ArrayLike, scatter: ArrayLike) -> Array:
    """Return the moment matrix [[N, N meanᵀ], [N mean, scatter + N mean meanᵀ]]; (..., n + 1, n + 1)."""
    count, mean = np.asarray(count, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    scatter = np.asarray(scatter, dtype=np.float64)
    total = count[..., None] * mean
    inner = scatter + total[..., :, None] * mean[..., None, :]
    top = np.concatenate([count[..., None], total], axis=-1)
    return np.concatenate([top[..., None, :], np.concatenate([total[..., :, None], inner], axis=-1)], axis=-2)


def part_of(moment: Array, variables: ArrayLike) -> Array:
    """Return the moments of (1, these variables), which are counted from zero; (..., k + 1, k + 1)."""
    index = np.concatenate([[0], np.asarray(variables, dtype=np.int64) + 1])
    return np.asarray(moment[..., index[:, None], index])


def move(moment: Array, origin: ArrayLike, scale: ArrayLike = 1.0) -> Array:
    """Return the moments of origin + scale · x, given those of x; the shapes are those of ``moment``."""
    size = moment.shape[-1] - 1
    change = np.zeros((size + 1, size + 1))
    change[0, 0] = 1.0
    change[1:, 0] = origin
    change[np.arange(1, size + 1), np.arange(1, size + 1)] = scale
    return np.asarray(change @ moment @ change.T)


def are_moments(moment: Array) -> bool:
    """Tell whether matrices are symmetric and positive semi-definite, both to rounding; (..., k, k)."""
    diagonal = np.diagonal(moment, axis1=-2, axis2=-1)
    if np.any(diagonal < 0):
        return False
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    # One after the other: a product of two roots may be larger than any number.
    scaled = moment / root[..., :, None] / root[..., None, :]
    if not np.allclose(scaled, np.swapaxes(scaled, -1, -2), rtol=0, atol=ROUNDING):
        return False
    try:
        np.linalg.cholesky(scaled + ROUNDING * moment.shape[-1] * np.eye(moment.shape[-1]))
    except np.linalg.LinAlgError:
        return False
    return True


def factor(moment: Array) -> Array:
    """Return the lower Cholesky factor of positive semi-definite matrices; (..., k, k).

    A squared pivot is what the coordinates before leave unexplained of a coordinate. Where that is no
    more than rounding, k · ε of the diagonal, the coordinate is taken as redundant: the pivot is set to
    that floor and nothing is regressed on it, so that its coefficient is zero rather than noise over noise.
    """
    size = moment.shape[-1]
    diagonal = np.diagonal(moment, axis1=-2, axis2=-1)
    floor = np.maximum(size * np.finfo(np.float64).eps * diagonal, np.finfo(np.float64).tiny)
    try:
        lower = np.asarray(np.linalg.cholesky(moment), dtype=np.float64)
    except np.linalg.LinAlgError:
        return _careful(moment, floor)
    pivots = np.diagonal(lower, axis1=-2, axis2=-1) ** 2
    return lower if np.all(pivots > floor) else _careful(moment, floor)


def _careful(moment: Array, floor: Array) -> Array:
    """Return the Cholesky factor column by column, redundant coordinates left out; (..., k, k)."""
    lower = np.zeros_like(moment)
    for i in range(moment.shape[-1]):
        left = moment[..., i:, i] - np.einsum("...jk,...k->...j", lower[..., i:, :i], lower[..., i, :i])
        sound = ~(left[..., 0] <= floor[..., i])  # what is not a number stays so
        pivot = np.sqrt(np.where(sound, left[..., 0], floor[..., i]))
        lower[..., i:, i] = np.where(sound[..., None], left / pivot[..., None], 0.0)
        lower[..., i, i] = pivot
    return lower
