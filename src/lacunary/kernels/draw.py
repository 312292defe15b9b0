"""Markov chains over completions and parameters, from first step to last inside one kernel.

A chain needs of the completed rows only their counts. Going up, cells send sums as in every sweep; going
down, each root spreads its weight over its configurations by a multinomial draw, and each cell spreads
what all its parents sent it. Rows that are alike are drawn together: work grows with distinct cells.
`docs/derivations/ais.md` derives the tempered family and its weights.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.bare import bare, bare_inlined
from lacunary.kernels.cell import SMALL, Kinds, Room, Spots
from lacunary.kernels.compile import kernel
from lacunary.kernels.pack import Slab
from lacunary.kernels.variate import binomial, log_gamma_variate, normal, uniform

__all__ = ["Scratch", "Target", "Trail", "draw_counts", "log_likelihood", "walk", "wander"]


FEW = 8.0
"""Completions that are drawn one by one rather than together."""


MANY = 2**40
"""More than any exponent."""

LOG_2 = math.log(2.0)


class Scratch(NamedTuple):
    """Room for one cell's draws and exponents, (largest size,) each, and three single numbers."""

    drawn: NDArray[np.float64]
    power: NDArray[np.int64]
    shift: NDArray[np.int64]
    left: NDArray[np.float64]
    mass: NDArray[np.float64]


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


@bare_inlined
def _spread(
    value: Any,
    at: int,
    size: int,
    message: Any,
    belief: Any,
    offsets: Any,
    s: int,
    own: int,
    stream: Any,
    drawn: Any,
) -> None:
    """Spread ``belief`` of each shared configuration over those of a cell, as chances in ``value`` say.

    ``own`` leads from a configuration to the shared one, whose chances sum to ``message``; −1: to the first.
    """
    for i in range(size):
        k = s + offsets[own + i] if own >= 0 else s
        x = value[at + i]
        many = 0.0
        if belief[k] > 0.0 and x > 0.0:
            if belief[k] <= FEW:
                for _ in range(np.int64(belief[k])):
                    many += 1.0 if uniform(stream) * message[k] < x else 0.0
            else:
                many = binomial(belief[k], x / message[k], stream)
            belief[k] -= many
            message[k] -= x
        drawn[i] = many
    for i in range(size - 1, -1, -1):  # rounding may have let the last chance fall below one
        k = s + offsets[own + i] if own >= 0 else s
        if belief[k] > 0.0 and value[at + i] > 0.0:
            drawn[i] += belief[k]
            belief[k] = 0.0


@bare_inlined
def _multiply(value: Any, at: int, factor: Any, lead: Any, offsets: Any, table: int, size: int) -> None:
    """Multiply each configuration by the factor it leads to."""
    if table < 0:
        for i in range(size):
            value[at + i] *= factor[lead + i]
    else:
        for i in range(size):
            value[at + i] *= factor[lead + offsets[table + i]]


@bare_inlined
def _add(to: Any, lead: Any, offsets: Any, table: int, size: int, drawn: Any) -> None:
    """Add what each configuration has drawn to the place it leads to."""
    for i in range(size):
        if drawn[i] > 0.0:
            to[lead + (offsets[table + i] if table >= 0 else i)] += drawn[i]


@bare_inlined
def _lift(value: Any, at: int, size: int, power: Any) -> None:
    """Bring every value near one by a power of two, which is exact, and count its exponent apart."""
    for i in range(size):
        x = value[at + i]
        if 0.0 < x < 0.5:
            shift = max(math.frexp(x)[1], -1000)
            value[at + i] = x * math.ldexp(1.0, -shift)
            power[i] += shift


@bare_inlined
def _align(value: Any, at: int, size: int, power: Any) -> int:
    """Give all values the largest exponent among them, and return it."""
    top = -MANY
    for i in range(size):
        if value[at + i] > 0.0:
            top = max(top, power[i])
    for i in range(size):
        value[at + i] *= math.ldexp(1.0, min(max(power[i] - top, -1100), 0))
    return top


@bare
def _rise(
    kinds: Kinds, slab: Slab, spots: Spots, c: int, potential: Any, room: Room, scratch: Scratch
) -> float:
    """Multiply the factors and the children's messages of cell c; return their sum over its configurations.

    Where that is near underflow it is done again with an exponent for every value, so that no product can
    vanish on its way; the largest exponent is left out of all of them and put into ``shift``.
    """
    value, kind, at, power = room.value, slab.kind[c], spots.value[c], scratch.power
    size = kinds.size[kind]
    link = kinds.link_start[kind] - slab.base_start[c]
    first, links = slab.base_start[c], slab.base_start[c + 1] - slab.base_start[c]
    factors = links + slab.child_start[c + 1] - slab.child_start[c]
    scratch.shift[0] = 0
    for care in range(2):
        for i in range(size):
            value[at + i] = 1.0
            power[i] = 0
        for k in range(factors):
            if k < links:
                table = kinds.link_table[link + first + k]
                _multiply(value, at, potential, np.int64(slab.base[first + k]), kinds.offsets, table, size)
            else:
                child = slab.child_start[c] + k - links
                lead = np.int64(spots.heard[child])
                _multiply(value, at, room.message, lead, kinds.offsets, slab.above[child], size)
            if care:
                _lift(value, at, size, power)
        if care:
            scratch.shift[0] = _align(value, at, size, power)
        mass = 0.0
        for i in range(size):
            mass += value[at + i]
        if mass >= SMALL:
            break
    return mass


@bare_inlined
def _send(kinds: Kinds, kind: int, at: int, s: int, mass: float, room: Room) -> None:
    """Scale a cell to sum to one, and sum it over all but what it shares with its parents."""
    for k in range(s, s + kinds.shared[kind]):
        room.message[k] = 0.0
    scale = 1.0 / mass if mass > 0.0 else 0.0
    for i in range(kinds.size[kind]):
        room.value[at + i] *= scale
        room.message[s + kinds.offsets[kinds.own[kind] + i]] += room.value[at + i]


@bare_inlined
def _tell(kinds: Kinds, slab: Slab, spots: Spots, c: int, counts: Any, room: Room, scratch: Scratch) -> None:
    """Add what cell c has drawn to the counts, and pass it on to its children."""
    kind = slab.kind[c]
    size = kinds.size[kind]
    link = kinds.read_start[kind] - slab.read_start[c]
    for k in range(slab.read_start[c], slab.read_start[c + 1]):
        lead: Any = np.int64(slab.read[k])
        _add(counts, lead, kinds.offsets, kinds.read_table[link + k], size, scratch.drawn)
    for k in range(slab.child_start[c], slab.child_start[c + 1]):
        _add(room.belief, spots.heard[k], kinds.offsets, slab.above[k], size, scratch.drawn)


@bare
def draw_counts(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    potential: Any,
    room: Room,
    scratch: Scratch,
    stream: Any,
    counts: Any,
) -> bool:
    """Draw completions of all rows from their posterior under ``potential`` and add their ``counts``.

    Returns False if some row has no possible completion.
    """
    value, message, belief, offsets = room.value, room.message, room.belief, kinds.offsets
    for c in range(slab.kind.size):
        kind = slab.kind[c]
        own, size, at, s = kinds.own[kind], kinds.size[kind], spots.value[c], spots.shared[c]
        mass = _rise(kinds, slab, spots, c, potential, room, scratch)
        if own >= 0:
            for k in range(s, s + kinds.shared[kind]):
                belief[k] = 0.0
            _send(kinds, kind, at, s, mass, room)
        elif slab.weight[c] > 0.0:
            if not mass > 0.0:
                return False
            scratch.left[0] = slab.weight[c]
            scratch.mass[0] = mass
            _spread(value, at, size, scratch.mass, scratch.left, offsets, s - s, own, stream, scratch.drawn)
            _tell(kinds, slab, spots, c, counts, room, scratch)
    for c in range(slab.kind.size - 1, -1, -1):
        kind = slab.kind[c]
        own, size, at, s = kinds.own[kind], kinds.size[kind], spots.value[c], spots.shared[c]
        if own >= 0:
            _spread(value, at, size, message, belief, offsets, s, own, stream, scratch.drawn)
            _tell(kinds, slab, spots, c, counts, room, scratch)
    return True


@bare
def _log_tempered(target: Target, tau: float, counts: Any, sums: Any) -> float:
    """Return log ∫ p(θ) p(x, y | θ)^τ dθ − (1 − τ) · log_ways + log_ways, from the counts of x."""
    for g in range(sums.size):
        sums[g] = 0.0
    log = tau * target.log_ways
    for i in range(counts.size):
        if counts[i] > 0.0:
            sums[target.group[i]] += counts[i]
            log += math.lgamma(target.alpha[i] + tau * counts[i]) - math.lgamma(target.alpha[i])
    for g in range(sums.size):
        if sums[g] > 0.0:
            log += math.lgamma(target.total[g]) - math.lgamma(target.total[g] + tau * sums[g])
    return log


@bare
def _draw_theta(
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
    """
    size, groups = target.alpha.size, target.total.size
    stream, counts, log_theta = np.empty(1, np.uint64), np.empty(size), np.empty(size)
    stream[0] = seed
    for i in range(size):
        counts[i] = target.constant[i]
    top, sums = np.empty(groups), np.empty(groups)
    if not draw_counts(kinds, slab, spots, potential, room, scratch, stream, counts):
        return math.nan
    log_weight = 0.0
    for k in range(1, tau.size):
        if tau[k] != tau[k - 1]:
            log_weight += _log_tempered(target, tau[k], counts, sums)
            log_weight -= _log_tempered(target, tau[k - 1], counts, sums)
        _draw_theta(target, tau[k], counts, stream, log_theta, top, sums)
        for i in range(size):
            potential[i] = math.exp(tau[k] * log_theta[i])
            counts[i] = target.constant[i]
        if not draw_counts(kinds, slab, spots, potential, room, scratch, stream, counts):
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


@bare
def _normalize(target: Target, log_size: Any, theta: Any, sums: Any) -> None:
    """Write θ = g / Σ g, given log g."""
    for g in range(sums.size):
        sums[g] = 0.0
    for i in range(theta.size):
        theta[i] = math.exp(log_size[i])
        sums[target.group[i]] += theta[i]
    for i in range(theta.size):
        theta[i] /= sums[target.group[i]]


@bare
def log_likelihood(
    kinds: Kinds, slab: Slab, spots: Spots, room: Room, scratch: Scratch, constant: Any, theta: Any
) -> float:
    """Return log p(y | θ); ``constant`` are the counts no hole changes."""
    log = 0.0
    for i in range(theta.size):
        if constant[i] > 0.0:
            log += constant[i] * math.log(theta[i])
    for c in range(slab.kind.size):
        kind = slab.kind[c]
        mass = _rise(kinds, slab, spots, c, theta, room, scratch)
        whole = math.log(mass) + LOG_2 * scratch.shift[0]
        for k in range(slab.child_start[c], slab.child_start[c + 1]):
            whole += room.normalizer[slab.child[k], 0, 0]
        if kinds.own[kind] >= 0:
            room.normalizer[c, 0, 0] = whole
            _send(kinds, kind, spots.value[c], spots.shared[c], mass, room)
        elif slab.weight[c] > 0.0:
            log += slab.weight[c] * whole
    return log


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
    for k in range(1, tau.size):
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
