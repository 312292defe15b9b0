"""A cell: the open configurations of one node, given what a row observed around it.

`fill` multiplies what is known about each configuration; everything that sums, maximises or draws
over holes begins with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import inlined, kernel
from lacunary.kernels.lanes import LANES, U, add, multiply, multiply_run, product_run
from lacunary.kernels.pack import Slab

__all__ = ["SMALL", "Kinds", "Room", "Spots", "fill", "fill_with_care", "total"]

SMALL = 1e-100
"""A sum below this is worked out anew with care; in any other, what vanished was 1e-200 of it."""


class Kinds(NamedTuple):
    """What cells of one kind have in common: everything but the row's own states.

    A cell of kind k has ``size[k]`` configurations. Its links run from ``link_start[k]`` on: the entry that
    link l multiplies into configuration i stands ``offsets[link_table[l] + i]`` after the base, or i after it
    where the table is −1. Its readouts run from ``read_start[k]`` on. ``own[k]``
    leads from a configuration to one of the ``shared[k]`` it has in common with its parent; −1 at a root.
    ``shape[k]`` names its open variables: ``member`` from ``member_start[shape]`` on.
    """

    size: NDArray[np.int64]
    shared: NDArray[np.int64]
    own: NDArray[np.int64]
    link_start: NDArray[np.int64]
    link_table: NDArray[np.int64]
    read_start: NDArray[np.int64]
    read_table: NDArray[np.int64]
    shape: NDArray[np.int64]
    member_start: NDArray[np.int64]
    member: NDArray[np.int32]
    offsets: NDArray[np.int32]


class Spots(NamedTuple):
    """Where cells lie in working memory: their configurations, and those shared with their parents.

    ``heard`` repeats, for every entry of ``slab.child``, where that child's message lies; ``plain[c]``
    tells that configuration i of cell c stands i after every base and message: no table is needed.
    """

    value: NDArray[np.int64]
    shared: NDArray[np.int64]
    heard: NDArray[np.int64]
    plain: NDArray[np.bool_]


class Room(NamedTuple):
    """Working memory of one sweep; the first three flat with the lanes last.

    ``value``: the configurations of all cells but the roots, and the largest root's. ``message``: what each
    cell tells its parents. ``belief``: what the parents believe. ``normalizer``: for each cell the product,
    and the log of what would not fit into it, of all sums up to there; (cells, 2, lanes).
    """

    value: NDArray[np.float64]
    message: NDArray[np.float64]
    belief: NDArray[np.float64]
    normalizer: NDArray[np.float64]


@inlined
def fill(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, at: int, potential: Any, room: Room, lanes: Any
) -> None:
    """Multiply the factors and the children's messages of cell c into ``value`` from ``at`` on."""
    width = len(lanes)
    value, message, offsets = room.value, room.message, kinds.offsets
    size = kinds.size[slab.kind[c]]
    link = kinds.link_start[slab.kind[c]]
    start = slab.base_start[c]
    stop = slab.base_start[c + 1]
    for i in range(size * width):
        value[U(at + i)] = 1.0
    done = 0
    plain = spots.plain[c]
    if width == 1 and plain:
        done = size - size % LANES
        for i in range(0, done, LANES):
            product_run(value, at + i, potential, slab.base, start, stop, i)
            product_run(value, at + i, message, spots.heard, slab.child_start[c], slab.child_start[c + 1], i)
    if done == size:
        return
    for l in range(start, stop):
        base = np.int64(slab.base[U(l)])
        table = -1 if plain else kinds.link_table[U(link + l - start)]
        if table < 0:
            multiply_run(value, at + done, potential, (base + done) * width, (size - done) * width, lanes)
        else:
            for i in range(size):
                multiply(value, at + i * width, potential, (base + offsets[U(table + i)]) * width, lanes)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        heard = spots.heard[U(k)]
        above = slab.above[U(k)]
        if above < 0:
            multiply_run(value, at + done, message, (heard + done) * width, (size - done) * width, lanes)
        else:
            for i in range(size):
                multiply(value, at + i * width, message, (heard + offsets[U(above + i)]) * width, lanes)


@inlined
def _rescale(value: Any, at: int, size: int, log: Any, lanes: Any) -> None:
    """Divide a cell's values by their largest, lane by lane."""
    width = len(lanes)
    for b in range(width):
        top = 0.0
        for i in range(size):
            top = max(top, value[U(at + i * width + b)].real)
        if top > 0.0:
            log[b] += np.log(top)
            for i in range(size):
                value[U(at + i * width + b)] /= top


@kernel
def fill_with_care(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, at: int, potential: Any, room: Room, log: Any, lanes: Any
) -> None:
    """Do as `fill`, but rescale after every factor, so that no product can vanish on its way."""
    width = len(lanes)
    value, offsets = room.value, kinds.offsets
    size = kinds.size[slab.kind[c]]
    link = kinds.link_start[slab.kind[c]]
    start = slab.base_start[c]
    for i in range(size * width):
        value[U(at + i)] = 1.0
    for l in range(start, slab.base_start[c + 1]):
        table = kinds.link_table[link + l - start]
        for i in range(size):
            step = offsets[table + i] if table >= 0 else i
            multiply(value, at + i * width, potential, (slab.base[l] + step) * width, lanes)
        _rescale(value, at, size, log, lanes)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        above = slab.above[k]
        for i in range(size):
            step = offsets[above + i] if above >= 0 else i
            multiply(value, at + i * width, room.message, (spots.heard[k] + step) * width, lanes)
        _rescale(value, at, size, log, lanes)


@inlined
def total(value: Any, at: int, count: int, out: Any, lanes: Any) -> float:
    """Sum each lane of ``count`` entries into ``out``; return the least of these sums."""
    width = len(lanes)
    for b in range(width):
        out[b] = 0.0
    for i in range(count):
        add(out, 0, value, at + i * width, lanes)
    least = np.inf
    for b in range(width):
        least = min(least, out[b].real)
    return least
