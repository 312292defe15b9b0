"""Cells in logarithms, for rows whose evidence spans more than a double can hold.

Nothing can vanish here, at the price of an exponential for every configuration. A sweep is repeated in
this way where `underflow` says that it may have lost something; rows are completed in this way always.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.kernels.arena import cells_in, count_in, kinds_in
from lacunary.kernels.cell import Kinds, Spots
from lacunary.kernels.compile import bare, inlined
from lacunary.kernels.lanes import U
from lacunary.kernels.pack import Slab
from lacunary.kernels.sweep import read

__all__ = ["fill_logs", "send_logs", "sweep_logs"]


@inlined
def _add_logs(value: Any, at: int, log: Any, lead: Any, offsets: Any, table: int, size: int) -> None:
    """Add to each configuration the logarithm it leads to."""
    for i in range(size):
        step = np.int64(offsets[U(table + i)]) if table >= 0 else i
        value[U(at + i)] += log[U(lead + step)]


@inlined
def fill_logs(kinds: Kinds, slab: Slab, spots: Spots, c: Any, log: Any, value: Any, message: Any) -> float:
    """Add the logs of the factors and the children's messages of cell c; return the largest sum."""
    kind, at, offsets = slab.kind[c], spots.value[c], kinds.offsets
    size, start = kinds.size[kind], slab.base_start[c]
    for i in range(size):
        value[U(at + i)] = 0.0
    for k in range(start, slab.base_start[c + 1]):
        table = kinds.link_table[kinds.link_start[kind] + k - start]
        _add_logs(value, at, log, np.int64(slab.base[k]), offsets, table, size)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        _add_logs(value, at, message, np.int64(spots.child_message[k]), offsets, slab.above[k], size)
    top = -np.inf
    for i in range(size):
        top = max(top, value[U(at + i)].real)
    return top


@inlined
def send_logs(
    kinds: Kinds, kind: int, at: int, s: int, value: Any, message: Any, top: Any, sums: bool
) -> None:
    """Write the log of the sum, or of the largest, of what agrees with each shared configuration.

    ``top`` is working memory as long as ``message``.
    """
    own, shared, offsets = kinds.own[kind], kinds.shared[kind], kinds.offsets
    for j in range(s, s + shared):
        top[j] = -np.inf
        message[j] = 0.0
    for i in range(kinds.size[kind]):
        j = s + offsets[own + i]
        if value[at + i].real > top[j].real:
            top[j] = value[at + i].real
    for i in range(kinds.size[kind] if sums else 0):
        j = s + offsets[own + i]
        if top[j].real > -np.inf:
            message[j] += np.exp(value[at + i] - top[j])
    for j in range(s, s + shared):
        message[j] = top[j] + np.log(message[j]) if sums and top[j].real > -np.inf else top[j]


@bare
def sweep_logs(
    kinds_arena: Any,
    cells_arena: Any,
    weight: Any,
    log: Any,
    value: Any,
    message: Any,
    belief: Any,
    counts: Any,
    root_log: Any,
    lanes: Any,
) -> None:
    """Do as `sweep` for one parameter vector, given its logarithms.

    Parameters
    ----------
    kinds_arena, cells_arena, weight
        The cells, and the weights of the rows that end in each; the last (cells,).
    log
        Logarithms of the potentials; (size,).
    value, message, belief
        Those of a `Room` of one lane.
    counts
        Added to unless it is empty; (size,).
    root_log
        Written at the roots: the log of their sum; (cells,).
    lanes
        A tuple of one item.
    """
    kinds = kinds_in(kinds_arena)
    slab, spots = cells_in(cells_arena, weight)
    offsets, cells = kinds.offsets, count_in(cells_arena)
    # Going up, ``value`` and ``message`` of cells before c hold logarithms, but roots their posterior; once a
    # cell has sent, its ``belief`` is zero and then the sum of what the roots read so far believe.
    for c in range(cells):
        kind, at, s = slab.kind[c], spots.value[c], spots.shared[c]
        size, own = kinds.size[kind], kinds.own[kind]
        top = fill_logs(kinds, slab, spots, c, log, value, message)
        if own >= 0:
            send_logs(kinds, kind, at, s, value, message, belief, True)
            for j in range(s, s + kinds.shared[kind]):
                belief[j] = 0.0
            continue
        root_log[c] = top
        if top == -np.inf:
            continue
        mass = root_log[c] - root_log[c]
        for i in range(size):
            value[at + i] = np.exp(value[at + i] - top)
            mass += value[at + i]
        root_log[c] += np.log(mass)
        if counts.size:
            for i in range(size):
                value[at + i] *= slab.weight[c] / mass
            read(kinds, slab, spots, c, at, value, belief, counts, lanes)
    if counts.size == 0:
        return
    for c in range(cells - 1, -1, -1):  # parents first: the belief of cell c is whole
        kind, at, s = slab.kind[c], spots.value[c], spots.shared[c]
        own = kinds.own[kind]
        if own < 0:
            continue
        for i in range(kinds.size[kind]):
            j = s + offsets[own + i]
            possible = message[j].real > -np.inf
            value[at + i] = np.exp(value[at + i] - message[j]) * belief[j] if possible else 0.0
        read(kinds, slab, spots, c, at, value, belief, counts, lanes)
