"""Paths whose particles move by Hamiltonian steps, for discrete networks with many rows.

A particle is a vector of log odds or log probabilities, and all that is asked of rows is one E-step of all
particles together: expected counts are the slopes of the log-likelihood. What it costs depends on how many
rows are distinct, not on how many there are. A step follows the slopes for many small leaps, so that it goes
far where the posterior is flat, where Gibbs sampling and random walks go by inches (Neal 2011). How long
leaps are, and how many, is found by a pilot run and taken as it was found there: moves do not depend on what
they move, and weights stay unbiased. The path may begin at the posterior of a few rows
(`lacunary.evidence.arriving`) or at the posterior's peaks (`lacunary.evidence.peaks`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array, Booleans, Integers

__all__ = ["WIDEST", "Hamiltonian", "Pace", "Slopes", "leaping", "sweep_price"]

ACCEPTED = 0.85
"""The share of Hamiltonian steps that are accepted."""

SHORTEST = 0.25
"""The shortest leaps over the longest. Particles stand fast for good where the usual leap is too long: of one
length, one in twenty hardly ever moved, and what it weighed grew out of all proportion."""

FIRST = 0.5
"""Length of the first leaps of a pilot run, in deviations."""

WIDEST = 400
"""Free parameters up to which leaps follow curvatures, and a base with all covariances is made."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """Points, log f₀ and log (f₁ / f₀) at each, and the slopes of both."""

    counts: Array
    base: Array
    log: Array
    base_slope: Array
    log_slope: Array

    def take(self, which: Integers) -> Slopes:
        """Return copies of some of them."""
        return Slopes(*(own[which] for own in self._all))

    def put(self, which: Integers, other: Slopes) -> None:
        """Put others in the place of some of them."""
        for own, new in zip(self._all, other._all, strict=True):
            own[which] = new

    @property
    def _all(self) -> tuple[Array, ...]:
        return self.counts, self.base, self.log, self.base_slope, self.log_slope


@dataclass(frozen=True)
class Pace:
    """How long and how many leaps are at a temperature, and R, by which speeds move points near home."""

    length: float
    leaps: int
    root: Array
    home: Array | None = None


@dataclass(eq=False)
class Hamiltonian:
    """The path f₀^(1 − τ) f₁^τ. While ``seeking``, as in a pilot run, paces are sought along it."""

    rng: np.random.Generator
    seeking: bool = field(default=True, init=False)
    paces: dict[float, Pace] = field(default_factory=dict, init=False)
    log_constant: float = field(default=0.0, init=False)

    def begin(self, particles: int, rng: np.random.Generator) -> Slopes:
        """Return draws from f₀."""
        raise NotImplementedError

    def at(self, points: Array) -> Slopes:
        """Return particles at some points; (particles, size)."""
        raise NotImplementedError

    def pace(self, tau: float, state: Slopes) -> Pace:
        """Return the first guess of a pace at a temperature, from a pilot's particles there."""
        raise NotImplementedError

    def rise(self, low: float, high: float, state: Slopes) -> Array:
        """Return log f_high − log f_low of each particle."""
        return np.asarray((high - low) * state.log)

    def height(self, tau: float, state: Slopes) -> Array:
        """Return log f_τ of each particle."""
        return np.asarray(state.base + tau * state.log)

    def move(self, state: Slopes, tau: float, steps: int) -> None:
        """Move every particle."""
        pace = self.pace(tau, state) if self.seeking else self.known(tau)
        for _ in range(steps):
            taken = self._step(state, tau, pace)
            if self.seeking:
                pace = replace(pace, length=pace.length * float(np.exp(taken - ACCEPTED)))
        if self.seeking:
            self.paces[tau] = pace

    @property
    def last(self) -> float:
        """The length of the leaps that a pilot run found last."""
        return list(self.paces.values())[-1].length if self.paces else FIRST

    def known(self, tau: float) -> Pace:
        """Return the pace that was found at the nearest temperature."""
        return self.paces[min(self.paces, key=lambda known: abs(known - tau))]

    def within(self, state: Slopes, pace: Pace) -> Booleans:
        """Tell where steps at a pace may end."""
        return np.ones(len(state.counts), dtype=np.bool_)

    def _step(self, state: Slopes, tau: float, pace: Pace) -> float:
        """Go some leaps with a speed that is drawn, where that is accepted; return how often it is."""
        speed = self.rng.standard_normal(state.counts.shape)
        length = pace.length * SHORTEST ** self.rng.random((len(speed), 1))
        energy = self.height(tau, state) - 0.5 * (speed**2).sum(axis=1)
        now, push = state, leaping(state.base_slope + tau * state.log_slope, pace.root.T)
        for _ in range(int(self.rng.integers((pace.leaps + 1) // 2, pace.leaps + 1))):
            speed = speed + 0.5 * length * push
            now = self.at(now.counts + length * leaping(speed, pace.root))
            push = leaping(now.base_slope + tau * now.log_slope, pace.root.T)
            speed = speed + 0.5 * length * push
        gained = self.height(tau, now) - 0.5 * (speed**2).sum(axis=1) - energy
        gained = np.where(np.isfinite(gained) & self.within(now, pace), gained, -np.inf)
        taken = np.flatnonzero(np.log1p(-self.rng.random(len(gained))) < gained)
        state.put(taken, now.take(taken))
        return float(np.exp(np.minimum(gained, 0.0)).mean())


def leaping(vectors: Array, root: Array) -> Array:
    """Return R v of each vector, where a row of numbers is a diagonal R; (particles, size)."""
    return np.asarray(vectors * root if root.ndim == 1 else vectors @ root.T)


def sweep_price(problem: Problem) -> float:
    """Return what the slopes of one particle cost, in multiplications of an urn.

    Rows that agree wherever holes have a bearing are swept as one.
    """
    codes, dag = problem.rows("sampling")[0], problem.dag
    open_ = np.flatnonzero((codes < 0).any(axis=0)).tolist()
    reached = set(open_)
    for i, parents in enumerate(dag.parent_indices):
        family = {i, *parents}
        reached |= family if family & set(open_) else set()
    return 2000.0 + len(np.unique(codes[:, sorted(reached)], axis=0)) * dag.layout.size / 8
