"""What samples of results say: the error of a mean, a line through points, and numbers as text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Slope", "error_of_mean", "least_squares", "minus"]


def minus(text: str) -> str:
    """Return a text with true minus signs for its hyphens."""
    return text.replace("-", "\N{MINUS SIGN}")


class Slope(NamedTuple):
    """How something grows with x: by how much, its standard error, and from how many points."""

    value: float
    error: float
    samples: int

    def __str__(self) -> str:
        return minus(f"{self.value:+.2f} ± {self.error:.2f}")


def error_of_mean(values: ArrayLike) -> float:
    """Return the standard error of a mean over independent values; zero for a single one."""
    each = np.asarray(values, dtype=np.float64)
    return float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0


def least_squares(x: ArrayLike, y: ArrayLike) -> Slope:
    """Return the slope of the straight line that lies nearest to the points."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    centred = x - x.mean()
    value = float(centred @ y / (centred @ centred))
    left = y - y.mean() - value * centred
    error = float(np.sqrt(left @ left / (len(x) - 2) / (centred @ centred)))
    return Slope(value, error, len(x))
