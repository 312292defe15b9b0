"""Whether a sweep in plain doubles may have lost what matters.

In a cell that is scaled to sum to one, every value above `LOST` is right; a smaller one may have
vanished on its way. That is nothing unless evidence from elsewhere speaks against all the others. Potentials
and messages are at most one: if no more than δ₁ … δₙ is missing from each entry of the messages of a
cell's children, and the cell sums to S, then no more than δ = max(LOST, (δ₁ + … + δₙ) / S) is missing from
each of its own. Where this is still far below one at the root, nothing that matters was lost.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lacunary.kernels.arena import cells_in, count_in, kinds_in
from lacunary.kernels.cell import Kinds, Room, Spots
from lacunary.kernels.compile import bare, inlined
from lacunary.kernels.pack import Slab

__all__ = ["FAR", "LOST", "find_underflow", "vanished"]

LOST = 1e-200

LOG_LOST = math.log(LOST)

FAR = -400.0
"""A row whose log-evidence is above this is right in any case: 1e-200 is nothing to e^-400."""

NEAR = -40.0
"""What may be lost, relative to what is left, as a log; with room for the number of configurations."""


@inlined
def vanished(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, i: int, b: int, potential: Any, message: Any, width: int
) -> bool:
    """Whether the zero in configuration i of cell c is the product of numbers none of which is zero."""
    offsets, kind, start = kinds.offsets, slab.kind[c], slab.base_start[c]
    for k in range(start, slab.base_start[c + 1]):
        table = kinds.link_table[kinds.link_start[kind] + k - start]
        step = np.int64(offsets[table + i]) if table >= 0 else i
        if potential[(slab.base[k] + step) * width + b] == 0.0:
            return False
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        step = np.int64(offsets[slab.above[k] + i]) if slab.above[k] >= 0 else i
        if message[(spots.child_message[k] + step) * width + b] == 0.0:
            return False
    return True


@bare
def find_underflow(
    kinds_arena: Any,
    cells_arena: Any,
    weight: Any,
    potential: Any,
    value: Any,
    message: Any,
    belief: Any,
    normalizer: Any,
    power: Any,
    root_log: Any,
    suspect: Any,
) -> bool:
    """Clear ``suspect``, a truth a lane, where nothing can have been lost; return whether one is left.

    Asked where `sweep` says so, and of what it left: ``root_log``, (cells, lanes), has the log-sums of roots,
    and takes the log of δ of each other cell where a root would keep its log-sum. All else is as for `sweep`.
    """
    kinds = kinds_in(kinds_arena)
    slab, spots = cells_in(cells_arena, weight)
    room = Room(value, message, belief, normalizer, power)
    cells, width = count_in(cells_arena), len(suspect)
    left = False
    for b in range(width):
        if not suspect[b]:
            continue
        suspect[b] = False
        for c in range(cells):  # no root before c lost anything that matters in this lane
            kind, at = slab.kind[c], spots.value[c]
            lost, below = -np.inf, 0.0  # log (δ₁ + … + δₙ), and log of what was divided out below
            for k in range(slab.child_start[c], slab.child_start[c + 1]):
                child = slab.child[k]
                lost = np.logaddexp(lost, root_log[child, b].real)
                below += np.log(room.normalizer[child, 0, b]) + room.normalizer[child, 1, b]
            if kinds.own[kind] < 0:
                if lost > -np.inf and not lost - (root_log[c, b].real - below) < NEAR:
                    suspect[b] = left = True
                    break
                continue
            whole = np.log(room.normalizer[c, 0, b]) + room.normalizer[c, 1, b]
            if lost > -np.inf:
                lost -= whole - below
                if math.isnan(lost):  # it was nothing to nothing
                    lost = np.inf
            for i in range(kinds.size[kind]):
                x = room.value[at * width + i * width + b]
                span = abs(x.real) + abs(x.imag)
                if (span < LOST and lost < LOG_LOST) and (
                    span > 0.0 or vanished(kinds, slab, spots, c, i, b, potential, room.message, width)
                ):
                    lost = LOG_LOST
            root_log[c, b] = lost
    return left
