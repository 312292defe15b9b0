"""Reinsertion from random graphs: never below reinsertion, never above the best graph, within the rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.structure.constraints import Constraints
from lacunary.structure.default import last_method
from lacunary.structure.discrete import BD
from lacunary.structure.exact import Exact
from lacunary.structure.method import run
from lacunary.structure.scatter import Scatter, _drawn
from lacunary.structure.walk import Walk
from tests.strategies import schemas, seeds
from tests.structure.small import chain, complete, rules
from tests.structure.test_board import allowed


def wide(rows: int, n: int = 18) -> Table:
    """Columns that all depend on each other, more of them than rows can tell apart."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(rows, n)) @ (np.eye(n) + 0.5 * rng.normal(size=(n, n)))
    return lac.read({f"x{i}": x[:, i] for i in range(n)}, kinds="continuous")


def searched(method: Scatter | lac.Reinsert | Exact, table: Table, limits: Constraints) -> Walk:
    return run(method, BD(table), limits, rng=0)[0]


@given(st.data())
def test_it_ends_between_reinsertion_and_the_best_of_all_graphs(data: st.DataObject) -> None:
    table = data.draw(complete(2, 4))
    limits = data.draw(rules(table.schema))
    scattered = searched(Scatter(3), table, limits)
    tie = 1e-9 * max(1.0, abs(scattered.top))
    assert searched(lac.Reinsert(), table, limits).top - tie <= scattered.top
    assert scattered.top <= searched(Exact(), table, limits).top + tie
    assert allowed(scattered.best, limits)


@given(st.data(), seeds)
def test_graphs_to_begin_from_keep_the_rules(data: st.DataObject, seed: int) -> None:
    limits = data.draw(rules(data.draw(schemas(2, 6, 1, 3))))
    assert allowed(tuple(_drawn(limits, np.random.default_rng(seed))), limits)


def test_it_finds_higher_graphs_where_variables_are_many_for_the_rows() -> None:
    table = wide(60)
    worth = [
        found.score + found.log_structure_prior
        for found in (lac.search(table, method=method) for method in (lac.Reinsert(), Scatter()))
    ]
    assert worth[1] > worth[0] + 0.1
    again = lac.search(table, method=Scatter())
    assert again.score + again.log_structure_prior == worth[1]


def test_starts_are_a_number() -> None:
    with pytest.raises(ParameterError, match="starts"):
        Scatter(-1)


def test_the_last_search_is_exact_where_that_is_cheap_and_none_where_all_are_dear() -> None:
    def chosen(table: Table, networks: int = 2, most: int | None = None) -> str | None:
        method = last_method(table, Constraints.of(table.schema, max_parents=most), networks)
        return None if method is None else method.name

    assert chosen(wide(60, 8)) == "exact"
    assert chosen(wide(60)) == "scatter"
    assert chosen(wide(60), most=1) is None
    assert chosen(wide(60), networks=100) is None
    assert chosen(wide(300, 64)) == chosen(chain(18, 500)) == "scatter"
    assert chosen(chain(18, 500), networks=10) is None  # counts take longer than moments
