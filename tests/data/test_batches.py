"""Batches of Arrow files that say what cannot be are refused before polars believes them."""

from __future__ import annotations

import mmap
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lacunary as lac
from lacunary.data.batches import _blocks, _largest, check_batches
from lacunary.errors import FileError

FRAME = pl.DataFrame(
    {
        "a": [1, 2, None, 4],
        "b": ["x", None, "a text of more than twelve letters", "x"],
        "c": [0.5, None, 1.5, 2.5],
    }
)


def written(path: Path, **options: object) -> bytearray:
    FRAME.write_ipc(path, **options)  # type: ignore[call-overload]
    return bytearray(path.read_bytes())


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
def test_sound_files_pass(tmp_path: Path, compression: str) -> None:
    written(tmp_path / "t.arrow", compression=compression)
    check_batches(tmp_path / "t.arrow")
    assert len(lac.read(tmp_path / "t.arrow")) == len(lac.scan(tmp_path / "t.arrow")) == 4


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
def test_files_of_another_writer_pass(tmp_path: Path, compression: str) -> None:
    feather = pytest.importorskip("pyarrow.feather")
    path, rows = tmp_path / "t.feather", pl.DataFrame({"n": np.arange(10_000), "s": ["long text"] * 10_000})
    rows = rows.with_columns(d=rows["s"].cast(pl.Categorical))
    feather.write_feather(rows.to_arrow(), path, compression=compression, chunksize=1000)
    check_batches(path)
    least = 0 if compression == "uncompressed" else 1000 * (8 + 9)  # a number and nine letters in each row
    assert (_largest(str(path), path.stat().st_size, 0) or 0) >= least
    feather.write_feather(rows.to_arrow().slice(0, 0), path)
    check_batches(path)


@pytest.mark.parametrize("compression", ["zstd", "uncompressed"])
def test_lengths_that_cannot_be_are_refused(tmp_path: Path, compression: str) -> None:
    """Polars would ask for as much memory, and end the process."""
    path = tmp_path / "t.arrow"
    data = written(path, compression=compression)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        first, about, length = list(_blocks(mapped))[-1]
    end = first + about + (length if compression == "zstd" else 0)
    sizes = range(first + about, end, 8) if compression == "zstd" else range(first + 8, end - 8, 8)
    refused = 0
    for place in sizes:  # every number of 64 bits is made 2 ** 47 by turns
        damaged = data.copy()
        damaged[place : place + 8] = (2**47).to_bytes(8, "little")
        path.write_bytes(damaged)
        try:
            lac.read(path)
        except FileError as problem:
            refused += "says of itself" in str(problem)
        except lac.LacunaryError:
            pass
    assert refused >= 5  # three columns, of which two have holes: a buffer for each


def test_anything_may_stand_anywhere(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "t.arrow"
    data = written(path)
    for _ in range(300):
        damaged = data.copy()
        for place in rng.integers(len(data), size=3):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        with suppress(lac.LacunaryError):
            check_batches(path)
    path.write_bytes(data[:30])
    check_batches(path)
    with pytest.raises(FileError):
        lac.read(path)
