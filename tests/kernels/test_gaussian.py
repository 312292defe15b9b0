"""Gaussian rows with holes beside the textbook's conditional normals, one row at a time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.infer import gaussian
from lacunary.infer.gaussian import Forms, GaussianRows
from tests.campaign.exactness import check_model

Array = NDArray[np.float64]

ROUNDED = 1e-9
"""Covariances with condition numbers below 10⁴, solved for by two ways: a few units in the 12th digit."""


def normals(n: int, count: int, seed: int) -> tuple[Array, Array]:
    """Means and covariances of several normals, no two variables independent."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(count, n, 2 * n + 2))
    return rng.normal(size=(count, n)), roots @ np.swapaxes(roots, 1, 2) / (2 * n + 2)


def one_row(x: Array, mean: Array, covariance: Array) -> tuple[float, Array]:
    """The log-density of what is seen of a row, and E[z zᵀ] of z = (1, x)."""
    seen, holes = ~np.isnan(x), np.isnan(x)
    inner, away = covariance[np.ix_(seen, seen)], x[seen] - mean[seen]
    weights = np.linalg.solve(inner, away) if seen.any() else away
    log = -0.5 * (seen.sum() * np.log(2 * np.pi) + np.linalg.slogdet(inner)[1] + away @ weights)
    between = covariance[np.ix_(holes, seen)]
    z, second = np.insert(np.where(seen, x, 0.0), 0, 1.0), np.zeros((len(x) + 1, len(x) + 1))
    z[1:][holes] = mean[holes] + between @ weights
    left = covariance[np.ix_(holes, holes)] - between @ np.linalg.solve(inner, between.T)
    second[np.ix_(np.insert(holes, 0, False), np.insert(holes, 0, False))] = left
    return float(log), second + np.outer(z, z)


def rows_with_holes(n: int, rows: int, share: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, n))
    x[rng.random(x.shape) < share] = np.nan
    return x


@pytest.mark.parametrize(
    ("n", "rows", "share", "count"),
    [
        (1, 3, 0.5, 3),
        (3, 1, 0.4, 3),
        (5, 70, 0.0, 3),
        (7, 90, 0.3, 3),
        (8, 130, 0.7, 1),
        (17, 75, 0.2, 3),
        (6, 40, 0.5, 15),
        (17, 41, 0.6, 8),
        (2, 64, 0.0, 2),
        (30, 97, 0.0, 5),
        (30, 97, 0.5, 9),
    ],
)
def test_evidence_and_moments_are_those_of_conditional_normals(
    n: int, rows: int, share: float, count: int
) -> None:
    """Rows that fill no block, no lane and no pattern evenly; also rows that are all holes.

    So many densities are taken eight, four, two at a time and by themselves, as they come.
    """
    x, (mean, covariance) = rows_with_holes(n, rows, share, n), normals(n, count, n)
    kept = np.random.default_rng(2).random((rows, count)) < 0.8
    weights = np.random.default_rng(1).random((rows, count)) * kept
    known, forms = GaussianRows(x), Forms.normal(mean, covariance)
    expected = [[one_row(row, m, v) for m, v in zip(mean, covariance, strict=True)] for row in x]
    logs = np.array([[log for log, _ in row] for row in expected])
    np.testing.assert_allclose(known.log_evidence(forms), logs, rtol=ROUNDED, atol=ROUNDED)
    squares = np.array([[square for _, square in row] for row in expected])
    moments = np.einsum("rc,rcij->cij", weights, squares)
    np.testing.assert_allclose(known.moments(forms, weights), moments, rtol=ROUNDED, atol=ROUNDED * rows)


def test_moments_are_the_same_whether_or_not_densities_were_asked_for() -> None:
    """Means of holes are kept from one question for the other, for other groups of densities and rows."""
    x, (mean, covariance) = rows_with_holes(11, 150, 0.35, 2), normals(11, 8, 3)
    weights = np.random.default_rng(4).random((150, 8)) * (np.random.default_rng(5).random((150, 8)) < 0.3)
    forms, known = Forms.normal(mean, covariance), GaussianRows(x)
    known.log_evidence(forms)
    squares = np.array([[one_row(row, m, v)[1] for m, v in zip(mean, covariance, strict=True)] for row in x])
    expected = np.einsum("rc,rcij->cij", weights, squares)
    for rows in (known, GaussianRows(x)):
        np.testing.assert_allclose(rows.moments(forms, weights), expected, rtol=ROUNDED, atol=ROUNDED * 150)


def test_rows_without_holes_that_count_for_nothing_leave_no_trace() -> None:
    """Also where all of a density's rows do; several runs add up, of which the last is short."""
    rng, (mean, covariance) = np.random.default_rng(0), normals(9, 3, 2)
    x, weights = rng.normal(size=(9_000, 9)), rng.random((9_000, 3)) * (rng.random((9_000, 3)) < 0.2)
    weights[:, 1], weights[5, 2] = 0.0, 1e-60
    z = np.insert(x, 0, 1.0, axis=1)
    expected = np.einsum("rc,ri,rj->cij", weights, z, z)
    found = GaussianRows(x).moments(Forms.normal(mean, covariance), weights)
    # Sums of some 900 numbers of size one, in another order.
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)
    np.testing.assert_array_equal(found, np.swapaxes(found, 1, 2))


def test_nearly_singular_densities_of_rows_without_holes_keep_their_digits() -> None:
    """Columns on scales from 1e-6 to 1e6, two equal but for a millionth: residuals, never squares of x."""
    rng, scale = np.random.default_rng(1), np.array([1e-6, 1e-3, 1.0, 1e3, 1e6])
    root = np.tril(rng.normal(size=(2, 5, 5))) + 3.0 * np.eye(5)
    root[:, 4] = [0.0, 0.0, 0.0, -1e6, 1e6]
    forms = Forms(np.insert(root / scale, 0, rng.normal(size=(2, 5)), axis=2), np.zeros(2))
    x = rng.normal(size=(70, 5))
    x[:, 4] = x[:, 3] + 1e-6 * rng.normal(size=70)
    z = np.insert(x * scale, 0, 1.0, axis=1).astype(np.longdouble)
    residuals = np.einsum("cki,ri->rck", forms.root.astype(np.longdouble), z)
    expected = (-0.5 * (residuals**2).sum(axis=2)).astype(float)
    # The difference of two columns has lost six digits of sixteen before anything is asked here.
    np.testing.assert_allclose(GaussianRows(x * scale).log_evidence(forms), expected, rtol=1e-8, atol=1e-8)


def test_groups_of_columns_that_are_independent() -> None:
    """Each block of a root has numbers at places of its own, in each of the densities."""
    mean, covariance = normals(20, 3, 5)
    for each, cut in zip(covariance, ((8, 16), (4, 9), (2, 18)), strict=True):
        group = np.searchsorted(cut, np.arange(20), side="right")
        each[group[:, None] != group] = 0.0
    x = rows_with_holes(20, 21, 0.0, 6)
    expected = [[one_row(row, m, v)[0] for m, v in zip(mean, covariance, strict=True)] for row in x]
    found = GaussianRows(x).log_evidence(Forms.normal(mean, covariance))
    np.testing.assert_allclose(found, expected, rtol=ROUNDED, atol=ROUNDED)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_rows_with_one_pattern_after_the_other(count: int) -> None:
    """Factors that stand for many rows, then change within eight: patterns of 1 to 40 rows."""
    rng, (mean, covariance) = np.random.default_rng(0), normals(6, count, 0)
    x = rng.normal(size=(200, 6))
    shapes = rng.random((12, 6)) < 0.4
    x[shapes[np.repeat(np.arange(12), [40, 1, 3, 8, 16, 7, 9, 40, 2, 24, 33, 17])]] = np.nan
    weights, known, forms = rng.random((200, count)), GaussianRows(x), Forms.normal(mean, covariance)
    squares = [[one_row(row, m, v)[1] for m, v in zip(mean, covariance, strict=True)] for row in x]
    moments = np.einsum("rc,rcij->cij", weights, np.array(squares))
    np.testing.assert_allclose(known.moments(forms, weights), moments, rtol=ROUNDED, atol=ROUNDED)


@pytest.mark.parametrize("count", [1, 3, 9])
def test_rows_with_more_holes_than_cells_are_those_of_rows_with_fewer(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By observed cells, and by holes, which take no means and covariances; densities sum to e², not one."""
    x, (mean, covariance) = rows_with_holes(9, 80, 0.6, 1), normals(9, count, 7)
    normal, weights = Forms.normal(mean, covariance), np.random.default_rng(3).random((80, count))
    forms, known = Forms(normal.root, normal.constant + 2.0), GaussianRows(x)
    assert 0 < known.near < 70
    logs, moments = known.log_evidence(forms), known.moments(forms, weights)
    monkeypatch.setattr(gaussian.Conditioned, "_normal", None)
    other = GaussianRows(x)
    np.testing.assert_allclose(other.log_evidence(forms), logs, rtol=ROUNDED, atol=ROUNDED)
    np.testing.assert_allclose(other.moments(forms, weights), moments, rtol=ROUNDED, atol=ROUNDED)
    expected = [[one_row(row, m, v)[0] + 2.0 for m, v in zip(mean, covariance, strict=True)] for row in x]
    np.testing.assert_allclose(logs, expected, rtol=ROUNDED, atol=ROUNDED)


def test_densities_that_count_few_rows_are_parted() -> None:
    """Two densities count the same rows, the third others, five one; what is negligible leaves no trace."""
    x, (mean, covariance) = rows_with_holes(5, 120, 0.4, 3), normals(5, 8, 4)
    weights = np.full((120, 8), 1e-60)
    weights[:50, :2], weights[60:, 2], weights[3, 3:] = 0.5, 1.0, 1.0
    known, forms = GaussianRows(x), Forms.normal(mean, covariance)
    moments = np.zeros((8, 6, 6))
    for row, mine in zip(x, weights, strict=True):
        for c in np.flatnonzero(mine > 1e-30):
            moments[c] += mine[c] * one_row(row, mean[c], covariance[c])[1]
    np.testing.assert_allclose(known.moments(forms, weights), moments, rtol=ROUNDED, atol=ROUNDED)


def test_configurations_that_share_a_column_and_divide_the_rows() -> None:
    x, (mean, covariance) = rows_with_holes(4, 90, 0.3, 5), normals(4, 3, 1)
    owner = np.random.default_rng(0).integers(0, 3, 90)
    allowed = [np.flatnonzero(owner == c) for c in range(3)]
    known = GaussianRows(x, allowed, (np.zeros(3, dtype=np.int64), 1))
    forms, weights = Forms.normal(mean, covariance), np.random.default_rng(1).random((90, 1))
    expected = [one_row(row, mean[c], covariance[c]) for row, c in zip(x, owner, strict=True)]
    logs = np.array([log for log, _ in expected])
    np.testing.assert_allclose(known.log_evidence(forms)[:, 0], logs, rtol=ROUNDED, atol=ROUNDED)
    moments = np.zeros((3, 5, 5))
    for (_, square), c, weight in zip(expected, owner, weights[:, 0], strict=True):
        moments[c] += weight * square
    np.testing.assert_allclose(known.moments(forms, weights), moments, rtol=ROUNDED, atol=ROUNDED)


@pytest.mark.parametrize("count", [2, 9])
def test_blocks_that_lose_their_digits_are_decomposed(count: int) -> None:
    """x1 = x0 + noise of 1e-6: K_hh of both has a pivot of 1e-12, far below what its factor is trusted with.

    In the coordinates (x0, (x1 − x0) · 1e6, x2) everything is of size one; there the expected numbers are.
    """
    rng = np.random.default_rng(0)
    narrow, (mean, covariance) = 1e-6, normals(3, count, 3)
    turn = np.array([[1.0, 0.0, 0.0], [1.0, narrow, 0.0], [0.0, 0.0, 1.0]])
    lower = np.linalg.cholesky(covariance)
    centred = np.concatenate(
        [-(mean[:, :, None]), np.repeat(np.linalg.inv(turn)[None], count, axis=0)], axis=2
    )
    constant = (
        -1.5 * np.log(2 * np.pi) - np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1) - np.log(narrow)
    )
    forms = Forms(np.linalg.solve(lower, centred), constant)
    x = np.full((40, 3), np.nan)
    x[:, 2] = rng.normal(size=40)
    x[20:, 0] = rng.normal(size=20)
    known, weights = GaussianRows(x), rng.random((40, count))
    expected = [[one_row(row, m, v) for m, v in zip(mean, covariance, strict=True)] for row in x]
    logs = np.array([[log for log, _ in row] for row in expected])
    # R⁻¹ has entries of 10⁶ beside one; sixteen digits less six, twice over in a product.
    np.testing.assert_allclose(known.log_evidence(forms), logs, rtol=1e-7)
    wide = np.eye(4)
    wide[1:, 1:] = turn
    squares = np.array([[wide @ square @ wide.T for _, square in row] for row in expected])
    moments = np.einsum("rc,rcij->cij", weights, squares)
    np.testing.assert_allclose(known.moments(forms, weights), moments, rtol=1e-7, atol=1e-7)


def test_one_density_that_loses_its_digits_leaves_the_others_alone() -> None:
    """Of eight densities in lanes side by side the fourth is nearly singular."""
    x, (mean, covariance) = rows_with_holes(12, 60, 0.5, 8), normals(12, 8, 6)
    covariance[3] = 1.0 - 1e-12 + 1e-12 * np.eye(12)
    forms, weights = Forms.normal(mean, covariance), np.random.default_rng(0).random((60, 8))
    found = GaussianRows(x).moments(forms, weights)
    for c in (0, 1, 2, 4, 5, 6, 7):
        squares = [weights[r, c] * one_row(row, mean[c], covariance[c])[1] for r, row in enumerate(x)]
        np.testing.assert_allclose(found[c], np.sum(squares, axis=0), rtol=ROUNDED, atol=ROUNDED)
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("densities", [2, 8])
def test_the_same_bits_on_any_number_of_threads(densities: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "ALONE", 0)
    monkeypatch.setattr(gaussian, "TASK", 64)
    x, (mean, covariance) = rows_with_holes(6, 500, 0.4, 1), normals(6, densities, 2)
    forms, weights = Forms.normal(mean, covariance), np.random.default_rng(0).random((500, densities))
    found = []
    for count in (1, 2, 5):
        with lac.threads(count):
            known = GaussianRows(x)
            found.append((known.log_evidence(forms), known.moments(forms, weights)))
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])


def test_more_holes_than_one_block_of_rows() -> None:
    """Eleven holes in a row, and nine: inverses are made eight rows at a time, and the rest one by one."""
    names = [f"x{i}" for i in range(12)]
    graph = lac.dag("; ".join(f"{a} -> {b}" for a, b in pairwise(names)), kinds="continuous")
    network = lac.random_network(graph, rng=1)
    reals = network.sample(3, rng=1).reals.copy()
    reals[0, 1:], reals[1, 2:11] = np.nan, np.nan
    table = lac.read(dict(zip(names, reals.T, strict=True)), schema=graph.schema)
    assert check_model(network, table, 1, leaf=False) > 60
