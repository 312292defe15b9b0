"""BIF: what is read, what is written, and what is said of a file that is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lacunary.data.schema import Schema, Variable
from lacunary.errors import FileError
from lacunary.files import bif
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from tests.files.samples import BIF, PARENTS, STATES, TABLES, changed, marked


def test_everything_the_language_has_is_read() -> None:
    network = bif.parse(BIF)
    assert {v.name: v.states for v in network.dag.schema} == STATES
    assert dict(zip(network.dag.names, network.dag.parents, strict=True)) == PARENTS
    for name, table in TABLES.items():
        np.testing.assert_array_equal(network.table(name), table)


def test_a_table_with_parents_goes_over_the_childs_states_slowest() -> None:
    # Cozman's dog problem, in which p(light on | family out) = 0.6 and p(light on | family in) = 0.05.
    network = bif.parse("""
        variable light-on { type discrete[2] { true false }; }
        variable family-out { type discrete[2] { true false }; }
        probability ( light-on family-out ) { table 0.6 0.05 0.4 0.95; }
        probability ( family-out ) { table 0.15 0.85; }
    """)
    assert network.table("light-on").tolist() == [[0.6, 0.4], [0.05, 0.95]]


WRONG = [
    (("{ yes, no }", "{ yes, ¶yes }"), "the state 'yes' is declared twice"),
    (("[ 2 ] { yes, no }", "[ ¶3 ] { yes, no }"), "declared with 3 states, but 2 are listed"),
    (("type discrete [ 2 ] { yes", "type ¶real [ 2 ] { yes"), "expected 'discrete', but found 'real'"),
    (("variable 3", "variable ¶rain"), "the variable 'rain' is declared twice"),
    (("variable 3", 'variable ¶"3'), "this quote is not closed"),
    (("/* a number\nfor a name */", "¶/* a number\nfor a name"), "this comment is not closed"),
    (("0.25, 0.75", "¶0.25, 0.5, 0.25"), "this table needs 2 values, not 3"),
    (("0.25, 0.75", "0.25, ¶-0.75"), "expected a number that is not negative, but found '-0.75'"),
    (("0.25, 0.75", "0.25, ¶nan"), "expected a number"),
    (("0.25, 0.75", "0.25, ¶1e999"), "expected a number"),
    (("0.25, 0.75", "0.25, ¶0_75"), "expected a number"),
    (("table 0.25, 0.75;", "table¶;"), "needs 2 values, not 0"),
    (("table 0.25, 0.75", "¶tabel 0.25, 0.75"), "expected '(' or 'table'"),
    (("(yes) 1.0", "(¶maybe) 1.0"), "'rain' has no state 'maybe'"),
    (("(yes) 1.0", "(¶yes, no) 1.0"), "this row names 2 states; 'sprinkler' has 1 parents"),
    (("(no) .5", "¶(yes) .5"), "given this configuration twice"),
    (
        ("  (yes) 1.0 0.0 0.0;\n  (no) .5, 25e-2, 0.25;\n}", "(no) 0 0 1;\n¶}"),
        "lacks 1 of its 2 configurations",
    ),
    (("default 0.0, 1.0;", "default 0.0, 1.0; ¶default 0 1;"), "a default twice"),
    (("0.125, 0.875;\n}", "0.125, 0.875\n¶}"), "expected ';', but found '}'"),
    (("( sprinkler | rain )", "( sprinkler | ¶snow )"), "there is no variable 'snow'"),
    (("( sprinkler | rain )", "( sprinkler | rain ¶rain )"), "'rain' is listed twice"),
    (("( sprinkler | rain )", "( ¶sprinkler | sprinkler )"), "a cycle: sprinkler -> sprinkler"),
    (("( 3 | rain, sprinkler )", "( ¶rain | sprinkler )"), "'rain' has two tables"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("¶", "expected 'network' or 'variable' or 'probability', but the text ends here"),
        ("network n {\n} ¶x", "but found 'x'"),
        ("variable ¶a { }", "the variable 'a' has no states"),
        ("variable ¶a { type discrete [1] { s }; }", "'a' has no table"),
        *((changed(BIF, change), message) for change, message in WRONG),
    ],
)
def test_an_error_says_what_and_where(text: str, message: str) -> None:
    text, where = marked(text)
    with pytest.raises(FileError, match=f"^{where}.*{re.escape(message)}"):
        bif.parse(text)


def test_a_cycle_is_named() -> None:
    text = changed(BIF, ("( rain ) { table 0.25, 0.75; }", "( rain | 3 ) { default 0.25 0.75; }"))
    with pytest.raises(
        FileError, match=r"^line 1\d, column 15: the arcs make a cycle: (rain|3|sprinkler) -> "
    ):
        bif.parse(text)


def test_a_sum_that_is_not_one_is_told_and_can_be_scaled() -> None:
    text = changed(BIF, (".5, 25e-2, 0.25", ".5, 0.25, 0.2"))
    with pytest.raises(
        FileError, match=r"^line 13, column 15: p\(sprinkler \| rain='no'\) sums to 0\.95.*0\.05; .*renorm"
    ):
        bif.parse(text)
    scaled = bif.parse(text, renormalize=True).table("sprinkler")
    # Three divisions, each rounded once.
    np.testing.assert_allclose(scaled[1], [0.5 / 0.95, 0.25 / 0.95, 0.2 / 0.95], rtol=1e-15)
    assert scaled[0].tolist() == [1, 0, 0]


def test_a_file_cut_short_anywhere_is_an_error_with_line_and_column() -> None:
    body = BIF.rstrip()
    for length in range(len(body)):
        with pytest.raises(FileError, match=r"^line \d+, column \d+: "):
            bif.parse(body[:length])


def test_a_short_file_cannot_ask_for_a_huge_table() -> None:
    names = [f"v{i}" for i in range(30)]
    text = "".join(f"variable {name} {{ type discrete [2] {{ a b }}; }}\n" for name in names)
    text += f"probability ( v0 | {' '.join(names[1:])} ) {{ default 0.5 0.5; }}"
    with pytest.raises(
        FileError, match=r"^line 31, column 15: .* 1073741824 values .* the limit of 67108864"
    ):
        bif.parse(text)


def test_a_table_over_too_many_variables_is_refused() -> None:
    names = [f"v{i}" for i in range(33)]
    text = "".join(f"variable {name} {{ type discrete [1] {{ a }}; }}\n" for name in names)
    text += f"probability ( v0 | {' '.join(names[1:])} ) {{ default 1; }}"
    with pytest.raises(FileError, match=r"^line 34, column 15: .* over 33 variables; the limit is 32"):
        bif.parse(text)


def network_of(*variables: Variable) -> Network:
    schema = Schema(variables)
    return Network.from_tables(
        Dag.from_parents(schema, {}), {v.name: np.full(v.size, 1 / v.size) for v in schema}
    )


def test_names_are_quoted_where_they_must_be_and_labels_become_text() -> None:
    network = network_of(
        Variable("a b", (True, False)), Variable("//", (1, 2.5)), Variable("é", ("", "<5", "a,b", "x/y"))
    )
    text = bif.write(network)
    assert 'variable "a b" {\n  type discrete [ 2 ] { True, False };' in text
    assert 'variable "//" {\n  type discrete [ 2 ] { 1, 2.5 };' in text
    assert 'variable é {\n  type discrete [ 4 ] { "", <5, "a,b", x/y };' in text
    again = bif.parse(text)
    assert [v.states for v in again.dag.schema] == [("True", "False"), ("1", "2.5"), ("", "<5", "a,b", "x/y")]


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (Variable('a"b', ("x", "y")), "quote"),
        (Variable("a", ("x\ny", "z")), "line break"),
        (Variable("a", (1, "1")), "read the same"),
    ],
)
def test_what_cannot_be_expressed_is_refused(variable: Variable, message: str) -> None:
    with pytest.raises(FileError, match=f"{message}.*json"):
        bif.write(network_of(variable))


def test_continuous_variables_and_empty_networks_are_refused() -> None:
    schema = Schema((Variable("height", kind="continuous"),))
    with pytest.raises(FileError, match="continuous variable 'height'"):
        bif.write(Network(Dag.from_parents(schema, {}), np.array([0.0, 1.0])))
    with pytest.raises(FileError, match="without variables"):
        bif.write(Network(Dag(Schema(()), ()), np.empty(0)))
