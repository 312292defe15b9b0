"""Fill the holes of rows: with a draw from their posterior, or with their most probable states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lacunary.kernels.arena import pointed
from lacunary.kernels.cell import Kinds, Room, Spots
from lacunary.kernels.compile import inlined, kernel
from lacunary.kernels.logs import fill_logs, send_logs
from lacunary.kernels.pack import Slab

__all__ = ["complete"]


@inlined
def _uniform(seed: Any, row: int, step: int) -> float:
    """Return a number in [0, 1) that depends on its arguments alone (the finaliser of SplitMix64)."""
    z = (
        seed
        + np.uint64(row) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(step) * np.uint64(0xD1B54A32D192ED03)
    )
    for _ in range(2):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * 2.0**-53


@inlined
def _choose(value: Any, at: int, size: int, offsets: Any, own: int, shared: int, draw: float) -> int:
    """Return a configuration that agrees with what the parent chose: the best, or a draw if 0 ≤ draw.

    ``value`` holds logarithms; −1 if nothing is possible.
    """
    top, best = -np.inf, -1
    for i in range(size):
        if (own < 0 or offsets[own + i] == shared) and value[at + i] > top:
            top, best = value[at + i], i
    if draw < 0.0 or best < 0:
        return best
    mass = 0.0
    for i in range(size):
        if own < 0 or offsets[own + i] == shared:
            mass += math.exp(value[at + i] - top)
    left = draw * mass
    for i in range(size):
        if (own < 0 or offsets[own + i] == shared) and value[at + i] > -np.inf:
            best = i
            left -= math.exp(value[at + i] - top)
            if left < 0.0:
                break
    return best


@kernel
def complete(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    sizes: Any,
    log: Any,
    room: Room,
    seed: Any,
    first_row: int,
    draws: bool,
    out: Any,
) -> int:
    """Write states into the holes of ``out``, (rows, variables); return the first impossible row or −1.

    Going up, messages are logs of sums if ``draws`` and of maxima otherwise; going down, each cell picks a
    configuration that agrees with its parent's. Row r uses the random numbers of ``first_row + r``.

    Parameters
    ----------
    kinds, slab, spots, room
        Cells and working memory of one lane; only the first three arrays of ``room`` are used.
    sizes
        Numbers of states; (variables,).
    log
        Logarithms of the parameters; (size,).
    seed
        What all random numbers come from.
    out
        States, written where a row has holes; (rows, variables).
    """
    cells, rows = slab.kind.size, slab.root_start.size - 1
    kinds, slab, spots = pointed(kinds), pointed(slab), pointed(spots)
    value, message, offsets = room.value, room.message, kinds.offsets
    for c in range(cells):
        kind = slab.kind[c]
        if kinds.own[kind] >= 0:
            fill_logs(kinds, slab, spots, c, log, value, message)
            send_logs(kinds, kind, spots.value[c], spots.shared[c], value, message, room.belief, draws)
    waiting = np.empty((cells + 1, 2), np.int64)  # a stack: a cell, and what its parent chose for it
    for r in range(rows):
        step = 0
        for k in range(slab.root_start[r], slab.root_start[r + 1]):
            root: Any = np.int64(slab.root[k])
            waiting[0, 0] = root
            waiting[0, 1] = 0
            many = 1
            fill_logs(kinds, slab, spots, root, log, value, message)
            while many > 0:  # the parents of all cells that wait have chosen
                many -= 1
                c = waiting[many, 0]
                kind = slab.kind[c]
                draw = _uniform(seed, first_row + r, step) if draws else -1.0
                step += 1
                i = _choose(
                    value, spots.value[c], kinds.size[kind], offsets, kinds.own[kind], waiting[many, 1], draw
                )
                if i < 0:
                    return r
                for j in range(slab.child_start[c], slab.child_start[c + 1]):
                    waiting[many, 0] = slab.child[j]
                    waiting[many, 1] = offsets[slab.above[j] + i] if slab.above[j] >= 0 else i
                    many += 1
                shape = kinds.shape[kind]
                for m in range(kinds.member_start[shape + 1] - 1, kinds.member_start[shape] - 1, -1):
                    out[r, kinds.member[m]] = i % sizes[kinds.member[m]]
                    i //= sizes[kinds.member[m]]
    return -1
