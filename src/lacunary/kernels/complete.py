"""Fill the holes of rows: with a draw from their posterior, or with their most probable states."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.kernels.cell import SMALL, Kinds, Room, Spots, fill, fill_with_care, total
from lacunary.kernels.compile import inlined, kernel
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
    """Return a configuration that agrees with what the parent chose: the best, or a draw if 0 ≤ draw."""
    mass = 0.0
    best = -1
    for i in range(size):
        if (own < 0 or offsets[own + i] == shared) and value[at + i] > 0.0:
            mass += value[at + i]
            if best < 0 or (draw < 0.0 and value[at + i] > value[at + best]):
                best = i
    if draw < 0.0:
        return best
    left = draw * mass
    for i in range(size):
        if (own < 0 or offsets[own + i] == shared) and value[at + i] > 0.0:
            best = i
            left -= value[at + i]
            if left < 0.0:
                break
    return best


@kernel
def _work_out(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    c: Any,
    at: Any,
    potential: Any,
    room: Room,
    scale: Any,
    lanes: Any,
) -> None:
    fill(kinds, slab, spots, c, at, potential, room, lanes)
    if total(room.value, at, kinds.size[slab.kind[c]], scale, lanes) < SMALL:
        fill_with_care(kinds, slab, spots, c, at, potential, room, np.zeros(1), np.int64(1))


@kernel
def complete(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    sizes: Any,
    potential: Any,
    room: Room,
    seed: Any,
    first_row: int,
    draws: bool,
    out: Any,
    lanes: Any,
) -> int:
    """Write states into the holes of ``out``, (rows, variables); return the first impossible row or −1.

    Going up, messages are sums if ``draws`` and maxima otherwise; going down, each cell picks a
    configuration that agrees with its parent's. Row r uses the random numbers of ``first_row + r``. There is
    one lane.
    """
    value, message, offsets = room.value, room.message, kinds.offsets
    scale = np.empty(1)
    for c in range(slab.kind.size):
        kind = slab.kind[c]
        own = kinds.own[kind]
        if own < 0:
            continue
        at = spots.value[c]
        s = spots.shared[c]
        _work_out(kinds, slab, spots, c, at, potential, room, scale, lanes)
        many = kinds.shared[kind]
        for j in range(many):
            message[s + j] = 0.0
        for i in range(kinds.size[kind]):
            told = s + offsets[own + i]
            message[told] = message[told] + value[at + i] if draws else max(message[told], value[at + i])
        top = 0.0
        for j in range(many):
            top = max(top, message[s + j])
        for j in range(many):
            message[s + j] /= top if top > 0.0 else 1.0
    waiting = np.empty((slab.kind.size + 1, 2), np.int64)
    for r in range(slab.root_start.size - 1):
        step = 0
        for k in range(slab.root_start[r], slab.root_start[r + 1]):
            root = np.int64(slab.root[k])
            waiting[0, 0] = root
            waiting[0, 1] = 0
            many = 1
            _work_out(kinds, slab, spots, root, spots.value[root], potential, room, scale, lanes)
            while many > 0:
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
