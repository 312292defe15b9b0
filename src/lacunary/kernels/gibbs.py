"""The holes of a row, island by island: gone through way by way where these are few, else by Gibbs chains.

Given a row's observed cells its holes fall apart into islands, whose variables share families. Continuous
holes are integrated out given the states of the discrete ones, and so is a discrete hole that only its own
family sees (it is *private*). What is left of an island is gone through way by way, or chains draw its holes,
one or two at a time given all others (a blocked, collapsed Gibbs sampler). The chains begin at draws from the
variables' own families and are led to the posterior in steps that bring in what was observed little by
little; their weights (annealed importance sampling, Neal 2001) estimate the island's evidence and correct the
chains.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.arena import pointed
from lacunary.kernels.compile import bare, called, patient
from lacunary.kernels.variate import FIRST, SECOND, uniform

__all__ = [
    "LEAF",
    "LINEAR",
    "NEVER",
    "TABLE",
    "Chart",
    "Families",
    "Found",
    "Plan",
    "Seen",
    "Workspace",
    "any_wide",
    "visit",
]

TABLE, LINEAR, LEAF = 0, 1, 2
"""Kinds of families."""

NEVER = -1000.0
"""Stands for the log of zero, so that a chain can leave a state that is impossible."""

PAIR = 64
"""Joint states of two holes up to which they are drawn together."""

EVEN = 1.0
"""Relative variance of chains' weights above which they are led again in smaller steps."""

LOG_2PI = math.log(2.0 * math.pi)


class Families(NamedTuple):
    """The graph. Lists of a variable v stand from ``x_start[v]`` to ``x_start[v + 1]``.

    ``kind``, ``size`` and ``many`` are the family's kind, its child's states and its configurations;
    ``member`` with ``stride`` are the discrete variables that say which numbers of a family count, of a
    table itself first; ``column`` are a regression's continuous variables, the child last; ``touch`` are the
    families that a variable is in. A family's numbers start at ``start``, its constants at ``base``.
    ``order`` has parents before children.
    """

    kind: NDArray[np.int64]
    size: NDArray[np.int64]
    many: NDArray[np.int64]
    member: NDArray[np.int64]
    stride: NDArray[np.int64]
    member_start: NDArray[np.int64]
    column: NDArray[np.int64]
    column_start: NDArray[np.int64]
    touch: NDArray[np.int64]
    touch_start: NDArray[np.int64]
    start: NDArray[np.int64]
    base: NDArray[np.int64]
    order: NDArray[np.int64]


class Seen(NamedTuple):
    """Rows under one vector.

    ``codes``, ``reals`` and ``weight`` are the rows, HOLE (−1) and NaN for holes. ``value`` has the numbers
    of families: log-probabilities of tables, each summing to one, with log sums ``total`` beside them;
    quadratic forms Q of regressions, log f = g − ½ zᵀQz with g in ``constant``; and, row by row,
    log-densities of leaves.
    """

    codes: NDArray[np.int32]
    reals: NDArray[np.float64]
    weight: NDArray[np.float64]
    value: NDArray[np.float64]
    total: NDArray[np.float64]
    constant: NDArray[np.float64]


class Plan(NamedTuple):
    """How hard to try: ways of an island gone through one by one, chains, steps, sweeps kept, and a seed.

    Steps are multiplied by four, at most ``again`` times, while the chains' weights are too uneven.
    """

    ways: int
    chains: int
    steps: int
    again: int
    sweeps: int
    seed: Any


class Found(NamedTuple):
    """What is written: statistics, each row's log-evidence, and draws of completed rows.

    ``counts`` are exact statistics, to which the mean of ``chains`` is to be added; ``square`` is the square
    of the error of ``log``. Statistics and draws without entries are not written. Shapes (places,), (chains,
    places), (rows,), (rows,), and (rows, draws, variables).
    """

    counts: NDArray[np.float64]
    chains: NDArray[np.float64]
    log: NDArray[np.float64]
    square: NDArray[np.float64]
    drawn: NDArray[np.int32]


class Workspace(NamedTuple):
    """Working memory of one row.

    ``code`` is the row as it is being filled; ``island`` joins variables; ``alone`` marks private holes;
    ``live`` marks families that count, and ``home`` is the island of their holes, −1 without; ``spot`` is a
    continuous hole's number in its island; ``state`` and ``family`` list an island's discrete holes and its
    families. ``record`` are the ways or draws, ``share`` their weights; ``part`` and ``sum`` hold statistics
    at the places listed in ``hit`` and ``hits``. There are ``n`` variables, and as many numbers in each
    line of ``matrix`` and ``record``.
    """

    n: int
    code: NDArray[np.int64]
    island: NDArray[np.int64]
    alone: NDArray[np.bool_]
    live: NDArray[np.bool_]
    home: NDArray[np.int64]
    spot: NDArray[np.int64]
    state: NDArray[np.int64]
    family: NDArray[np.int64]
    stamp: NDArray[np.int64]
    matrix: NDArray[np.float64]
    vector: NDArray[np.float64]
    z: NDArray[np.float64]
    at: NDArray[np.int64]
    choice: NDArray[np.float64]
    record: NDArray[np.int32]
    share: NDArray[np.float64]
    weight: NDArray[np.float64]
    part: NDArray[np.float64]
    sum: NDArray[np.float64]
    hit: NDArray[np.int64]
    hits: NDArray[np.int64]
    stream: NDArray[np.uint64]


class Chart(NamedTuple):
    """What of a `Workspace` says into which islands a row's holes fall."""

    n: int
    code: NDArray[np.int64]
    island: NDArray[np.int64]
    alone: NDArray[np.bool_]
    live: NDArray[np.bool_]
    home: NDArray[np.int64]
    spot: NDArray[np.int64]
    state: NDArray[np.int64]
    family: NDArray[np.int64]


@called
def _begin_stream(stream: Any, seed: Any, row: int, chain: int) -> None:
    """Start the random numbers of a row's chain, far from those of all others."""
    z = (
        seed
        + np.uint64(row) * np.uint64(0xD1B54A32D192ED03)
        + np.uint64(chain) * np.uint64(0x8CB92BA72F3D8DD7)
    )
    for _ in range(2):
        z = (z ^ (z >> np.uint64(30))) * FIRST
        z = (z ^ (z >> np.uint64(27))) * SECOND
        z = z ^ (z >> np.uint64(31))
    stream[0] = z


@called
def _root(island: Any, v: int) -> int:
    while island[v] != v:
        island[v] = island[island[v]]
        v = island[v]
    return v


@called
def _is_hole(families: Families, seen: Seen, r: int, work: Workspace | Chart, v: int) -> Any:
    """Tell whether a cell is a hole that counts: not of one state, not of a leaf."""
    if families.kind[v] == TABLE:
        return seen.codes[r * work.n + v] < 0 and families.size[v] > 1
    return families.kind[v] == LINEAR and math.isnan(seen.reals[r * work.n + v])


@called
def _chart(families: Families, seen: Seen, r: int, work: Workspace | Chart) -> None:
    """Join a row's holes into islands, and mark private holes and families that count."""
    n = work.n
    for v in range(n):
        work.island[v] = v if _is_hole(families, seen, r, work, v) else -1
        work.live[v] = families.kind[v] != LEAF or not math.isnan(seen.reals[r * work.n + v])
        work.code[v] = seen.codes[r * work.n + v] if seen.codes[r * work.n + v] >= 0 else 0
    for i in range(n):
        first: Any = np.int64(-1)  # a bare −1 has a type of its own, for which all would be compiled again
        for k in range(families.member_start[i], families.member_start[i + 1] if work.live[i] else 0):
            first = _join(work.island, first, families.member[k])
        for k in range(families.column_start[i], families.column_start[i + 1]):
            first = _join(work.island, first, families.column[k])
    for v in range(n):
        work.alone[v] = families.kind[v] == TABLE and work.island[v] >= 0
        for k in range(families.touch_start[v], families.touch_start[v + 1]):
            if families.touch[k] != v and work.live[families.touch[k]]:
                work.alone[v] = False
        work.home[v] = _home(families, work, v)


@called
def _join(island: Any, first: int, v: int) -> int:
    """Put a variable into the island of another, if both are holes; return one of them."""
    if island[v] < 0:
        return first
    if first >= 0:
        a, b = _root(island, first), _root(island, v)
        island[max(a, b)] = min(a, b)
    return v


@called
def _home(families: Families, work: Workspace | Chart, i: int) -> int:
    """Return the island in which a family has holes; −1: none."""
    for k in range(families.member_start[i], families.member_start[i + 1]):
        if work.island[families.member[k]] >= 0:
            return _root(work.island, families.member[k])
    for k in range(families.column_start[i], families.column_start[i + 1]):
        if work.island[families.column[k]] >= 0:
            return _root(work.island, families.column[k])
    return -1


@called
def _configuration(families: Families, i: int, code: Any) -> int:
    j = 0
    for k in range(families.member_start[i], families.member_start[i + 1]):
        j += code[families.member[k]] * families.stride[k]
    return j


@called
def _place(families: Families, i: int, r: int, code: Any) -> Any:
    """Return where the numbers of a family begin that count for these states."""
    j = _configuration(families, i, code)
    if families.kind[i] == TABLE:
        return families.start[i] + j
    if families.kind[i] == LEAF:
        return families.start[i] + r * families.many[i] + j
    width = families.column_start[i + 1] - families.column_start[i] + 1
    return families.start[i] + j * width * width


@called
def _log_family(families: Families, seen: Seen, r: int, work: Workspace, i: int, tau: float) -> Any:
    """Return the log of a table's or leaf's factor; what is not of an open variable counts τ times."""
    at = _place(families, i, r, work.code)
    if families.kind[i] == LEAF:
        return tau * seen.value[at]
    if work.island[i] < 0:
        return tau * (seen.value[at] + seen.total[at])
    if work.alone[i]:
        return tau * seen.total[at]  # the sum over its own states
    return seen.value[at] + tau * seen.total[at]


@called
def _log_numbers(families: Families, seen: Seen, r: int, work: Workspace, many: int, holes: int) -> float:
    """Integrate an island's continuous holes out; leave the factor of their precision in ``matrix``.

    With K = LLᵀ the part of ΣQ for the holes and b that of holes times observed cells, ``vector`` is L⁻¹b.
    """
    n, matrix, vector, log, square = work.n, work.matrix, work.vector, 0.0, 0.0
    for a in range(holes):
        vector[a] = 0.0
        for b in range(holes):
            matrix[a * n + b] = 0.0
    for f in range(many):  # ``log``, ``square``, ``vector`` and ``matrix`` hold the families before f
        i = work.family[f]
        if families.kind[i] != LINEAR:
            continue
        width = _fetch(families, seen, r, work, i)
        at = _place(families, i, r, work.code)
        log += seen.constant[families.base[i] + _configuration(families, i, work.code)]
        for a in range(width):
            for b in range(width):
                q = seen.value[at + a * width + b]
                if work.at[a] < 0 and work.at[b] < 0:
                    square += q * work.z[a] * work.z[b]
                elif work.at[a] >= 0 and work.at[b] < 0:
                    vector[work.at[a]] += q * work.z[b]
                elif work.at[a] >= 0 and work.at[b] >= 0:
                    matrix[work.at[a] * n + work.at[b]] += q
    for a in range(holes):  # rows before a of ``matrix`` are of L, and entries before a of ``vector`` of L⁻¹b
        for b in range(a + 1):
            left = matrix[a * n + b]
            for c in range(b):
                left -= matrix[a * n + c] * matrix[b * n + c]
            if a == b:
                matrix[a * n + a] = math.sqrt(max(left, 1e-12 * abs(matrix[a * n + a]) + 1e-300))
            else:
                matrix[a * n + b] = left / matrix[b * n + b]
        left = vector[a]
        for c in range(a):
            left -= matrix[a * n + c] * vector[c]
        vector[a] = left / matrix[a * n + a]
        square -= vector[a] * vector[a]
        log += 0.5 * LOG_2PI - math.log(matrix[a * n + a])
    return log - 0.5 * square


@called
def _fetch(families: Families, seen: Seen, r: int, work: Workspace, i: int) -> Any:
    """Write z = (1, x) of a regression, and which of it are holes, by number; return its length."""
    work.z[0], work.at[0] = 1.0, -1
    first, last = families.column_start[i], families.column_start[i + 1]
    for k in range(first, last):
        v = families.column[k]
        is_hole = work.island[v] >= 0
        work.at[k - first + 1] = work.spot[v] if is_hole else -1
        work.z[k - first + 1] = 0.0 if is_hole else seen.reals[r * work.n + v]
    return last - first + 1


@called
def _log_island(
    families: Families, seen: Seen, r: int, work: Workspace, many: int, holes: int, tau: float
) -> float:
    """Return the log of all factors of an island at its present states."""
    log, linear = 0.0, False
    for f in range(many):
        if families.kind[work.family[f]] == LINEAR:
            linear = True
        else:
            log += _log_family(families, seen, r, work, work.family[f], tau)
    return log + tau * _log_numbers(families, seen, r, work, many, holes) if linear else log


@called
def _log_around(
    families: Families, seen: Seen, r: int, work: Workspace, v: int, u: int, many: int, holes: int, tau: float
) -> float:
    """Return the log of all factors that one or two holes are in (u = −1: one)."""
    log, linear = 0.0, False
    for k in range(families.touch_start[v], families.touch_start[v + 1]):
        i = families.touch[k]
        work.stamp[i] = v
        if families.kind[i] == LINEAR:
            linear = True
        elif work.live[i]:
            log += _log_family(families, seen, r, work, i, tau)
    for k in range(families.touch_start[u] if u >= 0 else 0, families.touch_start[u + 1] if u >= 0 else 0):
        i = families.touch[k]
        if families.kind[i] == LINEAR:
            linear = True
        elif work.live[i] and work.stamp[i] != v:
            log += _log_family(families, seen, r, work, i, tau)
    for k in range(families.touch_start[v], families.touch_start[v + 1]):
        work.stamp[families.touch[k]] = -1
    return log + tau * _log_numbers(families, seen, r, work, many, holes) if linear else log


@called
def _chosen(choice: Any, many: int, draw: float) -> int:
    """Return one of several by their logs."""
    top = choice[0]
    for k in range(1, many):
        top = max(top, choice[k])
    mass = 0.0
    for k in range(many):
        choice[k] = math.exp(choice[k] - top)
        mass += choice[k]
    left = draw * mass
    for k in range(many - 1):
        left -= choice[k]
        if left < 0.0:
            return k
    return many - 1


@called
def _neighbour(families: Families, work: Workspace, v: int) -> int:
    """Return a hole that shares a family with another, at random; −1 where chance met none."""
    first = families.touch_start[v]
    i = families.touch[first + int(uniform(work.stream) * (families.touch_start[v + 1] - first))]
    first = families.member_start[i]
    u = families.member[first + int(uniform(work.stream) * (families.member_start[i + 1] - first))]
    free = u != v and work.island[u] >= 0 and not work.alone[u]
    return u if free and families.size[v] * families.size[u] <= PAIR else -1


@called
def _possible(families: Families, seen: Seen, r: int, work: Workspace, many: int) -> bool:
    """Tell whether no factor of an island is zero at its present states."""
    for f in range(many):
        i = work.family[f]
        if families.kind[i] == LINEAR:
            continue
        at = _place(families, i, r, work.code)
        if families.kind[i] == TABLE and seen.total[at] <= NEVER:
            return False
        if seen.value[at] <= NEVER and not work.alone[i]:
            return False
    return True


@called
def _scan(
    families: Families,
    seen: Seen,
    r: int,
    work: Workspace,
    states: int,
    many: int,
    holes: int,
    tau: float,
    turn: int,
) -> None:
    """Draw every discrete hole of an island once, given the others; every second time two at a time."""
    code = work.code
    for s in range(states):  # holes before s have been drawn anew, given all others
        v, u = work.state[s], -1
        if turn % 2 == 1:
            u = _neighbour(families, work, v)
        second = families.size[u] if u >= 0 else 1
        for a in range(families.size[v]):
            code[v] = a
            for b in range(second):
                if u >= 0:
                    code[u] = b
                work.choice[a * second + b] = _log_around(families, seen, r, work, v, u, many, holes, tau)
        best = _chosen(work.choice, families.size[v] * second, uniform(work.stream))
        code[v] = best // second
        if u >= 0:
            code[u] = best % second


@called
def _forward(families: Families, seen: Seen, r: int, work: Workspace, states: int) -> None:
    """Draw an island's discrete holes from their own families, parents first."""
    for s in range(states):
        v = work.state[s]
        for a in range(families.size[v]):
            work.code[v] = a
            work.choice[a] = seen.value[_place(families, v, r, work.code)]
        work.code[v] = _chosen(work.choice, families.size[v], uniform(work.stream))


@called
def _anneal(
    families: Families, seen: Seen, r: int, work: Workspace, states: int, many: int, holes: int, steps: int
) -> float:
    """Lead one chain from its first draw to the posterior; return its log-weight."""
    _forward(families, seen, r, work, states)
    log, before = 0.0, 0.0
    for k in range(1, steps + 1):
        tau = (k / steps) ** 2
        # What τ multiplies is all that differs between τ = 1 and τ = 0.
        whole = _log_island(families, seen, r, work, many, holes, 1.0)
        log += (tau - before) * (whole - _log_island(families, seen, r, work, many, holes, 0.0))
        _scan(families, seen, r, work, states, many, holes, tau, k)
        before = tau
    return log if _possible(families, seen, r, work, many) else -np.inf


@called
def _enumerate(
    families: Families, seen: Seen, r: int, work: Workspace, states: int, many: int, holes: int, ways: int
) -> float:
    """Record every way to fill an island's discrete holes, with its share; return the log of their sum."""
    top = -np.inf
    for way in range(ways):
        left = way
        for s in range(states):
            v = work.state[s]
            work.code[v] = left % families.size[v]
            left //= families.size[v]
            work.record[way * work.n + s] = work.code[v]
        work.share[way] = -np.inf
        if _possible(families, seen, r, work, many):
            work.share[way] = _log_island(families, seen, r, work, many, holes, 1.0)
        top = max(top, work.share[way])
    if top == -np.inf:
        return top
    mass = 0.0
    for way in range(ways):
        work.share[way] = math.exp(work.share[way] - top)
        mass += work.share[way]
    for way in range(ways):
        work.share[way] /= mass
    return top + math.log(mass)


@called
def _walk(
    families: Families, seen: Seen, r: int, work: Workspace, states: int, many: int, holes: int, plan: Plan
) -> tuple[float, float]:
    """Record draws of an island's discrete holes by chains; return log-evidence and its error, squared.

    ``weight`` are the chains' shares, which sum to one.
    """
    steps, spread, log = plan.steps, np.inf, 0.0
    for _ in range(plan.again + 1):
        for c in range(plan.chains):
            _begin_stream(work.stream, plan.seed, r, c + plan.chains * (1 + work.state[0]))
            work.weight[c] = _anneal(families, seen, r, work, states, many, holes, steps)
            for sweep in range(plan.sweeps):
                _scan(families, seen, r, work, states, many, holes, 1.0, sweep)
                for s in range(states):
                    work.record[(c * plan.sweeps + sweep) * work.n + s] = work.code[work.state[s]]
        log, spread = _balanced(work.weight, plan.chains)
        if spread * (plan.chains - 1) <= EVEN:
            break
        steps *= 4
    for c in range(plan.chains):
        for sweep in range(plan.sweeps):
            work.share[c * plan.sweeps + sweep] = work.weight[c] / plan.sweeps
    # The log of a mean is too low by half its relative variance.
    return log + 0.5 * min(spread, 1.0), spread


@called
def _balanced(weight: Any, chains: int) -> tuple[float, float]:
    """Turn log-weights into shares; return the log of their mean, and its relative variance."""
    top = weight[0]
    for c in range(chains):
        top = max(top, weight[c])
    if top == -np.inf:
        return top, 0.0
    mass, square = 0.0, 0.0
    for c in range(chains):
        weight[c] = math.exp(weight[c] - top)
        mass += weight[c]
    for c in range(chains):
        weight[c] /= mass
        square += (chains * weight[c] - 1.0) ** 2
    return top + math.log(mass / chains), square / (chains * max(chains - 1, 1))


@called
def _add(work: Workspace, many: int, at: int, weight: float) -> int:
    """Add to a statistic, and list its place if it is new."""
    if work.part[at] == 0.0:
        work.hit[many] = at
        many += 1
    work.part[at] += weight
    if work.part[at] == 0.0:  # what cancels must not be listed twice
        work.part[at] = 1e-300
    return many


@called
def _gather(
    families: Families, seen: Seen, r: int, work: Workspace, many: int, holes: int, weight: float, hits: int
) -> int:
    """Add the statistics of an island's families at its present states to ``part``; return places listed."""
    linear = False
    for f in range(many):
        i = work.family[f]
        at = _place(families, i, r, work.code)
        if families.kind[i] == LINEAR:
            linear = True
        elif families.kind[i] == TABLE and work.alone[i]:
            step = families.stride[families.member_start[i]]
            at -= work.code[i] * step
            for a in range(families.size[i]):
                hits = _add(work, hits, at + a * step, weight * math.exp(seen.value[at + a * step]))
        else:
            hits = _add(work, hits, at, weight)
    return _gather_numbers(families, seen, r, work, many, holes, weight, hits) if linear else hits


@called
def _gather_numbers(
    families: Families, seen: Seen, r: int, work: Workspace, many: int, holes: int, weight: float, hits: int
) -> int:
    """Add E[z zᵀ] of regressions, holes given what is observed."""
    _log_numbers(families, seen, r, work, many, holes)
    n, matrix, vector = work.n, work.matrix, work.vector
    for a in range(holes - 1, -1, -1):  # the mean −K⁻¹b, into ``vector``
        left = -vector[a]
        for b in range(a + 1, holes):
            left -= matrix[b * n + a] * vector[b]
        vector[a] = left / matrix[a * n + a]
    for a in range(holes):  # L⁻¹, into the upper half and the diagonal: row a of it is column a here
        matrix[a * n + a] = 1.0 / matrix[a * n + a]
        for b in range(a):
            left = 0.0
            for c in range(b, a):
                left -= matrix[a * n + c] * (matrix[b * n + b] if c == b else matrix[b * n + c])
            matrix[b * n + a] = left * matrix[a * n + a]
    for f in range(many):
        i = work.family[f]
        if families.kind[i] != LINEAR:
            continue
        width = _fetch(families, seen, r, work, i)
        start = _place(families, i, r, work.code)
        for a in range(width):
            if work.at[a] >= 0:
                work.z[a] = vector[work.at[a]]
        for a in range(width):
            for b in range(width):
                cell = work.z[a] * work.z[b]
                if work.at[a] >= 0 and work.at[b] >= 0:
                    x, y = work.at[a], work.at[b]
                    for c in range(max(x, y), holes):  # K⁻¹ = L⁻ᵀL⁻¹
                        cell += matrix[x * n + c] * matrix[y * n + c]
                hits = _add(work, hits, start + a * width + b, weight * cell)
    return hits


@called
def _put(work: Workspace, states: int, record: int) -> None:
    for s in range(states):
        work.code[work.state[s]] = work.record[record * work.n + s]


@called
def _count(
    families: Families,
    seen: Seen,
    r: int,
    work: Workspace,
    states: int,
    many: int,
    holes: int,
    records: int,
    found: Found,
) -> None:
    """Add the exact statistics of an island all of whose ways are recorded."""
    hits: Any = np.int64(0)
    for k in range(records):
        if work.share[k] > 0.0:
            _put(work, states, k)
            hits = _gather(families, seen, r, work, many, holes, seen.weight[r] * work.share[k], hits)
    for h in range(hits):
        found.counts[work.hit[h]] += work.part[work.hit[h]]
        work.part[work.hit[h]] = 0.0


@called
def _count_chains(
    families: Families,
    seen: Seen,
    r: int,
    work: Workspace,
    states: int,
    many: int,
    holes: int,
    plan: Plan,
    found: Found,
) -> None:
    """Add an island's statistics to those of every chain, so that their mean is what is estimated.

    With shares w and means f of the chains, Σ w f is the mean of f̄ + C w (f − f̄), and the spread of these
    is what the estimate's error is told by.
    """
    places, all_chains = 0, float(plan.chains)
    # ``sum`` is Σ w f of the chains before c, at ``places`` places; ``part`` is zero.
    for c in range(plan.chains):
        hits: Any = np.int64(0)
        for k in range(c * plan.sweeps, (c + 1) * plan.sweeps):
            _put(work, states, k)
            hits = _gather(families, seen, r, work, many, holes, seen.weight[r] * work.share[k], hits)
        for h in range(hits):
            at = work.hit[h]
            found.chains[c, at] += all_chains * work.part[at]
            if work.sum[at] == 0.0:
                work.hits[places] = at
                places += 1
            work.sum[at] += work.part[at]
            work.part[at] = 0.0
            if work.sum[at] == 0.0:
                work.sum[at] = 1e-300
    for h in range(places):
        at = work.hits[h]
        for c in range(plan.chains):
            found.chains[c, at] += (1.0 - all_chains * work.weight[c]) * work.sum[at]
        work.sum[at] = 0.0


@called
def _draw(
    families: Families,
    seen: Seen,
    r: int,
    work: Workspace,
    states: int,
    many: int,
    records: int,
    plan: Plan,
    found: Found,
) -> None:
    """Fill the island's discrete holes in every draw of the row, each with one of its records."""
    for d in range(found.drawn.shape[1]):  # draws before d are filled; ``code`` of what stands alone is 0
        _begin_stream(work.stream, plan.seed ^ FIRST, r, d + found.drawn.shape[1] * work.family[0])
        left, k = uniform(work.stream), 0
        # ``left`` is the drawn number less the shares before k.
        while k < records - 1 and left >= work.share[k]:
            left -= work.share[k]
            k += 1
        _put(work, states, k)
        for s in range(states):
            found.drawn[r, d, work.state[s]] = work.code[work.state[s]]
        for f in range(many):
            i = work.family[f]
            if families.kind[i] == TABLE and work.alone[i]:
                for a in range(families.size[i]):
                    work.code[i] = a
                    work.choice[a] = seen.value[_place(families, i, r, work.code)]
                found.drawn[r, d, i] = _chosen(work.choice, families.size[i], uniform(work.stream))
                work.code[i] = 0


@called
def _list(families: Families, work: Workspace | Chart, root: int) -> tuple[int, int, int]:
    """List an island's discrete and continuous holes and its families; −1: families without holes."""
    states = holes = many = 0
    for k in range(work.n):
        v = families.order[k]
        if work.home[v] != root:
            continue
        if work.live[v]:
            work.family[many] = v
            many += 1
        if work.island[v] >= 0:
            if families.kind[v] == LINEAR:
                work.spot[v] = holes
                holes += 1
            elif not work.alone[v]:
                work.state[states] = v
                states += 1
    return states, holes, many


@called
def _ways(families: Families, work: Workspace | Chart, states: int) -> float:
    """Return how many ways there are to fill an island's discrete holes, which are listed."""
    ways = 1.0
    for s in range(states):
        ways *= families.size[work.state[s]]
    return ways


@patient
def any_wide(families: Families, seen: Seen, chart: Chart, most: int) -> bool:
    """Tell whether a row that counts has an island with more ways than ``most``; (rows, n) are flat here."""
    for r in range(len(seen.weight)):
        if seen.weight[r] > 0.0:
            _chart(families, seen, r, chart)
            for root in range(chart.n):
                if chart.island[root] == root:
                    states, _, _ = _list(families, chart, root)
                    if _ways(families, chart, states) > most:
                        return True
    return False


@bare
def visit(
    graph: Families, rows: Seen, plan: Plan, room: Workspace, first: int, last: int, found: Found
) -> None:
    """Go through rows ``first`` to ``last`` and write what is ``found`` of them.

    Rows whose weight is zero count for nothing, and their log-evidence is worked out all the same.
    """
    families, seen, work = pointed(graph), pointed(rows), pointed(room)
    n, counts, chains = work.n, found.counts.size > 0, found.chains.size > 0
    for r in range(first, last):
        _chart(families, seen, r, work)
        found.log[r], found.square[r] = 0.0, 0.0
        for d in range(found.drawn.shape[1]):
            for v in range(n):
                found.drawn[r, d, v] = work.code[v] if families.kind[v] == TABLE else -1
        for root in range(-1, n):  # ``found`` has the islands before ``root``
            if root >= 0 and work.island[root] != root:
                continue
            states, holes, many = _list(families, work, root)
            ways = _ways(families, work, states)
            exact, square = ways <= plan.ways, 0.0
            if exact:
                records = int(ways)
                log = _enumerate(families, seen, r, work, states, many, holes, records)
            else:
                records = plan.chains * plan.sweeps
                log, square = _walk(families, seen, r, work, states, many, holes, plan)
            found.log[r] += log
            found.square[r] += square
            if log == -np.inf:
                continue
            if counts and seen.weight[r] > 0.0 and exact:
                _count(families, seen, r, work, states, many, holes, records, found)
            elif chains and seen.weight[r] > 0.0:
                _count_chains(families, seen, r, work, states, many, holes, plan, found)
            if found.drawn.shape[1] > 0 and root >= 0:
                _draw(families, seen, r, work, states, many, records, plan, found)
            for s in range(states):
                work.code[work.state[s]] = 0
