"""Roots of covariances: A with covariance AAᵀ, which keep the digits that a covariance loses."""

from __future__ import annotations

import numpy as np

from lacunary.maths.arrays import Array

__all__ = ["triangular"]


def triangular(roots: Array) -> Array:
    """Return lower triangular L with the same LLᵀ, (parts, m, m), for roots (parts, m, n).

    No more rows than columns hold other numbers than zeros. Rows of zeros stay so, and have columns of zeros:
    what is known says nothing of how others vary.
    """
    out, varies = np.zeros((len(roots), roots.shape[1], roots.shape[1])), (roots != 0).any(axis=-1)
    for pattern in np.unique(varies, axis=0):
        parts, rows = np.flatnonzero((varies == pattern).all(axis=1)), np.flatnonzero(pattern)
        if not len(rows):
            continue
        upper = np.linalg.qr(np.swapaxes(roots[parts[:, None], rows], -1, -2), mode="r")
        signs = np.where(np.diagonal(upper, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
        lower = np.swapaxes(upper * signs[..., None], -1, -2)
        out[parts[:, None, None], rows[:, None], rows] = lower
    return out
