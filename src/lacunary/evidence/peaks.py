"""Densities around the peaks of the posterior as the base of a path to it, for rows so many that they add up.

What a particle costs here does not depend on how often rows count, only on how many are distinct. Coordinates
are φ = log(θ_k / θ_r), in which a posterior of many rows is nearly normal at each of its peaks. The base is
a mixture of Student t densities, with the exact curvature at every peak that was found, each in every
labelling of what is hidden; by symmetry only one labelling need be followed. Where the base is all but the
posterior the path is short; where it is not, a random walk goes along. What lies far from all peaks is not
seen, which of many rows is little: `lacunary.evidence.smc` asks this of more rows than come in one by one.
Not so where rows do not tell all parameters however many they are, as at singular truths: the posterior then
has long arms, along which peaks are flat.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, logsumexp

from lacunary.evidence.bases import Optima, distinct
from lacunary.evidence.hessian import curvature
from lacunary.evidence.movers import Points
from lacunary.infer.covariance import free_places
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.learn.loop import climb
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array, Integers

__all__ = ["PeakMover", "peak_mover"]

FREEDOM = 5.0
"""Degrees of freedom of the base: tails heavier than any posterior of tables has."""

FLATTEST = 0.05
"""The least curvature that a base has along any direction."""

WIDEST = 400
"""Free parameters up to which a base with all their covariances is made."""


@dataclass(frozen=True, eq=False)
class PeakMover:
    """The path q(φ)^(1 − τ) · p(φ, rows)^τ; particles are `Points` whose ``prior`` is log q.

    Attributes
    ----------
    optima, rule
        The problem with its labellings, and the prior's density in these coordinates.
    peaks
        Where the peaks are; (peaks, free).
    roots
        R of each peak: its density is that of peak + R t; (peaks, free, free).
    weights
        How much of each peak the base is made of; (peaks,).
    flattest
        The least curvature of any peak along any direction.
    """

    optima: Optima
    rule: Maximize
    peaks: Array
    roots: Array
    weights: Array
    flattest: float
    rng: np.random.Generator
    log_constant: float = 0.0

    def begin(self, particles: int, rng: np.random.Generator) -> Points:
        """Return draws from the base, in one labelling."""
        which = rng.choice(len(self.peaks), particles, p=self.weights)
        normal = rng.standard_normal((particles, self.peaks.shape[1]))
        scale = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, particles))
        return self.at(
            self.peaks[which] + np.einsum("pij,pj->pi", self.roots[which], normal) * scale[:, None]
        )

    def at(self, points: Array) -> Points:
        """Return particles at some points; (particles, free)."""
        theta = self._theta(points)
        found = self.optima.problem.prepared.expect(theta).log_likelihood
        return Points(points, self._log_base(theta), self.rule.log_prior(theta) + found)

    def rise(self, low: float, high: float, state: Points) -> Array:
        """Return log f_high − log f_low of each particle."""
        return np.asarray((high - low) * (state.log - state.prior))

    def height(self, tau: float, state: Points) -> Array:
        """Return log f_τ of each particle."""
        return np.asarray(state.prior + tau * (state.log - state.prior))

    def move(self, state: Points, tau: float, steps: int) -> None:
        """Move every particle: proposals have the covariance of a peak drawn at random."""
        size = state.counts.shape[1]
        for _ in range(steps * max(4, size // 4)):
            root = self.roots[self.rng.choice(len(self.peaks), p=self.weights)]
            far = self.rng.standard_normal(state.counts.shape) @ root.T
            tried = self.at(state.counts + 2.38 / np.sqrt(size) * far)
            ratio = self.height(tau, tried) - self.height(tau, state)
            taken = np.flatnonzero(np.log1p(-self.rng.random(len(ratio))) < ratio)
            state.put(taken, tried.take(taken))

    @cached_property
    def price(self) -> float:
        """What one move of a particle costs, in multiplications of an urn."""
        rows, labels = len(self.optima.problem.rows("sampling")[2]), len(self._orders)
        size, layout = self.peaks.shape[1], self.optima.problem.dag.layout
        base = float(labels * len(self.peaks) * size**2)
        return float(max(4, size // 4) * (8.0 * rows * layout.size + base))

    @property
    def _orders(self) -> Integers:
        assert self.optima.orders is not None
        return self.optima.orders

    def _theta(self, points: Array) -> Array:
        """Return parameters; (particles, free) → (particles, size)."""
        layout = self.optima.problem.dag.layout
        logs = np.zeros((len(points), layout.size))
        logs[:, free_places(layout)] = points
        top = np.full((len(points), layout.groups), -np.inf)
        np.maximum.at(top.T, layout.group, logs.T)
        return layout.normalize(np.exp(np.maximum(logs - top[:, layout.group], -700.0)))

    def _log_base(self, theta: Array) -> Array:
        """Return log q: the mean over labellings of the mixture of peaks; (particles,)."""
        logs = np.log(theta)
        terms = []
        for order in self._orders:
            points = _coordinates(self.optima, logs[:, order])
            terms += [self._log_student(points, k) + np.log(w) for k, w in enumerate(self.weights)]
        return np.asarray(logsumexp(terms, axis=0) - np.log(len(self._orders)))

    def _log_student(self, points: Array, k: int) -> Array:
        """Return the log-density of a peak's t distribution; (particles,)."""
        size = points.shape[1]
        inverse, log_det, constant = self._densities
        square = (((points - self.peaks[k]) @ inverse[k].T) ** 2).sum(axis=1)
        return np.asarray(constant - log_det[k] - 0.5 * (FREEDOM + size) * np.log1p(square / FREEDOM))

    @cached_property
    def _densities(self) -> tuple[Array, Array, float]:
        """R⁻¹ and log |R| of each peak, and the constant that all of them have."""
        size = self.peaks.shape[1]
        whole = gammaln((FREEDOM + size) / 2) - gammaln(FREEDOM / 2) - size / 2 * np.log(FREEDOM * np.pi)
        inverse = np.asarray(np.linalg.inv(self.roots), dtype=np.float64)
        return inverse, np.asarray(np.linalg.slogdet(self.roots)[1]), float(whole)


def peak_mover(optima: Optima, rng: np.random.Generator) -> PeakMover | None:
    """Return the path from the posterior's peaks; None where labellings or parameters are too many."""
    problem = optima.problem
    if optima.orders is None or problem.known is not None or problem.dag.layout.free > WIDEST:
        return None
    rule = maximize_rule(problem.belief, "map", "softmax", None)
    means = problem.dag.layout.normalize(optima.points)
    climbs, interrupted = climb(problem.prepared, rule, means, Stop(relative=1e-10), accelerate=True)
    if interrupted:
        raise KeyboardInterrupt
    peaks, roots, worth, least = [], [], [], []
    for found in distinct(climbs):
        bent = curvature(problem.prepared, found.theta).softmax_information(rule.pseudo, "softmax")
        value, axes = np.linalg.eigh(bent)
        least.append(value[0])
        value = np.maximum(value, FLATTEST)
        peaks.append(_coordinates(optima, np.log(found.theta[None]))[0])
        roots.append(axes / np.sqrt(value))
        worth.append(found.objective - 0.5 * np.log(value).sum())
    share = np.exp(np.array(worth) - max(worth))
    weights = 0.5 * share / share.sum() + 0.5 / len(share)
    flattest = float(min(least))
    return PeakMover(optima, rule, np.array(peaks), np.array(roots), weights, flattest, rng)


def _coordinates(optima: Optima, logs: Array) -> Array:
    """Return φ = log θ_k − log θ_r; (particles, size) → (particles, free)."""
    layout = optima.problem.dag.layout
    places = free_places(layout)
    last = np.zeros(layout.groups, dtype=np.int64)
    ends = np.ones(layout.tables, dtype=bool)
    ends[places] = False
    last[layout.group[ends]] = np.flatnonzero(ends)
    return np.asarray(logs[:, places] - logs[:, last[layout.group[places]]])
