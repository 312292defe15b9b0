"""Markov chains over completions and parameters, from first step to last inside one kernel.

`docs/derivations/ais.md` derives the tempered family and its weights.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.cell import Kinds, Room, Spots
from lacunary.kernels.compile import called, kernel
from lacunary.kernels.draw import add_draws, log_likelihood
from lacunary.kernels.pack import Slab
from lacunary.kernels.spread import Scratch
from lacunary.kernels.variate import log_gamma_variate, normal, uniform

__all__ = ["Target", "Trail", "draw_theta", "walk", "wander"]


class Target(NamedTuple):
    """What the tempered family is made of, besides the rows' cells.

    ``alpha`` are the prior's pseudo-counts, ``group`` says to which distribution each belongs, and ``total``
    are their sums; ``constant`` are the counts no hole changes; ``log_ways`` is the log of the number of
    completions of all rows.
    """

    alpha: NDArray[np.float64]
    group: NDArray[np.int64]
    total: NDArray[np.float64]
    constant: NDArray[np.float64]
    log_ways: float


class Trail(NamedTuple):
    """What a chain leaves behind: after every ``every`` steps its log-weight, counts and parameters.

    Arrays without rows are not written. Shapes (kept,), (kept, size) and (kept, size).
    """

    every: int
    log_weight: NDArray[np.float64]
    counts: NDArray[np.float64]
    log_theta: NDArray[np.float64]


@called
def _log_rising(a: float, n: float) -> float:
    """Return log Γ(a + n) − log Γ(a), n ≥ 0, as `lacunary.maths.special.log_rising`."""
    if a < 1000.0:
        return math.lgamma(a + n) - math.lgamma(a)
    b = a + n
    tail = (1 / 12 - 1 / 360 / b / b) / b - (1 / 12 - 1 / 360 / a / a) / a
    return (a - 0.5) * math.log1p(n / a) + n * math.log(b) - n + tail


@called
def _log_tempered(target: Target, tau: float, counts: Any, sums: Any) -> float:
    """Return log ∫ p(θ) p(x, y | θ)^τ dθ − (1 − τ) · log_ways + log_ways, from the counts of x."""
    for g in range(sums.size):
        sums[g] = 0.0
    log = tau * target.log_ways
    for i in range(counts.size):
        if counts[i] > 0.0:
            sums[target.group[i]] += counts[i]
            log += _log_rising(target.alpha[i], tau * counts[i])
    for g in range(sums.size):
        if sums[g] > 0.0:
            log -= _log_rising(target.total[g], tau * sums[g])
    return log


@called
def draw_theta(
    target: Target, tau: float, counts: Any, stream: Any, log_theta: Any, top: Any, sums: Any
) -> None:
    """Draw every distribution from Dirichlet(α + τ · counts), in logs: small ones may underflow."""
    for g in range(sums.size):
        top[g] = -np.inf
        sums[g] = 0.0
    for i in range(counts.size):
        log_theta[i] = log_gamma_variate(target.alpha[i] + tau * counts[i], stream)
        top[target.group[i]] = max(top[target.group[i]], log_theta[i])
    for i in range(counts.size):
        sums[target.group[i]] += math.exp(log_theta[i] - top[target.group[i]])
    for g in range(sums.size):
        top[g] += math.log(sums[g])
    for i in range(counts.size):
        log_theta[i] -= top[target.group[i]]


@kernel
def walk(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    room: Room,
    scratch: Scratch,
    target: Target,
    tau: Any,
    potential: Any,
    seed: Any,
    trail: Trail,
) -> float:
    """Walk a chain over completions through the inverse temperatures ``tau``; return its log-weight.

    The first completions are drawn under ``potential`` (all ones: uniformly). Each step then moves the
    temperature on, which multiplies the weight by the ratio of the tempered densities of the counts, and
    draws θ given the counts and completions given θ at the new temperature. NaN if a row had no completion.

    Parameters
    ----------
    kinds, slab, spots, room, scratch
        Cells and working memory, as `add_draws` takes them.
    target
        Prior and counts of the tempered family.
    tau
        Inverse temperatures; (steps + 1,).
    potential
        Of the first completions; overwritten; (size,).
    seed
        The first state of the random numbers, of 64 bits.
    trail
        Written.
    """
    size, groups = target.alpha.size, target.total.size
    stream, counts, log_theta = np.empty(1, np.uint64), np.empty(size), np.empty(size)
    stream[0] = seed
    for i in range(size):
        counts[i] = target.constant[i]
    top, sums = np.empty(groups), np.empty(groups)
    if not add_draws(kinds, slab, spots, potential, room, scratch, stream, counts):
        return math.nan
    log_weight = 0.0
    # Before step k, ``counts`` are those of the present completions, drawn at temperature k − 1, and
    # ``log_weight`` corrects for all moves of the temperature up to it.
    for k in range(1, tau.size):
        if tau[k] != tau[k - 1]:
            log_weight += _log_tempered(target, tau[k], counts, sums)
            log_weight -= _log_tempered(target, tau[k - 1], counts, sums)
        draw_theta(target, tau[k], counts, stream, log_theta, top, sums)
        for i in range(size):
            potential[i] = math.exp(tau[k] * log_theta[i])
            counts[i] = target.constant[i]
        if not add_draws(kinds, slab, spots, potential, room, scratch, stream, counts):
            return math.nan
        if k % trail.every == 0:
            at = k // trail.every - 1
            if at < trail.log_weight.size:
                trail.log_weight[at] = log_weight
            for i in range(size if at < trail.counts.shape[0] else 0):
                trail.counts[at, i] = counts[i]
            for i in range(size if at < trail.log_theta.shape[0] else 0):
                trail.log_theta[at, i] = log_theta[i]
    return log_weight


@called
def _normalize(target: Target, log_size: Any, theta: Any, sums: Any) -> None:
    """Write θ = g / Σ g, given log g."""
    for g in range(sums.size):
        sums[g] = 0.0
    for i in range(theta.size):
        theta[i] = math.exp(log_size[i])
        sums[target.group[i]] += theta[i]
    for i in range(theta.size):
        theta[i] /= sums[target.group[i]]


@kernel
def wander(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    room: Room,
    scratch: Scratch,
    target: Target,
    tau: Any,
    usual: Any,
    pace: Any,
    tune: float,
    log_size: Any,
    seed: Any,
    trail: Trail,
) -> tuple[float, float]:
    """Walk a chain over parameters through ``tau`` by Metropolis moves; return log-weight and acceptance.

    The parameters are θ = g / Σ g with independent Gamma(α, 1) priors on g, so that a random walk on log g
    needs no boundary. All of them move at once, each by a normal step of ``pace[k]`` over the root of its
    pseudo-count α + τ · ``usual``. With ``tune`` > 0 the pace is not read but sought, so that this share of
    proposals is accepted, and written down. The chain starts at ``log_size``; NaN: at a draw from the prior.

    Parameters
    ----------
    kinds, slab, spots, room, scratch
        Cells and working memory, as `log_likelihood` takes them.
    target
        Prior and counts of the tempered family.
    tau, pace
        Inverse temperatures and paces; (steps + 1,).
    usual, log_size
        Counts that are to be expected, and log g to start from; (size,).
    seed
        The first state of the random numbers, of 64 bits.
    trail
        Written: log-weights alone.
    """
    size = target.alpha.size
    stream = np.empty(1, np.uint64)
    stream[0] = seed
    here, there, theta = np.empty(size), np.empty(size), np.empty(size)
    sums = np.empty(target.total.size)
    for i in range(size):
        drawn = log_gamma_variate(target.alpha[i], stream)
        here[i] = drawn if math.isnan(log_size[i]) else log_size[i]
    _normalize(target, here, theta, sums)
    log = log_likelihood(kinds, slab, spots, room, scratch, target.constant, theta)
    log_weight, accepted, log_pace = 0.0, 0.0, math.log(pace[0])
    for k in range(1, tau.size):  # ``here`` is log g at the start of a step, and ``log`` its log-likelihood
        log_weight += (tau[k] - tau[k - 1]) * log
        step = math.exp(log_pace) if tune > 0.0 else pace[k]
        change = 0.0
        for i in range(size):
            there[i] = here[i] + step * normal(stream) / math.sqrt(target.alpha[i] + tau[k] * usual[i])
            change += target.alpha[i] * (there[i] - here[i]) - math.exp(there[i]) + math.exp(here[i])
        _normalize(target, there, theta, sums)
        proposed = log_likelihood(kinds, slab, spots, room, scratch, target.constant, theta)
        change += tau[k] * (proposed - log)
        if change >= 0.0 or math.log(uniform(stream)) < change:
            here, there = there, here
            log = proposed
            accepted += 1.0
        if tune > 0.0:
            log_pace += (min(1.0, math.exp(min(change, 0.0))) - tune) * 4.0 / math.sqrt(100.0 + k)
            pace[k] = step
        if k % trail.every == 0 and k // trail.every <= trail.log_weight.size:
            trail.log_weight[k // trail.every - 1] = log_weight
    return log_weight, accepted / max(tau.size - 1, 1)
