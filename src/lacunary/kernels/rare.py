"""The rare way of the E-step by itself, with the types that `sweep` calls it with."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.kernels.arena import cells_in, count_in, kinds_in
from lacunary.kernels.cell import Room, fill_with_care
from lacunary.kernels.compile import called

__all__ = ["rare"]


@called
def rare(
    kinds_arena: Any,
    cells_arena: Any,
    weight: Any,
    potential: Any,
    value: Any,
    message: Any,
    belief: Any,
    normalizer: Any,
    power: Any,
    counts: Any,
    root_log: Any,
    total_log: Any,
    scale: Any,
    suspect: Any,
) -> None:
    """Do what `sweep` does where numbers vanish: compiled ahead of it, and never called."""
    kinds = kinds_in(kinds_arena)
    slab, spots = cells_in(cells_arena, weight)
    room = Room(value, message, belief, normalizer, power)
    cells, width = count_in(cells_arena), np.int64(len(suspect))
    for c in range(cells):
        at = spots.value[c] * width
        fill_with_care(kinds, slab, spots, c, at, potential, room, normalizer[cells, 1], width)
