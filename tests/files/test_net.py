"""Hugin NET: what is read, what is written, and what is said of a file that is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lacunary.data.schema import Schema, Variable
from lacunary.errors import FileError
from lacunary.files import net
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from tests.files.samples import NET, NET_CLASS, PARENTS, STATES, TABLES, changed, marked


@pytest.mark.parametrize("text", [NET, NET_CLASS], ids=["net", "class"])
def test_everything_the_language_has_is_read(text: str) -> None:
    network = net.parse(text)
    assert {v.name: v.states for v in network.dag.schema} == STATES
    assert dict(zip(network.dag.names, network.dag.parents, strict=True)) == PARENTS
    for name, table in TABLES.items():
        np.testing.assert_array_equal(network.table(name), table)


WRONG = [
    (('("0" "1")', '("0" ¶"0")'), "the state '0' is declared twice"),
    (("= (0.25 0.75)", "= ¶0.25 0.75"), "expected '(', but found '0.25'"),
    (("(0.25 0.75)", "(0.25) ¶(0.75)"), "expected ';', but found '('"),
    (("(0.25 0.75)", "(0.25 (0.75)¶"), "expected ')', but found ';'"),
    (("(0.25 0.75)", "(0.25 ¶half)"), "expected a number that is not negative, but found 'half'"),
    (("(0.25 0.75)", "(¶0.25 0.5 0.25)"), "the potential of 'rain' needs 2 values, not 3"),
    (("( rain ) { data = (0.25 0.75); }", "( ¶rain ) { }"), "'rain' has no data"),
    (("( sprinkler | rain )", "( sprinkler ¶rain )"), "expected '|' or ')'"),
    (("( sprinkler | rain )", "( sprinkler | ¶snow )"), "there is no variable 'snow'"),
    (("(50 50);\n  name", "(50 50);\n  name = 1; ¶name"), "'name' is given twice"),
    (("node_size = (50 50)", "node_size ¶(50 50)"), "expected '=', but found '('"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("¶", "expected 'net' or 'class', but the text ends here"),
        ("¶node a {}", "expected 'net' or 'class', but found 'node'"),
        ("net {} ¶decision d { }", "a decision node; only discrete chance nodes"),
        ("net {} ¶edge e { }", "expected 'node' or 'potential', but found 'edge'"),
        ("net {} node ¶a { }", "the node 'a' has no states"),
        ("net {} node a { states = ¶3; }", "between '(' and ')'"),
        (NET_CLASS.rstrip("}\n") + "¶", "but the text ends here; is the file cut short?"),
        *((changed(NET, change), message) for change, message in WRONG),
    ],
)
def test_an_error_says_what_and_where(text: str, message: str) -> None:
    text, where = marked(text)
    with pytest.raises(FileError, match=f"^{where}.*{re.escape(message)}"):
        net.parse(text)


def test_parentheses_may_be_nested_beyond_any_stack() -> None:
    deep = "(" * 100_000 + "0.25 0.75" + ")" * 100_000
    assert net.parse(changed(NET, ("(0.25 0.75)", deep))).table("rain").tolist() == [0.25, 0.75]


def test_states_are_quoted_and_names_that_do_not_fit_are_refused() -> None:
    def written(name: str, state: str) -> str:
        dag = Dag.from_parents(Schema((Variable(name, (state, 1)),)), {})
        return net.write(Network.from_tables(dag, {name: [0.5, 0.5]}))

    assert 'states = ("a b; %" "1");' in written("x", "a b; %")
    assert net.parse(written("x", "a b; %")).dag.schema["x"].states == ("a b; %", "1")
    with pytest.raises(FileError, match=r"the name 'a b'.*\.bif or \.json"):
        written("a b", "s")
    for state in ('"', "a\n", "C:\\"):
        with pytest.raises(FileError, match=r"cannot hold the state.*\.json"):
            written("x", state)
