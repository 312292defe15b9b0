"""Bucket elimination: the sums. `lacunary.kernels.orders` says which, and in which order.

Soft evidence about a variable, a likelihood of each state, is a family of that variable alone; these families
are numbered behind those of the network.

These are plain functions, which `lacunary.kernels.promote` compiles where that pays: a small network is asked
without a compiler. They sum in one order in either form, so that the answer is the same to the last bit.

A *bucket* belongs to an unobserved variable v that is summed out. Its table has the axes of its *scope*, the
variables v stands with when its turn comes, the one that is summed out last outermost, and v innermost. It is
the product of the families and messages given to it; summed over v it is the message to its parent, the
bucket of the innermost variable of its scope. Variables that are asked about are not summed out: together
they are the *root*, a table whose axes are the targets in their order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.kernels import orders, slices

__all__ = ["ENTRIES", "collect", "distribute", "explain"]

ENTRIES = ("distribute", "explain")
"""What Python calls; see `lacunary.kernels.promote`."""

BLOCK = 256
"""Cells of a bucket's table that are worked out in one go."""

DEEP = -650.0
"""Logarithm of the smallest product that plain doubles are trusted with."""


def _block(b: int, axis_at: Any, axis: Any, sizes: Any) -> Any:
    """Return how many of a bucket's outermost axes are gone through block by block, and a block's cells."""
    inner, outside = 1, axis_at[b + 1] - axis_at[b]
    while outside > 0 and inner < BLOCK:
        outside -= 1
        inner *= sizes[axis[axis_at[b] + outside]]
    return outside, inner


def _room(axis_at: Any, axis: Any, factor_at: Any, sizes: Any) -> Any:
    """Return room for what any bucket needs while it is worked out.

    Where its factors stand, (factors,); where a block's cells lie in each, (factors, cells); how they lie,
    see `_offsets`, (factors,); and the configuration of the axes outside the block, (axes,).
    """
    factors, cells, axes = 1, 1, 1
    for b in range(len(axis_at) - 1):
        factors = max(factors, factor_at[b + 1] - factor_at[b])
        cells = max(cells, _block(b, axis_at, axis, sizes)[1])
        axes = max(axes, axis_at[b + 1] - axis_at[b])
    return (
        np.empty(factors, np.int64),
        np.empty((factors, cells), np.int64),
        np.empty(factors, np.int64),
        np.empty(axes, np.int64),
    )


def _offsets(low: int, high: int, axis: Any, sizes: Any, step: Any, first: int, out: Any) -> int:
    """Write where a block's cells lie in a factor; return 1 if side by side, 0 if in one place, else 2.

    The block has the axes from ``low`` up to ``high``; the factor moves by ``step``, from ``first`` on.
    """
    many, moves, apart = 1, 0, 0
    for a in range(high - 1, low - 1, -1):
        size, far = sizes[axis[a]], step[first + a - low]
        if size > 1 and far != 0:
            moves = 1
        if size > 1 and far != many:
            apart = 1
        many *= size
    if moves == 0 or apart == 0:
        return moves
    many, out[0] = 1, 0
    for a in range(high - 1, low - 1, -1):
        size, far = sizes[axis[a]], step[first + a - low]
        for k in range(1, size):
            for i in range(many):
                out[k * many + i] = out[i] + k * far
        many *= size
    return 2


def _advance(
    first: int, outside: int, axis: Any, sizes: Any, count: Any, low: int, high: int, step_at: Any, step: Any,
    base: Any,
) -> None:  # fmt: skip
    """Go to the next block: the next configuration of the axes outside it, in every factor."""
    for a in range(outside - 1, -1, -1):
        count[a] += 1
        turn = count[a] == sizes[axis[first + a]]
        if turn:
            count[a] = 0
        for f in range(low, high):
            move = step[step_at[f] + a]
            base[f - low] += move * (1 - sizes[axis[first + a]]) if turn else move
        if not turn:
            return


def _begin(
    low: int, high: int, factor: Any, member_at: Any, member: Any, stride: Any, start: Any, message_at: Any,
    codes: Any, base: Any,
) -> None:  # fmt: skip
    """Write where the factors of a bucket begin among tables or messages, given what is seen."""
    for f in range(low, high):
        i = factor[f]
        at = message_at[-1 - i] if i < 0 else start[i]
        if i >= 0:
            for s in range(member_at[i], member_at[i + 1]):
                if codes[member[s]] >= 0:
                    at += codes[member[s]] * stride[s]
        base[f - low] = at


def _put(out: Any, data: Any, base: int, offset: Any, kind: int) -> None:
    """Write a factor's cells into a block."""
    for i in range(len(out)):
        out[i] = data[base + (i if kind == 1 else offset[i] if kind == 2 else 0)]


def _multiply(out: Any, data: Any, base: int, offset: Any, kind: int) -> None:
    """Multiply a block by a factor."""
    if kind == 1:
        for i in range(len(out)):
            out[i] *= data[base + i]
    elif kind == 0:
        p = data[base]
        for i in range(len(out)):
            out[i] *= p
    else:
        for i in range(len(out)):
            out[i] *= data[base + offset[i]]


def _add_log(out: Any, data: Any, base: int, offset: Any, kind: int) -> None:
    """Add a factor's logarithm to a block."""
    for i in range(len(out)):
        p = data[base + (i if kind == 1 else offset[i] if kind == 2 else 0)]
        out[i] += np.log(p) if p > 0.0 else -np.inf


def _fill(
    b: int, out: Any, logs: bool, tables: Any, messages: Any, sizes: Any, axis_at: Any, axis: Any,
    factor_at: Any, factor: Any, step_at: Any, step: Any, base: Any, offset: Any, kind: Any, count: Any,
) -> None:  # fmt: skip
    """Write the product of a bucket's factors, block by block; in logarithms if so told.

    Arrays up to ``step`` are those of `collect` and of its layout; ``base`` says where each factor begins and
    moves on, ``offset``, ``kind`` and ``count`` are the rest of `_room`.
    """
    low, high, start = factor_at[b], factor_at[b + 1], axis_at[b]
    outside, inner = _block(b, axis_at, axis, sizes)
    for f in range(low, high):
        kind[f - low] = _offsets(
            start + outside, axis_at[b + 1], axis, sizes, step, step_at[f] + outside, offset[f - low]
        )
    for a in range(outside):
        count[a] = 0
    if logs or high == low:
        for i in range(len(out)):
            out[i] = 0.0 if logs else 1.0
    # Every block before ``first`` holds its product; factor g of this one begins at ``base[g]``.
    for first in range(0, len(out), inner):
        block = out[first : first + inner]
        for f in range(low, high):
            g = f - low
            if logs:
                _add_log(block, messages if factor[f] < 0 else tables, base[g], offset[g], kind[g])
            elif g == 0:
                _put(block, messages if factor[f] < 0 else tables, base[g], offset[g], kind[g])
            else:
                _multiply(block, messages if factor[f] < 0 else tables, base[g], offset[g], kind[g])
        _advance(start, outside, axis, sizes, count, low, high, step_at, step, base)


def _scaled(out: Any) -> Any:
    """Turn logarithms into numbers whose largest is one; return its logarithm, and the least that is left."""
    high, low = -np.inf, np.inf
    for i in range(len(out)):
        high = max(high, out[i])
        if out[i] > -np.inf:
            low = min(low, out[i])
    for i in range(len(out)):
        out[i] = np.exp(out[i] - high) if high > -np.inf else 0.0
    return high, low - high


def _product(
    b: int, out: Any, member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, axis_at: Any,
    axis: Any, factor_at: Any, factor: Any, step_at: Any, step: Any, message_at: Any, codes: Any, tables: Any,
    least: Any, zero: Any, messages: Any, faint: Any, base: Any, offset: Any, kind: Any, count: Any,
) -> Any:  # fmt: skip
    """Write a bucket's table; return the logarithm it was scaled by, and whether numbers were lost."""
    low, high, bound = factor_at[b], factor_at[b + 1], 0.0
    _begin(low, high, factor, member_at, member, stride, start, message_at, codes, base)
    for careful in range(2):  # at first by what is known of whole tables, of which evidence leaves a part
        bound, slack = 0.0, False
        for f in range(low, high):  # ``bound`` is a lower one for products of the factors before this
            i = factor[f]
            if i < 0:
                bound += faint[-1 - i]
            elif careful or np.isnan(least[i]):
                bound += slices.look(
                    i, member_at, member, stride, start, sizes, codes, tables, least, zero
                )[0]  # fmt: skip
            else:
                bound, slack = bound + least[i], True
        if bound >= DEEP or not slack:
            break
    logs = bound < DEEP
    _fill(
        b, out, logs, tables, messages, sizes, axis_at, axis, factor_at, factor, step_at, step, base, offset,
        kind, count,
    )  # fmt: skip
    if not logs:
        return 0.0, False
    high_log, low_log = _scaled(out)
    return high_log, low_log < DEEP


def collect(
    member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, packed: Any, codes: Any, tables: Any,
    least: Any, zero: Any, messages: Any, faint: Any, scales: Any, kept: Any, choice: Any, stale: Any,
    root: Any,
) -> bool:  # fmt: skip
    """Work out all messages that are stale, and the root's table; return whether small numbers were lost.

    Parameters
    ----------
    member_at, member, stride, start, sizes
        The families: their variables, how far a step in each moves, where the tables begin; and the number of
        states of every variable.
    packed
        The layout, as `orders.lay` returns it.
    codes
        The state of what is seen, below zero elsewhere.
    tables, least, zero
        All tables, and for each family the logarithm of its smallest number above zero and whether it has a
        zero; NaN and a number below zero where that is not known, see `slices.look`.
    messages, scales, faint
        What is written: the messages, each with its largest number one, the logarithm they were divided by,
        and the logarithm of the smallest number above zero.
    kept
        Where tables are kept, one behind the other; empty if they are not.
    choice
        Where the best state is written, if maxima take the place of sums; else empty.
    stale
        Which buckets to work out; what depends on them becomes stale on the way.
    root
        Where the root's table is written; empty if it is not. Its scale goes to the last of ``scales``.
    """
    axis_at, axis, above, _, factor_at, factor, step_at, step, table_at, message_at = orders.opened(packed)
    base, offset, kind, count = _room(axis_at, axis, factor_at, sizes)
    lost, spare, buckets = False, np.empty(0), len(above)
    # No bucket before b is stale: its message, scale and smallest number are right.
    for b in range(buckets + 1):
        if (b < buckets and not stale[b]) or (b == buckets and len(root) == 0):
            continue
        cells = table_at[b + 1] - table_at[b]
        if b < buckets and len(kept) == 0 and len(spare) < cells:
            spare = np.empty(2 * cells)
        out = root if b == buckets else spare[:cells]
        if b < buckets and len(kept) > 0:
            out = kept[table_at[b] : table_at[b + 1]]
        scale, gone = _product(
            b, out, member_at, member, stride, start, sizes, axis_at, axis, factor_at, factor, step_at, step,
            message_at, codes, tables, least, zero, messages, faint, base, offset, kind, count,
        )  # fmt: skip
        lost = lost or gone
        if b == buckets:
            scales[b] = scale
            continue
        if above[b] >= 0 and above[b] < buckets:
            stale[above[b]] = True
        states = sizes[axis[axis_at[b + 1] - 1]]
        message = messages[message_at[b] : message_at[b + 1]]
        if len(choice) > 0:
            _maxima(out, states, message, choice[message_at[b] : message_at[b + 1]])
        else:
            _sums(out, states, message)
        more, smallest = _divided(message)
        scales[b], faint[b] = scale + more, smallest
        lost = lost or smallest < DEEP
    return lost


def _sums(table: Any, states: int, out: Any) -> None:
    for s in range(len(out)):
        out[s] = _sum(table[s * states : (s + 1) * states])


def _sum(numbers: Any) -> Any:
    """Return the sum of some numbers, of which every fourth makes a sum by itself: none waits for another."""
    many = len(numbers)
    a = b = c = d = 0.0
    for k in range(many // 4):  # ``a`` to ``d`` are the sums of what stands before 4k
        a += numbers[4 * k]
        b += numbers[4 * k + 1]
        c += numbers[4 * k + 2]
        d += numbers[4 * k + 3]
    for k in range(many - many % 4, many):
        a += numbers[k]
    return (a + b) + (c + d)


def _maxima(table: Any, states: int, out: Any, choice: Any) -> None:
    for s in range(len(out)):
        best = 0
        for k in range(1, states):
            if table[s * states + k] > table[s * states + best]:
                best = k
        out[s], choice[s] = table[s * states + best], best


def _divided(message: Any) -> Any:
    """Divide a message by its largest number; return its logarithm and that of the smallest that is left."""
    high, low = 0.0, np.inf
    for s in range(len(message)):
        high = max(high, message[s])
        if message[s] > 0.0:
            low = min(low, message[s])
    if high == 0.0:
        return -np.inf, 0.0
    for s in range(len(message)):
        message[s] /= high
    return np.log(high), np.log(low / high)


def distribute(sizes: Any, packed: Any, kept: Any, shares: Any, marginal_at: Any, out: Any) -> None:
    """Write the posterior of every variable that has a bucket, from ``marginal_at`` on in ``out``.

    ``sizes`` and ``packed`` are those of `collect`, ``kept`` the tables that it left; ``shares`` has room as
    for all messages, and holds the posterior of each bucket's scope in the end.
    """
    axis_at, axis, above, _, factor_at, factor, step_at, step, table_at, message_at = orders.opened(packed)
    base, offset, kind, count = _room(axis_at, axis, factor_at, sizes)
    for i in range(len(shares)):
        shares[i] = 0.0
    spare = np.empty(0)
    for b in range(len(above) - 1, -1, -1):  # invariant: the scope's posterior is known: a parent comes first
        share = shares[message_at[b] : message_at[b + 1]]
        if above[b] < 0:
            share[0] = 1.0
        start, end = axis_at[b], axis_at[b + 1]
        v = axis[end - 1]
        states, table = sizes[v], kept[table_at[b] : table_at[b + 1]]
        marginal = out[marginal_at[v] : marginal_at[v] + states]
        if len(spare) < len(table):
            spare = np.empty(2 * len(table))
        belief = spare[: len(table)]
        _share_out(table, states, share, marginal, belief)
        outside, inner = _block(b, axis_at, axis, sizes)
        low, high = factor_at[b], factor_at[b + 1]
        while low < high and factor[low] >= 0:  # families come first, then messages
            low += 1
        for a in range(outside):
            count[a] = 0
        for f in range(low, high):
            g = f - low
            base[g] = message_at[-1 - factor[f]]
            kind[g] = _offsets(start + outside, end, axis, sizes, step, step_at[f] + outside, offset[g])
        for first in range(0, len(belief), inner):
            block = belief[first : first + inner]
            for f in range(low, high):
                _scatter(block, shares, base[f - low], offset[f - low], kind[f - low])
            _advance(start, outside, axis, sizes, count, low, high, step_at, step, base)


def _share_out(table: Any, states: int, share: Any, marginal: Any, out: Any) -> None:
    """Write the posterior of a table's variables, given that of its scope, and add up its own variable's."""
    for k in range(states):
        marginal[k] = 0.0
    for s in range(len(share)):
        total = _sum(table[s * states : (s + 1) * states])
        part = share[s] / total if total > 0.0 else 0.0
        for k in range(states):
            out[s * states + k] = table[s * states + k] * part
            marginal[k] += out[s * states + k]


def _scatter(block: Any, out: Any, base: int, offset: Any, kind: int) -> None:
    """Add a block to the cells it belongs to."""
    if kind == 1:
        part = out[base : base + len(block)]
        for i in range(len(block)):
            part[i] += block[i]
    elif kind == 0:
        total = 0.0
        for i in range(len(block)):
            total += block[i]
        out[base] += total
    else:
        for i in range(len(block)):
            out[base + offset[i]] += block[i]


def explain(sizes: Any, packed: Any, choice: Any, codes: Any) -> None:
    """Write the best state of every variable that has a bucket, the last that was maximised out first."""
    axis_at, axis, above, _, _, _, _, _, _, message_at = orders.opened(packed)
    for b in range(len(above) - 1, -1, -1):
        at = 0
        for s in range(axis_at[b], axis_at[b + 1] - 1):
            at = at * sizes[axis[s]] + codes[axis[s]]
        codes[axis[axis_at[b + 1] - 1]] = choice[message_at[b] + at]
