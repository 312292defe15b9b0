"""The family of a binary variable whose log-odds are a sum over its parents (GHM96 section 8; Neal 1992).

    p(second state | parents) = Sig(w₀ + Σ over parents p of w_p · x_p),   Sig(η) = 1 / (1 + e^−η).

A binary parent is x = 0 in its first state and 1 in its second; one with k states has a weight for each
state but the first. The weights are the parameters, and the engine is given the table that they imply: that
is what vectors over the layout hold, and its log-odds give the weights back.

The M-step is logistic regression on expected counts, by reweighted least squares. With n_j the expected count
of parents in configuration j, y_j that of the child in its second state as well, and X the design, it
maximises the concave

    Σ_j [y_j η_j − n_j log(1 + e^η_j)] − |w|² / 2s²,   η = X w,

by Newton's method with step halving; s is the standard deviation of the prior, and there is none for maximum
likelihood. Where counts are separable that has no maximum: weights run off. The climb ends when no more than
`GAIN` nats a row are left to gain, which leaves such weights large and finite.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lacunary.data.schema import Variable
from lacunary.data.wording import counted
from lacunary.errors import GraphError, ParameterError
from lacunary.family.protocol import ImpliedTable
from lacunary.maths import special
from lacunary.maths.arrays import Array, Integers

__all__ = [
    "FARTHEST",
    "Sigmoid",
    "SigmoidFamily",
    "best_weights",
    "design",
    "log_odds",
    "table_of",
    "weights_of",
]

FARTHEST = 700.0
"""The largest log-odds whose probabilities are both above zero in double arithmetic."""

OFF = 1e-6
"""How far a table may be from the one that its weights imply: printed probabilities are rounded."""

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
class Sigmoid:
    """The log-odds of a binary variable's second state: intercept + Σ weights of the parents' states.

    Attributes
    ----------
    intercept
        The log-odds when every parent is in its first state.
    weights
        For each parent in order, one for each of its states but the first; (weights,).

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("smoke -> cough", family={"cough": "sigmoid"})
    >>> tables = {"smoke": [0.7, 0.3], "cough": lac.Sigmoid(-2.0, [2.0])}
    >>> lac.Network.from_tables(graph, tables).query("cough", given={"smoke": 1})[1]     # log-odds of zero
    0.5
    """

    intercept: float
    weights: Array

    def __init__(self, intercept: float, weights: ArrayLike = ()) -> None:
        object.__setattr__(self, "intercept", float(intercept))
        object.__setattr__(self, "weights", np.asarray(weights, dtype=np.float64).reshape(-1))
        if not np.all(np.isfinite(self.vector)):
            raise ParameterError("the weights of a sigmoid family must be finite")

    @classmethod
    def of(cls, vector: Array) -> Sigmoid:
        """Return the family with these weights, the intercept first."""
        return cls(vector[0], vector[1:])

    @property
    def vector(self) -> Array:
        """The intercept and then the weights; (1 + weights,)."""
        return np.concatenate([[self.intercept], self.weights])

    def table(self, sizes: Sequence[int]) -> Array:
        """Return p(variable | parents of these sizes), parents first and the variable last."""
        known = design(tuple(sizes))
        if len(self.vector) != known.shape[1]:
            raise ParameterError(
                f"parents with {', '.join(map(str, sizes)) or 'no'} states need {known.shape[1] - 1} "
                f"weights, one for each state but the first, not {len(self.weights)}"
            )
        if np.abs(known @ self.vector).max() > FARTHEST:
            raise ParameterError(
                f"weights that make log-odds beyond ±{FARTHEST:g} leave no chance to a state"
            )
        return np.moveaxis(table_of(self.vector, known), 0, -1).reshape(*sizes, 2)


@lru_cache(maxsize=256)
def design(sizes: tuple[int, ...]) -> Array:
    """Return which weights enter the log-odds of each configuration of parents, the last moving fastest.

    (configurations, 1 + Σ(size − 1)), zeros and ones: a column for the intercept, and one for each state but
    the first of each parent.
    """
    states = np.indices(sizes).reshape(len(sizes), prod(sizes))
    columns = [np.ones(states.shape[1])]
    columns += [states[p] == state for p, size in enumerate(sizes) for state in range(1, size)]
    out = np.column_stack(columns).astype(np.float64)
    out.flags.writeable = False
    return out


@lru_cache(maxsize=256)
def _pivots(sizes: tuple[int, ...]) -> Integers:
    """Return the configurations that tell the weights: all first, and one parent in another state."""
    strides = list(accumulate(reversed(sizes), mul, initial=1))[-2::-1]
    return np.array(
        [0, *(s * stride for size, stride in zip(sizes, strides, strict=True) for s in range(1, size))]
    )


def table_of(weights: Array, known: Array) -> Array:
    """Return the table that weights imply under a design; (..., weights) → (..., 2, configurations)."""
    odds = weights @ known.T
    return np.stack([special.expit(-odds), special.expit(odds)], axis=-2)


def log_odds(table: Array) -> Array:
    """Return the log-odds of the second state; (..., 2, configurations) → (..., configurations)."""
    tiny = np.finfo(np.float64).tiny
    return np.asarray(np.log(np.maximum(table[..., 1, :], tiny)) - np.log(np.maximum(table[..., 0, :], tiny)))


def weights_of(table: Array, sizes: tuple[int, ...]) -> Array:
    """Return the weights that imply a table; of any other table, those of its first configurations.

    (..., 2, configurations) → (..., weights).
    """
    odds = log_odds(table[..., _pivots(sizes)])
    out = odds - odds[..., :1]
    out[..., 0] = odds[..., 0]
    return out


@dataclass(frozen=True)
class SigmoidFamily(ImpliedTable):
    """A binary variable whose log-odds are a sum over its parents."""

    name: ClassVar[str] = "sigmoid"
    phrase: ClassVar[str] = "a sigmoid"

    @classmethod
    def check_variable(cls, variable: Variable) -> None:
        """Refuse what is not binary."""
        if variable.size != 2:
            what = f"has {counted(variable.size, 'state')}" if variable.discrete else "is continuous"
            raise GraphError(
                f"{variable.name} {what}: a sigmoid family is for binary variables; leave its family out"
            )

    @property
    def free(self) -> int:
        """An intercept, and a weight for each state but the first of each parent."""
        return 1 + sum(size - 1 for size in self.sizes)

    @property
    def design(self) -> Array:
        """Which weights enter the log-odds of each configuration; (q, free)."""
        return design(self.sizes)

    @property
    def jacobian(self) -> Array:
        """Minus the design: φ is the log-odds of the first state."""
        return -self.design

    def table(self, weights: Array) -> Array:
        """Return the table that weights imply."""
        return table_of(weights, self.design)

    def weights(self, table: Array) -> Array:
        """Return the weights that imply a table."""
        return weights_of(table, self.sizes)

    def best(self, counts: Array, precision: float) -> Array:
        """Return the logistic regression of expected counts."""
        return best_weights(counts, self.design, precision)

    def information(self, counts: Array) -> Array:
        """Return a quarter of the rows in which each weight counts: all there is at even odds."""
        return np.asarray(counts.sum(axis=0) @ self.design / 4.0)

    def read(self, given: Any, renormalize: bool = False) -> Array:
        """Return the table of a `Sigmoid`, or one given, as its places in a vector."""
        from lacunary.family.table import flat, read_table  # which takes a `Sigmoid` for a table, too

        made = given.table(self.sizes) if isinstance(given, Sigmoid) else read_table(self, given, renormalize)
        return flat(made)

    def check(self, places: Array) -> None:
        """Refuse a table that no weights imply."""
        table = places.reshape(2, self.configurations)
        implied = self.table(self.weights(table))
        if not np.allclose(implied, table, rtol=0.0, atol=OFF):
            name = self.variable.name
            raise ParameterError(
                f"the family of {name} is a sigmoid, and no weights give this table: "
                f"p({name} | parents) is off by {np.abs(implied - table).max():.3g}; give a Sigmoid, "
                "or leave the family out"
            )

    def shown(self, places: Array) -> Sigmoid:
        """Return the weights."""
        return Sigmoid.of(self.weights(places.reshape(2, self.configurations)))

    def warn(self, table: Array) -> None:
        """Say that the likelihood has no maximum where weights have run off."""
        odds = np.abs(log_odds(table)).max()
        if odds > RUNAWAY:
            warnings.warn(
                f"the parents of {self.variable.name} separate its states in some configuration: maximum "
                f"likelihood has no finite weights there, and those given (log-odds up to {odds:.0f}) only "
                "come close to its supremum; method='map' has finite ones",
                stacklevel=4,
            )


def best_weights(counts: Array, known: Array, precision: float) -> Array:
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


def _solved(heavy: Array, right: Array, known: Array, precision: float) -> Array:
    """Return (XᵀVX + precision)⁻¹ ``right`` with V = diag(heavy); (vectors, weights)."""
    bend = (known.T * heavy[:, None, :]) @ known
    place = np.arange(known.shape[1])
    diagonal = bend[:, place, place] + precision
    damping = np.maximum(DAMPING * diagonal.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    bend[:, place, place] = diagonal + damping
    return np.asarray(np.linalg.solve(bend, right[..., None])[..., 0])


def _halved(weights: Array, step: Array, yes: Array, total: Array, known: Array, precision: float) -> Array:
    """Return weights moved along a step, or half of it, or half of that, so that nothing is lost."""

    def value(w: Array) -> Array:
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
