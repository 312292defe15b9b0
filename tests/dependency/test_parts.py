"""The parts of dependency networks: regressions, forests, transforms, against slow or explicit versions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_t, norm

import lacunary as lac
from lacunary.dependency.columns import columns
from lacunary.dependency.conditional import Effort, conditional, noise, student
from lacunary.dependency.forest import forest
from lacunary.dependency.linear import GRID, line
from lacunary.dependency.monotone import monotone, straight
from lacunary.dependency.posterior import TransformedMixture
from lacunary.dependency.softmax import softmax
from tests.naive_trees import grown, leaf

ROUNDING = 1e-9


def regression(rows: int = 40, width: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((rows, width))
    return x, x @ rng.standard_normal(width) + rng.standard_normal(rows)


def ridge(x: Any, y: Any, ratio: float) -> Any:
    """Return offset and slopes of least squares with a penalty on the slopes, by the normal equations."""
    full = np.column_stack([np.ones(len(x)), x])
    return np.linalg.solve(full.T @ full + ratio * np.diag([0.0] + [1.0] * x.shape[1]), full.T @ y)


def evidence(x: Any, y: Any, ratio: float) -> float:
    """Return the log-density of the centred response, slopes and noise integrated out, up to a constant.

    With p(σ²) ∝ 1/σ² the response is, in the limit of few degrees of freedom, Student t about zero.
    """
    spread = np.eye(len(y)) + x @ x.T / ratio
    return float(multivariate_t(np.zeros(len(y)), spread, df=1e-9).logpdf(y))


def test_a_line_is_the_ridge_regression_of_the_greatest_evidence() -> None:
    x, y = regression()
    found = line(x, y)
    centred = x - x.mean(axis=0)
    best = GRID[np.argmax([evidence(centred, y - y.mean(), ratio) for ratio in GRID])]
    expected = ridge(x, y, best)
    assert found.slope == pytest.approx(expected[1:], abs=ROUNDING)
    assert found.mean(x) == pytest.approx(np.column_stack([np.ones(len(x)), x]) @ expected, abs=ROUNDING)


def test_a_row_left_out_is_told_by_the_others() -> None:
    x, y = regression()
    ratio = 0.05  # less than the evidence prefers
    found = line(x, y, most=ratio)
    assert found.slope == pytest.approx(ridge(x, y, ratio)[1:], abs=ROUNDING)
    for row in range(0, 40, 7):
        others = np.delete(np.arange(40), row)
        told = ridge(x[others], y[others], ratio) @ np.r_[1.0, x[row]]
        assert found.left_out[row] == pytest.approx(told, abs=ROUNDING)


def test_a_line_without_features_is_the_mean() -> None:
    y = np.array([1.0, 2.0, 6.0])
    found = line(np.empty((3, 0)), y)
    assert found.mean(np.empty((2, 0))).tolist() == [3.0, 3.0]
    assert found.left_out.tolist() == pytest.approx([4.0, 3.5, 1.5])


def test_draws_of_a_line_spread_as_the_posterior_says() -> None:
    x, y = regression()
    found, rng = line(x, y, most=1e-3), np.random.default_rng(0)
    slopes = np.array([found.drawn(rng).slope for _ in range(4000)])
    centred = x - x.mean(axis=0)
    # Of a flat prior the slopes are Student t with variance σ²(x'x)⁻¹ ν / (ν − 2).
    wide = np.diag(np.linalg.inv(centred.T @ centred)) * found.variance * found.dof / (found.dof - 2)
    assert slopes.mean(axis=0) == pytest.approx(found.slope, abs=5 * np.sqrt(wide.max() / 4000))
    assert slopes.var(axis=0) == pytest.approx(wide, rel=0.12)  # five errors: √(2/4000) · 5


def states() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((80, 3))
    odds = np.column_stack([x @ [1.0, 0.0, 0.5], x @ [0.0, 1.0, -0.5], np.zeros(80)])
    chance = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    return x, (rng.random(80)[:, None] > np.cumsum(chance, axis=1)[:, :2]).sum(axis=1)


def test_a_softmax_has_the_most_probable_weights_and_their_curvature() -> None:
    x, codes = states()
    found = softmax(x, codes, 3, penalty=2.0)
    full = np.column_stack([np.ones(80), x - x.mean(axis=0)])

    def loss(flat: Any) -> float:
        weights = flat.reshape(2, 4).T
        odds = np.column_stack([full @ weights, np.zeros(80)])
        log = odds[np.arange(80), codes] - np.log(np.exp(odds).sum(axis=1))
        return float(-log.sum() + 0.5 * (2.0 * weights[1:] ** 2).sum() + 0.5 * 0.05 * (weights[0] ** 2).sum())

    at, step = found.weights.T.reshape(-1), 1e-5
    unit = np.eye(8) * step
    slope = [(loss(at + u) - loss(at - u)) / (2 * step) for u in unit]
    # Newton's last step gained less than 1e-6 a row, so what is left of the slope is about its root.
    assert np.abs(slope).max() < 1e-2
    second = [(loss(at + u) - 2 * loss(at) + loss(at - u)) / step**2 for u in unit]
    assert np.diag(found.curvature) == pytest.approx(second, rel=1e-3)  # differences of 1e-5 in doubles


def test_a_softmax_tells_rows_left_out_nearly_as_if_fitted_again() -> None:
    x, codes = states()
    found = softmax(x, codes, 3, penalty=2.0)
    plain = np.abs(found.probabilities(x) - found.left_out).max()
    for row in range(0, 80, 9):
        others = np.delete(np.arange(80), row)
        again = softmax(x[others], codes[others], 3, penalty=2.0).probabilities(x[row : row + 1])[0]
        # One Newton step away: what it misses is of second order in what it moves.
        assert np.abs(found.left_out[row] - again).max() < 0.15 * plain


def test_states_that_no_row_shows_stay_possible() -> None:
    x, codes = states()
    found = softmax(x, np.minimum(codes, 1), 3, penalty=1.0)
    chance = found.probabilities(x)
    assert np.isfinite(chance).all()
    assert (chance[:, 2] > 0).all()


def test_trees_are_those_of_a_plain_recursion() -> None:
    rng = np.random.default_rng(5)
    bins = rng.integers(0, 6, (60, 4)).astype(np.uint8)
    targets = np.column_stack([bins[:, 0] + rng.random(60), bins[:, 1] * bins[:, 2] + rng.random(60)])
    found = forest(bins, targets, trees=3, least=4, rng=np.random.default_rng(8))
    samples = np.random.default_rng(8).integers(0, 60, (3, 60))
    trees = [grown(bins, targets, rows.tolist(), 4) for rows in samples]
    fresh = rng.integers(0, 6, (30, 4)).astype(np.uint8)
    expected = [np.mean([leaf(tree, row) for tree in trees], axis=0) for row in fresh]
    assert found.mean(fresh) == pytest.approx(np.array(expected), abs=ROUNDING)
    for row in range(60):
        unseen = [
            leaf(tree, bins[row]) for tree, sample in zip(trees, samples, strict=True) if row not in sample
        ]
        if unseen:
            assert found.left_out[row] == pytest.approx(np.mean(unseen, axis=0), abs=ROUNDING)


@pytest.mark.parametrize("skewed", [False, True])
def test_transforms_rise_and_come_back(skewed: bool) -> None:
    x = np.random.default_rng(2).standard_normal(300)
    x = np.exp(x) if skewed else x
    shape = monotone(x)
    assert shape.curved == skewed
    z = shape.forward(np.sort(x))
    assert (np.diff(z) > 0).all()
    # The way back goes along a grid of 2000 steps.
    assert shape.back(z) == pytest.approx(np.sort(x), abs=np.ptp(x) / 1000)
    middle = np.quantile(x, [0.2, 0.5, 0.8])
    slope = (shape.forward(middle + 1e-6) - shape.forward(middle - 1e-6)) / 2e-6
    assert np.exp(shape.log_slope(middle)) == pytest.approx(slope, rel=1e-4)
    assert z.mean() == pytest.approx(0.0, abs=0.1)  # knots are few, so the scores are nearly standard
    assert z.std() == pytest.approx(1.0, abs=0.1)


def test_nothing_comes_back_from_outside_a_skewed_column() -> None:
    x = np.random.default_rng(2).exponential(size=200)
    shape = monotone(x)
    assert shape.back(np.array([-99.0, 99.0])).tolist() == pytest.approx([x.min(), x.max()])


@pytest.mark.parametrize("seed", range(6))
def test_densities_of_a_skewed_column_are_those_of_its_transform_outside_of_what_was_seen_too(
    seed: int,
) -> None:
    x = np.round(np.random.default_rng(seed).exponential(size=150) ** 2, 1)  # many are tied at zero
    shape = monotone(x)
    assert shape.curved
    outside = np.array([x.min() - 2.0, x.min() - 0.01, x.max() + 0.01, x.max() + 2.0])
    slope = (shape.forward(outside + 1e-4) - shape.forward(outside - 1e-4)) / 2e-4
    assert np.exp(shape.log_slope(outside)) == pytest.approx(slope, rel=1e-6)  # lines: differences are exact
    # What is normal on the other scale has a density that adds up to one; 20 standard deviations hold it all.
    low, high = x.min(), x.max()
    ends = 20.0 / np.exp(shape.log_slope(np.array([low - 1.0, high + 1.0])))
    runs = [np.linspace(low - ends[0], low - 1e-9, 20001), np.linspace(low, high, 200001)]
    runs.append(np.linspace(high + 1e-9, high + ends[1], 20001))
    mass = sum(np.trapezoid(norm.pdf(shape.forward(run)) * np.exp(shape.log_slope(run)), run) for run in runs)
    assert mass == pytest.approx(1.0, abs=1e-3)  # of trapezia


@pytest.mark.parametrize("values", [[], [3.0], [1.0, 1.0, 1.0], list(range(10))])
def test_few_or_equal_values_have_a_line(values: list[float]) -> None:
    shape = monotone(np.array(values, dtype=float))
    assert not shape.curved
    assert np.isfinite(shape.forward(np.array(values, dtype=float))).all()


def test_noise_with_long_tails_is_seen() -> None:
    rng = np.random.default_rng(0)
    scale, dof = noise(2.0 * rng.standard_t(3, 2000))
    assert dof <= 5
    assert scale == pytest.approx(2.0, rel=0.15)
    assert noise(rng.standard_normal(2000))[1] >= 30
    assert np.isfinite(student(np.zeros(3), *noise(np.zeros(3)))).all()


def test_densities_behind_a_transform_are_densities() -> None:
    x = np.random.default_rng(2).exponential(size=200)
    shape = monotone(x)
    one = np.array([0.5, 0.5])
    found = TransformedMixture(
        lac.Variable("x", kind="continuous"), one, np.array([-0.5, 0.7]), np.array([0.3, 0.5]),
        np.array([5.0, np.inf]), shape, np.asarray(1.0),
    )  # fmt: skip
    knots = sorted([*shape.values.tolist()])

    def below(limit: float) -> float:
        ends = [-40.0, *[k for k in knots if k < limit], limit]
        return float(
            sum(quad(lambda v: float(np.exp(found.log_density(v))), a, b)[0] for a, b in pairwise(ends))
        )

    assert below(60.0) == pytest.approx(1.0, abs=1e-3)  # the line beyond the knots reaches far on both sides
    assert below(1.0) == pytest.approx(float(found.probability_below(1.0)), abs=1e-3)
    median = float(found.quantile(0.5))
    assert float(found.probability_below(median)) == pytest.approx(0.5, abs=2e-3)  # the grid of the way back


def test_a_straight_transform_has_mean_zero_and_variance_one() -> None:
    x = np.array([2.0, 4.0, 9.0])
    assert straight(x).forward(x).mean() == pytest.approx(0.0)
    assert straight(x).forward(x).std() == pytest.approx(1.0)


def test_proper_draws_of_states_make_no_dependence_weaker() -> None:
    """The mean log-odds of drawn regressions rise as the regression's own: nothing flat is mixed in."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((150, 1))
    codes = (rng.random(150) < 1 / (1 + np.exp(-0.8 * x[:, 0]))).astype(np.int64)
    table = lac.read({"s": codes.astype(str), "x": x[:, 0]}, kinds={"s": "discrete", "x": "continuous"})
    column, bins = columns(table)[0], np.zeros((150, 1), dtype=np.uint8)
    at = np.array([[-2.0], [2.0]])
    drawn = []
    for _ in range(200):
        known = conditional(column, x, bins, codes.astype(np.float64), Effort(0, proper=True), rng)
        chance = known.probabilities(at, bins[:2])[:, 1]  # type: ignore[union-attr]
        drawn.append(np.diff(np.log(chance / (1 - chance)))[0] / 4)
    own = softmax(x, codes, 2, 0.1)
    spread = np.sqrt(np.linalg.inv(own.curvature)[1, 1])
    assert np.mean(drawn) == pytest.approx(-own.weights[1, 0], abs=4 * spread / np.sqrt(200))
