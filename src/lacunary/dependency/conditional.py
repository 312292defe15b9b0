"""What one column is given all others: a regression and a forest, weighed by how they tell rows left out.

Each kind of column has a conditional distribution: `Number` for transformed values, `States` for codes. Both
are fitted on the rows in which the column is observed; how much of the forest is taken is decided by
predictions of rows that were left out (stacking, Wolpert 1992), which come without fitting again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from lacunary.dependency.columns import Column
from lacunary.dependency.forest import Forest, forest
from lacunary.dependency.linear import Line, line
from lacunary.dependency.monotone import NODES, SHARES, Monotone
from lacunary.dependency.softmax import PENALTIES, Softmax, softmax
from lacunary.maths import special
from lacunary.maths.arrays import Array, Integers

__all__ = ["Effort", "Number", "States", "conditional", "mean_back", "noise", "student"]

Bins = NDArray[np.uint8]

DOFS = (3.0, 5.0, 10.0, 30.0, 1e3)
"""Degrees of freedom of the noise that are tried."""

WIDEST = 300
"""The most weights that log-odds are given; beyond, forests alone tell the states."""

BEYOND = 0.5
"""Standard deviations that locations may lie outside what was observed."""

LEAST = 3
"""Rows that a leaf keeps."""


@dataclass(frozen=True)
class Effort:
    """How a column's conditional distribution is made.

    Attributes
    ----------
    trees
        In a forest; with none there is no forest.
    proper
        Whether parameters are drawn, under priors that shrink nothing to speak of, as multiple imputation
        needs; else they are those that predict best.
    """

    trees: int
    proper: bool = False


@dataclass(frozen=True, eq=False)
class Number:
    """A continuous column: location and scale of a Student t in every row.

    Attributes
    ----------
    shape
        The transform whose values these are.
    line, forest, weights
        The location: the regression plus a share of what the forest says of its errors and of itself.
    scale, dof
        Of the noise, as it is in rows left out.
    range
        Beyond which no location lies: columns that determine each other would drive each other away.
    gain
        What the forest takes off the squared errors of rows left out, in its standard errors.
    plain, share
        Of a curved column the regression of the untransformed values, and its share in the mean: the mean
        of a skewed density hangs on its tail, squared errors in rows left out do not.
    """

    shape: Monotone
    line: Line
    forest: Forest | None
    weights: Array
    scale: float
    dof: float
    range: tuple[float, float]
    gain: float = 0.0
    plain: Line | None = None
    share: float = 0.0

    def location(self, features: Array, bins: Bins) -> Array:
        """Return the predicted transformed values."""
        straight = self.line.mean(features)
        if self.forest is not None:
            told = self.forest.mean(bins)
            straight = straight + self.weights[0] * told[:, 0] + self.weights[1] * (told[:, 1] - straight)
        return np.asarray(np.clip(straight, *self.range))

    def mean(self, features: Array, location: Array) -> Array:
        """Return the mean in the column's own units, given the location."""
        curved = mean_back(self.shape, location, self.scale, self.dof)
        if self.plain is None:
            return curved
        plain = self.shape.mean + self.shape.sd * self.plain.mean(features)
        low, high = self.shape.values[[0, -1]]
        return np.asarray((1 - self.share) * curved + self.share * np.clip(plain, low, high))

    def drawn(self, features: Array, bins: Bins, rng: np.random.Generator) -> Array:
        """Return a draw in every row."""
        noise = (
            rng.standard_t(self.dof, len(features)) if self.dof < 500 else rng.standard_normal(len(features))
        )
        return np.asarray(self.location(features, bins) + self.scale * noise)


@dataclass(frozen=True, eq=False)
class States:
    """A discrete column: probabilities of states in every row, a mixture of what several models say."""

    shares: Array
    odds: Softmax | None
    number: tuple[Line, Array, Integers] | None
    forest: Forest | None
    weights: Array
    gain: float = 0.0

    def probabilities(self, features: Array, bins: Bins) -> Array:
        """Return the states' probabilities; (rows, states)."""
        out = np.tile(self.weights[0] * self.shares, (len(features), 1))
        if self.odds is not None:
            out += self.weights[1] * self.odds.probabilities(features)
        if self.number is not None:
            straight, between, order = self.number
            out += self.weights[2] * _intervals(straight.mean(features), straight.variance, between, order)
        if self.forest is not None:
            out += self.weights[3] * _chances(self.forest.mean(bins))
        return out

    def drawn(self, features: Array, bins: Bins, rng: np.random.Generator) -> Array:
        """Return a code drawn in every row."""
        high = np.cumsum(self.probabilities(features, bins), axis=1)
        chance = rng.random(len(features)) * high[:, -1]
        return np.asarray((chance[:, None] >= high[:, :-1]).sum(axis=1), dtype=np.float64)


def conditional(
    column: Column, features: Array, bins: Bins, cells: Array, effort: Effort, rng: np.random.Generator,
    before: Any = None,
) -> Number | States:  # fmt: skip
    """Return a column's distribution given all others, from rows in which it is observed."""
    if column.shape is not None:
        return _number(column.shape, features, bins, cells, effort, rng)
    return _states(column, features, bins, cells.astype(np.int64), effort, rng, before)


def _number(
    shape: Monotone, features: Array, bins: Bins, cells: Array, effort: Effort, rng: np.random.Generator
) -> Number:
    straight = line(features, cells, most=1.0 if effort.proper else np.inf)
    left = cells - straight.left_out
    trees, weights, gain = None, np.zeros(2), 0.0
    if effort.trees:
        trees = forest(bins, np.column_stack([left, cells]), effort.trees, LEAST, rng)
        apart = np.column_stack([trees.left_out[:, 0], trees.left_out[:, 1] - straight.left_out])
        weights = nnls(apart, left)[0]
        weights[1] = min(weights[1], 1.0)
        gain = _in_errors(left**2 - (left - apart @ weights) ** 2)
        left = left - apart @ weights
    scale, dof = noise(left)
    ends = float(cells.min()) - BEYOND, float(cells.max()) + BEYOND
    if effort.proper:
        one = straight.drawn(rng)
        # Errors of rows left out are larger than the noise, by what the others do not know.
        wide = np.sqrt(one.variance / max(float(np.mean((cells - straight.left_out) ** 2)), 1e-12))
        return Number(shape, one, trees, weights, wide * scale, dof, ends, gain)
    found = Number(shape, straight, trees, weights, scale, dof, ends, gain)
    return _with_plain(found, features, cells, cells - left) if shape.curved else found


def _with_plain(found: Number, features: Array, cells: Array, told: Array) -> Number:
    """Return a curved column with the share of a plain regression that gives the least squared error."""
    x = found.shape.back(cells)
    plain = line(features, (x - found.shape.mean) / found.shape.sd)
    low, high = found.shape.values[[0, -1]]
    direct = np.clip(found.shape.mean + found.shape.sd * plain.left_out, low, high)
    curved = mean_back(found.shape, told, found.scale, found.dof)
    apart = direct - curved
    share = float(apart @ (x - curved)) / max(float(apart @ apart), 1e-300)
    return replace(found, plain=plain, share=float(np.clip(share, 0.0, 1.0)))


def mean_back(shape: Monotone, location: Array, scale: float, dof: float) -> Array:
    """Return the mean in the column's own units of a Student t on the transformed scale, by quadrature."""
    if not shape.curved:
        return shape.back(location)
    wide = scale * np.sqrt(dof / (dof - 2.0))
    return np.asarray(sum(w * shape.back(location + wide * x) for x, w in zip(NODES, SHARES, strict=True)))


def noise(left: Array) -> tuple[float, float]:
    """Return scale and degrees of freedom of the Student t that gives most to what is left."""
    dofs, squares = np.array(DOFS)[:, None], left**2
    floor = (1e-6 * max(float(np.abs(left).max()), 1e-9)) ** 2
    scales = np.full((len(DOFS), 1), float(left @ left) / len(left) + floor)
    for _ in range(12):  # all degrees of freedom side by side
        share = (dofs + 1) / (dofs + squares / scales)
        scales = np.array([[float(each @ squares) / len(left) + floor] for each in share])
    best = (-np.inf, 1.0, DOFS[-1])
    for dof, fit, scale in zip(DOFS, student(left, np.sqrt(scales), dofs), np.sqrt(scales), strict=True):
        if float(fit.sum()) > best[0] + (0.5 if np.isfinite(best[0]) else 0.0):
            best = (float(fit.sum()), float(scale[0]), dof)
    return best[1], best[2]


def student(x: Array, scale: Any, dof: Any) -> Array:
    """Return the log-density of a Student t about zero."""
    return np.asarray(special.log_student(x / scale, dof) - np.log(scale))


def _states(
    column: Column, features: Array, bins: Bins, codes: Integers, effort: Effort,
    rng: np.random.Generator, before: States | None,
) -> States:  # fmt: skip
    size = column.variable.size
    shares = np.asarray(
        (np.bincount(codes, minlength=size) + 0.5) / (len(codes) + 0.5 * size), dtype=np.float64
    )
    told: list[Array | None] = [np.tile(shares, (len(codes), 1)), None, None, None]
    odds = number = trees = None
    if 0 < features.shape[1] * (size - 1) <= WIDEST:
        odds = _odds(features, codes, size, effort, before)
        told[1] = odds.left_out
        if effort.proper:
            odds = odds.drawn(rng)
    if size > 2 and column.numbers.size:
        number = _ordered(column.numbers, features, codes, effort)
        told[2] = _intervals(number[0].left_out, number[0].variance, *number[1:])
        if effort.proper:
            number = (number[0].drawn(rng), *number[1:])
    if effort.trees:
        trees = forest(bins, np.eye(size)[codes], effort.trees, 2, rng)
        told[3] = _chances(trees.left_out)
    if effort.proper and (odds is not None or number is not None):
        told[0] = None  # what does not depend on the others would make every dependence weaker
    weights, gain = _pooled(told, codes), 0.0
    if trees is not None:
        bare = told[:3]
        gain = _in_errors(_log_told(told, weights, codes) - _log_told(bare, _pooled(bare, codes), codes))
    return States(shares, odds, number, trees, weights, gain)


def _in_errors(gains: Array) -> float:
    """Return the mean of gains over its standard error."""
    return float(gains.mean() * np.sqrt(len(gains)) / max(float(gains.std()), 1e-12))


def _log_told(told: list[Array | None], weights: Array, codes: Integers) -> Array:
    at = np.arange(len(codes))
    parts = [w * one[at, codes] for w, one in zip(weights, told, strict=True) if one is not None]
    return np.asarray(np.log(np.maximum(np.sum(parts, axis=0), 1e-300)))


def _odds(features: Array, codes: Integers, size: int, effort: Effort, before: States | None) -> Softmax:
    """Return the regression with the prior that tells rows left out best; later on, the same prior."""
    if effort.proper:
        return softmax(features, codes, size, 0.1)
    known = None if before is None else before.odds
    if known is not None:
        return softmax(features, codes, size, known.penalty, known.weights)
    best: tuple[float, Softmax] | None = None
    for penalty in PENALTIES:
        one = softmax(features, codes, size, penalty, None if best is None else best[1].weights)
        fit = float(np.log(np.maximum(one.left_out[np.arange(len(codes)), codes], 1e-9)).sum())
        if best is not None and fit < best[0]:
            break
        best = (fit, one)
    assert best is not None
    return best[1]


def _ordered(
    numbers: Array, features: Array, codes: Integers, effort: Effort
) -> tuple[Line, Array, Integers]:
    """Return a regression of the states' numbers, where one state ends and the next begins, their order."""
    order = np.argsort(numbers)
    rising = numbers[order]
    between = np.concatenate([[-np.inf], (rising[1:] + rising[:-1]) / 2, [np.inf]])
    straight = line(features, numbers[codes], most=1.0 if effort.proper else np.inf)
    return straight, between, order


def _intervals(mean: Array, variance: float, between: Array, order: Integers) -> Array:
    """Return the states' probabilities if a normal number is rounded to the nearest of them."""
    chance = np.diff(special.ndtr((between - mean[:, None]) / np.sqrt(variance)), axis=1)
    out: Array = np.empty_like(chance)
    out[:, order] = chance
    return out


def _chances(means: Array) -> Array:
    """Return a forest's means of indicators as probabilities."""
    out = np.maximum(means, 0.0) + 1e-3 / means.shape[1]
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _pooled(told: list[Array | None], codes: Integers) -> Array:
    """Return the weights with which probabilities are added: those of the greatest log-probability, by EM."""
    used = [i for i, one in enumerate(told) if one is not None]
    each = np.column_stack([one[np.arange(len(codes)), codes] for one in told if one is not None])
    shares = np.full(len(used), 1.0 / len(used))
    for _ in range(50 if len(used) > 1 else 0):
        part = each * shares
        shares = (part / np.maximum(part.sum(axis=1, keepdims=True), 1e-300)).sum(axis=0) + 0.5
        shares /= shares.sum()
    weights = np.zeros(len(told))
    weights[used] = shares
    return weights
