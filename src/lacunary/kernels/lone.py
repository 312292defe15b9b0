"""Rows that are one cell each, all of a kind, in which everything goes along: the E-step under one vector.

With one hidden variable above all others this is what most tables are. Some rows at a time are multiplied,
then their sums are taken, `LANES` together, then all of them are counted, then come their logarithms: no row
waits for the sum, the division or the logarithm of another, and nothing is asked of a row but its links.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.kernels.arena import cells_in, count_in, kinds_in
from lacunary.kernels.cell import SMALL, align_powers, lift
from lacunary.kernels.compile import bare, called, inlined
from lacunary.kernels.lanes import LANES, U
from lacunary.kernels.links import (
    product_1,
    product_2,
    product_4,
    product_8,
    product_16,
    share_1,
    share_2,
    share_4,
    share_8,
    share_16,
    sum_rows,
)

__all__ = ["TOGETHER", "sweep_lone"]

TOGETHER = 1024
"""Numbers that rows which are swept together have, unless one row has more."""

BLOCK = 16
"""Links whose product is looked at together where products may vanish."""

SAFE = 1e-150
"""A product of some links that is no less has lost no digit."""


@inlined
def _multiply(value: Any, at: Any, size: Any, potential: Any, base: Any, first: Any, last: Any) -> None:
    """Write the products over the links of a row, in pieces of which each is twice as long as the next."""
    for i in range(0, size - size % 16, 16):
        product_16(value, at + i, potential, base, first, last, i)
    i = size - size % 16
    if size & 8:
        product_8(value, at + i, potential, base, first, last, i)
        i += 8
    if size & 4:
        product_4(value, at + i, potential, base, first, last, i)
        i += 4
    if size & 2:
        product_2(value, at + i, potential, base, first, last, i)
        i += 2
    if size & 1:
        product_1(value, at + i, potential, base, first, last, i)


@inlined
def _count(value: Any, at: Any, size: Any, counts: Any, read: Any, first: Any, last: Any, share: Any) -> None:
    """Add a row times its share to what its readouts lead to, in the same pieces."""
    for i in range(0, size - size % 16, 16):
        share_16(value, at + i, counts, read, first, last, i, share)
    i = size - size % 16
    if size & 8:
        share_8(value, at + i, counts, read, first, last, i, share)
        i += 8
    if size & 4:
        share_4(value, at + i, counts, read, first, last, i, share)
        i += 4
    if size & 2:
        share_2(value, at + i, counts, read, first, last, i, share)
        i += 2
    if size & 1:
        share_1(value, at + i, counts, read, first, last, i, share)


@called
def _with_care(
    value: Any,
    at: Any,
    size: Any,
    potential: Any,
    base: Any,
    first: Any,
    last: Any,
    spare: Any,
    power: Any,
    log: Any,
) -> None:
    """Write the posterior of a row whose product may have vanished, and the logarithm of its sum.

    Every value has an exponent of its own, in ``power``. From ``spare`` on ``value`` is free. An impossible
    row has a posterior of zeros.
    """
    for i in range(size):
        value[U(at + i)] = 1.0
        power[i] = 0
    # The product of the links before k is value · 2^power, and each value is zero or near one.
    for k in range(first, last, BLOCK):
        end = min(k + BLOCK, last)
        _multiply(value, spare, size, potential, base, k, end)
        least = 1.0
        for i in range(size):
            least = min(least, value[U(spare + i)])
        if least >= SAFE:
            for i in range(size):
                value[U(at + i)] *= value[U(spare + i)]
            lift(value, power, at, size)
            continue
        for n in range(k, end):
            for i in range(size):
                value[U(at + i)] *= potential[U(base[U(n)] + i)]
            lift(value, power, at, size)
    log[0] = 0.0
    align_powers(value, power, at, size, log, 1)
    every = 0.0
    for i in range(size):
        every += value[U(at + i)]
    log[0] += np.log(every)
    for i in range(size if every > 0.0 else 0):
        value[U(at + i)] /= every


@bare
def sweep_lone(
    kinds_arena: Any,
    cells_arena: Any,
    weight: Any,
    potential: Any,
    value: Any,
    power: Any,
    counts: Any,
    root_log: Any,
    total_log: Any,
) -> bool:
    """Do as `lacunary.kernels.sweep.sweep` for cells that are roots of one kind, without children or tables.

    Returns whether some sum was so small that it needed care.

    Parameters
    ----------
    kinds_arena, cells_arena, weight
        The cells, and the weights of the rows that end in each; the last (cells,).
    potential
        At most one, zeros allowed, need not be normalised; (size,).
    value
        Room for a cell, or for `TOGETHER` numbers if that is more; and for another cell at its end.
    power
        Room for an exponent of each number of a cell.
    counts
        Posterior counts, added to unless it is empty; (size,).
    root_log
        Written: the log of each cell's sum; (cells, 1).
    total_log
        The weighted sum of these, added to; (1,).
    """
    kinds, cells = kinds_in(kinds_arena), count_in(cells_arena)
    slab, _ = cells_in(cells_arena, weight)
    kind = slab.kind[0]
    size = kinds.size[kind]
    links, reads = np.int64(slab.base_start[1]), np.int64(slab.read_start[1])
    together, found, careful = max(TOGETHER // size, 1), 0.0, False
    for c in range(0, cells, together):  # cells before c are done; ``value`` is of ``many`` from c on
        many, small = min(together, cells - c), 0
        for r in range(many):
            first = (c + r) * links
            _multiply(value, r * size, size, potential, slab.base, first, first + links)
        whole = many - many % LANES if size % LANES == 0 else 0
        for r in range(0, whole, LANES):  # ``root_log`` has the sums of those before r, not yet logarithms
            sum_rows(root_log, c + r, value, r * size, size, size)
        for r in range(whole, many):
            every = 0.0
            for i in range(size):
                every += value[U(r * size + i)]
            root_log[U(c + r), 0] = every
        for r in range(many):
            small += 0 if root_log[U(c + r), 0] >= SMALL else 1
        for r in range(many if small else 0):
            if not root_log[U(c + r), 0] >= SMALL:  # after this a logarithm, which is below zero
                at, first, log = r * size, (c + r) * links, root_log[c + r]
                spare = value.size - size
                _with_care(value, at, size, potential, slab.base, first, first + links, spare, power, log)
        careful |= small > 0
        for r in range(many if counts.size else 0):
            at, first, sum_ = r * size, (c + r) * reads, root_log[U(c + r), 0]
            share = weight[U(c + r)] / sum_ if sum_ > 0.0 else weight[U(c + r)]
            _count(value, at, size, counts, slab.read, first, first + reads, share)
        for r in range(c, c + many if small else c):
            if root_log[U(r), 0] > 0.0:
                root_log[U(r), 0] = np.log(root_log[U(r), 0])
            found += weight[U(r)] * root_log[U(r), 0] if weight[U(r)] > 0.0 else 0.0
        for r in range(c, c if small else c + many):
            root_log[U(r), 0] = np.log(root_log[U(r), 0])
            found += weight[U(r)] * root_log[U(r), 0]
    total_log[0] += found
    return careful
