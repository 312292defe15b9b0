"""The waist of the house: one pass over rows that sums out every hole exactly.

Cells come with their children first. Going up, each cell multiplies its factors and the messages of
its children and passes the sum over its own variables on; at a root this gives the evidence of all
rows that end there. Going down, each cell turns what its parents believe into the posterior of its
configurations and adds it to the counts. Rows share cells, so common work is done once.

A kernel carries a fixed number of *lanes*: parameter vectors that are swept together, side by side
in the last axis, so that their arithmetic shares every look-up and fills the vector units.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import inlined, kernel
from lacunary.kernels.lanes import LANES, U, operations, product_run
from lacunary.kernels.pack import Slab

__all__ = ["Kinds", "Room", "Spots", "sweep"]

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


@cache
def sweep(lanes: int, is_complex: bool = False) -> Any:
    """Return the sweep for this many lanes of real or complex numbers.

    The kernel returned takes ``(kinds, slab, spots, potential, room, counts, root_log)``: ``potential``
    is flat (size, lanes), at most one, zeros allowed; posterior counts are added to ``counts`` unless it
    is empty, and ``root_log`` takes the log-sum of each root; (cells, lanes).
    """
    assign, multiply, add, multiply_run, add_run = operations(lanes, is_complex)
    single = lanes == 1 and not is_complex

    @inlined
    def fill(kinds: Kinds, slab: Slab, spots: Spots, c: int, at: int, potential: Any, room: Room) -> None:
        """Multiply the factors and the children's messages of cell c into ``value`` from ``at`` on."""
        value, message, offsets = room.value, room.message, kinds.offsets
        size = kinds.size[slab.kind[c]]
        link = kinds.link_start[slab.kind[c]]
        start = slab.base_start[c]
        stop = slab.base_start[c + 1]
        for i in range(size * lanes):
            value[U(at + i)] = 1.0
        done = 0
        plain = spots.plain[c]
        if single and plain:
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
                multiply_run(value, at + done, potential, (base + done) * lanes, (size - done) * lanes)
            else:
                for i in range(size):
                    multiply(value, at + i * lanes, potential, (base + offsets[U(table + i)]) * lanes)
        for k in range(slab.child_start[c], slab.child_start[c + 1]):
            heard = spots.heard[U(k)]
            above = slab.above[U(k)]
            if above < 0:
                multiply_run(value, at + done, message, (heard + done) * lanes, (size - done) * lanes)
            else:
                for i in range(size):
                    multiply(value, at + i * lanes, message, (heard + offsets[U(above + i)]) * lanes)

    @inlined
    def rescale(value: Any, at: int, size: int, log: Any) -> None:
        """Divide a cell's values by their largest, lane by lane, where that has become small."""
        for b in range(lanes):
            top = 0.0
            for i in range(size):
                top = max(top, value[U(at + i * lanes + b)].real)
            if 0.0 < top < SMALL:
                log[b] += np.log(top)
                for i in range(size):
                    value[U(at + i * lanes + b)] /= top

    @kernel
    def fill_with_care(
        kinds: Kinds, slab: Slab, spots: Spots, c: int, at: int, potential: Any, room: Room, log: Any
    ) -> None:
        """Do as `fill`, but rescale after every factor, so that no product can vanish on its way."""
        value, offsets = room.value, kinds.offsets
        size = kinds.size[slab.kind[c]]
        link = kinds.link_start[slab.kind[c]]
        start = slab.base_start[c]
        for i in range(size * lanes):
            value[U(at + i)] = 1.0
        for l in range(start, slab.base_start[c + 1]):
            table = kinds.link_table[link + l - start]
            for i in range(size):
                step = offsets[table + i] if table >= 0 else i
                multiply(value, at + i * lanes, potential, (slab.base[l] + step) * lanes)
            rescale(value, at, size, log)
        for k in range(slab.child_start[c], slab.child_start[c + 1]):
            above = slab.above[k]
            for i in range(size):
                step = offsets[above + i] if above >= 0 else i
                multiply(value, at + i * lanes, room.message, (spots.heard[k] + step) * lanes)
            rescale(value, at, size, log)

    @inlined
    def read(kinds: Kinds, slab: Slab, spots: Spots, c: int, at: int, room: Room, counts: Any) -> None:
        """Add the posterior of cell c to the counts and tell its children."""
        value, offsets = room.value, kinds.offsets
        size = kinds.size[slab.kind[c]]
        link = kinds.read_start[slab.kind[c]]
        start = slab.read_start[c]
        plain = spots.plain[c]
        for l in range(start, slab.read_start[c + 1]):
            base = np.int64(slab.read[U(l)])
            table = -1 if plain else kinds.read_table[U(link + l - start)]
            if table < 0:
                add_run(counts, base * lanes, value, at, size * lanes)
            else:
                for i in range(size):
                    add(counts, (base + offsets[U(table + i)]) * lanes, value, at + i * lanes)
        for k in range(slab.child_start[c], slab.child_start[c + 1]):
            heard = spots.heard[U(k)]
            above = -1 if plain else slab.above[U(k)]
            if above < 0:
                add_run(room.belief, heard * lanes, value, at, size * lanes)
            else:
                for i in range(size):
                    add(room.belief, (heard + offsets[U(above + i)]) * lanes, value, at + i * lanes)

    @inlined
    def total(value: Any, at: int, count: int, out: Any) -> float:
        """Sum each lane of ``count`` entries into ``out``; return the least of these sums."""
        for b in range(lanes):
            out[b] = 0.0
        for i in range(count):
            add(out, 0, value, at + i * lanes)
        least = np.inf
        for b in range(lanes):
            least = min(least, out[b].real)
        return least

    @kernel
    def swept(
        kinds: Kinds, slab: Slab, spots: Spots, potential: Any, room: Room, counts: Any, root_log: Any
    ) -> None:
        value, message, belief, offsets = room.value, room.message, room.belief, kinds.offsets
        cells = slab.kind.size
        scale = np.empty(lanes, value.dtype)
        product = np.empty(lanes, np.float64)
        log = np.empty(lanes, np.float64)
        for c in range(cells):
            kind = slab.kind[c]
            own = kinds.own[kind]
            size = kinds.size[kind]
            at = spots.value[c] * lanes
            for b in range(lanes):
                product[b] = 1.0
                log[b] = 0.0
            fill(kinds, slab, spots, c, at, potential, room)
            if total(value, at, size, scale) < SMALL:
                fill_with_care(kinds, slab, spots, c, at, potential, room, log)
                total(value, at, size, scale)
            for k in range(slab.child_start[c], slab.child_start[c + 1]):
                child = slab.child[k]
                for b in range(lanes):
                    product[b] *= room.normalizer[child, 0, b]
                    log[b] += room.normalizer[child, 1, b]
                    if product[b] < SMALL:
                        log[b] += np.log(product[b])
                        product[b] = 1.0
            if own < 0:
                for b in range(lanes):
                    root_log[c, b] = np.log(scale[b] * product[b]) + log[b]
                    scale[b] = slab.weight[c] / scale[b] if scale[b] != 0.0 else 0.0
                if counts.size:
                    for i in range(size):
                        multiply(value, at + i * lanes, scale, 0)
                    read(kinds, slab, spots, c, at, room, counts)
                continue
            for b in range(lanes):
                room.normalizer[c, 0, b] = product[b] * scale[b].real
                room.normalizer[c, 1, b] = log[b]
                scale[b] = 1.0 / scale[b].real if scale[b].real > 0.0 else 0.0
            s = spots.shared[c] * lanes
            for j in range(s, s + kinds.shared[kind] * lanes):
                message[U(j)] = 0.0
                belief[U(j)] = 0.0
            for i in range(size):
                multiply(value, at + i * lanes, scale, 0)
                add(message, s + offsets[U(own + i)] * lanes, value, at + i * lanes)
        if counts.size == 0:
            return
        for c in range(cells - 1, -1, -1):
            kind = slab.kind[c]
            own = kinds.own[kind]
            if own < 0:
                continue
            at = spots.value[c] * lanes
            s = spots.shared[c] * lanes
            for j in range(s, s + kinds.shared[kind] * lanes):
                x = message[U(j)]
                belief[U(j)] = belief[U(j)] / x if x != 0.0 else 0.0
            for i in range(kinds.size[kind]):
                multiply(value, at + i * lanes, belief, s + offsets[U(own + i)] * lanes)
            read(kinds, slab, spots, c, at, room, counts)

    return swept
