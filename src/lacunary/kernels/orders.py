"""What bucket elimination needs to know before it sums: which families, in which order, what goes where.

Plain functions, as in `lacunary.kernels.buckets`, which explains the words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ancestors", "assign", "factors", "needed", "order"]

MANY = 48
"""Above so many neighbours the fill-in of a variable is bounded instead of counted."""


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
