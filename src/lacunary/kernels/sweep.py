"""The waist of the house: one pass over rows that sums out every hole exactly.

Cells come with their children first. Going up, each cell multiplies its factors and the messages of
its children and passes the sum over its own variables on; at a root this gives the evidence of all
rows that end there. Going down, each cell turns what its parents believe into the posterior of its
configurations and adds it to the counts. Rows share cells, so common work is done once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.kernels.arena import cells_in, count_in, kinds_in
from lacunary.kernels.cell import LARGE, SMALL, Kinds, Room, Spots, fill, fill_with_care, least, total
from lacunary.kernels.compile import bare, called, inlined
from lacunary.kernels.lanes import LANES, U, add_led, add_run, multiply
from lacunary.kernels.links import scatter_sum, scatter_sum_twice
from lacunary.kernels.pack import Slab
from lacunary.kernels.spans import KEPT, keep_spans, read_spans, send_spans
from lacunary.kernels.underflow import FAR

__all__ = ["read", "read_rest", "sweep"]


@inlined
def read(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, at: int, value: Any, belief: Any, counts: Any, lanes: Any
) -> None:
    """Add the posterior of cell c to the counts and tell its children.

    The posterior is ``value`` from ``at`` on; ``counts`` and ``belief`` are added to. All are flat with the
    lanes last.
    """
    width = len(lanes)
    offsets = kinds.offsets
    size = kinds.size[slab.kind[c]]
    link = kinds.read_start[slab.kind[c]]
    start = slab.read_start[c]
    plain = spots.plain[c]
    done = 0
    if width == 1 and plain:
        done = size - size % LANES
        twice = size - size % (2 * LANES)
        for i in range(0, twice, 2 * LANES):
            scatter_sum_twice(value, at + i, counts, slab.read, start, slab.read_start[c + 1], i)
            scatter_sum_twice(
                value, at + i, belief, spots.child_message, slab.child_start[c], slab.child_start[c + 1], i
            )
        for i in range(twice, done, LANES):
            scatter_sum(value, at + i, counts, slab.read, start, slab.read_start[c + 1], i)
            scatter_sum(
                value, at + i, belief, spots.child_message, slab.child_start[c], slab.child_start[c + 1], i
            )
    if done == size:
        return
    # Configurations before ``done`` have been added everywhere; the others, to the readouts up to k.
    for k in range(start, slab.read_start[c + 1]):
        base = np.int64(slab.read[U(k)])
        table = -1 if plain else kinds.read_table[U(link + k - start)]
        if table < 0:
            add_run(counts, (base + done) * width, value, at + done, (size - done) * width, lanes)
        else:
            add_led(counts, base, offsets, table, value, at, size, lanes)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        child_message = np.int64(spots.child_message[U(k)])
        above = -1 if plain else slab.above[U(k)]
        if above < 0:
            add_run(belief, (child_message + done) * width, value, at + done, (size - done) * width, lanes)
        else:
            add_led(belief, child_message, offsets, above, value, at, size, lanes)


@inlined
def _scale(value: Any, at: int, size: int, scale: Any, lanes: Any) -> None:
    """Multiply each lane of ``size`` entries by its own number."""
    if len(lanes) == 1:
        by = scale[0]
        for i in range(size):
            value[U(at + i)] *= by
    else:
        for i in range(size):
            multiply(value, at + i * len(lanes), scale, 0, lanes)


@called
def _read_cells(
    kinds_arena: Any,
    cells_arena: Any,
    weight: Any,
    first: Any,
    last: Any,
    roots: Any,
    potential: Any,
    room: Room,
    counts: Any,
    lanes: Any,
) -> None:
    """Read the roots among these cells, or else the others, parents first, once their belief is known.

    Roots hold their posterior already. A function of its own, so that `read` is compiled once a sweep. Arrays
    are those of `sweep`.
    """
    kinds = kinds_in(kinds_arena)
    slab, spots = cells_in(cells_arena, weight)
    value, message, belief = room.value, room.message, room.belief
    width, offsets = len(lanes), kinds.offsets
    for c in range(last - 1, first - 1, -1):  # the belief of cell c is whole: all its parents have been read
        kind = slab.kind[c]
        own = kinds.own[kind]
        if roots != (own < 0):
            continue
        at = spots.value[c] * width
        if not roots:
            s = spots.shared[c] * width
            for j in range(s, s + kinds.shared[kind] * width):
                x = message[U(j)]
                belief[U(j)] = belief[U(j)] / x if x != 0.0 else 0.0
        if read_spans(kinds, slab, spots, c, potential, room, counts, lanes) != KEPT:
            continue
        if not roots:
            for i in range(kinds.size[kind]):
                multiply(value, at + i * width, belief, s + offsets[U(own + i)] * width, lanes)
        read(kinds, slab, spots, c, at, value, belief, counts, lanes)


@bare
def read_rest(
    kinds_arena: Any,
    cells_arena: Any,
    weight: Any,
    potential: Any,
    value: Any,
    message: Any,
    belief: Any,
    normalizer: Any,
    power: Any,
    counts: Any,
    lanes: Any,
) -> None:
    """Read all cells but the roots, where `sweep` has not; arrays are as it left them."""
    first: Any = np.int64(0)
    _read_cells(
        kinds_arena,
        cells_arena,
        weight,
        first,
        count_in(cells_arena),
        np.bool_(False),
        potential,
        Room(value, message, belief, normalizer, power),
        counts,
        lanes,
    )


@bare
def sweep(
    kinds_arena: Any,
    cells_arena: Any,
    weight: Any,
    potential: Any,
    value: Any,
    message: Any,
    belief: Any,
    normalizer: Any,
    power: Any,
    counts: Any,
    root_log: Any,
    total_log: Any,
    scale: Any,
    suspect: Any,
    lanes: Any,
) -> bool:
    """Sum out the holes of a chunk of rows, whose cells lie in the two arenas.

    Returns whether some root is so unlikely that `find_underflow` is to be asked what was lost; only roots
    have been read then, and `read_rest` is left to do.

    Parameters
    ----------
    kinds_arena, cells_arena, weight
        The cells, and the weights of the rows that end in each; the last (cells,).
    potential
        At most one, zeros allowed, need not be normalised; flat, (size, lanes).
    value, message, belief, normalizer, power
        Those of a `Room`.
    counts
        Posterior counts, added to unless it is empty; flat, (size, lanes).
    root_log
        Written at the roots: the log of their sum; (cells, lanes).
    total_log
        The weighted sum of these, added to; (lanes,).
    scale
        Working memory; (lanes,).
    suspect
        Set for the lanes with such a root; (lanes,).
    lanes
        A tuple with one item for each lane.
    """
    kinds = kinds_in(kinds_arena)
    slab, spots = cells_in(cells_arena, weight)
    room = Room(value, message, belief, normalizer, power)
    width, offsets, cells, far = len(lanes), kinds.offsets, count_in(cells_arena), False
    product, log = normalizer[cells, 0], normalizer[cells, 1]  # those of the cell at hand
    # Types are told: a bare 0 or True has a type of its own, for which all would be compiled again.
    unread: Any = np.int64(0)  # roots are read some at a time, so that the counts stay at hand meanwhile
    last = -1
    # Every cell before c that is no root sums to one, has sent its sums in ``message``, has a ``belief`` of
    # zero or what its parents read so far told, and in ``normalizer`` what was divided out in and below it.
    # Roots from ``unread`` to c hold their posterior, side by side, and are not in the counts yet. Of roots
    # before c ``root_log`` has the sums, not yet their logarithms, and ``normalizer`` what these lack.
    for c in range(cells):
        kind = slab.kind[c]
        own = kinds.own[kind]
        size = kinds.size[kind]
        at = spots.value[c] * width
        if own < 0:
            if at <= last and counts.size:
                _read_cells(
                    kinds_arena,
                    cells_arena,
                    weight,
                    unread,
                    c,
                    np.bool_(True),
                    potential,
                    room,
                    counts,
                    lanes,
                )
                unread = c
            last = at
        for b in range(width):
            product[b] = 1.0
            log[b] = 0.0
        s = spots.shared[c] * width
        for j in range(s, s + kinds.shared[kind] * width):
            message[U(j)] = 0.0
            belief[U(j)] = 0.0
        whole = send_spans(kinds, slab, spots, c, potential, room, counts, lanes)
        spanned = whole != KEPT
        if spanned:
            scale[0] = whole
        else:
            fill(kinds, slab, spots, c, at, potential, room, lanes)
            total(value, at, size, scale, lanes)
        if least(scale, lanes) < SMALL:
            spanned = False
            fill_with_care(kinds, slab, spots, c, at, potential, room, log, np.int64(width))
            total(value, at, size, scale, lanes)
        for k in range(slab.child_start[c], slab.child_start[c + 1]):
            child = slab.child[k]
            for b in range(width):
                product[b] *= room.normalizer[child, 0, b]
                log[b] += room.normalizer[child, 1, b]
                if product[b] < SMALL or product[b] > LARGE:  # a sum may exceed one
                    log[b] += np.log(product[b])
                    product[b] = 1.0
        if own < 0:
            for b in range(width):
                root_log[c, b] = scale[b] * product[b]
                room.normalizer[c, 1, b] = log[b]
                scale[b] = slab.weight[c] / scale[b] if scale[b] != 0.0 else 0.0
            room.normalizer[c, 2, 0] = scale[0].real if spanned else KEPT
            if counts.size and not spanned:
                _scale(value, at, size, scale, lanes)
            continue
        for b in range(width):
            room.normalizer[c, 0, b] = product[b] * scale[b].real
            room.normalizer[c, 1, b] = log[b]
            scale[b] = 1.0 / scale[b].real if scale[b].real > 0.0 else 0.0
        room.normalizer[c, 2, 0] = scale[0].real if spanned else KEPT
        if spanned:
            _scale(message, s, kinds.shared[kind], scale, lanes)
            continue
        _scale(value, at, size, scale, lanes)
        for j in range(s, s + kinds.shared[kind] * width):
            message[U(j)] = 0.0
        add_led(message, np.int64(spots.shared[c]), offsets, own, value, at, size, lanes)
    # Logarithms are taken one after another: none of them waits for a sum. Those of roots before c are whole.
    for c in range(cells):
        if kinds.own[slab.kind[c]] >= 0:
            continue
        for b in range(width):
            root_log[c, b] = np.log(root_log[c, b]) + room.normalizer[c, 1, b]
            if slab.weight[c] > 0.0:
                total_log[b] += slab.weight[c] * root_log[c, b]
            if not root_log[c, b].real > FAR:
                suspect[b] = far = True
    # Who asks what was lost looks at the values of all but the roots.
    for c in range(cells if far else 0):
        keep_spans(kinds, slab, spots, c, potential, room, counts, lanes)
    if counts.size == 0:
        return far
    for step in range(1 if far else 2):
        roots = step == 0
        begin = unread if roots else np.int64(0)
        _read_cells(
            kinds_arena,
            cells_arena,
            weight,
            begin,
            cells,
            np.bool_(roots),
            potential,
            room,
            counts,
            lanes,
        )
    return far
