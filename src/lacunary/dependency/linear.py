"""Linear regressions with a normal prior on the slopes, whose width the evidence chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunary.maths.arrays import Array

__all__ = ["Line", "line"]

GRID = np.exp(np.linspace(np.log(1e-3), np.log(1e5), 33))
"""Noise variance over the slopes' prior variance, on standardised features: the values that are tried."""


@dataclass(frozen=True, eq=False)
class Line:
    """A regression's posterior, given the ratio of noise to slopes that the evidence prefers.

    Attributes
    ----------
    center, offset
        Means of the features and of the response; (features,) and a number.
    slope, root
        The slopes' mean; (features,), and a root of their covariance over the noise's: ``root @ root.T``.
    variance, dof
        Of the noise: mean square of what is left, and degrees of freedom.
    left_out
        What each row is predicted by all others; (rows,).
    """

    center: Array
    offset: float
    slope: Array
    root: Array
    variance: float
    dof: float
    rows: int
    left_out: Array

    def mean(self, features: Array) -> Array:
        """Return the predicted response; (rows,)."""
        return np.asarray((features - self.center) @ self.slope + self.offset)

    def drawn(self, rng: np.random.Generator) -> Line:
        """Return the regression with offset, slopes and noise drawn from their posterior."""
        variance = self.variance * self.dof / rng.chisquare(self.dof)
        spread = np.sqrt(variance)
        slope = self.slope + spread * (self.root @ rng.standard_normal(self.root.shape[1]))
        offset = self.offset + spread * rng.standard_normal() / np.sqrt(self.rows)
        return Line(self.center, offset, slope, self.root, variance, self.dof, self.rows, self.left_out)


def line(features: Array, response: Array, most: float = np.inf) -> Line:
    """Return the regression of a response on features; the ratio of noise to slopes is at most ``most``."""
    rows = len(response)
    center, offset = features.mean(axis=0), float(response.mean())
    x, y = features - center, response - offset
    sizes, turned = np.linalg.eigh(x.T @ x) if x.shape[1] else (np.empty(0), np.empty((0, 0)))
    sizes = np.maximum(sizes, 0.0)
    along = turned.T @ (x.T @ y)
    ratio = min(_ratio(sizes, along, float(y @ y), rows), most)
    shrunk = 1.0 / (sizes + ratio)
    slope = turned @ (shrunk * along)
    seen = x @ turned
    lever = 1.0 / rows + (seen**2 * shrunk).sum(axis=1)
    left = y - x @ slope
    used = float((sizes * shrunk).sum()) + 1.0
    dof = max(rows - used, 1.0)
    variance = max(float(left @ left) / dof, 1e-12)
    apart = left / np.maximum(1.0 - lever, 1e-3)
    return Line(
        center, offset, slope, turned * np.sqrt(shrunk), variance, dof, rows, np.asarray(response - apart)
    )


def _ratio(sizes: Array, along: Array, square: float, rows: int) -> float:
    """Return the ratio of noise to slopes with the greatest evidence, the noise's variance integrated out."""
    shrunk = 1.0 / (sizes + GRID[:, None])
    left = np.maximum(square - (along**2 * shrunk).sum(axis=1), 1e-12 * max(square, 1e-300))
    fit: Any = -0.5 * rows * np.log(left) + 0.5 * np.log(GRID[:, None] * shrunk).sum(axis=1)
    return float(GRID[fit.argmax()])
