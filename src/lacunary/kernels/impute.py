"""Sequential imputation: rows completed one after the other, given the counts of those before.

With parameters integrated out, p(x, y | counts) of one more row is a product of (α + N) / Σ (α + N) over its
families: a Pólya urn. A row's completions are written down, each as the places of its families' parameters.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import bare, kernel
from lacunary.kernels.variate import uniform

__all__ = ["Urn", "impute", "recall", "renew"]


class Urn(NamedTuple):
    """Pseudo-counts, and the completions of distinct rows.

    ``alpha`` are the prior's pseudo-counts and ``group`` the distribution of each (size,), ``total`` their
    sums (groups,). Row d has ``ways[d]`` completions of ``width[d]`` families each, whose parameters stand
    at ``place[start[d]:]``, completion by completion. ``twice`` says whether a row may use a distribution
    twice.
    """

    alpha: NDArray[np.float64]
    group: NDArray[np.int64]
    total: NDArray[np.float64]
    start: NDArray[np.int64]
    ways: NDArray[np.int64]
    width: NDArray[np.int64]
    place: NDArray[np.int64]
    twice: bool


@bare
def _weigh(urn: Urn, d: int, counts: Any, sums: Any, value: Any) -> float:
    """Write the probability of each completion of a row, given the counts before it; return their sum."""
    at, width, mass = urn.start[d], urn.width[d], 0.0
    for c in range(urn.ways[d]):
        v = 1.0
        for f in range(at, at + width):
            i = urn.place[f]
            g = urn.group[i]
            v *= (urn.alpha[i] + counts[i]) / (urn.total[g] + sums[g])
            if urn.twice:
                counts[i] += 1.0
                sums[g] += 1.0
        if urn.twice:
            _add(urn, d, c, -1.0, counts, sums)
        value[c] = v
        mass += v
        at += width
    return mass


@bare
def _add(urn: Urn, d: int, c: int, by: float, counts: Any, sums: Any) -> None:
    """Count a completion of a row, or take it back."""
    at = urn.start[d] + c * urn.width[d]
    for f in range(at, at + urn.width[d]):
        i = urn.place[f]
        counts[i] += by
        sums[urn.group[i]] += by


@bare
def _pick(value: Any, ways: int, mass: float, stream: Any) -> int:
    """Draw a completion by its probability."""
    left = uniform(stream) * mass
    for c in range(ways - 1):
        left -= value[c]
        if left < 0.0:
            return c
    return ways - 1


@kernel
def impute(
    urn: Urn, order: Any, first: int, last: int, counts: Any, sums: Any, chosen: Any, logs: Any, stream: Any
) -> None:
    """Complete rows ``order[first:last]`` for every particle; add the log of each row's probability.

    Parameters
    ----------
    urn
        Pseudo-counts and completions.
    order, first, last
        Which row is completed when; (rows,).
    counts, sums, chosen, logs, stream
        Counts and their sums by distribution, completions drawn, logs of weights and states of random
        numbers of the particles; written; (particles, size), (particles, groups), (particles, rows),
        (particles,) twice.
    """
    value, own = np.empty(urn.ways.max()), np.empty(1, np.uint64)
    for p in range(counts.shape[0]):
        own[0] = stream[p]
        for k in range(first, last):
            d = order[k]
            mass = _weigh(urn, d, counts[p], sums[p], value)
            logs[p] += math.log(mass)
            c = _pick(value, urn.ways[d], mass, own)
            chosen[p, k] = c
            _add(urn, d, c, 1.0, counts[p], sums[p])
        stream[p] = own[0]


@kernel
def renew(
    urn: Urn,
    order: Any,
    last: int,
    sweeps: int,
    back: bool,
    counts: Any,
    sums: Any,
    chosen: Any,
    stream: Any,
) -> None:
    """Draw the completions of rows ``order[:last]`` anew, each given all others: collapsed Gibbs sampling.

    Rows are gone through from the first to the last, or ``back`` from the last to the first: a sweep in one
    direction is the reversal of one in the other.
    """
    value, own = np.empty(urn.ways.max()), np.empty(1, np.uint64)
    for p in range(counts.shape[0]):
        own[0] = stream[p]
        for _ in range(sweeps):
            for step in range(last):
                k = last - 1 - step if back else step
                d = order[k]
                _add(urn, d, chosen[p, k], -1.0, counts[p], sums[p])
                mass = _weigh(urn, d, counts[p], sums[p], value)
                c = _pick(value, urn.ways[d], mass, own)
                chosen[p, k] = c
                _add(urn, d, c, 1.0, counts[p], sums[p])
        stream[p] = own[0]


@kernel
def recall(
    urn: Urn, order: Any, first: int, last: int, counts: Any, sums: Any, chosen: Any, given: Any
) -> float:
    """Complete rows ``order[first:last]`` of one particle as given; return the log of their probability.

    ``counts``, ``sums``, ``chosen`` and ``given`` are those of the particle; (size,), (groups,), (rows,)
    twice.
    """
    value, log = np.empty(urn.ways.max()), 0.0
    for k in range(first, last):
        d = order[k]
        log += math.log(_weigh(urn, d, counts, sums, value))
        chosen[k] = given[k]
        _add(urn, d, given[k], 1.0, counts, sums)
    return log
