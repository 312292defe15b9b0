"""Draw completions of all rows at once, and keep of them what a Markov chain needs: their counts.

Going up, cells send sums as in every sweep; going down, each root spreads its weight over its
configurations by a multinomial draw, and each cell spreads what all its parents sent it. Rows that are alike
are drawn together: work grows with distinct cells.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.cell import SMALL, Kinds, Room, Spots
from lacunary.kernels.compile import bare, inlined
from lacunary.kernels.lanes import U
from lacunary.kernels.pack import Slab
from lacunary.kernels.variate import binomial, uniform

__all__ = ["FEW", "Scratch", "draw_counts", "log_likelihood"]


FEW = 8
"""Completions that are drawn one by one rather than together."""


MANY = 2**40
"""More than any exponent."""

LOG_2 = math.log(2.0)


class Scratch(NamedTuple):
    """Room for one cell: which configurations were drawn and how often, exponents, three single numbers.

    The first two are `FEW` longer than the largest cell, the third as long.
    """

    hit: NDArray[np.int64]
    drawn: NDArray[np.float64]
    power: NDArray[np.int64]
    shift: NDArray[np.int64]
    left: NDArray[np.float64]
    mass: NDArray[np.float64]


@inlined
def _spread_few(value: Any, at: int, size: int, mass: float, many: Any, scratch: Scratch, stream: Any) -> Any:
    """Draw configurations one by one with chances in ``value``, which sum to ``mass``; return how many."""
    for n in range(many):
        left = uniform(stream) * mass
        chosen = 0
        for i in range(size - 1):  # without a branch that could be guessed wrongly
            left -= value[U(at + i)]
            chosen += left >= 0.0
        while chosen > 0 and value[at + chosen] == 0.0:  # rounding led past the last possible one
            chosen -= 1
        scratch.hit[n] = chosen
        scratch.drawn[n] = 1.0
    return many


@inlined
def _spread(
    value: Any,
    at: int,
    size: int,
    message: Any,
    belief: Any,
    offsets: Any,
    own: int,
    s: int,
    shared: int,
    scratch: Scratch,
    stream: Any,
) -> int:
    """Spread ``belief`` of each shared configuration over those of a cell, with chances in ``value``.

    ``own`` leads from a configuration to the shared one, whose chances sum to ``message``; −1: to the only
    one. Both are used up. Returns how many configurations were drawn.
    """
    hits = 0
    for i in range(size):
        k = s + offsets[own + i] if own >= 0 else s
        x = value[at + i]
        if belief[k] > 0.0 and x > 0.0:
            many = 0.0
            if belief[k] <= FEW:
                for _ in range(np.int64(belief[k])):
                    many += 1.0 if uniform(stream) * message[k] < x else 0.0
            else:
                many = binomial(belief[k], x / message[k], stream)
            message[k] -= x
            if many > 0.0:
                belief[k] -= many
                scratch.hit[hits] = i
                scratch.drawn[hits] = many
                hits += 1
    for k in range(s, s + shared):
        if belief[k] > 0.0:  # rounding let the last chance fall below one
            for i in range(size - 1, -1, -1):
                if value[at + i] > 0.0 and (own < 0 or s + offsets[own + i] == k):
                    scratch.hit[hits] = i
                    scratch.drawn[hits] = belief[k]
                    belief[k] = 0.0
                    hits += 1
                    break
    return hits


@inlined
def _multiply(value: Any, at: int, factor: Any, lead: Any, offsets: Any, table: int, size: int) -> None:
    """Multiply each configuration by the factor it leads to."""
    if table < 0:
        for i in range(size):
            value[U(at + i)] *= factor[U(lead + i)]
    else:
        for i in range(size):
            value[U(at + i)] *= factor[U(lead + offsets[U(table + i)])]


@inlined
def _lift(value: Any, at: int, size: int, power: Any) -> None:
    """Bring every value near one by a power of two, which is exact, and count its exponent apart."""
    for i in range(size):
        x = value[at + i]
        if 0.0 < x < 0.5:
            shift = max(math.frexp(x)[1], -1000)
            value[at + i] = x * math.ldexp(1.0, -shift)
            power[i] += shift


@inlined
def _align(value: Any, at: int, size: int, power: Any) -> int:
    """Give all values the largest exponent among them, and return it."""
    top = -MANY
    for i in range(size):
        if value[at + i] > 0.0:
            top = max(top, power[i])
    for i in range(size):
        value[at + i] *= math.ldexp(1.0, min(max(power[i] - top, -1100), 0))
    return top


@inlined
def _rise(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, potential: Any, room: Room, scratch: Scratch
) -> float:
    """Multiply the factors and the children's messages of cell c; return their sum over its configurations.

    Where that is near underflow it is done again with an exponent for every value, so that no product can
    vanish on its way; the largest exponent is left out of all of them and put into ``shift``.
    """
    value, kind, at, power = room.value, slab.kind[c], spots.value[c], scratch.power
    size = kinds.size[kind]
    link = kinds.link_start[kind] - slab.base_start[c]
    first, links = slab.base_start[c], slab.base_start[c + 1] - slab.base_start[c]
    factors = links + slab.child_start[c + 1] - slab.child_start[c]
    scratch.shift[0] = 0
    for care in range(2):
        for i in range(size):
            value[U(at + i)] = 1.0
        for i in range(size * care):
            power[i] = 0
        for k in range(factors):
            if k < links:
                table = kinds.link_table[link + first + k]
                _multiply(value, at, potential, np.int64(slab.base[first + k]), kinds.offsets, table, size)
            else:
                child = slab.child_start[c] + k - links
                lead = np.int64(spots.heard[child])
                _multiply(value, at, room.message, lead, kinds.offsets, slab.above[child], size)
            if care:
                _lift(value, at, size, power)
        if care:
            scratch.shift[0] = _align(value, at, size, power)
        mass = 0.0
        for i in range(size):
            mass += value[U(at + i)]
        if mass >= SMALL:
            break
    return mass


@inlined
def _send(kinds: Kinds, kind: int, at: int, s: int, mass: float, room: Room) -> None:
    """Scale a cell to sum to one, and sum it over all but what it shares with its parents."""
    for k in range(s, s + kinds.shared[kind]):
        room.message[k] = 0.0
    scale = 1.0 / mass if mass > 0.0 else 0.0
    for i in range(kinds.size[kind]):
        room.value[at + i] *= scale
        room.message[s + kinds.offsets[kinds.own[kind] + i]] += room.value[at + i]


@inlined
def _tell(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, hits: int, counts: Any, room: Room, scratch: Scratch
) -> None:
    """Add what cell c has drawn to the counts, and pass it on to its children."""
    offsets, hit, drawn = kinds.offsets, scratch.hit, scratch.drawn
    link = kinds.read_start[slab.kind[c]] - slab.read_start[c]
    for k in range(slab.read_start[c], slab.read_start[c + 1]):
        table = kinds.read_table[link + k]
        for n in range(hits):
            step = offsets[U(table + hit[U(n)])] if table >= 0 else hit[U(n)]
            counts[U(slab.read[U(k)] + step)] += drawn[U(n)]
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        above = slab.above[k]
        for n in range(hits):
            step = offsets[U(above + hit[U(n)])] if above >= 0 else hit[U(n)]
            room.belief[U(spots.heard[U(k)] + step)] += drawn[U(n)]


@bare
def draw_counts(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    potential: Any,
    room: Room,
    scratch: Scratch,
    stream: Any,
    counts: Any,
) -> bool:
    """Draw completions of all rows from their posterior under ``potential`` and add their ``counts``.

    Returns False if some row has no possible completion.
    """
    value, message, belief, offsets = room.value, room.message, room.belief, kinds.offsets
    one: Any = np.int64(1)
    for c in range(slab.kind.size):
        kind = slab.kind[c]
        own, size, at, s = kinds.own[kind], kinds.size[kind], spots.value[c], spots.shared[c]
        mass = _rise(kinds, slab, spots, c, potential, room, scratch)
        if own >= 0:
            for k in range(s, s + kinds.shared[kind]):
                belief[k] = 0.0
            _send(kinds, kind, at, s, mass, room)
        elif slab.weight[c] > 0.0:
            if not mass > 0.0:
                return False
            if slab.weight[c] <= FEW:
                hits = _spread_few(value, at, size, mass, np.int64(slab.weight[c]), scratch, stream)
            else:
                scratch.left[0] = slab.weight[c]
                scratch.mass[0] = mass
                hits = _spread(
                    value, at, size, scratch.mass, scratch.left, offsets, own, s - s, one, scratch, stream
                )
            _tell(kinds, slab, spots, c, hits, counts, room, scratch)
    for c in range(slab.kind.size - 1, -1, -1):
        kind = slab.kind[c]
        own, size, at, s = kinds.own[kind], kinds.size[kind], spots.value[c], spots.shared[c]
        if own >= 0:
            shared = kinds.shared[kind]
            hits = _spread(value, at, size, message, belief, offsets, own, s, shared, scratch, stream)
            _tell(kinds, slab, spots, c, hits, counts, room, scratch)
    return True


@bare
def log_likelihood(
    kinds: Kinds, slab: Slab, spots: Spots, room: Room, scratch: Scratch, constant: Any, theta: Any
) -> float:
    """Return log p(y | θ); ``constant`` are the counts no hole changes."""
    log = 0.0
    for i in range(theta.size):
        if constant[i] > 0.0:
            log += constant[i] * math.log(theta[i])
    for c in range(slab.kind.size):
        kind = slab.kind[c]
        mass = _rise(kinds, slab, spots, c, theta, room, scratch)
        whole = math.log(mass) + LOG_2 * scratch.shift[0]
        for k in range(slab.child_start[c], slab.child_start[c + 1]):
            whole += room.normalizer[slab.child[k], 0, 0]
        if kinds.own[kind] >= 0:
            room.normalizer[c, 0, 0] = whole
            _send(kinds, kind, spots.value[c], spots.shared[c], mass, room)
        elif slab.weight[c] > 0.0:
            log += slab.weight[c] * whole
    return log
