from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lacunary.data.schema import Schema, Variable
from lacunary.data.table import Table
from lacunary.errors import GraphError, LacunaryError, ParameterError, SchemaError
from lacunary.model.make import dag, naive_bayes, random_dag

VOTES = Schema((Variable("x", ("n", "y")), Variable("y", ("n", "y")), Variable("z", (0, 1, 2))))


def test_variables_stand_in_the_order_of_first_appearance() -> None:
    graph = dag("A -> C <- H -> D <- B", states=2, hidden=["H"])
    assert graph.names == ("A", "C", "H", "D", "B")
    assert graph.schema.hidden == ("H",)
    assert graph.parents_of("C") == ("A", "H")
    assert graph.parents_of("D") == ("H", "B")


def test_states() -> None:
    assert dag("A -> B").schema.sizes == (2, 2)
    assert dag("A -> B", states=3).schema["A"].states == (0, 1, 2)
    assert dag("A -> B", states=["lo", "hi"]).schema["B"].states == ("lo", "hi")
    mixed = dag("A -> B; C", states={"A": 3, "B": ["no", "yes"]}).schema
    assert [v.states for v in mixed] == [(0, 1, 2), ("no", "yes"), (0, 1)]
    assert dag("A", states=1).schema.sizes == (1,)
    assert dag("A", states=np.int64(3)).schema["A"].states == (0, 1, 2)  # type: ignore[arg-type]


def test_hidden_by_name_or_with_states() -> None:
    assert dag("H -> A", hidden="H").schema.hidden == ("H",)
    graph = dag("H -> A; G -> A", states=3, hidden={"H": 4, "G": ["u", "v"]}).schema
    assert graph.hidden == ("H", "G")
    assert graph.sizes == (4, 3, 2)


def test_kinds() -> None:
    mixture = dag("H -> X Y", kinds="continuous", hidden={"H": 3}).schema
    assert [v.kind for v in mixture] == ["discrete", "continuous", "continuous"]
    assert [v.kind for v in dag("A -> X", kinds={"X": "continuous"}).schema] == ["discrete", "continuous"]
    assert dag("H -> X", kinds="continuous", hidden="H").schema["H"].kind == "continuous"
    assert dag("A", kinds="discrete").schema.sizes == (2,)


def test_a_schema_gives_variables_order_and_states() -> None:
    graph = dag("z -> x", schema=VOTES)
    assert graph.schema == VOTES
    assert graph.arcs == (("z", "x"),)
    assert dag("", schema=VOTES).arcs == ()


def test_hidden_variables_join_a_schema_at_its_end() -> None:
    graph = dag("G H -> x y", schema=VOTES, states=4, hidden=["H", "G"])
    assert graph.names == ("x", "y", "z", "G", "H")
    assert graph.schema.sizes == (2, 2, 3, 4, 4)
    assert dag("H -> x", schema=VOTES, hidden={"H": 3}).schema["H"] == Variable("H", (0, 1, 2), hidden=True)
    assert dag("H -> x", schema=VOTES, hidden=["H"]).schema["H"].size == 2
    hidden = dag("z -> x", schema=VOTES, hidden=["z"])
    assert hidden.schema["z"] == Variable("z", (0, 1, 2), hidden=True)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"arrows": ""}, GraphError, "the arrows name no variable"),
        ({"arrows": "A -> B; B -> A"}, GraphError, "cycle: (A -> B -> A|B -> A -> B)"),
        ({"arrows": "A", "family": "probit"}, ParameterError, "A: there is no family 'probit'"),
        ({"arrows": "A", "family": {"Z": "sigmoid"}}, SchemaError, "no variable 'Z'"),
        ({"arrows": "A", "family": "sigmoid", "states": 3}, GraphError, "A has 3 state.*binary variables"),
        ({"arrows": "A", "family": "sigmoid", "kinds": "continuous"}, GraphError, "A is continuous: a sig"),
        ({"arrows": "A", "family": "regression"}, GraphError, "A is discrete: its family cannot be a regr"),
        (
            {"arrows": "A -> B", "family": {"B": "sigmoid"}, "kinds": {"A": "continuous"}},
            GraphError,
            "A is continuous and cannot be a parent of B",
        ),
        (
            {"arrows": "A -> B C", "family": {"B": "sigmoid"}, "tied": [["B", "C"]]},
            GraphError,
            "tied variables need one family: B, C",
        ),
        ({"arrows": "A", "states": {"B": 2}}, SchemaError, "'B' is described but not drawn"),
        ({"arrows": "A", "hidden": ["B"]}, SchemaError, "'B' is described but not drawn"),
        ({"arrows": "A", "kinds": {"B": "continuous"}}, SchemaError, "'B' is described but not drawn"),
        ({"arrows": "A", "states": 0}, SchemaError, "A: a discrete variable needs at least one state, not 0"),
        ({"arrows": "A", "states": True}, SchemaError, "A: states must be a number or a list of labels"),
        ({"arrows": "A", "states": {"A": "ab"}}, SchemaError, "A: states must be .* not 'ab'"),
        ({"arrows": "A", "states": {"A": ["u", "u"]}}, SchemaError, "'u' is declared twice"),
        ({"arrows": "A", "kinds": "gaussian"}, SchemaError, "kinds must be .* not 'gaussian'"),
        ({"arrows": "A", "kinds": {"A": "gaussian"}}, SchemaError, "A: kind must be"),
        ({"arrows": "A", "kinds": {"A": "continuous"}, "states": {"A": 2}}, SchemaError, "has no states"),
        (
            {"arrows": "A", "states": {"A": 2}, "hidden": {"A": 3}},
            SchemaError,
            "both in states and in hidden",
        ),
        (
            {"arrows": "X -> A", "kinds": {"X": "continuous"}},
            GraphError,
            "X is continuous and cannot be a parent",
        ),
        (
            {"arrows": "x -> w", "schema": VOTES},
            SchemaError,
            r"w is not in the schema.*column 6\)\n.*\n {7}\^",
        ),
        ({"arrows": "x", "schema": VOTES, "states": {"x": 2}}, SchemaError, "x come from the schema"),
        ({"arrows": "x", "schema": VOTES, "hidden": {"x": 2}}, SchemaError, "x come from the schema"),
        ({"arrows": "x", "schema": VOTES, "kinds": {"x": "discrete"}}, SchemaError, "x come from the schema"),
        ({"arrows": "x", "schema": VOTES, "hidden": ["H"]}, SchemaError, "'H' is described but not drawn"),
        ({"arrows": "x", "schema": VOTES, "states": {"H": 2}}, SchemaError, "'H' is described but not drawn"),
    ],
)
def test_what_dag_refuses(arguments: dict[str, Any], error: type[LacunaryError], message: str) -> None:
    with pytest.raises(error, match=message):
        dag(**arguments)


def test_naive_bayes() -> None:
    graph = naive_bayes(VOTES, hidden="bloc", states=4)
    assert graph.names == ("x", "y", "z", "bloc")
    assert graph.schema["bloc"] == Variable("bloc", (0, 1, 2, 3), hidden=True)
    assert graph.parents == (("bloc",), ("bloc",), ("bloc",), ())
    assert graph == naive_bayes(Table(VOTES, np.zeros((1, 3), dtype=np.int8)), "bloc", 4)
    assert naive_bayes(VOTES, "bloc", ["left", "right"]).schema["bloc"].states == ("left", "right")
    assert naive_bayes(VOTES, "bloc", 1).schema["bloc"].size == 1


def test_naive_bayes_leaves_other_hidden_variables_alone() -> None:
    assert naive_bayes(VOTES.hide(["y"]), "bloc", 2).children_of("bloc") == ("x", "z")


def test_what_naive_bayes_refuses() -> None:
    with pytest.raises(SchemaError, match="'x' is a variable already"):
        naive_bayes(VOTES, "x", 2)
    with pytest.raises(GraphError, match="no observed variable"):
        naive_bayes(VOTES.hide(["x", "y", "z"]), "bloc", 2)
    with pytest.raises(SchemaError, match="at least one state, not 0"):
        naive_bayes(VOTES, "bloc", 0)


def test_random_dag_has_as_many_arcs_as_its_probability_says() -> None:
    """Without a limit on parents the arcs are Binomial(n(n − 1)/2, p)."""
    pairs, p = 400 * 399 // 2, 1 / 3
    graph = random_dag(400, p, None, rng=0)
    # Five standard deviations: a right answer fails for one seed in two million.
    assert abs(len(graph.arcs) - pairs * p) < 5 * np.sqrt(pairs * p * (1 - p))
    place = graph.schema.index
    assert all(place(tail) < place(head) for tail, head in graph.arcs)


def test_random_dag_keeps_a_uniform_subset_of_too_many_parents() -> None:
    """With every arc drawn, each of 9 earlier variables is among the last one's 4 parents with p = 4/9."""
    graphs = [random_dag(10, 1.0, 4, rng=seed) for seed in range(2000)]
    assert {len(graph.parents_of("X10")) for graph in graphs} == {4}
    assert all(len(graph.parents[i]) == min(i, 4) for i in range(10) for graph in graphs[:5])
    shares = [np.mean([name in graph.parents_of("X10") for graph in graphs]) for name in graphs[0].names[:9]]
    # Five standard deviations of a share of 2000.
    assert np.allclose(shares, 4 / 9, atol=5 * np.sqrt(4 / 9 * 5 / 9 / 2000), rtol=0)


def test_random_dag_draws_the_number_of_states_evenly_ends_included() -> None:
    sizes = np.array(random_dag(3000, 0.0, 4, rng=1).schema.sizes)
    counts = np.bincount(sizes, minlength=5)
    assert counts[:2].sum() == 0
    # Five standard deviations of a count of 3000 with p = 1/3.
    assert np.allclose(counts[2:], 1000, atol=5 * np.sqrt(3000 * 2 / 9), rtol=0)
    assert set(random_dag(5, 0.5, 2, states=3).schema.sizes) == {3}


def test_random_dag_names_and_seeds() -> None:
    assert random_dag(3, 0.5, 2).names == ("X1", "X2", "X3")
    assert random_dag(["a", "b"], 1.0, 2).arcs == (("a", "b"),)
    assert random_dag(12, 0.5, 4, rng=3) == random_dag(12, 0.5, 4, rng=np.random.default_rng(3))
    assert random_dag(12, 0.5, 4, rng=3) != random_dag(12, 0.5, 4, rng=4)
    assert random_dag(12, 0.5, 4) == random_dag(12, 0.5, 4, rng=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.5, 2), "at least one variable"),
        ((3, 1.5, 2), "arc_probability must lie between 0 and 1, not be 1.5"),
        ((3, float("nan"), 2), "arc_probability"),
        ((3, 0.5, -1), "max_parents must not be negative"),
        ((3, 0.5, 2, (3, 2)), "1 ≤ least ≤ most"),
        ((3, 0.5, 2, 0), "1 ≤ least ≤ most"),
        ((["a", "a"], 0.5, 2), "two variables are called 'a'"),
    ],
)
def test_what_random_dag_refuses(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(LacunaryError, match=message):
        random_dag(*arguments)
