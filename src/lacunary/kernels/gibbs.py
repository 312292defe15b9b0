"""The holes of a row, island by island: gone through way by way where these are few, else by Gibbs chains.

Given a row's observed cells its holes fall apart into islands, whose variables share families
(`lacunary.kernels.holes`). Continuous holes, and discrete ones that only their own family sees, are
integrated out (`lacunary.kernels.blocks`). What is left of an island is gone through way by way, or chains
draw its holes: those of a family together, given all others (a blocked, collapsed Gibbs sampler). What is
expected of a family is added up from the probabilities that its block has each time, not from the states that
are drawn, so that little is left that no chain meets (Rao–Blackwell; `lacunary.kernels.gather`). The chains
begin at draws from the variables' own families and are led to the posterior in steps that bring in what was
observed little by little; their weights (annealed importance sampling, Neal 2001) estimate the island's
evidence and correct the chains.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lacunary.kernels.arena import pointed
from lacunary.kernels.blocks import (
    BLOCK,
    assemble,
    chosen_of,
    is_possible,
    log_island,
    move,
    normalise,
    put_way,
    weigh,
)
from lacunary.kernels.compile import bare, called
from lacunary.kernels.gather import DRAWS, condition, count_chains, count_ways, gather, keep, put_record
from lacunary.kernels.holes import (
    LINEAR,
    TABLE,
    Families,
    Found,
    Plan,
    Seen,
    Workspace,
    chart_row,
    listed_in,
    place_of,
    ways_of,
)
from lacunary.kernels.variate import FIRST, SECOND, uniform

__all__ = ["visit"]

LED = 4
"""The same while chains are led to the posterior: smaller steps, of which there may be more."""

EVEN = 1.0
"""Relative variance of chains' weights above which they are led again in smaller steps."""

FAR = 2.0
"""How far below their mean logarithms of weights are looked at."""


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

    With a ``share`` above zero, what is expected of families from ``first`` on is added to statistics. Others
    whose own variable is observed take turns where there are more of them than of holes' families.
    """
    own = 0
    for f in range(many):
        work.place[work.family[f]] = place_of(families, work.family[f], r, work.code)
        own += 1 if work.island[work.family[f]] >= 0 else 0
    stride = max(1, many // max(1, 2 * own))
    for f in range(many):  # the holes of families before f have been drawn anew
        i = work.family[f]
        gathered = share > 0.0 and i >= first
        if not gathered and (i >= first > 0 or (work.island[i] < 0 and (f + turn) % stride > 0)):
            continue
        blocks, ways = assemble(families, work, i, turn, BLOCK if share > 0.0 else LED)
        chosen = 0
        if blocks > 0:
            weigh(families, seen, r, work, blocks, ways, many, holes, tau, first)
            normalise(work.choice, ways)
            chosen = chosen_of(work.choice, ways, uniform(work.stream))
            move(families, work, blocks, chosen)
        if gathered:
            for way in range(ways):
                chance = work.choice[way] if blocks > 0 else 1.0
                if chance > 0.0:
                    put_way(families, work, blocks, way)
                    if families.kind[i] == LINEAR:
                        condition(families, seen, r, work, many, holes)
                    gather(families, seen, r, work, i, holes, share * chance)
            if blocks > 0:
                put_way(families, work, blocks, chosen)


@called
def _forward(families: Families, seen: Seen, r: int, work: Workspace, states: int) -> None:
    """Draw an island's discrete holes from their own families, parents first."""
    for s in range(states):
        v = work.state[s]
        for a in range(families.size[v]):
            work.code[v] = a
            work.choice[a] = seen.value[place_of(families, v, r, work.code)]
        normalise(work.choice, families.size[v])
        work.code[v] = chosen_of(work.choice, families.size[v], uniform(work.stream))


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
        whole = log_island(families, seen, r, work, many, holes, 1.0)
        log += (tau - before) * (whole - log_island(families, seen, r, work, many, holes, 0.0))
        _scan(families, seen, r, work, many, holes, tau, k, first, 0.0)
        before = tau
    return log if is_possible(families, seen, r, work, many) else -np.inf


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
        if is_possible(families, seen, r, work, many):
            work.share[way] = log_island(families, seen, r, work, many, holes, 1.0)
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
        log, spread, told = _balanced(work.weight, plan.chains)
        if told <= EVEN:
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
        for sweep in range(plan.sweeps if drawing or work.weight[c] > 0.0 else 0):
            _scan(families, seen, r, work, many, holes, 1.0, sweep, plan.first, share)
            for s in range(states if drawing else 0):
                work.record[(c * plan.sweeps + sweep) * work.n + s] = work.code[work.state[s]]
        for sweep in range(plan.sweeps if drawing else 0):
            work.share[c * plan.sweeps + sweep] = work.weight[c] / plan.sweeps
        keep(work, work.weight[c])
    if counting:
        count_chains(families, seen, r, work, many, plan, found)


@called
def _balanced(weight: Any, chains: int) -> tuple[float, float, float]:
    """Turn log-weights into shares; return the log of their mean, its relative variance, and a weight's.

    The first is told by the weights, or by the spread of their logarithms if it is more, as that of
    log-normal ones would be: of few weights with a long tail the largest are likely to be missing. Weights
    that are far below the mean, which they do not move, count as if they were less far.
    """
    top, mass, square = weight[0], 0.0, 0.0
    for c in range(chains):
        top = max(top, weight[c])
    if top == -np.inf:
        return top, 0.0, 0.0
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
    told = square / max(chains - 1, 1)
    return log, max(told, tail) / chains, told


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
        put_record(work, states, k)
        for s in range(states):
            found.drawn[r, d, work.state[s]] = work.code[work.state[s]]
        for f in range(many):
            i = work.family[f]
            if families.kind[i] == TABLE and work.alone[i]:
                for a in range(families.size[i]):
                    work.code[i] = a
                    work.choice[a] = seen.value[place_of(families, i, r, work.code)]
                normalise(work.choice, families.size[i])
                found.drawn[r, d, i] = chosen_of(work.choice, families.size[i], uniform(work.stream))
                work.code[i] = 0


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
        chart_row(families, seen, r, work)
        found.log[r], found.square[r] = 0.0, 0.0
        for d in range(found.drawn.shape[1]):
            for v in range(n):
                found.drawn[r, d, v] = work.code[v] if families.kind[v] == TABLE else -1
        for root in range(-1, n):  # ``found`` has the islands before ``root``
            if root >= 0 and work.island[root] != root:
                continue
            states, holes, many = listed_in(families, work, root)
            ways = ways_of(families, work, states)
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
                count_ways(families, seen, r, work, states, many, holes, plan, records, found)
            if found.drawn.shape[1] > 0 and root >= 0:
                _draw(families, seen, r, work, states, many, records, plan, found)
            for s in range(states):
                work.code[work.state[s]] = 0
