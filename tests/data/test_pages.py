"""Pages of Parquet that say what cannot be are refused before the library that reads them believes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lacunary as lac
from lacunary.data.pages import check_pages
from lacunary.errors import FileError

FRAME = pl.DataFrame(
    {"a": [1, 2, None, 4], "b": ["x", None, "y", "x"], "c": [[1, 2], None, [], [3]], "d": [{"e": 1.5}] * 4}
)


def written(path: Path, **options: object) -> bytes:
    FRAME.write_parquet(path, **options)  # type: ignore[arg-type]
    return path.read_bytes()


@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed"])
def test_sound_files_pass(tmp_path: Path, compression: str) -> None:
    written(tmp_path / "t.parquet", compression=compression, row_group_size=2)
    check_pages(tmp_path / "t.parquet")


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_files_of_another_writer_pass(tmp_path: Path, version: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path, rows = tmp_path / "t.parquet", pl.DataFrame({"n": np.arange(10_000), "s": ["long text"] * 10_000})
    parquet.write_table(rows.to_arrow(), path, data_page_version=version, data_page_size=1000)
    check_pages(path)
    parquet.write_table(rows.to_arrow().slice(0, 0), path)
    check_pages(path)


def test_a_dictionary_may_have_more_than_its_column_uses(tmp_path: Path) -> None:
    """Arrow writes the whole dictionary of a column, whatever its rows have."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    words = arrow.DictionaryArray.from_arrays(arrow.array([0, 2, 0]), [f"w{k}" for k in range(1000)])
    parquet.write_table(arrow.table({"w": words}), tmp_path / "t.parquet")
    check_pages(tmp_path / "t.parquet")


def test_lists_within_lists_end_somewhere(tmp_path: Path) -> None:
    """A footer of lists of one list each would be gone into as deep as it is long."""
    footer = b"\x49" + b"\x19" * 50_000  # the fourth field is a list
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(FileError, match="row group 0"):
        check_pages(path)


def test_a_page_of_minus_four_values_is_refused(tmp_path: Path) -> None:
    """Polars would ask for memory for as many, and end the process."""
    path = tmp_path / "t.parquet"
    data = bytearray(written(path, compression="uncompressed"))
    place = data.index(b"\x2c\x15", 4, 60) + 2  # the header of a data page, whose first field are its values
    assert data[place] == 2 * len(FRAME)  # as Thrift folds signs in
    data[place] = 7  # −4
    path.write_bytes(data)
    with pytest.raises(FileError, match="in row group 0 a page says of itself what cannot be"):
        lac.read(path)
    with pytest.raises(FileError, match="in row group 0 a page says of itself what cannot be"):
        lac.scan(path)


def test_whatever_stands_there_is_passed_or_refused(tmp_path: Path) -> None:
    path, rng = tmp_path / "t.parquet", np.random.default_rng(0)
    data, refused = written(path, row_group_size=2), 0
    for place in range(4, len(data) - 4):
        damaged = bytearray(data)
        damaged[place] = int(rng.integers(256))
        path = tmp_path / f"{place}.parquet"
        path.write_bytes(damaged[: len(damaged) if place % 7 else place] + (b"" if place % 7 else data[-8:]))
        try:
            check_pages(path)
        except FileError:
            refused += 1
    assert refused > 100  # sizes, numbers and places; values and names may be anything
