"""A cell: the open configurations of one node, given what a row observed around it.

`fill` multiplies what is known about each configuration; everything that sums, maximises or draws
over holes begins with it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import called, inlined
from lacunary.kernels.lanes import LANES, U, add, multiply, multiply_run
from lacunary.kernels.links import gather_product, gather_product_twice
from lacunary.kernels.pack import Slab

__all__ = [
    "LARGE",
    "SMALL",
    "Kinds",
    "Room",
    "Spots",
    "align_powers",
    "fill",
    "fill_with_care",
    "least",
    "lift",
    "total",
]

SMALL = 1e-100
"""A sum below this is worked out anew with care; in any other, what vanished was 1e-200 of it."""

LARGE = 1 / SMALL

LOG_2 = math.log(2.0)

NO_POWER = -(2**62)
"""Below every exponent: the largest of none."""


class Kinds(NamedTuple):
    """What cells of one kind have in common: everything but the row's own states.

    A cell of kind k has ``size[k]`` configurations. Its links run from ``link_start[k]`` on: the entry that
    link k multiplies into configuration i stands ``offsets[link_table[k] + i]`` after the base, or i after it
    where the table is −1. Its readouts run from ``read_start[k]`` on. ``own[k]``
    leads from a configuration to one of the ``shared[k]`` it has in common with its parent; −1 at a root.
    ``shape[k]`` names its open variables: ``member`` from ``member_start[shape]`` on. Cells of a
    shape that are large are taken by spans, whose lengths are ``span`` from ``span_start[shape]`` on.
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
    span_start: NDArray[np.int64]
    span: NDArray[np.int64]
    offsets: NDArray[np.int32]


class Spots(NamedTuple):
    """Where cells lie in working memory: their configurations, and those shared with their parents.

    ``child_message`` is, for every entry of ``slab.child``, where that child's message lies; ``plain[c]``
    tells that configuration i of cell c stands i after every base and message: no table is needed.
    """

    value: NDArray[np.int32]
    shared: NDArray[np.int32]
    child_message: NDArray[np.int32]
    plain: NDArray[np.bool_]


class Room(NamedTuple):
    """Working memory of one sweep; the first three flat with the lanes last.

    ``value``: the configurations of all cells but the roots, and the largest root's. ``message``: what each
    cell tells its parents. ``belief``: what the parents believe. ``normalizer``: for each cell the product,
    and the log of what would not fit into it, of all sums up to there, and the scale of values that are not
    kept; (cells + 1, 3, lanes), the last for the cell at hand. ``power``: room for an exponent of every value
    of the largest cell.
    """

    value: NDArray[np.float64]
    message: NDArray[np.float64]
    belief: NDArray[np.float64]
    normalizer: NDArray[np.float64]
    power: NDArray[np.int64]


@inlined
def fill(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, at: int, potential: Any, room: Room, lanes: Any
) -> None:
    """Multiply the factors and the children's messages of cell c into ``value`` from ``at`` on.

    ``potential`` is flat, (size, lanes), with the lanes last as in all of ``room``.
    """
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
        twice = size - size % (2 * LANES)
        for i in range(0, twice, 2 * LANES):
            gather_product_twice(value, at + i, potential, slab.base, start, stop, i)
            gather_product_twice(
                value, at + i, message, spots.child_message, slab.child_start[c], slab.child_start[c + 1], i
            )
        for i in range(twice, done, LANES):
            gather_product(value, at + i, potential, slab.base, start, stop, i)
            gather_product(
                value, at + i, message, spots.child_message, slab.child_start[c], slab.child_start[c + 1], i
            )
    if done == size:
        return
    # Before ``done`` all is multiplied; behind it, ``value`` holds the product of the links up to k.
    for k in range(start, stop):
        base = np.int64(slab.base[U(k)])
        table = -1 if plain else kinds.link_table[U(link + k - start)]
        if table < 0:
            multiply_run(value, at + done, potential, (base + done) * width, (size - done) * width, lanes)
        else:
            for i in range(size):
                multiply(value, at + i * width, potential, (base + offsets[U(table + i)]) * width, lanes)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        child_message = np.int64(spots.child_message[U(k)])
        above = slab.above[U(k)]
        if above < 0:
            multiply_run(
                value, at + done, message, (child_message + done) * width, (size - done) * width, lanes
            )
        else:
            for i in range(size):
                multiply(
                    value, at + i * width, message, (child_message + offsets[U(above + i)]) * width, lanes
                )


@inlined
def lift(value: Any, power: Any, at: int, many: int) -> None:
    """Bring every value near one by a power of two, which is exact, and count its exponent apart."""
    for i in range(many):
        x = value[U(at + i)]
        span = abs(x.real) + abs(x.imag)
        if 0.0 < span < 0.5:
            shift = max(math.frexp(span)[1], -1000)
            value[U(at + i)] = x * math.ldexp(1.0, -shift)
            power[i] += shift


@inlined
def align_powers(value: Any, power: Any, at: int, many: int, log: Any, width: int) -> None:
    """Give all values of a lane the largest exponent among them, and add that to the lane's log."""
    for b in range(width):
        top = NO_POWER
        for i in range(b, many, width):
            if value[U(at + i)] != 0.0:
                top = max(top, power[i])
        if top > NO_POWER:
            log[b] += top * LOG_2
            for i in range(b, many, width):  # a zero may have any exponent
                value[U(at + i)] *= math.ldexp(1.0, int(min(max(power[i] - top, -1100), 0)))


@called
def fill_with_care(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, at: int, potential: Any, room: Room, log: Any, width: Any
) -> None:
    """Do as `fill`, but with an exponent for every value, so that no product can vanish on its way.

    It is rarely needed, and so compiled once for any number of lanes, ``width``. ``potential`` is flat,
    (size, lanes); ``log``, (lanes,), gains the logarithm that is left out of all values of a lane.
    """
    value, offsets = room.value, kinds.offsets
    size = kinds.size[slab.kind[c]]
    link = kinds.link_start[slab.kind[c]]
    start = slab.base_start[c]
    power, many = room.power, size * width
    for i in range(many):
        value[U(at + i)] = 1.0
        power[i] = 0
    # The product of the links so far is value · 2^power, and each value is zero or near one.
    for n in range(start, slab.base_start[c + 1]):
        table = kinds.link_table[link + n - start]
        for i in range(size):
            step = offsets[table + i] if table >= 0 else i
            for b in range(width):
                value[at + i * width + b] *= potential[(slab.base[n] + step) * width + b]
        lift(value, power, at, many)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        above = slab.above[k]
        for i in range(size):
            step = offsets[above + i] if above >= 0 else i
            for b in range(width):
                value[at + i * width + b] *= room.message[(spots.child_message[k] + step) * width + b]
        lift(value, power, at, many)
    align_powers(value, power, at, many, log, width)


@inlined
def total(value: Any, at: int, count: int, out: Any, lanes: Any) -> None:
    """Sum each lane of ``count`` entries into ``out``."""
    width = len(lanes)
    if width == 1:  # in a register
        whole = 0.0
        for i in range(count):
            whole += value[U(at + i)]
        out[0] = whole
        return
    for b in range(width):
        out[b] = 0.0
    for i in range(count):
        add(out, 0, value, at + i * width, lanes)


@inlined
def least(sums: Any, lanes: Any) -> float:
    """Return the least of the lanes' sums."""
    found = np.inf
    for b in range(len(lanes)):
        found = min(found, sums[b].real)
    return found
