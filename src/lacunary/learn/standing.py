"""Climbs between two sweeps as plain numbers: all that is needed to go on as if they had never stopped."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from lacunary.errors import FileError, LacunaryError
from lacunary.maths.arrays import Array

__all__ = ["Standing", "count", "damage_named", "flag", "logarithm", "matrix", "plain_log", "vector"]

Standing = Mapping[str, Any]
"""What JSON can hold."""


@contextmanager
def damage_named() -> Iterator[None]:
    """Have what goes wrong as plain numbers are read told as a damaged checkpoint."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as problem:
        if isinstance(problem, LacunaryError):
            raise
        raise FileError(f"this checkpoint is damaged: {problem}") from None


def plain_log(value: float) -> float | None:
    """Return a logarithm as JSON can hold it: null is −∞, the logarithm of zero."""
    return None if value == -math.inf else float(value)


def logarithm(value: Any) -> float:
    """Return the logarithm that `plain_log` wrote."""
    return -math.inf if value is None else float(vector([value], 1)[0])


def count(value: Any) -> int:
    """Return a whole number, zero or more."""
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"a count was expected, not {value!r}")
    return value


def flag(value: Any) -> bool:
    """Return what is true or false."""
    if type(value) is not bool:
        raise ValueError(f"true or false was expected, not {value!r}")
    return value


def vector(values: Any, size: int) -> Array:
    """Return so many finite numbers; (size,)."""
    if type(values) is not list or len(values) != size or not set(map(type, values)) <= {int, float}:
        raise ValueError(f"{size} numbers were expected")
    array = np.array(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError("a number is too large")
    return array


def matrix(rows: Any, many: int, size: int) -> Array:
    """Return so many rows of finite numbers; (many, size)."""
    if type(rows) is not list or len(rows) != many:
        raise ValueError(f"{many} rows were expected")
    return np.array([vector(row, size) for row in rows]).reshape(many, size)
