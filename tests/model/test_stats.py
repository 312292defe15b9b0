"""Statistics add, and only where they may."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacunary.errors import ParameterError
from lacunary.infer.expect import expect
from lacunary.infer.network import random_network
from lacunary.model.dag import Dag
from lacunary.model.make import dag as make_dag
from lacunary.model.stats import Stats
from tests import naive
from tests.strategies import Case, cases


@settings(max_examples=40)
@given(cases(max_variables=4, max_rows=8), st.data())
def test_parts_add_over_any_split_of_the_rows(case: Case, data: st.DataObject) -> None:
    network, table = case
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table))))
    whole = expect(network, table)
    parts = expect(network, table.take(chosen)) + expect(network, table.take(~chosen))
    # Sums of at most eight rows in another order.
    assert np.allclose(parts.counts, whole.counts, rtol=1e-13, atol=1e-13)
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-13, abs=1e-13)
    assert parts.weight == pytest.approx(table.weights.sum(), rel=1e-15)
    for name, counts in naive.expected_counts(network, table).items():
        assert np.allclose(whole.table(name), counts, rtol=1e-10, atol=1e-12)


@settings(max_examples=20)
@given(cases(max_variables=3, max_rows=4))
def test_zero_changes_nothing(case: Case) -> None:
    network, table = case
    whole = expect(network, table)
    same = Stats.zero(network.dag) + whole
    assert np.array_equal(same.counts, whole.counts)
    assert (same.log_likelihood, same.weight) == (whole.log_likelihood, whole.weight)


def test_different_graphs_do_not_add() -> None:
    one, other = make_dag("A -> B", states=2), make_dag("B -> A", states=2)
    with pytest.raises(ParameterError, match="different graphs"):
        Stats.zero(one) + Stats.zero(other)


def test_tied_families_add_their_counts() -> None:
    """CH96, note 3: rows 00, 01, 11 and 11 of A -> B and C -> D, whose second families are tied."""
    free = make_dag("A -> B; C -> D", states=2)
    tied = Dag(free.schema, free.parents, (("B", "D"),))
    rows = {"A": [0, 0, 1, 1], "B": [0, 1, 1, 1], "C": [0, 0, 0, 1], "D": [0, 0, 0, 1]}
    stats = expect(random_network(tied), rows)
    assert np.array_equal(stats.table("B"), [[1 + 3, 1], [0, 2 + 1]])
    assert np.array_equal(stats.table("D"), stats.table("B"))
    assert np.array_equal(stats.table("A"), [2, 2])
