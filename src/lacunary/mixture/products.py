"""Complete rows for Gaussian components, with squares and products of cells worked out once.

Without holes Σ share · z zᵀ is linear in the products z_i z_j, and so is the log-density of a component: a
step of EM is a matrix product or two.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.gaussian import Forms

__all__ = ["Products"]

Array = NDArray[np.float64]

ROOM = 2**22
"""Products that are held; 32 MiB."""

REACH = 1e3
"""Standard deviations from a mean to the farthest row or the origin up to which ½(ax + b)² may be multiplied
out: (10³)² has ten digits left behind the point."""


class Products:
    """Rows z = (1, x) without holes; (rows, n + 1)."""

    def __init__(self, z: Array) -> None:
        self._cells = np.ascontiguousarray(z.T)
        self._far = float(np.abs(self._cells).max(initial=1.0))

    @property
    def fit(self) -> bool:
        """Whether all products are few enough to be held."""
        width, rows = self._cells.shape
        return bool(rows * width * (width + 1) // 2 <= ROOM)

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.triu_indices(len(self._cells))

    @cached_property
    def _products(self) -> Array:
        """z_i z_j for i ≤ j; (pairs, rows)."""
        one, two = self._pairs
        return np.asarray(self._cells[one] * self._cells[two])

    @cached_property
    def _powers(self) -> Array:
        """The cells and their squares; (2n + 1, rows)."""
        return np.concatenate([self._cells, self._cells[1:] ** 2])

    def moments(self, weights: Array) -> Array:
        """Return Σ over rows of weight · z zᵀ; (rows, components) → (components, n + 1, n + 1)."""
        width = len(self._cells)
        one, two = self._pairs
        out = np.empty((weights.shape[1], width, width))
        out[:, one, two] = out[:, two, one] = (self._products @ weights).T
        return out

    def log_densities(self, forms: Forms) -> Array | None:
        """Return g − ½‖Az‖² where A has no slopes, (rows, components); None if digits would be lost."""
        offset = forms.root[:, :, 0]
        slope = np.diagonal(forms.root[:, :, 1:], axis1=1, axis2=2)
        if max(float(np.abs(slope).max()) * self._far, float(np.abs(offset).max())) > REACH:
            return None
        level = forms.constant - 0.5 * (offset**2).sum(axis=1)
        linear = np.concatenate([level[:, None], -slope * offset, -0.5 * slope**2], axis=1)
        return np.asarray((linear @ self._powers).T)
