"""Sequential imputation: rows completed one after the other, given the counts of those before.

With parameters integrated out, p(x, y | counts) of one more row is a product of (α + N) / Σ (α + N) over its
families: a Pólya urn. A row's completions are written down, each as the places of its families' parameters.
Particles go side by side, `SIDE` of them a block: what a completion looks up is the same for all of them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import called, inlined, kernel
from lacunary.kernels.lanes import LANES, U, add_lanes, gather_product_twice
from lacunary.kernels.variate import STEP, fraction

__all__ = ["SIDE", "Urn", "copy", "impute", "renew"]

SIDE = 2 * LANES
"""Particles of a block."""


class Urn(NamedTuple):
    """Pseudo-counts, and the completions of distinct rows.

    ``own`` are the prior's pseudo-counts and then their sums by distribution (size + groups,). Row d has
    ``ways[d]`` completions of ``width[d]`` families each. From ``link[2 · start[d]]`` on they stand one after
    the other: the places of its parameters, then those of their distributions, times `SIDE`. ``twice`` says
    whether a row may use a distribution twice.

    The state of a block of particles has `SIDE` numbers for each of 2 (size + groups) places: α + N, then the
    inverses of their sums, then N and its sums, which are whole and so stay exact.
    """

    own: NDArray[np.float64]
    start: NDArray[np.int64]
    ways: NDArray[np.int64]
    width: NDArray[np.int64]
    link: NDArray[np.int32]
    twice: bool


@inlined
def _count(urn: Urn, parameter: int, distribution: int, by: float, state: Any) -> None:
    """Count a value drawn from one particle's distribution, or take it back."""
    beyond = SIDE * urn.own.size
    n = state[U(parameter + beyond)] + by
    state[U(parameter + beyond)] = n
    state[U(parameter)] = urn.own[U(parameter) // U(SIDE)] + n
    s = state[U(distribution + beyond)] + by
    state[U(distribution + beyond)] = s
    state[U(distribution)] = 1.0 / (urn.own[U(distribution) // U(SIDE)] + s)


@inlined
def _add(urn: Urn, d: int, c: int, by: float, lane: int, state: Any) -> None:
    """Count a completion of a row for one particle of a block, or take it back."""
    width = urn.width[d]
    at = 2 * (urn.start[d] + c * width)
    for f in range(at, at + width):
        _count(urn, urn.link[U(f)] + lane, urn.link[U(f + width)] + lane, by, state)


@called
def _weigh_by_turns(urn: Urn, d: int, c: int, lane: int, state: Any) -> float:
    """Return the probability of a completion whose values are drawn one after the other."""
    width, v = urn.width[d], 1.0
    at = 2 * (urn.start[d] + c * width)
    for f in range(at, at + width):
        i, g = urn.link[f] + lane, urn.link[f + width] + lane
        v *= state[i] * state[g]
        _count(urn, i, g, 1.0, state)
    _add(urn, d, c, -1.0, lane, state)
    return v


@inlined
def _weigh(urn: Urn, d: int, state: Any, value: Any) -> None:
    """Write the probabilities of a row's completions, given the counts before it, added up."""
    at, links = 2 * urn.start[d], 2 * urn.width[d]
    for c in range(urn.ways[d]):
        here = c * SIDE
        if urn.twice:
            for lane in range(SIDE):
                value[here + lane] = _weigh_by_turns(urn, d, c, lane, state)
        else:
            for lane in range(SIDE):
                value[U(here + lane)] = 1.0
            gather_product_twice(value, here, state, urn.link, at, at + links, 0)
            at += links
        if c > 0:
            add_lanes(value, here, value, here - SIDE)
            add_lanes(value, here + LANES, value, here - LANES)


@inlined
def _pick(value: Any, ways: int, lane: int, at: float) -> int:
    """Return which completion a number in (0, 1) falls to, by probabilities that were added up."""
    left, c = at * value[(ways - 1) * SIDE + lane], 0
    for each in range(ways - 1):
        c += value[U(each * SIDE + lane)] <= left
    return c


@kernel
def impute(
    urn: Urn, order: Any, first: int, last: int, given: Any, state: Any, chosen: Any, logs: Any, stream: Any
) -> None:
    """Complete rows ``order[first:last]`` for every particle; add the log of each row's probability.

    Parameters
    ----------
    urn
        Pseudo-counts and completions.
    order, first, last
        Which row is completed when; (rows,).
    given
        Completions that the first particle takes, whatever it would draw; (rows,) or nothing.
    state, chosen, logs, stream
        States, completions drawn, logs of weights and random numbers of the particles; written;
        (blocks, 2 (size + groups) · SIDE), (blocks, rows, SIDE), (blocks, SIDE) twice.
    """
    value = np.empty(urn.ways.max() * SIDE)
    for b in range(state.shape[0]):
        own = state[b]
        # The urns ``own`` hold the completions of rows before k, and ``logs`` their probability.
        for k in range(first, last):
            d = order[k]
            _weigh(urn, d, own, value)
            for lane in range(SIDE):
                stream[b, lane] += STEP
                c = _pick(value, urn.ways[d], lane, fraction(stream[b, lane]))
                if b == 0 and lane == 0 and given.size > 0:
                    c = given[k]
                logs[b, lane] += math.log(value[(urn.ways[d] - 1) * SIDE + lane])
                chosen[b, k, lane] = c
                _add(urn, d, c, 1.0, lane, own)


@kernel
def renew(urn: Urn, order: Any, last: int, back: bool, state: Any, chosen: Any, stream: Any) -> None:
    """Draw the completions of rows ``order[:last]`` anew, each given all others: collapsed Gibbs sampling.

    Rows are gone through from the first to the last, or ``back`` from the last to the first: a sweep in one
    direction is the reversal of one in the other.
    """
    value = np.empty(urn.ways.max() * SIDE)
    for b in range(state.shape[0]):
        own = state[b]
        for step in range(last):
            k = last - 1 - step if back else step
            d = order[k]
            for lane in range(SIDE):
                _add(urn, d, chosen[b, k, lane], -1.0, lane, own)
            _weigh(urn, d, own, value)
            for lane in range(SIDE):
                stream[b, lane] += STEP
                c = _pick(value, urn.ways[d], lane, fraction(stream[b, lane]))
                chosen[b, k, lane] = c
                _add(urn, d, c, 1.0, lane, own)


@kernel
def copy(who: Any, source: Any, rows: int, out: Any) -> None:
    """Copy particles, the first so many numbers of each: ``who`` of the source to each place.

    ``source`` and ``out`` are (blocks, numbers, SIDE) each, ``who`` (particles of ``out``,).
    """
    for b in range(out.shape[0]):
        for lane in range(SIDE):
            block, theirs = divmod(who[b * SIDE + lane], SIDE)
            for k in range(rows):
                out[U(b), U(k), U(lane)] = source[U(block), U(k), U(theirs)]
