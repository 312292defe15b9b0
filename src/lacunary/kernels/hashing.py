"""What hash tables in kernels have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import inlined

__all__ = ["LOW", "MIX", "grown", "slots_for", "spare_slots"]

MIX = np.uint64(0x9E3779B97F4A7C15)

LOW = np.uint64(2**31 - 1)
"""The bits of a hash that are kept."""

FEW = 16
"""Places of a table that grows, at first."""


def slots_for(many: int) -> NDArray[np.int32]:
    """Return a hash table for so many, empty: a power of two of places, at least half of them spare."""
    return np.full(1 << max(2 * many - 1, 15).bit_length(), -1, dtype=np.int32)


def spare_slots(many: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return a hash table that grows as it is filled, empty, and room for the keys of so many.

    Of its places the first `FEW` are in use: where few are found, the table stays in the nearest cache.
    """
    slots = np.empty(max(1 << max(4 * many - 1, 0).bit_length(), FEW), dtype=np.int32)
    slots[:FEW] = -1
    return slots, np.empty(many + 1, dtype=np.int32)


@inlined
def grown(slots: Any, key: Any, many: Any, mask: Any) -> Any:
    """Put so many, by their keys, into twice as many places; return one less than those are.

    ``mask`` is one less than the places in use; a table doubles when half of them are taken.
    """
    mask = 2 * mask + 1
    for place in range(mask + 1):
        slots[place] = -1
    for one in range(many):
        slot = key[one] & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = one
    return mask
