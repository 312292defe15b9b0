"""Large text files through polars: the columns that Python's own reader makes, or None."""

from __future__ import annotations

import io
import re
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.data import coded, large, parted, spelling
from lacunary.data import delimited as text_files
from lacunary.data import moments as moments_module
from lacunary.data.column import Labels, Numbers, parse_numbers
from lacunary.data.delimited import delimited
from lacunary.data.moments import dated
from lacunary.data.spelling import Spelling

MARKS = frozenset(("", "NA", "NaN", "?"))

CELLS = st.one_of(
    st.sampled_from(
        ["", "NA", "?", "a", " b ", "007", "1", "-2", "1.5", " 2.25", "1e3", "inf", "nan", "x,y", 'q"q']
    ),
    st.floats(-1e6, 1e6).map(repr),
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n\ufeff"), max_size=4),
)


def quoted(cell: str) -> str:
    plain = not set(cell) & set(',"\n')
    return cell if plain else '"' + cell.replace('"', '""') + '"'


@pytest.fixture(
    autouse=True, params=[(0.0, 2**22, 64), (1.0, 1, 0)], ids=["texts", "categories, line by line"]
)
def _at_any_size(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    repeated, stretch, few = request.param
    monkeypatch.setattr(large, "LARGE", 0)
    monkeypatch.setattr(large, "TALL", 0)
    monkeypatch.setattr(large, "REPEATED", repeated)
    monkeypatch.setattr(coded, "FIRST", 3)
    monkeypatch.setattr(coded, "SHORT", 0)
    monkeypatch.setattr(coded, "FEW", few)
    monkeypatch.setattr(parted, "BLOCK", stretch)
    monkeypatch.setattr(parted, "DEEP", 1)


def both(path: Path) -> tuple[list[Any] | None, list[Any]]:
    """The columns by polars, if it reads them, and by Python's own reader."""
    source = delimited(path)
    quick = large.columns_of(path, source.names, source.names, MARKS, ",")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "LARGE", 2**60)
        slow = list(source.columns(source.names, MARKS))
    return None if quick is None else list(quick), slow


def same(quick: Any, slow: Any) -> None:
    """Labels are the same; numbers may be numbers already, where the other still has their texts."""
    assert quick.name == slow.name
    if isinstance(quick, Numbers):
        values = slow.values if isinstance(slow, Numbers) else _values(slow)
        np.testing.assert_array_equal(quick.values, values)
    else:
        assert isinstance(slow, Labels)
        assert quick.levels == slow.levels
        np.testing.assert_array_equal(quick.codes, slow.codes)


def _values(labels: Labels) -> Any:
    level = [np.nan if text in MARKS else float(str(text)) for text in labels.levels]
    return np.array([*level, np.nan])[labels.codes]


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_columns_are_those_of_the_slow_reader(tmp_path_factory: Any, rows: list[tuple[str, ...]]) -> None:
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    lines = ["one,two,three", *(",".join(map(quoted, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    quick, slow = both(path)
    if quick is not None:
        for a, b in zip(quick, slow, strict=True):
            same(a, b)


@example("\n1,,")  # no end of the line, whose empty third cell polars overlooks
@example("1\n,1,")
@given(st.text(st.sampled_from('ab1.,"\n\r '), max_size=60))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_alike_or_left_to_the_slow_reader(tmp_path_factory: Any, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text("u,v\n" + text, newline="")
    source = delimited(path)
    quick = large.columns_of(path, source.names, source.names, MARKS, ",")
    if quick is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "LARGE", 2**60)
        slow = list(source.columns(source.names, MARKS))  # does not refuse what polars took
    for a, b in zip(quick, slow, strict=True):
        same(a, b)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"holes": [-99]},  # numbers that are no longer those of the file
        {"dates": "parts"},  # one column becomes several, and all behind it move on
        {"drop": ["b"]},
        {"weights": "w"},
        {"kinds": {"c": "discrete"}},
        {"names": ["w", "b", "when", "a", "s", "c"]},
    ],
    ids=repr,
)
def test_numbers_stay_in_their_place_whatever_becomes_of_columns(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(4)
    rows = ["a,b,when,w,s,c"]
    for k, (a, b, c) in enumerate(rng.normal(size=(60, 3))):
        day = f"2024-0{1 + k % 9}-{1 + k % 28:02d} {k % 24:02d}:00"
        left = "-99" if k % 7 == 0 else f"{a:.3f}"
        cells = left, f"{b:.2f}", day, k % 3 + 0.5, "xyz"[k % 3], "" if k % 5 == 0 else f"{c:.5f}"
        rows.append(",".join(map(str, cells)))
    path = tmp_path / "moved.csv"
    path.write_text("\n".join(rows) + "\n")
    quick = lac.read(path, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "LARGE", 2**60)
        slow = lac.read(path, **options)
    assert quick.schema == slow.schema
    assert quick.decisions == tuple(said.replace("'-99'", "-99") for said in slow.decisions)  # texts there
    np.testing.assert_array_equal(quick.codes, slow.codes)
    np.testing.assert_array_equal(quick.reals, slow.reals)
    np.testing.assert_array_equal(quick.weights, slow.weights)


def test_ordinary_files_are_read_quickly(tmp_path: Path) -> None:
    path = tmp_path / "ordinary.csv"
    path.write_text('x,y,z\n1.5,"a,b",007\n,c,\n2.5,"say ""so""",3\n')
    quick, slow = both(path)
    assert quick is not None
    for a, b in zip(quick, slow, strict=True):
        same(a, b)
    assert isinstance(quick[0], Numbers)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3\n",
        "a,b\n1,2,3\n",
        "a,b\n\n1,2\n",
        'a,b\n5" pipe,2\n',
        'a,b\n"1,2\n',
        "a,b\r1,2\r",
        "a,b\n\0,1\n",
    ],
)
def test_what_readers_disagree_on_is_left_to_the_slow_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(text, newline="")
    assert large.columns_of(path, ("a", "b"), ("a", "b"), MARKS, ",") is None


def test_lines_and_quotes_that_blocks_cut_in_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cut.csv"
    text = "x,y\n" + "".join(f'"{i},\n",{i / 2}\n' for i in range(40))
    path.write_text(text, newline="")
    for block in range(1, 24):
        monkeypatch.setattr(large, "PIECE", block)
        assert large._is_regular(path, ",", 2)
        assert not large._is_regular(path, ",", 3)


@pytest.mark.parametrize("end", ["\n", ""])
def test_cells_are_counted_in_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    good, short = tmp_path / "good.csv", tmp_path / "short.csv"
    lines = ["x,y,z", *(f"{i},,{i / 2}" for i in range(12))]
    good.write_text("\n".join(lines) + end)
    short.write_text("\n".join([*lines, "1,2"]) + end)
    for piece in range(1, 40):
        monkeypatch.setattr(large, "PIECE", piece)
        assert large._is_regular(good, ",", 3)
        assert large._counts_match(good, ",", 3, "xyz")
        assert not large._is_regular(short, ",", 3)
        assert not large._counts_match(short, ",", 3, "xyz")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x,y\r\n1,2\r\n3,\r\n", True),
        ("x,y\r\n1,2\n3,4", True),
        ("x,y\r\n1,2\r\n3,4\r", False),
        ("x,y\r\n1\r,2\r\n", False),
        ("x,y\r\n1,2\r\r\n", False),
        ("\rx,y\n1,2\n", False),
        ("x,y\r\n1,2\r\n\r\n", False),
    ],
)
def test_carriage_returns_stand_before_line_ends_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: bool
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    for piece in range(1, 30):
        monkeypatch.setattr(large, "PIECE", piece)
        assert large._counts_match(path, ",", 2, "xy") == told
    if told:
        quick, slow = both(path)
        assert quick is not None
        for column, known in zip(quick, slow, strict=True):
            same(column, known)


@given(
    st.lists(
        st.sampled_from(["", "NA", "?", " ? ", "-9", "-9.0", "0", "-0", "+4", "1e3", "2.50", ".5", "nan"])
        | st.sampled_from(
            ["inf", "1e999", "007", "-01", "1234567890123456", "1e15", "a", "1_0", "\u0661", "1,5"]
        )
        | st.floats(allow_nan=False).map(repr),
        min_size=4,
        max_size=12,
    )
)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_many_texts_are_numbers_if_each_of_them_is_one(cells: list[str]) -> None:
    column, marks = pl.Series(cells, dtype=pl.String), MARKS | {"-9"}
    told = parse_numbers(["nan" if text.strip() in marks else text.strip() for text in cells])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "STATES", 2)
        patch.setattr(large, "TEXTS", 2)
        found = large._labels("x", column, frozenset(marks), False)
    if told is None or len(set(cells)) < 3:
        assert isinstance(found, Labels)
        assert [found.levels[code] for code in found.codes] == list(map(str.strip, cells))
    else:
        assert isinstance(found, Numbers)
        np.testing.assert_array_equal(found.values, told)


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical], ids=str)
def test_codes_follow_the_first_rows_and_nulls_are_holes(kind: Any) -> None:
    texts = ["b", None, "a", "b", "c", None, "", "a"] * 5
    levels, codes = coded.coded(pl.Series("x", texts).cast(kind))
    assert levels == ["b", "a", "c", ""]
    assert codes.tolist() == [0, -1, 1, 0, 2, -1, 3, 1] * 5
    assert coded.coded(pl.Series("x", [None, None], dtype=pl.String).cast(kind))[0] == []


@given(
    texts=st.lists(st.sampled_from(["", "a", "b", "ä", "0" * 13, "0" * 13 + "1", None]), max_size=40),
    first=st.integers(1, 40),
    kind=st.sampled_from([pl.String, pl.Categorical]),
    places=st.sampled_from([1, 2, 2**16]),
)
def test_texts_are_numbered_as_one_after_the_other_would_be(
    texts: list[str | None], first: int, kind: Any, places: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coded, "FIRST", first)
        patch.setattr(coded, "PLACES", places)  # texts whose hashes agree in those bits are told apart, too
        levels, codes = coded.numbered(pl.Series("x", texts, dtype=pl.String).cast(kind))
    assert levels == list(dict.fromkeys(texts))
    assert [levels[code] for code in codes] == texts


def test_messages_are_those_of_the_slow_reader(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("x,y\n" + "1.5,a\n" * 5 + "1.5\n")
    with pytest.raises(lac.FileError, match="line 7: 1 cell, but the header names 2 columns"):
        lac.read(path)


def test_tables_are_the_same_whichever_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    out = io.StringIO("")
    out.write("x,count,word,code\n")
    for i in range(900):
        cells = [
            f"{rng.normal():.6f}",
            str(rng.integers(0, 40)),
            ["red", " blue", "NA"][i % 3],
            f"{i % 9:03d}",
        ]
        out.write(",".join(cells) + "\n")
    path = tmp_path / "rows.csv"
    path.write_text(out.getvalue())
    quick = lac.read(path)
    monkeypatch.setattr(large, "LARGE", 2**60)
    slow = lac.read(path)
    assert quick.schema == slow.schema
    np.testing.assert_array_equal(quick.codes, slow.codes)
    np.testing.assert_array_equal(quick.reals, slow.reals)
    assert quick.decisions == tuple(said.replace("'-99'", "-99") for said in slow.decisions)  # texts there
    assert quick.notes == slow.notes


LATE = """007 -04 +1.5 1e5 -0 3 NA ? nan inf -Infinity 1,234 1.5.2 abc 12345678901234567 1_000 1. .5 -- 5% $5
1e400 123456789012345678901234567890.5 "007" 20240131 2024-01-31"""
BASES = {"decimals": "{}.25", "holes": "{}.5", "whole": "{}", "text": "w{}", "dates": "2001-01-{:02d}"}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("odd", LATE.split())
def test_an_odd_cell_behind_the_sample_is_read_as_the_slow_reader_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: str, odd: str
) -> None:
    monkeypatch.setattr(large, "SAMPLE", 4)
    monkeypatch.setattr(large, "STATES", 3)
    cells = [BASES[base].format(k % 28 + 1) for k in range(60)]
    if base == "holes":
        cells[3::7] = [""] * len(cells[3::7])
    others = [f"{k}.125,07:{k % 60:02d}" for k in range(61)]
    path = tmp_path / "late.csv"
    rows = [*cells[:50], f'"{odd}"' if "," in odd else odd, *cells[50:]]
    path.write_text("x,y,t\n" + "".join(f"{cell},{more}\n" for cell, more in zip(rows, others, strict=True)))
    found: list[object] = []
    for least in (0, 2**60):
        monkeypatch.setattr(large, "LARGE", least)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                table = lac.read(path)
                found.append((table.schema, table.decisions, table.notes, table.to_frame("dict")))
            except lac.LacunaryError as problem:
                found.append(str(problem))
    assert found[0] == found[1]


@pytest.mark.parametrize("marks", [[], ["-9"], ["x"]])
@pytest.mark.parametrize("cells", ["0.25 7.5", "1.234 999", "1.234 5.678", "20240131 20240201", "3e12 4e13"])
def test_measurements_with_marks_of_holes_are_those_of_the_slow_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marks: list[str], cells: str
) -> None:
    path = tmp_path / "marked.csv"
    told = [*cells.split(), " ? ", "", "NA", *marks, "2.125", *cells.split(), *marks]
    for rows in (told, told[:-1], cells.split() * 3 + ["NA"]):
        path.write_text("x,s\n" + "".join(f"{cell},{'ab'[k % 2]}\n" for k, cell in enumerate(rows)))
        found = []
        for least in (0, 2**60):
            monkeypatch.setattr(large, "LARGE", least)
            monkeypatch.setattr(large, "STATES", 1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table = lac.read(path, holes=marks)
            found.append((table.schema, table.decisions, table.notes, str(table)))
        assert found[0] == found[1]


@pytest.mark.parametrize("texts", [4, 2**16])
def test_a_point_that_parts_thousands_does_so_in_files_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: int
) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,s\n" + "".join(f"{k}.{k + 100},{'ab'[k % 2]}\n" for k in range(1, 60)))
    monkeypatch.setattr(large, "STATES", 1)
    monkeypatch.setattr(large, "TEXTS", texts)
    monkeypatch.setattr(text_files, "TEXTS", texts)
    for least in (0, 2**60):
        monkeypatch.setattr(large, "LARGE", least)
        table = lac.read(path, thousands=".")
        assert table["x"].tolist() == [1000 * k + k + 100 for k in range(1, 60)]


@pytest.mark.parametrize("sample", [2, 500])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("0.25 NA 7.5 0.25", "x y z x"),
        ("0.25 ? 7.5 -0.5", "1 2 ? 4"),
        ("0.25 NA 7.5 ?", "1.5 2.5 NA NA"),
        ("0.25 NA 7.5 007", "1 2 3 4"),
        ("0.25 NA 7.5 inf", "1 2 3 4"),
        ("0.25 NA 7.5 nan", "1 2 3 4"),
        ("0.25 NA 7.5 1234567890123456", "1 2 3 4"),
        ("1.0 NA 2.0 3.0", "1 2 3 4"),
        ("1.234 NA 999 5.678", "1 2 3 4"),
        ("0.25 1.5 7.5 NA", "0.5 0.25 NA 2.5"),
        ("0.25 NA 7.5 ' '", "1 2 3 4"),
        ("0.25 '' 7.5 NA", "1 '' 3 4"),
        ("0.25 '' 7.5 0.5", "0.5 NA 2.5 4.5"),
        ("0.25 NA 7.5 +4", "1 2 3 4"),
    ],
)
def test_decimals_beside_marks_are_those_of_the_slow_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str, sample: int
) -> None:
    monkeypatch.setattr(large, "SAMPLE", sample)  # the first cells alone, or all, tell how a column is read
    cells = [[cell.strip("'") for cell in re.findall("'.*?'|[^ ]+", text)] for text in (first, second)]
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(*cells, strict=True)))
    if sample == 2 and "007" in first:
        return  # codes among many decimals are not looked for
    told = [cell.strip("'") for cell in dict.fromkeys(cells[0])]
    ways: list[dict[str, Any]] = [{}, {"kinds": {"x": "discrete"}}, {"states": {"x": told}}]
    for how in ways:
        try:
            read_alike(path, monkeypatch, **how)
        except lac.LacunaryError as refused:  # by the slow reader, which comes first
            monkeypatch.setattr(large, "LARGE", 0)
            with pytest.raises(type(refused), match=re.escape(str(refused))):
                lac.read(path, **how)


@given(st.lists(st.from_regex(r"-?(0|[1-9][0-9]{0,4})(,[0-9]{1,4})?", fullmatch=True), min_size=1))
@pytest.mark.parametrize("decimal", [None, ","])
def test_decimal_commas_at_once_are_those_of_a_cell_at_a_time(decimal: str | None, texts: list[str]) -> None:
    how = Spelling(decimal=decimal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spelling, "_with_commas", lambda texts, how: None)
        slow = spelling.spelled(texts, how)
    quick = spelling._with_commas(texts, how)
    if quick is not None:
        assert slow is not None
        np.testing.assert_array_equal(quick.values, slow.values)
        assert quick[1:] == slow[1:]
    else:  # every comma may part thousands, or there is none
        assert not any(re.search(",(..?|....+)$", text) for text in texts)


@given(st.lists(st.datetimes(min_value=datetime(1, 1, 1)), min_size=1), st.sampled_from((16, 19, 21, 23, 26)))
@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M:%S.%f", "%Y/%m/%dT%H:%M:%S.%f", "%d.%m.%Y %H:%M:%S,%f"])
def test_times_at_once_are_those_of_a_cell_at_a_time(form: str, moments: list[datetime], width: int) -> None:
    years = [f"{moment.year:04d}" for moment in moments]  # which strftime does not fill up
    texts = [
        moment.strftime(form.replace("%Y", year))[:width] for moment, year in zip(moments, years, strict=True)
    ]
    quick = dated(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments_module, "by_stencil", lambda cells, day_first: None)
        slow = dated(texts)
    assert quick is not None
    assert slow is not None
    np.testing.assert_array_equal(quick.seconds, slow.seconds)
    assert quick[1:] == slow[1:]


def read_alike(path: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> lac.Table:
    """The table of a file, which Python's own reader makes as well, with the same words."""
    found = []
    for least in (2**60, 0):
        monkeypatch.setattr(large, "LARGE", least)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(lac.read(path, **settings))
    slow, quick = found
    assert quick.schema == slow.schema
    np.testing.assert_array_equal(quick.codes, slow.codes)
    np.testing.assert_array_equal(quick.reals, slow.reals)
    assert (quick.decisions, quick.notes) == (slow.decisions, slow.notes)
    return quick


def of_numbers(path: Path, *cells: str, name: str = "x") -> Path:
    """A file of two columns: these cells, and letters."""
    path.write_text(f"{name},s\n" + "".join(f"{cell},{'ab'[k % 2]}\n" for k, cell in enumerate(cells)))
    return path


@pytest.mark.parametrize(
    ("cells", "states"),
    [
        ("3|0|-2|3", (-2, 0, 3)),
        ("3|NA|5", (3, 5)),
        ("3|?|NA|5", (3, 5)),
        ("7|007|7", ("007", "7")),
        ("7|-07|7", ("-07", "7")),
        ("0|-0|5", (0, 5)),
        ("5|+5|6", (5, 6)),
        ("5|5.0|6", (5, 6)),
        ("2|1e1|3", (2, 3, 10)),
        ("5|999999999999999", (5, 999999999999999)),
        ("5|1000000000000000", ("1000000000000000", "5")),
        ("5|9223372036854775807", ("5", "9223372036854775807")),
        ("5|9223372036854775808", ("5", "9223372036854775808")),
        ('5|"05"|6', ("05", "5", "6")),
        ('5|""|6', (5, 6)),
        ('5|" 5"|6', (5, 6)),
    ],
)
def test_whole_numbers_are_told_from_codes_however_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: str, states: tuple[Any, ...]
) -> None:
    for sample in (1, 500):  # the first cell alone, or all of them, tell how a column is read
        monkeypatch.setattr(large, "SAMPLE", sample)
        table = read_alike(of_numbers(tmp_path / "x.csv", *cells.split("|")), monkeypatch)
        assert table.schema["x"].states == states


def test_plain_whole_numbers_are_no_text_on_the_way(tmp_path: Path) -> None:
    path = of_numbers(tmp_path / "x.csv", "30", "NA", "-4", "30")
    quick = large.columns_of(path, ["x", "s"], ["x", "s"], MARKS, ",")
    assert quick is not None
    numbers = next(quick)
    assert isinstance(numbers, Numbers)
    np.testing.assert_array_equal(numbers.values, [30, np.nan, -4, 30])
    assert (numbers.bounds, numbers.counts, numbers.whole) == ((-4, 30), (2, 3), True)
    assert (numbers.plain, numbers.marks) == (True, ("NA",))
    assert numbers.texts().levels == ("30", "NA", "-4")
    assert numbers.texts().codes.tolist() == [0, 1, 2, 0]


def test_whole_numbers_may_be_states_as_texts_and_marks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = of_numbers(tmp_path / "x.csv", "2", "NA", "1", "2")
    for states, codes in (
        (["1", "2", "NA"], [1, 2, 0, 1]),
        (["NA", 2, 1], [1, 0, 2, 1]),
        ([1, 2], [1, -1, 0, 1]),
    ):
        table = read_alike(path, monkeypatch, states={"x": states})
        assert table.codes[:, 0].tolist() == codes
    with pytest.raises(lac.StateError, match="row 1: '2' is none of the declared states"):
        lac.read(path, states={"x": ["1", "NA"]})


def test_a_mark_that_is_a_value_makes_labels_of_whole_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mark, states in (("NA", ("1", "2", "NA")), ("", ("", "1", "2"))):
        path = of_numbers(tmp_path / "x.csv", "2", mark, "1", "2")
        table = read_alike(path, monkeypatch, not_holes=[mark])
        assert table.schema["x"].states == states
    path = of_numbers(tmp_path / "x.csv", "2", "-9", "1", "2")
    assert read_alike(path, monkeypatch, holes=[-9]).schema["x"].states == (1, 2)


def test_whole_numbers_that_are_days_are_dates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = of_numbers(tmp_path / "x.csv", "20240131", "NA", "20240201", "20240131")
    np.testing.assert_array_equal(read_alike(path, monkeypatch)["x"], [0, np.nan, 1, 0])
    table = read_alike(path, monkeypatch, kinds={"x": "discrete"})
    assert table.schema["x"].states == (20240131, 20240201)


def test_columns_called_by_their_own_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text("5,NA\n6,1\n5,NA\n5,2\n")
    table = read_alike(path, monkeypatch)
    assert table.schema["5"].states == (5, 6)
    assert table.schema["NA"].states == (1, 2)
    assert table.decisions[0] == "the header comes again in 1 line, left out"
    assert len(table) == 2


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("1,-0.5\n0,7\n", (True, False)),
        ("2024-01-31,12:05\na b,c+d\n", (True, False)),
        ("1,\n2,3\n", (True, True)),
        ("1,2\n2,", (True, True)),
        ('1,""\n2,3\n', (True, True)),
        ("1,2\r\n3,\r\n", (True, True)),
        ("1,2\n3,-0", (False, False)),
        ("1,2\n-0,3\n", (False, False)),
        ("1,2\n3,-04\n", (False, False)),
        ("1,2\n3,+4", (False, False)),
        ("1,2\n 3,4\n", (False, False)),
        ("1,2\n3 ,4\n", (False, False)),
        ("1,2\n\t3,4\n", (False, False)),
        ("1,2\n3,04", (False, False)),
        ('1,2\n3,"04"\n', (False, False)),
    ],
)
def test_how_cells_begin_is_seen_in_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, told: tuple[bool, bool]
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + body, newline="")
    for piece in (1, 2, 3, 5, 2**18):
        monkeypatch.setattr(large, "PIECE", piece)
        assert large._written(path, ",") == told


def test_distinct_whole_numbers_far_apart_are_counted(tmp_path: Path) -> None:
    for far in (2**17, 2**33, 2**62):
        values = np.array([3, far, 3, far + 1, 4], dtype=np.int64)
        assert large.distinct_integers(values, 3, far + 1) == 4
