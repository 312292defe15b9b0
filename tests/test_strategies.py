"""The strategies keep their promises: other tests rest on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from lacunary.data.schema import Schema
from lacunary.data.table import HOLE, Table
from lacunary.infer.network import Network
from lacunary.model.make import dag
from tests.model.graphs import joint
from tests.strategies import cases, networks, sample_codes, schemas, tables

Case = tuple[Network, Table]


@given(cases(max_hidden=2))
def test_every_row_has_positive_probability(case: Case) -> None:
    """Summed over its holes, by enumeration."""
    network, table = case
    p = joint(network)
    for row in table.codes:
        assert p[tuple(slice(None) if code == HOLE else code for code in row)].sum() > 0


@given(cases(max_hidden=2))
def test_hidden_columns_are_holes(case: Case) -> None:
    network, table = case
    assert table.schema == network.dag.schema
    assert all(table.holes[:, table.schema.index(name)].all() for name in table.schema.hidden)


@given(networks())
def test_distributions_sum_to_one(network: Network) -> None:
    # At most four rounded terms.
    assert np.allclose(network.dag.layout.total(network.theta), 1.0, atol=1e-14, rtol=0)
    assert network.theta.min() >= 0


@given(schemas(), st.data())
def test_tables_of_any_states(schema: Schema, data: st.DataObject) -> None:
    table = data.draw(tables(schema, min_rows=2, max_rows=5, hole_shares=(0.0,), weighted=False))
    assert 2 <= len(table) <= 5
    assert not table.holes.any()
    assert (table.weights == 1).all()


@pytest.mark.parametrize(
    "wanted",
    [
        lambda case: np.any(case[0].theta == 0),
        lambda case: np.any((case[0].theta > 0) & (case[0].theta < 1e-12)),
        lambda case: (
            not case[1].schema.hidden and case[1].holes.all(axis=0).any() and not case[1].holes.all()
        ),
        lambda case: case[1].schema.hidden and not case[1].holes.all(),
        lambda case: len(case[1].distinct.first) < len(case[1]) and not case[1].holes.any(),
        lambda case: np.any(case[1].weights == 0),
        lambda case: np.any(case[1].weights % 1 > 0),
        lambda case: 1 in case[1].schema.sizes,
        lambda case: case[1].holes.all(),
    ],
    ids=[
        "zeros",
        "tiny",
        "empty column",
        "hidden",
        "alike",
        "no weight",
        "fraction",
        "one state",
        "all holes",
    ],
)
def test_every_kind_of_case_turns_up(wanted: object) -> None:
    assert callable(wanted)
    # No shrinking: that there is one is all that is asked.
    find(cases(), wanted, settings=settings(phases=[Phase.generate], max_examples=2000))


def test_sampled_rows_follow_the_network() -> None:
    graph = dag("B -> A <- C", states={"C": 3})
    given_tables: dict[str, list[Any]] = {
        "B": [0.3, 0.7],
        "C": [0.5, 0.0, 0.5],
        "A": [[[0.1, 0.9], [0.5, 0.5], [0.6, 0.4]], [[1, 0], [0, 1], [0.2, 0.8]]],
    }
    network = Network.from_tables(graph, given_tables)
    codes = sample_codes(network, 40_000, np.random.default_rng(0))
    found = np.zeros((2, 2, 3))
    np.add.at(found, tuple(codes[:, [graph.schema.index(n) for n in "ABC"]].T), 1 / len(codes))
    p = np.einsum("b,c,bca->abc", *(np.asarray(given_tables[n], dtype=float) for n in "BCA"))
    assert np.all((found == 0) == (p == 0))
    # Five standard deviations of each share.
    assert np.all(np.abs(found - p) <= 5 * np.sqrt(p * (1 - p) / len(codes)))
