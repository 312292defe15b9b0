"""The family of a continuous variable: linear regression with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError

__all__ = ["Regression"]


@dataclass(frozen=True, eq=False)
class Regression:
    """A continuous variable given its parents: N(intercept + coefficients · continuous parents, variance).

    There is one regression for each configuration of the discrete parents, which index the first axes.

    Attributes
    ----------
    intercept, variance
        (..., discrete parents).
    coefficients
        One for each continuous parent, last; (..., discrete parents, continuous parents).
    """

    intercept: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    variance: NDArray[np.float64]

    def __init__(
        self, intercept: ArrayLike, coefficients: ArrayLike | None = None, variance: ArrayLike = 1.0
    ) -> None:
        start = np.asarray(intercept, dtype=np.float64)
        slope = np.zeros((*start.shape, 0)) if coefficients is None else coefficients
        slope, noise = np.asarray(slope, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        try:
            object.__setattr__(self, "coefficients", np.broadcast_to(slope, (*start.shape, slope.shape[-1])))
            object.__setattr__(self, "variance", np.broadcast_to(noise, start.shape))
        except (ValueError, IndexError):
            raise ParameterError(
                f"a regression's intercepts {start.shape}, coefficients {slope.shape} and variances "
                f"{noise.shape} do not fit together; discrete parents come first, one coefficient for "
                "each continuous parent last"
            ) from None
        object.__setattr__(self, "intercept", start)

    @classmethod
    def of(cls, records: ArrayLike) -> Regression:
        """Return the regression whose last axis holds intercept, coefficients and variance."""
        array = np.asarray(records, dtype=np.float64)
        return cls(array[..., 0], array[..., 1:-1], array[..., -1])

    @property
    def records(self) -> NDArray[np.float64]:
        """Intercept, coefficients and variance, in the last axis; (..., m + 2)."""
        return np.concatenate(
            [self.intercept[..., None], self.coefficients, self.variance[..., None]], axis=-1
        )

    @property
    def sd(self) -> NDArray[np.float64]:
        """The standard deviation of the noise."""
        return np.sqrt(self.variance)
