"""Weighted logarithms of numbers that share a sum of one, within bounds: the M-step cut to a box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunary.maths.arrays import Array, Integers

__all__ = ["Simplices"]


HALVINGS = 20
"""Steps of bisection that find which parameters a box cuts; the bound is valid wherever they end."""


@dataclass(frozen=True, eq=False)
class Simplices:
    """Numbers in groups that sum to at most one: distributions, or events that exclude each other."""

    group: Integers

    @cached_property
    def member(self) -> Array:
        """Which number is in which group, as ones and zeros; (numbers, groups)."""
        return np.asarray(self.group[:, None] == np.arange(self.group.max(initial=-1) + 1), dtype=np.float64)

    def total(self, values: Array) -> Array:
        """Sum over each group, repeated for its members; (..., numbers)."""
        return np.asarray(values @ self.member @ self.member.T)

    def over(self, values: Array, combine: np.ufunc) -> Array:
        """Combine over each group, repeated for its members; (boxes, numbers)."""
        out = np.empty_like(values)
        for m in self.member.T > 0:
            out[:, m] = combine.reduce(values[:, m], axis=1)[:, None]
        return out

    def fill(self, counts: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Maximise Σ count · log θ within boxes; return θ and an upper bound of the maximum.

        θ = count/ν cut to the box, where ν makes a group sum to one. By duality Σ (count log θ − ν θ) + ν,
        at the θ that belongs to any ν > 0, is an upper bound.
        """
        with np.errstate(divide="ignore", over="ignore"):
            a = self.over(np.where(counts > 0, np.log(counts / high), np.inf), np.minimum)
            b = self.over(np.where(counts > 0, np.log(counts / low), -np.inf), np.maximum)
        a, b = np.where(np.isfinite(a), a, 0.0), np.where(np.isfinite(b), b, 0.0)
        for _ in range(HALVINGS):
            middle = (a + b) / 2
            heavy = self.total(np.clip(counts * np.exp(-middle), low, high)) > 1.0
            a, b = np.where(heavy, middle, a), np.where(heavy, b, middle)
        height = self._exact_height(counts, low, high, np.exp((a + b) / 2))
        height = np.where(self.total(counts) > 0, height, 0.0)  # nothing is counted: nothing is to be gained
        theta = np.clip(counts / np.where(height > 0, height, 1.0), low, high)
        parts = counts * np.log(theta) - height * theta + height / self.total(np.ones_like(theta))
        return theta, parts.sum(axis=1)

    def _exact_height(self, counts: Array, low: Array, high: Array, height: Array) -> Array:
        """Return the exact height, given which numbers are not cut."""
        plain = counts / height
        inside = (plain > low) & (plain < high)
        left = 1.0 - self.total(np.where(inside, 0.0, np.clip(plain, low, high)))
        wanted = self.total(np.where(inside, counts, 0.0))
        return np.where((left > 0) & (wanted > 0), wanted / np.where(left > 0, left, 1.0), height)
