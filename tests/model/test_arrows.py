from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunary.errors import GraphError
from lacunary.model.arrows import MAX_CHARACTERS, Arc, parse, write

NAMES = st.text(min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "names", "arcs"),
    [
        ("A -> C <- H -> D <- B", "ACHDB", ["AC", "HC", "HD", "BD"]),
        ("A->C<-H", "ACH", ["AC", "HC"]),
        ("A → C ← H", "ACH", ["AC", "HC"]),
        ("H -> X Y Z; X -> Y", "HXYZ", ["HX", "HY", "HZ", "XY"]),
        ("A B -> C", "ABC", ["AC", "BC"]),
        ("A B -> C D", "ABCD", ["AC", "AD", "BC", "BD"]),
        ("C D <- A", "CDA", ["AC", "AD"]),
        ("A -> B C -> D", "ABCD", ["AB", "AC", "BD", "CD"]),
        ("A\nB -> C\r\n\n;D;", "ABCD", ["BC"]),
        ("A B", "AB", []),
        ("A; A -> B", "AB", ["AB"]),
        ("", "", []),
        (" ;\n\t; ", "", []),
    ],
)
def test_chains_fans_and_lone_names(text: str, names: str, arcs: list[str]) -> None:
    arrows = parse(text)
    assert arrows.names == tuple(names)
    assert arrows.arcs == tuple((arc[0], arc[1]) for arc in arcs)


def test_names_of_many_kinds() -> None:
    text = 'water-project -> "class of 84" → x.1 <- été_2; "say ""no""" "a->b" "c;d" "e\nf" t-1-b'
    expected = ("water-project", "class of 84", "x.1", "été_2", 'say "no"', "a->b", "c;d", "e\nf", "t-1-b")
    assert parse(text).names == expected


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("A -> ", "a name is needed after '->'", 1, 6),
        ("A -> ; B", "a name is needed after '->'", 1, 6),
        ("A ->\nB", "a name is needed after '->'", 1, 5),
        ("A <- -> B", "a name is needed after '<-'", 1, 6),
        ("B; -> A", "a name is needed before '->'", 1, 4),
        ("A -- B", "'-' is no arrow", 1, 3),
        ("A --> B", "'-' is no arrow", 1, 3),
        ("A <-> B", "'>' is no arrow", 1, 5),
        ("A - B", "'-' is no arrow", 1, 3),
        ("A, B -> C", "separated by spaces, not commas", 1, 2),
        ('A -> "B', "this quote is never closed", 1, 6),
        ('A -> "B""', "this quote is never closed", 1, 6),
        ('A -> ""', "a name cannot be empty", 1, 6),
        ("A -> B\nC -> C", "C cannot be its own parent", 2, 6),
        ("A -> B\n  A -> B", "the arc A -> B is written twice", 2, 8),
        ("A -> B; B <- A", "the arc A -> B is written twice", 1, 14),
        ("A A -> B", "the arc A -> B is written twice", 1, 8),
    ],
)
def test_errors_point_at_the_place(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(GraphError) as caught:
        parse(text)
    said, shown, caret = str(caught.value).split("\n")
    assert message in said
    assert f"(line {line}, column {column})" in said
    assert shown.rstrip() == "  " + text.split("\n")[line - 1].rstrip()
    assert caret == " " * (2 + column - 1) + "^"


def test_the_error_in_a_long_line_shows_only_its_surroundings() -> None:
    text = "A " * 5000 + ", " + "B " * 5000
    with pytest.raises(GraphError, match="column 10001") as caught:
        parse(text)
    _, shown, caret = str(caught.value).split("\n")
    assert len(shown) < 120
    assert shown[len(caret) - 1] == ","


def test_not_a_text() -> None:
    with pytest.raises(GraphError, match="not list"):
        parse(["A", "B"])  # type: ignore[arg-type]


def test_too_much_text_and_too_many_arcs() -> None:
    with pytest.raises(GraphError, match=r"use Dag\.from_arcs"):
        parse(" " * (MAX_CHARACTERS + 1))
    left, right = (" ".join(f"{side}{i}" for i in range(1001)) for side in "LR")
    with pytest.raises(GraphError, match="more than 1000000 arcs"):
        parse(f"{left} -> {right}")


@pytest.mark.parametrize("unit", ["A ", '""""', '"a" ', "\n", "a-", '"'], ids=lambda unit: repr(unit))
def test_time_is_linear_in_the_text(unit: str) -> None:
    """A scan that were quadratic would take minutes on these 10⁶ characters; a linear one takes under 2 s."""
    text = (unit * (MAX_CHARACTERS // len(unit)))[:MAX_CHARACTERS]
    started = time.process_time()
    with contextlib.suppress(GraphError):
        parse(text)
    assert time.process_time() - started < 20


@given(st.text(alphabet='AB"-<>;, \n→', max_size=30))
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    try:
        arrows = parse(text)
    except GraphError:
        return
    assert {name for arc in arrows.arcs for name in arc} <= set(arrows.names)
    assert all(name and text.find(name[0]) >= 0 for name in arrows.names)


@given(st.lists(NAMES, unique=True, max_size=5), st.data())
def test_what_is_written_reads_back(names: list[str], data: st.DataObject) -> None:
    """Any names at all, quotes, arrows and line ends included."""
    parents = [
        data.draw(st.lists(st.sampled_from(names[:i]), unique=True)) if i else [] for i in range(len(names))
    ]
    arrows = parse(write(names, parents))
    expected: list[Arc] = [(p, child) for child, ps in zip(names, parents, strict=True) for p in ps]
    assert set(arrows.names) == set(names)
    assert list(arrows.arcs) == expected
