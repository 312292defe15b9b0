"""The most entropic parameters among all that score nearly as well as the best start.

ENT section 4, C_entropy: maximise the local entropy H(θ) = −Σ_j Σ_π Σ_x θ log θ over all free parameters,
subject to S(θ) ≥ s* − (1 − c)|s*|. The derivation is in docs/derivations/max-entropy.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import entr, xlogy

from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief
from lacunary.infer.network import Network
from lacunary.infer.rows import Rows
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.learn.select import Chosen, check_threshold
from lacunary.maths.arrays import Array

if TYPE_CHECKING:
    from lacunary.learn.found import Fit

__all__ = ["max_entropy"]

MARGIN = 1e-8
"""The solver aims this share of |s*| above the threshold, so that where it stops is feasible."""

FLOOR = 1e-12
"""A probability of zero is raised to this before its logarithm is taken as a coordinate."""

DEEPEST = 690.0
"""Coordinates this far below the highest of their distribution, θ of 1e-300, are taken to be no lower: a long
step of a line search would otherwise make θ = 0 and the score infinitely low, from which none finds back."""

ROUNDS = 40
"""The most changes of the multiplier; a handful is usual."""

MEMORY = 30
"""How many steps L-BFGS learns the curvature from."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """The problem: entropy to be maximised, and a score that must not fall below a threshold.

    Points are coordinates η with θ = softmax of η within each distribution; known tables do not move.
    """

    prepared: Rows
    rule: Maximize
    threshold: float

    def theta(self, eta: Array) -> Array:
        """Return the parameters at these coordinates; (size,)."""
        layout = self.rule.dag.layout
        highest = np.full(layout.groups, -np.inf)
        np.maximum.at(highest, layout.group, eta)
        depth = np.maximum(eta - highest[layout.group], -DEEPEST)
        return np.asarray(self.rule.project(np.exp(depth)[None])[0])

    def score(self, theta: Array) -> tuple[float, Array]:
        """Return S = log-likelihood + Σ pseudo · log θ, and ∂S/∂η = n − θ Σn with n = E[N] + pseudo."""
        (stats,) = self.prepared.expect(theta[None])
        score = float(stats.log_likelihood + xlogy(self.rule.pseudo, theta).sum())
        return score, self._along(theta, stats.counts + self.rule.pseudo)

    def entropy(self, theta: Array) -> tuple[float, Array]:
        """Return H = Σ −θ log θ, and ∂H/∂η = t − θ Σt with t = −θ log θ; tied families count each."""
        terms = entr(theta) * self.rule.dag.layout.sharing
        return float(terms.sum()), self._along(theta, terms)

    def _along(self, theta: Array, terms: Array) -> Array:
        layout = self.rule.dag.layout
        slope = terms - theta * layout.total(terms)[layout.group]
        return np.where(np.isnan(self.rule.known), slope, 0.0)


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters that reach the threshold, and how nearly ∇H + λ∇S vanishes there."""

    theta: Array
    score: float
    entropy: float
    multiplier: float
    stationarity: float


def max_entropy(
    fit: Fit,
    prepared: Rows,
    belief: Belief,
    *,
    c: float = 0.99,
    fixed: Mapping[str, ArrayLike] | None = None,
    tolerance: float = 1e-5,
    climbs: int = 3,
    evaluations: int = 10_000,
) -> Chosen:
    """Return the parameters of highest local entropy whose score is within (1 − c)|s*| of the best start's.

    The score S is what the fit maximised, without its constants. Nothing infeasible is returned, and
    nothing of lower entropy than a feasible start. The problem is not convex: what is found is a
    stationary point, the highest of a few climbs.

    Parameters
    ----------
    fit, prepared, belief
        The starts, the rows and the prior.
    c
        How much of the best score s* must be kept, in (0, 1].
    fixed
        Tables that are known; they stay as they are.
    tolerance
        The largest |∂H/∂η + λ ∂S/∂η|, η the softmax coordinates, of a point that counts as stationary.
    climbs
        From how many starts to climb: the best one, and the feasible ones of highest entropy.
    evaluations
        The most sweeps over the data in each climb.

    Returns
    -------
    Chosen
        With details ``score``, ``threshold``, ``slack`` (their difference, not negative), ``entropy``,
        ``multiplier`` (λ, nats of entropy for a nat of score), ``stationarity`` (see tolerance),
        ``converged``, ``evaluations`` and ``outcome``, which says in words what is returned.
    """
    check_threshold(c)
    if climbs < 1:
        raise ParameterError(f"at least one climb is needed, not {climbs}")
    rule = maximize_rule(belief, "ml" if fit.method == "ml" else "map", fit.basis, fixed)  # type: ignore[arg-type]
    thetas = np.array([start.network.theta for start in fit.starts])
    scores = np.array([Bounded(prepared, rule, 0.0).score(theta)[0] for theta in thetas])
    best = float(scores.max())
    room = (1.0 - c) * abs(best)
    problem = Bounded(prepared, rule, best - room)
    even = rule.project(np.ones((1, thetas.shape[1])))[0]
    if problem.score(even)[0] >= problem.threshold:
        return _chosen(problem, _point(problem, even), tolerance, 1, "uniform distributions are feasible")
    seeds = _seeds(problem, thetas, scores)
    pick = _point(problem, thetas[seeds[0]])
    if room == 0:
        return _chosen(problem, pick, tolerance, 1, "c = 1 leaves the best start alone")
    tries = dict.fromkeys([int(scores.argmax()), *seeds])
    found = [Climb(problem, room, best, tolerance, evaluations) for _ in list(tries)[:climbs]]
    points = [climb.run(thetas[start]) for climb, start in zip(found, tries, strict=False)]
    highest = max([pick, *(p for p in points if p is not None)], key=lambda point: point.entropy)
    outcome = "no climb found anything above the most entropic start" if highest is pick else ""
    return _chosen(problem, highest, tolerance, sum(climb.spent for climb in found), outcome)


class Climb:
    """One run of the augmented Lagrangian method, with L-BFGS inside.

    It minimises −H + (m² − λ²) / 2ρ, m = max(0, λ + ρ(target − S)), then puts λ = m; ρ grows only where
    the violation does not shrink.
    """

    def __init__(
        self, problem: Bounded, room: float, best: float, tolerance: float, evaluations: int
    ) -> None:
        self.problem, self.tolerance, self.left = problem, tolerance, evaluations
        self.margin = min(MARGIN * abs(best), room / 4)
        self.target = problem.threshold + self.margin
        self.multiplier, self.penalty = 1.0, 10.0 / room
        self.spent = 0
        self.highest: tuple[float, Array] | None = None

    def run(self, theta: Array) -> Point | None:
        """Climb from these parameters; return where it ended, or the best feasible point on the way."""
        eta, before, slope = np.log(np.maximum(theta, FLOOR)), np.inf, 1e-2
        for _ in range(ROUNDS):
            eta = self._inner(eta, slope)
            score, _ = self.problem.score(self.problem.theta(eta))
            self.spent += 1
            lack = self.target - score
            self.multiplier = max(0.0, self.multiplier + self.penalty * lack)
            if abs(lack) <= self.margin and slope <= self.tolerance / 2:
                return _point(self.problem, self.problem.theta(eta))
            if self.spent >= self.left:
                break
            self.penalty *= 4.0 if abs(lack) > before / 4 and slope <= self.tolerance / 2 else 1.0
            before, slope = abs(lack), max(slope / 10, self.tolerance / 4)
        return None if self.highest is None else _point(self.problem, self.highest[1])

    def _inner(self, eta: Array, slope: float) -> Array:
        options = {
            "maxcor": MEMORY,
            "maxiter": self.left,
            "maxfun": max(self.left - self.spent, 1),
            "gtol": slope,
            "ftol": 0.0,
        }
        found = minimize(self._lagrangian, eta, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x, dtype=np.float64)

    def _lagrangian(self, eta: Array) -> tuple[float, Array]:
        theta = self.problem.theta(eta)
        score, uphill = self.problem.score(theta)
        entropy, wider = self.problem.entropy(theta)
        self.spent += 1
        if score >= self.problem.threshold and (self.highest is None or entropy > self.highest[0]):
            self.highest = entropy, theta
        m = max(0.0, self.multiplier + self.penalty * (self.target - score))
        return -entropy + (m * m - self.multiplier**2) / (2 * self.penalty), -wider - m * uphill


def _seeds(problem: Bounded, thetas: Array, scores: Array) -> list[int]:
    """Return the starts that reach the threshold, the most entropic first."""
    feasible = np.flatnonzero(scores >= problem.threshold).tolist()
    return sorted(feasible, key=lambda start: -problem.entropy(thetas[start])[0])


def _point(problem: Bounded, theta: Array) -> Point:
    """Return the point with the multiplier λ ≥ 0 for which ∇H + λ∇S is shortest."""
    score, uphill = problem.score(theta)
    entropy, wider = problem.entropy(theta)
    steep = float(uphill @ uphill)
    multiplier = max(0.0, -float(uphill @ wider) / steep) if steep > 0 else 0.0
    stationarity = float(np.abs(wider + multiplier * uphill).max())
    return Point(theta, score, entropy, multiplier, stationarity)


def _chosen(problem: Bounded, point: Point, tolerance: float, evaluations: int, outcome: str) -> Chosen:
    converged = point.stationarity <= tolerance
    found = "a stationary point" if converged else "the best feasible point found; it is not stationary"
    details = {
        "score": point.score,
        "threshold": problem.threshold,
        "slack": point.score - problem.threshold,
        "entropy": point.entropy,
        "multiplier": point.multiplier,
        "stationarity": point.stationarity,
        "converged": converged,
        "evaluations": evaluations,
        "outcome": outcome or found,
    }
    return Chosen(Network(problem.rule.dag, point.theta), details)
