"""Draw completions of all rows at once, and keep of them what a Markov chain needs: their counts.

Going up, cells send sums as in every sweep; going down, each root spreads its weight over its
configurations by a multinomial draw, and each cell spreads what all its parents sent it. Rows that are alike
are drawn together: work grows with distinct cells. Where a message spans more than a double can hold, all
cells send logarithms instead.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lacunary.kernels.arena import pointed
from lacunary.kernels.cell import SMALL, Kinds, Room, Spots
from lacunary.kernels.compile import bare, called, inlined
from lacunary.kernels.lanes import U
from lacunary.kernels.logs import fill_logs, send_logs
from lacunary.kernels.pack import Slab
from lacunary.kernels.spread import FEW, Scratch, spread, spread_few
from lacunary.kernels.underflow import LOST, vanished

__all__ = ["add_draws", "draw_counts", "log_likelihood"]


MANY = 2**40
"""More than any exponent."""

LOG_2 = math.log(2.0)


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
        value[at + i] *= math.ldexp(1.0, int(min(max(power[i] - top, -1100), 0)))
    return top


@inlined
def _rise(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, potential: Any, room: Room, scratch: Scratch
) -> float:
    """Multiply the factors and the children's messages of cell c; return their sum over its configurations.

    Where that is near underflow it is done again with an exponent for every value, so that no product can
    vanish on its way; the largest exponent is left out of all of them and put into ``shift``. ``potential``
    is (size,).
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
        for k in range(factors):  # value (· 2^power) is the product of k factors: links first, then messages
            if k < links:
                table = kinds.link_table[link + first + k]
                _multiply(value, at, potential, np.int64(slab.base[first + k]), kinds.offsets, table, size)
            else:
                child = slab.child_start[c] + k - links
                lead = np.int64(spots.child_message[child])
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
def _send(kinds: Kinds, slab: Slab, spots: Spots, c: int, mass: float, potential: Any, room: Room) -> bool:
    """Scale a cell to sum to one, and sum it over all but what it shares with its parents.

    Tells whether a value is so small beside the others that it, or a smaller one, may have vanished.
    """
    kind, at, s = slab.kind[c], spots.value[c], spots.shared[c]
    for k in range(s, s + kinds.shared[kind]):
        room.message[k] = 0.0
        room.belief[k] = 0.0
    scale = 1.0 / mass if mass > 0.0 else 0.0
    lost = False
    for i in range(kinds.size[kind]):
        x = room.value[at + i] * scale
        room.value[at + i] = x
        room.message[s + kinds.offsets[kinds.own[kind] + i]] += x
        if x < LOST and not lost:
            lost = x > 0.0 or vanished(kinds, slab, spots, c, i, 0, potential, room.message, 1)
    return lost


@called
def _send_logs(
    kinds: Kinds, slab: Slab, spots: Spots, cells: int, potential: Any, room: Room, scratch: Scratch
) -> None:
    """Let all cells but the roots send logarithms, of sums that are not scaled."""
    for i in range(potential.size):
        scratch.log[i] = np.log(potential[i])
    for c in range(cells):
        kind, s = slab.kind[c], spots.shared[c]
        if kinds.own[kind] >= 0:
            fill_logs(kinds, slab, spots, c, scratch.log, room.value, room.message)
            send_logs(kinds, kind, spots.value[c], s, room.value, room.message, room.belief, True)
            for k in range(s, s + kinds.shared[kind]):
                room.belief[k] = 0.0


@inlined
def _top(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, lost: bool, potential: Any, room: Room, scratch: Scratch
) -> Any:
    """Fill a root; return the sum of its values and the logarithm that is left out of all of them."""
    if not lost:
        mass = _rise(kinds, slab, spots, c, potential, room, scratch)
        return mass, LOG_2 * scratch.shift[0]
    value, at, size = room.value, spots.value[c], kinds.size[slab.kind[c]]
    most, mass = fill_logs(kinds, slab, spots, c, scratch.log, value, room.message), 0.0
    for i in range(size):
        value[at + i] = np.exp(value[at + i] - most) if most > -np.inf else 0.0
        mass += value[at + i]
    return mass, most


@inlined
def _condition(kinds: Kinds, kind: int, at: int, s: int, value: Any, message: Any) -> None:
    """Turn logarithms into chances given the shared configuration, which sum to one for each."""
    own, offsets = kinds.own[kind], kinds.offsets
    for i in range(kinds.size[kind]):
        whole = message[s + offsets[own + i]]
        value[at + i] = np.exp(value[at + i] - whole) if whole > -np.inf else 0.0
    for k in range(s, s + kinds.shared[kind]):
        message[k] = 1.0


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
            room.belief[U(spots.child_message[U(k)] + step)] += drawn[U(n)]


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
    """Do as `add_draws`, for Python."""
    return add_draws(kinds, slab, spots, potential, room, scratch, stream, counts)


@called
def add_draws(
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

    Parameters
    ----------
    kinds, slab, spots, room
        Cells and working memory of one lane, in which every cell has a place of its own.
    potential
        What a completion's probability is the product of; (size,).
    scratch
        Room for one cell.
    stream
        The state of the random numbers, moved on; (1,).
    counts
        Completions in each place, added to; (size,).
    """
    cells = slab.kind.size
    kinds, slab, spots, scratch = pointed(kinds), pointed(slab), pointed(spots), pointed(scratch)
    value, message, belief, offsets = room.value, room.message, room.belief, kinds.offsets
    one: Any = np.int64(1)
    lost: Any = np.bool_(False)
    for c in range(cells):
        if kinds.own[slab.kind[c]] >= 0:
            mass = _rise(kinds, slab, spots, c, potential, room, scratch)
            lost |= _send(kinds, slab, spots, c, mass, potential, room)
    if lost:
        _send_logs(kinds, slab, spots, cells, potential, room, scratch)
    # From here on a cell's ``belief`` counts the completions that those of its parents already drawn sent it.
    for c in range(cells):
        own, size, at = kinds.own[slab.kind[c]], kinds.size[slab.kind[c]], spots.value[c]
        if own < 0 and slab.weight[c] > 0.0:
            mass, _ = _top(kinds, slab, spots, c, lost, potential, room, scratch)
            if not mass > 0.0:
                return False
            if slab.weight[c] <= FEW:
                hits = spread_few(value, at, size, mass, np.int64(slab.weight[c]), scratch, stream)
            else:
                scratch.left[0] = slab.weight[c]
                scratch.mass[0] = mass
                hits = spread(
                    value, at, size, scratch.mass, scratch.left, offsets, own, at - at, one, scratch, stream
                )
            _tell(kinds, slab, spots, c, hits, counts, room, scratch)
    for c in range(cells - 1, -1, -1):  # parents first: all that will be sent to cell c has been
        kind = slab.kind[c]
        own, size, at, s = kinds.own[kind], kinds.size[kind], spots.value[c], spots.shared[c]
        if own >= 0:
            if lost:
                _condition(kinds, kind, at, s, value, message)
            shared = kinds.shared[kind]
            hits = spread(value, at, size, message, belief, offsets, own, s, shared, scratch, stream)
            _tell(kinds, slab, spots, c, hits, counts, room, scratch)
    return True


@bare
def log_likelihood(
    kinds: Kinds, slab: Slab, spots: Spots, room: Room, scratch: Scratch, constant: Any, theta: Any
) -> float:
    """Return log p(y | θ); ``constant`` are the counts no hole changes."""
    cells = slab.kind.size
    kinds, slab, spots, scratch = pointed(kinds), pointed(slab), pointed(spots), pointed(scratch)
    log = 0.0
    for i in range(theta.size):
        if constant[i] > 0.0:
            log += constant[i] * np.log(theta[i])
    lost: Any = np.bool_(False)
    for c in range(cells):
        if kinds.own[slab.kind[c]] >= 0:
            mass = _rise(kinds, slab, spots, c, theta, room, scratch)
            whole = np.log(mass) + LOG_2 * scratch.shift[0]
            room.normalizer[c, 0, 0] = whole + _below(slab, c, room)
            lost |= _send(kinds, slab, spots, c, mass, theta, room)
    if lost:
        _send_logs(kinds, slab, spots, cells, theta, room, scratch)
    for c in range(cells):
        if kinds.own[slab.kind[c]] < 0 and slab.weight[c] > 0.0:
            mass, apart = _top(kinds, slab, spots, c, lost, theta, room, scratch)
            below = 0.0 if lost else _below(slab, c, room)
            log += slab.weight[c] * (np.log(mass) + apart + below)
    return log


@inlined
def _below(slab: Slab, c: int, room: Room) -> float:
    """Return the logarithms that the children of cell c have left out of their messages."""
    log = 0.0
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        log += room.normalizer[slab.child[k], 0, 0]
    return log
