"""What hash tables in kernels have in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MIX", "slots_for"]

MIX = np.uint64(0x9E3779B97F4A7C15)


def slots_for(many: int) -> NDArray[np.int32]:
    """Return a hash table for so many, empty: a power of two of places, at least half of them spare."""
    return np.full(1 << max(2 * many - 1, 15).bit_length(), -1, dtype=np.int32)
