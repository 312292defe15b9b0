from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunary.data.schema import Schema, Variable
from lacunary.errors import GraphError, SchemaError
from lacunary.model.dag import Dag
from lacunary.model.make import dag
from tests.strategies import dags

ABC = Schema((Variable("A", (0, 1)), Variable("B", (0, 1, 2)), Variable("C", ("no", "yes"))))


def test_arcs_and_parents_make_the_same_graph() -> None:
    arcs = Dag.from_arcs(ABC, [("C", "B"), ("A", "B")])
    assert arcs == Dag.from_parents(ABC, {"B": ["C", "A"]})
    assert arcs.parents == ((), ("C", "A"), ())
    assert arcs.arcs == (("C", "B"), ("A", "B"))
    assert arcs.parents_of("B") == ("C", "A")
    assert arcs.children_of("C") == ("B",)
    assert arcs.children_of("B") == ()


def test_order_of_a_chain_written_backwards() -> None:
    chain = Dag.from_arcs(ABC, [("C", "B"), ("B", "A")])
    assert chain.order == ("C", "B", "A")
    assert chain.order_indices == (2, 1, 0)


@given(dags())
def test_every_parent_comes_before_its_children(graph: Dag) -> None:
    place = {name: position for position, name in enumerate(graph.order)}
    assert sorted(graph.order) == sorted(graph.names)
    assert all(place[tail] < place[head] for tail, head in graph.arcs)


@given(dags())
def test_children_are_parents_turned_round(graph: Dag) -> None:
    arcs = {(name, child) for name in graph.names for child in graph.children_of(name)}
    assert arcs == set(graph.arcs)


@given(dags(min_variables=2), st.data())
def test_a_cycle_is_found_and_named(graph: Dag, data: st.DataObject) -> None:
    """Any path closed by one more arc is a cycle; the error names one along existing arcs."""
    head = data.draw(st.sampled_from(graph.names))
    descendants = {head}
    for name in graph.order:
        if descendants & set(graph.parents_of(name)):
            descendants.add(name)
    tail = data.draw(st.sampled_from(sorted(descendants)))
    arcs = [*graph.arcs, (tail, head)]
    with pytest.raises(GraphError) as caught:
        Dag.from_arcs(graph.schema, arcs)
    if tail != head:
        path = str(caught.value).removeprefix("the arcs make a cycle: ").split(" -> ")
        assert path[0] == path[-1]
        assert {*pairwise(path)} <= set(arcs)


def test_a_cycle_is_named_in_the_arcs_direction() -> None:
    with pytest.raises(
        GraphError, match=r"cycle: B -> C -> A -> B|cycle: A -> B -> C -> A|cycle: C -> A -> B -> C"
    ):
        Dag.from_arcs(ABC, [("A", "B"), ("B", "C"), ("C", "A")])


def test_a_long_chain_needs_no_recursion() -> None:
    schema = Schema(tuple(Variable(f"X{i}", (0, 1)) for i in range(5000)))
    arcs = [(f"X{i + 1}", f"X{i}") for i in range(4999)]
    assert Dag.from_arcs(schema, arcs).order[0] == "X4999"
    with pytest.raises(GraphError, match="cycle"):
        Dag.from_arcs(schema, [*arcs, ("X0", "X4999")])


@pytest.mark.parametrize(
    ("arcs", "error", "message"),
    [
        ([("A", "A")], GraphError, "A cannot be its own parent"),
        ([("A", "B"), ("A", "B")], GraphError, "parent listed twice"),
        ([("A", "Z")], SchemaError, "no variable 'Z'; the variables are 'A', 'B', 'C'"),
        ([("Z", "A")], SchemaError, "no variable 'Z'"),
    ],
)
def test_bad_arcs(arcs: list[tuple[str, str]], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Dag.from_arcs(ABC, arcs)


def test_unknown_names_and_wrong_lengths() -> None:
    with pytest.raises(SchemaError, match="no variable 'Z'"):
        Dag.from_parents(ABC, {"Z": ["A"]})
    with pytest.raises(GraphError, match="3 variables need as many parent lists, not 1"):
        Dag(ABC, ((),))
    with pytest.raises(SchemaError, match="no variable 'Z'"):
        Dag.from_arcs(ABC, []).parents_of("Z")


def test_a_continuous_parent_of_a_discrete_child_is_refused() -> None:
    schema = Schema((Variable("weight", kind="continuous"), Variable("sex", ("f", "m"))))
    assert Dag.from_arcs(schema, [("sex", "weight")]).parents_of("weight") == ("sex",)
    with pytest.raises(
        GraphError, match=r"weight is continuous .* parent of sex.*turn the arc round, sex -> weight"
    ):
        Dag.from_arcs(schema, [("weight", "sex")])


def test_tied_families_share_one_shape_and_appear_once() -> None:
    graph = dag("H -> A B C", tied=[["A", "B"]])
    assert graph.tied == (("A", "B"),)
    # One table of 2 for H, one of 4 for A and B together, one of 4 for C.
    assert graph.layout.size == 10
    with pytest.raises(GraphError, match="one shape: A, B"):
        Dag.from_arcs(ABC, [], tied=[["A", "B"]])
    with pytest.raises(GraphError, match="A is tied twice"):
        Dag.from_arcs(ABC, [], tied=[["A", "C"], ["A"]])
    with pytest.raises(SchemaError, match="no variable 'Z'"):
        Dag.from_arcs(ABC, [], tied=[["Z"]])


def test_the_text_of_a_graph_is_its_arrows() -> None:
    assert str(dag("A -> C <- H -> D <- B; E")) == "A H -> C; H B -> D; E"


@given(dags(max_hidden=2))
def test_the_text_of_a_graph_reads_back(graph: Dag) -> None:
    assert dag(str(graph), schema=graph.schema) == graph


def test_a_long_cycle_is_told_by_its_ends() -> None:
    with pytest.raises(GraphError) as problem:
        dag(" -> ".join(f"v{i}" for i in range(2000)) + " -> v0")
    assert str(problem.value) == (
        "the arcs make a cycle: v0 -> v1 -> v2 -> v3 -> v4 -> v5 -> … -> v1995 -> v1996 -> v1997 -> "
        "v1998 -> v1999 -> v0"
    )
