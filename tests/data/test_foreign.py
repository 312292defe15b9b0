"""Files people have: the same table in many guises is read alike, and what was done is said."""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import json
import lzma
import os
import re
import sqlite3
import threading
import zipfile
import zlib
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

import lacunary as lac
from lacunary.data.apart import reading
from lacunary.data.dated import dated

ROWS: dict[str, list[Any]] = {
    "name": ["ä", "b", "ä", None, "b", "ä"],
    "age": [31.5, 40.25, None, 28.0, 55.5, 61.75],
}
TEXT = "name,age\n" + "".join(
    f"{n or ''},{'' if a is None else a}\n" for n, a in zip(*ROWS.values(), strict=True)
)


def workbook(path: Path, sheets: dict[str, list[list[Any]]], merged: str = "") -> None:
    """A spreadsheet, written by hand: no library for writing is needed. Dates are cells in a date's style."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

    def cell(place: str, value: Any) -> str:
        if isinstance(value, str) and value.startswith("="):
            formula, _, result = value[1:].partition(" is ")
            return f"<c r='{place}'><f>{formula}</f><v>{result}</v></c>"
        if isinstance(value, str) and value.startswith("#"):
            return f"<c r='{place}' t='e'><v>{value}</v></c>"
        if isinstance(value, str):
            return f"<c r='{place}' t='inlineStr'><is><t>{value}</t></is></c>"
        if isinstance(value, date):
            return f"<c r='{place}' s='1'><v>{(value - date(1899, 12, 30)).days}</v></c>"
        return "" if value is None else f"<c r='{place}'><v>{value}</v></c>"

    def cells(lines: list[list[Any]]) -> str:
        rows = [
            f"<row r='{r}'>{''.join(cell(f'{c}{r}', v) for c, v in zip('ABCD', line, strict=False))}</row>"
            for r, line in enumerate(lines, 1)
            if line
        ]
        joined = f"<mergeCells count='1'><mergeCell ref='{merged}'/></mergeCells>" if merged else ""
        return f"<worksheet xmlns='{main}'><sheetData>{''.join(rows)}</sheetData>{joined}</worksheet>"

    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    package = "http://schemas.openxmlformats.org/package/2006"
    numbers = range(1, len(sheets) + 1)
    overrides = [
        f"<Override PartName='/xl/worksheets/sheet{k}.xml' ContentType='{types}.worksheet+xml'/>"
        for k in numbers
    ]
    named = [f"<sheet name='{n}' sheetId='{k}' r:id='r{k}'/>" for k, n in zip(numbers, sheets, strict=True)]
    related = [
        f"<Relationship Id='r{k}' Type='{relation}/worksheet' Target='worksheets/sheet{k}.xml'/>"
        for k in numbers
    ]
    parts = {
        "[Content_Types].xml": f"<Types xmlns='{package}/content-types'>"
        "<Default Extension='rels' ContentType='application/vnd.openxmlformats-package.relationships+xml'/>"
        f"<Override PartName='/xl/workbook.xml' ContentType='{types}.sheet.main+xml'/>"
        f"{''.join(overrides)}</Types>",
        "_rels/.rels": f"<Relationships xmlns='{package}/relationships'>"
        f"<Relationship Id='r1' Type='{relation}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
        "xl/workbook.xml": f"<workbook xmlns='{main}' xmlns:r='{relation}'><sheets>{''.join(named)}</sheets>"
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships xmlns='{package}/relationships'>{''.join(related)}"
        f"<Relationship Id='r99' Type='{relation}/styles' Target='styles.xml'/></Relationships>",
        "xl/sharedStrings.xml": f"<sst xmlns='{main}'/>",
        "xl/styles.xml": f"<styleSheet xmlns='{main}'><cellXfs count='2'><xf numFmtId='0'/>"
        "<xf numFmtId='14'/></cellXfs></styleSheet>",
        **{
            f"xl/worksheets/sheet{k}.xml": cells(lines)
            for k, lines in zip(numbers, sheets.values(), strict=True)
        },
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, "<?xml version='1.0' encoding='UTF-8'?>" + text)


def lines(columns: dict[str, list[Any]]) -> list[list[Any]]:
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]


def make_excel(path: Path) -> None:
    workbook(path, {"People": lines(ROWS), "Other": lines({"u": ["p", "q", "p"], "v": ["s", "s", "t"]})})


def make_sqlite(path: Path) -> None:
    with sqlite3.connect(path) as link:
        link.execute("create table people (name text, age real)")
        link.executemany("insert into people values (?, ?)", list(zip(*ROWS.values(), strict=True)))
    link.close()


def make_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inner.csv", TEXT)


def records() -> list[dict[str, Any]]:
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


MAKERS: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "a.csv": (lambda p: p.write_text(TEXT, encoding="utf-8"), {}),
    "a.csv.gz": (lambda p: p.write_bytes(gzip.compress(TEXT.encode())), {}),
    "a.csv.bz2": (lambda p: p.write_bytes(bz2.compress(TEXT.encode())), {}),
    "a.csv.xz": (lambda p: p.write_bytes(lzma.compress(TEXT.encode())), {}),
    "a.zip": (make_zip, {}),
    "utf16.csv": (lambda p: p.write_text(TEXT, encoding="utf-16"), {}),
    "latin.csv": (lambda p: p.write_text(TEXT, encoding="latin-1"), {"encoding": "latin-1"}),
    "commented.csv": (lambda p: p.write_text("# made by hand\n" + TEXT + "# end\n"), {"comment": "#"}),
    "semicolons.txt": (lambda p: p.write_text(TEXT.replace(",", ";")), {}),
    "a.json": (lambda p: p.write_text(json.dumps(records())), {}),
    "columns.json": (lambda p: p.write_text(json.dumps(ROWS)), {}),
    "wrapped.json": (lambda p: p.write_text(json.dumps({"ok": True, "data": records()})), {}),
    "a.ndjson": (lambda p: p.write_text("\n".join(map(json.dumps, records())) + "\n\n"), {}),
    "a.sqlite": (make_sqlite, {}),
    "asked.db": (make_sqlite, {"query": "select name, age from people"}),
    "a.xlsx": (make_excel, {}),
    "named.xlsx": (make_excel, {"sheet": "People"}),
}


def wanted() -> lac.Table:
    return lac.read(ROWS)


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_table_in_another_guise(name: str, tmp_path: Path) -> None:
    make, options = MAKERS[name]
    make(tmp_path / name)
    found = lac.read(tmp_path / name, **options)
    assert found.to_frame("dict") == wanted().to_frame("dict")
    assert lac.examine(tmp_path / name, **options).problems == ()


def test_what_was_done_is_said(tmp_path: Path) -> None:
    for name, words in (("utf16.csv", "utf-16"), ("commented.csv", "comment lines"), ("a.csv.xz", "unpacked"),
                        ("a.xlsx", "others are Other"), ("a.sqlite", "select")):  # fmt: skip
        make, options = MAKERS[name]
        make(tmp_path / name)
        assert words in lac.read(tmp_path / name, **options).decisions[0]


def test_a_file_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(TEXT.partition("\n")[2], encoding="utf-8")
    found = lac.read(tmp_path / "x.csv", header=False)
    assert found.schema.names == ("x1", "x2")
    assert found.to_frame("dict")["x2"] == wanted().to_frame("dict")["age"]


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_value_labels_are_states_and_declared_codes_holes(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"survey.{kind}"
    frame = pd.DataFrame(
        {"sex": [1.0, 2.0, 1.0, 2.0, 1.0, 1.0], "income": [10.5, 20.25, 99.0, 30.75, 41.5, 12.5]}
    )
    labels: Any = {"sex": {1: "male", 2: "female"}}
    if kind == "sav":
        pyreadstat.write_sav(frame, str(path), variable_value_labels=labels, missing_ranges={"income": [99]})
    else:
        frame["sex"] = frame["sex"].astype(int)
        frame.loc[2, "income"] = None
        pyreadstat.write_dta(frame, str(path), variable_value_labels=labels)
    found = lac.read(path)
    told: Any = found.to_frame("dict")
    assert told["sex"] == ["male", "female", "male", "female", "male", "male"]
    assert told["income"][2] is None
    assert "value labels of sex" in found.decisions[0]


def test_pipes_and_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(TEXT.encode()))
    writer.start()
    told = [lac.read(fifo)]
    writer.join()
    told += [lac.read(io.StringIO(TEXT)), lac.read(io.BytesIO(TEXT.encode()))]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    told.append(lac.read("-"))
    for found in told:
        assert found.to_frame("dict") == wanted().to_frame("dict")


def test_databases_by_address(tmp_path: Path) -> None:
    make_sqlite(tmp_path / "x.db")
    found = lac.read(f"sqlite:///{tmp_path}/x.db", query="select age from people where name is not null")
    assert found.schema.names == ("age",)
    assert len(found) == 5


@pytest.mark.parametrize(
    ("name", "content", "options", "words"),
    [
        ("x.csv", b"n\n\xe4\x81\n", {}, "encoding='shift-jis'"),
        ("x.csv", b"a,b\n1,2\n", {"encoding": "klingon"}, "no encoding 'klingon'"),
        ("x.csv", b"a,b\n1,2\n", {"encoding": "utf-16"}, "not text in utf-16"),
        ("x.json", b"{", {}, "not JSON"),
        ("x.json", b"[1, 2]", {}, "no records"),
        ("x.ndjson", b'{"a": [1]}\n', {}, r"a, row 1: \[1\] is neither .*drop="),
        ("x.xz", b"nothing", {}, "broken xz"),
        ("x.zip", b"nothing", {}, "broken zip"),
        ("x.sav", b"nothing", {}, "cannot be read as sav"),
        ("x.sqlite", b"nothing at all, and no database", {}, "not a database"),
        ("x.csv", b"a,b\n1,2\n", {"query": "select 1"}, "query is for databases"),
    ],
)
def test_what_cannot_be_read_says_what_helps(
    name: str, content: bytes, options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(lac.LacunaryError, match=words):
        lac.read(tmp_path / name, **options)


def test_sheets_and_tables_are_named_where_there_are_several(tmp_path: Path) -> None:
    make_excel(tmp_path / "x.xlsx")
    assert lac.read(tmp_path / "x.xlsx", sheet="Other").schema.names == ("u", "v")
    with pytest.raises(lac.FileError, match="'People', 'Other'"):
        lac.read(tmp_path / "x.xlsx", sheet="Others")
    make_sqlite(tmp_path / "x.db")
    with sqlite3.connect(tmp_path / "x.db") as link:
        link.execute("create table b (x)")
    link.close()
    with pytest.raises(lac.FileError, match="people, b"):
        lac.read(tmp_path / "x.db")
    with pytest.raises(lac.FileError, match="no such column"):
        lac.read(tmp_path / "x.db", query="select absent from people")


def test_a_library_that_breaks_down_is_no_end_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader of .sav files is written in C: it runs apart, and a file that ends it is refused."""
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nkill -SEGV $$\n")
    broken.chmod(0o700)
    (tmp_path / "x.sav").write_bytes(b"$FL2")
    monkeypatch.setattr("sys.executable", str(broken))
    with pytest.raises(lac.FileError, match=r"x\.sav cannot be read as sav; .* broke down"):
        lac.read(tmp_path / "x.sav")


class Panic(BaseException):
    """As libraries in Rust raise it."""


def test_whatever_a_library_raises_is_a_named_error(tmp_path: Path) -> None:
    for problem in (Panic("range end"), RuntimeError(""), UnicodeDecodeError("utf-8", b"x", 0, 1, "no")):
        refused = pytest.raises(lac.FileError, match=r"x\.arrow cannot be read as arrow; it is damaged")
        with refused, reading(tmp_path / "x.arrow", "arrow"):
            raise problem
    for through in (KeyboardInterrupt, MemoryError, lac.SchemaError):
        with pytest.raises(through), reading(tmp_path / "x.arrow", "arrow"):
            raise through


def test_damage_inside_a_container_is_named(tmp_path: Path) -> None:
    """A sheet whose cells are nowhere, text that is not UTF-8, an archive whose member has no name."""
    make_excel(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as whole, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as out:
        for name in whole.namelist():
            out.writestr(name, whole.read(name).replace(b"r='A2'", b"r='!2'"))
    with sqlite3.connect(tmp_path / "b.sqlite") as link:
        link.execute("create table t (a text)")
        link.execute("insert into t values (cast(x'b3b3' as text))")
    link.close()
    (tmp_path / "b.json").write_bytes(b'{"a": ["\xf3"]}')
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as out:
        out.writestr(zipfile.ZipInfo("x"), "a\n1\n")
    data = (tmp_path / "b.zip").read_bytes()
    (tmp_path / "b.zip").write_bytes(
        data[: data.index(b"PK\1\2") + 28] + b"\0\0" + data[data.index(b"PK\1\2") + 30 :]
    )
    for name in ("b.xlsx", "b.sqlite", "b.json", "b.zip"):
        with pytest.raises(lac.FileError, match=name):
            lac.read(tmp_path / name)


def test_a_stream_that_never_ends_is_refused() -> None:
    with pytest.raises(lac.FileError, match="a line of more than"):
        lac.read("/dev/zero")
    with lac.memory("1 kB"), pytest.raises(lac.BudgetError, match="what was read so far"):
        lac.read("/dev/urandom")


WHEN = [date(2024, 1, 31), date(2024, 3, 1), None, date(2024, 2, 29)]
SIZES = [1.5, 2.5, 3.5, 4.5]


@pytest.mark.parametrize("suffix", ["xlsx", "sav", "dta", "xpt"])
def test_dates_in_files_of_others_are_days_since_the_first(suffix: str, tmp_path: Path) -> None:
    path, frame = tmp_path / f"t.{suffix}", pd.DataFrame({"when": WHEN, "x": SIZES})
    if suffix == "xlsx":
        workbook(path, {"S": lines({"when": WHEN, "x": SIZES})})
    elif suffix == "dta":
        frame["when"] = pd.to_datetime(frame["when"])
        frame.to_stata(path, convert_dates={"when": "td"}, write_index=False)
    else:
        getattr(pyreadstat, {"sav": "write_sav", "xpt": "write_xport"}[suffix])(frame, str(path))
    table = lac.read(path)
    assert table.to_frame("dict") == {"when": [0.0, 30.0, None, 29.0], "x": SIZES}  # 2024 is a leap year
    assert table.schema["when"].unit == "days since 2024-01-31"
    assert any("taken as days since 2024-01-31" in said for said in table.decisions)
    taken = lac.read(path, dates="parts")
    assert "when month" in taken.schema


def test_spreadsheets_as_people_make_them(tmp_path: Path) -> None:
    """Blank rows, a title in merged cells, formulas, and numbers kept as text."""
    path = tmp_path / "t.xlsx"
    body: list[list[Any]] = [
        ["name", "x", "n"],
        ["a", "=1+0.5 is 1.5", "1.25"],
        ["b", 2.5, "2.5"],
        ["a", None, "3.75"],
    ]
    expected = {"name": ["a", "b", "a"], "x": [1.5, 2.5, None], "n": [1.25, 2.5, 3.75]}
    titles: list[list[list[Any]]] = [
        [[], []],
        [["Weights of 2024"], []],
        [["Weights of 2024"], ["by hand"], []],
    ]
    for above in titles:
        workbook(path, {"S": [*above, *body]}, merged="A1:C1")
        table = lac.read(path)
        assert table.to_frame("dict") == expected, above
        assert any("above the header" in said for said in table.decisions) == bool(above[0])
    workbook(path, {"S": body[1:]})
    assert lac.read(path, header=False).schema.names == ("x1", "x2", "x3")
    assert lac.read(path, header=False, names=["p", "q", "r"]).schema.names == ("p", "q", "r")
    workbook(path, {"S": [["note"], *body]})
    assert lac.read(path, skip=1).to_frame("dict") == expected


@pytest.mark.parametrize(
    ("rows", "options", "expected", "said"),
    [
        (
            [["N", None, "S", None], ["x", "y", "x", "y"], [1.5, "a", 2.5, "b"], [3.5, "b", 4.5, "a"]],
            {"header": 2},
            {"N x": [1.5, 3.5], "N y": ["a", "b"], "S x": [2.5, 4.5], "S y": ["b", "a"]},
            "",
        ),
        (
            [["x", None, "y"], [1.5, None, "a"], [], [2.5, None, "b"], ["Source: WHO, 2024"]],
            {},
            {"x": [1.5, 2.5], "y": ["a", "b"]},
            "1 row below the last one left out: 'Source.*1 column without a name or a value left out",
        ),
        (
            [["y", "x"], ["a", 1.5], ["b", 2.5], ["a", 3.5], [], ["Total", 7.5]],
            {"skip_end": 1},
            {"y": ["a", "b", "a"], "x": [1.5, 2.5, 3.5]},
            "may sum up the others; skip_end=1",
        ),
        ([["x", "y"], [1, "a"], ["n/a", "b"]], {}, {"x": [1, None], "y": ["a", "b"]}, "'n/a' read as holes"),
        (
            [["x", "y"], [1.5, "a"], ["#DIV/0!", "b"], ["#N/A", "#N/A"], [2.5, "a"]],
            {},
            {"x": [1.5, None, None, 2.5], "y": ["a", "b", None, "a"]},
            r"cells with an error .* holes: x has 2 \(#DIV/0!, #N/A\), y has 1 \(#N/A\)",
        ),
        (
            [["x", "y"], [1.5, "a"], [2.5, "b"], [], ["city", "pop"], ["Rome", 2.8], ["Oslo", 0.7]],
            {"skip_end": 3},
            {"x": [1.5, 2.5], "y": ["a", "b"]},
            "another table: 'city', 'pop'; skip_end=3 leaves that out, skip=4 reads it alone",
        ),
        (
            [["x", "y", None, "z"], [1.5, "a", None, 3.5], [2.5, "b", None, 4.5], [3.5, "a", None, None]],
            {"drop": ["z"]},
            {"x": [1.5, 2.5, 3.5], "y": ["a", "b", "a"]},
            "between 'y' and 'z': if these are two tables, drop=",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*(sum up|error in the sheet|another table|two tables)")
def test_sheets_with_what_is_no_table(
    rows: list[list[Any]], options: dict[str, Any], expected: dict[str, Any], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.xlsx"
    workbook(path, {"empty": [], "S": rows})
    table = lac.read(path, **options)
    assert table.to_frame("dict") == expected
    if "header" in options:
        with pytest.raises(lac.SchemaError, match=r"two columns are called 'x'.*header=2"):
            lac.read(path)
    else:
        plain = lac.read(path)
        assert re.search(said, "\n".join((*plain.decisions, *plain.notes)))


def test_labels_of_few_values_and_labels_that_are_alike(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    frame = pd.DataFrame({"age": [18.0, 25.5, 99.0, 40.0], "sex": [1.0, 2.0, 3.0, 2.0]})
    labels = {"age": {99.0: "no answer"}, "sex": {1.0: "m", 2.0: "f", 3.0: "f"}}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    table = lac.read(path)
    assert table.to_frame("dict") == {"age": [18.0, 25.5, 99.0, 40.0], "sex": ["m", "f", "f", "f"]}
    assert (
        "age: most values have no label, so that they are numbers, 99 (no answer) too" in table.decisions[0]
    )
    assert "sex: values with the same label are one state" in table.decisions[0]


SAS = (
    "c-rmSO-lkn7zgmjxA3Kdf(L^jGY=j_b}Pc5gT@*PdeVd5%7O~QO9<Ywd#Aoi7cW6X&{4WX5LDEy4^TocHoH4(I=C7rLG=I0@"
    "G$?KXBLHp6^7{B`SaoWiQm^eJ$91oQa%dIczp{*A+nH61NnPq`D8x0mdU1+WFeVP6@q4H2(_QDYtHT8C%bAdb%mG6D#Xh%Nt"
    "WcC#OfleOWEB@wMGB{0000000000000000RNGjeTZ%*^;yK$d-aUx0ikP$=S3s1=q1c^MaUZ-z3vHljpqqr|F}usa`(?0CV9"
    ";y2LJ#7fbsf#YioY1KTQ)O^{<d;q<)E9WBvZ`dV9Ml<mzj)ovg;|GdZ=nrE_;<?i1!y!n_;5Ra@#L(|kpc*D$XUUZcVeL?3("
    ")r7IK90dKRh!A6;lO*SfQ<Z_BqD#=oewDZ8JLME4*XEU|NS@^=Jy$<1iugp(=$5~!&Cf6OqHt_b3+X6iC@F!XHCqsQMseXH{"
    "{!hNx3f<|4@T-prBQI;gleWN~j_M2Qs}Bhy*LI+**1^CE000000002v_XPxiqXY"
)
"""Written by haven of R: g, and a, b, c as MMDDYY10., DATETIME20. and TIME8.; n has no format."""


def test_dates_in_files_of_sas(tmp_path: Path) -> None:
    path = tmp_path / "t.sas7bdat"
    path.write_bytes(zlib.decompress(base64.b85decode(SAS)))
    table = lac.read(path)
    assert table.to_frame("dict") == {
        "g": ["a", "b", "a"],
        "a": [0.0, 30.0, None],
        "b": [0.0, 30.0, None],
        "c": [10.5, 9.25, None],
        "n": [23406, 23436, None],
    }
    said = "\n".join(table.decisions)
    assert "a: dates, taken as days since 2024-01-31" in said
    assert "b: times, taken as days since 2024-01-31 01:00:00" in said


@pytest.mark.parametrize(
    ("package", "form", "number", "moment"),
    [
        # What SAS, Stata and SPSS print for these numbers, as their manuals have it.
        ("sas7bdat", "DATE9.", 0.0, date(1960, 1, 1)),
        ("sas7bdat", "monyy", 23406.0, date(2024, 1, 31)),
        ("xport", "E8601DA10.", -1.0, date(1959, 12, 31)),
        ("xport", "EURDFDT18.", 86400.5, datetime(1960, 1, 2, 0, 0, 0, 500000)),
        ("sas7bdat", "TIME8.2", 37800.0, time(10, 30)),
        ("sas7bdat", "BEST12.", 23406.0, None),
        ("sas7bdat", "DOLLAR8.2", 23406.0, None),
        ("sas7bdat", "TIME8.", 90000.0, None),  # 25 hours are no time of day
        ("sas7bdat", "DATE9.", 1e9, None),  # beyond the year 9999
        ("dta", "%-tdNN/DD/CCYY", 0.0, date(1960, 1, 1)),
        ("dta", "%tcHH:MM", 3600000.0, datetime(1960, 1, 1, 1)),
        ("dta", "%tm", -1.0, date(1959, 12, 1)),
        ("dta", "%tqCCYY!Qq", 257.0, date(2024, 4, 1)),
        ("dta", "%th", 1.0, date(1960, 7, 1)),
        ("dta", "%tw", 53.0, date(1961, 1, 8)),
        ("dta", "%ty", 2024.0, None),
        ("dta", "%9.0g", 5.0, None),
        ("sav", "MOYR8", 13926038400.0, date(2024, 1, 31)),
        ("por", "DATETIME20", 0.0, datetime(1582, 10, 14)),
        ("sav", "F8.2", 0.0, None),
    ],
)
def test_formats_that_mean_moments(package: str, form: str, number: float, moment: object) -> None:
    assert dated([number, None], form, package) == (None if moment is None else [moment, None])


def test_a_view_that_never_ends_is_refused_where_memory_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(tmp_path / "x.db") as link:
        link.execute(
            "create view v as with recursive r(x) as (select 1 union all select x + 1 from r) select x from r"
        )
    monkeypatch.setattr("lacunary.budget.room", lambda: 0)
    with pytest.raises(lac.BudgetError, match="going on to read it"):
        lac.read(tmp_path / "x.db")


def test_a_view_that_fills_a_cell_without_end_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as link:
        link.execute("create view v as select zeroblob(500000000) as x")
    with pytest.raises(lac.FileError, match="too big"):
        lac.read(tmp_path / "x.db")


def test_databases_of_duckdb_are_read_and_reach_no_other_file(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n")
    with duckdb.connect(str(tmp_path / "x.duckdb")) as link:
        link.execute("create table people as select 'ann' as name, 31 as age union all select 'bob', null")
    address = f"duckdb:///{tmp_path}/x.duckdb"
    found = lac.read(address, query="select * from people order by name")
    assert found["name"].tolist() == ["ann", "bob"]
    assert found.holes.tolist() == [[False, False], [False, True]]
    with duckdb.connect(str(tmp_path / "x.duckdb")) as link:
        link.execute(f"create view other as select * from read_csv('{tmp_path}/other.csv')")
    with pytest.raises(lac.FileError, match=r"other\.csv"):
        lac.read(address, query="select * from other")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", '[{"a": 1, "a": 2}, {"a": 3}]'),
        ("x.ndjson", '{"a": 1, "a": 2}\n{"a": 3}\n'),
        ("x.json", '[{"a": {"b": 1}, "a.b": 2}, {"a": {"b": 3}}]'),
    ],
)
def test_what_json_says_twice_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(lac.FileError, match="stands twice"):
        lac.read(tmp_path / name)


def test_columns_of_json_that_are_called_alike_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"columns": ["a", "a"], "data": [[1, 2], [3, 4]]}')
    with pytest.raises(lac.LacunaryError):
        lac.read(tmp_path / "x.json")


def test_what_is_too_long_for_the_number_of_a_row_is_a_name(tmp_path: Path) -> None:
    """Python makes no whole number of more than 4 300 digits."""
    (tmp_path / "x.json").write_text(f'{{"a": {{"{"1" * 5000}": 1}}, "b": {{"2": 2}}}}')
    assert lac.read(tmp_path / "x.json").columns == ("1" * 5000, "2")


def test_a_name_within_an_archive_may_be_long(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(f"../a.{'b' * 400}.csv", "a,b\n1,2\n3,4\n")
    assert lac.read(tmp_path / "x.zip").columns == ("a", "b")
