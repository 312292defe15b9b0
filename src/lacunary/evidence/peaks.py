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

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import gammaln, logsumexp

from lacunary.evidence.bases import Optima, distinct
from lacunary.evidence.hamiltonian import WIDEST, Hamiltonian, Pace, Slopes, sweep_price
from lacunary.evidence.hessian import curvature
from lacunary.infer.covariance import free_places
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.learn.loop import climb
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array, Integers
from lacunary.model.layout import Layout

__all__ = ["PeakMover", "peak_mover"]

FREEDOM = 5.0
"""Degrees of freedom of the base: tails heavier than any posterior of tables has."""

FLATTEST = 0.05
"""The least curvature that a base has along any direction."""

LEAPS = 6
"""Leaps of a step: near a peak, in its own deviations, few go far enough."""


@dataclass(eq=False)
class PeakMover(Hamiltonian):
    """The path q(φ)^(1 − τ) · p(φ, rows)^τ.

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

    def begin(self, particles: int, rng: np.random.Generator) -> Slopes:
        """Return draws from the base, in one labelling."""
        which = rng.choice(len(self.peaks), particles, p=self.weights)
        normal = rng.standard_normal((particles, self.peaks.shape[1]))
        scale = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, particles))
        return self.at(
            self.peaks[which] + np.einsum("pij,pj->pi", self.roots[which], normal) * scale[:, None]
        )

    def at(self, points: Array) -> Slopes:
        """Return particles at some points; (particles, free)."""
        layout, theta = self.optima.problem.dag.layout, self._theta(points)
        found = self.optima.problem.prepared.expect(theta)
        base, base_slope = self._base(theta)
        held = found.counts + self.rule.pseudo
        slope = (held - theta * layout.total(held)[:, layout.group])[:, free_places(layout)]
        log = self.rule.log_prior(theta) + found.log_likelihood
        return Slopes(points, base, log - base, base_slope, slope - base_slope)

    def pace(self, tau: float, state: Slopes) -> Pace:
        """Return leaps along the deviations of a peak drawn at random."""
        return Pace(self.last, LEAPS, self._root())

    def known(self, tau: float) -> Pace:
        """Return the pace that was found, along the deviations of a peak drawn anew."""
        return replace(super().known(tau), root=self._root())

    def _root(self) -> Array:
        return np.asarray(self.roots[self.rng.choice(len(self.peaks), p=self.weights)])

    @cached_property
    def price(self) -> float:
        """What one step of a particle costs, in multiplications of an urn."""
        components, size = len(self._orders) * len(self.peaks), self.peaks.shape[1]
        return float(LEAPS * (sweep_price(self.optima.problem) + components * (150.0 + size**2 / 10)))

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

    def _base(self, theta: Array) -> tuple[Array, Array]:
        """Return log q, the mean over labellings of the mixture of peaks, and its slope; (particles, …)."""
        logs, places = np.log(theta), free_places(self.optima.problem.dag.layout)
        terms, slopes = [], []
        for order in self._orders:
            points = _coordinates(self.optima, logs[:, order])
            for k, weight in enumerate(self.weights):
                log, slope = self._student(points, k)
                terms.append(log + np.log(weight / len(self._orders)))
                slopes.append(_renamed(self.optima, slope, order)[:, places])
        whole = logsumexp(terms, axis=0)
        return np.asarray(whole), np.einsum("cp,cpi->pi", np.exp(terms - whole), np.array(slopes))

    def _student(self, points: Array, k: int) -> tuple[Array, Array]:
        """Return the log-density of a peak's t distribution, and its slope; (particles, free)."""
        size = points.shape[1]
        inverse, log_det, constant = self._densities
        far = (points - self.peaks[k]) @ inverse[k].T
        square = (far**2).sum(axis=1)
        log = constant - log_det[k] - 0.5 * (FREEDOM + size) * np.log1p(square / FREEDOM)
        return np.asarray(log), -(FREEDOM + size) / (FREEDOM + square)[:, None] * (far @ inverse[k])

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
    return PeakMover(rng, optima, rule, np.array(peaks), np.array(roots), weights, flattest)


def _coordinates(optima: Optima, logs: Array) -> Array:
    """Return φ = log θ_k − log θ_r; (particles, size) → (particles, free)."""
    layout = optima.problem.dag.layout
    places = free_places(layout)
    return np.asarray(logs[:, places] - logs[:, _last(layout)[layout.group[places]]])


def _renamed(optima: Optima, slope: Array, order: Integers) -> Array:
    """Return slopes along log θ of what has such slopes along φ of log θ[order]; (particles, size)."""
    layout = optima.problem.dag.layout
    places = free_places(layout)
    out = np.zeros((len(slope), layout.size))
    out[:, places] = slope
    out[:, _last(layout)] = -layout.total(out)
    back = np.empty_like(out)
    back[:, order] = out
    return back


def _last(layout: Layout) -> Integers:
    """Return the place of each distribution's last entry; (groups,)."""
    last = np.zeros(layout.groups, dtype=np.int64)
    ends = np.ones(layout.tables, dtype=bool)
    ends[free_places(layout)] = False
    last[layout.group[ends]] = np.flatnonzero(ends)
    return last
