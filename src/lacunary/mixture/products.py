"""Complete rows for Gaussian components without arcs, with the cells' squares worked out once.

Without holes and arcs a component's log-density is linear in the cells and their squares: one matrix product.
Their weighted sums are all that its families need: another.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.gaussian import Forms

__all__ = ["Products"]

Array = NDArray[np.float64]

REACH = 1e3
"""Standard deviations from a mean to the farthest row or the origin up to which ½(ax + b)² may be multiplied
out: (10³)² has ten digits left behind the point."""


class Products:
    """Rows z = (1, x) without holes; (rows, n + 1)."""

    def __init__(self, z: Array) -> None:
        self._cells = np.ascontiguousarray(z.T)
        self._far = float(np.abs(self._cells).max(initial=1.0))

    @cached_property
    def _powers(self) -> Array:
        """The cells and their squares; (2n + 1, rows)."""
        return np.concatenate([self._cells, self._cells[1:] ** 2])

    def log_densities(self, forms: Forms) -> Array | None:
        """Return g − ½‖Az‖² where A has no slopes, (rows, components); None if digits would be lost."""
        offset = forms.root[:, :, 0]
        slope = np.diagonal(forms.root[:, :, 1:], axis1=1, axis2=2)
        if max(float(np.abs(slope).max()) * self._far, float(np.abs(offset).max())) > REACH:
            return None
        level = forms.constant - 0.5 * (offset**2).sum(axis=1)
        linear = np.concatenate([level[:, None], -slope * offset, -0.5 * slope**2], axis=1)
        return np.asarray((linear @ self._powers).T)

    def moments(self, weights: Array) -> Array:
        """Return Σ weight · (1, x, x²) of rows as the edge and the diagonal of matrices, zeros elsewhere.

        ``weights`` is (rows, components), the matrices are (components, n + 1, n + 1).
        """
        sums = (self._powers @ weights).T
        n = (sums.shape[1] - 1) // 2
        out = np.zeros((len(sums), n + 1, n + 1))
        out[:, 0, : n + 1] = out[:, : n + 1, 0] = sums[:, : n + 1]
        inner = np.arange(1, n + 1)
        out[:, inner, inner] = sums[:, n + 1 :]
        return out
