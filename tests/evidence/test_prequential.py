"""Rows foretold one by one: the evidence in any order where nothing is missing, near it with holes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac

GRAPH = lac.dag("A -> B -> C", states=3)
ROWS = lac.random_network(GRAPH, rng=0).sample(25, rng=1)


@pytest.mark.parametrize("order", ["given", "random", list(range(24, -1, -1))])
def test_of_complete_rows_it_is_the_evidence_in_any_order(order: Any) -> None:
    found = lac.score(GRAPH, ROWS, "prequential", order=order)
    # A sum of 25 terms in place of log-gammas of the same size.
    assert found.value == pytest.approx(lac.score(GRAPH, ROWS, "exact").value, abs=1e-9)
    assert found.kind == "exact"


def test_each_row_is_foretold_by_those_before() -> None:
    coin = lac.dag("X", states=2)
    found = lac.score(coin, lac.Table(coin.schema, np.array([[0], [0], [1]])), "prequential", order=[2, 0, 1])
    # Laplace's rule: 1/2 for the third row, then 1/3 for the first, 2/4 for the second.
    assert np.exp(found.details["by_row"]) == pytest.approx([1 / 3, 1 / 2, 1 / 2])


def test_of_mixed_columns_it_is_the_evidence_in_their_units() -> None:
    graph = lac.dag(
        "A -> X; A -> N", kinds={"X": "continuous", "N": "continuous"}, family={"N": "poisson"}, states=2
    )
    drawn = lac.random_network(graph, rng=0).sample(12, rng=0)
    found = lac.score(graph, drawn, "prequential", order="random")
    assert found.value == pytest.approx(lac.score(graph, drawn, "exact").value, abs=1e-8)


def test_what_was_not_observed_so_far_keeps_no_row_from_being_learned() -> None:
    """Without C, or before it, rows are those of A -> B: complete, so that their forecasts are exact."""
    pair, codes = lac.dag("A -> B", states=3), np.array(ROWS.codes)
    first = lac.Table(pair.schema, codes[:, :2])
    for rows in (25, 15):
        late = codes.copy()
        late[:rows, 2] = -1
        found = lac.score(GRAPH, lac.Table(GRAPH.schema, late), "prequential").details["by_row"][:rows]
        wanted = lac.score(pair, first, "prequential").details["by_row"][:rows]
        assert found == pytest.approx(wanted, abs=1e-9)  # the same counts, by EM that has nothing to fill


def test_columns_of_numbers_that_begin_late_are_foretold_by_the_prior_or_refused() -> None:
    graph, pair = (lac.dag(arrows, kinds="continuous") for arrows in ("X -> Y -> Z", "X -> Y"))
    drawn = lac.random_network(graph, rng=0).sample(30, rng=0)
    prior = lac.empirical_prior(drawn)

    def late(column: int) -> lac.Table:
        reals = np.array(drawn.reals)
        reals[:15, column] = np.nan
        return lac.Table(graph.schema, drawn.codes, reals=reals)

    found = lac.score(graph, late(2), "prequential", prior=prior).details["by_row"][:15]
    two = lac.Table(pair.schema, drawn.codes[:, :2], reals=drawn.reals[:, :2])
    wanted = lac.score(pair, two, "prequential", prior=prior)
    # Nothing is missing but Z, which tells nothing: the same predictive densities, by another way of adding.
    assert found == pytest.approx(wanted.details["by_row"][:15], abs=1e-6)
    with pytest.raises(lac.NoEstimateError, match=r"Y is not observed in the first 10 rows.* order='random'"):
        lac.score(graph, late(1), "prequential", prior=prior)
    assert np.isfinite(lac.score(graph, late(1), "prequential", prior=prior, order="random").value)


def test_with_holes_it_is_near_the_evidence() -> None:
    graph = lac.dag("A -> B", states=2)
    holey = lac.make_holes(lac.random_network(graph, rng=3).sample(30, rng=3), 0.3, rng=4)
    truth = lac.score(graph, holey, "exact").value
    found = lac.score(graph, holey, "prequential")
    assert found.kind == "approximation"
    assert found.value == pytest.approx(truth, abs=1.0)  # some hundredths of a nat for each row with a hole
    rare = lac.score(graph, holey, "prequential", every=30)  # all rows foretold by the prior
    assert rare.value < found.value


@pytest.mark.parametrize(
    ("order", "what"), [("sorted", "'given', 'random' or row numbers"), ([0, 0, 1], "every row number")]
)
def test_orders_that_are_none_are_refused(order: Any, what: str) -> None:
    with pytest.raises(lac.ParameterError, match=what):
        lac.score(GRAPH, ROWS, "prequential", order=order)


def test_rows_that_count_otherwise_than_once_have_no_order() -> None:
    coin = lac.dag("X", states=2)
    with pytest.raises(lac.ParameterError, match=r"one by one.*'variational'"):
        lac.score(coin, lac.Table(coin.schema, np.array([[0]]), weights=np.array([2.0])), "prequential")
