"""The E-step as callers see it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError, SchemaError
from lacunary.infer.expect import expect
from lacunary.infer.network import Network, random_network
from lacunary.model.make import dag
from tests import naive
from tests.strategies import Case, cases


@given(cases())
def test_expect(case: Case) -> None:
    network, table = case
    stats = expect(network, table)
    wanted = naive.expected_counts(network, table)
    for name in network.dag.names:
        # Sums of positive products, rounded in their last digits.
        np.testing.assert_allclose(stats.table(name), wanted[name], rtol=1e-10)
    assert stats.weight == pytest.approx(float(table.weights.sum()), rel=1e-14)
    assert stats.log_likelihood == pytest.approx(
        naive.log_likelihood(network, table), rel=1e-10, abs=1e-12 * (1 + table.size)
    )


def test_columns_are_matched_by_name() -> None:
    graph = dag("A -> B; H -> A", states={"A": ["x", "y"]}, hidden=["H"])
    network = random_network(graph, rng=1)
    frame = {"B": [0, None, 1], "other": [1, 2, 3], "A": ["y", "x", None]}
    codes = np.array([[1, 0, HOLE], [0, HOLE, HOLE], [HOLE, 1, HOLE]], dtype=np.int8)
    wanted = naive.expected_counts(network, Table(graph.schema, codes))
    for name in graph.names:
        np.testing.assert_allclose(expect(network, frame).table(name), wanted[name], rtol=1e-10)


def test_the_impossible_row_is_named() -> None:
    graph = dag("A -> B")
    network = Network.from_tables(graph, {"A": [1.0, 0.0], "B": [[0.0, 1.0], [0.5, 0.5]]})
    rows = np.array([[HOLE, 1], [HOLE, 0], [HOLE, 0]], dtype=np.int8)
    with pytest.raises(ImpossibleRowError, match=r"^row 2 .*\(2 such rows in all\); it has B=0\."):
        expect(network, Table(graph.schema, rows))


def test_a_column_is_missing() -> None:
    with pytest.raises(SchemaError, match="'B' is not a column"):
        expect(random_network(dag("A -> B")), {"A": [0, 1]})
