"""Coordinates without borders, in which steps may be prolonged: whatever they say is admissible.

Each comes with weights: how much the model changes, to second order, when a coordinate does. Probabilities
and hyperparameters are taken by their logarithms, −∞ where they vanish.
"""

from __future__ import annotations

import numpy as np

from lacunary.maths.arrays import Array
from lacunary.maths.moments import factor

__all__ = ["logs", "moment_coordinates", "moments_at"]


def logs(points: Array) -> Array:
    """Return logarithms, −∞ of zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(points))


def moment_coordinates(moment: Array) -> tuple[Array, Array]:
    """Return T = L D Lᵀ by L below the diagonal, which is free, and log D on it; (..., k, k) each.

    L has the coefficients of each coordinate of z on those before it, whose first column is the mean; D has
    the number of rows and then sums of squares of residuals. The weights are how much N rows tell of each.
    """
    lower = factor(moment)
    pivots = np.diagonal(lower, axis1=-2, axis2=-1)
    squares, count = pivots**2, moment[..., :1, :1]
    places = np.arange(moment.shape[-1])
    coordinates = np.tril(lower / pivots[..., None, :], -1)
    coordinates[..., places, places] = 2.0 * logs(pivots)
    weights = np.tril(count * squares[..., None, :] / squares[..., :, None], -1)
    weights[..., places, places] = 0.5 * count[..., 0]
    return coordinates, weights


def moments_at(coordinates: Array) -> Array:
    """Return T = L D Lᵀ, given L below the diagonal and log D on it; (..., k, k)."""
    places = np.arange(coordinates.shape[-1])
    lower = np.tril(coordinates)
    lower[..., places, places] = 1.0
    rooted = lower * np.exp(0.5 * coordinates[..., places, places])[..., None, :]
    return np.asarray(rooted @ np.swapaxes(rooted, -1, -2))
