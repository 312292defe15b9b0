"""A distal outcome by class of highest likelihood, where how often assignments are wrong is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.maths.arrays import Array
from lacunary.study.class_errors import derivatives, inverse_of

__all__ = ["MixedOutcome", "fitted_outcome"]

ENOUGH = 1e-13
SWEEPS = 50_000


@dataclass(frozen=True, eq=False)
class MixedOutcome:
    """Means or probabilities by class; the rows' scores; and how the numbers move with their sum."""

    beta: Array
    scores: Array
    bread: Array


def fitted_outcome(wrong: Array, values: Array, weights: Array, discrete: bool) -> MixedOutcome:
    """Return the outcome by class, and shares of the classes, of highest likelihood, by EM.

    ``wrong`` is the probability of each row's assignment in each class; ``values`` are indicators of states,
    or one column of numbers, which are normal in each class.
    """
    model = _Model(wrong, values, weights, discrete)
    shares = wrong / wrong.sum(axis=1, keepdims=True)
    before = -np.inf
    for _ in range(SWEEPS):
        u = model.improved(shares)
        joint = model.joint(u)
        mass = joint.sum(axis=1)
        shares = joint / mass[:, None]
        now = float(weights @ np.log(mass))
        if now - before < ENOUGH * abs(now):
            break
        before = now
    scores = model.scores(u).real
    bent = -derivatives(lambda moved: model.scores(moved).sum(axis=0), u)
    slopes = derivatives(model.numbers, u)
    return MixedOutcome(model.numbers(u), scores, slopes @ inverse_of((bent + bent.T) / 2))


@dataclass(frozen=True, eq=False)
class _Model:
    """The likelihood in coordinates without borders: log-odds of shares and states, means, log-variances."""

    wrong: Array
    values: Array
    weights: Array
    discrete: bool

    @property
    def classes(self) -> int:
        return int(self.wrong.shape[1])

    def improved(self, shares: Array) -> Array:
        """Return the coordinates of highest likelihood for given shares of classes in rows."""
        total = self.weights @ shares
        middle = (shares * self.weights[:, None]).T @ self.values / total[:, None]
        odds = np.log(total[1:] / total[0])
        if self.discrete:
            inside = np.maximum(middle, 1e-12)
            return np.concatenate([odds, np.log(inside[:, :-1] / inside[:, -1:]).ravel()])
        spread = (self.weights[:, None] * shares * (self.values - middle.T) ** 2).sum(axis=0) / total
        return np.concatenate([odds, middle[:, 0], np.log(np.maximum(spread, 1e-12))])

    def _parts(self, u: NDArray[Any]) -> tuple[Any, Any, Any]:
        k = self.classes
        raised = np.exp(np.concatenate([np.zeros(1, u.dtype), u[: k - 1]]))
        if not self.discrete:
            return raised / raised.sum(), u[k - 1 : 2 * k - 1], u[2 * k - 1 :]
        table = np.exp(np.concatenate([u[k - 1 :].reshape(k, -1), np.zeros((k, 1), u.dtype)], axis=1))
        return raised / raised.sum(), table / table.sum(axis=1, keepdims=True), None

    def joint(self, u: NDArray[Any]) -> NDArray[Any]:
        """Return p(class, assignment, outcome) of each row; (rows, classes)."""
        share, middle, logs = self._parts(u)
        if self.discrete:
            return np.asarray(self.wrong * share * (self.values @ middle.T))
        apart = self.values - middle
        return np.asarray(
            self.wrong * share * np.exp(-0.5 * (apart**2 / np.exp(logs) + logs + np.log(2 * np.pi)))
        )

    def scores(self, u: NDArray[Any]) -> NDArray[Any]:
        """Return the rows' slopes along the coordinates, weighted; (rows, coordinates)."""
        share, middle, logs = self._parts(u)
        joint = self.joint(u)
        mine = joint / joint.sum(axis=1, keepdims=True)
        parts = [mine[:, 1:] - share[1:]]
        if self.discrete:
            hot = self.values[:, None, :-1] - middle[None, :, :-1]
            parts.append((mine[:, :, None] * hot).reshape(len(mine), -1))
        else:
            apart = self.values - middle
            parts += [mine * apart / np.exp(logs), mine * 0.5 * (apart**2 / np.exp(logs) - 1.0)]
        return np.asarray(np.concatenate(parts, axis=1) * self.weights[:, None])

    def numbers(self, u: NDArray[Any]) -> NDArray[Any]:
        """Return means or probabilities by class."""
        middle = self._parts(u)[1]
        return np.asarray(middle if self.discrete else middle[:, None])
