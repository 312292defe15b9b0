"""Paths whose particles move by Hamiltonian steps, for discrete networks with many rows.

A particle is a vector of log odds or log probabilities, and all that is asked of rows is one E-step of all
particles together: expected counts are the slopes of the log-likelihood. What it costs depends on how many
rows are distinct, not on how many there are. A step follows the slopes for many small leaps, so that it goes
far where the posterior is flat, where Gibbs sampling and random walks go by inches (Neal 2011). How long
leaps are, and how many, is found by a pilot run and taken as it was found there: moves do not depend on what
they move, and weights stay unbiased. Where rows have settled what hidden states are called, leaps follow the
mean curvature at a pilot's particles, in one labelling. The path may begin at the prior, as here, or at the
posterior's peaks (`lacunary.evidence.peaks`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import polygamma

from lacunary.evidence.bases import Optima
from lacunary.evidence.hessian import Curvature, curvature
from lacunary.evidence.problem import Problem
from lacunary.infer.covariance import free_places
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.maths.arrays import Array, Booleans, Integers

__all__ = ["WIDEST", "Hamiltonian", "Pace", "PriorMover", "Slopes", "leaping", "prior_mover", "sweep_price"]

ACCEPTED = 0.8
"""The share of Hamiltonian steps that are accepted; 0.65 is best in very many dimensions."""

JITTER = 0.25
"""Deviation of the log of a leap's length: no length fits every turn of a path."""

FIRST = 0.5
"""Length of the first leaps of a pilot run, in deviations."""

ACROSS = 1.5
"""How far steps go, about, in deviations of the prior."""

FARTHEST = 300.0
"""The largest log of a number that is made a probability: what is beyond is as good as zero."""

FEWEST = 4
"""Leaps of a step at least."""

BENT = 12
"""Leaps of a step along the mean curvature, which is followed where it takes as many along the axes."""

BENDS, FRESH, SOFTEST = 32, 8, 1.0
"""Pilot particles whose curvature is averaged, those of them that are new at each temperature, and the least
curvature that is taken of any direction. Of fewer, what is stiff at some particles alone is overlooked."""

USUAL = 0.5
"""Share of these leaps that a step has on average, all temperatures together."""

WIDEST = 400
"""Free parameters up to which leaps follow curvatures, and a base with all covariances is made."""

OFTEN = 0.95
"""Of how many pilot particles a cell counts less often than that which says how far leaps go."""


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
        length = pace.length * np.exp(JITTER * self.rng.standard_normal((len(speed), 1)))
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


@dataclass(eq=False)
class PriorMover(Hamiltonian):
    """The path p(θ) p(y | θ)^τ; particles are log θ, up to a constant in each distribution.

    A leap is as long in each number as its deviation would be, were the holes filled with what is expected of
    them; it takes so many to go as far as the prior does, where rows say nothing. Where these are many, leaps
    follow the mean curvature: particles are renamed to that of the ``orders`` which is nearest to ``home``,
    by symmetry at no cost, and steps that leave it are refused. It begins at the best optimum, and a pilot's
    mean takes its place.
    """

    problem: Problem
    rule: Maximize
    orders: Integers | None
    home: Array
    bends: list[Curvature] = field(default_factory=list, init=False)

    def begin(self, particles: int, rng: np.random.Generator) -> Slopes:
        """Return draws from the prior."""
        alpha = self.problem.belief.alpha
        # Gamma(α) = Gamma(α + 1) · U^(1/α), whose log does not underflow for small α.
        points = np.log(rng.standard_gamma(alpha + 1.0, (particles, len(alpha))))
        points += np.log1p(-rng.random(points.shape)) / alpha
        layout = self.problem.dag.layout
        top = np.full((len(points), layout.groups), -np.inf)
        np.maximum.at(top.T, layout.group, points.T)
        return self.at(points - top[:, layout.group])

    def at(self, points: Array) -> Slopes:
        """Return particles at some points; (particles, size)."""
        layout = self.problem.dag.layout
        theta = layout.normalize(np.exp(np.clip(points, -FARTHEST, FARTHEST)))
        found = self.problem.prepared.expect(theta)
        own, counts = np.broadcast_to(self.rule.pseudo, theta.shape), found.counts
        slopes = (n - theta * layout.total(n)[:, layout.group] for n in (own, counts))
        return Slopes(np.log(theta), self.rule.log_prior(theta), found.log_likelihood, *slopes)

    def pace(self, tau: float, state: Slopes) -> Pace:
        """Return leaps as long as cells that count often allow; what counts seldom could go farther."""
        alpha, layout = self.problem.belief.alpha, self.problem.dag.layout
        counts = self.problem.prepared.expect(layout.normalize(np.exp(state.counts))).counts
        root = _deviation(alpha + tau * np.quantile(counts, OFTEN, axis=0))
        leaps = ACROSS * float(np.mean(_deviation(alpha) / root))
        if self.orders is None or leaps < BENT:
            return Pace(self.last, max(FEWEST, int(np.ceil(leaps))), root)
        self._rename(state, self.home)
        self.home = np.exp(state.counts).mean(axis=0)
        self._rename(state, self.home)
        return Pace(self.last, BENT, self._bent(tau, np.exp(state.counts)), self.home)

    def move(self, state: Slopes, tau: float, steps: int) -> None:
        """Move every particle, in one labelling where leaps follow the mean curvature."""
        home = None if self.seeking else self.known(tau).home
        if home is not None:
            self._rename(state, home)
        super().move(state, tau, steps)

    def within(self, state: Slopes, pace: Pace) -> Booleans:
        """Tell which particles still have the labelling that the mean curvature is for."""
        return super().within(state, pace) if pace.home is None else self._labelling(state, pace.home) == 0

    def _labelling(self, state: Slopes, home: Array) -> Integers:
        """Return in which order each particle is nearest to home."""
        assert self.orders is not None
        theta = np.exp(state.counts)
        far = [((theta[:, order] - home) ** 2).sum(axis=1) for order in self.orders]
        return np.asarray(np.argmin(far, axis=0))

    def _rename(self, state: Slopes, home: Array) -> None:
        """Give every particle the labelling that is nearest to home: densities are the same in all."""
        assert self.orders is not None
        order = self.orders[self._labelling(state, home)]
        for own in (state.counts, state.base_slope, state.log_slope):
            own[:] = np.take_along_axis(own, order, axis=1)

    def _bent(self, tau: float, theta: Array) -> Array:
        """Return R, R Rᵀ the inverse of the mean curvature here and a little before; (size, size)."""
        layout = self.problem.dag.layout
        places, bent = free_places(layout), np.zeros((layout.free, layout.free))
        many = FRESH if self.bends else BENDS
        for point in theta[self.rng.integers(len(theta), size=many)]:
            self.bends.append(curvature(self.problem.prepared, point))
        self.bends = self.bends[-BENDS:]
        for one in self.bends:
            there = replace(one, counts=tau * one.counts, covariance=tau * one.covariance)
            bent += there.softmax_information(self.rule.pseudo, "softmax") / BENDS
        value, axes = np.linalg.eigh(bent)
        root = np.zeros((layout.size, layout.size))
        root[np.ix_(places, places)] = axes / np.sqrt(np.maximum(np.abs(value), SOFTEST)) @ axes.T
        return root

    @cached_property
    def price(self) -> float:
        """What one step of a particle costs on average, in multiplications of an urn."""
        layout = self.problem.dag.layout
        uniform = 1.0 / np.array(layout.states, dtype=np.float64)[layout.variable]
        alpha, counts = self.problem.belief.alpha, self.problem.prepared.expect(uniform[None]).counts[0]
        longest = ACROSS * float(np.mean(_deviation(alpha) / _deviation(alpha + counts)))
        most = np.inf if self.orders is None else USUAL * BENT
        # Most temperatures are low, where leaps are few and particles many.
        return min(max(FEWEST, longest / 5), most) * sweep_price(self.problem)


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


def _deviation(alpha: Array) -> Array:
    """Return the standard deviation of log Gamma(α) variables."""
    return np.asarray(np.sqrt(polygamma(1, alpha)))


def prior_mover(peaks: Optima, rng: np.random.Generator) -> PriorMover | None:
    """Return the path from the prior; None where tables are given or implied."""
    problem, layout = peaks.problem, peaks.problem.dag.layout
    if problem.known is not None or problem.dag.implied or problem.dag.numeric:
        return None
    rule = maximize_rule(problem.belief, "map", "softmax", None)
    orders = peaks.orders if layout.free <= WIDEST else None
    return PriorMover(rng, problem, rule, orders, layout.normalize(peaks.points[0]))
