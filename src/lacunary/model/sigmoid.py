"""The family of a binary variable whose log-odds are a sum over its parents (GHM96 section 8; Neal 1992).

    p(second state | parents) = Sig(w₀ + Σ over parents p of w_p · x_p),   Sig(η) = 1 / (1 + e^−η).

A binary parent is x = 0 in its first state and 1 in its second; one with k states has a weight for each
state but the first. The weights are the parameters, and the engine is given the table that they imply: that
is what vectors over the layout hold, and its log-odds give the weights back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError
from lacunary.maths import special

__all__ = ["FARTHEST", "Sigmoid", "design", "log_odds", "table_of", "weights_of"]

FARTHEST = 700.0
"""The largest log-odds whose probabilities are both above zero in double arithmetic."""


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """The log-odds of a binary variable's second state: intercept + Σ weights of the parents' states.

    Attributes
    ----------
    intercept
        The log-odds when every parent is in its first state.
    weights
        For each parent in order, one for each of its states but the first; (weights,).
    """

    intercept: float
    weights: NDArray[np.float64]

    def __init__(self, intercept: float, weights: ArrayLike = ()) -> None:
        object.__setattr__(self, "intercept", float(intercept))
        object.__setattr__(self, "weights", np.asarray(weights, dtype=np.float64).reshape(-1))
        if not np.all(np.isfinite(self.vector)):
            raise ParameterError("the weights of a sigmoid family must be finite")

    @classmethod
    def of(cls, vector: NDArray[np.float64]) -> Sigmoid:
        """Return the family with these weights, the intercept first."""
        return cls(vector[0], vector[1:])

    @property
    def vector(self) -> NDArray[np.float64]:
        """The intercept and then the weights; (1 + weights,)."""
        return np.concatenate([[self.intercept], self.weights])

    def table(self, sizes: Sequence[int]) -> NDArray[np.float64]:
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
def design(sizes: tuple[int, ...]) -> NDArray[np.float64]:
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
def _pivots(sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the configurations that tell the weights: all first, and one parent in another state."""
    strides = list(accumulate(reversed(sizes), mul, initial=1))[-2::-1]
    return np.array(
        [0, *(s * stride for size, stride in zip(sizes, strides, strict=True) for s in range(1, size))]
    )


def table_of(weights: NDArray[np.float64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the table that weights imply under a design; (..., weights) → (..., 2, configurations)."""
    odds = weights @ known.T
    return np.stack([special.expit(-odds), special.expit(odds)], axis=-2)


def log_odds(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of the second state; (..., 2, configurations) → (..., configurations)."""
    tiny = np.finfo(np.float64).tiny
    return np.asarray(np.log(np.maximum(table[..., 1, :], tiny)) - np.log(np.maximum(table[..., 0, :], tiny)))


def weights_of(table: NDArray[np.float64], sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the weights that imply a table; of any other table, those of its first configurations.

    (..., 2, configurations) → (..., weights).
    """
    odds = log_odds(table[..., _pivots(sizes)])
    out = odds - odds[..., :1]
    out[..., 0] = odds[..., 0]
    return out
