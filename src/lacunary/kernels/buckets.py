"""Bucket elimination: which families a question needs, in which order variables are summed out, the sums.

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

__all__ = ["ancestors", "assign", "collect", "distribute", "explain", "factors", "joint", "needed", "order"]

MANY = 48
"""Above so many neighbours the fill-in of a variable is bounded instead of counted."""

BLOCK = 256
"""Cells of a bucket's table that are worked out in one go."""

DEEP = -650.0
"""Logarithm of the smallest product that plain doubles are trusted with."""


def needed(member_at: Any, member: Any, child_at: Any, child: Any, seen: Any, soft: Any, target: Any) -> Any:
    """Return which families say something about the targets given what is seen (Shachter's Bayes ball).

    ``member[member_at[i]:member_at[i + 1]]`` are variable i and its parents, ``child`` its children;
    ``seen``, ``soft`` and ``target`` are flags: observed, with a likelihood, asked about. (variables,)
    """
    many = len(seen)
    top, bottom = np.zeros(many, np.bool_), np.zeros(many, np.bool_)
    stack = np.empty(len(member) + len(child) + many, np.int64)  # 2 · variable + whether a child sent it
    high = 0
    for v in range(many):
        if target[v]:
            stack[high] = 2 * v + 1
            high += 1
    while high > 0:  # invariant: every variable is opened once upwards and once downwards at most
        high -= 1
        v, below = stack[high] // 2, stack[high] % 2 == 1
        up = seen[v] != below if not soft[v] else True
        down = not seen[v]
        if up and not top[v]:
            top[v] = True
            for at in range(member_at[v] + 1, member_at[v + 1]):
                stack[high] = 2 * member[at] + 1
                high += 1
        if down and not bottom[v]:
            bottom[v] = True
            for at in range(child_at[v], child_at[v + 1]):
                stack[high] = 2 * child[at]
                high += 1
    return top


def ancestors(member_at: Any, member: Any, flags: Any) -> Any:
    """Return which variables are flagged or have a descendant that is; (variables,)."""
    found, many = flags.copy(), len(flags)
    stack, high = np.empty(many, np.int64), 0
    for v in range(many):
        if flags[v]:
            stack[high] = v
            high += 1
    while high > 0:  # invariant: what is on the stack is marked, its parents need not be
        high -= 1
        v = stack[high]
        for at in range(member_at[v] + 1, member_at[v + 1]):
            if not found[member[at]]:
                found[member[at]] = True
                stack[high] = member[at]
                high += 1
    return found


def _cost(v: int, around: Any, degree: Any, near: Any, weight: Any, how: int) -> Any:
    """Return what it costs to sum a variable out: fill-in and log-size, or log-size, or weighted fill-in."""
    many, size, missing = degree[v], weight[v], 0.0
    for s in range(many):
        a = around[v, s]
        size += weight[a]
        if how != 1 and many <= MANY:
            for t in range(s):
                if not near[a, around[v, t]]:
                    missing += 1.0 if how == 0 else weight[a] * weight[around[v, t]]
    if many > MANY:
        missing = many * many / 2.0
    return (size, 0.0) if how == 1 else (missing, size)


def order(member_at: Any, member: Any, wanted: Any, seen: Any, weight: Any, targets: Any, how: int) -> Any:
    """Return the unobserved variables of the wanted families in an order of elimination, targets last.

    ``weight`` is the logarithm of every variable's number of states. With it come, for each variable but the
    targets, its scope: where it begins in a list of variables, (eliminated + 1,), and that list.
    """
    place = np.full(len(seen), -1, np.int64)
    who = np.empty(len(seen), np.int64)
    many = 0
    for v in targets:
        place[v], who[many] = many, v
        many += 1
    fixed = many
    for i in range(len(wanted)):
        if wanted[i]:
            for at in range(member_at[i], member_at[i + 1]):
                v = member[at]
                if not seen[v] and place[v] < 0:
                    place[v], who[many] = many, v
                    many += 1
    near = np.zeros((many, many), np.bool_)  # who stands in one table with whom
    around = np.empty((many, many), np.int32)  # the neighbours of each, `degree` of them
    degree = np.zeros(many, np.int64)
    for a in range(fixed):
        for b in range(a):
            _join(a, b, near, around, degree)
    for i in range(len(wanted)):
        if wanted[i]:
            for s in range(member_at[i], member_at[i + 1]):
                a = place[member[s]]
                for t in range(member_at[i], s):
                    b = place[member[t]]
                    if a >= 0 and b >= 0 and not near[a, b]:
                        _join(a, b, near, around, degree)
    return _eliminate(who[:many], fixed, near, around, degree, weight[who[:many]], how)


def _join(a: int, b: int, near: Any, around: Any, degree: Any) -> None:
    near[a, b] = near[b, a] = True
    around[a, degree[a]] = b
    around[b, degree[b]] = a
    degree[a] += 1
    degree[b] += 1


def _eliminate(who: Any, fixed: int, near: Any, around: Any, degree: Any, weight: Any, how: int) -> Any:
    many = len(who)
    first, second = np.empty(many), np.empty(many)
    touched = np.zeros(many, np.bool_)
    for v in range(fixed, many):
        first[v], second[v] = _cost(v, around, degree, near, weight, how)
    alive = np.ones(many, np.bool_)
    done, scope_at = np.empty(many, np.int64), np.zeros(many - fixed + 1, np.int64)
    scope = np.empty(8 * many + 8, np.int64)
    for step in range(many - fixed):  # invariant: `near`, `around` join all that share a table by now
        best = -1
        for v in range(fixed, many):
            if alive[v] and (
                best < 0 or first[v] < first[best] or (first[v] == first[best] and second[v] < second[best])
            ):
                best = v
        start, width = scope_at[step], degree[best]
        while start + width > len(scope):
            scope = np.concatenate((scope, np.empty_like(scope)))
        for s in range(width):
            scope[start + s] = around[best, s]
        done[step], alive[best], scope_at[step + 1] = best, False, start + width
        ring = scope[start : start + width]
        _leave(best, ring, near, around, degree, touched)
        for v in range(fixed, many):
            if touched[v] and alive[v]:
                first[v], second[v] = _cost(v, around, degree, near, weight, how)
        touched[:] = False
    for t in range(fixed):
        done[many - fixed + t] = t
    return who[done], scope_at, who[scope[: scope_at[many - fixed]]]


def _leave(v: int, ring: Any, near: Any, around: Any, degree: Any, touched: Any) -> None:
    """Take a variable out and join its neighbours; mark those whose cost may have changed."""
    for a in ring:
        touched[a] = True
        for s in range(degree[a]):
            if around[a, s] == v:
                around[a, s] = around[a, degree[a] - 1]
                break
        degree[a] -= 1
    for s in range(len(ring)):
        a = ring[s]
        for t in range(s):
            b = ring[t]
            if not near[a, b]:
                for c in range(degree[a]):
                    touched[around[a, c]] = True
                for c in range(degree[b]):
                    touched[around[b, c]] = True
                _join(a, b, near, around, degree)


def assign(
    member_at: Any, member: Any, wanted: Any, sizes: Any, chain: Any, scope_at: Any, scope: Any, fixed: int
) -> Any:
    """Return the axes of each bucket, and the buckets to which messages and families go.

    ``chain``, ``scope_at`` and ``scope`` are what `order` says, ``fixed`` the number of targets. Axes come as
    a list of variables and where each bucket's begin in it, the root's last. A message goes to −1 if it is a
    number; a family to −2 if nothing of it is open, to −1 if it is not wanted. The root is the last bucket.
    """
    buckets, many = len(chain) - fixed, len(wanted)
    turn = np.full(len(sizes), -1, np.int64)
    for step in range(len(chain)):
        turn[chain[step]] = step
    axis_at, axis = np.zeros(buckets + 2, np.int64), np.empty(len(scope) + len(chain), np.int64)
    above = np.full(buckets, -1, np.int64)
    at = 0
    for b in range(buckets):
        for s in range(scope_at[b], scope_at[b + 1]):
            axis[at] = scope[s]
            t = at
            while t > axis_at[b] and turn[axis[t]] > turn[axis[t - 1]]:  # what is summed out last comes first
                v = axis[t]
                axis[t], axis[t - 1] = axis[t - 1], v
                t -= 1
            at += 1
        if at > axis_at[b]:
            above[b] = min(turn[axis[at - 1]], buckets)
        axis[at] = chain[b]
        at += 1
        axis_at[b + 1] = at
    for t in range(fixed):
        axis[at] = chain[buckets + t]
        at += 1
    axis_at[buckets + 1] = at
    home = np.full(many, -1, np.int64)
    for i in range(many):
        if wanted[i]:
            first = buckets + 1
            for s in range(member_at[i], member_at[i + 1]):
                if turn[member[s]] >= 0:
                    first = min(first, turn[member[s]], buckets)
            home[i] = first if first <= buckets else -2
    return axis_at, axis, above, home


def factors(
    member_at: Any, member: Any, stride: Any, sizes: Any, axis_at: Any, axis: Any, above: Any, home: Any
) -> Any:
    """Return the factors of each bucket: families i as i, messages of bucket c as −1 − c.

    With them come where each bucket's begin, (buckets + 2,), and how far a step along each of the bucket's
    axes moves within the factor: from ``step_at[f]`` on for factor f.
    """
    buckets, many = len(above), len(home)
    factor_at = np.zeros(buckets + 2, np.int64)
    for i in range(many):
        if home[i] >= 0:
            factor_at[home[i] + 1] += 1
    for b in range(buckets):
        if above[b] >= 0:
            factor_at[above[b] + 1] += 1
    for b in range(buckets + 1):
        factor_at[b + 1] += factor_at[b]
    free, total = factor_at[:-1].copy(), factor_at[buckets + 1]
    factor, step_at = np.empty(total, np.int64), np.zeros(total + 1, np.int64)
    for i in range(many):
        if home[i] >= 0:
            factor[free[home[i]]] = i
            free[home[i]] += 1
    for b in range(buckets):
        if above[b] >= 0:
            factor[free[above[b]]] = -1 - b
            free[above[b]] += 1
    for b in range(buckets + 1):
        for f in range(factor_at[b], factor_at[b + 1]):
            step_at[f + 1] = step_at[f] + axis_at[b + 1] - axis_at[b]
    step, place = np.zeros(step_at[total], np.int64), np.full(many, -1, np.int64)
    for b in range(buckets + 1):
        for s in range(axis_at[b], axis_at[b + 1]):
            place[axis[s]] = s - axis_at[b]
        for f in range(factor_at[b], factor_at[b + 1]):
            if factor[f] >= 0:
                for s in range(member_at[factor[f]], member_at[factor[f] + 1]):
                    if place[member[s]] >= 0:
                        step[step_at[f] + place[member[s]]] = stride[s]
            else:
                c, size = -1 - factor[f], 1
                for s in range(axis_at[c + 1] - 2, axis_at[c] - 1, -1):
                    step[step_at[f] + place[axis[s]]] = size
                    size *= sizes[axis[s]]
        for s in range(axis_at[b], axis_at[b + 1]):
            place[axis[s]] = -1
    return factor_at, factor, step_at, step


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
