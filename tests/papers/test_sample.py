from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import linregress

from lacunary.papers import blocks, error_of_mean, least_squares, minus, sweep
from tests.papers.counting import double


def test_the_error_of_a_mean() -> None:
    assert error_of_mean([1.0, 2.0, 3.0, 6.0]) == pytest.approx(np.sqrt(14 / 3 / 4))
    assert error_of_mean([5.0]) == 0.0


def test_a_line_is_that_of_scipy() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 12))
    ours, theirs = least_squares(x, y), linregress(x, y)
    assert ours.value == pytest.approx(theirs.slope)
    assert ours.error == pytest.approx(theirs.stderr)
    assert str(ours._replace(value=-0.5, error=0.25)) == "\N{MINUS SIGN}0.50 ± 0.25"


def test_sweeps_take_every_combination_the_last_fastest() -> None:
    units = list(sweep(double, {"same": 0}, a=(1, 2), b="xy"))
    assert [(u.arguments["a"], u.arguments["b"]) for u in units] == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert all(u.arguments["same"] == 0 for u in units)


def test_blocks_cover_what_is_left() -> None:
    assert [u.arguments["first"] for u in blocks(double, {}, 5, 12)] == [0, 5, 10]
    assert [u.arguments["first"] for u in blocks(double, {}, 5, 10, first=5)] == [5]


def test_minus_signs_are_true_ones() -> None:
    assert minus("-1 to -2") == "\N{MINUS SIGN}1 to \N{MINUS SIGN}2"
