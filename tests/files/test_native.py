"""The native format: nothing is lost, and nothing unknown is let in."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacunary.data.schema import Schema, Variable
from lacunary.errors import FileError
from lacunary.files import Record, decode, encode, register
from lacunary.files.native import _FORMS, parse, write
from lacunary.infer.belief import Belief, bdeu
from lacunary.infer.network import Network, random_network
from lacunary.model.dag import Dag
from tests.files.samples import JSON, PARENTS, STATES, TABLES

MIXED = Schema(
    (
        Variable("labels", ("one", 1, 2.5, -0.0, "true", 'ä\ud800\n"')),
        Variable("flags", (True, False), hidden=True),
        Variable("grades", ("low", "mid", "high"), ordered=True),
        Variable("height", kind="continuous", bounds=(0.1, inf)),
        Variable("weight", kind="continuous", bounds=(-inf, 3.0), hidden=True),
        Variable("age", kind="continuous"),
    )
)
TIED = Dag.from_arcs(
    Schema(tuple(Variable(name, (0, 1)) for name in "HABC")),
    [("H", "A"), ("H", "B"), ("H", "C")],
    tied=[("B", "A")],
)


def test_the_documented_form_is_read() -> None:
    network = parse(JSON)
    assert {v.name: v.states for v in network.dag.schema} == STATES
    assert dict(zip(network.dag.names, network.dag.parents, strict=True)) == PARENTS
    for name, table in TABLES.items():
        np.testing.assert_array_equal(network.table(name), table)


def test_the_examples_of_the_documentation_are_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "native-format.md").read_text()
    network, schema, birds = (parse(text) for text in re.findall(r"```json\n(.*?)```", page, re.DOTALL))
    assert birds.regression("length").coefficients.tolist() == [[20.0], [18.0]]
    assert birds.regression("length").variance.tolist() == [9.0, 16.0]
    # As the page says: p(n | 1), p(y | 1), p(n | 2), p(y | 2); and the innermost index is budget's own.
    assert network.table("immigration").tolist() == [[0.5, 0.5], [0.125, 0.875]]
    assert network.table("budget")[0, 1].tolist() == [0.5, 0.25, 0.25]
    assert network.dag.schema.hidden == ("bloc",)
    assert schema["height"].bounds == (0, inf)


def test_schemas_keep_kinds_bounds_flags_and_the_types_of_labels() -> None:
    again = parse(write(MIXED))
    assert again == MIXED
    for variable, before in zip(again, MIXED, strict=True):
        assert list(map(repr, variable.states)) == list(map(repr, before.states))


def test_graphs_keep_the_order_of_parents_and_the_tied_groups() -> None:
    assert parse(write(TIED)) == TIED
    swapped = Dag.from_parents(MIXED, {"labels": ["grades", "flags"], "age": ["height", "labels"]})
    assert parse(write(swapped)) == swapped


def test_networks_and_beliefs_keep_every_bit() -> None:
    network = random_network(TIED, rng=3)
    belief = Belief(TIED, bdeu(1 / 3)(TIED).alpha * np.pi)
    assert np.array_equal(parse(write(network)).theta, network.theta)
    again = parse(write(belief))
    assert isinstance(again, Belief)
    assert again.dag == TIED
    assert np.array_equal(again.alpha, belief.alpha)


def test_numbers_at_the_edge_of_floating_point_survive() -> None:
    dag = Dag.from_parents(Schema((Variable("x", tuple("abcd")),)), {})
    theta = np.array([5e-324, 1 - 2**-53, 2.2250738585072014e-308, 1.1102230246251565e-16])
    assert np.array_equal(parse(write(Network(dag, theta))).theta, theta)


def test_an_empty_schema_and_its_network_are_legal() -> None:
    empty = Network(Dag(Schema(()), ()), np.empty(0))
    assert len(parse(write(empty)).dag.schema) == 0


def edited(change: Callable[[dict[str, Any]], object]) -> str:
    document = json.loads(JSON)
    change(document)
    return json.dumps(document)


def variables(document: dict[str, Any]) -> Any:
    return document["dag"]["schema"]["variables"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("lacunary"), "the document: there is no field 'lacunary'"),
        (lambda d: d.update(lacunary="netwerk"), "lacunary: expected schema, dag, network, belief"),
        (lambda d: d.update(lacunary=["network"]), "lacunary: expected a text"),
        (lambda d: d.update(version=2), "version: this reads version 1 of a network, not 2"),
        (lambda d: d.update(version=True), "version: expected a whole number, not True"),
        (lambda d: d.update(colour="red"), "colour: this field is not known here"),
        (lambda d: d.update(dag=d["dag"]["schema"]), "dag.lacunary: expected dag; not 'schema'"),
        (lambda d: d.update(dag=[]), r"dag: expected an object, not \[\]"),
        (lambda d: d["dag"].update(lacunary="dag", version=0), r"dag.version: this reads version 1"),
        (lambda d: d["dag"]["parents"].pop("rain"), "dag.parents: there is no field 'rain'"),
        (lambda d: d["dag"]["parents"].update(snow=[]), "dag.parents.snow: this field is not known"),
        (lambda d: d["dag"]["parents"].update(rain=["3"]), "dag: the arcs make a cycle"),
        (lambda d: d["dag"]["parents"].update(rain=[3]), "dag.parents.rain: expected a list of texts"),
        (lambda d: d["dag"].update(tied=[["rain", 3]]), "dag.tied: expected lists of names"),
        (
            lambda d: d["dag"].update(tied=[["rain", "sprinkler"]]),
            "dag: tied families need tables of one shape",
        ),
        (lambda d: variables(d).append(3), r"dag.schema.variables\[3\]: expected an object"),
        (lambda d: variables(d)[0].update(hidden=1), r"variables\[0\].hidden: expected true or false, not 1"),
        (lambda d: variables(d)[0].update(kind="real"), r"variables\[0\].kind: expected 'discrete'"),
        (lambda d: variables(d)[0].update(states=["a", None]), r"variables\[0\].states: expected texts"),
        (
            lambda d: variables(d)[0].update(states=["a", "a"]),
            r"variables\[0\].states: a state is declared twice",
        ),
        (lambda d: variables(d)[0].update(states=[]), "dag.schema: rain: a discrete variable needs"),
        (lambda d: variables(d)[0].update(bounds=[0]), r"variables\[0\].bounds: expected two finite numbers"),
        (
            lambda d: variables(d)[0].update(bounds=[0, 10**400]),
            r"variables\[0\].bounds: expected two finite",
        ),
        (lambda d: variables(d)[0].update(name="3"), "dag.schema: two variables are called '3'"),
        (lambda d: d["tables"].update(rain=[1]), "tables.rain: expected 2 numbers, not 1"),
        (lambda d: d["tables"].update(rain=["1", "0"]), "tables.rain: expected numbers only"),
        (lambda d: d["tables"].update(rain=[True, False]), "tables.rain: expected numbers only"),
        (lambda d: d["tables"].update(rain=[10**400, 0]), "tables.rain: a number is too large"),
        (lambda d: d["tables"].update(rain=[-1, 2]), "the table of rain holds what is not a probability"),
        (
            lambda d: d["tables"].update(rain=[0.5, 0.4]),
            r"rain sums to 0\.9, which misses one by 0\.1; .*renorm",
        ),
    ],
)
def test_an_error_says_what_and_where(change: Callable[[dict[str, Any]], object], message: str) -> None:
    with pytest.raises(FileError, match=message):
        parse(edited(change))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: "),
        (JSON[:200], r"line \d+, column \d+: "),
        ("[]", "expected an object with a field 'lacunary'"),
        ('{"a": NaN}', "NaN is not a number"),
        ('{"a": -Infinity}', "-Infinity is not a number"),
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ("[" * 100_000, "too deep"),
        ('{"a":' * 100_000, "too deep"),
        ('{"a": 1' + "0" * 5000 + "}", "digits"),
        (JSON.replace("0.25,", "1e999,", 1), "a number is too large"),
    ],
)
def test_text_that_is_not_our_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        parse(text)


def test_sums_can_be_scaled_and_the_rest_stays_as_it_is() -> None:
    network = parse(edited(lambda d: d["tables"].update(rain=[1, 3])), renormalize=True)
    assert network.table("rain").tolist() == [0.25, 0.75]
    assert np.array_equal(network.table("3"), TABLES["3"])
    with pytest.raises(FileError, match="rain"):
        parse(edited(lambda d: d["tables"].update(rain=[0, 0])), renormalize=True)


@pytest.mark.parametrize(
    ("variables", "message"), [(30, "1073741824 values"), (60, "over 60 variables"), (20_000, "over 20000")]
)
def test_a_huge_table_is_refused_before_it_is_made(variables: int, message: str) -> None:
    document = encode(
        Dag.from_parents(Schema(tuple(Variable(f"v{i}", (0, 1)) for i in range(variables))), {})
    )
    document["parents"]["v0"] = [f"v{i}" for i in range(1, variables)]
    network = {"lacunary": "network", "version": 1, "dag": document, "tables": {"v0": [1.0]}}
    with pytest.raises(FileError, match=rf"tables\.v0: .*{message}"):
        parse(json.dumps(network))


@pytest.mark.parametrize(
    "thing",
    [
        3,
        Schema((Variable("x", (nan,)),)),
        Schema((Variable("x", kind="continuous", bounds=(nan, 1)),)),
        Schema((Variable("x", (np.int64(1),)),)),  # type: ignore[arg-type]
        Network(TIED, np.full(TIED.layout.size, 0.4)),
        Network(TIED, np.full(TIED.layout.size, nan)),
    ],
)
def test_what_could_not_be_read_back_is_not_written(thing: object) -> None:
    with pytest.raises(FileError):
        write(thing)


@dataclass(frozen=True)
class Pair:
    """A noun made of others, as fits are."""

    dag: Dag
    weights: tuple[float, ...]


@pytest.fixture
def pair() -> Any:
    before = copy.copy(_FORMS)
    register(
        "pair",
        Pair,
        lambda pair: {"dag": encode(pair.dag), "weights": list(pair.weights)},
        lambda record: Pair(decode(record.record("dag"), Dag), tuple(record.numbers("weights").tolist())),
    )
    yield Pair(TIED, (0.1, 1 / 3))
    _FORMS.clear()
    _FORMS.update(before)


def test_a_further_noun_can_be_taught(pair: Pair) -> None:
    assert parse(write(pair)) == pair
    with pytest.raises(FileError, match=r"dag\.lacunary: expected dag; not 'pair'"):
        parse(json.dumps(encode(pair) | {"dag": encode(pair)}))


def test_a_record_gives_single_numbers_and_says_what_else_it_found() -> None:
    record = Record({"n": 3, "x": 0.5, "deep": {"y": "z"}})
    assert record.number("n") == 3.0
    assert record.number("x") == 0.5
    assert record.integer("n") == 3
    with pytest.raises(FileError, match=r"^deep.y: expected numbers only"):
        record.record("deep").number("y")
