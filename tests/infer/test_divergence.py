"""Distances between networks, against the joint distribution written down."""

from __future__ import annotations

from itertools import product
from math import inf, log, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lacunary as lac
from lacunary.infer.divergence import family_distances, kl, marginal_kl
from tests import naive
from tests.strategies import dags, networks, seeds

EXACT = 1e-10
"""Relative and absolute: sums of at most some thousand products of a few doubles each."""


def joint(network: lac.Network, names: tuple[str, ...]) -> NDArray[np.float64]:
    """The whole distribution, with one axis for each name."""
    where = [network.dag.schema.index(name) for name in names]
    p = np.zeros([network.dag.schema.sizes[v] for v in where])
    for x in product(*map(range, network.dag.schema.sizes)):
        p[tuple(x[v] for v in where)] += naive.probability(network, x)
    return p


def divergence(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    total = 0.0
    for a, b in zip(p.flat, q.flat, strict=True):
        if a > 0:
            total += a * log(a / b) if b > 0 else inf
    return total


@st.composite
def pairs(draw: st.DrawFn) -> tuple[lac.Network, lac.Network]:
    """Two networks over the same variables with graphs, and orders of variables, of their own."""
    p = draw(networks(max_variables=5, max_states=3, textures=("even", "random", "zeros")))
    schema = lac.Schema(tuple(draw(st.permutations(p.dag.schema.variables))))
    order = draw(st.permutations(schema.names))
    parents = {
        child: draw(st.lists(st.sampled_from(order[:place]), unique=True, max_size=2))
        for place, child in enumerate(order)
        if place
    }
    dag = lac.Dag.from_parents(schema, parents)
    if draw(st.booleans()):
        dag = p.dag
    return p, lac.random_network(dag, rng=draw(seeds))


@given(pairs())
@settings(max_examples=60, deadline=None)
def test_kl_equals_enumeration(pair: tuple[lac.Network, lac.Network]) -> None:
    p, q = pair
    names = p.dag.names
    expected = divergence(joint(p, names), joint(q, names))
    assert kl(p, q) == pytest.approx(expected, rel=EXACT, abs=EXACT)
    assert kl(p, q) >= 0.0


@given(pairs())
@settings(max_examples=30, deadline=None)
def test_marginal_kl_equals_enumeration_and_is_no_larger(pair: tuple[lac.Network, lac.Network]) -> None:
    p, q = pair
    names = p.dag.names[:2]
    expected = divergence(joint(p, names), joint(q, names))
    assert marginal_kl(p, q, names) == pytest.approx(expected, rel=EXACT, abs=EXACT)
    # Summing variables out can only lose what tells the models apart.
    assert marginal_kl(p, q, names) <= kl(p, q) + EXACT


@given(networks(max_variables=6))
@settings(max_examples=40, deadline=None)
def test_a_network_is_no_distance_from_itself(network: lac.Network) -> None:
    assert kl(network, network) == 0.0
    for distance in family_distances(network, network).values():
        assert distance.kl == pytest.approx(0.0, abs=EXACT)
        assert distance.total_variation == pytest.approx(0.0, abs=EXACT)


def test_equivalent_graphs_with_the_same_distribution_are_no_distance_apart() -> None:
    forth = lac.random_network(lac.dag("A -> B -> C", states=3), rng=1)
    back = lac.dag("C -> B -> A", schema=forth.dag.schema)
    tables = {
        "C": forth.query("C").probabilities,
        "B": (p := forth.query("C", "B").probabilities) / p.sum(axis=1, keepdims=True),
        "A": (p := forth.query("B", "A").probabilities) / p.sum(axis=1, keepdims=True),
    }
    assert kl(forth, lac.Network.from_tables(back, tables)) == pytest.approx(0.0, abs=EXACT)


def test_what_one_deems_impossible_is_infinitely_far_only_if_the_other_does_not() -> None:
    dag = lac.dag("A -> B", states=2)
    sure = lac.Network.from_tables(dag, {"A": [1.0, 0.0], "B": [[0.5, 0.5], [1.0, 0.0]]})
    open_ = lac.Network.from_tables(dag, {"A": [0.5, 0.5], "B": [[0.5, 0.5], [0.5, 0.5]]})
    assert kl(open_, sure) == inf
    assert kl(sure, open_) == pytest.approx(log(2), rel=EXACT)  # only A differs where sure is sure
    assert marginal_kl(open_, sure, ["A"]) == inf
    assert marginal_kl(open_, sure, ["B"]) < inf


@given(dags(max_variables=4, max_states=3), seeds, seeds)
@settings(max_examples=30, deadline=None)
def test_families_add_up_to_kl_on_one_graph(dag: lac.Dag, one: int, other: int) -> None:
    """On a common graph KL is the sum over families; the classical inequalities hold for each."""
    assume(one != other)
    p, q = lac.random_network(dag, rng=one), lac.random_network(dag, rng=other)
    distances = family_distances(p, q)
    assert sum(d.kl for d in distances.values()) == pytest.approx(kl(p, q), rel=EXACT, abs=EXACT)
    for d in distances.values():
        assert d.hellinger**2 <= d.total_variation + EXACT
        assert d.total_variation <= sqrt(2) * d.hellinger + EXACT
        assert d.total_variation <= sqrt(d.kl / 2) + EXACT  # Pinsker


def test_family_distances_of_coins() -> None:
    """½(|.5 − .8| + |.5 − .2|) = .3 and 1 − √.4 − √.1 = H², by hand."""
    dag = lac.dag("A", states=2)
    p = lac.Network.from_tables(dag, {"A": [0.5, 0.5]})
    q = lac.Network.from_tables(dag, {"A": [0.8, 0.2]})
    found = family_distances(p, q)["A"]
    assert found.total_variation == pytest.approx(0.3, rel=EXACT)
    assert found.hellinger == pytest.approx(sqrt(1 - sqrt(0.4) - sqrt(0.1)), rel=EXACT)


def test_different_variables_are_refused() -> None:
    one = lac.random_network(lac.dag("A -> B", states=2))
    other = lac.random_network(lac.dag("A -> C", states=2))
    more = lac.random_network(lac.dag("A -> B", states=3))
    with pytest.raises(lac.SchemaError, match="only one of them has B"):
        kl(one, other)
    with pytest.raises(lac.SchemaError, match="A has the states"):
        kl(one, more)
    with pytest.raises(lac.SchemaError, match="no variable 'B'"):
        marginal_kl(one, other, ["B"])
    assert marginal_kl(one, other, ["A"]) >= 0.0  # what both have can be compared


def test_too_many_configurations_are_refused() -> None:
    p = lac.random_network(lac.dag("A -> B -> C", states=4))
    with pytest.raises(lac.TooWideError, match="64 configurations"):
        marginal_kl(p, p, ["A", "B", "C"], budget=63)


def test_a_large_network() -> None:
    """On ALARM: no joint of 2^57 cells is written down, and a draw's mean log-ratio agrees."""
    dag = lac.alarm().dag
    p, q = lac.random_network(dag, rng=1), lac.random_network(dag, rng=2)
    rows = p.sample(4000, rng=3)
    ratio = p.log_probability(rows) - q.log_probability(rows)
    # Four standard errors: one seeded run, which may miss by chance once in 15 000 seeds.
    assert kl(p, q) == pytest.approx(ratio.mean(), abs=4 * ratio.std() / sqrt(len(ratio)))
