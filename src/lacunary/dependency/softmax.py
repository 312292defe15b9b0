"""Probabilities of states whose log-odds are linear in features (multinomial logistic regression)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunary.budget import reserve
from lacunary.maths.arrays import Array, Integers

__all__ = ["PENALTIES", "Softmax", "softmax"]

PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0)
"""Precisions of the slopes' normal prior that are tried, on standardised features."""

STEPS, CLOSE = 25, 1e-6


@dataclass(frozen=True, eq=False)
class Softmax:
    """Log-odds against the last state, linear in features, with normal priors on the slopes.

    Attributes
    ----------
    center
        Means of the features.
    weights
        (1 + features, states − 1), the offsets first.
    curvature
        Of the negative log-posterior at its minimum; both axes run over states, then features.
    features, codes, penalty
        What it was fitted to, and the precision of the slopes' prior.
    """

    center: Array
    weights: Array
    curvature: Array
    features: Array
    codes: Integers
    penalty: float

    def probabilities(self, features: Array) -> Array:
        """Return the states' probabilities; (rows, states)."""
        return _normalised(_with_one(features - self.center) @ self.weights)

    def drawn(self, rng: np.random.Generator) -> Softmax:
        """Return it with weights drawn from the normal approximation to their posterior."""
        root = np.linalg.cholesky(self.curvature)
        step = np.linalg.solve(root.T, rng.standard_normal(len(root)))
        weights = self.weights + step.reshape(self.weights.T.shape).T
        return Softmax(self.center, weights, self.curvature, self.features, self.codes, self.penalty)

    @cached_property
    def left_out(self) -> Array:
        """What each row is told by all others, one Newton step away; (rows, states)."""
        x = _with_one(self.features - self.center)
        rows, width = x.shape
        odds = self.weights.shape[1]
        chance = _normalised(x @ self.weights)
        inverse = np.linalg.inv(self.curvature).reshape(odds, width, odds, width)
        lever = np.empty((rows, odds, odds))
        for a in range(odds):
            for b in range(a, odds):
                lever[:, a, b] = lever[:, b, a] = ((x @ inverse[a, :, b, :]) * x).sum(axis=1)
        p = chance[:, :-1]
        own = -p[:, :, None] * p[:, None, :]
        own[:, np.arange(odds), np.arange(odds)] += p
        pull = p - _indicators(self.codes, odds + 1)[:, :-1]
        # The row's own curvature is taken out of the others' before the step.
        inner = np.linalg.solve(np.eye(odds) - own @ lever + 1e-9 * np.eye(odds), pull[:, :, None])
        return _normalised(x @ self.weights + (lever @ inner)[:, :, 0])


def softmax(
    features: Array, codes: Integers, states: int, penalty: float, begin: Array | None = None
) -> Softmax:
    """Return the most probable weights by Newton's method with halved steps."""
    center = features.mean(axis=0)
    x = _with_one(features - center)
    odds, width = states - 1, x.shape[1]
    needed = 8.0 * (3.0 * (odds * width) ** 2 + 3.0 * len(x) * odds**2)  # curvature; rows left out of it
    reserve(needed, f"regressions of {states} states on {width} features", "merge states")
    y = _indicators(codes, states)[:, :-1]
    prior = np.full((width, odds), penalty)
    prior[0] = 0.05  # offsets are all but free; states that no row shows stay finite
    weights = np.zeros((width, odds)) if begin is None or begin.shape != (width, odds) else begin
    value = _loss(x, codes, weights, prior)
    for _ in range(STEPS):
        chance = _normalised(x @ weights)[:, :-1]
        curvature = _curvature(x, chance, prior)
        slope = x.T @ (chance - y) + prior * weights
        step = np.linalg.solve(curvature, slope.T.reshape(-1)).reshape(odds, width).T
        size = 1.0
        while (new := _loss(x, codes, weights - size * step, prior)) > value and size > 1e-4:
            size *= 0.5
        if new > value:
            break
        weights, gained, value = weights - size * step, value - new, new
        if gained < CLOSE * len(x):
            break
    chance = _normalised(x @ weights)[:, :-1]
    return Softmax(center, weights, _curvature(x, chance, prior), features, codes, penalty)


def _curvature(x: Array, chance: Array, prior: Array) -> Array:
    width, odds = prior.shape
    out = np.empty((odds, width, odds, width))
    for a in range(odds):
        for b in range(a, odds):
            weight = chance[:, a] * ((1.0 if a == b else 0.0) - chance[:, b])
            out[a, :, b, :] = x.T @ (weight[:, None] * x)
            out[b, :, a, :] = out[a, :, b, :].T
    flat = out.reshape(odds * width, odds * width)
    flat[np.diag_indices(odds * width)] += prior.T.reshape(-1)
    return flat


def _loss(x: Array, codes: Integers, weights: Array, prior: Array) -> float:
    odds = np.column_stack([x @ weights, np.zeros(len(x))])
    top = odds.max(axis=1)
    total = top + np.log(np.exp(odds - top[:, None]).sum(axis=1))
    return float((total - odds[np.arange(len(x)), codes]).sum() + 0.5 * (prior * weights**2).sum())


def _normalised(odds: Array) -> Array:
    every = np.column_stack([odds, np.zeros(len(odds))])
    shares = np.exp(every - every.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _with_one(features: Array) -> Array:
    return np.column_stack([np.ones(len(features)), features])


def _indicators(codes: Integers, states: int) -> Array:
    return np.asarray(codes[:, None] == np.arange(states), dtype=np.float64)
