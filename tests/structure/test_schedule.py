"""Schedules: what is read, what is refused, and where the finger points."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunary.errors import ParameterError
from lacunary.structure.schedule import Repeat, Schedule, parse_schedule, program

EM = Repeat(("E", "M"), (10,))


def test_the_schedules_of_the_paper() -> None:
    ten = parse_schedule("((EM)^10 Ec S* M)*")
    assert ten == Schedule((Repeat((EM, "Ec", Repeat(("S",), (None,)), "M"), (None,)),))
    assert parse_schedule("((EM)^{10}E_cS^*M)^*") == ten  # as the paper sets it
    assert str(parse_schedule(" ( (E M)* Ec S* M ) * ")) == "((EM)* Ec S* M)*"


def test_counts_that_depend_on_how_often_a_place_was_reached() -> None:
    [repeat] = parse_schedule("(EM)^{1,10,*}").body
    assert isinstance(repeat, Repeat)
    assert [repeat.at(visit) for visit in range(5)] == [1, 10, None, None, None]
    assert str(parse_schedule("(EM)^{3,7,7}")) == "(EM)^{3,7}"


times = st.one_of(
    st.just((None,)),
    st.integers(2, 10**6).map(lambda k: (k,)),
    st.lists(st.one_of(st.none(), st.integers(1, 99)), min_size=2, max_size=4)
    .map(tuple)
    .filter(lambda ts: ts[-1] != ts[-2]),
)
searches = st.one_of(st.just("S"), st.builds(Repeat, st.just(("S",)), times))
climbs = st.one_of(st.just(("E", "M")), st.builds(lambda t: (Repeat(("E", "M"), t),), times))
turns = st.builds(lambda c, s: (*c, "Ec", s, "M"), climbs, searches)
bodies = st.recursive(
    st.one_of(climbs, turns),
    lambda inner: st.lists(
        st.one_of(inner, st.builds(lambda body, t: (Repeat(body, t),), inner, times)), min_size=1, max_size=3
    ).map(lambda parts: tuple(item for part in parts for item in part)),
    max_leaves=6,
)


@given(bodies)
def test_what_is_written_is_read(body: tuple[object, ...]) -> None:
    schedule = Schedule(body)  # type: ignore[arg-type]
    again = parse_schedule(str(schedule))
    assert str(again) == str(schedule)
    assert program(again) == program(schedule)


@given(st.text("EMSc_ ()*^{},0123456789x", max_size=40))
def test_any_text_is_read_or_refused_at_a_character(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except ParameterError as problem:
        found = re.search(r"at character (\d+)", str(problem))
        assert found is not None
        assert 1 <= int(found[1]) <= len(text) + 1
        first, _, finger = str(problem).split("\n")
        assert finger.index("^") == int(found[1]) + 1
        assert first
    else:
        assert parse_schedule(str(schedule)) == schedule


@pytest.mark.parametrize(
    ("text", "character", "why"),
    [
        ("", 1, "at least one step"),
        ("((EM)^10 Ec S* M", 1, "never closed"),
        ("(EM))", 5, "never opened"),
        ("(EM)^ Ec S M", 7, "number"),
        ("(EM)^0", 6, "number"),
        ("(EM)^99999999", 6, "number"),
        ("(EM)^{1;2}", 8, "expected , or }"),
        ("((EM)^10 Ec T* M)*", 13, "'T' is no step"),
        ("()", 1, "nothing between"),
        ("(EM)^10 S M", 9, "Ec has to come before"),
        ("Ec (S M)*", 5, "same bracket"),
        ("((EM)^10 Ec S*)*", 13, "M has to come"),
        ("Ec S Ec M", 6, "M has to come first"),
        ("Ec S (EM)", 6, "M has to come first"),
        ("E Ec", 1, "followed by its M"),
        ("M", 1, "nothing to maximise"),
        ("E*M", 1, "changes nothing"),
        ("(" * 17 + "EM" + ")" * 17, 17, "nested"),
    ],
)
def test_what_is_refused(text: str, character: int, why: str) -> None:
    with pytest.raises(ParameterError, match=f"at character {character}: .*{re.escape(why)}"):
        parse_schedule(text)


@pytest.mark.parametrize("text", [None, 3, "EM " * 400])
def test_what_is_no_schedule_at_all(text: object) -> None:
    with pytest.raises(ParameterError, match="schedule"):
        parse_schedule(text)  # type: ignore[arg-type]


def test_instructions() -> None:
    steps = program(parse_schedule("(EM)^5 (EM Ec S^2 M (EM)*)^3"))
    assert [step.what for step in steps] == ["em", "em", "complete", "search", "maximize", "em", "end"]
    assert steps[-1].back == 1
    assert steps[-1].searches
    assert [step.repeat.times if step.repeat else None for step in steps] == [
        (5,), (1,), None, (2,), None, (None,), (3,)
    ]  # fmt: skip
