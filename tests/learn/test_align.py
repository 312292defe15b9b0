"""Hidden states get the same names in all starts before anything is averaged."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.data.schema import Kind
from lacunary.infer.mixed import prepare_mixed
from lacunary.infer.rows import prepare
from lacunary.learn.align import aligned, permutable
from lacunary.learn.align import relabelled as places_of
from lacunary.model.dag import Dag
from lacunary.model.swaps import Swaps
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
    moved = lac.Network(network.dag, network.theta[places_of(network.dag, {}, {h: order})])
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


SWAPPED = [
    ("H -> A B C; G -> A B C", {"H": 3, "G": 3}),
    ("H G -> A; G H -> B; H G -> C D", {"H": 2, "G": 2}),  # the axes are crossed
    ("F -> A B; G -> A B; H -> A B; F G H -> C", {"F": 2, "G": 2, "H": 2}),
    ("F -> G -> A B C; H -> E -> A B C", {"E": 2, "F": 2, "G": 2, "H": 2}),  # in pairs, or not at all
    ("H -> A B; G -> A B; H -> F; G -> E", {"E": 2, "F": 2, "G": 2, "H": 2}),  # children nobody sees
]


def swapped(network: lac.Network, image: dict[str, str]) -> lac.Network:
    """Let every variable play the part of its image, the slow way: through tables as people index them."""
    tables = {}
    for name in network.dag.names:
        source = image.get(name, name)
        axes = (*network.dag.parents_of(source), source)
        wanted = [image.get(m, m) for m in (*network.dag.parents_of(name), name)]
        tables[name] = network.table(source).transpose([axes.index(m) for m in wanted])
    return lac.Network.from_tables(network.dag, tables)


def relabelled(network: lac.Network, seed: int) -> list[lac.Network]:
    """Return the network under every swap, with states renamed at random."""
    dag, rng = network.dag, np.random.default_rng(seed)
    out = []
    for swap in Swaps(dag):
        moved = swapped(network, {dag.names[v]: dag.names[w] for v, w in swap.items()})
        orders = {h: tuple(rng.permutation(dag.schema[h].size).tolist()) for h in dag.schema.hidden}
        out.append(renamed(moved, orders))
    return out


@pytest.mark.parametrize(("arrows", "hidden"), SWAPPED, ids=[arrows for arrows, _ in SWAPPED])
def test_swapped_copies_come_back(arrows: str, hidden: dict[str, int]) -> None:
    """The true names agree in most rows: Σ r·r + Σ s·s ≥ 2 Σ r·s, whatever the posteriors r and s."""
    network = lac.random_network(lac.dag(arrows, states=2, hidden=hidden), rng=3)
    table = lac.hide(network.sample(60, rng=0), list(hidden))
    prepared = prepare(network.dag, table)
    copied = relabelled(network, 1)
    assert len(copied) > 1
    for copy in copied:
        assert copy.log_likelihood(table) == pytest.approx(network.log_likelihood(table), rel=ROUNDING)
    theta = np.array([network.theta, *(copy.theta for copy in copied)])
    np.testing.assert_array_equal(aligned(prepared, theta, 0), np.repeat(theta[:1], len(theta), axis=0))


def test_variables_that_the_prior_tells_apart_keep_their_places() -> None:
    dag = lac.dag("H -> A B C; G -> A B C", states=2, hidden=["H", "G"])
    network = lac.random_network(dag, rng=3)
    prepared = prepare(dag, lac.hide(network.sample(60, rng=0), ["H", "G"]))
    other = swapped(network, {"H": "G", "G": "H"})
    theta = np.array([network.theta, other.theta])
    even, marked = np.ones(dag.layout.size), np.ones(dag.layout.size)
    np.testing.assert_array_equal(aligned(prepared, theta, 0, [even])[1], network.theta)
    marked[dag.layout.slice(dag.schema.index("H"))] = 2.0  # both states alike, but not as those of G
    kept = lac.Network(dag, aligned(prepared, theta, 0, [marked])[1])
    assert sorted(kept.table("H").tolist()) == sorted(other.table("H").tolist())


def test_an_average_of_swapped_starts_is_each_of_them() -> None:
    dag = lac.dag("H -> A B C; G -> A B C", states=3, hidden={"H": 2, "G": 2})
    truth = lac.random_network(dag, rng=8)
    table = lac.make_holes(lac.hide(truth.sample(80, rng=0), ["H", "G"]), 0.1, rng=1)
    best = lac.fit(dag, table, starts=2).network
    found = lac.fit(
        dag, table, initial=relabelled(best, 2), select="average", stop=lac.Stop(relative=1e-8, iterations=1)
    )
    # Sweeps add in another order, so starts that are the same but for names agree to rounding.
    np.testing.assert_allclose(found.network.theta, found.starts[0].network.theta, atol=1e-10)
    assert np.ptp([start.network.theta for start in found.starts], axis=0).max() < 1e-10


MIXED = [
    ("H -> A B C; A -> B", {"H": 3}),
    ("H -> A B C; G -> A B C; A -> B", {"H": 2, "G": 2}),
    ("H G -> A; G H -> B; H G -> C", {"H": 2, "G": 2}),  # the axes are crossed
]


def mixed(arrows: str, hidden: dict[str, int]) -> tuple[lac.Network, lac.Table]:
    kinds: dict[str, Kind] = {"A": "continuous", "B": "continuous"}
    network = lac.random_network(lac.dag(arrows, states=2, hidden=hidden, kinds=kinds), rng=5)
    return network, lac.hide(network.sample(80, rng=0), list(hidden))


def moved(network: lac.Network, image: dict[str, str], orders: dict[str, list[int]]) -> lac.Network:
    """Swap and rename the slow way; axes are discrete parents, and the variable itself where discrete."""
    dag, tables = network.dag, {}

    def axes(name: str) -> list[str]:
        return [m for m in (*dag.parents_of(name), name) if dag.schema[m].discrete]

    for name in dag.names:
        source = image.get(name, name)
        table = np.asarray(network.table(source))
        wanted = [axes(source).index(image.get(m, m)) for m in axes(name)]
        table = table.transpose([*wanted, *range(len(wanted), table.ndim)])
        for axis, member in enumerate(axes(name)):
            table = np.take(table, orders.get(member, range(dag.schema[member].size)), axis=axis)
        tables[name] = table
    return lac.Network.from_tables(dag, tables)


@pytest.mark.parametrize(("arrows", "hidden"), MIXED, ids=[arrows for arrows, _ in MIXED])
def test_copies_of_mixed_networks_come_back(arrows: str, hidden: dict[str, int]) -> None:
    network, table = mixed(arrows, hidden)
    dag, rng = network.dag, np.random.default_rng(0)
    copied = [network.theta]
    for swap in Swaps(dag):
        orders = {h: rng.permutation(k).tolist() for h, k in hidden.items()}
        image = {dag.names[v]: dag.names[w] for v, w in swap.items()}
        copy = moved(network, image, orders)
        assert copy.log_likelihood(table) == pytest.approx(network.log_likelihood(table), rel=1e-10)
        copied.append(copy.theta)
    theta = np.array(copied)
    prior = lac.Dirichlet(1.0)(dag).alpha
    back = aligned(prepare_mixed(dag, table.align(dag.schema)), theta, 0, [prior])
    np.testing.assert_array_equal(back, np.repeat(theta[:1], len(theta), axis=0))
    told = prior.copy()  # a prior that tells the states of H apart, and H from G
    told[dag.layout.slice(dag.schema.index("H"))] = 1.0 + np.arange(hidden["H"])
    kept = aligned(prepare_mixed(dag, table.align(dag.schema)), theta, 0, [told])
    h = dag.layout.slice(dag.schema.index("H"))
    np.testing.assert_array_equal(kept[:, h], theta[:, h])
