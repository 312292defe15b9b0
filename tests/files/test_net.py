"""Hugin NET: what is read, what is written, and what is said of a file that is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lacunary.data.schema import Schema, Variable
from lacunary.errors import FileError
from lacunary.files import net
from lacunary.infer.network import Network, random_network
from lacunary.model.dag import Dag
from tests.files.samples import NET, NET_CLASS, NET_NORMAL, PARENTS, STATES, TABLES, changed, marked


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
        ("net {} ¶decision d { }", "a decision node; only chance nodes"),
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


def test_conditional_gaussian_networks_are_read_as_hugin_writes_them() -> None:
    network = net.parse(NET_NORMAL)
    assert [v.kind for v in network.dag.schema] == ["discrete", "continuous", "continuous", "discrete"]
    np.testing.assert_array_equal(network.table("effect"), [[-1.5, 2, 0.25], [-0.3, 0.5, 10]])
    np.testing.assert_array_equal(network.table("dose"), [10, 4])
    answer = network.query("effect", given={"group": "a"})
    # −1.5 + 2 · 10, and 0.25 + 2² · 4
    assert (float(answer.mean), float(answer.sd) ** 2) == pytest.approx((18.5, 16.25), rel=1e-12)
    again = net.parse(net.write(network))
    assert again.dag.schema == network.dag.schema
    np.testing.assert_array_equal(again.theta, network.theta)


@pytest.mark.parametrize("seed", range(5))
def test_conditional_gaussian_round_trips_lose_nothing(seed: int) -> None:
    variables = [Variable("d", ("x", "y z")), Variable("e", ("0", "1", "2"))]
    variables += [Variable(name, kind="continuous") for name in ("u", "v", "w_1")]
    parents = {"e": ["d"], "u": ["d"], "v": ["u", "e", "d"], "w_1": ["v", "u"]}
    network = random_network(Dag.from_parents(Schema(tuple(variables)), parents), rng=seed)
    again = net.parse(net.write(network))
    assert again.dag.parents == network.dag.parents
    np.testing.assert_array_equal(again.theta, network.theta)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("normal ( 10, 4 )", "normal ( 10, 0 )", "a positive number for the variance"),
        ("normal ( 10, 4 )", "normal ( 10, 1e999 )", "a positive number for the variance"),
        ("normal ( 10, 4 )", "normal ( 10 )", "a positive number for the variance"),
        ("normal ( 10, 4 )", "normal ( 1e999, 4 )", "too large"),
        (
            "normal ( 10, 4 )",
            "normal ( 10 + effect, 4 )",
            "'effect' is in the mean, but is no continuous parent",
        ),
        ("normal ( 10, 4 )", "normal ( 10 10, 4 )", "no sum of numbers and parents"),
        ("normal ( 10, 4 )", "normal ( , 4 )", "no sum of numbers and parents"),
        ("normal ( 10, 4 )", "normal 10", r"expected '\('"),
        ("normal ( 10, 4 )", "((normal ( 10, 4 ))", r"expected '\)'"),
        ("normal ( 10, 4 )", "beta ( 10, 4 )", "expected 'normal"),
        ("normal ( 10, 4 )", "(normal ( 10, 4 ) normal ( 10, 4 ))", "needs 1 densities, not 2"),
        ("( better | group )", "( better | dose )", "'better' is discrete, and its parents must be so"),
        ("continuous node dose", "utility node dose", "only chance nodes"),
    ],
)
def test_wrong_densities_are_named(old: str, new: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        net.parse(NET_NORMAL.replace(old, new, 1))


def test_names_that_a_mean_cannot_hold_and_other_families_are_refused() -> None:
    schema = Schema((Variable("a-b", kind="continuous"), Variable("c", kind="continuous")))
    network = random_network(Dag.from_parents(schema, {"c": ["a-b"]}), rng=0)
    with pytest.raises(FileError, match="cannot hold 'a-b' in a mean"):
        net.write(network)
