"""A path from the posterior of a few rows to that of all: the others arrive together, a little at a time.

Of some hundred rows sequential imputation makes a thousand draws from the posterior in the time of a few
steps along all rows, weighs what far-apart modes there are, and has come most of the way from the prior: what
is left is that everything known is known more closely. From there p(θ) L₁^(1 − τ) L^τ is followed, L₁ the
likelihood of the first rows and L that of all, by Hamiltonian steps (`lacunary.evidence.hamiltonian`) and
along ridges (`lacunary.evidence.ridges`). Islands are independent from the prior on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import polygamma

from lacunary.data.table import Table
from lacunary.evidence.bases import Optima
from lacunary.evidence.hamiltonian import WIDEST, Hamiltonian, Pace, Slopes, sweep_price
from lacunary.evidence.hessian import Curvature, curvature
from lacunary.evidence.imputation import Sequence, sequence
from lacunary.evidence.population import Rung, Weights
from lacunary.evidence.problem import Problem
from lacunary.evidence.ridges import Ridge, along, ridges
from lacunary.infer.covariance import free_places
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.maths.gamma import log_gammas

__all__ = ["ARRIVED", "RowsMover", "rows_mover"]

ARRIVED = 1024
"""Rows that come in one by one."""

CROWD = 12
"""Times as many particles of the first rows as of all: they cost a thirtieth."""

PILOTS = 8
"""Islands from which a pilot's particles come."""

ROUNDS = 2
"""Times that particles go along all ridges after a step."""

ACROSS = 1.5
"""How far steps go, about, in deviations of the prior."""

FARTHEST = 300.0
"""The largest log of a number that is made a probability: what is beyond is as good as zero."""

LEAST = 1e-290
"""Probabilities that are less are made this before their log is taken."""

FEWEST = 4
"""Leaps of a step at least."""

BENT = 12
"""Leaps of a step along the mean curvature, which is followed where it takes as many along the axes."""

BENDS, FRESH, SOFTEST = 32, 8, 1.0
"""Pilot particles whose curvature is averaged, those of them that are new at each temperature, and the least
curvature that is taken of any direction. Of fewer, what is stiff at some particles alone is overlooked."""

OFTEN = 0.95
"""Of how many pilot particles a cell counts less often than that which says how far leaps go."""


@dataclass(eq=False)
class RowsMover(Hamiltonian):
    """The path p(θ) L₁^(1 − τ) L^τ; particles are log θ, up to a constant in each distribution.

    A leap is as long in each number as its deviation would be, were the holes filled with what is expected of
    them; it takes so many to go as far as the prior does, where rows say nothing. Where these are many, leaps
    follow the mean curvature: particles are renamed to that of the ``orders`` which is nearest to ``home``,
    by symmetry at no cost, and steps that leave it are refused. It begins at the best optimum, and a pilot's
    mean takes its place.

    Attributes
    ----------
    problem, first
        All rows, and those that come in one by one; none if the path begins at the prior.
    rule
        The prior's density in these coordinates.
    """

    problem: Problem
    first: Problem | None
    rule: Maximize
    orders: Integers | None
    home: Array
    bends: list[Curvature] = field(default_factory=list, init=False)

    @cached_property
    def sequence(self) -> Sequence | None:
        """The first rows, for sequential imputation."""
        return None if self.first is None else sequence(self.first)

    @cached_property
    def ridges(self) -> list[Ridge]:
        """What no rows can tell."""
        return ridges(self.problem.dag, self.problem.rows("sampling")[0])

    def begin(self, particles: int, rng: np.random.Generator) -> Slopes:
        """Return draws from the posterior of the first rows, as a pilot run needs them, or from the prior."""
        if self.sequence is None:
            return self._drawn(np.zeros((particles, self.problem.dag.layout.size)), rng)
        found = self.sequence.run(PILOTS, particles, rng)
        logs = (_even(found.logs) + found.log_z[:, None]).reshape(1, -1)
        return self._drawn(found.counts[_resampled(logs, particles, rng)], rng)

    def arrive(self, islands: int, particles: int, rng: np.random.Generator) -> tuple[Rung[Slopes], int]:
        """Return particles of the first rows on every island, and how many steps of rows led there."""
        assert self.sequence is not None
        found = self.sequence.run(islands, CROWD * particles, rng)
        state = self._drawn(found.counts[_resampled(found.logs, particles, rng)], rng)
        return Rung(0.0, state, np.zeros((islands, particles)), found.log_z), found.steps

    def _drawn(self, counts: Array, rng: np.random.Generator) -> Slopes:
        """Return particles drawn given completions; (particles, size)."""
        alpha, layout = self.problem.belief.alpha + counts, self.problem.dag.layout
        points = log_gammas(alpha, rng)
        top = np.full((len(points), layout.groups), -np.inf)
        np.maximum.at(top.T, layout.group, points.T)
        return self.at(points - top[:, layout.group])

    def at(self, points: Array) -> Slopes:
        """Return particles at some points; (particles, size)."""
        layout = self.problem.dag.layout
        theta = layout.normalize(np.exp(np.clip(points, -FARTHEST, FARTHEST)))
        found = self.problem.prepared.expect(theta)
        own, base = np.broadcast_to(self.rule.pseudo, theta.shape), self.rule.log_prior(theta)
        counts, log = found.counts, found.log_likelihood
        if self.first is not None:
            before = self.first.prepared.expect(theta)
            own, base = own + before.counts, base + before.log_likelihood
            counts, log = counts - before.counts, log - before.log_likelihood
        slopes = (n - theta * layout.total(n)[:, layout.group] for n in (own, counts))
        return Slopes(np.log(theta), base, log, *slopes)

    def pace(self, tau: float, state: Slopes) -> Pace:
        """Return leaps as long as cells that count often allow; what counts seldom could go farther."""
        alpha, layout = self.problem.belief.alpha, self.problem.dag.layout
        part = self._part(tau)
        counts = self.problem.prepared.expect(layout.normalize(np.exp(state.counts))).counts
        root = _deviation(alpha + part * np.quantile(counts, OFTEN, axis=0))
        leaps = ACROSS * float(np.mean(_deviation(alpha) / root))
        if self.orders is None or leaps < BENT:
            return Pace(self.last, max(FEWEST, int(np.ceil(leaps))), root)
        self._rename(state, self.home)
        self.home = np.exp(state.counts).mean(axis=0)
        self._rename(state, self.home)
        return Pace(self.last, BENT, self._bent(part, np.exp(state.counts)), self.home)

    def _part(self, tau: float) -> float:
        """Return what part of all rows has arrived."""
        first = 0.0 if self.first is None else self.first.table.size / self.problem.table.size
        return first + tau * (1.0 - first)

    def move(self, state: Slopes, tau: float, steps: int) -> None:
        """Move every particle, in one labelling where leaps follow the mean curvature, and along ridges."""
        home = None if self.seeking else self.known(tau).home
        for _ in range(steps):
            if home is not None:
                self._rename(state, home)
            super().move(state, tau, 1)
            if self.ridges:
                self._slide(state)

    def _slide(self, state: Slopes) -> None:
        """Move every particle along what rows cannot tell, in a labelling drawn at random."""
        theta, alpha = np.exp(state.counts), self.problem.belief.alpha
        if self.orders is not None:
            order = self.orders[self.rng.integers(len(self.orders), size=len(theta))]
            theta = np.take_along_axis(theta, order, axis=1)
        for _ in range(ROUNDS):
            theta = along(self.ridges, theta, alpha, self.rng)
        state.put(np.arange(len(theta)), self.at(np.log(np.maximum(theta, LEAST))))

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

    def _bent(self, part: float, theta: Array) -> Array:
        """Return R, R Rᵀ the inverse of the mean curvature here and a little before; (size, size)."""
        layout = self.problem.dag.layout
        places, bent = free_places(layout), np.zeros((layout.free, layout.free))
        many = FRESH if self.bends else BENDS
        for point in theta[self.rng.integers(len(theta), size=many)]:
            self.bends.append(curvature(self.problem.prepared, point))
        self.bends = self.bends[-BENDS:]
        for one in self.bends:
            there = replace(one, counts=part * one.counts, covariance=part * one.covariance)
            bent += there.softmax_information(self.rule.pseudo, "softmax") / BENDS
        value, axes = np.linalg.eigh(bent)
        root = np.zeros((layout.size, layout.size))
        root[np.ix_(places, places)] = axes / np.sqrt(np.maximum(np.abs(value), SOFTEST)) @ axes.T
        return root

    @cached_property
    def price(self) -> float:
        """What one step of a particle costs, in multiplications of an urn."""
        leaps = BENT * 0.75 + (1.0 if self.ridges else 0.0)
        return leaps * (sweep_price(self.problem) + (sweep_price(self.first) if self.first else 0.0))


def _even(logs: Array) -> Array:
    """Return the logs of weights over the sum of their island's; (islands, particles)."""
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(logs - top - np.log(np.exp(logs - top).sum(axis=1, keepdims=True)))


def _resampled(logs: Array, many: int, rng: np.random.Generator) -> Integers:
    """Return who is drawn by such weights, so many on every island."""
    return Weights(logs, 1.0 + 1e-9).drawn(rng, many=many)


def _deviation(alpha: Array) -> Array:
    """Return the standard deviation of log Gamma(α) variables."""
    return np.asarray(np.sqrt(polygamma(1, alpha)))


def rows_mover(peaks: Optima, rng: np.random.Generator, first: int = 0) -> RowsMover | None:
    """Return the path that begins when so many rows have come in; None where tables are given or implied."""
    problem, layout = peaks.problem, peaks.problem.dag.layout
    if problem.known is not None or problem.dag.implied or problem.dag.numeric:
        return None
    rule = maximize_rule(problem.belief, "map", "softmax", None)
    orders = peaks.orders if layout.free <= WIDEST else None
    some = _some(problem, first) if first else None
    return RowsMover(rng, problem, some, rule, orders, layout.normalize(peaks.points[0]))


def _some(problem: Problem, many: int) -> Problem:
    """Return a problem of so many of the rows, at even distances; rows that are alike stand together."""
    codes, _, weights = problem.rows("sampling")
    reach = np.cumsum(np.floor(weights))
    at = np.searchsorted(reach, (np.arange(many) + 0.5) * reach[-1] / many)
    which, often = np.unique(at, return_counts=True)
    table = Table(problem.dag.schema, codes[which], weights=often.astype(np.float64))
    return replace(problem, table=table, given=None, _points={})
