"""Searches over Gaussian and mixed networks find what made the rows, and what the best graph is."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.maths.moments import moments
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.structure.conditional_gaussian import ConditionalGaussian
from lacunary.structure.gaussian import BGe, GaussianBIC
from lacunary.structure.score import total


def table_of(values: NDArray[np.float64]) -> lac.Table:
    names = [f"x{i}" for i in range(values.shape[1])]
    return lac.read(dict(zip(names, values.T, strict=True)), kinds="continuous")


def network(seed: int, variables: int, rows: int) -> tuple[lac.Dag, lac.Table]:
    """A random graph with coefficients ±1 and unit noise, and rows of it."""
    rng = np.random.default_rng(seed)
    values, parents = np.zeros((rows, variables)), []
    for child in range(variables):
        chosen = rng.permutation(child)[: int(rng.integers(3))]
        parents.append(tuple(f"x{p}" for p in sorted(chosen)))
        values[:, child] = values[:, chosen] @ rng.choice([-1.0, 1.0], len(chosen)) + rng.normal(size=rows)
    table = table_of(values)
    return lac.Dag(table.schema, tuple(parents)), table


@pytest.mark.parametrize("score", ["bge", "bic"])
def test_the_exact_search_finds_the_graph_that_made_the_rows(score: str) -> None:
    """With 5 000 rows and signals as strong as noise, its equivalence class is the best by far."""
    truth, table = network(1, 7, 5_000)
    exact = lac.search(table, score=score, method="exact")
    assert lac.equivalent(exact.dag, truth)
    for method in ("greedy", "tabu"):
        assert lac.search(table, score=score, method=method).score <= exact.score + 1e-8
    family_score = BGe.of(table) if score == "bge" else GaussianBIC.of(table)
    expected = total(family_score, truth.parent_indices)
    # The score of the graph, and of one equivalent to it; sums of terms of size 1e4.
    assert exact.score == pytest.approx(expected, abs=1e-7)


def test_the_best_score_of_a_search_is_that_of_its_graph() -> None:
    _, table = network(2, 12, 300)
    found = lac.search(table, method="tabu")
    assert found.score == pytest.approx(total(BGe.of(table), found.dag.parent_indices), abs=1e-7)


def test_units_and_order_of_columns_do_not_matter() -> None:
    """Each column in its own units, or the columns turned about: the same graph, the score but for units."""
    _, table = network(3, 6, 400)
    scale, shift = np.array([1e-3, 1.0, 50.0, 1e4, 0.2, 3.0]), np.arange(6.0) * 1e3
    values = table.reals * scale + shift
    first = lac.search(table, method="exact")
    units = lac.search(table_of(values), method="exact")
    turned = lac.search(table.select(table.schema.names[::-1]), method="exact")
    # The exact search breaks ties between equivalent graphs as it likes.
    assert lac.equivalent(units.dag, first.dag)
    assert units.score == pytest.approx(first.score - 400 * np.log(scale).sum(), abs=1e-6)
    assert turned.score == pytest.approx(first.score, abs=1e-7)


def test_a_mixed_table_is_searched_by_its_kinds() -> None:
    """A state that moves a mean and a slope is found to do so."""
    rng = np.random.default_rng(4)
    state, other = rng.integers(2, size=2_000), rng.integers(3, size=2_000)
    x = rng.normal(size=2_000)
    y = np.where(state == 1, 2 * x + 1, -x) + rng.normal(size=2_000)
    kinds = {"s": "discrete", "o": "discrete", "x": "continuous", "y": "continuous"}
    table = lac.read({"s": state, "o": other, "x": x, "y": y}, kinds=kinds)  # type: ignore[arg-type]
    for score in (None, "bic"):
        found = lac.search(table, score=score)
        assert set(found.dag.arcs) == {("s", "y"), ("x", "y")}
    assert lac.search(table).score == pytest.approx(
        total(ConditionalGaussian.of(table), [(), (), (), (0, 2)]), abs=1e-7
    )
    with pytest.raises(lac.GraphError):
        lac.search(table, required="y -> s")


def test_expected_moments_are_searched_as_rows_are() -> None:
    """Two weighted halves of the rows add up to what the table says (structural EM, mixtures)."""
    _, table = network(5, 8, 500)
    share = np.random.default_rng(5).uniform(size=500)
    both = moments(table.reals, np.column_stack([share, 1 - share]))
    prior = NormalWishart.about(table.reals.mean(axis=0), table.reals.var(axis=0))
    one = lac.search(table, score=BGe(both.sum(axis=0), prior))
    assert one.score == pytest.approx(lac.search(table, prior=lac.NormalWishart(nu=1)).score, abs=1e-6)
