"""How likely the states of an island's holes are: of all of them, and of some, a block, given all others.

Continuous holes are integrated out given the states of the discrete ones, and so is a discrete hole that only
its own family sees (it is *private*).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lacunary.kernels.compile import called
from lacunary.kernels.holes import (
    LEAF,
    LINEAR,
    NEVER,
    TABLE,
    Families,
    Seen,
    Workspace,
    configuration,
    place_of,
)

__all__ = [
    "BLOCK",
    "BLOCK_HOLES",
    "assemble",
    "chosen_of",
    "fetch",
    "is_possible",
    "log_island",
    "log_numbers",
    "move",
    "normalise",
    "put_way",
    "weigh",
]

BLOCK = 64
"""Joint states of a family's holes up to which all are drawn together; of more, as many as that allows."""

LOG_2PI = math.log(2.0 * math.pi)

BLOCK_HOLES = 6
"""The most holes that are drawn together: 2⁶ is `BLOCK`."""


@called
def log_family(families: Families, seen: Seen, r: int, work: Workspace, i: int, tau: float) -> Any:
    """Return the log of a table's or leaf's factor; what is not of an open variable counts τ times."""
    at = place_of(families, i, r, work.code)
    if families.kind[i] == LEAF:
        return tau * seen.value[at]
    if work.island[i] < 0:
        return tau * (seen.value[at] + seen.total[at])
    if work.alone[i]:
        return tau * seen.total[at]  # the sum over its own states
    return seen.value[at] + tau * seen.total[at]


@called
def log_numbers(families: Families, seen: Seen, r: int, work: Workspace, many: int, holes: int) -> float:
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
        width = fetch(families, seen, r, work, i)
        at = place_of(families, i, r, work.code)
        log += seen.constant[families.base[i] + configuration(families, i, work.code)]
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
def fetch(families: Families, seen: Seen, r: int, work: Workspace, i: int) -> Any:
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
def log_island(
    families: Families, seen: Seen, r: int, work: Workspace, many: int, holes: int, tau: float
) -> float:
    """Return the log of all factors of an island at its present states."""
    log, linear = 0.0, False
    for f in range(many):
        if families.kind[work.family[f]] == LINEAR:
            linear = True
        else:
            log += log_family(families, seen, r, work, work.family[f], tau)
    return log + tau * log_numbers(families, seen, r, work, many, holes) if linear else log


@called
def is_possible(families: Families, seen: Seen, r: int, work: Workspace, many: int) -> bool:
    """Tell whether no factor of an island is zero at its present states."""
    for f in range(many):
        i = work.family[f]
        if families.kind[i] == LINEAR:
            continue
        at = place_of(families, i, r, work.code)
        if families.kind[i] == TABLE and seen.total[at] <= NEVER:
            return False
        if seen.value[at] <= NEVER and not work.alone[i]:
            return False
    return True


@called
def assemble(families: Families, work: Workspace, i: int, turn: int, most: int) -> tuple[int, int]:
    """List the holes of a family that are drawn together; return how many these are, and their joint states.

    Where all would have more joint states than ``most``, turns decide which are taken after the first member.
    """
    first, width = families.member_start[i], families.member_start[i + 1] - families.member_start[i]
    blocks, ways = 0, 1
    for k in range(width):  # ``block`` has what of the members before k is drawn together
        v = families.member[first + (0 if k == 0 else 1 + (k - 1 + turn) % (width - 1))]
        fits = ways * families.size[v] <= most or blocks == 0
        if work.island[v] >= 0 and not work.alone[v] and fits:
            work.block[blocks] = v
            blocks += 1
            ways *= families.size[v]
    return blocks, ways


@called
def put_way(families: Families, work: Workspace, blocks: int, way: int) -> None:
    """Fill a block's holes with one of their joint states, of which the first changes fastest."""
    for b in range(blocks):
        v = work.block[b]
        work.code[v] = way % families.size[v]
        way //= families.size[v]


@called
def move(families: Families, work: Workspace, blocks: int, way: int) -> None:
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
def weigh(
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
            put_way(families, work, blocks, way)
            work.choice[way] += tau * log_numbers(families, seen, r, work, many, holes)
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
    """Return how often a listed factor's own numbers count, as in `log_family`."""
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
def normalise(choice: Any, many: int) -> None:
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
def chosen_of(choice: Any, many: int, draw: float) -> int:
    """Return one of several by their shares."""
    for k in range(many - 1):
        draw -= choice[k]
        if draw < 0.0:
            return k
    last = many - 1
    while last > 0 and choice[last] == 0.0:  # what rounding leaves is not for what cannot be
        last -= 1
    return last
