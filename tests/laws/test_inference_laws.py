"""What must always hold of inference, whatever the network and the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE
from lacunary.infer.expect import expect
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from lacunary.model.stats import Stats
from tests.strategies import Case, cases, loaded_cases, seeds

# The same positive terms added in another order: some hundreds of them, each rounded in its last digit.
RELATIVE = 1e-11
# A logarithm of a probability is known as well as the probability is, also where it is near zero.
LOG = 1e-12

T = TypeVar("T")

any_case = st.one_of(cases(), cases(max_variables=9, max_states=2, max_parents=4), loaded_cases())


def assert_same(one: Stats, two: Stats) -> None:
    for name in one.dag.names:
        assert_allclose(one.table(name), two.table(name), rtol=RELATIVE, err_msg=name)
    assert_allclose(one.log_likelihood, two.log_likelihood, rtol=RELATIVE, atol=LOG * (1 + one.weight))
    assert_allclose(one.weight, two.weight, rtol=RELATIVE)


# Rows ---------------------------------------------------------------------------------------------------


@given(any_case, st.data())
def test_parts_add_over_any_split(case: Case, data: st.DataObject) -> None:
    network, table = case
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(table), max_size=len(table))))
    parts = (expect(network, table.take(part == p)) for p in range(3))
    assert_same(expect(network, table), sum(parts, start=Stats.zero(network.dag)))


@given(any_case, seeds)
def test_the_order_of_rows_does_not_matter(case: Case, seed: int) -> None:
    network, table = case
    order = np.random.default_rng(seed).permutation(len(table))
    shuffled = table.take(order)
    assert_same(expect(network, table), expect(network, shuffled))
    assert_allclose(
        network.log_probability(table)[order], network.log_probability(shuffled), rtol=RELATIVE, atol=LOG
    )


@given(cases(weighted=False), st.integers(1, 3))
def test_a_weight_is_a_number_of_rows(case: Case, times: int) -> None:
    network, table = case
    repeated = table.take(np.repeat(np.arange(len(table)), times))
    assert_same(expect(network, replace(table, weights=table.weights * times)), expect(network, repeated))


# Names and orders ---------------------------------------------------------------------------------------


def shuffled_graph(graph: Dag, rng: np.random.Generator) -> Dag:
    """The same graph with its variables, their states and their parents listed in another order."""

    def shuffled(items: Sequence[T]) -> list[T]:
        return [items[i] for i in rng.permutation(len(items))]

    variables = [replace(v, states=tuple(shuffled(v.states))) for v in shuffled(graph.schema.variables)]
    parents = {name: shuffled(graph.parents_of(name)) for name in graph.names}
    return Dag.from_parents(Schema(tuple(variables)), parents)


def rearranged(table: NDArray[np.float64], name: str, old: Dag, new: Dag) -> NDArray[np.float64]:
    """A family's table, its axes and states moved to where the other graph lists them."""
    before, after = (*old.parents_of(name), name), (*new.parents_of(name), name)
    table = np.transpose(table, [before.index(member) for member in after])
    for axis, member in enumerate(after):
        places = [old.schema[member].encode(state) for state in new.schema[member].states]
        table = table.take(places, axis=axis)
    return table


@given(any_case, seeds)
def test_the_order_of_variables_states_and_parents_does_not_matter(case: Case, seed: int) -> None:
    network, table = case
    old = network.dag
    new = shuffled_graph(old, np.random.default_rng(seed))
    tables = {name: rearranged(network.table(name), name, old, new) for name in old.names}
    other = Network.from_tables(new, tables)
    one, two = expect(network, table), expect(other, table)
    for name in old.names:
        assert_allclose(two.table(name), rearranged(one.table(name), name, old, new), rtol=RELATIVE)
    assert_allclose(two.log_likelihood, one.log_likelihood, rtol=RELATIVE, atol=LOG * (1 + one.weight))
    posterior = network.posterior(table)
    moved = other.posterior(table)
    for name in old.names:
        places = [old.schema[name].encode(state) for state in new.schema[name].states]
        assert_allclose(moved[name], posterior[name][:, places], rtol=RELATIVE)


# Counts -------------------------------------------------------------------------------------------------


@given(any_case)
def test_every_family_counts_every_row(case: Case) -> None:
    network, table = case
    stats = expect(network, table)
    for name in network.dag.names:
        assert_allclose(stats.table(name).sum(), table.size, rtol=RELATIVE)


@given(any_case)
def test_families_agree_on_the_variables_they_share(case: Case) -> None:
    """How often a parent is in each state is the same in its own family and in its child's."""
    network, table = case
    stats = expect(network, table)
    for parent, child in network.dag.arcs:
        own = stats.table(parent)
        place = network.dag.parents_of(child).index(parent)
        lent = np.moveaxis(stats.table(child), place, -1)
        assert_allclose(
            lent.reshape(-1, lent.shape[-1]).sum(axis=0),
            own.reshape(-1, own.shape[-1]).sum(axis=0),
            rtol=RELATIVE,
        )


@given(any_case)
def test_counts_are_sums_of_posteriors(case: Case) -> None:
    """Two ways through the engine: families read out over all rows, and row by row."""
    network, table = case
    stats = expect(network, table)
    families = [(*network.dag.parents_of(name), name) for name in network.dag.names]
    for name, p in zip(network.dag.names, network.posterior(table, families).values(), strict=True):
        assert_allclose(stats.table(name), np.tensordot(table.weights, p, axes=1), rtol=RELATIVE)


# Holes --------------------------------------------------------------------------------------------------


@given(any_case, st.data())
def test_the_chain_rule(case: Case, data: st.DataObject) -> None:
    """p(cells and one more) = p(cells) · p(the one more | cells)."""
    network, table = case
    column = data.draw(st.integers(0, len(network.dag.names) - 1))
    known = table.codes[:, column] != HOLE
    codes = table.codes.copy()
    codes[:, column] = HOLE
    fewer = replace(table, codes=codes)
    name = network.dag.names[column]
    posterior = network.posterior(fewer, [name])[name]
    more = posterior[np.flatnonzero(known), table.codes[known, column]]
    assert_allclose(
        network.log_probability(table)[known],
        network.log_probability(fewer)[known] + np.log(more),
        rtol=RELATIVE,
        atol=LOG,
    )
    # Rounding apart, a cell less to account for makes no row less probable.
    assert np.all(network.log_probability(fewer) >= network.log_probability(table) - LOG)


@given(any_case, st.integers(1, 4), seeds)
def test_a_hidden_leaf_changes_nothing(case: Case, states: int, seed: int) -> None:
    network, table = case
    rng = np.random.default_rng(seed)
    parents = [name for name in network.dag.names if rng.random() < 0.3][:3]
    schema = network.dag.schema.extend([Variable("leaf", tuple(range(states)), hidden=True)])
    graph = Dag(schema, (*network.dag.parents, tuple(parents)))
    shape = (*(network.dag.schema[p].size for p in parents), states)
    leaf = rng.dirichlet(np.ones(states), size=shape[:-1]) if parents else rng.dirichlet(np.ones(states))
    larger = Network.from_tables(graph, network.tables | {"leaf": leaf.reshape(shape)})
    one, two = expect(network, table), expect(larger, table)
    for name in network.dag.names:
        assert_allclose(two.table(name), one.table(name), rtol=RELATIVE)
    assert_allclose(two.log_likelihood, one.log_likelihood, rtol=RELATIVE, atol=LOG * (1 + one.weight))
