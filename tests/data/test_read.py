"""Reading frames, arrays and plain Python, and what the caller may declare."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import lacunary as lac
from lacunary.data import arrow, assemble, frame
from lacunary.data.bare import Declared
from lacunary.data.plain import from_mapping
from lacunary.data.read import read
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import LacunaryError, ParameterError, SchemaError, StateError, TableError

COLUMNS: dict[str, list[Any]] = {
    "text": ["b", None, "a", "b"],
    "flag": [True, False, None, True],
    "count": [3, 1, None, 1],
    "real": [0.5, None, 2.0, -1.0],
}

MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy polars": pl.LazyFrame,
    "pyarrow": pa.table,
    "mapping": dict,
    "mapping of series": lambda columns: {name: pd.Series(values) for name, values in columns.items()},
    "rows": lambda columns: [
        dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
    ],
    "objects": lambda columns: np.array(
        list(zip(*[np.array(v, dtype=object) for v in columns.values()], strict=True)),
        dtype=[(name, object) for name in columns],
    ),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_every_source_gives_the_same_table(make: Callable[[dict[str, list[Any]]], Any]) -> None:
    table = read(make(COLUMNS))
    assert table.schema == Schema(
        (
            Variable("text", ("a", "b")),
            Variable("flag", (False, True)),
            Variable("count", (1, 3)),
            Variable("real", kind="continuous"),
        )
    )
    assert table.codes.tolist() == [[1, 1, 1, -1], [-1, 0, 0, -1], [0, -1, -1, -1], [1, 1, 0, -1]]
    assert np.array_equal(table.reals[:, 3], [0.5, np.nan, 2.0, -1.0], equal_nan=True)
    assert table.codes.dtype == np.int8
    assert len(table.decisions) == 4
    # True == 1 in Python; the labels must keep their types all the same
    assert [type(s) for s in table.schema["flag"].states + table.schema["count"].states] == [
        bool,
        bool,
        int,
        int,
    ]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_comes_back_in_its_library(library: str) -> None:
    source = MAKERS[library](COLUMNS)
    table = read(source)
    assert table.library == library
    back = table.to_frame(weights="w")
    assert type(back) is type(source)
    again = read(back, weights="w")
    assert again.to_frame("dict") == table.to_frame("dict") == COLUMNS
    assert read(table.take(np.array([0, 2])).select(["real", "text"]).to_frame()).to_frame("dict") == {
        "real": [0.5, 2.0],
        "text": ["b", "a"],
    }


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_declared_states_survive_the_way_through_a_frame(library: str) -> None:
    table = read({"x": ["m", "l", None]}, states={"x": ["l", "m", "h"]}, ordered=["x"])
    assert read(table.to_frame(library)).schema == table.schema


def test_the_kinds_of_integers_and_nulls_in_pandas() -> None:
    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, None, 2], dtype="Int64"),
            "flags": pd.array([True, None, False], dtype="boolean"),
            "floats": pd.array([0.5, None, 2.5], dtype="Float64"),
            "text": pd.array(["a", None, "b"], dtype="string"),
            "objects": pd.Series([1, "x", None], dtype=object),
        }
    )
    frame["cut"] = pd.cut(pd.Series([1.0, 9.0, np.nan]), [0, 5, 10])
    frame["ints"] = pd.Categorical([5, 3, None], categories=[5, 4, 3])
    table = read(frame)
    states = {v.name: v.states for v in table.schema}
    assert states == {
        "nullable": (1, 2),
        "flags": (False, True),
        "floats": (),
        "text": ("a", "b"),
        "objects": ("1", "x"),
        "cut": ("(0, 5]", "(5, 10]"),
        "ints": (5, 4, 3),
    }
    assert table.holes.sum(axis=0).tolist() == [1] * 7
    assert table.schema["cut"].ordered
    assert not table.schema["ints"].ordered
    assert read(pd.DataFrame([[0, 1], [1, 1]])).schema.names == ("0", "1")


def test_categories_keep_their_order() -> None:
    values, states = ["lo", None, "hi"], ["lo", "mid", "hi"]
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, None, 2]), states)
    chunks = pa.chunked_array([dictionary, pa.DictionaryArray.from_arrays(pa.array([0]), ["hi"])])
    for source in (
        pd.DataFrame({"x": pd.Categorical(values, categories=states)}),
        pl.DataFrame({"x": pl.Series(values, dtype=pl.Enum(states))}),
        pa.table({"x": dictionary}),
        pa.table({"x": chunks}),
    ):
        table = read(source)
        assert table.schema["x"].states == tuple(states)
        assert table.codes[:3, 0].tolist() == [0, HOLE, 2]
    assert read(pl.DataFrame({"x": pl.Series(values, dtype=pl.Categorical)})).schema["x"].states == (
        "hi",
        "lo",
    )


def test_parquet_keeps_declared_states_without_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = ["lo", "mid", "hi"]
    written = pl.DataFrame(
        {
            "x": pl.Series(["hi", None, "lo"], dtype=pl.Enum(states)),
            "t": ["b", None, "a"],
            "n": [1.5, None, 2.5],
            "k": [3, 1, None],
        }
    )
    written.write_parquet(tmp_path / "t.parquet")
    written.write_ipc(tmp_path / "t.arrow")
    monkeypatch.setattr(arrow, "find_spec", lambda name: None)
    for path in tmp_path.iterdir():
        table = read(path, kinds={"k": "continuous"})
        assert table.schema["x"].states == tuple(states)
        assert table.to_frame("dict") == {
            "x": ["hi", None, "lo"],
            "t": ["b", None, "a"],
            "n": [1.5, None, 2.5],
            "k": [3.0, 1.0, None],
        }
        assert read(path, drop=["x", "n"]).schema.names == ("t", "k")


def test_categories_of_pandas_keep_their_order_in_parquet(tmp_path: Path) -> None:
    states = ["z", "never", "a"]
    pd.DataFrame({"x": pd.Categorical(["a", None, "z"], categories=states, ordered=True)}).to_parquet(
        tmp_path / "t.parquet"
    )
    found = read(tmp_path / "t.parquet")
    assert found.schema["x"].states == tuple(states)
    assert found.codes[:, 0].tolist() == [2, HOLE, 0]


def test_arrow_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = read(COLUMNS)
    native = table.to_frame("pyarrow")
    pyarrow.parquet.write_table(native, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(native, str(tmp_path / "t.feather"))
    for path in tmp_path.iterdir():
        again = read(path)
        assert (again.schema, again.to_frame("dict")) == (table.schema, COLUMNS)
    for module in (arrow, frame):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert read(tmp_path / "t.parquet").to_frame("dict") == COLUMNS  # polars reads it, pyarrow or not
    with pytest.raises(ParameterError, match="polars is not installed"):
        table.to_frame("polars")
    assert table.to_frame() == COLUMNS  # without pandas, lists


def test_wide_arrow_files_are_gone_through_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = 400
    wide = pl.DataFrame({f"c{k}": [k, None, 0, 1] if k % 2 else ["a", "b", None, "a"] for k in range(many)})
    wide.write_parquet(tmp_path / "wide.parquet")
    wide.write_ipc(tmp_path / "wide.arrow")
    asked: list[int] = []
    collect = pl.LazyFrame.collect

    def counted(lazy: pl.LazyFrame, *given: Any, **named: Any) -> Any:
        asked.append(1)
        return collect(lazy, *given, **named)

    monkeypatch.setattr(pl.LazyFrame, "collect", counted)
    for path in tmp_path.iterdir():
        asked.clear()
        assert read(path).shape == (4, many)
        assert len(asked) <= 4  # how many rows there are, then all columns together
        monkeypatch.setattr(arrow, "TOGETHER", 1)
        monkeypatch.setattr(arrow, "DEEP", 0)
        found = read(path, drop=["c7"])
        assert found.to_frame("polars").equals(read(wide, drop=["c7"]).to_frame("polars"))
        monkeypatch.undo()
        monkeypatch.setattr(pl.LazyFrame, "collect", counted)


def test_a_column_that_cannot_be_one_hides_no_other(tmp_path: Path) -> None:
    rows = {"lists": [[1], [2]], "x": [1.5, 2.5], "many": [[0], [1]], "y": ["a", "b"]}
    pl.DataFrame(rows).write_parquet(tmp_path / "lists.parquet")
    for source in (tmp_path / "lists.parquet", pl.DataFrame(rows), rows):
        found = lac.examine(source)
        assert [problem.split(",")[0] for problem in found.problems] == ["lists", "many"]
        assert read(source, drop=["lists", "many"]).schema.names == ("x", "y")


def test_long_integers_beside_nulls_are_not_rounded(tmp_path: Path) -> None:
    keys = [2**60, None, 2**60 + 1, 2**60]
    pl.DataFrame({"x": keys}).write_parquet(tmp_path / "keys.parquet")
    for source in (tmp_path / "keys.parquet", pl.DataFrame({"x": keys})):
        assert read(source).schema["x"].states == (2**60, 2**60 + 1)


def test_arrays() -> None:
    table = read(np.array([[0, np.nan, 0.5], [1, 2, 1.5]]))
    assert table.schema.names == ("x1", "x2", "x3")
    assert [v.states for v in table.schema] == [(0, 1), (2,), ()]
    assert read(np.array([["a", "?"], ["b", "c"]])).to_frame("dict") == {"x1": ["a", "b"], "x2": [None, "c"]}
    assert read(np.array([[True], [False]])).schema["x1"].states == (False, True)
    masked = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert read(masked).to_frame("dict") == {"x1": [1, 3], "x2": [None, 4]}
    structured = np.array([(1, 0.5), (2, 1.5)], dtype=[("a", int), ("b", float)])
    assert [v.kind for v in read(structured).schema] == ["discrete", "continuous"]
    schema = Schema((Variable("h", (0, 1), hidden=True), Variable("a", (1, 0)), Variable("b", (0, 1, 2))))
    table = read(np.array([[0, 2], [1, 1]]), schema=schema)
    assert table.codes.tolist() == [[HOLE, 1, 2], [HOLE, 0, 1]]


def test_whole_numbers_are_discrete_up_to_twenty_however_stored() -> None:
    twenty, more = np.tile(np.arange(20), 2), np.tile(np.arange(21), 2)
    for dtype in (np.int64, np.uint8, np.float64):
        assert read({"x": twenty.astype(dtype)}).schema["x"].states == tuple(range(20))
        assert read({"x": more.astype(dtype)}).schema["x"].kind == "continuous"
    assert read({"x": more}, kinds={"x": "discrete"}).schema["x"].states == tuple(range(21))
    assert read({"x": twenty}, kinds="continuous").reals[:, 0].tolist() == twenty.tolist()
    spread = np.array([0, 10**9, -(10**9), 0])
    assert read({"x": spread}).codes[:, 0].tolist() == [1, 2, 0, 1]
    assert read({"x": [0.5, 0.25]}, kinds="discrete").schema["x"].states == (0.25, 0.5)


def test_whole_numbers_that_hardly_repeat_are_measurements() -> None:
    assert read({"x": np.arange(11)}).schema["x"].kind == "continuous"
    assert read({"x": np.arange(10)}).schema["x"].kind == "discrete"  # so few may well be states
    assert read({"x": np.tile(np.arange(11), 2)}).schema["x"].kind == "discrete"
    assert "'x': 'discrete'" in read({"x": np.arange(11)}).decisions[0]
    assert "'x': 'continuous'" in read({"x": np.arange(10)}).decisions[0]


def test_long_integers_are_not_rounded_together() -> None:
    keys = [2**60, 2**60 + 1, 2**60]
    for source in (keys, np.array(keys), [*keys[:2], 10**400]):
        assert len(read({"x": source}).schema["x"].states) == len(set(map(int, source)))


def test_holes_are_configurable() -> None:
    columns = {"t": ["a", "?", "-9", "none"], "n": [1, -9, 2, 2], "r": [0.5, -9.0, 1.5, 2.5]}
    table = read(columns, holes=("none", -9))
    assert table.to_frame("dict") == {
        "t": ["a", None, None, None],
        "n": [1, None, 2, 2],
        "r": [0.5, None, 1.5, 2.5],
    }
    assert "n: whole numbers, taken as discrete with 2 states; -9 is a hole" in table.decisions
    assert read(columns, not_holes="?").to_frame("dict")["t"] == ["a", "?", "-9", "none"]
    assert read({"t": ["NA", "UK"]}, states={"t": ["NA", "UK", "US"]}).codes[:, 0].tolist() == [0, 1]
    assert read({"t": ["NA", "UK"]}, holes="UK", not_holes="NA").to_frame("dict") == {"t": ["NA", None]}


def test_declared_states() -> None:
    table = read(
        {"x": ["b", "?", "a"], "y": [1, 0, 1]}, states={"x": ["b", "c", "a"], "y": ["0", "1"]}, ordered="x"
    )
    assert table.codes.tolist() == [[0, 1], [HOLE, 0], [2, 1]]
    assert table.schema["x"].ordered
    with pytest.raises(StateError, match="x, row 3: 'c' is none of the declared states 'a', 'b'"):
        read({"x": ["a", "b", "c"]}, states={"x": ["a", "b"]})
    with pytest.raises(StateError, match="x, row 2: inf is none"):
        read({"x": [1.0, np.inf]}, states={"x": [1, 2]})
    assert read({"x": [None, None]}, states={"x": [0, 1]}).schema["x"].states == (0, 1)


def test_declared_states_are_met_by_the_cells_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,1.0,True\n2,2,False\n")
    table = read(path, states={"a": ["2", "1"], "b": [2, 1], "c": [False, True]})
    assert table.codes.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_a_column_may_be_declared_continuous() -> None:
    table = read({"x": ["1", "?", "2.5"], "b": [True, False, None]}, kinds="continuous")
    expected = np.array([[1.0, 1.0], [np.nan, 0.0], [2.5, np.nan]])
    assert np.array_equal(table.reals, expected, equal_nan=True)
    with pytest.raises(TableError, match="x, row 2: 'low' is not a number"):
        read({"x": ["1", "low"]}, kinds={"x": "continuous"})
    assert read({"x": [None, None]}, kinds={"x": "continuous"}).holes.all()


def test_a_column_that_names_its_rows_is_refused() -> None:
    names = [f"id{k}" for k in range(100)]
    with pytest.raises(TableError, match=r"id has 100 distinct labels in 100 cells.*drop=\['id'\].*kinds="):
        read({"id": names})
    assert read({"id": names}, kinds={"id": "discrete"}).schema["id"].size == 100
    assert read({"id": names, "x": [1] * 100}, drop=["id"]).schema.names == ("x",)
    assert read({"id": [*names, *names, *names]}).schema["id"].size == 100  # three rows a label
    assert read({"id": names[:50]}).schema["id"].size == 50
    with pytest.raises(TableError, match="1001 distinct labels"):
        read({"id": [f"id{k}" for k in range(1001)] * 10})


def test_weights() -> None:
    columns: dict[str, list[Any]] = {"x": [0, 1, 1], "w": [2, 0.5, 0]}
    for table in (read(columns, weights="w"), read({"x": columns["x"]}, weights=columns["w"])):
        assert table.schema.names == ("x",)
        assert table.weights.tolist() == [2, 0.5, 0]
        assert table.size == 2.5
    mine = np.ones(3)
    read({"x": columns["x"]}, weights=mine)
    mine[0] = 2  # the caller's array is copied, not frozen
    assert read(read({"x": columns["x"]}), weights=mine).size == 4
    wrong: list[tuple[list[Any], str]] = [
        ([1, -1, 1], "row 2 has -1"),
        ([1, 1, np.nan], "row 3 has nan"),
        ([1, 1], "3 of them"),
        (["a", "b", "c"], "must be numbers"),
    ]
    for bad, message in wrong:
        with pytest.raises(TableError, match=message):
            read({"x": columns["x"]}, weights=bad)
    with pytest.raises(TableError, match="w, row 2: a weight must not be a hole"):
        read({"x": [0, 1], "w": [1, None]}, weights="w")
    with pytest.raises(TableError, match="w, holds something else than numbers"):
        read({"x": [0, 1], "w": ["a", "b"]}, weights="w")


def test_a_schema_says_how_to_read() -> None:
    schema = Schema(
        (
            Variable("h", ("u", "v"), hidden=True),
            Variable("x", ("y", "n")),
            Variable("r", kind="continuous"),
            Variable("empty", (0, 1)),
        )
    )
    source = {"id": ["p", "q"], "r": [1, None], "x": ["n", "y"], "empty": [None, None]}
    table = read(source, schema=schema)
    assert table.schema == schema
    assert table.decisions[-1] == "id: left out, as the schema does not name it"
    assert table.codes.tolist() == [[HOLE, 1, HOLE, HOLE], [HOLE, 0, HOLE, HOLE]]
    assert read(table, schema=schema).codes is table.codes
    assert read(read({"x": ["n"], "r": [0.5], "empty": [1]}), schema=schema).codes.tolist() == [
        [HOLE, 1, HOLE, 1]
    ]
    assert read({**source, "r": [None, None]}, schema=schema).holes[:, 2].all()
    with pytest.raises(SchemaError, match="'x' is not a column"):
        read({"r": [1.0], "empty": [0]}, schema=schema)
    with pytest.raises(SchemaError, match="give either"):
        read(source, schema=schema, kinds="discrete")
    with pytest.raises(StateError, match="x, row 1: 'maybe'"):
        read({**source, "x": ["maybe", "y"]}, schema=schema)


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        ({"x": [1]}, {"kinds": {"z": "discrete"}}, SchemaError, "kinds=… speaks of a column 'z'"),
        ({"x": [1]}, {"states": {"z": [1]}}, SchemaError, "states=… speaks"),
        ({"x": [1]}, {"weights": "z"}, SchemaError, "weights=… speaks"),
        ({"x": [1]}, {"ordered": ["z"]}, SchemaError, "ordered=… speaks"),
        ({"x": [1]}, {"drop": ["z"]}, SchemaError, "drop=… speaks"),
        ({"x": [1]}, {"kinds": "nominal"}, SchemaError, "kind must be"),
        ({"x": [1]}, {"states": {"x": "ab"}}, SchemaError, "list of labels"),
        ({"x": [1]}, {"states": {"x": [1, 1]}}, SchemaError, "declared twice"),
        ({"x": [1]}, {"states": {"x": [None]}}, SchemaError, "a state is a text"),
        ({"x": [1]}, {"states": {"x": [1]}, "kinds": {"x": "continuous"}}, SchemaError, "cannot be both"),
        ({"x": [0.5]}, {"ordered": ["x"]}, SchemaError, "only states are ordered"),
        ({"x": [None, "?"]}, {}, SchemaError, "x has only holes.*states="),
        ({"x": [None]}, {"kinds": "continuous"}, SchemaError, "x has only holes"),
        ({"x": [1.0, -np.inf]}, {}, TableError, "x, row 2: infinite"),
        ({"x": [1, 2], "y": [1]}, {}, TableError, "x has 2 rows, y has 1 row$"),
        ({"x": []}, {}, TableError, "no rows"),
        ({}, {}, TableError, "no column"),
        ([], {}, TableError, "no column"),
        ({"x": [1]}, {"drop": ["x"]}, TableError, "no column to read"),
        ({"x": "abc"}, {}, TableError, "x: a column is a sequence"),
        ({"x": 3}, {}, TableError, "x: a column is a sequence"),
        ({"x": np.eye(2)}, {}, TableError, "one dimension"),
        ({"x": [1, [2]]}, {}, TableError, r"x, row 2: \[2\] is neither"),
        ({"x": [1, 2j]}, {}, TableError, "neither text, number nor boolean"),
        (pd.DataFrame({"x": [pd.Timestamp(0), "late"]}), {}, TableError, "x, row 1.*drop="),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, SchemaError, "distinct"),
        (pd.DataFrame({"x": []}), {}, TableError, "no rows"),
        (np.arange(3), {}, TableError, "two dimensions"),
        (np.empty((0, 2)), {}, TableError, "no rows"),
        (np.eye(3), {"schema": Schema((Variable("a", (0, 1)),))}, SchemaError, "3 columns"),
        ([[1, 2]], {}, TableError, "mappings from names"),
        (3, {}, TableError, "int cannot be read"),
        (pd.Series([1]), {}, TableError, "Series cannot be read"),
    ],
)
def test_bad_input_is_named(
    source: Any, options: dict[str, Any], error: type[LacunaryError], message: str
) -> None:
    with pytest.raises(error, match=message):
        read(source, **options)


def test_a_table_is_read_as_it_is() -> None:
    table = read(COLUMNS)
    assert read(table) is table
    with pytest.raises(SchemaError, match="already"):
        read(table, kinds="discrete")
    with pytest.raises(ParameterError, match="library must be one of"):
        table.to_frame("sas")
    with pytest.raises(SchemaError, match="another name"):
        table.to_frame(weights="text")


def test_reading_does_not_import_what_it_may_not_need() -> None:
    heavy = {"pandas", "polars", "pyarrow", "scipy", "narwhals", "numba"}
    code = f"import lacunary.data.read, sys; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_callers_data_stay_as_they_are() -> None:
    values = np.array([[0.5, 1.5], [2.5, np.nan]])
    table: Table = read(values)
    values[0, 0] = 7.0
    assert table.reals[0, 0] == 0.5


@pytest.mark.parametrize("block", [1, 300, 2**17])
def test_columns_stand_side_by_side_whatever_rows_are_filled_at_a_time(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assemble, "BLOCK", block)
    number, state = np.arange(200) / 7, np.arange(200) % 3
    table = read({"x": number, "s": state, "y": -number})
    np.testing.assert_array_equal(table.codes, np.stack([state * 0 + HOLE, state, state * 0 + HOLE], axis=1))
    np.testing.assert_array_equal(table.reals, np.stack([number, number * np.nan, -number], axis=1))


def test_numbers_stand_in_their_places_whatever_else_becomes_of_columns() -> None:
    days, number = ["2024-01-31", "2024-02-01", "2024-03-01"] * 5, np.arange(15) / 4
    columns = {"n": np.arange(15) + 1, "d": days, "x": number, "s": ["a", "b", "c"] * 5, "y": -number}
    more = read(columns, weights="n", dates="parts")  # more variables than columns
    assert more.schema.names == ("d year", "d month", "d weekday", "x", "s", "y")
    np.testing.assert_array_equal(more.weights, columns["n"])
    as_many = read(columns, drop=["d"])
    assert as_many.schema.names == ("n", "x", "s", "y")
    for table in (more, as_many):
        np.testing.assert_array_equal(table["x"], number)
        np.testing.assert_array_equal(table["y"], -number)
        assert np.isnan(table.reals[:, [v.discrete for v in table.schema]]).all()
    fewer = assemble.assemble(
        from_mapping({"none": [None] * 15, **columns}), Declared(marks=frozenset()), "n", ["d"], None
    )
    assert [refused.name for refused in fewer.refused] == ["none"]
    np.testing.assert_array_equal(fewer.table["x"], number)
    np.testing.assert_array_equal(fewer.table["y"], -number)


@pytest.mark.parametrize("rows", [20, 30_000])
@pytest.mark.parametrize("kind", ["texts", "numbers", "counts"])
def test_names_that_are_patterns_to_polars_are_names(kind: str, rows: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(rows)
    names = ["*", "^a.*$", "a", "ab", "^.*$", "^b$"]
    cells = {name: k + rng.integers(3, size=rows) for k, name in enumerate(names)}
    columns: dict[str, list[Any]] = {
        name: [f"{name} {cell}" for cell in own] if kind == "texts" else own.tolist()
        for name, own in cells.items()
    }
    if kind == "numbers":
        columns = {name: (own + rng.normal(size=rows)).tolist() for name, own in cells.items()}
    drawn = pl.DataFrame(columns)
    paths = [tmp_path / f"rows.{suffix}" for suffix in ("csv", "parquet", "arrow")]
    for write, path in zip((drawn.write_csv, drawn.write_parquet, drawn.write_ipc), paths, strict=True):
        write(path)  # type: ignore[operator]
    sources: list[Any] = [drawn, columns, *paths]
    for source in sources:
        assert lac.read(source).to_frame("dict") == columns
    for path in paths:
        scanned = lac.scan(path)
        assert scanned.schema == lac.read(path).schema
        none = lac.Dag.from_parents(scanned.schema, {})
        ours, theirs = (lac.fit(none, source).log_likelihood for source in (scanned, lac.read(path)))
        assert ours == pytest.approx(theirs, rel=1e-12)
    assert lac.read(tmp_path / "rows.csv", drop=["*"]).schema.names == tuple(names[1:])
