"""Populations that are led from a base to the posterior, with resampling: sequential Monte Carlo.

Particles on an island move along a path of distributions f_τ (Del Moral, Doucet & Jasra 2006). Each step of
the temperature multiplies a particle's weight by the ratio of the densities; where the weights of an island
have become uneven, its particles are drawn anew in proportion to them. The product of the mean weights is
an unbiased estimate of the ratio of normalisers on every island, whatever the schedule and however badly
moves mix, and islands are independent: their differences tell the error. With one particle an island is a
chain of annealed importance sampling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Generic, Protocol, TypeVar

import numpy as np
from scipy.special import logsumexp

from lacunary.maths.arrays import Array, Booleans, Integers

__all__ = [
    "UNEVEN",
    "Annealed",
    "Mover",
    "Rung",
    "State",
    "Weights",
    "anneal",
    "climbing",
    "finer",
    "log_mean",
    "schedule",
]

UNEVEN = 0.5
"""Share of an island's particles that must count for the others not to be drawn anew."""

EVEN = 0.9
"""Share of the particles that count after a step of the schedule: the conditional effective size."""

MOST = 4096
"""Steps that a schedule may have."""

S = TypeVar("S", bound="State")


class State(Protocol):
    """Some particles; ``counts`` are what is known of each."""

    @property
    def counts(self) -> Array:
        """What is known of each particle."""
        ...

    def take(self: S, which: Integers) -> S:
        """Return copies of some of them; their random numbers go on as they would have."""
        ...

    def put(self: S, which: Integers, other: S) -> None:
        """Put others in the place of some of them; their random numbers go on as they would have."""
        ...


class Mover(Protocol[S]):
    """A path from a base, which can be drawn from, to the posterior."""

    @property
    def log_constant(self) -> float:
        """Log of the posterior's normaliser over that of the last distribution of the path."""
        ...

    def begin(self, particles: int, rng: np.random.Generator) -> S:
        """Return draws from the base."""
        ...

    def rise(self, low: float, high: float, state: S) -> Array:
        """Return log f_high − log f_low of each particle."""
        ...

    def move(self, state: S, tau: float, steps: int) -> None:
        """Move every particle by steps that leave f_τ as it is."""
        ...


@dataclass(frozen=True, eq=False)
class Annealed:
    """What islands found.

    Attributes
    ----------
    log_z
        Each island's estimate of the log evidence; (islands,).
    counts, logs
        Particles of the posterior, as counts, and the logs of their weights; (islands · particles, size) and
        (islands, particles).
    steps
        Moves of all particles together.
    """

    log_z: Array
    counts: Array
    logs: Array
    steps: int

    def with_islands(self, other: Annealed) -> Annealed:
        """Return these islands and others with as many particles."""
        return Annealed(
            np.concatenate([self.log_z, other.log_z]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.logs, other.logs]),
            self.steps + other.steps,
        )


@dataclass(frozen=True, eq=False)
class Weights:
    """Logs of the particles' weights; (islands, particles)."""

    logs: Array
    enough: float = UNEVEN

    @cached_property
    def relative(self) -> Array:
        """Weights over the largest of their island; (islands, particles)."""
        return np.asarray(np.exp(self.logs - self.logs.max(axis=1, keepdims=True)))

    @cached_property
    def effective(self) -> Array:
        """(Σw)² / Σw² of each island; (islands,)."""
        return np.asarray(self.relative.sum(axis=1) ** 2 / (self.relative**2).sum(axis=1))

    @cached_property
    def uneven(self) -> Booleans:
        """Which islands' particles had better be drawn anew; (islands,)."""
        return np.asarray(self.effective < self.enough * self.logs.shape[1])

    def drawn(self, rng: np.random.Generator, pinned: bool = False, many: int | None = None) -> Integers:
        """Return who goes on: on uneven islands particles drawn by their weights, elsewhere all.

        Drawing is systematic; with the first of each island ``pinned``, the others are drawn one by one. If
        all islands are uneven, more or fewer than before may be drawn, so ``many`` on each.
        """
        islands, particles = self.logs.shape
        many = particles if many is None else many
        out: Integers = np.arange(islands)[:, None] * particles + np.arange(many)
        who = np.flatnonzero(self.uneven)
        at = rng.random((len(who), many if pinned else 1))
        at = at if pinned else (at + np.arange(many)) / many
        reach = np.cumsum(self.relative[who], axis=1)
        row, last = np.arange(len(who))[:, None], particles - 1
        reach = row + reach / reach[:, -1:]  # the islands' intervals one after the other
        found = np.searchsorted(reach.ravel(), (row + at).ravel()).reshape(at.shape)
        out[who] = who[:, None] * particles + np.clip(found - row * particles, 0, last)
        if pinned:
            out[who, 0] = who * particles
        return np.asarray(out.ravel())


def anneal(
    mover: Mover[S],
    tau: Array,
    islands: int,
    particles: int,
    rng: np.random.Generator,
    moves: int = 1,
    ends: S | None = None,
    begun: Rung[S] | None = None,
) -> Annealed:
    """Lead particles on islands from the base, or from where they have ``begun``, to the posterior.

    With ``ends``, a draw from the posterior for each island, runs are conditional: one particle ends there,
    led by a path backwards. Moves must then be reversible. The mean of exp(−log_z) is the inverse of the
    evidence.
    """
    *_, last = climbing(mover, tau, islands, particles, rng, moves, ends=ends, begun=begun)
    total = last.log_z + log_mean(last.logs) + mover.log_constant
    return Annealed(total, last.state.counts, last.logs, islands * moves * particles * (len(tau) - 1))


@dataclass(frozen=True, eq=False)
class Rung(Generic[S]):
    """Particles at one temperature, the logs of their weights, and what islands have made of earlier ones."""

    tau: float
    state: S
    logs: Array
    log_z: Array


def climbing(
    mover: Mover[S],
    tau: Array,
    islands: int,
    particles: int,
    rng: np.random.Generator,
    moves: int = 1,
    always: bool = False,
    ends: S | None = None,
    begun: Rung[S] | None = None,
) -> Iterator[Rung[S]]:
    """Lead particles from the base, or from where they have ``begun``, and stop at every temperature.

    If ``always``, particles are drawn anew at every temperature, so that all count alike. With ``ends`` the
    first particle of each island is on its way there.
    """
    path = [] if ends is None else _backwards(mover, tau, ends, moves)
    if begun is None:
        state = mover.begin(islands * particles, rng)
        begun = Rung(0.0, state, np.zeros((islands, particles)), np.zeros(islands))
    state, logs, log_z = begun.state, begun.logs, begun.log_z
    if path:
        state.put(np.arange(islands) * particles, path[0])
    yield begun
    for k, (low, high) in enumerate(pairwise(tau.tolist())):
        logs = logs + mover.rise(low, high, state).reshape(logs.shape)
        weights = Weights(logs, 1.0 + 1e-9 if always else UNEVEN)
        if weights.uneven.any():
            log_z = log_z + np.where(weights.uneven, log_mean(logs), 0.0)
            state = state.take(weights.drawn(rng, bool(path)))
            logs = np.where(weights.uneven[:, None], 0.0, logs)
        mover.move(state, high, moves)
        if path:
            state.put(np.arange(islands) * particles, path[k + 1])
        yield Rung(high, state, logs, log_z)


def _backwards(mover: Mover[S], tau: Array, ends: S, moves: int) -> list[S]:
    """Return states at every temperature, by reversible moves from the last of them back to the base."""
    path = [ends]
    for high in tau[:0:-1].tolist():
        before = path[-1].take(np.arange(len(ends.counts)))
        mover.move(before, high, moves)
        path.append(before)
    return path[::-1]


def schedule(mover: Mover[S], rng: np.random.Generator, particles: int = 64, moves: int = 1) -> Array:
    """Return inverse temperatures from 0 to 1 such that every step leaves the weights about as even."""
    state, logs, tau = mover.begin(particles, rng), np.zeros((1, particles)), [0.0]
    while tau[-1] < 1.0 and len(tau) <= MOST:
        tau.append(_next(mover, tau[-1], state, logs[0]))
        logs = logs + mover.rise(tau[-2], tau[-1], state)
        weights = Weights(logs)
        if weights.uneven[0]:
            state, logs = state.take(weights.drawn(rng)), np.zeros((1, particles))
        mover.move(state, tau[-1], moves)
    tau[-1] = 1.0
    return np.array(tau)


def finer(tau: Array, times: float = 1.0, steps: int | None = None) -> Array:
    """Return a schedule with so many times the steps, or so many, spread as these are."""
    steps = max(round((len(tau) - 1) * times), 1) if steps is None else steps
    out = np.interp(np.linspace(0.0, len(tau) - 1.0, steps + 1), np.arange(len(tau)), tau)
    out[0], out[-1] = 0.0, 1.0
    return np.asarray(out)


def _next(mover: Mover[S], now: float, state: S, logs: Array) -> float:
    """Return the farthest inverse temperature at which weights are still even enough."""
    share = np.exp(logs - logsumexp(logs))

    def even(to: float) -> bool:
        rise = mover.rise(now, to, state)
        ratio = np.exp(rise - rise.max())
        return bool((share @ ratio) ** 2 >= EVEN * (share @ ratio**2))

    if even(1.0):
        return 1.0
    low, high = 0.0, 1.0 - now  # even at now + low, uneven at now + high
    far = high
    while not even(now + far):
        high, far = far, far / 4
    low = far
    for _ in range(4):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if even(now + middle) else (low, middle)
    return float(now + low)


def log_mean(logs: Array) -> Array:
    """Return the log of the mean weight of each island; (islands,)."""
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).mean(axis=1)))
