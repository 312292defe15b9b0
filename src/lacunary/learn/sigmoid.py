"""The M-step of sigmoid families: logistic regression on expected counts, by reweighted least squares.

With n_j the expected count of parents in configuration j, y_j that of the child in its second state as well,
and X the design (`lacunary.model.sigmoid`), the step maximises the concave

    Σ_j [y_j η_j − n_j log(1 + e^η_j)] − |w|² / 2s²,   η = X w,

by Newton's method with step halving; s is the standard deviation of the prior, and there is none for maximum
likelihood. Where counts are separable that has no maximum: weights run off. The climb ends when no more than
`GAIN` nats a row are left to gain, which leaves such weights large and finite.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.network import Network
from lacunary.maths import special
from lacunary.model.dag import Dag
from lacunary.model.sigmoid import FARTHEST, design, log_odds, table_of, weights_of

__all__ = ["Weights", "best_weights", "sigmoid_places", "warn_of_separation"]

GAIN = 1e-12
"""Nats a row that a step must promise to be followed by another."""

STEPS, HALVINGS = 100, 40
"""The most Newton steps, each halved at most so often; separable counts take about 30 steps."""

DAMPING = 1e-10
"""What is added to the curvature, as a share of its largest: directions without data are not moved in."""

ROUNDING = 1e-13
"""What a step may seem to lose, as a share of the likelihood, because of rounding alone."""

RUNAWAY = 15.0
"""Log-odds beyond which maximum likelihood is said to have run off: one in three million."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The sigmoid families of a network that are learned.

    Attributes
    ----------
    dag
        The graph.
    learned
        The variables, one for each table.
    precision
        1/s² of the prior; zero for maximum likelihood.
    """

    dag: Dag
    learned: tuple[int, ...]
    precision: float

    @cached_property
    def _alike(self) -> dict[tuple[int, ...], list[int]]:
        """The variables by the sizes of their parents: those with the same are worked on together."""
        out: dict[tuple[int, ...], list[int]] = {}
        for i in self.learned:
            out.setdefault(self.dag.layout.parent_sizes(i), []).append(i)
        return out

    def settle(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return tables of which some configurations are as given and the others sigmoid; (starts, size)."""
        out = points.copy()
        for i in self.learned:
            self.dag.layout.binary(out, i)[:] = table_of(self._weights(points, i), self._design(i))
        return out

    def improve(self, counts: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points with the best sigmoid tables for these counts; (starts, size)."""
        layout = self.dag.layout
        for sizes, alike in self._alike.items():
            known = design(sizes)
            mine = np.stack([layout.binary(counts, i) for i in alike])
            for i, weights in zip(alike, best_weights(mine, known, self.precision), strict=True):
                layout.binary(points, i)[:] = table_of(weights, known)
        return points

    def log_prior(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-density of the weights, zero for maximum likelihood; (starts,)."""
        out = np.zeros(points.shape[:-1])
        if not self.precision:
            return out
        for i in self.learned:
            weights = self._weights(points, i)
            constant = 0.5 * weights.shape[-1] * np.log(self.precision / (2 * np.pi))
            out += constant - 0.5 * self.precision * (weights**2).sum(axis=-1)
        return out

    def _weights(self, points: NDArray[np.float64], i: int) -> NDArray[np.float64]:
        return weights_of(self.dag.layout.binary(points, i), self.dag.layout.parent_sizes(i))

    def _design(self, i: int) -> NDArray[np.float64]:
        return design(self.dag.layout.parent_sizes(i))


def best_weights(
    counts: NDArray[np.float64], known: NDArray[np.float64], precision: float
) -> NDArray[np.float64]:
    """Return the weights of highest penalised likelihood for expected counts.

    Parameters
    ----------
    counts
        The child's state, then the parents' configuration; (..., 2, configurations).
    known
        The design; (configurations, weights).
    precision
        1/s²; zero for none.

    Returns
    -------
    array
        (..., weights).
    """
    lead = counts.shape[:-2]
    yes = counts[..., 1, :].reshape(-1, len(known))
    total = yes + counts[..., 0, :].reshape(-1, len(known))
    share = (yes + 0.5) / (total + 1.0)
    heavy = total * share * (1.0 - share)
    weights = _solved(heavy, (heavy * np.log(share / (1.0 - share))) @ known, known, precision)
    enough = GAIN * (1.0 + total.sum(axis=1))
    for _ in range(STEPS):
        share = special.expit(weights @ known.T)
        slope = (yes - total * share) @ known - precision * weights
        step = _solved(total * share * (1.0 - share), slope, known, precision)
        weights = _halved(weights, step, yes, total, known, precision)
        if np.all((slope * step).sum(axis=1) <= enough):
            break
    return weights.reshape(*lead, known.shape[1])


def _solved(
    heavy: NDArray[np.float64], right: NDArray[np.float64], known: NDArray[np.float64], precision: float
) -> NDArray[np.float64]:
    """Return (XᵀVX + precision)⁻¹ ``right`` with V = diag(heavy); (vectors, weights)."""
    bend = (known.T * heavy[:, None, :]) @ known
    place = np.arange(known.shape[1])
    diagonal = bend[:, place, place] + precision
    damping = np.maximum(DAMPING * diagonal.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    bend[:, place, place] = diagonal + damping
    return np.asarray(np.linalg.solve(bend, right[..., None])[..., 0])


def _halved(
    weights: NDArray[np.float64],
    step: NDArray[np.float64],
    yes: NDArray[np.float64],
    total: NDArray[np.float64],
    known: NDArray[np.float64],
    precision: float,
) -> NDArray[np.float64]:
    """Return weights moved along a step, or half of it, or half of that, so that nothing is lost."""

    def value(w: NDArray[np.float64]) -> NDArray[np.float64]:
        odds = w @ known.T
        fits = (yes * odds - total * np.logaddexp(0.0, odds)).sum(axis=1)
        return np.asarray(fits - 0.5 * precision * (w**2).sum(axis=1))

    before, length = value(weights), np.ones((len(weights), 1))
    before -= ROUNDING * (1.0 + np.abs(before))
    for _ in range(HALVINGS):
        tried = weights + length * step
        far = np.abs(tried @ known.T).max(axis=1) > FARTHEST
        worse = (value(tried) < before) | far
        if not worse.any():
            return tried
        length[worse] /= 2.0
    length[worse] = 0.0
    return weights + length * step


def sigmoid_places(dag: Dag) -> NDArray[np.bool_]:
    """Tell which places of the tables belong to sigmoid families; (tables,)."""
    return np.isin(dag.layout.variable, dag.sigmoids)


def warn_of_separation(network: Network) -> None:
    """Say that the likelihood has no maximum where the weights of a sigmoid family have run off."""
    for i in network.dag.sigmoids:
        odds = log_odds(network.dag.layout.binary(network.theta, i))
        if np.abs(odds).max() > RUNAWAY:
            name = network.dag.names[i]
            warnings.warn(
                f"the parents of {name} separate its states in some configuration: maximum likelihood has no "
                f"finite weights there, and those given (log-odds up to {np.abs(odds).max():.0f}) only come "
                "close to its supremum; method='map' has finite ones",
                stacklevel=3,
            )
