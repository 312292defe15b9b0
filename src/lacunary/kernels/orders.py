"""What bucket elimination needs to know before it sums: which families, in which order, what goes where.

Plain functions, as in `lacunary.kernels.buckets`, which explains the words. Its arrays, in all of them:

- ``member`` from ``member_at[i]`` on: variable i and its parents; ``stride``: how far a step in each moves in
  the family's table. ``child`` from ``child_at[i]`` on: its children.
- ``sizes``, ``weight``, ``codes``, by variable: its number of states, the logarithm of that, and the state
  that is seen. ``targets`` are asked about, ``wanted`` says which families count.
- ``axis`` from ``axis_at[b]`` on: the variables of bucket b's table. ``above[b]``: where its message goes;
  ``home[i]``: where family i goes, see `assign`. ``factor``, ``step_at``, ``step``: see `factors`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ENTRIES", "OPEN", "SOFT", "ancestors", "lay", "needed", "opened", "order", "with_likelihoods"]

ENTRIES = ("order",)
"""What Python calls; see `lacunary.kernels.promote`."""

MANY = 48
"""Above so many neighbours the fill-in of a variable is bounded instead of counted."""

WIDE = 4096
"""Cells above which other orders of elimination are tried."""

HEAD = 5
"""Numbers in front of a layout that say how long its parts are."""

OPEN, SOFT = -1, -2
"""What stands among codes for a variable of which nothing is known, or a likelihood of its states."""


def needed(member_at: Any, member: Any, child_at: Any, child: Any, codes: Any, targets: Any) -> Any:
    """Return which families say something about the targets given what is seen (Shachter's Bayes ball).

    ``member[member_at[i]:member_at[i + 1]]`` are variable i and its parents, ``child`` its children;
    ``codes`` are the states of what is seen, `OPEN` or `SOFT` elsewhere; (variables,).
    """
    many = len(codes)
    top, bottom = np.zeros(many, np.bool_), np.zeros(many, np.bool_)
    stack = np.empty(len(member) + len(child) + many, np.int64)  # 2 · variable + whether a child sent it
    high = 0
    for v in targets:
        stack[high] = 2 * v + 1
        high += 1
    while high > 0:  # invariant: every variable is opened once upwards and once downwards at most
        high -= 1
        v, below = stack[high] // 2, stack[high] % 2 == 1
        down = codes[v] < 0
        up = codes[v] == SOFT or down == below
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


def ancestors(member_at: Any, member: Any, codes: Any) -> Any:
    """Return which variables are known, or have a descendant that is; (variables,)."""
    found, many = np.zeros(len(codes), np.bool_), len(codes)
    stack, high = np.empty(many, np.int64), 0
    for v in range(many):
        if codes[v] != OPEN:
            found[v] = True
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


def with_likelihoods(wanted: Any, codes: Any) -> Any:
    """Return which families are wanted, with those of the likelihoods of their variables behind them."""
    many = len(codes)
    out = np.zeros(2 * many, np.bool_)
    for v in range(many):
        out[v], out[many + v] = wanted[v], wanted[v] and codes[v] == SOFT
    return out


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
    return _ordered(member_at, member, wanted, seen, weight, targets, how)


def _ordered(member_at: Any, member: Any, wanted: Any, seen: Any, weight: Any, targets: Any, how: int) -> Any:
    """Do what `order` says."""
    place = np.full(len(seen), -1, np.int64)
    who = np.empty(len(seen), np.int64)
    many = 0
    for v in targets:
        place[v], who[many] = many, v
        many += 1
    fixed = len(targets)
    # ``who`` lists the ``many`` variables met so far, ``place`` where each stands.
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
    size = np.empty(many)
    for a in range(many):
        size[a] = weight[who[a]]
    return _eliminate(who, fixed, near, around, degree, size, how)


def _join(a: int, b: int, near: Any, around: Any, degree: Any) -> None:
    near[a, b] = near[b, a] = True
    around[a, degree[a]] = b
    around[b, degree[b]] = a
    degree[a] += 1
    degree[b] += 1


def _eliminate(who: Any, fixed: int, near: Any, around: Any, degree: Any, weight: Any, how: int) -> Any:
    """Do what `order` says, for variables ``who`` of ``weight``, the first ``fixed`` of them targets.

    ``near`` says who stands in one table with whom, (many, many), and ``around`` lists these neighbours,
    ``degree`` of them; they change as variables go.
    """
    many = len(degree)
    first, second = np.empty(many), np.empty(many)
    touched, alive = np.zeros(many, np.bool_), np.ones(many, np.bool_)
    for v in range(fixed, many):
        first[v], second[v] = _cost(v, around, degree, near, weight, how)
    chain, scope_at = np.empty(many, np.int64), np.zeros(many - fixed + 1, np.int64)
    scope = np.empty(8 * many + 8, np.int64)
    for step in range(many - fixed):  # invariant: `near`, `around` join all that share a table by now
        best = -1
        for v in range(fixed, many):
            if alive[v] and (
                best < 0 or first[v] < first[best] or (first[v] == first[best] and second[v] < second[best])
            ):
                best = v
        start, width = scope_at[step], degree[best]
        if start + width > len(scope):
            scope = _longer(scope, start, width)
        for s in range(width):
            scope[start + s] = who[around[best, s]]
        chain[step], alive[best], scope_at[step + 1] = who[best], False, start + width
        _leave(best, near, around, degree, touched)
        for v in range(many):
            if touched[v] and alive[v] and v >= fixed:
                first[v], second[v] = _cost(v, around, degree, near, weight, how)
            touched[v] = False
    for t in range(fixed):
        chain[many - fixed + t] = who[t]
    return chain, scope_at, scope[: scope_at[many - fixed]]


def _longer(list_: Any, used: int, more: int) -> Any:
    """Return a list with room for more."""
    out = np.empty(2 * (used + more), np.int64)
    for i in range(used):
        out[i] = list_[i]
    return out


def _leave(v: int, near: Any, around: Any, degree: Any, touched: Any) -> None:
    """Take a variable out and join its neighbours; mark those whose cost may have changed."""
    ring = around[v]
    for r in range(degree[v]):
        a = ring[r]
        touched[a] = True
        for s in range(degree[a]):
            if around[a, s] == v:
                around[a, s] = around[a, degree[a] - 1]
                break
        degree[a] -= 1
    for s in range(degree[v]):
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
    free, total = np.empty(buckets + 1, np.int64), factor_at[buckets + 1]
    for b in range(buckets + 1):
        free[b] = factor_at[b]
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
    for b in range(buckets + 1):  # the steps of buckets before b are written; ``place`` is −1 everywhere
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


def _cells(axis_at: Any, axis: Any, sizes: Any) -> float:
    """Return how many cells the tables of all buckets have, as a number that may be too large to count."""
    total = 0.0
    for b in range(len(axis_at) - 1):
        cells = 1.0
        for s in range(axis_at[b], axis_at[b + 1]):
            cells = min(cells * sizes[axis[s]], 1e300)
        total += cells
    return total


def _open(member_at: Any, member: Any, wanted: Any, seen: Any) -> int:
    """Return how many variables of the wanted families are not seen."""
    found, many = np.zeros(len(seen), np.bool_), 0
    for i in range(len(wanted)):
        if wanted[i]:
            for at in range(member_at[i], member_at[i + 1]):
                if not seen[member[at]] and not found[member[at]]:
                    found[member[at]] = True
                    many += 1
    return many


def lay(
    member_at: Any, member: Any, stride: Any, sizes: Any, weight: Any, wanted: Any, codes: Any, targets: Any,
    longest: float, most: float,
) -> Any:  # fmt: skip
    """Return a layout for the wanted families, in the cheapest order found, and how many cells it has.

    It is one array, which `opened` takes apart. Of more cells than ``most`` it is empty; and of more open
    variables than ``longest``, whose number, below zero, comes in place of that of the cells.
    """
    seen, fixed, cells = np.empty(len(codes), np.bool_), len(targets), np.inf
    for v in range(len(codes)):
        seen[v] = codes[v] >= 0
    many = _open(member_at, member, wanted, seen)
    if many > longest:
        return np.empty(0, np.int64), -float(many)
    for how in range(3):  # the cheapest of the orders before this has ``cells``
        chain, scope_at, scope = _ordered(member_at, member, wanted, seen, weight, targets, how)
        found = assign(member_at, member, wanted, sizes, chain, scope_at, scope, fixed)
        fewer = _cells(found[0], found[1], sizes)
        if fewer < cells:
            cells = fewer
            axis_at, axis, above, home = found
        if cells <= WIDE:
            break
    if cells > most:
        return np.empty(0, np.int64), cells
    factor_at, factor, step_at, step = factors(member_at, member, stride, sizes, axis_at, axis, above, home)
    return _packed(axis_at, axis, above, home, factor_at, factor, step_at, step, sizes), cells


def _packed(
    axis_at: Any, axis: Any, above: Any, home: Any, factor_at: Any, factor: Any, step_at: Any, step: Any,
    sizes: Any,
) -> Any:  # fmt: skip
    """Return a layout as one array, with where the tables and messages of its buckets begin."""
    buckets = len(above)
    length = HEAD + 5 * buckets + 8 + len(axis) + len(home) + 2 * len(factor) + len(step)
    out = np.empty(length, np.int64)
    out[0], out[1], out[2], out[3], out[4] = buckets, len(axis), len(home), len(factor), len(step)
    into = opened(out)
    _copy(axis_at, into[0])
    _copy(axis, into[1])
    _copy(above, into[2])
    _copy(home, into[3])
    _copy(factor_at, into[4])
    _copy(factor, into[5])
    _copy(step_at, into[6])
    _copy(step, into[7])
    table_at, message_at = into[8], into[9]
    table_at[0] = message_at[0] = 0
    for b in range(buckets + 1):  # ``table_at`` and ``message_at`` are right up to b
        cells = 1
        for s in range(axis_at[b], axis_at[b + 1]):
            cells *= sizes[axis[s]]
        table_at[b + 1] = table_at[b] + cells
        if b < buckets:
            message_at[b + 1] = message_at[b] + cells // sizes[axis[axis_at[b + 1] - 1]]
    return out


def _copy(given: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = given[i]


def opened(packed: Any) -> Any:
    """Return the parts of a layout.

    ``axis_at, axis, above, home`` as `assign` has them, ``factor_at, factor, step_at, step`` as `factors` has
    them, and where each bucket's table, the root's last, and each message begin among all.
    """
    buckets, axes, families, many, steps = packed[0], packed[1], packed[2], packed[3], packed[4]
    a = HEAD + buckets + 2
    b = a + axes
    c = b + buckets
    d = c + families
    e = d + buckets + 2
    f = e + many
    g = f + many + 1
    h = g + steps
    i = h + buckets + 2
    return (
        packed[HEAD:a], packed[a:b], packed[b:c], packed[c:d], packed[d:e],
        packed[e:f], packed[f:g], packed[g:h], packed[h:i], packed[i : i + buckets + 1],
    )  # fmt: skip
