"""Numbers that were drawn, where nothing exact fits, and the standard error of each.

They are what floats and arrays are, with an ``error`` beside; what is worked out from them is plain again,
as its error is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lacunary.maths.arrays import Array

__all__ = [
    "DrawnArray",
    "DrawnNumber",
    "error_of",
    "exponential",
    "joined",
    "less",
    "shares_with_error",
    "sum_with_error",
    "with_error",
    "with_errors_of",
]


class DrawnNumber(float):
    """A number with its standard error.

    Attributes
    ----------
    error
        The standard error.
    """

    error: float

    def __new__(cls, value: float, error: float) -> DrawnNumber:
        """Return a number with its error."""
        out = super().__new__(cls, value)
        out.error = float(error)
        return out

    def __reduce__(self) -> Any:
        return DrawnNumber, (float(self), self.error)

    def __str__(self) -> str:
        return f"{float(self)} ± {self.error:.2g}"

    __repr__ = __str__


class DrawnArray(np.ndarray[Any, np.dtype[np.float64]]):
    """Numbers with their standard errors. A part of them has its part of the errors, all else none.

    Attributes
    ----------
    error
        The standard errors, of the same shape; None where they are not known.
    """

    error: Array | None

    def __new__(cls, values: Array, error: Array) -> DrawnArray:
        """Return numbers with their errors."""
        out = np.asarray(values, dtype=np.float64).view(cls)
        out.error = np.asarray(error, dtype=np.float64)
        return out

    def __array_finalize__(self, other: object) -> None:
        self.error = None

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(found, DrawnArray) and self.error is not None:
            found.error = self.error[index]
        return found

    def __reduce__(self) -> Any:
        if self.error is None:
            return np.asarray(self).__reduce__()
        return DrawnArray, (np.asarray(self), self.error)


def with_error(values: Any, error: Any) -> Any:
    """Return a number or an array with its standard error; as it is, if there is none."""
    if error is None:
        return values
    return DrawnArray(values, error) if isinstance(values, np.ndarray) else DrawnNumber(values, error)


def error_of(values: Any) -> Any:
    """Return the standard error of a number or an array; zero of what is exact."""
    error = getattr(values, "error", None)
    return np.zeros(np.shape(values)) if error is None else error


def exponential(log: float) -> float:
    """Return what a logarithm is of, with its standard error where the logarithm has one."""
    found = float(np.exp(log))
    return DrawnNumber(found, found * error_of(log)) if hasattr(log, "error") else found


def less(one: float, other: float) -> float:
    """Return a difference, with its standard error where either number was drawn, independently."""
    if hasattr(one, "error") or hasattr(other, "error"):
        return DrawnNumber(one - other, float(np.hypot(error_of(one), error_of(other))))
    return one - other


def with_errors_of(found: Array, parts: Sequence[Any]) -> Array:
    """Return an array whose last axis has so many parts, with their errors if any has some."""
    if all(getattr(part, "error", None) is None for part in parts):
        return found
    return DrawnArray(found, np.stack([error_of(part) for part in parts], axis=-1))


def sum_with_error(found: Array, logs: Array, top: Array) -> Array:
    """Return the log of a sum along the last axis with its error; ``top`` is the same with that axis left."""
    error = getattr(logs, "error", None)
    if error is None:
        return found
    with np.errstate(invalid="ignore"):
        shares = np.nan_to_num(np.exp(np.asarray(logs) - top))
    return DrawnArray(found, np.sqrt((shares**2 * error**2).sum(axis=-1)))


def shares_with_error(shares: Array, logs: Array) -> Array:
    """Return shares, along the last axis, with what errors of their logarithms mean for them."""
    error = getattr(logs, "error", None)
    if error is None:
        return shares
    both = (shares**2 * error**2).sum(axis=-1, keepdims=True)
    return DrawnArray(shares, shares * np.sqrt(both + (1.0 - 2.0 * shares) * error**2))


def joined(parts: Sequence[Array], axis: int = 0) -> Array:
    """Return arrays one behind the other, with their errors if any has some."""
    out = np.concatenate([np.asarray(part) for part in parts], axis=axis)
    if all(getattr(part, "error", None) is None for part in parts):
        return out
    return DrawnArray(out, np.concatenate([error_of(part) for part in parts], axis=axis))
