"""What is expected of an island's families: added up from its ways, or from the blocks that chains meet.

Chains tell the error of their mean by their spread, and what one draw would count is its least.
"""

from __future__ import annotations

import math

from lacunary.kernels.blocks import fetch, log_numbers
from lacunary.kernels.compile import called
from lacunary.kernels.holes import LINEAR, NEVER, TABLE, Families, Found, Plan, Seen, Workspace, place_of

__all__ = ["DRAWS", "MOMENTS", "condition", "count_chains", "count_ways", "gather", "keep", "put_record"]

DRAWS = 4.0
"""Draws of states that the probabilities of a block are worth, at least."""

MOMENTS = 5
"""How much is kept of the chains at each place: Σf, Σf², Σwf, Σw²f and Σw²f², of means f and shares w."""

LOG_2PI = math.log(2.0 * math.pi)


@called
def _add(work: Workspace, at: int, weight: float) -> None:
    """Add to a statistic, and list its place if it is new."""
    if not work.met[at]:
        work.met[at] = True
        work.hit[work.listed[0]] = at
        work.listed[0] += 1
    work.part[at] += weight


@called
def gather(
    families: Families, seen: Seen, r: int, work: Workspace, i: int, holes: int, weight: float
) -> None:
    """Add the statistics of a family at the island's present states to ``part``; see `condition`."""
    at = place_of(families, i, r, work.code)
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
def condition(families: Families, seen: Seen, r: int, work: Workspace, many: int, holes: int) -> None:
    """Work out an island's continuous holes given its states: means into ``vector``, L⁻¹ into ``matrix``."""
    log_numbers(families, seen, r, work, many, holes)
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
    """Add E[z zᵀ] of a regression, holes given what is observed and the states; see `condition`."""
    n, matrix, vector = work.n, work.matrix, work.vector
    width, start = fetch(families, seen, r, work, i), place_of(families, i, r, work.code)
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
def put_record(work: Workspace, states: int, record: int) -> None:
    """Fill an island's discrete holes as they were recorded."""
    for s in range(states):
        work.code[work.state[s]] = work.record[record * work.n + s]


@called
def count_ways(
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
            put_record(work, states, k)
            if linear:
                condition(families, seen, r, work, many, holes)
            for f in range(many):
                if work.family[f] >= plan.first:
                    gather(families, seen, r, work, work.family[f], holes, work.share[k])
    for h in range(work.listed[0]):
        at = work.hit[h]
        found.counts[at] += seen.weight[r] * work.part[at]
        work.part[at] = 0.0
        work.met[at] = False
    work.listed[0] = 0


@called
def keep(work: Workspace, w: float) -> None:
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
def count_chains(
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
        at = place_of(families, i, r, work.code)
        for a in range(width):
            work.z[a] += work.moment[MOMENTS * (at + a * width + a) + 2]
        more = _next(families, work, blocks)
    more = True
    while more:  # all joint states before the present ones are seen to
        at = place_of(families, i, r, work.code)
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
