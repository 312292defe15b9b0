"""The bilateral bivariate Pareto belief about the bounds of uniform variables (DeGroot 1970, section 9.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lacunary.errors import ParameterError
from lacunary.maths.arrays import Array

__all__ = ["Pareto"]


@dataclass(frozen=True, eq=False)
class Pareto:
    """What is believed of the bounds w₁ ≤ r₁ and w₂ ≥ r₂ of uniform variables, independent of each other.

    The density is α(α + 1)(r₂ − r₁)^α / (w₂ − w₁)^(α + 2). Rows add their number to α and widen [r₁, r₂] to
    hold them. The prior of the noise component in TMCH98 section 6.2.

    Attributes
    ----------
    alpha
        α > 0: how many rows the belief is worth; (variables,).
    low, high
        r₁ < r₂: between them the variable is known to vary; (variables,).

    Examples
    --------
    >>> import lacunary as lac
    >>> after = lac.Pareto(1.0, [0.0], [1.0]).update([[0.5], [4.0]])
    >>> float(after.alpha[0]), float(after.high[0])
    (3.0, 4.0)
    """

    alpha: Array
    low: Array
    high: Array

    def __post_init__(self) -> None:
        alpha, low, high = np.broadcast_arrays(
            *(np.asarray(x, dtype=np.float64) for x in (self.alpha, self.low, self.high))
        )
        if not (np.all(np.isfinite(alpha)) and np.all(alpha > 0)):
            raise ParameterError("alpha of a Pareto belief must be positive")
        if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high)) and np.all(low < high)):
            raise ParameterError("a Pareto belief needs finite bounds, the lower below the upper")
        for name, value in (("alpha", alpha), ("low", low), ("high", high)):
            object.__setattr__(self, name, value)

    @property
    def peak(self) -> tuple[Array, Array]:
        """The bounds at the mode, which are the narrowest possible: r₁ and r₂; (variables,) each."""
        return self.low, self.high

    def update(self, rows: ArrayLike, weights: ArrayLike | None = None) -> Pareto:
        """Return the belief after rows, NaN where a cell is a hole.

        Parameters
        ----------
        rows
            (rows, variables).
        weights
            One for each row, default one; rows without weight widen nothing.
        """
        x = np.asarray(rows, dtype=np.float64)
        w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
        seen = np.isfinite(x) & (w[:, None] > 0)
        low = np.min(x, axis=0, where=seen, initial=np.inf)
        high = np.max(x, axis=0, where=seen, initial=-np.inf)
        return Pareto(self.alpha + w @ seen, np.minimum(self.low, low), np.maximum(self.high, high))

    @property
    def log_normalizer(self) -> Array:
        """Log ∫∫ (w₂ − w₁)^−(α + 2) = −log α − log(α + 1) − α log(r₂ − r₁); (variables,)."""
        width = np.log(self.high - self.low)
        return np.asarray(-np.log(self.alpha) - np.log1p(self.alpha) - self.alpha * width)

    def log_density(self, low: ArrayLike, high: ArrayLike) -> Array:
        """Return the log-density of bounds, −inf for those that do not hold [r₁, r₂]; (variables,)."""
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        possible = (low <= self.low) & (high >= self.high)
        width = np.where(possible, high - low, 1.0)
        return np.where(possible, -(self.alpha + 2.0) * np.log(width) - self.log_normalizer, -np.inf)

    def log_evidence(self, rows: ArrayLike, weights: ArrayLike | None = None) -> Array:
        """Return log p(rows) with the bounds integrated out, one for each variable; (variables,)."""
        return np.asarray(self.update(rows, weights).log_normalizer - self.log_normalizer)

    def log_predictive(self, rows: ArrayLike) -> Array:
        """Return log p(new cell), the bounds integrated out; zero for NaN; (rows, variables).

        log α − log(α + 2) + α log w − (α + 1) log w′, with w = r₂ − r₁, and w′ the range widened to hold the
        cell: beyond [r₁, r₂] it falls as a power of the distance.
        """
        x = np.asarray(rows, dtype=np.float64)
        filled = np.where(np.isnan(x), self.low, x)
        wide = np.log(np.maximum(self.high, filled) - np.minimum(self.low, filled))
        ratio = np.log(self.alpha) - np.log(self.alpha + 2.0)
        density = ratio + self.alpha * np.log(self.high - self.low) - (self.alpha + 1.0) * wide
        return np.asarray(np.where(np.isnan(x), 0.0, density))

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return bounds drawn from the belief; (variables,) each.

        How much wider than [r₁, r₂] they are, relative to it, is a ratio of Gamma(2) and Gamma(α) variates;
        how that splits between the two ends is uniform.
        """
        shape = np.shape(self.low)
        excess = rng.standard_gamma(2.0, shape) / rng.standard_gamma(self.alpha)
        excess = excess * (self.high - self.low)
        below = rng.uniform(size=shape) * excess
        return self.low - below, self.high + excess - below
