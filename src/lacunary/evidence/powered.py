"""Draws of the parameters from a power of their posterior, p(θ) p(rows | θ)^τ, for any τ and any weights.

A walk over parameters, holes summed out at every step. Where families are conjugate, new parameters θ′ are
drawn from p(θ′) exp(τ Q(θ′ | θ)) with Q the expected log-likelihood of complete rows at θ, what EM would
maximise: hyperparameters plus τ times expected statistics. Where nothing is missing that is the posterior
itself; what is missing is made good by accepting θ′ with the ratio of densities,

    τ [log p(rows | θ′) − log p(rows | θ) + Q(θ | θ′) − Q(θ′ | θ)] + log Z(θ) − log Z(θ′),

Z being the normaliser, an evidence of complete rows. Families without a conjugate prior walk in their own
coordinates (`random_walk`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from lacunary.errors import TableError
from lacunary.evidence.chains import FEWEST, draw_parameters
from lacunary.evidence.exact import complete_log_evidences
from lacunary.evidence.problem import Problem
from lacunary.evidence.random_walk import ACCEPTED, Walk, check_walkable
from lacunary.infer.walker import TINY
from lacunary.maths.arrays import Array
from lacunary.model.stats import Batch

__all__ = ["Powered", "powered"]

TOLD = 50
"""Steps after which it is told how far a walk is."""


class _Steps(Protocol):
    """Points of several chains, and how to move them."""

    def draw(self, chains: int, rng: np.random.Generator) -> Array:
        """Return points drawn from the prior; (chains, …)."""
        ...

    def theta(self, points: Array) -> Array:
        """Return parameters, for standardised columns; (chains, size)."""
        ...

    def propose(self, at: Batch, points: Array, tau: float, pace: float, rng: np.random.Generator) -> Array:
        """Return points to try, given what is expected of the rows at the present ones."""
        ...

    def log_ratio(self, one: _Place, other: _Place, tau: float) -> Array:
        """Return the log of how much more the second place weighs, but for the likelihood; (chains,)."""
        ...


class _Place(NamedTuple):
    """Where chains are, and what is expected of the rows there."""

    points: Array
    at: Batch


@dataclass(frozen=True, eq=False)
class Powered:
    """What chains went through.

    Log-likelihoods are (chains, draws); parameters, where they were kept, (chains, draws, size), for
    standardised columns.
    """

    log_likelihood: Array
    theta: Array
    acceptance: float
    interrupted: bool = False


def powered(
    problem: Problem,
    tau: float,
    *,
    chains: int,
    draws: int,
    burn: int,
    rng: np.random.Generator,
    keep: bool = False,
    enough: Callable[[Array], bool] | None = None,
) -> Powered:
    """Walk from the prior to the power ``tau`` during ``burn`` steps, and go on there for ``draws``.

    Parameters are kept where ``keep`` is set. ``enough`` is asked of the log-likelihoods after every
    ``draws``, and as long as it says no, as many follow. An interrupted walk returns what it has.
    """
    if not problem.table.size > 0:
        raise TableError("there are no rows that count, so that there is nothing to sample")
    walk = _Walking(problem, _steps_of(problem), chains, rng)
    for k in range(burn):
        if k % TOLD == 0:
            problem.say(f"a walk to the power {tau:.3g} of the posterior", k / burn)
        walk.step(tau * min((2.0 * (k + 1) / burn) ** 2, 1.0), tune=k + 1, climb=2 * k < burn)
    walk.accepted, heights, kept, interrupted = 0.0, list[Array](), list[Array](), False
    try:
        while True:
            for k in range(draws):
                if k % TOLD == 0:
                    problem.say(f"draws from the posterior to the power {tau:.3g}", k / draws)
                walk.step(tau)
                heights.append(walk.place.at.log_likelihood)
                if keep:
                    kept.append(walk.steps.theta(walk.place.points))
            if enough is None or enough(np.stack(heights, axis=1)):
                break
    except KeyboardInterrupt:
        if len(heights) < FEWEST:
            raise
        interrupted = True
    theta = np.stack(kept[: len(heights)], axis=1) if keep else np.empty((chains, 0, 0))
    return Powered(np.stack(heights, axis=1), theta, walk.accepted / len(heights), interrupted)


@dataclass(eq=False)
class _Walking:
    """Chains on their way: where they are, and how far they step."""

    problem: Problem
    steps: _Steps
    chains: int
    rng: np.random.Generator
    pace: float = 1.0
    accepted: float = 0.0

    def __post_init__(self) -> None:
        self.place = self._placed(self.steps.draw(self.chains, self.rng))

    def step(self, tau: float, tune: int = 0, climb: bool = False) -> None:
        """Try to move every chain; where ``tune`` is set, learn the length of steps.

        A chain that ``climb``s takes every step: far from where the posterior lies none would be accepted.
        """
        here = self.place
        tried = self._placed(self.steps.propose(here.at, here.points, tau, self.pace, self.rng))
        gain = tau * (tried.at.log_likelihood - here.at.log_likelihood)
        taken = np.log1p(-self.rng.random(self.chains)) < gain + self.steps.log_ratio(here, tried, tau)
        self.accepted += float(taken.mean())
        if tune:
            self.pace *= float(np.exp((taken.mean() - ACCEPTED) / np.sqrt(tune)))
        taken |= climb and not self.problem.dag.implied
        counts = np.where(taken[:, None], tried.at.counts, here.at.counts)
        log = np.where(taken, tried.at.log_likelihood, here.at.log_likelihood)
        at = replace(here.at, counts=counts, log_likelihood=log)
        self.place = _Place(np.where(taken[:, None], tried.points, here.points), at)

    def _placed(self, points: Array) -> _Place:
        return _Place(points, self.problem.prepared.expect(self.steps.theta(points)))


def _steps_of(problem: Problem) -> _Steps:
    if problem.dag.implied:
        check_walkable(problem, "a walk over powers of the posterior")
        return _Wandering(problem)
    return _Conjugate(problem)


class _Wandering(Walk):
    """Steps of a random walk in coordinates."""

    def propose(self, at: Batch, points: Array, tau: float, pace: float, rng: np.random.Generator) -> Array:
        far = pace * 2.38 / np.sqrt(self.size) * self.reach(tau)
        return np.asarray(points + far * rng.standard_normal(points.shape))

    def log_ratio(self, one: _Place, other: _Place, tau: float) -> Array:
        return np.asarray(self.log_prior(other.points) - self.log_prior(one.points))


@dataclass(frozen=True, eq=False)
class _Conjugate:
    """Steps to what EM would maximise, drawn instead. A point is the parameters themselves."""

    problem: Problem

    def draw(self, chains: int, rng: np.random.Generator) -> Array:
        nothing = np.zeros((chains, self.problem.dag.layout.statistics_size))
        return draw_parameters(self.problem, nothing, rng)

    def theta(self, points: Array) -> Array:
        return points

    def propose(self, at: Batch, points: Array, tau: float, pace: float, rng: np.random.Generator) -> Array:
        return draw_parameters(self.problem, tau * at.counts, rng)

    def log_ratio(self, one: _Place, other: _Place, tau: float) -> Array:
        back = self._log_way(other.at.counts * tau, one.points)
        return np.asarray(back - self._log_way(one.at.counts * tau, other.points))

    def _log_way(self, statistics: Array, theta: Array) -> Array:
        """Return the log-density with which parameters are drawn, but for their prior density; (chains,)."""
        dag, layout = self.problem.dag, self.problem.dag.layout
        tables = slice(0, layout.tables)
        out = (statistics[:, tables] * np.log(np.maximum(theta[:, tables], TINY))).sum(axis=1)
        for i, family in dag.numeric:
            out += family.log_likelihood(layout.records(theta, i), layout.statistics(statistics, i))
        return np.asarray(out - complete_log_evidences(self.problem.belief, statistics, self.problem.known))
