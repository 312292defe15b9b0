"""Bounds over boxes, against points in them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lacunary.learn.em import maximize_rule
from lacunary.learn.interval_bounds import SMALLEST, IntervalBounds
from lacunary.learn.monomials import write_out
from lacunary.model.make import dag as make_dag
from tests.learn.small import Small, bn1, with_holes

Array = NDArray[np.float64]

PROBLEMS = {
    "bn1": bn1(100, 1),
    "hidden": with_holes(make_dag("H -> X Y Z", states=2, hidden=["H"]), 60, 0.0, 2),
    "holes": with_holes(make_dag("A -> B -> C; A -> C", states=3), 30, 0.5, 3),
}


def bounder(problem: Small) -> IntervalBounds:
    rule = maximize_rule(problem.belief, "map", "softmax", problem.fixed)
    parts = [part for part in write_out(problem.prepared, rule).parts() if len(part.weight)]
    return IntervalBounds(max(parts, key=lambda part: len(part.places)))


def draw(bounds: IntervalBounds, count: int, rng: np.random.Generator) -> Array:
    raw = rng.standard_gamma(0.7, size=(count, len(bounds.sums.places))) + 1e-9
    return np.asarray(raw / bounds.total(raw))


def around(points: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Boxes of all widths that hold the points."""
    width = 10.0 ** rng.uniform(-4, 0, size=(len(points), 1))
    low = np.maximum(points - width * rng.random(points.shape), SMALLEST)
    return low, np.minimum(points + width * rng.random(points.shape), 1.0)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_bounds_are_above_every_point(problem: Small) -> None:
    rng, bounds = np.random.default_rng(0), bounder(problem)
    points = draw(bounds, 2000, rng)
    low, high = around(points, rng)
    value = bounds.value(points)
    slack = 1e-10 * np.abs(value)  # rounding in sums of logarithms
    upper, theta, excess = bounds.roof(low, high)
    assert np.all(upper >= value - slack)
    assert np.all(bounds.lid(low, high) >= value - slack)
    assert np.all(excess >= -slack[:, None])
    assert np.all((theta >= low) & (theta <= high))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_bounds_close_with_the_square_of_the_width(problem: Small) -> None:
    """What makes branch and bound end: halving a box quarters the excess, here from 1e-2 to 1e-3."""
    rng, bounds = np.random.default_rng(1), bounder(problem)
    point = np.maximum(draw(bounds, 1, rng), 0.1)
    point /= bounds.total(point)
    gaps = []
    for width in (1e-2, 1e-3):
        low, high = point - width / 2, point + width / 2
        upper, theta, _ = bounds.roof(low, high)
        gaps.append(float(upper[0] - bounds.value(theta)[0]))
    assert gaps[1] < gaps[0] / 50  # a hundred, up to higher orders


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_contraction_keeps_the_points_that_em_does_not_move(problem: Small) -> None:
    rng, bounds = np.random.default_rng(2), bounder(problem)
    peaks = np.array([bounds.climb(start) for start in draw(bounds, 20, rng)])
    counts = bounds.counts(peaks)
    assert counts / bounds.total(counts) == pytest.approx(peaks, abs=1e-6)  # they are fixed points
    peaks = np.repeat(peaks, 20, axis=0)
    low, high = around(peaks, rng)
    narrow_low, narrow_high, possible = bounds.contract(low, high)
    assert possible.all()
    # A climb ends where it gains nothing any more: within the square root of rounding of the fixed point.
    assert np.all(narrow_low <= peaks + 1e-6)
    assert np.all(narrow_high >= peaks - 1e-6)
    assert np.mean(narrow_high - narrow_low) < 0.9 * np.mean(high - low)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_concave_boxes_lie_under_their_tangents(problem: Small) -> None:
    rng, bounds = np.random.default_rng(3), bounder(problem)
    peak = bounds.climb(draw(bounds, 1, rng)[0])
    points = np.repeat(peak[None], 100, axis=0)
    low, high = around(points, rng)
    concave = bounds.concave(low, high)
    assert concave.any()
    assert not concave.all()
    low, high = low[concave], high[concave]
    inside = np.clip(draw(bounds, len(low), rng), low, high)
    inside = bounds.fill(inside, low, high)[0]  # within the box, and summing to one
    inside /= bounds.total(inside)
    other = bounds.fill(np.clip(draw(bounds, len(low), rng), low, high), low, high)[0]
    other /= bounds.total(other)
    slack = 1e-9 * np.abs(bounds.value(inside))  # rounding
    assert np.all(bounds.tangent(inside, low, high) >= bounds.value(other) - slack)
    chord = (bounds.value(inside) + bounds.value(other)) / 2
    assert np.all(bounds.value((inside + other) / 2) >= chord - slack)


def test_two_modes_are_not_called_concave() -> None:
    """Hidden states can be exchanged: a box with a maximum and its mirror image holds a saddle between."""
    bounds = bounder(PROBLEMS["hidden"])
    size = len(bounds.sums.places)
    assert not bounds.concave(np.full((1, size), 1e-3), np.full((1, size), 1 - 1e-3)).any()
