"""Annealed importance sampling of networks with implied tables, by a random walk (BG03 section 4.1).

Nothing is conjugate to such families, so p(θ) p(y | θ)^τ is annealed by Metropolis moves on the parameters,
all chains together: the weights themselves, normal beforehand, and for every table entry x = log g with
g ~ Gamma(α) and θ ∝ g, so that θ is Dirichlet. The mean of the chains' weights is the evidence, however they
mix. Steps and the pace of proposals are found by a pilot run, apart from the chains that count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln, polygamma

from lacunary.errors import NoEstimateError
from lacunary.evidence.problem import Problem
from lacunary.evidence.schedule import PILOTS, bent, pilot_steps, spread_steps
from lacunary.family.protocol import ImpliedTable
from lacunary.infer.walker import Walks
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.gamma import log_gammas

__all__ = ["ACCEPTED", "Walk", "check_walkable", "random_walk"]

ACCEPTED = 0.234
"""The share of proposals that a random walk in many dimensions had best accept (Roberts et al. 1997)."""


def random_walk(problem: Problem, steps: int, chains: int, rng: np.random.Generator) -> tuple[Array, Walks]:
    """Return a schedule from the prior to the posterior, and the walks along it of tables."""
    check_walkable(problem, "'ais'")
    walk, pilot = Walk(problem), bent(4 * pilot_steps(steps))
    found = walk.run(pilot, PILOTS, None, rng)
    tau = spread_steps(pilot, found.trace, steps)
    return tau, walk.run(tau, chains, np.interp(tau, pilot, found.pace[0]), rng)


def check_walkable(problem: Problem, what: str) -> None:
    """Refuse continuous variables beside families without a conjugate prior."""
    if problem.dag.continuous:
        i, family = problem.dag.implied[0]
        raise NoEstimateError(
            f"{what} knows {family.name} families, as that of {problem.dag.names[i]}, in discrete networks "
            "only; use 'laplace', 'bic' or 'draper'"
        )


@dataclass(frozen=True, eq=False)
class Walk:
    """The walk of one problem. Points hold x of all tables but the implied ones, then all weights."""

    problem: Problem

    @cached_property
    def tables(self) -> Integers:
        """The places of the entries of tables."""
        implied = [i for i, _ in self.problem.dag.implied]
        own = ~np.isin(self.problem.dag.layout.variable, implied)
        return np.flatnonzero(own if self.problem.known is None else own & np.isnan(self.problem.known))

    @cached_property
    def alpha(self) -> Array:
        """Their hyperparameters."""
        return np.asarray(self.problem.belief.alpha[self.tables])

    @cached_property
    def blocks(self) -> list[tuple[int, slice, ImpliedTable]]:
        """For each implied table the variable, where its weights stand in a point, and its family."""
        out, at = [], len(self.tables)
        known, start = self.problem.known, self.problem.dag.layout.start
        for i, family in self.problem.dag.implied:
            if known is None or np.isnan(known[start[i]]):
                out.append((i, slice(at, at + family.free), family))
                at += family.free
        return out

    @cached_property
    def group(self) -> Integers:
        """Which distribution, or which weights of a family, each number of a point belongs to; (size,)."""
        tables = np.unique(self.problem.dag.layout.group[self.tables], return_inverse=True)[1].ravel()
        first = int(tables.max(initial=-1)) + 1
        weights = [np.full(family.free, first + k) for k, (_, _, family) in enumerate(self.blocks)]
        return np.asarray(np.concatenate([tables, *weights]), dtype=np.int64)

    @property
    def short(self) -> int:
        """Steps of a random walk that lead about as far as one draw of everything."""
        return max(4, self.size // 4)

    @property
    def size(self) -> int:
        """Numbers in a point."""
        return int(len(self.tables) + sum(family.free for _, _, family in self.blocks))

    def draw(self, chains: int, rng: np.random.Generator) -> Array:
        """Return points drawn from the prior; (chains, size)."""
        x = log_gammas(np.tile(self.alpha, (chains, 1)), rng)
        sd = self.problem.belief.weight_sd
        return np.concatenate([x, rng.normal(scale=sd, size=(chains, self.size - len(self.alpha)))], axis=1)

    def log_prior(self, points: Array) -> Array:
        """Return the log-density of points; (chains,)."""
        x, w, sd = points[:, : len(self.alpha)], points[:, len(self.alpha) :], self.problem.belief.weight_sd
        tables = (self.alpha * x - np.exp(np.minimum(x, 700.0)) - gammaln(self.alpha)).sum(axis=1)
        constant = w.shape[1] * np.log(sd * np.sqrt(2 * np.pi))
        return np.asarray(tables - 0.5 * (w**2).sum(axis=1) / sd**2 - constant)

    def log_likelihood(self, points: Array) -> Array:
        """Return log p(rows | parameters); (chains,)."""
        return np.asarray(self.problem.prepared.expect(self.theta(points)).log_likelihood)

    def theta(self, points: Array) -> Array:
        """Return all tables; (chains, size)."""
        layout = self.problem.dag.layout
        theta = np.zeros((len(points), layout.size))
        x = points[:, : len(self.alpha)]
        theta[:, self.tables] = np.exp(x - x.max(axis=1, keepdims=True, initial=-700.0))
        for i, place, family in self.blocks:
            layout.states_first(theta, i)[:] = family.table(points[:, place])
        return layout.normalize(self.problem.with_known(theta))

    def reach(self, tau: float) -> Array:
        """Return how far each number of a point goes, about, at an inverse temperature; (size,)."""
        known = np.empty(self.size)
        known[: len(self.alpha)] = 1.0 / polygamma(1, self.alpha)
        known[len(self.alpha) :] = self.problem.belief.weight_sd**-2
        return np.asarray(1.0 / np.sqrt(known + tau * self.usual))

    @cached_property
    def usual(self) -> Array:
        """What the rows tell of each number when all states are equally likely; (size,)."""
        layout = self.problem.dag.layout
        uniform = 1.0 / np.array(layout.states, dtype=np.float64)[layout.variable]
        counts = self.problem.prepared.expect(uniform[None]).counts[0]
        out = np.empty(self.size)
        out[: len(self.alpha)] = counts[self.tables]
        for i, place, family in self.blocks:
            out[place] = family.information(layout.states_first(counts, i))
        return out

    def run(self, tau: Array, chains: int, pace: Array | None, rng: np.random.Generator) -> Walks:
        """Lead chains from the prior along inverse temperatures; without a pace, seek one."""
        points = self.draw(chains, rng)
        prior, log = self.log_prior(points), self.log_likelihood(points)
        weight, trace, accepted = np.zeros(chains), np.empty((chains, len(tau) - 1)), 0.0
        seek, used = pace is None, np.ones(len(tau)) if pace is None else pace
        for k in range(1, len(tau)):
            weight = weight + (tau[k] - tau[k - 1]) * log
            trace[:, k - 1] = weight
            far = used[k] * 2.38 / np.sqrt(self.size) * self.reach(tau[k])
            tried = points + far * rng.standard_normal(points.shape)
            tried_prior, tried_log = self.log_prior(tried), self.log_likelihood(tried)
            ratio = tried_prior - prior + tau[k] * (tried_log - log)
            taken = np.log1p(-rng.random(chains)) < ratio
            points = np.where(taken[:, None], tried, points)
            prior, log = np.where(taken, tried_prior, prior), np.where(taken, tried_log, log)
            accepted += taken.mean()
            if seek and k + 1 < len(tau):
                used[k + 1] = used[k] * np.exp((taken.mean() - ACCEPTED) / np.sqrt(k))
        none = np.empty((chains, 0))
        return Walks(weight, trace, none, none, np.array([accepted / (len(tau) - 1)]), used[None])
