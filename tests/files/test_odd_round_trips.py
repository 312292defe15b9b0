"""Names and states of every kind through every format and every library: as they were, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.files import bif, dne, dsc, native, net, uai, xdsl, xmlbif

ODD = (
    "a b", " a", "a ", "", " ", "\t", "a\nb", "a\r\nb", 'say "so"', '"', '""', "'", "it's", "a,b", ",", ";",
    "a;b", "|", "a|b", "(", ")", "(a)", "[a]", "{", "}", "{x}", "$", "$x$", "%", "% a", "//", "// a", "/*",
    "*/", "/* a */", "#", "#: {", "\\", "a\\", '\\"', "\\n", "&", "&amp;", "<", ">", "<b>", "</b>", "]]>",
    "<!--", "-->", "שלום", "كلمة", "\u202eabc", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "é", "é",
    "日本語", "0", "1", "12", "007", "1e5", "-1", "0.5", "nan", "None", "True", "null", "default", "table",
    "node", "states", "variable", "network", "probability", "type", "property", "discrete", "data",
    "potential", "parents", "probs", "BAYES", "x0", "A", "a", "->", "a -> b", "=", ":", "a:b", "x" * 1000,
    "\u200b", "\xa0", "\ufeff", "\u2028", "\x85", "\x0b", "\x1f", "~", "^", "`", "?", "!",
)  # fmt: skip
"""Texts that are, or look like, something else in one language or another."""

words = st.sampled_from(ODD) | st.text(max_size=4)
labels = words | st.integers(-3, 10**6) | st.booleans() | st.floats(-1e9, 1e9)


@st.composite
def odd(draw: st.DrawFn) -> lac.Network:
    """Two parents, of two states and three, and their child of two."""
    names = draw(st.lists(words.filter(bool), unique=True, min_size=3, max_size=3))
    states = [
        draw(st.lists(labels, unique_by=(str, lambda label: label), min_size=size, max_size=size))
        for size in (2, 3, 2)
    ]
    return network(names, states, ordered=draw(st.booleans()), hidden=draw(st.booleans()))


def network(
    names: list[str], states: list[list[Any]], ordered: bool = False, hidden: bool = False
) -> lac.Network:
    first, *others = (lac.Variable(name, tuple(own)) for name, own in zip(names, states, strict=True))
    first = replace(first, ordered=ordered, hidden=hidden)
    dag = lac.Dag(lac.Schema((first, *others)), ((), (), (names[0], names[1])))
    return lac.random_network(dag, rng=3)


def same(again: lac.Network, before: lac.Network, exact: bool, atol: float = 0.0) -> None:
    """Names, parents, states and tables as they were; ``exact`` holds all that is known of variables."""
    assert set(again.dag.names) == set(before.dag.names)
    for variable in before.dag.schema:
        name, states = variable.name, again.dag.schema[variable.name].states
        assert again.dag.parents_of(name) == before.dag.parents_of(name)
        assert repr(states) == repr(variable.states if exact else tuple(map(str, variable.states)))
        np.testing.assert_allclose(again.table(name), before.table(name), rtol=0, atol=atol)
    if exact:
        assert {repr(v) for v in again.dag.schema} == {repr(v) for v in before.dag.schema}


MODULES = {m.__name__.rpartition(".")[2]: m for m in (bif, dne, dsc, native, net, uai, xdsl, xmlbif)}


def through(module: Any, before: lac.Network) -> bool:
    """Check that a network comes back; tell whether it was not refused."""
    try:
        text = module.write(before)
        (text if isinstance(text, bytes) else text.encode()).decode()
    except UnicodeEncodeError:  # half a pair of UTF-16 is no text
        return False
    except lac.FileError:
        if module in (native, uai):
            raise
        return False
    same(module.parse(text), before, exact=module in (native, uai))
    return True


PLAIN = [["u", "v"], ["u", "v", "w"], ["u", "v"]]
HELD = {"bif": 97, "xmlbif": 92, "net": 67, "dsc": 23, "xdsl": 23, "dne": 22, "uai": 103, "native": 103}
"""How many of the odd texts can be names at least."""


@pytest.mark.parametrize("language", MODULES)
def test_every_odd_text_as_a_name_and_as_a_state(language: str) -> None:
    module = MODULES[language]
    named = sum(through(module, network([text, "q", "r"], PLAIN)) for text in ODD if text)
    assert named >= HELD[language]
    stated = sum(through(module, network(["p", "q", "r"], [[text, "vv"], *PLAIN[1:]])) for text in ODD)
    assert stated >= named


@settings(max_examples=30)
@given(before=odd())
def test_files(before: lac.Network) -> None:
    for module in MODULES.values():
        through(module, before)


OBJECTS: dict[str, tuple[Callable[[lac.Network], Any], Callable[[Any], lac.Network], bool]] = {
    "pgmpy": (lambda network: network.to_pgmpy(), lac.from_pgmpy, True),
    "pyagrum": (lambda network: network.to_pyagrum(), lac.from_pyagrum, False),
}


@pytest.mark.filterwarnings("ignore:.* does not keep")
@pytest.mark.parametrize("library", OBJECTS)
@settings(max_examples=20)
@given(before=odd())
def test_objects(library: str, before: lac.Network) -> None:
    pytest.importorskip(library)
    there, back, exact = OBJECTS[library]
    again = back(there(before))
    # pgmpy and pyAgrum scale tables again, by what rounding leaves.
    plain = lac.Network(lac.Dag(bare(before.dag.schema), before.dag.parents), np.array(before.theta))
    same(again, plain, exact, atol=1e-15)


def bare(schema: lac.Schema) -> lac.Schema:
    """Variables without what only our own files know."""
    return lac.Schema(tuple(lac.Variable(v.name, v.states) for v in schema))


@settings(max_examples=40)
@given(before=odd())
def test_graphs(before: lac.Network) -> None:
    pytest.importorskip("networkx")
    dag = before.dag
    again = lac.from_networkx(dag.to_networkx())
    assert repr(again) == repr(dag)
    assert again == dag
    try:
        text = dag.to_modelstring()
    except lac.SchemaError:
        return
    assert lac.from_modelstring(text, dag.schema) == dag


def test_what_a_file_does_not_keep_is_said(tmp_path: Path) -> None:
    first = lac.Variable("h", (0, 1), hidden=True)
    second = lac.Variable("x", ("lo", "hi"), ordered=True)
    dag = lac.Dag(lac.Schema((first, second)), ((), ("h",)))
    network = lac.random_network(dag, rng=0)
    with pytest.warns(
        UserWarning, match=r"BIF does not keep what states of 'h' are.*'h' is hidden.*order of"
    ) as told:
        lac.save(network, tmp_path / "n.bif")
    assert told[0].filename == __file__
    lac.save(network, tmp_path / "n.uai")
    assert lac.load(tmp_path / "n.uai").dag == dag
    assert repr(lac.load(tmp_path / "n.uai").dag) == repr(dag)
    with pytest.warns(
        UserWarning, match=r"pyAgrum does not keep what states of 'h' are.*'h' is hidden"
    ) as told:
        network.to_pyagrum()
    assert told[0].filename == __file__
    tied = lac.random_network(lac.Dag.from_parents(dag.schema, {"x": [], "h": []}, tied=[("h", "x")]), rng=0)
    assert lac.from_networkx(tied.dag.to_networkx()) == tied.dag
    with pytest.warns(UserWarning, match="UAI does not keep that 'h and x' share a table"):
        lac.save(tied, tmp_path / "n.uai")


def test_what_pgmpy_does_not_keep_is_said() -> None:
    pytest.importorskip("pgmpy")
    schema = lac.Schema(
        (lac.Variable("h", (0, 1), hidden=True), lac.Variable("x", ("lo", "hi"), ordered=True))
    )
    network = lac.random_network(lac.Dag(schema, ((), ("h",))), rng=0)
    with pytest.warns(
        UserWarning, match=r"pgmpy does not keep that 'h' is hidden; the order of states of 'x'"
    ):
        again = lac.from_pgmpy(network.to_pgmpy())
    assert again.dag.schema["h"].states == (0, 1)


def test_networkx_keeps_units_bounds_and_families() -> None:
    kind: dict[str, Any] = {"kind": "continuous", "unit": "kg"}
    dag = lac.Dag(
        lac.Schema((lac.Variable("w", **kind), lac.Variable("v", **kind, bounds=(0.0, 2.0)))), ((), ())
    )
    again = lac.from_networkx(dag.to_networkx())
    assert again == dag
    assert [v.unit for v in again.schema] == ["kg", "kg"]


def test_remarks_of_uai_that_do_not_fit_are_refused() -> None:
    one, two = (uai.write(network(["a", "b", "c"], states)) for states in (PLAIN, [PLAIN[1], *PLAIN[1:]]))
    remarks = two[two.index(uai.REMARK) :]
    with pytest.raises(lac.FileError, match="other variables; delete them"):
        uai.parse(one[: one.index(uai.REMARK)] + remarks)
    with pytest.raises(lac.FileError):
        uai.parse(one.replace('"a"', "a", 1))
    bare_text = one[: one.index(uai.REMARK)]
    assert uai.parse(bare_text).dag.names == ("x0", "x1", "x2")
