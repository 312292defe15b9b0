from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacunary.errors import GraphError, SchemaError
from lacunary.infer.network import Network, random_network
from lacunary.model.dag import Dag
from lacunary.model.graph import d_separated, moral_graph, skeleton
from lacunary.model.make import dag
from tests.model.graphs import joint
from tests.strategies import dags, networks

W = dag("A -> C <- H -> D <- B")


def test_moral_graph_and_skeleton_by_hand() -> None:
    assert skeleton(W) == {
        "A": frozenset("C"),
        "C": frozenset("AH"),
        "H": frozenset("CD"),
        "D": frozenset("HB"),
        "B": frozenset("D"),
    }
    assert moral_graph(W) == {
        "A": frozenset("CH"),
        "C": frozenset("AH"),
        "H": frozenset("CDAB"),
        "D": frozenset("HB"),
        "B": frozenset("DH"),
    }


@given(dags())
def test_families_are_cliques_of_the_moral_graph_and_nothing_else_is_joined(graph: Dag) -> None:
    families = [{name, *graph.parents_of(name)} for name in graph.names]
    moral = moral_graph(graph)
    for one, two in combinations(graph.names, 2):
        together = any({one, two} <= family for family in families)
        assert (two in moral[one]) == together
        assert (one in moral[two]) == together


def test_separation_by_hand() -> None:
    assert d_separated(W, "A", "B")
    assert d_separated(W, "A", ["H", "D"])
    assert not d_separated(W, "A", "H", given="C")
    assert d_separated(W, "A", "B", given="C")  # D still blocks
    assert not d_separated(W, "A", "B", given=["C", "D"])
    assert d_separated(W, "A", "B", given=["C", "D", "H"])
    chain = dag("A -> B -> C; B -> E; D")
    assert not d_separated(chain, "A", "C")
    assert d_separated(chain, "A", ["C", "E"], given="B")
    assert not d_separated(dag("A -> C <- B; C -> E -> F"), "A", "B", given="F")  # a collider's descendant
    assert d_separated(chain, "A", [])


def test_what_d_separated_refuses() -> None:
    with pytest.raises(GraphError, match="A is named on two sides"):
        d_separated(W, "A", "B", given=["A"])
    with pytest.raises(SchemaError, match="no variable 'Z'"):
        d_separated(W, "A", "Z")


def test_separation_in_a_long_chain_needs_no_recursion() -> None:
    chain = dag(" -> ".join(f"X{i}" for i in range(5000)))
    assert not d_separated(chain, "X0", "X4999")
    assert d_separated(chain, "X0", "X4999", given="X2500")


@given(dags(min_variables=2, max_variables=6, max_parents=4), st.data())
def test_separation_is_that_every_trail_is_blocked(graph: Dag, data: st.DataObject) -> None:
    """Against the definition: list all trails and look at each of their inner variables."""
    one, two, *rest = data.draw(st.permutations(graph.names))
    given_names = data.draw(st.sets(st.sampled_from(rest))) if rest else set()
    active = any(not _blocked(graph, trail, given_names) for trail in _trails(graph, (one,), two))
    assert d_separated(graph, one, two, given_names) == (not active)


@given(dags(min_variables=2), st.data())
def test_sets_are_separated_when_all_their_pairs_are(graph: Dag, data: st.DataObject) -> None:
    side = {name: data.draw(st.integers(0, 3)) for name in graph.names}
    first, second, observed = ([name for name in graph.names if side[name] == k] for k in (1, 2, 3))
    pairs = [d_separated(graph, one, two, observed) for one, two in product(first, second)]
    assert d_separated(graph, first, second, observed) == all(pairs)


@settings(max_examples=60)
@given(networks(min_variables=2, max_variables=5, max_states=3))
def test_separated_variables_are_independent(network: Network) -> None:
    p, names = joint(network), network.dag.names
    for one, two, observed in _questions(len(names)):
        if d_separated(network.dag, names[one], names[two], [names[z] for z in observed]):
            # Sums of at most 3⁵ products of five rounded probabilities, all at most one: 1e-13.
            assert _dependence(p, one, two, observed) < 1e-13


@settings(max_examples=60)
@given(dags(min_variables=2, max_variables=4, min_states=2, max_states=3))
def test_connected_variables_are_dependent(graph: Dag) -> None:
    """Parameters that make them independent have measure zero; of five draws one shows it plainly.

    Dependence along four variables is a product of at most six contrasts, each of the order of 0.1.
    """
    drawn, names = [joint(random_network(graph, rng=seed)) for seed in range(5)], graph.names
    for one, two, observed in _questions(len(names)):
        if not d_separated(graph, names[one], names[two], [names[z] for z in observed]):
            assert max(_dependence(p, one, two, observed) for p in drawn) > 1e-6


def _questions(variables: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield every pair of variables with every subset of the others."""
    for one, two in combinations(range(variables), 2):
        rest = [z for z in range(variables) if z not in (one, two)]
        for count in range(len(rest) + 1):
            for observed in combinations(rest, count):
                yield one, two, observed


def _dependence(p: NDArray[np.float64], one: int, two: int, observed: tuple[int, ...]) -> float:
    """max |p(x, y, z) p(z) − p(x, z) p(y, z)|, from the joint distribution."""
    p_xyz = p.sum(axis=tuple({*range(p.ndim)} - {one, two, *observed}), keepdims=True)
    p_xz, p_yz = p_xyz.sum(axis=two, keepdims=True), p_xyz.sum(axis=one, keepdims=True)
    p_z = p_xz.sum(axis=one, keepdims=True)
    return float(np.abs(p_xyz * p_z - p_xz * p_yz).max())


def _trails(graph: Dag, path: tuple[str, ...], goal: str) -> Iterator[tuple[str, ...]]:
    if path[-1] == goal:
        yield path
        return
    for step in (*graph.parents_of(path[-1]), *graph.children_of(path[-1])):
        if step not in path:
            yield from _trails(graph, (*path, step), goal)


def _blocked(graph: Dag, trail: tuple[str, ...], observed: set[str]) -> bool:
    arcs = set(graph.arcs)
    for (before, node), (_, after) in pairwise(pairwise(trail)):
        collider = (before, node) in arcs and (after, node) in arcs
        seen = bool(observed & (_descendants(graph, node) if collider else {node}))
        if collider != seen:  # an unseen collider, or anything else that is seen
            return True
    return False


def _descendants(graph: Dag, name: str) -> set[str]:
    return {name}.union(*(_descendants(graph, child) for child in graph.children_of(name)))
