"""The tables of islands: what a network says about each row's holes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.arena import pointed
from lacunary.kernels.compile import called, kernel
from lacunary.kernels.islands import Chart, Families, Rows, digits

__all__ = ["fill_tables"]


@called
def _add_factor(
    families: Families, f: int, log_theta: Any, chart: Chart, part: int, sizes: Any, state: Any, out: Any
) -> None:
    """Add the log of one family's factor to the table of a part, whose members are marked by state −1.

    ``log_theta`` are the logs of all parameters, (size,); ``sizes`` and ``state``, (variables,). ``out`` has
    the part's values, and room for steps and digits of its members.
    """
    begin, end = chart.member_start[part], chart.member_start[part + 1]
    at = families.start[f]
    step, digit = out.step, out.digit
    for m in range(begin, end):
        step[m - begin] = 0
        digit[m - begin] = 0
    for e in range(families.member_start[f], families.member_start[f + 1]):
        v = families.member[e]
        if state[v] >= 0:
            at += families.stride[e] * state[v]
        else:
            for m in range(begin, end):
                if chart.member[m] == v:
                    step[m - begin] = families.stride[e]
    for c in range(chart.size[part]):  # ``digit`` are the members' states in c, and ``at`` where they lead
        out.value[c] += log_theta[at]
        m = end - begin - 1
        while m >= 0:
            digit[m] += 1
            at += step[m]
            if digit[m] < sizes[chart.member[begin + m]]:
                break
            at -= step[m] * digit[m]
            digit[m] = 0
            m -= 1


@called
def _touched(families: Families, chart: Chart, part: int, stamp: Any, mark: int, found: Any) -> int:
    """List the families that have a member in a part; return how many."""
    many = 0
    for m in range(chart.member_start[part], chart.member_start[part + 1]):
        v = chart.member[m]
        if stamp[v] != mark:
            stamp[v] = mark
            found[many] = v
            many += 1
        for e in range(families.child_start[v], families.child_start[v + 1]):
            f = families.child[e]
            if stamp[f] != mark:
                stamp[f] = mark
                found[many] = f
                many += 1
    return many


class Scratch(NamedTuple):
    """Room for one part: steps and digits of its members, and values of its configurations."""

    step: NDArray[np.int64]
    digit: NDArray[np.int64]
    value: NDArray[np.float64]


@called
def _settle(value: Any, size: int, table: Any, at: int) -> float:
    """Write the distribution whose logs are given, zeros if all are −∞; return the log of their sum."""
    top = -np.inf
    for c in range(size):
        top = max(top, value[c])
    if top == -np.inf:
        for c in range(size):
            table[at + c] = 0.0
        return top
    whole = 0.0
    for c in range(size):
        table[at + c] = math.exp(value[c] - top)
        whole += table[at + c]
    for c in range(size):
        table[at + c] /= whole
    return top + math.log(whole)


@called
def _cut_factors(families: Families, log_theta: Any, state: Any, found: Any) -> float:
    """Return the log of the factors whose open members are all in the cut, at its present state."""
    log = 0.0
    for k in range(found[0]):
        f = found[1 + k]
        at, known = families.start[f], True
        for e in range(families.member_start[f], families.member_start[f + 1]):
            code = state[families.member[e]]
            known &= code >= 0
            at += families.stride[e] * code
        if known:
            log += log_theta[at]
    return log


@called
def _share(
    chart: Chart, part: int, sizes: Any, mass: float, table: Any, at: int, share: Any, base: int
) -> None:
    """Add a part's marginals, times a mass, to those of its members."""
    begin, end = chart.member_start[part], chart.member_start[part + 1]
    below = 1
    for m in range(end - 1, begin - 1, -1):
        size, to = sizes[chart.member[m]], base + chart.share_at[m]
        for c in range(chart.size[part]):
            share[to + c // below % size] += mass * table[at + c]
        below *= size


@called
def _fill_island(
    families: Families,
    chart: Chart,
    island: int,
    sizes: Any,
    log_theta: Any,
    state: Any,
    table: Any,
    at: int,
    stamp: Any,
    found: Any,
    scratch: Scratch,
) -> float:
    """Write the tables of one island of a row; return the log of its probability, up to a constant.

    First the probabilities of the states of the cut, then for each of them the tables of all parts.

    ``table`` is written from ``at`` on; ``log_theta``, (size,), are logs of parameters; ``sizes`` and
    ``state``, (variables,), are numbers of states and the row's own, −1 in holes, and left so. ``stamp`` and
    ``found``, (variables + 1,), are room to list families in: the last stamp is the last mark used.
    """
    cut, last = chart.part_start[island], chart.part_start[island + 1]
    cuts = chart.size[cut]
    begin, end = chart.member_start[cut], chart.member_start[cut + 1]
    stamp[-1] += 1
    found[0] = _touched(families, chart, cut, stamp, stamp[-1], found[1:])
    for z in range(cuts):
        digits(chart.member, begin, end, sizes, z, state)
        table[at + z] = _cut_factors(families, log_theta, state, found)
    offset = at + cuts
    # ``table[at + z]`` is the log of the cut's own factors in state z and of the sums of the parts before.
    for part in range(cut + 1, last):
        stamp[-1] += 1
        many = _touched(families, chart, part, stamp, stamp[-1], found)
        for z in range(cuts):
            digits(chart.member, begin, end, sizes, z, state)
            for c in range(chart.size[part]):
                scratch.value[c] = 0.0
            for k in range(many):
                _add_factor(families, found[k], log_theta, chart, part, sizes, state, scratch)
            place = offset + z * chart.block[island]
            table[at + z] += _settle(scratch.value, chart.size[part], table, place)
        offset += chart.size[part]
    for m in range(begin, end):
        state[chart.member[m]] = -1
    return _settle(table[at : at + cuts], cuts, table, at)


@kernel
def fill_tables(
    families: Families,
    chart: Chart,
    rows: Rows,
    sizes: Any,
    log_theta: Any,
    first: int,
    last: int,
    table: Any,
    share: Any,
) -> int:
    """Write the tables and marginals of rows first … last − 1; return the first impossible one, or −1.

    Parameters
    ----------
    families, chart, rows
        The network's families, the islands of every pattern, and the rows.
    sizes, log_theta
        Numbers of states, (variables,), and logs of parameters, (size,).
    table
        Written, from each row's ``table_start`` on: one 1 for islands without tables; flat.
    share
        Marginals of the holes, added to from each row's ``share_start`` on; flat.
    """
    n = rows.codes.shape[1]
    widest = 1
    for part in range(chart.size.size):
        widest = max(widest, chart.size[part])
    families, chart = pointed(families), pointed(chart)
    scratch = Scratch(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(widest))
    state, stamp, found = np.empty(n, np.int64), np.zeros(n + 1, np.int64), np.empty(n + 1, np.int64)
    for row in range(first, last):  # ``state`` is −1 in all holes whenever an island begins
        p, base = rows.pattern[row], rows.share_start[row]
        for v in range(n):
            state[v] = rows.codes[row, v]
        for island in range(chart.island_start[p], chart.island_start[p + 1]):
            at = rows.table_start[row] + chart.table_at[island]
            if chart.tree[island] >= 0:
                table[at] = 1.0
                continue
            log = _fill_island(
                families, chart, island, sizes, log_theta, state, table, at, stamp, found, scratch
            )
            if log == -np.inf:
                return row
            cut = chart.part_start[island]
            cuts, offset = chart.size[cut], at + chart.size[cut]
            _share(chart, cut, sizes, 1.0, table, at, share, base)
            for part in range(cut + 1, chart.part_start[island + 1]):
                for z in range(cuts):
                    place = offset + z * chart.block[island]
                    _share(chart, part, sizes, table[at + z], table, place, share, base)
                offset += chart.size[part]
    return -1
