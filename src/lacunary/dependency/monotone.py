"""Monotone transforms of continuous columns: to standard units, or to normal scores where they are skewed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import PchipInterpolator

from lacunary.maths import special
from lacunary.maths.arrays import Array, Integers

__all__ = ["NODES", "SHARES", "Monotone", "monotone", "straight"]

STRAIGHT = 0.95
"""Squared correlation with normal scores (Shapiro & Francia) from which on a column is left as it is."""

KNOTS = 12
"""The most pieces that a curve of normal scores has: many would follow the sample's spacings."""

FEWEST = 20
"""Values that it takes to see a shape."""

NODES, SHARES = np.polynomial.hermite_e.hermegauss(9)
SHARES = SHARES / SHARES.sum()
"""Where a normal density is asked for its mean, and with what weights (Gauss and Hermite)."""


@dataclass(frozen=True, eq=False)
class Monotone:
    """A column's way to numbers of mean zero and variance one, and back.

    Attributes
    ----------
    mean, sd
        Of the column. Without knots the transform is (x − mean) / sd.
    values, scores
        Knots of a monotone curve from the column's values to normal scores, in rising order; none where the
        column is straight. Outside of them the curve goes on as a line, but nothing comes back from there.
    constant
        Whether the column has one value: whatever comes back is that one.
    """

    mean: float
    sd: float
    values: Array
    scores: Array
    constant: bool = False

    @property
    def curved(self) -> bool:
        """Whether the column goes through normal scores."""
        return self.values.size > 0

    def forward(self, x: Array) -> Array:
        """Return the transformed values."""
        if not self.curved:
            return np.asarray((x - self.mean) / self.sd)
        curve, slope = self._curve, self._slopes
        low, high = self.values[0], self.values[-1]
        inside = np.asarray(curve(np.clip(x, low, high)))
        return np.asarray(inside + slope[0] * np.minimum(x - low, 0) + slope[1] * np.maximum(x - high, 0))

    def log_slope(self, x: Array) -> Array:
        """Return log dz/dx: what a density of z gains as one of x."""
        if not self.curved:
            return np.full(np.shape(x), -np.log(self.sd))
        low, high = self.values[[0, -1]]
        inside = np.maximum(self._curve.derivative()(np.clip(x, low, high)), 1e-12)
        beyond = np.where(x < low, self._slopes[0], self._slopes[1])
        return np.asarray(np.log(np.where((x < low) | (x > high), beyond, inside)))

    def back(self, z: Array) -> Array:
        """Return the values that are transformed to these; of a curve none outside the column's range."""
        if self.constant:
            return np.full(np.shape(z), self.mean)
        if not self.curved:
            return np.asarray(self.mean + self.sd * z)
        grid = np.linspace(self.values[0], self.values[-1], 2001)
        return np.asarray(np.interp(z, self._curve(grid), grid))

    @cached_property
    def _curve(self) -> PchipInterpolator:
        return PchipInterpolator(self.values, self.scores)

    @cached_property
    def _slopes(self) -> tuple[float, float]:
        (low, high), width = self.values[[0, -1]], self.values[-1] - self.values[0]
        step = 0.02 * width
        rise = self._curve([low, low + step, high - step, high])
        return max((rise[1] - rise[0]) / step, 1e-9), max((rise[3] - rise[2]) / step, 1e-9)


def straight(x: Array) -> Monotone:
    """Return the transform of a column to mean zero and variance one by a line."""
    if not x.size:
        return Monotone(0.0, 1.0, np.empty(0), np.empty(0))
    if x.min() == x.max():
        return Monotone(float(x[0]), 1.0, np.empty(0), np.empty(0), constant=True)
    return Monotone(float(x.mean()), float(x.std()), np.empty(0), np.empty(0))


def monotone(x: Array) -> Monotone:
    """Return the transform of a column, from its observed values: a line, or a curve where it is skewed."""
    line = straight(x)
    values, counts = np.unique(x, return_counts=True)
    if x.size < FEWEST or len(values) < 4:
        return line
    rank = np.cumsum(counts) - 0.5 * counts
    score = special.ndtri(rank / x.size)
    fit = float(np.corrcoef(np.repeat(values, counts), np.repeat(score, counts))[0, 1]) ** 2
    if fit >= STRAIGHT:
        return line
    pieces = min(KNOTS, max(x.size // 10, 3))
    shares = np.linspace(0.0, 1.0, pieces + 1)
    chosen = np.unique(np.clip(np.searchsorted(rank, shares * x.size), 0, len(values) - 1))
    if len(chosen) < 3:
        return line
    return Monotone(line.mean, line.sd, values[chosen], _standard(score[chosen], score, counts))


def _standard(knots: Array, score: Array, counts: Integers) -> Array:
    """Return scores such that those of the column have mean zero and variance one: ties make them narrow."""
    mean = np.average(score, weights=counts)
    sd = np.sqrt(np.average((score - mean) ** 2, weights=counts))
    return np.asarray((knots - mean) / sd)
