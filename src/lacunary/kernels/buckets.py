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

__all__ = ["collect", "distribute", "explain", "joint"]

BLOCK = 256
"""Cells of a bucket's table that are worked out in one go."""

DEEP = -650.0
"""Logarithm of the smallest product that plain doubles are trusted with."""


def _block(axes: Any, sizes: Any) -> Any:
    """Return how many of the innermost axes are taken as one block, its cells, and the number of blocks."""
    inner, outer, a = 1, 1, len(axes)
    while a > 0 and inner < BLOCK:
        a -= 1
        inner *= sizes[axes[a]]
    for b in range(a):
        outer *= sizes[axes[b]]
    return a, inner, outer


def _offsets(axes: Any, sizes: Any, steps: Any, first: int, out: Any) -> int:
    """Write where a block's cells lie in a factor; return 1 if side by side, 0 if in one place, else 2."""
    many, moves, apart = 1, 0, 0
    out[0] = 0
    for a in range(len(axes) - 1, first - 1, -1):
        size, step = sizes[axes[a]], steps[a]
        if size > 1 and step != 0:
            moves = 1
        if size > 1 and step != many:
            apart = 1
        for k in range(1, size):
            for i in range(many):
                out[k * many + i] = out[i] + k * step
        many *= size
    return 0 if moves == 0 else 1 + apart


def _advance(
    axes: Any, sizes: Any, first: int, count: Any, step_at: Any, step: Any, low: int, base: Any
) -> None:
    """Go to the next block: the next configuration of the axes before ``first``, in every factor."""
    for a in range(first - 1, -1, -1):
        count[a] += 1
        turn = count[a] == sizes[axes[a]]
        if turn:
            count[a] = 0
        for f in range(len(base)):
            move = step[step_at[low + f] + a]
            base[f] += move * (1 - sizes[axes[a]]) if turn else move
        if not turn:
            return


def _begin(low: int, high: int, factor: Any, graph: Any, message_at: Any, codes: Any) -> Any:
    """Return where the factors of a bucket begin among tables or messages, given what is seen; (factors,)."""
    member_at, member, stride, start, _ = graph
    base = np.empty(high - low, np.int64)
    for f in range(low, high):
        if factor[f] < 0:
            base[f - low] = message_at[-1 - factor[f]]
        else:
            base[f - low] = start[factor[f]]
            for s in range(member_at[factor[f]], member_at[factor[f] + 1]):
                if codes[member[s]] >= 0:
                    base[f - low] += codes[member[s]] * stride[s]
    return base


def _multiply(out: Any, data: Any, base: int, offset: Any, kind: int, logs: bool) -> None:
    """Multiply a block by a factor; in logarithms, add."""
    if kind == 1:
        data = data[base : base + len(out)]
    for i in range(len(out)):
        p = data[i] if kind == 1 else data[base + (offset[i] if kind == 2 else 0)]
        if logs:
            out[i] += np.log(p) if p > 0.0 else -np.inf
        else:
            out[i] *= p


def _fill(b: int, out: Any, logs: bool, tables: Any, messages: Any, sizes: Any, plan: Any, base: Any) -> None:
    """Write the product of a bucket's factors, block by block; in logarithms if so told."""
    axis_at, axis, factor_at, factor, step_at, step = plan
    axes, low, high = axis[axis_at[b] : axis_at[b + 1]], factor_at[b], factor_at[b + 1]
    first, inner, outer = _block(axes, sizes)
    offset, kind = np.empty((high - low, inner), np.int64), np.empty(high - low, np.int64)
    for f in range(low, high):
        kind[f - low] = _offsets(axes, sizes, step[step_at[f] : step_at[f + 1]], first, offset[f - low])
    count = np.zeros(len(axes), np.int64)
    out[:] = 0.0 if logs else 1.0
    for o in range(outer):
        block = out[o * inner : (o + 1) * inner]
        for f in range(low, high):
            data = messages if factor[f] < 0 else tables
            _multiply(block, data, base[f - low], offset[f - low], kind[f - low], logs)
        _advance(axes, sizes, first, count, step_at, step, low, base)


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
    b: int, out: Any, tables: Any, messages: Any, least: Any, sizes: Any, plan: Any, base: Any
) -> Any:
    """Write a bucket's table; return the logarithm it was scaled by, and whether numbers were lost.

    ``least`` has the logarithm of the smallest number above zero in each family and, behind, each message.
    """
    _, _, factor_at, factor, _, _ = plan
    families, bound = len(least) - len(factor_at) + 2, 0.0
    for f in range(factor_at[b], factor_at[b + 1]):
        bound += least[factor[f] if factor[f] >= 0 else families - 1 - factor[f]]
    logs = bound < DEEP
    _fill(b, out, logs, tables, messages, sizes, plan, base)
    if not logs:
        return 0.0, False
    high, low = _scaled(out)
    return high, low < DEEP


def collect(
    graph: Any, plan: Any, above: Any, message_at: Any, table_at: Any, codes: Any, tables: Any, least: Any,
    messages: Any, scales: Any, kept: Any, choice: Any, stale: Any, most: bool,
) -> bool:  # fmt: skip
    """Work out all messages that are stale; return whether small numbers were lost on the way.

    Parameters
    ----------
    graph
        ``member_at, member, stride, start, sizes`` of the families.
    plan
        ``axis_at, axis, factor_at, factor, step_at, step``, as `assign` and `factors` say.
    codes
        The state of what is seen, −1 elsewhere.
    messages, scales, least
        What is written: the messages, each with its largest number one, the logarithm they were divided by,
        and the logarithm of the smallest number above zero.
    kept
        Where tables are kept, each from ``table_at`` on; empty if they are not.
    choice
        With ``most``, maxima take the place of sums, and the best state is written here.
    stale
        Which buckets to work out; what depends on them becomes stale on the way.
    """
    sizes = graph[4]
    axis_at, axis, factor_at, factor, _, _ = plan
    lost, spare, families = False, np.empty(0), len(least) - len(above)
    for b in range(len(above)):
        if not stale[b]:
            continue
        if above[b] >= 0 and above[b] < len(stale):
            stale[above[b]] = True
        cells = table_at[b + 1] - table_at[b]
        if len(kept) == 0 and len(spare) < cells:
            spare = np.empty(2 * cells)
        out = spare[:cells] if len(kept) == 0 else kept[table_at[b] : table_at[b + 1]]
        low, high = factor_at[b], factor_at[b + 1]
        base = _begin(low, high, factor, graph, message_at, codes)
        scale, gone = _product(b, out, tables, messages, least, sizes, plan, base)
        lost = lost or gone
        states = sizes[axis[axis_at[b + 1] - 1]]
        message = messages[message_at[b] : message_at[b + 1]]
        if most:
            _maxima(out, states, message, choice[message_at[b] : message_at[b + 1]])
        else:
            _sums(out, states, message)
        more, smallest = _divided(message)
        scales[b], least[families + b] = scale + more, smallest
        lost = lost or smallest < DEEP
    return lost


def _sums(table: Any, states: int, out: Any) -> None:
    for s in range(len(out)):
        total = 0.0
        for k in range(s * states, (s + 1) * states):
            total += table[k]
        out[s] = total


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


def joint(
    graph: Any, plan: Any, message_at: Any, codes: Any, tables: Any, least: Any, messages: Any, out: Any
) -> Any:
    """Write the root's table; return the logarithm it was divided by, and whether numbers were lost."""
    root, factor_at, factor = len(plan[2]) - 2, plan[2], plan[3]
    low, high = factor_at[root], factor_at[root + 1]
    base = _begin(low, high, factor, graph, message_at, codes)
    return _product(root, out, tables, messages, least, graph[4], plan, base)


def distribute(
    sizes: Any,
    plan: Any,
    above: Any,
    message_at: Any,
    table_at: Any,
    kept: Any,
    shares: Any,
    marginal_at: Any,
    out: Any,
) -> None:
    """Write the posterior of every variable that has a bucket, from ``marginal_at`` on in ``out``.

    ``kept`` are the tables that `collect` left; ``shares`` has room as for all messages, and holds the
    posterior of each bucket's scope in the end.
    """
    axis_at, axis, factor_at, factor, step_at, step = plan
    shares[:] = 0.0
    spare = np.empty(0)
    for b in range(len(above) - 1, -1, -1):  # invariant: the scope's posterior is known: a parent comes first
        share = shares[message_at[b] : message_at[b + 1]]
        if above[b] < 0:
            share[0] = 1.0
        axes = axis[axis_at[b] : axis_at[b + 1]]
        v = axes[len(axes) - 1]
        states, table = sizes[v], kept[table_at[b] : table_at[b + 1]]
        marginal = out[marginal_at[v] : marginal_at[v] + states]
        if len(spare) < len(table):
            spare = np.empty(2 * len(table))
        belief = spare[: len(table)]
        _share_out(table, states, share, marginal, belief)
        first, inner, outer = _block(axes, sizes)
        low = factor_at[b]
        while low < factor_at[b + 1] and factor[low] >= 0:  # families come first, then messages
            low += 1
        many = factor_at[b + 1] - low
        base, count = np.zeros(many, np.int64), np.zeros(len(axes), np.int64)
        offsets, kind = np.empty((many, inner), np.int64), np.empty(many, np.int64)
        for f in range(many):
            base[f] = message_at[-1 - factor[low + f]]
            kind[f] = _offsets(axes, sizes, step[step_at[low + f] : step_at[low + f + 1]], first, offsets[f])
        for o in range(outer):
            block = belief[o * inner : (o + 1) * inner]
            for f in range(many):
                _scatter(block, shares, base[f], offsets[f], kind[f])
            _advance(axes, sizes, first, count, step_at, step, low, base)


def _share_out(table: Any, states: int, share: Any, marginal: Any, out: Any) -> None:
    """Write the posterior of a table's variables, given that of its scope, and add up its own variable's."""
    marginal[:] = 0.0
    for s in range(len(share)):
        total = 0.0
        for k in range(s * states, (s + 1) * states):
            total += table[k]
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


def explain(sizes: Any, axis_at: Any, axis: Any, message_at: Any, choice: Any, codes: Any) -> None:
    """Write the best state of every variable that has a bucket, the last that was maximised out first."""
    for b in range(len(message_at) - 2, -1, -1):
        at = 0
        for s in range(axis_at[b], axis_at[b + 1] - 1):
            at = at * sizes[axis[s]] + codes[axis[s]]
        codes[axis[axis_at[b + 1] - 1]] = choice[message_at[b] + at]
