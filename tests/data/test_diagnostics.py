"""What looks doubtful in a table, and that every problem of a source is named at once."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacunary.data.read import examine, read
from lacunary.data.wording import counted, meant, visible
from lacunary.errors import LacunaryError, ParameterError, SchemaError, TableError


def write(folder: Path, content: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def notes(column: list[Any], name: str = "x") -> tuple[str, ...]:
    return examine({name: column}).notes


NUMBERS = [f"{k / 8}" for k in range(104)]


def test_numbers_beside_a_few_other_cells_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "v,g\n" + "".join(f"{v},a\n" for v in [*NUMBERS, "n/a", "unknown"]))
    with pytest.raises(
        TableError,
        match=r"104 of 106 cells are numbers, the others are 'n/a' and 'unknown'; "
        r"holes=\['n/a', 'unknown'\] makes them holes",
    ):
        read(path)
    table = read(path, holes=["n/a", "unknown"])
    assert table.schema["v"].kind == "continuous"
    assert table.holes[:, 0].sum() == 2
    assert table.notes == ()


def test_a_few_numbers_that_became_states_are_warned_of(tmp_path: Path) -> None:
    path = write(tmp_path, "v,g\n1.5,a\n2.0,b\nn/a,a\n3.1,b\n")
    with pytest.warns(UserWarning, match=r"v: 3 of 4 cells are numbers, the other is 'n/a'; holes=\['n/a'\]"):
        read(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(path, kinds={"v": "discrete"})  # who has decided is not warned
        examine(path)  # says it in its notes
    assert len(examine(path).notes) == 1


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (["0,3", "1,5", "n/a"], "2 of 3 cells are numbers, the other is 'n/a'; holes=['n/a']"),
        (["1,234", "2,345"], "'1,234' may be 1234 or 1.234, and no cell tells; read as 1234; decimal=','"),
        (["3 kg", "4 kg", "500 g"], "numbers in different units, 'kg', 'g', read as labels"),
        (["3/4/2024", "5/6/2024"], "read with the month first; day_first=True reads the other"),
        (["a", "b", "n/a"], r"x: 'n/a' may mean that a value is missing; holes=['n/a'] makes it a hole"),
        ([1, 2, 1, 2, -9], "'-9' may mean"),
        (["True", "TRUE", "T", "false", "F"], "'True', 'TRUE', 'T'; 'false', 'F'"),
        (["New York", "new_york", "Rome"], "'New York', 'new_york'"),
        (["x", "u", "v"], "row 1: the header line again"),
        (list(range(5, 35)), "30 whole numbers, in sequence, look like an identifier"),
    ],
)
def test_a_doubtful_column_is_noted(column: list[Any], said: str) -> None:
    [note] = notes(column)
    assert said in note


@pytest.mark.parametrize(
    "column",
    [
        ["a", "b"],
        ["1", "2", "3", "5+"],  # a state of its own, not a slip among numbers
        ["0,1", "A,B"],
        ["+", "-5", "<5", ">5"],  # signs are no spelling
        ["t", "true north", "f"],
        ["y", "n"],
        [True, False],
        [
            3,
            1,
            4,
            15,
            92,
            65,
            35,
            89,
            79,
            32,
            38,
            46,
            26,
            43,
            83,
            27,
        ],  # distinct, but neither named nor in sequence
        [0.5, 1.5, 2.5],
        ["n/a", "n/a"],  # nothing else is there to be a value
    ],
)
def test_a_plain_column_is_not(column: list[Any]) -> None:
    assert notes(column) == ()


@pytest.mark.parametrize(("name", "noted"), [("PassengerId", True), ("user_id", True), ("paid", False)])
def test_distinct_whole_numbers_are_identifiers_by_name(name: str, noted: bool) -> None:
    assert len(notes([7 * k * k for k in range(30)], name)) == noted


def test_a_doubt_about_many_columns_is_one_note() -> None:
    columns = {f"c{k}": ["$5", "€5", "$6"] for k in range(10)}
    assert examine(columns).notes == (
        "c0, c1, c2, c3, c4, c5 and 4 more: numbers in different units, '$', '€', read as labels; "
        "give all cells one unit in the source",
    )


def test_a_repeated_header_is_left_out_and_said(tmp_path: Path) -> None:
    path = write(tmp_path, "v,g\n" + "1.5,a\n2.5,b\n" * 3 + "v,g\n3.5,a\n")
    table = read(path)
    assert (len(table), table.notes) == (7, ())
    assert table.decisions[0] == "the header comes again in 1 line, left out"


def test_decimal_commas(tmp_path: Path) -> None:
    content = "a;b;c;d\nx;1,5;2,5;1\ny;-0,5;1.5;2\nx,y;NA;3,5;\nz;1e3;?;3\n"
    path = write(tmp_path, content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # c has both points and commas, and stays as it is written
        table = read(path, decimal=",")
    assert table.to_frame("dict") == {
        "a": ["x", "y", "x,y", "z"],
        "b": [1.5, -0.5, None, 1000.0],
        "c": ["2,5", "1.5", "3,5", None],
        "d": [1, 2, None, 3],
    }
    with pytest.raises(ParameterError, match="decimal must be"):
        read(path, decimal=";")
    with pytest.raises(TableError, match=r"c, row 1: '2,5' is not a number"):
        read(path, kinds={"c": "continuous"})


def test_many_numbers_with_decimal_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many texts a column is kept as values."""
    monkeypatch.setattr("lacunary.data.delimited.TEXTS", 10)
    monkeypatch.setattr("lacunary.data.delimited.CELLS", 8)
    values = np.arange(100) / 8
    path = write(tmp_path, "a;b\n" + "".join(f"{v};x\n".replace(".", ",") for v in values) + "NA;y\n")
    read_back = read(path, decimal=",").reals[:, 0]
    np.testing.assert_array_equal(read_back, [*values, np.nan])


def test_cells_may_be_parted_by_bars(tmp_path: Path) -> None:
    table = read(write(tmp_path, "a|b|c\nx|1.5|yes\ny||no\n"))
    assert table.to_frame("dict") == {"a": ["x", "y"], "b": [1.5, None], "c": ["yes", "no"]}


PROBLEMS = "id,,when,ok,none,twice,twice\n" + "".join(
    f"p{k},{k},2024-{k % 12 + 1:02}-{k % 31 + 1:02},{'ab'[k % 2]},,1,2\n" for k in range(84)
)


def test_every_problem_is_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, PROBLEMS)
    with pytest.raises(TableError, match=r"^5 columns cannot be read as they are:\n- id has 84") as caught:
        read(path)
    lines = str(caught.value).splitlines()[1:]
    named = (
        "- id has",
        "- column 2 has no name",
        "- when has",
        "- none has only",
        "- two columns are called",
    )
    assert all(line.startswith(start) for line, start in zip(lines, named, strict=True))
    assert "dates, but '2024-02-31' is none; holes=['2024-02-31'] makes it a hole" in lines[2]
    table = read(path, drop=["id", "", "when", "none", "twice"])
    assert table.schema.names == ("ok",)


def test_what_cannot_be_read_is_described(tmp_path: Path) -> None:
    description = examine(write(tmp_path, PROBLEMS), drop=["id"])
    told = json.loads(json.dumps(description.to_dict()))
    assert [v["name"] for v in told["variables"]] == ["(column 2)", "when", "ok", "none", "twice"]
    assert [v["kind"] for v in told["variables"]] == ["refused", "refused", "discrete", "refused", "refused"]
    assert [v["holes"] for v in told["variables"]] == [0, 0, 0, 1, 0]
    assert len(told["problems"]) == 4
    text = str(description)
    assert text.startswith("84 rows, 5 columns, 4 of them refused\n")
    assert "when        refused     0.0%  such as 2024-01-01, 2024-02-02, 2024-03-03\n" in text
    assert text.index("\n\ndecisions\n") < text.index("\n\nproblems\n")


def test_problems_of_a_frame_are_gathered() -> None:
    columns = {"a": [1, [2]], "b": ["x", "y"], "c": [2j, 1], "d": [None, None]}
    with pytest.raises(LacunaryError, match="3 columns cannot be read"):
        read(columns)
    assert [v.kind for v in examine(columns).variables] == ["refused", "discrete", "refused", "refused"]
    with pytest.raises(SchemaError, match=r"^d has only holes"):
        read(columns, drop=["a", "c"])


def test_a_file_without_rows_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"t\.csv has a header line, but no rows"):
        read(write(tmp_path, "a,b\n"))


def test_a_label_stays_on_its_line() -> None:
    text = str(read({"a\tb": ["x\ny", "z\x1b[1m"]}).describe())
    assert "a\\tb      discrete   0.0%  x\\ny, z\\x1b[1m\n" in text


def test_words() -> None:
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert counted(2, "class") == "2 classes"
    assert visible("Orléans 東京 1") == "Orléans 東京 1"
    assert meant("bodymass", ["species", "body_mass_g"]) == " (did you mean 'body_mass_g'?)"
    assert meant("gento", ["Adelie", "Gentoo"]) == " (did you mean 'Gentoo'?)"
    assert meant(2.0, [1, 2]) == ""
    assert meant("xyz", ["Adelie", "Gentoo"]) == ""


def test_what_was_meant_is_said_wherever_a_name_or_state_is_unknown() -> None:
    table = read({"species": ["Adelie", "Gentoo"], "mass": [1.5, 2.5]})
    with pytest.raises(SchemaError, match=r"did you mean 'species'\?"):
        table.select(["specis"])
    with pytest.raises(SchemaError, match=r"did you mean 'Gentoo'\?"):
        table.schema["species"].encode("Gento")
    with pytest.raises(SchemaError, match=r"did you mean 'mass'\?"):
        read({"mass": [1.5]}, drop=["masss"])
    with pytest.raises(SchemaError, match=r"did you mean 'Gentoo'\?"):
        read({"species": ["Gento"]}, schema=table.select(["species"]).schema)
