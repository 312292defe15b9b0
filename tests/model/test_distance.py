from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lacunary.data.schema import Schema, Variable
from lacunary.errors import GraphError
from lacunary.model import distance
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag
from lacunary.model.distance import arc_changes, structural_hamming_distance
from lacunary.model.equivalence import Cpdag, cpdag, equivalent
from lacunary.model.make import dag, naive_bayes, random_dag
from tests.model.graphs import all_dags, members
from tests.strategies import dags


@pytest.mark.parametrize(
    ("first", "second", "hamming", "changes"),
    [
        ("A -> B -> C", "A <- B <- C", 0, 0),
        ("A -> B; C", "A; B; C", 1, 1),
        # The collider compels both arcs; turning one of them round leaves the chain.
        ("A -> B <- C", "A -> B -> C", 2, 1),
        # Removing one arm frees the other: two pairs look different, one arc has changed.
        ("A -> B <- C", "A -> B; C", 2, 1),
        # The shared pair BC must change direction, as it is compelled in both.
        ("A B -> C", "A C -> B", 3, 3),
        ("A B -> C; A -> B", "A -> B; C", 2, 2),
        ("A; B; C; D", "A -> B C D; B -> C D; C -> D", 6, 6),
    ],
)
def test_distances_by_hand(first: str, second: str, hamming: int, changes: int) -> None:
    one, two = dag(first), dag(second)
    assert structural_hamming_distance(one, two) == hamming
    assert structural_hamming_distance(two, one) == hamming
    assert arc_changes(one, two) == changes
    assert arc_changes(two, one) == changes


def test_distances_of_mixed_graphs() -> None:
    """No member of a class has an arc from a number to a state: all pairs of classes against such members."""
    schema = dag("A; B; C; D", kinds={"B": "continuous", "D": "continuous"}).schema
    classes: dict[Cpdag, list[Dag]] = {}
    for graph in all_dags(4):
        if not any(tail in "BD" and head in "AC" for tail, head in graph.arcs):
            classes.setdefault(cpdag(graph), []).append(Dag.from_arcs(schema, graph.arcs))
    coded = {found: np.array([_code(g.names, g.arcs) for g in listed]) for found, listed in classes.items()}
    for one, first in classes.items():
        for two, second in classes.items():
            least = (coded[one][:, None] != coded[two]).sum(axis=2).min()
            assert arc_changes(first[0], second[-1]) == least
            assert (structural_hamming_distance(first[-1], second[0]) == 0) == (one == two)


def test_arc_changes_of_all_graphs_of_four_variables() -> None:
    """All pairs of classes, the first up to renaming, against all pairs of their members."""
    classes: dict[Cpdag, list[Dag]] = {}
    for graph in all_dags(4):
        classes.setdefault(cpdag(graph), []).append(graph)
    coded = {found: np.array([_code(g.names, g.arcs) for g in listed]) for found, listed in classes.items()}
    seen: set[Cpdag] = set()
    for one, first in classes.items():
        if one in seen:
            continue
        seen |= {_renamed(one, order) for order in permutations("ABCD")}
        for two, second in classes.items():
            least = (coded[one][:, None] != coded[two]).sum(axis=2).min()
            assert arc_changes(first[0], second[-1]) == least
    assert len(seen) == len(classes) == 185


@settings(max_examples=80)
@given(st.integers(0, 10**6), st.integers(5, 6), st.sampled_from([0.4, 0.7]))
def test_arc_changes_of_larger_graphs(seed: int, variables: int, share: float) -> None:
    """Dense graphs along random orders, so that components of both kinds are large and overlap."""
    rng = np.random.default_rng(seed)
    pair = [_shuffled(random_dag(variables, share, 3, rng=rng), rng) for _ in range(2)]
    listed = [np.array([_code(pair[0].names, arcs) for arcs in members(graph)]) for graph in pair]
    assert arc_changes(*pair) == (listed[0][:, None] != listed[1]).sum(axis=2).min()


@given(dags(max_variables=6, max_parents=4), st.data())
def test_hamming_distance_is_a_count_of_pairs(graph: Dag, data: st.DataObject) -> None:
    """Against the CPDAGs written out as what joins each pair."""
    count = data.draw(st.integers(0, len(graph.arcs)))
    other = Dag.from_arcs(graph.schema, data.draw(st.permutations(graph.arcs))[:count])
    one, two = _joins(cpdag(graph)), _joins(cpdag(other))
    assert structural_hamming_distance(graph, other) == len({frozenset(pair) for _, pair in one ^ two})
    assert (structural_hamming_distance(graph, other) == 0) == equivalent(graph, other)


@given(dags(max_variables=6, max_parents=4), st.data())
def test_removed_arcs_are_that_many_changes_at_least(graph: Dag, data: st.DataObject) -> None:
    """Removing k arcs needs k changes exactly: the neighbours differ by k pairs, and k are enough."""
    assume(graph.arcs)
    kept = data.draw(st.lists(st.sampled_from(graph.arcs), unique=True))
    assert arc_changes(graph, Dag.from_arcs(graph.schema, kept)) == len(graph.arcs) - len(kept)


def test_the_order_of_the_schema_does_not_matter() -> None:
    first, second = random_dag(12, 0.3, 3, rng=1), random_dag(12, 0.3, 3, rng=2)
    turned = Dag.from_arcs(Schema(second.schema.variables[::-1]), second.arcs)
    assert arc_changes(first, turned) == arc_changes(first, second)
    assert structural_hamming_distance(first, turned) == structural_hamming_distance(first, second)


def test_complete_graphs_differ_from_any_other_by_what_it_lacks() -> None:
    """A complete graph has an equivalent along every order, so no arc need be turned: n!, not listed."""
    complete = random_dag(14, 1.0, None)
    for seed in range(5):
        other = _shuffled(random_dag(14, 0.5, None, rng=seed), np.random.default_rng(seed))
        assert arc_changes(complete, other) == len(complete.arcs) - len(other.arcs)


def test_a_wide_class_over_many_variables() -> None:
    """A hidden root and its mirror images: any of 200 children may be the root instead."""
    schema = Schema(tuple(Variable(f"X{i}", (0, 1)) for i in range(200)))
    wide = naive_bayes(schema, "H", 2)
    turned = Dag.from_arcs(wide.schema, [("X7", "H"), *(arc for arc in wide.arcs if arc != ("H", "X7"))])
    assert arc_changes(wide, turned) == 0
    # Two children made parents are a collider: one of the two arcs must be turned round.
    collider = [("X1", "H"), ("X2", "H"), *(arc for arc in wide.arcs if arc[1] not in ("X1", "X2"))]
    assert arc_changes(wide, Dag.from_arcs(wide.schema, collider)) == 1


def test_too_many_choices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distance, "MAX_TRIALS", 3)
    with pytest.raises(GraphError, match=r"not found within 3 trials.*structural_hamming_distance"):
        arc_changes(dag("A -> B -> C -> D"), dag("A -> B -> C -> D"))


@pytest.mark.parametrize("measure", [arc_changes, structural_hamming_distance])
def test_graphs_over_other_variables_do_not_compare(measure: object) -> None:
    assert callable(measure)
    with pytest.raises(GraphError, match="only the first has 'B'"):
        measure(dag("A -> B"), dag("A"))


def _code(names: Iterable[str], arcs: Iterable[Arc]) -> list[int]:
    """What joins each pair of variables, so that changes are places in which two codes differ."""
    present, listed = set(arcs), list(names)
    return [
        1 if (a, b) in present else 2 if (b, a) in present else 0 for a, b in product(listed, listed) if a < b
    ]


def _renamed(found: Cpdag, order: tuple[str, ...]) -> Cpdag:
    to = dict(zip("ABCD", order, strict=True))
    return Cpdag(
        found.names,
        frozenset((to[a], to[b]) for a, b in found.compelled),
        frozenset(frozenset(to[name] for name in pair) for pair in found.reversible),
    )


def _shuffled(graph: Dag, rng: np.random.Generator) -> Dag:
    """The graph with its variables' names dealt out anew."""
    to = dict(zip(graph.names, rng.permutation(graph.names), strict=True))
    return Dag.from_arcs(graph.schema, [(str(to[a]), str(to[b])) for a, b in graph.arcs])


def _joins(found: Cpdag) -> set[tuple[str, Arc | frozenset[str]]]:
    return {("compelled", arc) for arc in found.compelled} | {
        ("reversible", pair) for pair in found.reversible
    }
