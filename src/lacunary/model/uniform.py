"""The family of a continuous variable that is uniform between bounds, given its discrete parents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError

__all__ = ["SLACK", "Uniform", "normal_records"]

SLACK = 1e-9
"""How far beyond its bounds, as a share of their distance, a value still counts as within: rounding."""


@dataclass(frozen=True, eq=False)
class Uniform:
    """A continuous variable given its discrete parents: density 1 / (high − low) within bounds, else zero.

    Attributes
    ----------
    low, high
        For each configuration of the discrete parents; (..., discrete parents).
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        ends = np.broadcast_arrays(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
        if not (np.all(np.isfinite(ends)) and np.all(ends[0] < ends[1])):
            raise ParameterError("the bounds of a uniform family must be finite, the lower below the upper")
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])

    @classmethod
    def of(cls, records: ArrayLike) -> Uniform:
        """Return the family whose last axis holds low and high."""
        array = np.asarray(records, dtype=np.float64)
        return cls(array[..., 0], array[..., 1])

    @property
    def records(self) -> NDArray[np.float64]:
        """Low and high, in the last axis; (..., 2)."""
        return np.stack([self.low, self.high], axis=-1)


def normal_records(records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean and variance of uniform variables with these bounds; (..., 2) → (..., 2)."""
    low, high = records[..., 0], records[..., 1]
    return np.stack([low / 2 + high / 2, (high - low) ** 2 / 12], axis=-1)
