"""The prior that a table suggests: residual covariance, weight of means, groups and clusters."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.infer.empirical import stated

Array = NDArray[np.float64]


def table_of(values: Array, label: NDArray[np.int64] | None = None) -> lac.Table:
    columns = {f"x{i}": column for i, column in enumerate(values.T)}
    head = {} if label is None else {"label": np.array(list("abcdef"))[label]}
    kinds: dict[str, Literal["discrete", "continuous"]] = dict.fromkeys(columns, "continuous")
    return lac.read({**head, **columns}, kinds=kinds)


def correlated(rows: int, n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=(rows, n)) @ rng.normal(size=(n, n)) + rng.normal(3.0, 5.0, n))


def test_without_groups_it_is_the_rows_own_correlation() -> None:
    values = correlated(100, 4, 0)
    prior = lac.empirical_prior(table_of(values))
    assert prior.nu == 1.0
    # The share moved to independence is (4/99)⁸ < 1e-10, or the least, 1e-8; one row's worth in a variance
    # is its own: (100 + 1)/101.
    assert prior.shape == pytest.approx(np.corrcoef(values.T), abs=1e-7)
    about = prior.about(["x2", "x0", "new"])
    assert about.alpha == 4.0
    assert about.tau[0, 1] == pytest.approx(0.3 * np.asarray(np.corrcoef(values.T))[2, 0], abs=1e-7)
    assert about.tau[2] == pytest.approx([0.0, 0.0, 0.3])


def test_where_rows_are_few_it_has_no_correlations() -> None:
    prior = lac.empirical_prior(table_of(correlated(5, 8, 1)))
    assert prior.shape == pytest.approx(np.diag(np.diagonal(prior.shape)), abs=1e-12)


def test_within_groups_precisions_are_averaged() -> None:
    rng = np.random.default_rng(2)
    label = np.repeat([0, 1], [200, 300])
    values = np.where(label == 0, 0.0, 40.0)[:, None] + np.where(label == 0, 0.1, 2.0)[:, None] * rng.normal(
        size=(500, 2)
    )
    table = table_of(values, label)
    prior = lac.empirical_prior(table)
    assert prior.groups == ("label",)
    z = (values - values.mean(axis=0)) / values.std(axis=0)
    groups = [z[label == g] for g in (0, 1)]
    pooled = sum(((g - g.mean(axis=0)) ** 2).sum(axis=0) for g in groups) / 500
    lent = [5 / len(g) for g in groups]
    each = [(len(g) * g.var(axis=0) + c * pooled) / (len(g) + c) for c, g in zip(lent, groups, strict=True)]
    harmonic = 1.0 / (0.4 / each[0] + 0.6 / each[1])
    assert np.diagonal(prior.shape) == pytest.approx(harmonic, rel=1e-9)
    apart = 0.4 * groups[0].mean(axis=0) ** 2 / each[0] + 0.6 * groups[1].mean(axis=0) ** 2 / each[1]
    assert prior.nu == pytest.approx(1.0 / apart.max(), rel=1e-9)


def test_a_column_that_tells_nothing_is_no_group() -> None:
    rng = np.random.default_rng(3)
    assert lac.empirical_prior(table_of(correlated(300, 3, 3), rng.integers(0, 3, 300))).groups == ()


def test_parts_give_what_the_whole_gives() -> None:
    rng = np.random.default_rng(4)
    label = rng.integers(0, 3, 120)
    table = lac.make_holes(table_of(correlated(120, 3, 4) + 9.0 * label[:, None], label), 0.2, rng=0)
    parts = lac.Partitioned([table[:50], table[50:70], table[70:]])
    one, other = lac.empirical_prior(table), lac.empirical_prior(parts)
    assert one.groups == other.groups
    assert one.shape == pytest.approx(other.shape, abs=1e-12)  # sums in another order
    assert one.nu == pytest.approx(other.nu, rel=1e-12)


def test_with_holes_it_is_positive_definite_and_compares_pair_by_pair() -> None:
    values = correlated(60, 6, 5)
    holes = np.random.default_rng(5).random(values.shape) < 0.6
    prior = lac.empirical_prior(table_of(np.where(holes, np.nan, values)))
    assert np.linalg.eigvalsh(prior.shape)[0] > 0
    two = np.where(holes[:, :2], np.nan, values[:, :2])
    shown = ~np.isnan(two).any(axis=1)
    gaps = (two - np.nanmean(two, axis=0))[shown]
    found = lac.empirical_prior(table_of(two)).shape[0, 1]
    expected = (gaps[:, 0] @ gaps[:, 1]) / np.sqrt((gaps**2).sum(axis=0).prod())
    rows = np.array([[(~np.isnan(two[:, [i, j]])).all(axis=1).sum() for i in (0, 1)] for j in (0, 1)])
    assert found == pytest.approx((1 - (2 / (rows.mean() - 1)) ** 8) * expected, abs=1e-7)


def test_equivalent_graphs_score_alike_and_search_says_what_score_says() -> None:
    label = np.repeat([0, 1], 40)
    table = table_of(correlated(80, 3, 6) * np.where(label == 0, 1.0, 3.0)[:, None], label)
    graphs = ("label -> x0 x1; x0 -> x1; x2", "label -> x0 x1; x1 -> x0; x2")
    one, other = (lac.score(graph, table, "exact").value for graph in graphs)
    assert one == pytest.approx(other, abs=1e-8)
    found = lac.search(table)
    assert isinstance(found.prior, lac.Empirical)
    assert "residual covariance" in str(found.prior)
    assert found.score == pytest.approx(
        lac.score(found.dag, table, "exact", prior=found.prior).value, abs=1e-7
    )
    assert found.score == pytest.approx(
        lac.score(found.dag, table, "exact", prior=lac.bdeu(1)).value, abs=1e-7
    )


def test_deviations_of_observed_classes_are_those_of_the_sample() -> None:
    rng = np.random.default_rng(7)
    label = np.repeat([0, 1, 2], 250)
    scale = np.array([0.1, 1.0, 2.0])[label][:, None]
    values = 10.0 * rng.normal(size=(3, 4))[label] + scale * rng.normal(size=(750, 4))
    table = table_of(values, label)
    network = lac.fit("label -> x0 x1 x2 x3", table).network
    for i in range(4):
        fitted = np.sqrt(network.parameters_of(f"x{i}").variance)
        sample = [values[label == g, i].std() for g in range(3)]
        assert fitted == pytest.approx(sample, rel=0.03)  # what is promised


def test_where_classes_are_hidden_residuals_are_those_within_clusters() -> None:
    rng = np.random.default_rng(8)
    centre = np.array([[0.0, 0.0], [60.0, 0.0], [0.0, 60.0]])[np.repeat([0, 1, 2], 80)]
    table = table_of(centre + rng.normal(size=(240, 2)))
    prior = stated(None, table, clusters=True)
    assert prior.clusters == 3
    within = np.diagonal(prior.shape) * np.var(centre, axis=0)
    assert within == pytest.approx([1.0, 1.0], rel=0.3)  # 240 rows: a variance is known to 10 %
    assert prior.nu < 0.01


def test_what_is_given_stays() -> None:
    table = table_of(correlated(40, 2, 9))
    for prior in (lac.NormalWishart(nu=1), lac.NormalWishart(nu=2, means=0, covariance=1)):
        assert stated(prior, table) is prior
    found = lac.fit("x0 -> x1", table, prior=lac.NormalWishart(nu=1))
    assert not isinstance(found.prior, lac.Empirical)


def test_a_column_with_one_value_a_group_keeps_its_own_variance() -> None:
    """Nothing is left within groups of one: that is no noise of zero, but no word about noise."""
    rng = np.random.default_rng(5)
    label = np.repeat(["a", "b", "c", "d"], 20)
    x = rng.normal(size=80) + np.repeat([0.0, 20.0, 40.0, 60.0], 20)
    y = np.full(80, np.nan)
    y[[0, 20, 40, 60]] = rng.normal(size=4)
    prior = lac.empirical_prior({"label": label, "x": x, "y": y}, groups=["label"])
    # The lone values lean by one row on the column's variance, so they have half of it; those of x have own.
    assert prior.shape[1, 1] == pytest.approx(0.5)
    assert prior.shape[0, 0] < 0.01
