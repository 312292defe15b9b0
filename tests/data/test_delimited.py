"""Text files: what they may look like, and what is said when they are broken."""

import gzip
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lacunary.data import delimited
from lacunary.data.read import read
from lacunary.data.table import Table
from lacunary.errors import FileError, LacunaryError, SchemaError, TableError


def write(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def cells(table: Table) -> Mapping[str, Sequence[object]]:
    return table.to_frame("dict")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a,b\n1,x\n?,y\n", "t.csv"),
        ("\ufeffa,b\r\n1,x\r\nNA,y", "t.csv"),  # byte order mark, CRLF, no newline at the end
        ("a;b\n1;x\n;y\n", "t.csv"),
        ("a\tb\n1\tx\nNaN\ty\n", "t.tsv"),
        ("a\tb\n1\tx\nNaN\ty\n", "t.txt"),
        ('"a","b"\n"1","x"\n"","y"\n', "t.CSV"),
        ("\n a , b \n 1 ,x\n\n ? ,\ty \n\n", "t.data"),  # blank lines, blanks around cells
    ],
)
def test_dialects(tmp_path: Path, content: str, name: str) -> None:
    assert cells(read(write(tmp_path, content, name))) == {"a": [1, None], "b": ["x", "y"]}


def test_gzip_and_quoted_delimiters_and_newlines(tmp_path: Path) -> None:
    text = 'a,b\n"x,1","p\nq"\n"say ""y""",NA\n'
    table = read(write(tmp_path, gzip.compress(text.encode()), "t.csv.gz"))
    assert cells(table) == {"a": ["x,1", 'say "y"'], "b": ["p\nq", None]}


def test_a_blank_line_in_a_file_of_one_column_is_a_hole(tmp_path: Path) -> None:
    assert cells(read(write(tmp_path, "a\nx\n\ny\n"))) == {"a": ["x", None, "y"]}


@pytest.mark.parametrize(
    ("column", "states"),
    [
        ("3 1 ? 2 10", (1, 2, 3, 10)),  # integers sort as numbers
        ("1.0 2.0 ? 2.0 1.0", (1, 2)),  # what pandas writes for integers with holes
        ("b a NA c a", ("a", "b", "c")),
        ("True False ? True True", ("False", "True")),
        ("01 02 ? 10 01", ("01", "02", "10")),  # codes, not numbers: 01 must not become 1
        ("12345678901234567 12345678901234568 ? NA NA", ("12345678901234567", "12345678901234568")),
        ("1 2 x 3 ?", ("1", "2", "3", "x")),
        ("1_0 2 3 4 5", ("1_0", "2", "3", "4", "5")),
        ("\u0661 \u0662 ? \u0661 \u0662", ("\u0661", "\u0662")),  # digits of another script are text
    ],
)
def test_discrete_columns(tmp_path: Path, column: str, states: tuple[object, ...]) -> None:
    table = read(write(tmp_path, "a\n" + "\n".join(column.split()) + "\n"))
    assert table.schema["a"].states == states
    assert [type(state) for state in table.schema["a"].states] == [type(state) for state in states]


def test_continuous_columns(tmp_path: Path) -> None:
    table = read(write(tmp_path, "a,b\n1.5,0\n-2e3,1\n?,2\n.5," + "\n0,".join(map(str, range(3, 24)))))
    assert [v.kind for v in table.schema] == ["continuous", "continuous"]
    assert np.array_equal(table.reals[:4, 0], [1.5, -2000.0, np.nan, 0.5], equal_nan=True)
    assert "b: 24 distinct whole numbers, taken as continuous; kinds={'b': 'discrete'} makes it discrete" in (
        table.decisions
    )


def test_many_numbers_are_kept_as_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "TEXTS", 30)
    monkeypatch.setattr(delimited, "CELLS", 20)
    values = np.arange(100) / 4
    texts = ["?" if k % 10 == 0 else f" {v} " for k, v in enumerate(values)]
    path = write(tmp_path, "a,b\n" + "\n".join(f"{t},t{k % 3}" for k, t in enumerate(texts)))
    expected = np.where(np.arange(100) % 10 == 0, np.nan, values)
    table = read(path)
    assert np.array_equal(table.reals[:, 0], expected, equal_nan=True)
    assert table.codes[:, 1].tolist() == [k % 3 for k in range(100)]
    texts[77] = "many"
    path = write(tmp_path, "a\n" + "\n".join(texts))
    with pytest.raises(TableError, match="a, row 78: 'many' is not a number"):
        read(path)
    assert np.isnan(read(path, holes=("?", "many")).reals[77, 0])


def test_codes_take_the_smallest_type(tmp_path: Path) -> None:
    for count, dtype in ((127, np.int8), (128, np.int16)):
        labels = [f"s{k}" for k in range(count)] * 3
        table = read(write(tmp_path, "a\n" + "\n".join(labels)))
        assert table.codes.dtype == dtype
        assert table.codes.max() == count - 1


@pytest.mark.parametrize(
    ("content", "name", "error", "message"),
    [
        ("", "t.csv", FileError, "is empty"),
        ("\n\n", "t.csv", FileError, "is empty"),
        ("a,b\n", "t.csv", TableError, "no rows"),
        ("a,b\n1,2\n\n1,2,3\n", "t.csv", FileError, "line 4: 3 cells, but the header names 2"),
        ('a,b\n"x\ny",2\n1\n', "t.csv", FileError, "line 4: 1 cell,"),
        ('a,b\n1,"x\n', "t.csv", FileError, "line 2: unexpected end of data"),
        ("a,b,a\n1,2,3\n", "t.csv", SchemaError, "two columns are called 'a'"),
        (",b\n1,2\n", "t.csv", SchemaError, "column 1 has no name.*drop="),
        ("a,b\n1,?\n2,\n", "t.csv", SchemaError, "b has only holes"),
        ("a\n1\ninf\n", "t.csv", TableError, "a, row 2: infinite"),
        ("a\n1.5\n1e999\n", "t.csv", TableError, "a, row 2: infinite"),
        ("a\nx" + "x" * 200_000, "t.csv", FileError, "line 2: field larger"),
        (b"a,b\n1,\xff\x81", "t.csv", FileError, "not UTF-8.*encoding='shift-jis'"),
        (b"a,b\n\x00\x01,2\n", "t.csv", FileError, "not a text file"),
        (gzip.compress(b"a\n1\n", mtime=0), "t.csv", FileError, "is gzipped; call it"),
        (b"a\n1\n", "t.csv.gz", FileError, "not gzipped"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 9999, mtime=0)[:-20], "t.csv.gz", FileError, "broken gzip"),
        (b"\x1f\x8b\x08\x00broken indeed, this is", "t.csv.gz", FileError, "broken gzip"),
        (b"PAR1", "t.xlsx", FileError, "as a spreadsheet"),
        (b"a,b\n1,2\n", "t.parquet", FileError, "not what its suffix says"),
        (b"PAR1 and then nothing", "t.parquet", FileError, "is damaged"),
        (b"ARROW1 and then nothing", "t.feather", FileError, "is damaged"),
    ],
)
def test_broken_files(
    tmp_path: Path, content: str | bytes, name: str, error: type[LacunaryError], message: str
) -> None:
    with pytest.raises(error, match=message):
        read(write(tmp_path, content, name))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for nothing in (tmp_path / "no.csv", "a,b\n1,2\n", "x" * 10_000, "no\0.csv"):
        with pytest.raises(FileError, match="does not exist"):
            read(nothing)
    with pytest.raises(FileError, match="is a directory"):
        read(tmp_path)


def test_an_unnamed_column_can_be_left_out(tmp_path: Path) -> None:
    assert read(write(tmp_path, ",b\n0,2\n1,3\n"), drop=[""]).schema.names == ("b",)


ODD = st.text(st.sampled_from(list("ab01.,;\t\n\r\"'? -+eN\0é")), max_size=80)
CELL = st.sampled_from(["", "?", "1", "2.5", "x", "-9", "1e999", "nan", " y ", '"q,"', "007", "inf"])
GRID = st.lists(st.lists(CELL, min_size=2, max_size=3).map(",".join), max_size=8).map("\n".join)


@settings(deadline=None, max_examples=400)
@given(
    ODD | GRID.map("a,b\n{}".format) | st.binary(max_size=60), st.sampled_from([".csv", ".tsv", ".csv.gz"])
)
@example("a\n\x85", ".csv")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_file_gives_a_table_or_a_named_error(content: str | bytes, suffix: str) -> None:
    raw = content.encode() if isinstance(content, str) else content
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), gzip.compress(raw) if suffix == ".csv.gz" else raw, "t" + suffix)
        with suppress(LacunaryError):
            table = read(path)
            assert len(table) > 0
            assert not table.holes.all()


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_what_is_written_is_read_back(data: st.DataObject) -> None:
    import csv

    label = st.none() | st.text(
        st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=5
    ).map(lambda text: f"[{text}]")
    rows = data.draw(st.lists(st.tuples(label, label), min_size=1, max_size=10))
    rows.append(("[x]", "[y]"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("a", "b"), *rows])
        assert cells(read(path)) == {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}
