from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunary.errors import GraphError
from lacunary.model.dag import Dag
from lacunary.model.equivalence import Cpdag, cpdag, equivalent
from lacunary.model.graph import skeleton
from lacunary.model.make import dag, naive_bayes, random_dag
from tests.model.graphs import all_dags, members
from tests.strategies import dags


@pytest.mark.parametrize(
    ("arrows", "compelled", "reversible"),
    [
        ("A -> B -> C", [], ["AB", "BC"]),
        ("A -> B <- C", ["AB", "CB"], []),
        ("A B -> C; A -> B", [], ["AB", "AC", "BC"]),
        ("A -> C <- B; C -> D", ["AC", "BC", "CD"], []),  # rule 1
        ("A -> C <- B; C -> D; A B -> D", ["AC", "BC", "AD", "BD"], ["CD"]),  # C and D have the same parents
        ("A -> B C D; C D -> B", ["CB", "DB", "AB"], ["AC", "AD"]),  # rule 3
        ("A; B", [], []),
    ],
)
def test_compelled_and_reversible_arcs_by_hand(
    arrows: str, compelled: list[str], reversible: list[str]
) -> None:
    found = cpdag(dag(arrows))
    assert found.compelled == {(arc[0], arc[1]) for arc in compelled}
    assert found.reversible == {frozenset(pair) for pair in reversible}


@pytest.mark.parametrize(
    ("variables", "graphs", "classes"), [(1, 1, 1), (2, 3, 2), (3, 25, 11), (4, 543, 185)]
)
def test_classes_are_as_many_as_in_print(variables: int, graphs: int, classes: int) -> None:
    """Gillispie and Perlman (2001), Table 1: labelled DAGs and their equivalence classes."""
    found = Counter(cpdag(graph) for graph in all_dags(variables))
    assert found.total() == graphs
    assert len(found) == classes


def test_compelled_arcs_are_those_all_members_have() -> None:
    """Every graph of four variables against the intersection and union of its listed class."""
    done: set[Cpdag] = set()
    for graph in all_dags(4):
        if (found := cpdag(graph)) in done:
            continue
        done.add(found)
        listed = [set(member) for member in members(graph)]
        assert found.compelled == set.intersection(*listed)
        either = set.union(*listed)
        assert found.reversible == {frozenset(arc) for arc in either - found.compelled}


@given(dags(max_variables=7, max_parents=6))
def test_compelled_arcs_of_larger_graphs(graph: Dag) -> None:
    if len(graph.arcs) <= 12:
        listed = [set(member) for member in members(graph)]
        assert cpdag(graph).compelled == set.intersection(*listed)


@given(dags(min_variables=2, max_variables=5, max_parents=4), st.data())
def test_equivalence_is_same_neighbours_and_same_colliders(graph: Dag, data: st.DataObject) -> None:
    """Verma and Pearl's criterion, for a graph of the class, and for one with an arc turned or removed."""
    if not graph.arcs:
        return
    listed = members(graph)
    member = Dag.from_arcs(graph.schema, data.draw(st.sampled_from(listed)))
    assert equivalent(graph, member)
    tail, head = data.draw(st.sampled_from(graph.arcs))
    rest = [arc for arc in graph.arcs if arc != (tail, head)]
    assert not equivalent(graph, Dag.from_arcs(graph.schema, rest))
    try:
        turned = Dag.from_arcs(graph.schema, [*rest, (head, tail)])
    except GraphError:
        return
    assert equivalent(graph, turned) == (frozenset(turned.arcs) in map(frozenset, listed))


def test_equivalence_does_not_mind_the_order_of_the_schema() -> None:
    assert equivalent(dag("A -> B -> C"), dag("C -> B -> A"))
    assert not equivalent(dag("A -> B -> C"), dag("C -> B <- A"))


def test_a_covered_arc_may_be_turned_round_and_no_other() -> None:
    """Chickering (1995): turning X -> Y keeps the class exactly when pa(Y) = pa(X) ∪ {X}."""
    for seed in range(40):
        graph = random_dag(7, 0.5, None, rng=seed)
        for tail, head in graph.arcs:
            covered = set(graph.parents_of(head)) == {*graph.parents_of(tail), tail}
            arcs = [arc for arc in graph.arcs if arc != (tail, head)]
            try:
                turned = Dag.from_arcs(graph.schema, [*arcs, (head, tail)])
            except GraphError:
                assert not covered
                continue
            assert equivalent(graph, turned) == covered


def test_complete_graphs_are_all_equivalent() -> None:
    names = "ABCD"
    graphs = {
        cpdag(dag("; ".join(f"{a} -> {b}" for a, b in combinations(order, 2))))
        for order in permutations(names)
    }
    assert len(graphs) == 1
    assert not graphs.pop().compelled


def test_a_wide_graph() -> None:
    """A hidden class over 3000 variables has no collider: every arc is reversible."""
    wide = naive_bayes(random_dag(3000, 0.0).schema, "H", 2)
    found = cpdag(wide)
    assert not found.compelled
    assert len(found.reversible) == 3000
    assert len(skeleton(wide)["H"]) == 3000


def test_graphs_over_other_variables_do_not_compare() -> None:
    with pytest.raises(GraphError, match="only the second has 'C'"):
        equivalent(dag("A -> B"), dag("A -> B; C"))


def test_from_a_state_to_a_number_no_arc_can_be_turned() -> None:
    """Every mixed graph of four variables against the members of its class that a network can have."""
    for numbers in ("B", "BC", "BD", "ACD"):
        kinds: dict[str, Literal["discrete", "continuous"]] = dict.fromkeys(numbers, "continuous")
        schema = dag("A; B; C; D", kinds=kinds).schema
        discrete = set("ABCD") - set(numbers)
        for graph in all_dags(4):
            names = dict(zip(graph.names, "ABCD", strict=True))
            arcs = [(names[tail], names[head]) for tail, head in graph.arcs]
            if any(tail in numbers and head in discrete for tail, head in arcs):
                continue
            listed = [{(names[tail], names[head]) for tail, head in member} for member in members(graph)]
            listed = [each for each in listed if not any(t in numbers and h in discrete for t, h in each)]
            found = cpdag(Dag.from_arcs(schema, arcs))
            assert found.compelled == set.intersection(*listed)
            assert found.reversible == {frozenset(arc) for arc in set.union(*listed) - found.compelled}
