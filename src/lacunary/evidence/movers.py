"""Paths from a base to the posterior, for populations of particles.

For tables a base is q(θ) q(x): Dirichlets with hyperparameters α + E, and completions with potentials
exp(tilt). The path is geometric, f_τ = (q(θ) q(x))^(1−τ) · (p(θ) p(x, y | θ))^τ: given x, every
distribution is Dirichlet(α + (1 − τ)E + τN(x)), and given θ completions have potentials exp((1 − τ) tilt)
θ^τ, both of which are drawn exactly; the weights integrate θ out. With E = 0 and no tilt the base is the
prior, with every completion equally likely. `docs/derivations/sampled.md` has the formulas, and what
several bases share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lacunary.errors import ImpossibleRowError
from lacunary.evidence.chains import NumericChains
from lacunary.evidence.random_walk import ACCEPTED, Walk
from lacunary.infer.parallel import in_parallel
from lacunary.infer.walker import Walker
from lacunary.kernels.population import Bases
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.special import log_rising

__all__ = ["NumericMover", "Particles", "Points", "Statistics", "TableMover", "WalkMover", "from_prior"]

PORTION = 16
"""Particles that a thread moves at a time."""

ALONG = 0.5
"""Share of a random walk's steps that go along differences of other particles."""

LENGTH = 0.4
"""How long these steps are, about, in differences."""

SOME = 0.35
"""Share of the distributions that a step changes which does not change all."""


@dataclass(frozen=True, eq=False)
class Particles:
    """Counts of completed rows, the base each came from, its log share, and streams of random numbers."""

    counts: Array
    which: Integers
    share: Array
    stream: NDArray[np.uint64]

    def take(self, which: Integers) -> Particles:
        """Return copies of some of them."""
        return Particles(self.counts[which], self.which[which], self.share[which], self.stream)

    def put(self, which: Integers, other: Particles) -> None:
        """Put others in the place of some of them."""
        self.counts[which], self.which[which], self.share[which] = other.counts, other.which, other.share


@dataclass(frozen=True, eq=False)
class TableMover:
    """Paths of a graph of tables from one or more bases.

    Attributes
    ----------
    walker
        The rows.
    bases, weights
        Where paths begin, and how much of each base there is; (bases,).
    log_z
        Log of the sum of each base's potentials over all completions; (bases,).
    log_constant
        Log of the number of renamings, of each of which a path sees its share.
    """

    walker: Walker
    bases: Bases
    weights: Array
    log_z: Array
    log_constant: float = 0.0

    @cached_property
    def _level(self) -> Array:
        """Log of what makes each base's Dirichlets integrate to one, over the prior's; (bases,)."""
        return self._dirichlet(self.bases.expected)

    def begin(self, particles: int, rng: np.random.Generator) -> Particles:
        """Return draws from the bases."""
        edges = np.cumsum(self.weights) / self.weights.sum()
        at = rng.permutation((rng.random() + np.arange(particles)) / particles)
        which = np.searchsorted(edges[:-1], at).astype(np.int64)
        counts = np.repeat(self.walker.target.constant[None], particles, axis=0)
        stream = rng.integers(0, 2**64, particles, dtype=np.uint64)
        state = Particles(counts, which, np.zeros(particles), stream)
        self.move(state, 0.0, 1)
        return state

    def rise(self, low: float, high: float, state: Particles) -> Array:
        """Return log f_high − log f_low of each particle."""
        which, step = state.which, high - low
        expected = self.bases.expected[which]
        before, after = ((1.0 - tau) * expected + tau * state.counts for tau in (low, high))
        out = self._dirichlet(after) - self._dirichlet(before) + step * self._level[which]
        tilted = np.einsum("pi,pi->p", state.counts, self.bases.tilt[which]) - self.log_z[which]
        out -= step * (tilted + np.log(self.weights[which]))
        return np.asarray(out + step * state.share)

    def height(self, tau: float, state: Particles) -> Array:
        """Return log f_τ of each particle, over that of the base."""
        return self.rise(0.0, tau, state)

    def move(self, state: Particles, tau: float, steps: int) -> None:
        """Move every particle."""

        def some(first: int) -> bool:
            here = slice(first, first + PORTION)
            mine = state.which[here], state.counts[here], state.share[here], state.stream[here]
            return self.walker.move(self.bases, tau, steps, *mine)

        if not all(list(in_parallel(some, range(0, len(state.which), PORTION)))):
            raise ImpossibleRowError("some row has no completion of positive probability")

    def _dirichlet(self, counts: Array) -> Array:
        """Return log B(α + counts) − log B(α); (..., size) → (...)."""
        target, layout = self.walker.target, self.walker.rows.dag.layout
        cells = log_rising(target.alpha, counts).sum(axis=-1)
        return np.asarray(cells - log_rising(target.total, layout.total(counts)).sum(axis=-1))


def from_prior(walker: Walker) -> TableMover:
    """Return the path of tables from the prior, with every completion equally likely."""
    none = np.zeros((1, len(walker.target.alpha)))
    return TableMover(
        walker, Bases(none, none, none, np.zeros(1)), np.ones(1), np.array([walker.target.log_ways])
    )


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of completed rows, and log u of their holes."""

    counts: Array

    def take(self, which: Integers) -> Statistics:
        """Return copies of some of them."""
        return Statistics(self.counts[which])

    def put(self, which: Integers, other: Statistics) -> None:
        """Put others in the place of some of them."""
        self.counts[which] = other.counts


@dataclass(frozen=True, eq=False)
class NumericMover:
    """The path from the prior of a graph with numeric families; particles go side by side."""

    chains: NumericChains
    rng: np.random.Generator
    log_constant: float = 0.0

    def begin(self, particles: int, rng: np.random.Generator) -> Statistics:
        """Return completions drawn from u."""
        return Statistics(self.chains.first(particles, None, rng))

    def rise(self, low: float, high: float, state: Statistics) -> Array:
        """Return log f_high − log f_low of each particle."""
        before, after = self.chains.log_tempered(np.array([[low], [high]]), state.counts)
        return np.asarray(after - before)

    def height(self, tau: float, state: Statistics) -> Array:
        """Return log f_τ of each particle."""
        return self.chains.log_tempered(tau, state.counts)

    def move(self, state: Statistics, tau: float, steps: int) -> None:
        """Move every particle."""
        for _ in range(steps):
            drawn = self.chains.drawn(tau, state.counts, self.rng)
            state.counts[:] = self.chains.completions.draw(drawn, tau, self.rng)


@dataclass(frozen=True, eq=False)
class Points:
    """Parameters of a random walk, their log prior density and log-likelihood."""

    counts: Array
    prior: Array
    log: Array

    def take(self, which: Integers) -> Points:
        """Return copies of some of them."""
        return Points(self.counts[which], self.prior[which], self.log[which])

    def put(self, which: Integers, other: Points) -> None:
        """Put others in the place of some of them."""
        self.counts[which], self.prior[which], self.log[which] = other.counts, other.prior, other.log


@dataclass(eq=False)
class WalkMover:
    """The path p(θ) p(y | θ)^τ by a random walk, for families to which nothing is conjugate.

    Steps are normal, or go along the difference of two particles of a pilot run at that temperature, in some
    distributions or all (differential evolution, ter Braak 2006): that is how they find their way along the
    narrow arms of a posterior in which not all parameters can be told. While ``seeking``, as in a pilot run,
    the pace at which normal steps are accepted often enough is sought, and particles are kept; both are then
    taken as they were found along the path, so that steps do not depend on what they move.
    """

    walk: Walk
    rng: np.random.Generator
    seeking: bool = True
    paces: dict[float, float] = field(default_factory=dict)
    mates: dict[float, Array] = field(default_factory=dict)
    log_constant: float = 0.0

    def begin(self, particles: int, rng: np.random.Generator) -> Points:
        """Return draws from the prior."""
        return self.at(self.walk.draw(particles, rng))

    def at(self, points: Array) -> Points:
        """Return particles at some points; (particles, size)."""
        return Points(points, self.walk.log_prior(points), self.walk.log_likelihood(points))

    def rise(self, low: float, high: float, state: Points) -> Array:
        """Return log f_high − log f_low of each particle."""
        return np.asarray((high - low) * state.log)

    def height(self, tau: float, state: Points) -> Array:
        """Return log f_τ of each particle."""
        return np.asarray(state.prior + tau * state.log)

    def move(self, state: Points, tau: float, steps: int) -> None:
        """Move every particle; a step of a random walk is short, so that several make one."""
        known = sorted(self.paces)
        pace = float(np.interp(tau, known, [self.paces[t] for t in known])) if known else 1.0
        mates = np.array(state.counts) if self.seeking else self._mates(tau)
        for _ in range(steps * self.walk.short):
            along = self.rng.random() < ALONG
            far = self._difference(mates, len(state.counts)) if along else self._normal(pace, tau, state)
            taken = self._try(state, tau, state.counts + far)
            if self.seeking and not along:
                pace *= float(np.exp((taken - ACCEPTED) / 2))
        if self.seeking:
            self.paces[tau], self.mates[tau] = pace, np.array(state.counts)

    def _mates(self, tau: float) -> Array:
        """Return the pilot's particles at the nearest temperature; (particles, size)."""
        return self.mates[min(self.mates, key=lambda known: abs(known - tau))]

    def _normal(self, pace: float, tau: float, state: Points) -> Array:
        """Return normal steps; (particles, size)."""
        reach = pace * 2.38 / np.sqrt(self.walk.size) * self.walk.reach(tau)
        return np.asarray(reach * self.rng.standard_normal(state.counts.shape))

    def _difference(self, mates: Array, particles: int) -> Array:
        """Return steps along differences of two mates, short and long, half of them of some groups alone."""
        one, other = self.rng.integers(len(mates), size=(2, particles))
        group = self.walk.group
        some = self.rng.random((particles, int(group.max()) + 1)) < SOME
        some[self.rng.random(particles) < 0.5] = True
        length = np.exp(self.rng.normal(np.log(LENGTH), 1.0, (particles, 1)))
        return np.asarray(length * (mates[one] - mates[other]) * some[:, group])

    def _try(self, state: Points, tau: float, points: Array) -> float:
        """Go to some points where that is accepted, and return how often it is."""
        tried = self.at(points)
        ratio = self.height(tau, tried) - self.height(tau, state)
        taken = np.flatnonzero(np.log1p(-self.rng.random(len(ratio))) < ratio)
        state.put(taken, tried.take(taken))
        return len(taken) / len(ratio)
