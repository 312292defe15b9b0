"""Rows in files: whatever memory, files and formats, what is learned is the same, bit for bit."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lacunary as lac
from lacunary.data import parts, recipe, remote
from lacunary.data.parts import Keep
from lacunary.infer import rows as rows_module
from lacunary.infer.scan import Scan
from lacunary.structure import fresh

FEW = lac.Stop(iterations=5)

ROUNDING = 1e-9
"""Sums of some hundred terms in another order."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a hundred rows, and marks in text files every seven."""
    monkeypatch.setattr(recipe, "MOST", 100)
    monkeypatch.setattr(recipe, "STRIDE", 7)


def wide() -> lac.Network:
    return lac.random_network(lac.random_dag(12, 0.2, 2, rng=1), rng=2)


def holed(network: lac.Network, rows: int) -> lac.Table:
    return lac.make_holes(network.sample(rows, rng=3), 0.2, rng=4)


def written(folder: Path, table: lac.Table, edges: list[int], suffix: str) -> Path:
    folder.mkdir()
    for number, (a, b) in enumerate(pairwise(edges)):
        frame = table.take(slice(a, b)).to_frame("polars")
        path = folder / f"{number}{suffix}"
        if suffix == ".parquet":
            frame.write_parquet(path)
        elif suffix == ".csv":
            frame.with_columns(pl.all().cast(pl.String)).write_csv(path)
        else:
            frame.write_ipc(path)
    return folder


def test_files_formats_and_memory_change_no_bit(tmp_path: Path) -> None:
    network = wide()
    table = holed(network, 430)
    wanted = lac.fit(network.dag, table, starts=2, rng=0, stop=FEW)
    bits = set()
    for name, edges, suffix, memory in (
        ("one", [0, 430], ".parquet", None),
        ("seven", [0, 1, 99, 100, 101, 250, 429, 430], ".parquet", "1 kB"),
        ("three", [0, 150, 300, 430], ".csv", None),
        ("two", [0, 7, 430], ".arrow", "60 kB"),
    ):
        rows = lac.scan(written(tmp_path / name, table, edges, suffix), memory=memory)
        assert len(rows) == 430
        assert len(rows.every) == 5
        found = lac.fit(network.dag, rows.align(network.dag.schema), starts=2, rng=0, stop=FEW)
        assert found.objective == pytest.approx(wanted.objective, rel=ROUNDING)
        bits.add(found.network.theta.tobytes())
    assert len(bits) == 1


@pytest.mark.parametrize("memory", ["1 GB", "1 kB"])  # kept in memory, and in mapped files
def test_parts_are_read_and_laid_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str
) -> None:
    network = wide()
    folder = written(tmp_path / "a", holed(network, 250), [0, 250], ".parquet")
    rows = lac.scan(folder, memory=memory).align(network.dag.schema)
    made: list[str] = []

    def noted(place: Any, name: str) -> None:
        function = getattr(place, name)

        def noting(*given: Any, **named: Any) -> Any:
            made.append(name)
            return function(*given, **named)

        monkeypatch.setattr(place, name, noting)

    noted(recipe, "_segment")
    noted(rows_module, "prepare_discrete")
    lac.fit(network.dag, rows, stop=FEW)
    assert sorted(made) == ["_segment"] * 3 + ["prepare_discrete"] * 3


def test_every_verb_takes_it_and_says_what_the_table_says(tmp_path: Path) -> None:
    network = wide()
    table = holed(network, 250)
    rows = lac.scan(written(tmp_path / "a", table, [0, 120, 250], ".csv"), memory="1 kB")
    schema = rows.schema
    whole = lac.read(table.to_frame("polars").with_columns(pl.all().cast(pl.String)))
    assert [(v.name, tuple(map(str, v.states))) for v in schema] == [
        (v.name, tuple(map(str, v.states))) for v in whole.schema
    ]
    same = whole.align(schema)
    graph = lac.Dag.from_arcs(schema, network.dag.arcs)
    for method in ("bic", "cheeseman-stutz"):
        mine, theirs = (
            lac.score(graph, rows_, method, starts=1, rng=0, stop=FEW).value for rows_ in (rows, same)
        )
        assert mine == pytest.approx(theirs, rel=1e-8), method
    searched = [lac.search(rows_, max_parents=1, method="greedy", stop=FEW) for rows_ in (rows, same)]
    assert str(searched[0].dag) == str(searched[1].dag)
    assert searched[0].score == pytest.approx(searched[1].score, rel=1e-8)
    mixtures = [
        lac.fit_mixture(rows_, components=2, structure="empty", starts=1, rng=0, stop=FEW).mixture
        for rows_ in (rows, same)
    ]
    np.testing.assert_allclose(mixtures[0].weights, mixtures[1].weights, rtol=1e-6)


def test_filled_rows_are_written_part_by_part(tmp_path: Path) -> None:
    network = wide()
    table = holed(network, 250)
    rows = lac.scan(written(tmp_path / "a", table, [0, 120, 250], ".parquet"), schema=table.schema)
    out = tmp_path / "filled"
    lac.impute(network, rows, out=out)
    filled = lac.scan(out, schema=table.schema)
    assert [path.name for path in sorted(out.iterdir())] == [f"part-{k:06}.parquet" for k in range(3)]
    wanted = lac.impute(network, table)
    np.testing.assert_array_equal(filled.whole("a test").codes, wanted.codes)
    with pytest.raises(lac.FileError, match="exists already"):
        lac.impute(network, rows, out=out)
    here = lac.impute(network, rows)
    np.testing.assert_array_equal(here.codes, wanted.codes)
    with pytest.raises(lac.SourceError, match="filling holes without out= needs all rows in one place"):
        lac.impute(network, lac.scan(tmp_path / "a", schema=table.schema, memory="1 kB"))
    lac.impute(network, rows, how="draw", copies=2, rng=0, out=tmp_path / "drawn")
    assert len(list((tmp_path / "drawn").iterdir())) == 6
    assert not list(tmp_path.glob("*partial*"))


def test_numbers_and_labels_in_one_scan(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "group": [["a", "b", None][k] for k in rng.integers(3, size=230)],
            "x": np.where(rng.random(230) < 0.2, np.nan, rng.normal(size=230)),
            "n": rng.integers(5, size=230),
            "flag": rng.random(230) < 0.5,
        }
    ).with_columns(pl.col("x").fill_nan(None))
    frame.slice(0, 100).write_parquet(tmp_path / "a.parquet")
    frame.slice(100).write_parquet(tmp_path / "b.parquet")
    rows, table = lac.scan(tmp_path), lac.read(frame)
    assert rows.schema == table.schema
    assert rows.decisions == table.decisions
    gathered = rows.whole("a test")
    np.testing.assert_array_equal(gathered.codes, table.codes)
    np.testing.assert_array_equal(gathered.reals, table.reals)
    assert rows.facts.rows == 230
    searches = [lac.search(rows_, stop=FEW).score for rows_ in (rows, table)]
    assert searches[0] == pytest.approx(searches[1], rel=1e-8)


def test_few_different_rows_are_all_there_is_to_learn_from(tmp_path: Path) -> None:
    network = lac.random_network(lac.dag("A -> B C", states=2), rng=0)
    table = lac.make_holes(network.sample(900, rng=0), 0.1, rng=1)
    one = lac.scan(written(tmp_path / "a", table, [0, 900], ".parquet"))
    other = lac.scan(written(tmp_path / "b", table, [0, 333, 900], ".csv"))
    for rows in (one, other):
        assert rows.distinct is not None
        assert len(rows.distinct) <= 27
        assert rows.size == 900
        assert "different" in repr(rows)
    fits = [
        lac.fit(network.dag, r.align(network.dag.schema), rng=0).network.theta.tobytes() for r in (one, other)
    ]
    assert fits[0] == fits[1]
    filled = lac.impute(network, one.align(network.dag.schema))  # row by row, not the different ones
    np.testing.assert_array_equal(filled.codes, lac.impute(network, table).codes)
    wanted = lac.fit(network.dag, table, rng=0)
    assert lac.fit(network.dag, one.align(network.dag.schema), rng=0).objective == pytest.approx(
        wanted.objective, rel=ROUNDING
    )


def test_a_short_last_part_does_not_undo_the_grouping(tmp_path: Path) -> None:
    """Its forty rows are all different, and with all others before them still few."""
    patterns = np.concatenate([np.arange(1000) % 20, np.arange(40)])
    codes = (patterns[:, None] >> np.arange(6)) & 1
    table = lac.Table(lac.dag("A; B; C; D; E; F", states=2).schema, codes.astype(np.int8))
    rows = lac.scan(written(tmp_path / "a", table, [0, 1040], ".csv"))
    assert rows.distinct is not None
    assert len(rows.distinct) == 40
    assert rows.size == 1040


def test_weights_folders_and_a_given_schema(tmp_path: Path) -> None:
    table = wide().sample(150, rng=0)
    frame = table.to_frame("polars").with_columns(pl.Series("n", np.arange(150) % 3 + 1))
    for year in (2023, 2024):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        frame.write_parquet(folder / "rows.parquet")
        (folder / ".half.parquet").write_bytes(b"not yet")
    rows = lac.scan(tmp_path, weights="n")
    assert rows.schema["year"].states == (2023, 2024)
    assert rows.size == 2 * frame["n"].sum()
    bare = lac.scan(f"{tmp_path}/*/rows.parquet", schema=table.schema)
    assert bare.schema == table.schema
    assert len(bare) == 300


def test_text_that_only_a_patient_reader_reads(tmp_path: Path) -> None:
    """Quotes with line ends and delimiters in them, blank lines, blanks around cells, no last line end."""
    lines = ["a,b", '"x, y",1', "", '"two\nlines", 2 ', "x,", "  ,3", '"say ""yes""",1']
    path = tmp_path / "odd.csv"
    path.write_text("\n".join(lines * 1) + "\n" + "\n".join(["x,1"] * 40), encoding="utf-8")
    rows, table = lac.scan(path), lac.read(path)
    assert rows.schema == table.schema
    assert rows.whole("a test").to_frame("dict") == table.to_frame("dict") or rows.distinct is not None
    assert rows.size == table.size


def test_copies_make_their_rows_again(tmp_path: Path) -> None:
    table = holed(wide(), 120)
    rows = lac.scan(written(tmp_path / "a", table, [0, 120], ".parquet"))
    for other in (copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        assert other.facts.rows == 120
        assert other.fold(np.shape) == rows.fold(np.shape)


def test_what_is_kept_comes_back_from_memory_and_from_files(tmp_path: Path) -> None:
    value = {"a": np.arange(1000.0), "b": "text", "empty": np.empty(0)}
    for memory in (10**6, 0):
        keep = Keep(memory, tmp_path)
        slot = keep.put(value)
        assert slot is not None
        back = slot.value()
        np.testing.assert_array_equal(back["a"], value["a"])
        assert back["b"] == "text"
        assert keep.held == (memory and pytest.approx(8000, abs=1000))
        del slot, back
        assert keep.held == 0
    assert not list(tmp_path.iterdir())


# What is wrong is said by name ------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(tmp_path / "rows", holed(wide(), 250), [0, 120, 250], ".parquet")


def test_files_that_change_vanish_or_are_damaged(folder: Path) -> None:
    rows = lac.scan(folder)
    first, second = folder / "0.parquet", folder / "1.parquet"
    second.write_bytes(first.read_bytes())
    with pytest.raises(lac.FileError, match=r"1\.parquet has changed since it was scanned"):
        rows.fold(len)
    second.unlink()
    with pytest.raises(lac.FileError, match=r"1\.parquet cannot be read"):
        rows.fold(len)
    second.write_bytes(b"PAR1 and then nothing that makes sense PAR1")
    with pytest.raises(lac.FileError, match=r"1\.parquet: the file is damaged"):
        lac.scan(folder)


def test_files_of_different_columns(folder: Path) -> None:
    pl.DataFrame({"z": [1, 2]}).write_parquet(folder / "2.parquet")
    with pytest.raises(lac.SchemaError, match="have different columns"):
        lac.scan(folder)


def test_columns_that_hold_something_else(folder: Path) -> None:
    frame = pl.read_parquet(folder / "1.parquet")
    first = frame.columns[0]
    frame.with_columns(pl.col(first).cast(pl.String)).write_parquet(folder / "1.parquet")
    with pytest.raises(
        lac.SchemaError, match=rf"{first} holds numbers in .*0\.parquet and text in .*1\.parquet"
    ):
        lac.scan(folder)


@pytest.mark.parametrize("suffix", [".feather", ".parquet", ".csv"])
def test_names_of_files_are_no_patterns(tmp_path: Path, suffix: str) -> None:
    for name, state in (("a[1]", "x"), ("a1", "y"), ("a*", "z")):
        frame = pl.DataFrame({"s": [state] * 3, "t": ["p", "q", "p"]})
        path = tmp_path / f"{name}{suffix}"
        writers: Any = {".csv": frame.write_csv, ".parquet": frame.write_parquet}
        writers.get(suffix, frame.write_ipc)(path)
    rows = lac.scan(tmp_path)
    assert len(rows) == 9
    whole = rows.whole("a look")
    counted = {
        state: whole.weights[whole.codes[:, 0] == k].sum() for k, state in enumerate(whole.schema["s"].states)
    }
    assert counted == {"x": 3, "y": 3, "z": 3}


def test_a_damaged_row_group_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=400), "y": rng.normal(size=400)})
    path = tmp_path / "a.parquet"
    frame.write_parquet(path, row_group_size=100, compression="zstd")
    rows = lac.scan(path)
    from pyarrow import parquet

    column = parquet.ParquetFile(path).metadata.row_group(2).column(0)
    broken = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    broken[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    times = path.stat()
    path.write_bytes(bytes(broken))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a disk that forgets
    with pytest.raises(
        lac.FileError, match=r"a\.parquet, rows 201 to 300, in row group 2 \(rows 201 to 300\)"
    ):
        rows.fold(len)


# -- files elsewhere ---------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(folder: Path) -> Iterator[Any]:
    fsspec = pytest.importorskip("fsspec")
    files = fsspec.filesystem("memory")
    for k, year in enumerate(("year=2023", "year=2024")):
        files.makedirs(f"/visits/{year}", exist_ok=True)
        files.put_file(str(folder / f"{k}.parquet"), f"/visits/{year}/rows.parquet")
    yield files
    files.rm("/visits", recursive=True)


def test_addresses_are_scanned_as_paths_are(folder: Path, elsewhere: Any) -> None:
    here = lac.scan(folder)
    for address in ("memory://visits", "memory://visits/*/*.parquet", "memory://visits/year=*/rows.parquet"):
        there = lac.scan(address, drop=["year"])
        assert len(there) == 250
        np.testing.assert_array_equal(there.whole("a test").codes, here.whole("a test").codes)
    years = lac.scan("memory://visits")
    assert years.schema["year"].states == (2023, 2024)
    one = lac.scan("memory://visits/year=2023/rows.parquet")
    assert len(one) == 120


def test_addresses_that_are_none(elsewhere: Any) -> None:
    rows = lac.scan("memory://visits")
    elsewhere.rm("/visits/year=2024/rows.parquet")
    with pytest.raises(
        lac.FileError, match=r"memory://.*2024/rows\.parquet cannot be read: there is no such"
    ):
        rows.fold(len)
    for address, told in (
        ("memory://nowhere/*.parquet", "no file that ends in"),
        ("memory://nowhere.parquet", "there is no such file"),
        ("gibberish://a/b.parquet", "cannot be read: Protocol not known"),
    ):
        with pytest.raises(lac.FileError, match=told):
            lac.scan(address)


def test_files_elsewhere_are_kept_few_at_a_time(elsewhere: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "KEPT", 1)
    rows = lac.scan("memory://visits", memory="1 kB")
    assert rows.fold(len) == 250
    fetched = list(remote._FETCHED.files.values())
    assert [Path(path).exists() for path in fetched] == [True]


def test_a_state_that_a_given_schema_does_not_know(folder: Path) -> None:
    table = lac.read(folder / "0.parquet")
    first = table.schema.names[0]
    variables = [
        lac.Variable(v.name, v.states[:1] if v.name == first else v.states) for v in table.schema.variables
    ]
    rows = lac.scan(folder, schema=lac.Schema(tuple(variables)))
    with pytest.raises(lac.StateError, match=r"0\.parquet, rows 1 to 100.*is none of the declared states"):
        rows.fold(len)


@pytest.mark.parametrize(
    ("source", "error", "told"),
    [
        ("nowhere/*.parquet", lac.FileError, "no file that ends in"),
        ("nowhere.parquet", lac.FileError, "cannot be read"),
        ("rows.xlsx", lac.FileError, "scans take files"),
        (5, lac.TableError, "cannot be scanned"),
    ],
)
def test_sources_that_are_none(tmp_path: Path, source: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        lac.scan(tmp_path / source if isinstance(source, str) else source)


def test_no_rows_in_all(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n")
    with pytest.raises(lac.TableError, match="no rows"):
        lac.scan(tmp_path)


def test_what_needs_all_rows_in_one_place_is_refused_by_name(folder: Path) -> None:
    rows = lac.scan(folder, memory="1 kB")
    with pytest.raises(lac.SourceError, match="a chain over graphs needs all rows in one place"):
        lac.average_graphs(rows)


def test_it_is_a_source(folder: Path) -> None:
    rows = lac.scan(folder)
    assert isinstance(rows, Scan)
    assert rows.mapped(lambda table: table).facts.rows == len(rows)


def test_neighbours_of_a_graph_are_weighed_in_the_same_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of structural EM: the same graph and parameters, to the last bit, in far fewer passes."""
    states = {name: ["u", "v", "w", "x"] for name in "abcd"}
    network = lac.random_network(lac.dag("a -> b -> c; d", states=states), rng=4)
    table = lac.make_holes(network.sample(240, rng=1), 0.2, rng=1)
    folder = written(tmp_path / "a", table, [0, 240], ".parquet")
    passes: list[int] = []
    usual = parts.Lazy.each

    def each(self: Any, *given: Any) -> list[Any]:
        passes[-1] += 1
        return usual(self, *given)

    monkeypatch.setattr(parts.Lazy, "each", each)
    found = []
    for first, most in ((1, 1), (fresh.FIRST, fresh.TOGETHER)):
        passes.append(0)
        monkeypatch.setattr(fresh, "FIRST", first)
        monkeypatch.setattr(fresh, "TOGETHER", most)
        found.append(lac.search(lac.scan(folder), method="greedy", stop=FEW))
    assert found[0].network.theta.tobytes() == found[1].network.theta.tobytes()
    assert found[0].dag == found[1].dag
    assert found[0].score == found[1].score
    assert passes[1] < 0.5 * passes[0]


def test_text_that_begins_as_if_it_were_compressed(tmp_path: Path) -> None:
    """To polars a text that begins with x^ is one that zlib has packed."""
    (tmp_path / "rows.csv").write_text("x^2,b\n" + "x^10,1\ny,2\n" * 30, encoding="utf-8")
    assert lac.scan(tmp_path / "rows.csv").schema == lac.read(tmp_path / "rows.csv").schema
