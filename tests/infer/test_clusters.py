"""Clusters that tell the variance within groups from that between them, where groups are not known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_normal, norm

import lacunary as lac
from lacunary.infer.clusters import Clusters, Rows, clustered
from lacunary.infer.empirical import stated

Array = NDArray[np.float64]


def groups(many: int, n: int, rows: int, seed: int, apart: float = 3.0) -> tuple[Array, NDArray[np.int64]]:
    """Return rows of groups with covariances of their own, in no order, and the group of each."""
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.repeat(np.arange(many), rows))
    turn = np.tril(rng.normal(0.0, 0.5, (many, n, n)), -1) + np.eye(n)
    x = np.einsum("rij,rj->ri", turn[owner], rng.normal(size=(len(owner), n)))
    return x + rng.normal(0.0, apart, (many, n))[owner], owner


def holed(x: Array, seed: int = 0) -> Array:
    return np.where(np.random.default_rng(seed).random(x.shape) < 0.25, np.nan, x)


def alike(found: NDArray[np.int64], owner: NDArray[np.int64]) -> float:
    """Return the part of rows that are with most others of their group."""
    shared = [np.bincount(owner[found == c]).max() for c in np.unique(found)]
    return float(sum(shared) / len(owner))


@pytest.mark.parametrize("holes", [False, True])
def test_groups_of_many_correlated_variables_are_found(holes: bool) -> None:
    """A hundred rows of 20 variables each: the widest axis of the table is not that between the groups."""
    x, owner = groups(2, 20, 100, 1)
    cells = holed(x) if holes else x
    found = clustered((cells - x.mean(axis=0)) / x.std(axis=0), np.ones(len(x)))
    assert found is not None
    assert len(found) == 2
    assert alike(found.owners((cells - x.mean(axis=0)) / x.std(axis=0)), owner) > 0.98


def test_what_does_not_fall_apart_is_one() -> None:
    x, _ = groups(1, 6, 300, 2)
    assert clustered((x - x.mean(axis=0)) / x.std(axis=0), np.ones(len(x))) is None


def test_wide_tables_have_clusters_without_correlations() -> None:
    x, owner = groups(3, 70, 40, 3)
    points = (x - x.mean(axis=0)) / x.std(axis=0)
    found = clustered(points, np.ones(len(x)))
    assert found is not None
    assert found.independent
    assert alike(found.owners(points), owner) == 1.0


@pytest.mark.parametrize("correlated", [True, False])
def test_log_densities_are_those_of_what_a_row_shows(correlated: bool) -> None:
    x = holed(groups(2, 3, 10, 4)[0])
    mean, covariance = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, -1.0]]), np.array([np.eye(3), 2.0 * np.eye(3)])
    covariance[:, 0, 1] = covariance[:, 1, 0] = 0.5 * correlated
    share = np.log([0.3, 0.7])
    spread = covariance if correlated else np.diagonal(covariance, axis1=1, axis2=2)
    logs = Clusters(share, mean, spread).logs(Rows(x))
    for row, said in zip(x, logs, strict=True):
        seen = ~np.isnan(row)
        for c in range(2):
            part = covariance[c][np.ix_(seen, seen)]
            density = multivariate_normal(mean[c][seen], part).logpdf(row[seen]) if seen.any() else 0.0
            assert said[c] == pytest.approx(share[c] + float(density), rel=1e-9)


def test_the_prior_of_a_mixture_has_the_covariance_within_groups() -> None:
    """Precisions are averaged over groups; those of the groups that rows were drawn from are the measure."""
    x, owner = groups(3, 8, 150, 5)
    table = lac.read({f"x{i}": column for i, column in enumerate(x.T)}, kinds="continuous")
    prior = stated(None, table, clusters=True)
    assert prior.clusters == 3
    variance = np.array([x[owner == g].var(axis=0) for g in range(3)])
    within = 1.0 / (1.0 / variance).mean(axis=0)
    # A row or two of 150 may be taken for another group's, and variances lean on all by 1/30 row.
    assert np.diagonal(prior.shape) * x.var(axis=0) == pytest.approx(within, rel=0.02)


def test_rows_that_count_twice_are_two_rows() -> None:
    x, _ = groups(2, 3, 60, 6)
    points = (x - x.mean(axis=0)) / x.std(axis=0)
    one, two = clustered(np.repeat(points, 2, axis=0), np.ones(240)), clustered(points, np.full(120, 2.0))
    assert one is not None
    assert two is not None
    order = [np.argsort(found.mean[:, 0]) for found in (one, two)]
    np.testing.assert_allclose(one.mean[order[0]], two.mean[order[1]], atol=0.02)  # EM ends within a nat


def test_discrete_columns_come_first() -> None:
    """What a label tells already is no cluster: only what is left within its groups may be."""
    x, owner = groups(3, 4, 100, 7, apart=10.0)
    columns = {f"x{i}": column for i, column in enumerate(x.T)}
    prior = stated(None, lac.read({"label": np.array(list("abc"))[owner], **columns}), clusters=True)
    assert prior.groups == ("label",)
    assert prior.clusters == 1


def test_one_column_has_clusters_too() -> None:
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.normal(-3.0, 0.5, 100), rng.normal(3.0, 0.5, 100)])[:, None]
    found = clustered(x / x.std(), np.ones(200))
    assert found is not None
    np.testing.assert_allclose(np.sort(found.mean[:, 0]) * x.std(), [-3.0, 3.0], atol=4 * 0.5 / 10)
    likely = norm(found.mean[0, 0], np.sqrt(found.covariance[0].ravel()[0])).logpdf(1.0)
    logs = found.logs(Rows(np.ones((1, 1))))[0, 0]
    assert logs == pytest.approx(float(likely) + found.log_share[0])


@pytest.mark.parametrize("weight", [1.0, 1e9])
def test_columns_that_repeat_or_hardly_vary_are_no_trouble(weight: float) -> None:
    x, _ = groups(2, 3, 40, 9)
    side = np.sign(x[:, :1])
    cells = np.column_stack([x, x[:, 0], side, -side, np.zeros(80), 1e-9 * x[:, 1]])
    spread = np.where(cells.std(axis=0) > 1e-6, cells.std(axis=0), 1.0)
    found = clustered((cells - cells.mean(axis=0)) / spread, np.full(80, weight))
    assert found is not None
    assert np.all(np.isfinite(found.logs(Rows(cells))))


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_few_rows_are_one_cluster(rows: int) -> None:
    assert clustered(np.arange(2.0 * rows).reshape(rows, 2), np.ones(rows)) is None
