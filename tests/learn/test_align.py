"""Hidden states get the same names in all starts before anything is averaged."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.infer.engine import prepare
from lacunary.learn.align import aligned, permutable, permuted_places
from lacunary.model.dag import Dag
from tests import naive

ROUNDING = 1e-12
"""Permuting moves numbers and changes none; a mean of equals may miss them in the last digit."""


def renamed(network: lac.Network, orders: dict[str, tuple[int, ...]]) -> lac.Network:
    """Rename states the slow way, through the tables as people index them."""
    tables = {}
    for name, table in network.tables.items():
        for axis, member in enumerate((*network.dag.parents_of(name), name)):
            if member in orders:
                table = np.take(table, orders[member], axis=axis)
        tables[name] = table
    return lac.Network.from_tables(network.dag, tables)


def two_hidden() -> tuple[lac.Network, lac.Table]:
    """Two hidden variables, one the parent of the other, a class of a class."""
    dag = lac.dag("H -> G; H -> A B; G -> C D E", states=2, hidden={"H": 3, "G": 3})
    network = lac.random_network(dag, rng=4)
    table = lac.hide(network.sample(150, rng=0), ["H", "G"])
    return network, table


def copies(network: lac.Network) -> NDArray[np.float64]:
    return np.array(
        [
            renamed(network, {"H": h, "G": g}).theta
            for h in permutations(range(3))
            for g in permutations(range(3))
        ]
    )


def test_permuted_copies_come_back() -> None:
    network, table = two_hidden()
    theta = copies(network)
    prepared = prepare(network.dag, table)
    back = aligned(prepared, theta, 0)
    np.testing.assert_array_equal(back, np.repeat(theta[:1], len(theta), axis=0))
    np.testing.assert_array_equal(aligned(prepared, theta, 7)[0], theta[7])  # any can give the names
    assert np.abs(theta.mean(axis=0) - theta[0]).max() > 0.1  # unaligned, the mean would be mush


def test_permuting_places_is_renaming_and_changes_no_prediction() -> None:
    network, table = two_hidden()
    order = np.array([2, 0, 1])
    h = network.dag.schema.index("H")
    moved = lac.Network(network.dag, network.theta[permuted_places(network.dag, h, order)])
    np.testing.assert_array_equal(moved.theta, renamed(network, {"H": (2, 0, 1)}).theta)
    assert moved.log_likelihood(table) == pytest.approx(network.log_likelihood(table), rel=ROUNDING)
    row = table.codes[0].tolist()
    expected = naive.posterior(network, row, ["H"])[order]
    np.testing.assert_allclose(naive.posterior(moved, row, ["H"]), expected, atol=ROUNDING)


def test_nothing_hidden_is_left_as_it_is() -> None:
    dag = lac.asia().dag
    theta = np.array([lac.random_network(dag, rng=seed).theta for seed in range(4)])
    table = lac.make_holes(lac.asia().sample(30, rng=0), 0.5, rng=0)
    np.testing.assert_array_equal(aligned(prepare(dag, table), theta, 0), theta)


def test_states_that_the_prior_tells_apart_keep_their_names() -> None:
    network, table = two_hidden()
    theta, prepared = copies(network), prepare(network.dag, table)
    even = np.ones(network.dag.layout.size)
    np.testing.assert_array_equal(aligned(prepared, theta, 0, [even])[5], theta[0])
    marked = even.copy()
    marked[network.dag.layout.slice(network.dag.schema.index("H"))] = [1.0, 2.0, 3.0]
    back = aligned(prepared, theta, 0, [marked])
    names = [tuple(x) for x in permutations(range(3))]
    for place, moved in enumerate(back):  # G is renamed as before, H is not
        expected = renamed(network, {"H": names[place // 6]}).theta
        np.testing.assert_array_equal(moved, expected)


def test_a_table_shared_by_families_that_mean_different_variables_is_not_renamed() -> None:
    names = "H -> A B; G -> C D"
    free = lac.dag(names, states=2, hidden=["H", "G"])
    assert [free.names[h] for h in permutable(free)] == ["H", "G"]
    own = Dag(free.schema, free.parents, (("A", "B"),))
    assert [own.names[h] for h in permutable(own)] == ["H", "G"]
    across = Dag(free.schema, free.parents, (("A", "C"),))
    assert permutable(across) == []
