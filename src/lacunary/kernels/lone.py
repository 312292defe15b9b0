"""Lone cells: roots without children, in which everything goes along. One is all there is to such a row.

With one hidden variable above all others every row is such a cell. A *run* of them, side by side in working
memory, is swept by itself: products of all its rows, then their sums, eight at a time, then the counts of all,
so that no row waits for the sum, the division or the logarithm of the one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.kernels.cell import SMALL, Kinds, Room, Spots
from lacunary.kernels.compile import called
from lacunary.kernels.lanes import LANES, U, for_lanes
from lacunary.kernels.links import product_over, product_over_twice, scatter_share, sum_rows
from lacunary.kernels.pack import Slab

__all__ = ["RUN", "sweep_run"]

RUN = 248
"""Cells that a run has at most: a multiple of `LANES` for which a byte has room."""


@for_lanes(lambda many, real: many == 1, 0.0)
@called
def sweep_run(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    c: Any,
    many: Any,
    potential: Any,
    room: Room,
    counts: Any,
    root_log: Any,
    total_log: Any,
) -> float:
    """Sweep ``many`` lone cells of a kind from c on, under one vector; return 1, or 0 where one needs care.

    Nothing is counted then. ``many`` is a multiple of `LANES`, and so is the size of the cells; all else is as
    for `lacunary.kernels.sweep.sweep`.
    """
    value, size = room.value, kinds.size[slab.kind[c]]
    first, links = np.int64(slab.base_start[c]), slab.base_start[c + 1] - slab.base_start[c]
    at, stride = np.int64(spots.value[c]), spots.value[c + 1] - spots.value[c]
    whole = size - size % (2 * LANES)
    for r in range(many):  # rows before r have their products in ``value``
        start, own = first + r * links, at + r * stride
        for i in range(0, whole, 2 * LANES):
            product_over_twice(value, own + i, potential, slab.base, start, start + links, i)
        if whole < size:
            product_over(value, own + whole, potential, slab.base, start, start + links, whole)
    sound = True
    for r in range(0, many, LANES):  # and their sums, not yet their logarithms, in ``root_log``
        sum_rows(root_log, c + r, value, at + r * stride, stride, size)
    for r in range(many):
        sound = sound and root_log[U(c + r), 0] >= SMALL
    if not sound:
        return 0.0
    if counts.size:
        first, links = np.int64(slab.read_start[c]), slab.read_start[c + 1] - slab.read_start[c]
        for r in range(many):
            start, own = first + r * links, at + r * stride
            share = slab.weight[c + r] / root_log[U(c + r), 0]
            for i in range(0, size, LANES):
                scatter_share(value, own + i, counts, slab.read, start, start + links, i, share)
    found = 0.0
    for r in range(many):
        root_log[U(c + r), 0] = np.log(root_log[U(c + r), 0])
        found += slab.weight[c + r] * root_log[U(c + r), 0]
    total_log[0] += found
    return 1.0
