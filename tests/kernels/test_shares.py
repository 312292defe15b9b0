"""Exponentials, logarithms and shares beside those of longer numbers, on any processor."""

from __future__ import annotations

import numpy as np
import pytest

from lacunary.kernels.compile import bare
from lacunary.kernels.shares import ROWS, exponentials, logarithms, share_out

LAST_PLACES = 2.0
"""Units in the last place: each step of a series rounds, and those before the last hardly count."""


@bare
def exponentials_of(values: np.ndarray) -> None:
    exponentials(values, 0, len(values) // 8)


@bare
def logarithms_of(values: np.ndarray) -> None:
    logarithms(values, 0, len(values) // 8)


def long(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.longdouble)


def test_exponentials_are_right_to_the_last_places() -> None:
    rng = np.random.default_rng(0)
    parts = [
        -707.0 * rng.random(4000),
        -rng.random(4000),
        700.0 * rng.random(400),
        -(10.0 ** -rng.random(400)),
    ]
    x = np.concatenate([*parts, [0.0, -0.0, -708.0, np.log(2.0) / 2, -np.log(2.0) / 2, 1.0, -1.0, 1e-300]])
    found = x.copy()
    exponentials_of(found)
    expected = np.exp(long(x))
    assert np.abs((found - expected) / np.spacing(expected.astype(np.float64))).max() < LAST_PLACES


def test_what_is_tiny_has_no_exponential_and_nan_stays() -> None:
    found = np.array([-708.5, -1e300, -np.inf, np.nan, 0.0, -745.0, -709.0, np.nan])
    exponentials_of(found)
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.0, np.nan, 1.0, 0.0, 0.0, np.nan])


def test_logarithms_are_right_to_the_last_places() -> None:
    rng = np.random.default_rng(1)
    parts = [
        1.0 + rng.random(4000),
        1.0 + 10.0 ** (-16.0 * rng.random(2000)),
        10.0 ** rng.uniform(-9, 9, 2000),
    ]
    x = np.concatenate([*parts, [1.0, 2.0, 0.5, 1.0 + 2.0**-52, 3.0, 1.0 - 2.0**-53, 8.0, np.sqrt(0.5)]])
    found = x.copy()
    logarithms_of(found)
    expected = np.log(long(x))
    assert np.abs(found - expected).max() < LAST_PLACES * np.spacing(
        np.abs(expected).max().astype(np.float64)
    )
    off = np.abs(found - expected) / np.spacing(np.abs(expected).astype(np.float64))
    assert off.max() < LAST_PLACES + 1.0  # m − 1 over m + 1 rounds once more


@pytest.mark.parametrize(("many", "rows"), [(1, 5), (3, 64), (5, 203), (17, 130)])
def test_shares_are_probabilities_and_rows_their_sums(many: int, rows: int) -> None:
    """Blocks that are not full; components that a row excludes; a row that all exclude."""
    rng = np.random.default_rng(many)
    logs, added = 300.0 * rng.normal(size=(many, rows)), np.log(rng.dirichlet(np.ones(many)))
    logs[rng.integers(many), 1] = -np.inf
    logs[:, 3] = -np.inf
    shares, told = np.empty((many, rows)), np.empty(rows)
    share_out(logs, added, 0, rows, np.empty(3 * ROWS), shares, told)
    summed = long(logs) + long(added)[:, None]
    top = summed.max(axis=0)
    known = np.isfinite(top)
    assert not known[3]
    odds = np.exp(summed[:, known] - top[known])
    # Shares and logs of size one; log-densities of some hundreds have rounded when weights were added.
    np.testing.assert_allclose(
        shares[:, known], (odds / odds.sum(axis=0)).astype(float), rtol=1e-12, atol=1e-300
    )
    expected = (top[known] + np.log(odds.sum(axis=0))).astype(float)
    np.testing.assert_allclose(told[known], expected, rtol=1e-15, atol=1e-13)
    np.testing.assert_array_equal(shares[:, ~known], 1.0 / many)
    np.testing.assert_array_equal(told[~known], -np.inf)


def test_rows_are_shared_out_where_they_lie() -> None:
    """Shares may replace the log-densities they come from; runs of rows are shared out in any order."""
    logs, added = np.random.default_rng(0).normal(size=(4, 200)), np.zeros(4)
    whole, told, room = np.empty((4, 200)), np.empty(200), np.empty(3 * ROWS)
    share_out(logs, added, 0, 200, room, whole, told)
    own, again = logs.copy(), np.empty(200)
    share_out(own, added, 100, 200, room, own, again)
    share_out(own, added, 0, 100, room, own, again)
    np.testing.assert_array_equal(own, whole)
    np.testing.assert_array_equal(again, told)
