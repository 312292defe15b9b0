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
from lacunary.kernels.lanes import LANES, U, add_lanes
from lacunary.kernels.links import gather_odds_twice
from lacunary.kernels.variate import STEP, fraction

__all__ = ["CHUNK", "SIDE", "Urn", "copy", "impute", "renew"]

SIDE = 2 * LANES
"""Particles of a block."""

CHUNK = 8
"""Families whose counts are multiplied before they are divided by their sums: more might overflow."""


class Urn(NamedTuple):
    """Pseudo-counts, and the completions of distinct rows.

    ``own`` are the prior's pseudo-counts and then their sums by distribution (size + groups,). Row d has
    ``ways[d]`` completions of ``width[d]`` families each, ``sums[d]`` of them with sums that hang on how rows
    are completed; all others divide alike, whatever is drawn, and are left out. From ``link[start[d]]`` on
    completions stand one after the other: the places of their parameters, then those of the sums, times
    `SIDE`. ``twice`` says whether a row may use a distribution twice; no sum is left out then.

    The state of a block of particles has `SIDE` numbers for each of size + groups places: counts, then their
    sums by distribution, which are whole and so stay exact; those that no completion names stay as they were.
    """

    own: NDArray[np.float64]
    start: NDArray[np.int64]
    ways: NDArray[np.int64]
    width: NDArray[np.int64]
    sums: NDArray[np.int64]
    link: NDArray[np.int32]
    twice: bool


@inlined
def _add(urn: Urn, d: int, c: int, by: float, lane: int, state: Any) -> None:
    """Count a completion of a row for one particle of a block, or take it back."""
    places = urn.width[d] + urn.sums[d]
    at = urn.start[d] + c * places
    for k in range(at, at + places):
        state[U(urn.link[U(k)] + lane)] += by


@called
def _weigh_by_turns(urn: Urn, d: int, c: int, lane: int, state: Any) -> float:
    """Return the probability of a completion whose values are drawn one after the other."""
    width, v = urn.width[d], 1.0
    at = urn.start[d] + 2 * c * width
    for f in range(at, at + width):
        i, g = urn.link[f] + lane, urn.link[f + width] + lane
        v *= (state[i] + urn.own[i // SIDE]) / (state[g] + urn.own[g // SIDE])
        state[i] += 1.0
        state[g] += 1.0
    _add(urn, d, c, -1.0, lane, state)
    return v


@inlined
def _weigh(urn: Urn, d: int, state: Any, value: Any) -> None:
    """Write the probabilities of a row's completions, given the counts before it, added up.

    They are not divided by the sums that the urn leaves out.
    """
    at, width, sums = urn.start[d], urn.width[d], urn.sums[d]
    for c in range(urn.ways[d]):
        here = c * SIDE
        if urn.twice:
            for lane in range(SIDE):
                value[here + lane] = _weigh_by_turns(urn, d, c, lane, state)
        else:
            for lane in range(SIDE):
                value[U(here + lane)] = 1.0
            for f in range(0, width, CHUNK):
                above, below = min(CHUNK, width - f), min(CHUNK, max(sums - f, 0))
                gather_odds_twice(value, here, state, urn.own, urn.link, at + f, above, at + width + f, below)
            at += width + sums
        if c > 0:
            add_lanes(value, here, value, here - SIDE)
            add_lanes(value, here + LANES, value, here - LANES)


@inlined
def _pick(value: Any, ways: int, stream: Any, left: Any, picked: Any) -> None:
    """Draw a completion for every particle of a block, by probabilities that were added up."""
    last = (ways - 1) * SIDE
    for lane in range(SIDE):
        stream[U(lane)] += STEP
        left[U(lane)] = fraction(stream[U(lane)]) * value[U(last + lane)]
        picked[U(lane)] = 0
    for at in range(0, last, SIDE):
        for lane in range(SIDE):
            picked[U(lane)] += value[U(at + lane)] <= left[U(lane)]


@kernel
def impute(
    urn: Urn, order: Any, first: int, last: int, given: Any, state: Any, chosen: Any, logs: Any, stream: Any
) -> None:
    """Complete rows ``order[first:last]`` for every particle; add the log of each row's probability.

    It is not divided by the sums that the urn leaves out, which are the same for all particles.

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
        (blocks, (size + groups) · SIDE), (blocks, rows, SIDE), (blocks, SIDE) twice.
    """
    value, left, picked = np.empty(urn.ways.max() * SIDE), np.empty(SIDE), np.empty(SIDE, dtype=np.int64)
    for b in range(state.shape[0]):
        own, streams = state[b], stream[b]
        # The urns ``own`` hold the completions of rows before k, and ``logs`` their probability.
        for k in range(first, last):
            d = order[k]
            _weigh(urn, d, own, value)
            _pick(value, urn.ways[d], streams, left, picked)
            if b == 0 and given.size > 0:
                picked[0] = given[k]
            for lane in range(SIDE):
                logs[U(b), U(lane)] += math.log(value[U((urn.ways[d] - 1) * SIDE + lane)])
                chosen[U(b), U(k), U(lane)] = picked[U(lane)]
                _add(urn, d, picked[U(lane)], 1.0, lane, own)


@kernel
def renew(urn: Urn, order: Any, last: int, back: bool, state: Any, chosen: Any, stream: Any) -> None:
    """Draw the completions of rows ``order[:last]`` anew, each given all others: collapsed Gibbs sampling.

    Rows are gone through from the first to the last, or ``back`` from the last to the first: a sweep in one
    direction is the reversal of one in the other.
    """
    value, left, picked = np.empty(urn.ways.max() * SIDE), np.empty(SIDE), np.empty(SIDE, dtype=np.int64)
    for b in range(state.shape[0]):
        own, streams = state[b], stream[b]
        for step in range(last):
            k = last - 1 - step if back else step
            d = order[k]
            for lane in range(SIDE):
                _add(urn, d, chosen[U(b), U(k), U(lane)], -1.0, lane, own)
            _weigh(urn, d, own, value)
            _pick(value, urn.ways[d], streams, left, picked)
            for lane in range(SIDE):
                chosen[U(b), U(k), U(lane)] = picked[U(lane)]
                _add(urn, d, picked[U(lane)], 1.0, lane, own)


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
