"""What is said of a continuous hole: a mixture of Student t on the transformed scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lacunary.dependency.monotone import NODES, SHARES, Monotone
from lacunary.family.distribution import StudentMixture
from lacunary.maths.arrays import Array

__all__ = ["TransformedMixture"]


@dataclass(frozen=True, eq=False, repr=False)
class TransformedMixture(StudentMixture):
    """The density of a column behind a monotone transform; weights, means, sds are of what is transformed.

    Attributes
    ----------
    shape
        The transform.
    told
        The mean, in the column's own units; (rows,).
    """

    shape: Monotone
    told: Array

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays that describe the components, and the mean, by name."""
        return {name: getattr(self, name) for name in ("weights", "means", "sds", "dofs", "told")}

    @property
    def mean(self) -> Array:
        """The mean; (...,)."""
        return self.told

    @property
    def sd(self) -> Array:
        """The standard deviation, by quadrature where the transform is curved; (...,)."""
        if not self.shape.curved:
            return np.where((self.sds > 0).any(axis=-1), self.shape.sd * self._inner.sd, 0.0)
        wide = np.sqrt(self._variances())
        values = self.shape.back(self.means[..., None] + wide[..., None] * NODES)
        each, square = values @ SHARES, values**2 @ SHARES
        mean = (self.weights * each).sum(axis=-1)
        spread = (self.weights * square).sum(axis=-1) - mean**2
        return np.where((self.sds > 0).any(axis=-1), np.sqrt(np.maximum(spread, 0.0)), 0.0)

    @property
    def mode(self) -> Array:
        """The mean: the components are draws, none of which is more probable than another; (...,)."""
        return self.told

    def log_density(self, value: ArrayLike) -> Array:
        """Return the log-density at a value, or at one for each row; −∞ or ∞ where it is observed."""
        x = np.asarray(value, dtype=np.float64)
        return np.asarray(self._inner.log_density(self.shape.forward(x)) + self.shape.log_slope(x))

    def probability_below(self, value: ArrayLike) -> Array:
        """Return the probability of values up to this one, or up to one for each row; (...,)."""
        return self._inner.probability_below(self.shape.forward(np.asarray(value, dtype=np.float64)))

    def quantile(self, probability: float) -> Array:
        """Return the value below which the variable lies with this probability; (...,)."""
        return self.shape.back(self._inner.quantile(probability))

    @property
    def _inner(self) -> StudentMixture:
        """The density of what is transformed."""
        return StudentMixture(self.variable, self.weights, self.means, self.sds, self.dofs)
