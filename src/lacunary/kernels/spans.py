"""Large cells under one parameter vector, stretch by stretch, and within a stretch run by run.

The last variable of a cell moves fastest: its states are a *run*. The configurations of the last variables
are a *stretch*, those of all of these but the first a *block*; the stretch has as many blocks as that first
variable has states. A factor or message that the last variable does not matter to is one number for each run.
One to which the first variable does not matter is the same in every block, and is met once for all of them;
so are sums where it leads. What is left for every configuration are few products, one vector after the other,
and no value is kept: whoever reads a cell multiplies its configurations anew, as to write them down and fetch
them would take longer.

Behind the table of a large cell, which has an offset for each configuration, stand those with which runs
begin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types

from lacunary.kernels.cell import Kinds, Room, Spots
from lacunary.kernels.compile import COMPILES, called, inlined
from lacunary.kernels.lanes import LANES, U, add_run, multiply_run
from lacunary.kernels.pack import Slab
from lacunary.kernels.runs import add_at, lines_through, number_at, place_of

__all__ = [
    "BLOCK",
    "KEPT",
    "LARGE_CELLS",
    "STRETCH",
    "filled",
    "keep_spans",
    "notes",
    "read_spans",
    "send_spans",
]

BLOCK = 2**15
"""Numbers that a block takes at most, and a number for each run of a stretch."""

STRETCH = 5 * BLOCK
"""So much room there is behind the values of all cells, the *desk*. On it lie, one behind the other, a number
for each run of a stretch: the product of all that stands still within runs, and then the sum of the run; the
product of all that is the same in all blocks; the sum of all blocks; and two runs. Blocks on it have runs
that are filled up."""

LARGE_CELLS = (0.0,)
"""One lane, for rows some of whose cells are large. Only then is there anything to compile here."""

KEPT = -1.0
"""Instead of its scale, for a cell whose values are in their own place."""

PLAIN = -1
"""Instead of offsets with which runs begin, where they follow each other."""

WIDTH, JOINED, NOTES = 1, 2, 3
"""What stands where among the numbers of `Room.power`: how far the lines of a block on the desk are apart;
how many runs are taken as one; and from there on notes, each of three numbers: the place of a factor, the
offsets with which its runs begin, and how far a step in a run leads."""

BYTES = 8
"""Of a number."""


def _for_large_cells(piece: Any) -> Any:
    """Return a piece that takes the lanes as one argument more; of other lanes than these it is −1."""
    if not COMPILES:
        return lambda *arguments: piece(*arguments[:-1]) if arguments[-1] == LARGE_CELLS else KEPT

    def operation(
        typing: Any,
        kinds: Any,
        slab: Any,
        spots: Any,
        c: Any,
        potential: Any,
        room: Any,
        counts: Any,
        lanes: Any,
    ) -> Any:
        taken = (kinds, slab, spots, c, potential, room, counts)
        if not isinstance(lanes.dtype, types.Float):
            none = ir.DoubleType()(KEPT)
            return types.float64(*taken, lanes), lambda context, builder, signature, values: none
        kind: Any = types.Dispatcher(piece)
        signature = kind.get_call_type(typing, taken, {})

        def generate(context: Any, builder: Any, told: Any, values: Any) -> Any:
            return context.get_function(kind, signature)(builder, values[:-1])

        return signature.return_type(*taken, lanes), generate

    made: Any = extending.intrinsic
    return made(operation)


def filled(run: int) -> int:
    """Return how many numbers a run takes when it is filled up."""
    return (run + LANES - 1) // LANES * LANES


def notes(many: int, lines: int) -> int:
    """Return how many numbers notes take, of so many factors, the belief, as many targets, and lines."""
    return NOTES + 6 * (many + 1) + 5 * lines


_room: Any = inlined(filled)


@inlined
def _step(kinds: Kinds, table: Any) -> Any:
    """Return how far a step of the last variable leads."""
    return np.int64(kinds.offsets[U(table + 1)]) if table >= 0 else np.int64(1)


@inlined
def _is_common(kinds: Kinds, table: Any, block: Any) -> Any:
    """Return whether a table leads from every block of a stretch to the same."""
    return table >= 0 and kinds.offsets[U(table + block)] == 0


@inlined
def _lead(kinds: Kinds, heads: Any, run: Any, r: Any) -> Any:
    """Return how far from its base run r is led: by these offsets, or to r runs behind, or nowhere."""
    if heads >= 0:
        return np.int64(kinds.offsets[U(heads + r)])
    return r * run if heads == PLAIN else np.int64(0)


@inlined
def _heads(kinds: Kinds, kind: Any, table: Any) -> Any:
    """Return where the offsets are with which runs begin."""
    return table + kinds.size[kind] if table >= 0 else np.int64(PLAIN)


@called
def _meet(
    kinds: Kinds,
    kind: Any,
    begin: Any,
    source: Any,
    base: Any,
    table: Any,
    value: Any,
    at: Any,
    met: Any,
    n: Any,
) -> Any:
    """Multiply a factor into the desk if it is one number for each run, or the same in all blocks.

    Any other is noted as the n-th. Returns how many are noted then.
    """
    first = kinds.span_start[kinds.shape[kind]]
    stretch, block, run = kinds.span[U(first)], kinds.span[U(first + 1)], kinds.span[U(first + 3)]
    step, heads, top = _step(kinds, table), _heads(kinds, kind, table), begin // run
    if step == 0:
        joined = met[U(JOINED)]
        for r in range(stretch // run // joined):
            value[U(at + r)] *= source[U(base + kinds.offsets[U(heads + top + r * joined)])]
        return n
    if not _is_common(kinds, table, block):
        _note(met, n, place_of(source, base), heads, step)
        return n + 1
    # Lines before q have met what the table leads to, in the first block and so in all.
    for q in range(block // run):
        i, j = at + BLOCK + q * met[U(WIDTH)], base + kinds.offsets[U(heads + top + q)]
        if step == 1:
            multiply_run(value, i, source, j, run, LARGE_CELLS)
        else:
            for k in range(run):
                value[U(i + k)] *= source[U(j + k * step)]
    return n


@inlined
def _note(met: Any, n: Any, place: Any, heads: Any, step: Any) -> None:
    met[U(NOTES + 3 * n)], met[U(NOTES + 3 * n + 1)], met[U(NOTES + 3 * n + 2)] = place, heads, step


@called
def _begin(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    c: Any,
    begin: Any,
    scale: Any,
    potential: Any,
    room: Room,
    believed: Any,
) -> Any:
    """Lay a stretch from ``begin`` on the desk: scale, factors, messages, and the belief if it is asked for.

    Returns how many factors are left for each configuration, which are noted in ``room.power``.
    """
    kind = slab.kind[c]
    link, start, first = kinds.link_start[kind], slab.base_start[c], kinds.span_start[kinds.shape[kind]]
    stretch, block, run = kinds.span[U(first)], kinds.span[U(first + 1)], kinds.span[U(first + 3)]
    value, at, met, n = room.value, room.value.size - STRETCH, room.power, 0
    for r in range(stretch // run):
        value[U(at + r)] = scale
    for i in range(block // run * met[U(WIDTH)]):
        value[U(at + BLOCK + i)] = 1.0
        value[U(at + 2 * BLOCK + i)] = 0.0
    # The first n notes, and the desk, hold the product of the factors and messages before k.
    for k in range(start, slab.base_start[c + 1]):
        base, table = np.int64(slab.base[U(k)]), kinds.link_table[U(link + k - start)]
        n = _meet(kinds, kind, begin, potential, base, table, value, at, met, n)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        base, table = np.int64(spots.child_message[U(k)]), np.int64(slab.above[U(k)])
        n = _meet(kinds, kind, begin, room.message, base, table, value, at, met, n)
    if believed:
        n = _meet(
            kinds, kind, begin, room.belief, np.int64(spots.shared[c]), kinds.own[kind], value, at, met, n
        )
    return n


@inlined
def _noted(kinds: Kinds, met: Any, note: Any, run: Any, r: Any) -> Any:
    """Return the place that a note has for run r."""
    return met[U(note)] + BYTES * _lead(kinds, met[U(note + 1)], run, r)


@called
def _product(kinds: Kinds, value: Any, at: Any, met: Any, n: Any, run: Any, r: Any) -> Any:
    """Write the product of the n factors that are noted, in run r, to ``at``; return that place."""
    for i in range(run):
        value[U(at + i)] = 1.0
    for k in range(n):
        place, step = _noted(kinds, met, NOTES + 3 * k, run, r), BYTES * met[U(NOTES + 3 * k + 2)]
        for i in range(run):
            value[U(at + i)] *= number_at(place + step * i)
    return place_of(value, at)


@called
def _give(kinds: Kinds, value: Any, at: Any, met: Any, aims: Any, n: Any, run: Any, r: Any) -> None:
    """Add what stands from ``at`` on to the n places that are noted from ``aims`` on, in run r; clear it."""
    for k in range(n):
        place, step = _noted(kinds, met, aims + 3 * k, run, r), BYTES * met[U(aims + 3 * k + 2)]
        for i in range(run):
            add_at(place + step * i, value[U(at + i)])
    for i in range(run):
        value[U(at + i)] = 0.0


@inlined
def _side_by_side(met: Any, aims: Any, n: Any) -> Any:
    """Return whether there are one or two notes, in which runs are neighbours."""
    return (n == 1 and met[U(aims + 2)] == 1) or (n == 2 and met[U(aims + 2)] == met[U(aims + 5)] == 1)


@inlined
def _list_lines(kinds: Kinds, met: Any, note: Any, lines: Any, run: Any, to: Any) -> None:
    """Write how many bytes each line of a block, of so long a run, leads behind the first."""
    for q in range(lines):
        met[U(to + q)] = BYTES * _lead(kinds, met[U(note + 1)], run, q * met[U(JOINED)])


@called
def _measure(kinds: Kinds, slab: Slab, c: Any, met: Any) -> None:
    """Find out whether the runs of the last two variables can be taken as one, and note it.

    They can where all that stands still within runs does so within these, all else follows on, and there are
    not more factors or places for every configuration than `_through` takes.
    """
    kind = slab.kind[c]
    first, joined, links, reads, below = kinds.span_start[kinds.shape[kind]], True, 0, 0, 0
    block, double, run = kinds.span[U(first + 1)], kinds.span[U(first + 2)], kinds.span[U(first + 3)]
    for k in range(kinds.link_start[kind], kinds.link_start[kind + 1]):
        joined &= _follows(kinds, kind, kinds.link_table[U(k)], block, run)
        links += _is_met(kinds, kinds.link_table[U(k)], block)
    for k in range(kinds.read_start[kind], kinds.read_start[kind + 1]):
        joined &= _follows(kinds, kind, kinds.read_table[U(k)], block, run)
        reads += _is_met(kinds, kinds.read_table[U(k)], block)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        joined &= _follows(kinds, kind, np.int64(slab.above[U(k)]), block, run)
        below += _is_met(kinds, np.int64(slab.above[U(k)]), block)
    joined &= links + below > 0 and reads + below <= 2
    if kinds.own[kind] >= 0:
        joined &= _follows(kinds, kind, kinds.own[kind], block, run)
        links += _is_met(kinds, kinds.own[kind], block)
    joined &= links + below <= 2
    met[U(JOINED)] = double // run if joined else 1
    met[U(WIDTH)] = run if joined else _room(run)


@inlined
def _is_met(kinds: Kinds, table: Any, block: Any) -> Any:
    """Return whether a table leads somewhere else from every configuration and every block."""
    return _step(kinds, table) != 0 and not _is_common(kinds, table, block)


@inlined
def _follows(kinds: Kinds, kind: Any, table: Any, block: Any, run: Any) -> Any:
    """Return whether a table leads to a run behind where the one before led, if it is not the same for both.

    Where it leads from every block to the same it is met run by run in any case.
    """
    step, more = _step(kinds, table), _lead(kinds, _heads(kinds, kind, table), run, np.int64(1))
    return more == 0 if step == 0 else _is_common(kinds, table, block) or (step == 1 and more == run)


@inlined
def _through(pair: Any, targets: Any, s: Any, p: Any, a: Any, b: Any, x: Any, y: Any, z: Any, it: Any) -> Any:
    """Go through lines with one factor more than what is common, or with a pair."""
    if pair:
        if targets == 0:
            lines_through(it, s, p, a, b, None, None, None)
        elif targets == 1:
            lines_through(it, s, p, a, b, x, None, None)
        elif targets == 2:
            lines_through(it, s, p, a, b, x, y, None)
        else:
            lines_through(it, s, p, a, b, x, y, z)
    elif targets == 0:
        lines_through(it, s, p, a, None, None, None, None)
    elif targets == 1:
        lines_through(it, s, p, a, None, x, None, None)
    elif targets == 2:
        lines_through(it, s, p, a, None, x, y, None)
    else:
        lines_through(it, s, p, a, None, x, y, z)


@called
def _go(
    kinds: Kinds, kind: Any, begin: Any, n: Any, aims: Any, m: Any, lists: Any, gathers: Any, sums: Any,
    room: Room,
) -> None:  # fmt: skip
    """Go through a stretch: its n factors, and the m places that are noted to be added to.

    If they are asked for, sums of runs come in place of what stood still within them, and that of all blocks
    is gathered.
    """
    first, met, value = kinds.span_start[kinds.shape[kind]], room.power, room.value
    stretch, block, run = kinds.span[U(first)], kinds.span[U(first + 1)], kinds.span[U(first + 3)]
    at, above, lines = value.size - STRETCH, begin // run, block // run
    near = _side_by_side(met, np.int64(NOTES), n) and (m == 0 or _side_by_side(met, aims, m))
    pair, many = near and n == 2, m if near else min(m, 1)
    one, two = at + 3 * BLOCK, at + 4 * BLOCK
    common, summed, rest = place_of(value, at + BLOCK), place_of(value, at + 2 * BLOCK), place_of(value, two)
    row, here = lists + 4 * lines, place_of(met, lists)
    joined = met[U(JOINED)]
    apart, step, lines, runs = lines, BYTES * lines, lines // joined, stretch // run // joined
    desk = here + 4 * step
    # Lists say where the lines of a block lie: of two factors and of two targets, and those of blocks on the
    # desk.
    for q in range(lines):
        met[U(row + q)] = BYTES * q * joined * met[U(WIDTH)]
    for k in range(min(n, 2)):
        _list_lines(kinds, met, NOTES + 3 * k, lines, run, lists + k * apart)
    for k in range(min(m, 2)):
        _list_lines(kinds, met, aims + 3 * k, lines, run, lists + (k + 2) * apart)
    for i in range(run):
        value[U(two + i)] = 0.0
    for r in range(0, runs, lines):  # blocks before that of line r are done
        s, z, top = place_of(value, at + r), (summed, desk), above + r * joined
        if near:
            a = _noted(kinds, met, NOTES, run, top), here
            b = (_noted(kinds, met, NOTES + 3, run, top), here + step) if pair else a
            x = (_noted(kinds, met, aims, run, top), here + 2 * step) if m > 0 else z
            y = (_noted(kinds, met, aims + 3, run, top), here + 3 * step) if m == 2 else z
            _through(pair, many + gathers, s, (common, desk), a, b, x, y, z, (lines, run * joined, sums))
            continue
        for q in range(lines):
            p, w = (common + met[U(row + q)], desk), (summed + met[U(row + q)], desk)
            a = _product(kinds, value, one, met, n, run, top + q), desk
            x = (rest, desk) if m > 0 else w
            _through(False, many + gathers, s + BYTES * q, p, a, a, x, w, w, (np.int64(1), run, sums))
            _give(kinds, value, two, met, aims, m, run, top + q)


@called
def _await(kinds: Kinds, kind: Any, target: Any, base: Any, table: Any, met: Any, aims: Any, m: Any) -> Any:
    """Note what every configuration is added to by itself as the m-th; return how many are noted then."""
    step = _step(kinds, table)
    if step == 0 or _is_common(kinds, table, kinds.span[U(kinds.span_start[kinds.shape[kind]] + 1)]):
        return m
    k = aims + 3 * m
    met[U(k)], met[U(k + 1)], met[U(k + 2)] = place_of(target, base), _heads(kinds, kind, table), step
    return m + 1


@called
def _tell(
    kinds: Kinds, kind: Any, begin: Any, target: Any, base: Any, table: Any, value: Any, at: Any, met: Any
) -> None:
    """Add the sums of runs, or that of all blocks, to where these lead."""
    first = kinds.span_start[kinds.shape[kind]]
    stretch, block, run = kinds.span[U(first)], kinds.span[U(first + 1)], kinds.span[U(first + 3)]
    step, heads, above = _step(kinds, table), _heads(kinds, kind, table), begin // run
    if step == 0:
        joined, held = met[U(JOINED)], value[U(at)]
        last = np.int64(kinds.offsets[U(heads + above)])
        for r in range(1, stretch // run // joined):  # what leads to the same place is added up first
            here = np.int64(kinds.offsets[U(heads + above + r * joined)])
            if here != last:
                target[U(base + last)] += held
                last, held = here, value[U(at + r)]
            else:
                held += value[U(at + r)]
        target[U(base + last)] += held
    elif _is_common(kinds, table, block):
        for q in range(block // run):
            i, j = at + 2 * BLOCK + q * met[U(WIDTH)], base + kinds.offsets[U(heads + above + q)]
            if step == 1:
                add_run(target, j, value, i, run, LARGE_CELLS)
            else:
                for k in range(run):
                    target[U(j + k * step)] += value[U(i + k)]


@inlined
def _takes(kinds: Kinds, kind: Any) -> Any:
    """Return whether cells of a kind are large enough to be taken by runs."""
    return kinds.span_start[kinds.shape[kind]] < kinds.span_start[kinds.shape[kind] + 1]


@inlined
def _behind(slab: Slab, c: Any) -> Any:
    """Return where notes of targets begin, behind one for each link, each child and the belief; and lists."""
    links = slab.base_start[c + 1] - slab.base_start[c] + slab.child_start[c + 1] - slab.child_start[c]
    aims = NOTES + 3 * (np.int64(links) + 1)
    return aims, 2 * aims - NOTES


@_for_large_cells
@called
def send_spans(
    kinds: Kinds, slab: Slab, spots: Spots, c: Any, potential: Any, room: Room, counts: Any
) -> Any:
    """Add the configurations of a large cell to its message; return their sum, or −1 of any other cell."""
    kind, whole, first = slab.kind[c], 0.0, kinds.span_start[kinds.shape[slab.kind[c]]]
    if not _takes(kinds, kind):
        return KEPT
    value, at = room.value, room.value.size - STRETCH
    aims, lists = _behind(slab, c)
    own, shared, m, gathers = kinds.own[kind], np.int64(spots.shared[c]), np.int64(0), np.int64(0)
    if own >= 0:
        m = _await(kinds, kind, room.message, shared, own, room.power, aims, m)
        gathers = np.int64(m == 0 and _step(kinds, own) > 0)
    sums = np.int64(m + gathers == 0)
    _measure(kinds, slab, c, room.power)
    # Stretches before ``begin`` are in the message, or at a root in ``whole``.
    for begin in range(0, kinds.size[kind], kinds.span[U(first)]):
        n = _begin(kinds, slab, spots, c, begin, 1.0, potential, room, False)
        _go(kinds, kind, begin, n, aims, m, lists, gathers, sums, room)
        if own >= 0:
            _tell(kinds, kind, begin, room.message, shared, own, value, at, room.power)
        else:
            for r in range(kinds.span[U(first)] // kinds.span[U(first + 3)] // room.power[U(JOINED)]):
                whole += value[U(at + r)]
    for i in range(shared, shared + kinds.shared[kind]):
        whole += room.message[U(i)]
    return whole


@_for_large_cells
@called
def keep_spans(
    kinds: Kinds, slab: Slab, spots: Spots, c: Any, potential: Any, room: Room, counts: Any
) -> Any:
    """Write all configurations of a large cell with a parent into its own place; return their scale."""
    kind, scale = slab.kind[c], room.normalizer[c, 2, 0]
    if scale == KEPT or kinds.own[kind] < 0:
        return KEPT
    value, to, met = room.value, np.int64(spots.value[c]), room.power
    aims, lists = _behind(slab, c)
    for i in range(kinds.size[kind]):
        value[U(to + i)] = 0.0
    _measure(kinds, slab, c, met)
    met[U(aims)], met[U(aims + 1)], met[U(aims + 2)] = place_of(value, to), PLAIN, 1
    for begin in range(0, kinds.size[kind], kinds.span[U(kinds.span_start[kinds.shape[kind]])]):
        n = _begin(kinds, slab, spots, c, begin, scale, potential, room, False)
        _go(kinds, kind, begin, n, aims, np.int64(1), lists, np.int64(0), np.int64(0), room)
    room.normalizer[c, 2, 0] = KEPT
    return scale


@_for_large_cells
@called
def read_spans(
    kinds: Kinds, slab: Slab, spots: Spots, c: Any, potential: Any, room: Room, counts: Any
) -> Any:
    """Do as `read` where the values of a cell are not kept; return its scale, or −1 where they are."""
    kind, scale = slab.kind[c], room.normalizer[c, 2, 0]
    if scale == KEPT:
        return scale
    value, at, met, m = room.value, room.value.size - STRETCH, room.power, np.int64(0)
    aims, lists = _behind(slab, c)
    link, start, sums = kinds.read_start[kind], slab.read_start[c], np.int64(0)
    for k in range(start, slab.read_start[c + 1]):
        base, table = np.int64(slab.read[U(k)]), kinds.read_table[U(link + k - start)]
        sums |= _step(kinds, table) == 0
        m = _await(kinds, kind, counts, base, table, met, aims, m)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        base, table = np.int64(spots.child_message[U(k)]), np.int64(slab.above[U(k)])
        sums |= _step(kinds, table) == 0
        m = _await(kinds, kind, room.belief, base, table, met, aims, m)
    _measure(kinds, slab, c, met)
    # Stretches before ``begin`` are counted, and the children told.
    for begin in range(0, kinds.size[kind], kinds.span[U(kinds.span_start[kinds.shape[kind]])]):
        n = _begin(kinds, slab, spots, c, begin, scale, potential, room, kinds.own[kind] >= 0)
        _go(kinds, kind, begin, n, aims, m, lists, np.int64(1), sums, room)
        for k in range(start, slab.read_start[c + 1]):
            base, table = np.int64(slab.read[U(k)]), kinds.read_table[U(link + k - start)]
            _tell(kinds, kind, begin, counts, base, table, value, at, met)
        for k in range(slab.child_start[c], slab.child_start[c + 1]):
            base, table = np.int64(spots.child_message[U(k)]), np.int64(slab.above[U(k)])
            _tell(kinds, kind, begin, room.belief, base, table, value, at, met)
    return scale
