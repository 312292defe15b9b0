"""Memory that begins on the border of a cache line: vectors in it never straddle one."""

from __future__ import annotations

from ctypes import addressof, c_char
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CACHE_LINE", "aligned", "is_aligned", "is_long"]

CACHE_LINE = 64
"""Bytes that memory hands out at once."""

LONG = 1024
"""Numbers from which on copying them takes longer than to find out where they lie."""


def aligned(size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return uninitialised memory on the border of a cache line; (size,)."""
    longer = np.empty(size + CACHE_LINE // dtype.itemsize, dtype)
    shift = -addressof(c_char.from_buffer(longer.data)) % CACHE_LINE // dtype.itemsize
    return longer[shift : shift + size]


def is_long(shape: tuple[int, ...]) -> bool:
    """Tell whether vectors of this shape are one, and that better laid out where it is swept than copied."""
    return shape[0] == 1 and shape[1] >= LONG


def is_aligned(vector: NDArray[Any]) -> bool:
    """Tell whether it begins on a border, is in one piece and may be written to, as kernels want it."""
    flags = vector.flags
    if not (flags.c_contiguous and flags.writeable):
        return False
    return addressof(c_char.from_buffer(vector.data)) % CACHE_LINE == 0
