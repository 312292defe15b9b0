"""The holes of a row, island by island: gone through way by way where these are few, else by Gibbs chains.

Given a row's observed cells its holes fall apart into islands, whose variables share families. Continuous
holes are integrated out given the states of the discrete ones, and so is a discrete hole that only its own
family sees (it is *private*). What is left of an island is gone through way by way, or chains draw its holes:
those of a family together, given all others (a blocked, collapsed Gibbs sampler). What is expected of a
family is added up from the probabilities that its block has each time, not from the states that are drawn,
so that little is left that no chain meets (Rao–Blackwell). The chains begin at draws from the variables' own
families and are led to the posterior in steps that bring in what was observed little by little; their
weights (annealed importance sampling, Neal 2001) estimate the island's evidence and correct the chains.
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
    "BLOCK",
    "BLOCK_HOLES",
    "LEAF",
    "LINEAR",
    "MOMENTS",
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

BLOCK = 64
"""Joint states of a family's holes up to which all are drawn together; of more, as many as that allows."""

LED = 4
"""The same while chains are led to the posterior: smaller steps, of which there may be more."""

BLOCK_HOLES = 6
"""The most holes that are drawn together: 2⁶ is `BLOCK`."""

EVEN = 1.0
"""Relative variance of chains' weights above which they are led again in smaller steps."""

FAR = 2.0
"""How far below their mean logarithms of weights are looked at."""

DRAWS = 4.0
"""Draws of states that the probabilities of a block are worth, at least."""

MOMENTS = 5
"""How much is kept of the chains at each place: Σf, Σf², Σwf, Σw²f and Σw²f², of means f and shares w."""

LOG_2PI = math.log(2.0 * math.pi)


class Families(NamedTuple):
    """The graph. Lists of a variable v stand from ``x_start[v]`` to ``x_start[v + 1]``.

    ``kind``, ``size`` and ``many`` are the family's kind, its child's states and its configurations;
    ``member`` with ``stride`` are the discrete variables that say which numbers of a family count, of a
    table itself first; ``column`` are a regression's continuous variables, the child last; ``touch`` are the
    families that a variable is in, and ``touch_step`` how far apart its states are there, of tables and
    leaves. A family's numbers start at ``start``, its constants at ``base``.
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
    touch_step: NDArray[np.int64]
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

    Steps are multiplied by four, at most ``again`` times, while the chains' weights are too uneven. Families
    from ``first`` on are counted; if that is not all, they are counted only, and weigh nothing.
    """

    ways: int
    chains: int
    steps: int
    again: int
    sweeps: int
    first: int
    seed: Any


class Found(NamedTuple):
    """What is written: statistics, each row's log-evidence, and draws of completed rows.

    ``counts`` are statistics, exact ones and the chains'. The square of their error is ``spread``, which the
    chains tell, and ``floor``, the greatest square of what one draw of a row counts, where that is possible.
    ``square`` is the square of the error of ``log``. Statistics and draws without entries are not written.
    Shapes (places,) three times, (rows,) twice, and (rows, draws, variables).
    """

    counts: NDArray[np.float64]
    spread: NDArray[np.float64]
    floor: NDArray[np.float64]
    log: NDArray[np.float64]
    square: NDArray[np.float64]
    drawn: NDArray[np.int32]


class Workspace(NamedTuple):
    """Working memory of one row.

    ``code`` is the row as it is being filled; ``island`` joins variables; ``alone`` marks private holes;
    ``live`` marks families that count, and ``home`` is the island of their holes, −1 without; ``spot`` is a
    continuous hole's number in its island; ``state`` and ``family`` list an island's discrete holes and its
    families. ``place`` is where a family's numbers are at the present states, of tables and leaves.
    ``block`` lists holes that are drawn together, ``digit`` their states, ``lone`` has sums of logs for each
    of them, and ``factor`` lists the factors that they are in, each with ``base``, ``only`` and ``step``
    (`_factors_of`); of others ``stamp`` is −1. ``record`` are the ways or draws, ``share`` their weights, and
    ``end`` where the chains ended that ``weight`` is of. ``part`` holds statistics and
    ``moment`` those of chains, at the ``listed[0]`` places of ``hit``, which are those that are ``met``.
    There are ``n`` variables, and as many numbers in each line of ``matrix``, ``record`` and ``end``.
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
    place: NDArray[np.int64]
    block: NDArray[np.int64]
    digit: NDArray[np.int64]
    factor: NDArray[np.int64]
    base: NDArray[np.int64]
    only: NDArray[np.int64]
    step: NDArray[np.int64]
    lone: NDArray[np.float64]
    matrix: NDArray[np.float64]
    vector: NDArray[np.float64]
    z: NDArray[np.float64]
    at: NDArray[np.int64]
    choice: NDArray[np.float64]
    record: NDArray[np.int32]
    share: NDArray[np.float64]
    end: NDArray[np.int32]
    weight: NDArray[np.float64]
    part: NDArray[np.float64]
    moment: NDArray[np.float64]
    met: NDArray[np.bool_]
    hit: NDArray[np.int64]
    listed: NDArray[np.int64]
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
def _assemble(families: Families, work: Workspace, i: int, turn: int, most: int) -> tuple[int, int]:
    """List the holes of a family that are drawn together; return how many these are, and their joint states.

    Where all would have more joint states than ``most``, turns decide which are taken first.
    """
    first, width = families.member_start[i], families.member_start[i + 1] - families.member_start[i]
    blocks, ways = 0, 1
    for k in range(width):  # ``block`` has what of the members before k is drawn together
        v = families.member[first + (k + turn) % width]
        fits = ways * families.size[v] <= most or blocks == 0
        if work.island[v] >= 0 and not work.alone[v] and fits:
            work.block[blocks] = v
            blocks += 1
            ways *= families.size[v]
    return blocks, ways


@called
def _put_way(families: Families, work: Workspace, blocks: int, way: int) -> None:
    """Fill a block's holes with one of their joint states, of which the first changes fastest."""
    for b in range(blocks):
        v = work.block[b]
        work.code[v] = way % families.size[v]
        way //= families.size[v]


@called
def _move(families: Families, work: Workspace, blocks: int, way: int) -> None:
    """Fill a block's holes with one of their joint states, and let ``place`` follow."""
    for b in range(blocks):
        v = work.block[b]
        ahead = way % families.size[v] - work.code[v]
        way //= families.size[v]
        work.code[v] += ahead
        if ahead != 0:
            for k in range(families.touch_start[v], families.touch_start[v + 1]):
                work.place[families.touch[k]] += ahead * families.touch_step[k]


@called
def _weigh(
    families: Families,
    seen: Seen,
    r: int,
    work: Workspace,
    blocks: int,
    ways: int,
    many: int,
    holes: int,
    tau: float,
    first: int,
) -> None:
    """Write the log of all factors that a block's holes are in into ``choice``, for each joint state."""
    factors, linear = _factors_of(families, work, blocks, first)
    room = 0
    for b in range(blocks):
        room += families.size[work.block[b]]
    for a in range(room):
        work.lone[a] = 0.0
    # What depends on one of the holes is added up for its states first, and met once for all of the others'.
    for f in range(factors):
        b = work.only[f]
        if b >= 0:
            own, at, step, room = (
                _own(families, work, f, tau),
                work.base[f],
                work.step[f * BLOCK_HOLES + b],
                0,
            )
            for c in range(b):
                room += families.size[work.block[c]]
            for a in range(families.size[work.block[b]]):
                work.lone[room + a] += own * seen.value[at + a * step] + tau * seen.total[at + a * step]
    work.choice[0] = 0.0
    wide, room = 1, 0
    for b in range(blocks):  # ``choice`` has the joint states of the holes before b
        size = families.size[work.block[b]]
        for a in range(size - 1, -1, -1):
            for way in range(wide):
                work.choice[a * wide + way] = work.choice[way] + work.lone[room + a]
        wide *= size
        room += size
    for f in range(factors):
        if work.only[f] < 0:
            _bring_in(families, seen, work, f, blocks, ways, tau)
    for f in range(factors):
        work.stamp[work.factor[f]] = -1
    if linear:
        for b in range(blocks):
            work.digit[b] = work.code[work.block[b]]
        for way in range(ways):
            _put_way(families, work, blocks, way)
            work.choice[way] += tau * _log_numbers(families, seen, r, work, many, holes)
        for b in range(blocks):
            work.code[work.block[b]] = work.digit[b]


@called
def _factors_of(families: Families, work: Workspace, blocks: int, first: int) -> tuple[int, bool]:
    """List the factors that a block's holes are in, and tell whether regressions are among them.

    ``base`` is where a factor's numbers begin for the holes' first states, and ``only`` the one of them that
    it depends on, −1 if these are several.
    """
    factors: Any = np.int64(0)
    linear = False
    for b in range(blocks):  # ``stamp`` is the number of a factor that holes before b are in, −1 of others
        v = work.block[b]
        for k in range(families.touch_start[v], families.touch_start[v + 1]):
            i = families.touch[k]
            if families.kind[i] == LINEAR:
                linear = True
            elif work.live[i] and (first == 0 or i < first):
                f = work.stamp[i]
                if f < 0:
                    f = factors
                    work.stamp[i], work.factor[f], work.base[f], work.only[f] = f, i, work.place[i], b
                    for c in range(blocks):
                        work.step[f * BLOCK_HOLES + c] = 0
                    factors += 1
                elif work.only[f] != b:
                    work.only[f] = -1
                work.step[f * BLOCK_HOLES + b] = families.touch_step[k]
                work.base[f] -= work.code[v] * families.touch_step[k]
    return factors, linear


@called
def _own(families: Families, work: Workspace, f: int, tau: float) -> float:
    """Return how often a listed factor's own numbers count, as in `_log_family`."""
    i = work.factor[f]
    if families.kind[i] == LEAF or work.island[i] < 0:
        return tau
    return 0.0 if work.alone[i] else 1.0


@called
def _bring_in(
    families: Families, seen: Seen, work: Workspace, f: int, blocks: int, ways: int, tau: float
) -> None:
    """Add the log of a factor that several of a block's holes are in to ``choice``."""
    at, own, first = work.base[f], _own(families, work, f, tau), f * BLOCK_HOLES
    for b in range(blocks):
        work.digit[b] = 0
    inner, step, way = families.size[work.block[0]], work.step[first], 0
    while way < ways:  # ``at`` and ``digit`` are of the joint state ``way``, whose first digit is zero
        for a in range(inner):
            work.choice[way + a] += own * seen.value[at + a * step] + tau * seen.total[at + a * step]
        way += inner
        b = 1
        while b < blocks and work.digit[b] == families.size[work.block[b]] - 1:
            at -= work.digit[b] * work.step[first + b]
            work.digit[b] = 0
            b += 1
        if b < blocks:
            at += work.step[first + b]
            work.digit[b] += 1


@called
def _normalise(choice: Any, many: int) -> None:
    """Turn logs into shares."""
    top = choice[0]
    for k in range(1, many):
        top = max(top, choice[k])
    mass = 0.0
    for k in range(many):
        choice[k] = math.exp(choice[k] - top)
        mass += choice[k]
    for k in range(many):
        choice[k] /= mass


@called
def _chosen(choice: Any, many: int, draw: float) -> int:
    """Return one of several by their shares."""
    for k in range(many - 1):
        draw -= choice[k]
        if draw < 0.0:
            return k
    last = many - 1
    while last > 0 and choice[last] == 0.0:  # what rounding leaves is not for what cannot be
        last -= 1
    return last


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
    many: int,
    holes: int,
    tau: float,
    turn: int,
    first: int,
    share: float,
) -> None:
    """Draw an island's discrete holes by turns, those of a family together, given all others.

    With a ``share`` above zero, what is expected of families from ``first`` on is added to statistics.
    """
    for f in range(many):
        work.place[work.family[f]] = _place(families, work.family[f], r, work.code)
    for f in range(many):  # the holes of families before f have been drawn anew
        i = work.family[f]
        gathered = share > 0.0 and i >= first
        if i >= first and first > 0 and not gathered:
            continue
        blocks, ways = _assemble(families, work, i, turn, BLOCK if share > 0.0 else LED)
        chosen = 0
        if blocks > 0:
            _weigh(families, seen, r, work, blocks, ways, many, holes, tau, first)
            _normalise(work.choice, ways)
            chosen = _chosen(work.choice, ways, uniform(work.stream))
            _move(families, work, blocks, chosen)
        if gathered:
            for way in range(ways):
                chance = work.choice[way] if blocks > 0 else 1.0
                if chance > 0.0:
                    _put_way(families, work, blocks, way)
                    if families.kind[i] == LINEAR:
                        _condition(families, seen, r, work, many, holes)
                    _gather(families, seen, r, work, i, holes, share * chance)
            if blocks > 0:
                _put_way(families, work, blocks, chosen)


@called
def _forward(families: Families, seen: Seen, r: int, work: Workspace, states: int) -> None:
    """Draw an island's discrete holes from their own families, parents first."""
    for s in range(states):
        v = work.state[s]
        for a in range(families.size[v]):
            work.code[v] = a
            work.choice[a] = seen.value[_place(families, v, r, work.code)]
        _normalise(work.choice, families.size[v])
        work.code[v] = _chosen(work.choice, families.size[v], uniform(work.stream))


@called
def _anneal(
    families: Families,
    seen: Seen,
    r: int,
    work: Workspace,
    states: int,
    many: int,
    holes: int,
    steps: int,
    first: int,
) -> float:
    """Lead one chain from its first draw to the posterior; return its log-weight."""
    _forward(families, seen, r, work, states)
    log, before = 0.0, 0.0
    for k in range(1, steps + 1):
        tau = (k / steps) ** 2
        # What τ multiplies is all that differs between τ = 1 and τ = 0.
        whole = _log_island(families, seen, r, work, many, holes, 1.0)
        log += (tau - before) * (whole - _log_island(families, seen, r, work, many, holes, 0.0))
        _scan(families, seen, r, work, many, holes, tau, k, first, 0.0)
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
def _lead(
    families: Families, seen: Seen, r: int, work: Workspace, states: int, many: int, holes: int, plan: Plan
) -> tuple[float, float]:
    """Lead chains to an island's posterior; return log-evidence and its error, squared.

    ``weight`` are the chains' shares, which sum to one, and ``end`` is where they are.
    """
    steps, spread, log = plan.steps, np.inf, 0.0
    for _ in range(plan.again + 1):
        for c in range(plan.chains):
            _begin_stream(work.stream, plan.seed, r, c + plan.chains * (1 + work.state[0]))
            work.weight[c] = _anneal(families, seen, r, work, states, many, holes, steps, plan.first)
            for s in range(states):
                work.end[c * work.n + s] = work.code[work.state[s]]
        log, spread = _balanced(work.weight, plan.chains)
        if spread * plan.chains <= EVEN:
            break
        steps *= 4
    # The log of a mean is too low by half its relative variance. What no chain met may have a weight, too.
    least = 1.0 / (DRAWS * plan.chains) if _tells(families, work, many, plan.first) else 0.0
    return log + 0.5 * min(spread, 1.0), max(spread, least * least)


@called
def _tells(families: Families, work: Workspace, many: int, first: int) -> bool:
    """Tell whether something that was observed speaks of an island: else all chains have the same weight."""
    for f in range(many):
        i = work.family[f]
        if (first == 0 or i < first) and (families.kind[i] != TABLE or work.island[i] < 0):
            return True
    return False


@called
def _walk(
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
    """Let chains go on from where they were led; record what they draw, or add up what is expected."""
    drawing, counting = found.drawn.shape[1] > 0, found.counts.size > 0 and seen.weight[r] > 0.0
    if not drawing and not counting:
        return
    share = 1.0 / plan.sweeps if counting else 0.0
    for c in range(plan.chains):  # ``moment`` is of the chains before c, ``part`` is zero
        _begin_stream(work.stream, plan.seed, r, c + plan.chains * (1 + work.n + work.state[0]))
        for s in range(states):
            work.code[work.state[s]] = work.end[c * work.n + s]
        for sweep in range(plan.sweeps if work.weight[c] > 0.0 else 0):
            _scan(families, seen, r, work, many, holes, 1.0, sweep, plan.first, share)
            for s in range(states if drawing else 0):
                work.record[(c * plan.sweeps + sweep) * work.n + s] = work.code[work.state[s]]
        for sweep in range(plan.sweeps if drawing else 0):
            work.share[c * plan.sweeps + sweep] = work.weight[c] / plan.sweeps
        _keep(work, work.weight[c])
    if counting:
        _count_chains(families, seen, r, work, many, plan, found)


@called
def _keep(work: Workspace, w: float) -> None:
    """Add a chain's statistics to the moments of all, and clear them."""
    for h in range(work.listed[0]):
        f, at = work.part[work.hit[h]], MOMENTS * work.hit[h]
        work.part[work.hit[h]] = 0.0
        work.moment[at] += f
        work.moment[at + 1] += f * f
        work.moment[at + 2] += w * f
        work.moment[at + 3] += w * w * f
        work.moment[at + 4] += w * w * f * f


@called
def _balanced(weight: Any, chains: int) -> tuple[float, float]:
    """Turn log-weights into shares; return the log of their mean, and its relative variance.

    That is told by the weights, or by the spread of their logarithms if it is more, as that of log-normal
    ones would be: of few weights with a long tail the largest are likely to be missing. Weights that are far
    below the mean, which they do not move, count as if they were less far.
    """
    top, mass, square = weight[0], 0.0, 0.0
    for c in range(chains):
        top = max(top, weight[c])
    if top == -np.inf:
        return top, 0.0
    for c in range(chains):
        mass += math.exp(weight[c] - top)
    log, mean, apart = top + math.log(mass / chains), 0.0, 0.0
    for c in range(chains):  # ``mean`` and ``apart`` are of the logarithms before c (Welford)
        off = max(weight[c] - log, -FAR) - mean
        mean += off / (c + 1)
        apart += off * (max(weight[c] - log, -FAR) - mean)
        weight[c] = math.exp(weight[c] - top) / mass
        square += (chains * weight[c] - 1.0) ** 2
    tail = math.exp(apart / max(chains - 1, 1)) - 1.0
    return log, max(square / max(chains - 1, 1), tail) / chains


@called
def _add(work: Workspace, at: int, weight: float) -> None:
    """Add to a statistic, and list its place if it is new."""
    if not work.met[at]:
        work.met[at] = True
        work.hit[work.listed[0]] = at
        work.listed[0] += 1
    work.part[at] += weight


@called
def _gather(
    families: Families, seen: Seen, r: int, work: Workspace, i: int, holes: int, weight: float
) -> None:
    """Add the statistics of a family at the island's present states to ``part``; see `_condition`."""
    at = _place(families, i, r, work.code)
    if families.kind[i] == LINEAR:
        _gather_numbers(families, seen, r, work, i, holes, weight)
    elif families.kind[i] == TABLE and work.alone[i]:
        step = families.stride[families.member_start[i]]
        at -= work.code[i] * step
        for a in range(families.size[i]):
            _add(work, at + a * step, weight * math.exp(seen.value[at + a * step]))
    else:
        _add(work, at, weight)


@called
def _condition(families: Families, seen: Seen, r: int, work: Workspace, many: int, holes: int) -> None:
    """Work out an island's continuous holes given its states: means into ``vector``, L⁻¹ into ``matrix``."""
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


@called
def _gather_numbers(
    families: Families, seen: Seen, r: int, work: Workspace, i: int, holes: int, weight: float
) -> None:
    """Add E[z zᵀ] of a regression, holes given what is observed and the states; see `_condition`."""
    n, matrix, vector = work.n, work.matrix, work.vector
    width, start = _fetch(families, seen, r, work, i), _place(families, i, r, work.code)
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
            _add(work, start + a * width + b, weight * cell)


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
    plan: Plan,
    records: int,
    found: Found,
) -> None:
    """Add the exact statistics of an island all of whose ways are recorded."""
    linear = False
    for f in range(many):
        linear |= families.kind[work.family[f]] == LINEAR and work.family[f] >= plan.first
    for k in range(records):  # ``part`` has the records before k
        if work.share[k] > 0.0:
            _put(work, states, k)
            if linear:
                _condition(families, seen, r, work, many, holes)
            for f in range(many):
                if work.family[f] >= plan.first:
                    _gather(families, seen, r, work, work.family[f], holes, work.share[k])
    for h in range(work.listed[0]):
        at = work.hit[h]
        found.counts[at] += seen.weight[r] * work.part[at]
        work.part[at] = 0.0
        work.met[at] = False
    work.listed[0] = 0


@called
def _count_chains(
    families: Families, seen: Seen, r: int, work: Workspace, many: int, plan: Plan, found: Found
) -> None:
    """Add what the chains say of an island, and how far they are apart; clear ``moment``.

    With shares w and means f of the chains the estimate is m = Σ w f. The square of its error is the greater
    of Σ w² (f − m)², which knows how shares go with means, and of Σ w² times the variance of the f, which is
    still something where one chain has nearly all of the weight.
    """
    many_chains, even, weight = float(plan.chains), 0.0, seen.weight[r]
    for c in range(plan.chains):
        even += work.weight[c] * work.weight[c]
    quantum = weight * even / (DRAWS * plan.sweeps)
    for f in range(many):
        if work.family[f] >= plan.first:
            _found_possible(families, seen, r, work, work.family[f], quantum, found)
    for h in range(work.listed[0]):  # places before h are counted, and their moments are zero
        at = work.hit[h]
        k = MOMENTS * at
        mean, m = work.moment[k] / many_chains, work.moment[k + 2]
        apart = work.moment[k + 4] - 2.0 * m * work.moment[k + 3] + m * m * even
        alike = even * (work.moment[k + 1] / many_chains - mean * mean)
        found.counts[at] += weight * m
        found.spread[at] += weight * weight * max(apart, alike, 0.0) * many_chains / (many_chains - 1.0)
        work.met[at] = False
        for a in range(MOMENTS):
            work.moment[k + a] = 0.0
    work.listed[0] = 0


@called
def _found_possible(
    families: Families, seen: Seen, r: int, work: Workspace, i: int, quantum: float, found: Found
) -> None:
    """Let the error of a family's statistics be no less than what one draw counts, where that is possible.

    Of a regression a draw counts z zᵀ, which is of the size of what is expected of z².
    """
    linear, blocks = families.kind[i] == LINEAR, 0
    width = families.column_start[i + 1] - families.column_start[i] + 1 if linear else 1
    for a in range(width):
        work.z[a] = 0.0 if linear else 1.0
    for k in range(families.member_start[i], families.member_start[i + 1]):
        if work.island[families.member[k]] >= 0:
            work.block[blocks] = families.member[k]
            work.code[families.member[k]] = 0
            blocks += 1
    more = linear
    while more:  # ``z`` is of the joint states of the family's holes before the present ones
        at = _place(families, i, r, work.code)
        for a in range(width):
            work.z[a] += work.moment[MOMENTS * (at + a * width + a) + 2]
        more = _next(families, work, blocks)
    more = True
    while more:  # all joint states before the present ones are seen to
        at = _place(families, i, r, work.code)
        for a in range(width if linear or seen.value[at] > NEVER else 0):
            for b in range(width):
                least = quantum * quantum * work.z[a] * work.z[b]
                found.floor[at + a * width + b] = max(found.floor[at + a * width + b], least)
        more = _next(families, work, blocks)


@called
def _next(families: Families, work: Workspace, blocks: int) -> bool:
    """Fill a block's holes with their next states; False, with the first of all, after the last."""
    for b in range(blocks):
        v = work.block[b]
        work.code[v] += 1
        if work.code[v] < families.size[v]:
            return True
        work.code[v] = 0
    return False


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
                _normalise(work.choice, families.size[i])
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
    n = work.n
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
                log, square = _lead(families, seen, r, work, states, many, holes, plan)
            found.log[r] += log
            found.square[r] += square
            if log == -np.inf:
                continue
            if not exact:
                _walk(families, seen, r, work, states, many, holes, plan, found)
            elif found.counts.size > 0 and seen.weight[r] > 0.0:
                _count(families, seen, r, work, states, many, holes, plan, records, found)
            if found.drawn.shape[1] > 0 and root >= 0:
                _draw(families, seen, r, work, states, many, records, plan, found)
            for s in range(states):
                work.code[work.state[s]] = 0
