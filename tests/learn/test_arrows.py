"""Arrows where a graph is expected: the graph that they draw over the table's columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lacunary as lac

FRAME: dict[str, list[Any]] = {
    "a": ["x", "y", "x", "z", None, "y"],
    "b": ["no", "yes", "no", None, "yes", "yes"],
    "c": [1.5, 2.5, 1.0, None, 3.0, 2.0],
}
VERBS: dict[str, Callable[[Any], Any]] = {
    "fit": lambda model: lac.fit(model, FRAME).network.theta,
    "score": lambda model: lac.score(model, FRAME, "bic").value,
    "compare": lambda model: lac.compare([model], FRAME, ["bic"]).values("bic"),
    "posterior_mean": lambda model: lac.posterior_mean(model, FRAME, draws=10, burn=10).network.theta,
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("arrows", ["a -> b", "b -> c"])
def test_arrows_are_the_graph_over_the_named_columns(verb: str, arrows: str) -> None:
    schema = lac.read(FRAME).schema
    named = lac.Schema(tuple(v for v in schema if v.name in arrows.split()))
    expected = VERBS[verb](lac.dag(arrows, schema=named))
    assert np.array_equal(VERBS[verb](arrows), expected)


def test_states_are_the_tables() -> None:
    found = lac.fit("a -> b", FRAME)
    assert found.dag.schema["a"].states == ("x", "y", "z")
    assert found.dag.names == ("a", "b")


def test_models_that_are_compared_share_all_columns_that_any_of_them_names() -> None:
    found = lac.compare({"one": "a -> b", "two": "b; c"}, FRAME, ["bic"])
    assert all(dag.names == ("a", "b", "c") for dag in found.models.values())


def test_the_dimension_of_arrows_is_that_of_binary_variables() -> None:
    assert lac.dimension("A -> B").rank == lac.dimension(lac.dag("A -> B")).rank == 3


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_wrong_is_named(verb: str) -> None:
    with pytest.raises(lac.SchemaError, match=r"H is not in the schema(.|\n)*hidden=\{'H': 2\}"):
        VERBS[verb]("H -> a b")
    with pytest.raises(lac.GraphError, match="is no arrow"):
        VERBS[verb]("a >> b")
