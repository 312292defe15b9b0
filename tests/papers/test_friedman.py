"""Friedman's test and Tukey's difference, against SciPy and printed numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from lacunary.errors import ParameterError
from lacunary.papers.ent.judgement import friedman

ROUNDING_FIRST_BASE = """
5.40 5.50 5.55  5.85 5.70 5.75  5.20 5.60 5.50  5.55 5.50 5.40  5.90 5.85 5.70  5.45 5.55 5.60
5.40 5.40 5.35  5.45 5.50 5.35  5.25 5.15 5.00  5.85 5.80 5.70  5.25 5.20 5.10  5.65 5.55 5.45
5.60 5.35 5.45  5.05 5.00 4.95  5.50 5.50 5.40  5.45 5.55 5.50  5.55 5.55 5.35  5.45 5.50 5.55
5.50 5.45 5.25  5.65 5.60 5.40  5.70 5.65 5.55  6.30 6.30 6.25
"""
"""Hollander & Wolfe 1973, table 7.1: 22 players, three ways to round first base, in seconds.

The data also illustrate R's ``friedman.test``, whose manual prints χ² = 11.143, p = 0.003805.
"""


def players() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(ROUNDING_FIRST_BASE.split(), dtype=np.float64).reshape(22, 3)


def test_the_textbook_example() -> None:
    found = friedman(players(), level=0.05)
    assert found.statistic == pytest.approx(11.143, abs=5e-4)  # as printed
    assert found.p_value == pytest.approx(0.003805, abs=5e-7)  # as printed
    np.testing.assert_allclose(found.ranks * 22, [53, 47, 32])  # rank sums, by hand
    assert found.significant
    # Wide angle (2) beats round out (0): 21/22 > 3.314 √(1/22) = 0.707; narrow angle (1) is between.
    assert found.better(2, 0)
    assert not found.better(2, 1)
    assert not found.better(1, 0)


@pytest.mark.parametrize(
    ("methods", "level", "quantile"),
    # Upper quantiles of the studentised range, infinitely many degrees of freedom, as in every table
    # (Harter 1960): two decimals or more are printed.
    [(2, 0.05, 2.772), (3, 0.05, 3.314), (4, 0.05, 3.633), (3, 0.01, 4.120), (5, 0.01, 4.603)],
)
def test_the_difference_without_ties(methods: int, level: float, quantile: float) -> None:
    values = np.array([np.random.default_rng(i).permutation(methods) for i in range(30)])
    expected = quantile * np.sqrt(methods * (methods + 1) / 12 / 30)
    assert friedman(values, level=level).difference == pytest.approx(expected, rel=3e-4)


@pytest.mark.parametrize("states", [3, 1000])
def test_scipy_agrees_with_and_without_ties(states: int) -> None:
    values = np.random.default_rng(0).integers(0, states, (40, 4)).astype(float)
    expected = friedmanchisquare(*values.T)
    found = friedman(values)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)  # the same few sums
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_places_are_shared_by_those_that_do_not_differ() -> None:
    rng = np.random.default_rng(0)
    level = np.array([5.0, 0.0, 5.0, 9.0])
    found = friedman(level + rng.normal(size=(100, 4)))
    assert [set(place) for place in found.places] == [{1}, {0, 2}, {3}]


def test_ties_infinities_and_nothing_at_all() -> None:
    found = friedman([[1.0, 2.0, 2.0], [1.0, np.inf, np.inf], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(found.ranks, [1.0, 2.5, 2.5])
    equal = friedman(np.ones((5, 3)))
    assert equal.p_value == 1.0
    assert equal.places == ((0, 1, 2),)


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(ParameterError, match="two experiments by two methods"):
        friedman([[1.0, 2.0]])
    with pytest.raises(ParameterError, match="NaN"):
        friedman([[1.0, np.nan], [1.0, 2.0]])
    with pytest.raises(ParameterError, match="level"):
        friedman([[1.0, 2.0], [1.0, 2.0]], level=1.0)
