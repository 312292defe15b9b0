"""Large cells under one parameter vector, stretch by stretch, and within a stretch variable by variable.

The last variable of a cell moves fastest, so that neighbours that differ in the last variables alone form
*spans*: a stretch is the longest, a run the shortest. A factor or message that the last variables do not
matter to stands still within spans of theirs, and is met once a span, not once a configuration. Its offsets
are sums over variables: those of the first stretch hold in all, from another lead. Nothing is kept but sums:
whoever reads a cell multiplies its configurations anew, in memory that stays near, as to write them down and
fetch them would take longer. A run is filled up with zeros, so that vectors are loaded as they were stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types

from lacunary.kernels.cell import Kinds, Room, Spots
from lacunary.kernels.compile import COMPILES, called, inlined
from lacunary.kernels.lanes import (
    LANES,
    U,
    add_half,
    add_lanes,
    add_quarter,
    multiply_lanes,
    multiply_some,
    spread,
)
from lacunary.kernels.pack import Slab

__all__ = ["KEPT", "LARGE_CELLS", "STRETCH", "filled", "keep_spans", "read_spans", "send_spans"]

STRETCH = 2**14
"""Numbers that a stretch takes at most, and so much room there is behind the values of all cells."""


LARGE_CELLS = (0.0,)
"""One lane, for rows some of whose cells are large. Only then is there anything to compile here."""

KEPT = -1.0
"""Instead of its scale, for a cell whose values are in their own place."""


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


_room: Any = inlined(filled)


@inlined
def _stands(kinds: Kinds, table: Any, span: Any) -> Any:
    """Return whether a table's offsets are zero within spans: the last of them is the sum of all steps."""
    return table >= 0 and kinds.offsets[U(table + span - 1)] == 0


@inlined
def _goes_along(kinds: Kinds, table: Any, run: Any) -> Any:
    """Return whether what a table leads to goes along within a run."""
    astray = 0
    for j in range(run if table >= 0 else 0):
        astray += kinds.offsets[U(table + j)] != j
    return astray == 0


@inlined
def _lead(kinds: Kinds, base: Any, table: Any, i: Any) -> Any:
    """Return where configuration i of a cell leads."""
    return base + (np.int64(kinds.offsets[U(table + i)]) if table >= 0 else i)


@called
def _multiply(
    kinds: Kinds,
    first: Any,
    k: Any,
    last: Any,
    begin: Any,
    source: Any,
    base: Any,
    table: Any,
    value: Any,
    at: Any,
) -> None:
    """Multiply what stands still within spans k, but no longer ones, into the stretch from ``begin`` on.

    Behind the last spans are single configurations, in which all else stands still.
    """
    span, run = kinds.span[U(min(k, last))], kinds.span[U(last)]
    if (k > first and _stands(kinds, table, kinds.span[U(k - 1)])) or (
        k <= last and not _stands(kinds, table, span)
    ):
        return
    # Every run before r has met what the table leads to; run r begins ``r * room`` after the first.
    runs, room, lead = kinds.span[U(first)] // run, _room(run), _lead(kinds, base, table, begin)
    if k <= last:
        for r in range(0, runs, span // run):
            value[U(at + r * room)] *= source[U(lead + kinds.offsets[U(table + r * run)])]
    elif _goes_along(kinds, table, run):
        whole = run - run % LANES
        for r in range(runs):
            i, j = at + r * room, _lead(kinds, lead, table, r * run)
            for n in range(0, whole, LANES):
                multiply_lanes(value, i + n, source, j + n)
            if whole < run:
                multiply_some(value, i + whole, source, j + whole, run - whole)
    else:
        for r in range(runs):
            i, j = at + r * room, _lead(kinds, lead, table, r * run)
            for n in range(run):
                value[U(i + n)] *= source[U(j + kinds.offsets[U(table + n)])]


@called
def _add(
    kinds: Kinds,
    first: Any,
    k: Any,
    last: Any,
    begin: Any,
    target: Any,
    base: Any,
    table: Any,
    value: Any,
    at: Any,
) -> Any:
    """Add the sums with which spans k begin to what `_multiply` would meet there; return whether it would."""
    span, run = kinds.span[U(min(k, last))], kinds.span[U(last)]
    if (k > first and _stands(kinds, table, kinds.span[U(k - 1)])) or (
        k <= last and not _stands(kinds, table, span)
    ):
        return False
    # Every run before r has been added where the table leads; run r begins ``r * room`` after the first.
    runs, room, lead = kinds.span[U(first)] // run, _room(run), _lead(kinds, base, table, begin)
    if k <= last:
        for r in range(0, runs, span // run):
            target[U(lead + kinds.offsets[U(table + r * run)])] += value[U(at + r * room)]
    elif _goes_along(kinds, table, run):
        whole = run - run % LANES
        for r in range(runs):
            i, j = at + r * room, _lead(kinds, lead, table, r * run)
            for n in range(0, whole, LANES):
                add_lanes(target, j + n, value, i + n)
            n = whole
            if run & (LANES // 2):
                add_half(target, j + n, value, i + n)
                n += LANES // 2
            if run & (LANES // 4):
                add_quarter(target, j + n, value, i + n)
                n += LANES // 4
            if run & 1:
                target[U(j + n)] += value[U(i + n)]
    else:
        for r in range(runs):
            i, j = at + r * room, _lead(kinds, lead, table, r * run)
            for n in range(run):
                target[U(j + kinds.offsets[U(table + n)])] += value[U(i + n)]
    return True


@inlined
def _spread(kinds: Kinds, first: Any, k: Any, last: Any, value: Any, at: Any) -> None:
    """Write what stands where spans before k, which are longer, begin, where all of theirs do."""
    run = kinds.span[U(last)]
    runs, room, longer = kinds.span[U(first)] // run, _room(run), kinds.span[U(k - 1)] // run
    if k <= last:
        span = kinds.span[U(k)] // run
        for r in range(0, runs, longer):
            for n in range(r + span, r + longer, span):
                value[U(at + n * room)] = value[U(at + r * room)]
    else:
        for r in range(runs):
            alike = value[U(at + r * room)]
            for n in range(0, run, LANES):
                spread(value, at + r * room + n, alike, min(run - n, LANES))


@inlined
def _gather(kinds: Kinds, first: Any, k: Any, last: Any, value: Any, at: Any) -> None:
    """Put the sums of the spans before k, which are longer, where they begin."""
    run = kinds.span[U(last)]
    runs, room, longer = kinds.span[U(first)] // run, _room(run), kinds.span[U(k - 1)] // run
    for r in range(0, runs, longer):
        whole = 0.0
        if k <= last:
            for n in range(r, r + longer, kinds.span[U(k)] // run):
                whole += value[U(at + n * room)]
        else:
            for n in range(at + r * room, at + (r + 1) * room):
                whole += value[U(n)]
        value[U(at + r * room)] = whole


@called
def _fill(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    c: Any,
    begin: Any,
    scale: Any,
    potential: Any,
    room: Room,
    at: Any,
    believed: Any,
) -> None:
    """Write a stretch from ``begin`` on: scale, factors, messages, and the belief if it is asked for."""
    kind = slab.kind[c]
    shape, link, start = kinds.shape[kind], kinds.link_start[kind], slab.base_start[c]
    first, last = kinds.span_start[shape], kinds.span_start[shape + 1] - 1
    value, message, belief = room.value, room.message, room.belief
    value[U(at)] = scale
    # Where a span k begins stands the product of all that stands still within it.
    for k in range(first, last + 2):
        if k > first:
            _spread(kinds, first, k, last, value, at)
        for n in range(start, slab.base_start[c + 1]):
            base, table = np.int64(slab.base[U(n)]), kinds.link_table[U(link + n - start)]
            _multiply(kinds, first, k, last, begin, potential, base, table, value, at)
        for n in range(slab.child_start[c], slab.child_start[c + 1]):
            base, table = np.int64(spots.child_message[U(n)]), np.int64(slab.above[U(n)])
            _multiply(kinds, first, k, last, begin, message, base, table, value, at)
        if believed:
            _multiply(
                kinds, first, k, last, begin, belief, np.int64(spots.shared[c]), kinds.own[kind], value, at
            )


@inlined
def _takes(kinds: Kinds, kind: Any) -> Any:
    """Return whether cells of a kind are large enough to be taken by spans."""
    return kinds.span_start[kinds.shape[kind]] < kinds.span_start[kinds.shape[kind] + 1]


@_for_large_cells
@called
def send_spans(
    kinds: Kinds, slab: Slab, spots: Spots, c: Any, potential: Any, room: Room, counts: Any
) -> Any:
    """Add the configurations of a large cell to its message; return their sum, or −1 of any other cell."""
    kind, whole = slab.kind[c], 0.0
    if not _takes(kinds, kind):
        return KEPT
    value, at = room.value, room.value.size - STRETCH
    shape, own, shared = kinds.shape[kind], kinds.own[kind], np.int64(spots.shared[c])
    first, last = kinds.span_start[shape], kinds.span_start[shape + 1] - 1
    stretch, run = kinds.span[U(first)], kinds.span[U(last)]
    # Stretches before ``begin`` are in the message and in ``whole``; where spans k begin are their sums.
    for begin in range(0, kinds.size[kind], stretch):
        _fill(kinds, slab, spots, c, begin, 1.0, potential, room, at, False)
        for i in range(stretch // run * _room(run)):
            whole += value[U(at + i)]
        k = last + 1
        while own >= 0 and not _add(kinds, first, k, last, begin, room.message, shared, own, value, at):
            _gather(kinds, first, k, last, value, at)
            k -= 1
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
    value, at, to = room.value, room.value.size - STRETCH, np.int64(spots.value[c])
    shape = kinds.shape[kind]
    stretch, run = kinds.span[U(kinds.span_start[shape])], kinds.span[U(kinds.span_start[shape + 1] - 1)]
    for begin in range(0, kinds.size[kind], stretch):
        _fill(kinds, slab, spots, c, begin, scale, potential, room, at, False)
        for i in range(stretch):
            value[U(to + begin + i)] = value[U(at + i // run * _room(run) + i % run)]
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
    value, at, belief = room.value, room.value.size - STRETCH, room.belief
    shape, link, start = kinds.shape[kind], kinds.read_start[kind], slab.read_start[c]
    first, last = kinds.span_start[shape], kinds.span_start[shape + 1] - 1
    # Stretches before ``begin`` are counted; of this one, all that does not stand still within spans k.
    for begin in range(0, kinds.size[kind], kinds.span[U(first)]):
        _fill(kinds, slab, spots, c, begin, scale, potential, room, at, kinds.own[kind] >= 0)
        left = slab.read_start[c + 1] - start + slab.child_start[c + 1] - slab.child_start[c]
        k = last + 1
        while left > 0:
            for n in range(start, slab.read_start[c + 1]):
                base, table = np.int64(slab.read[U(n)]), kinds.read_table[U(link + n - start)]
                left -= _add(kinds, first, k, last, begin, counts, base, table, value, at)
            for n in range(slab.child_start[c], slab.child_start[c + 1]):
                base, table = np.int64(spots.child_message[U(n)]), np.int64(slab.above[U(n)])
                left -= _add(kinds, first, k, last, begin, belief, base, table, value, at)
            if left > 0:
                _gather(kinds, first, k, last, value, at)
                k -= 1
    return scale
