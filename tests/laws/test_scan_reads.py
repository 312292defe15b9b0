"""A scan reads files as `lacunary.read` does: the same variables, cells, decisions and doubts, in parts."""

from __future__ import annotations

import gzip
import warnings
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data import recipe, settle
from lacunary.data.plainly import is_delimited
from lacunary.errors import LacunaryError
from tests.data.test_messy import FILES, Messy


def taken(verb: Any, path: Path, options: dict[str, Any]) -> Any:
    """Return what a verb makes of a file, or the error it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return verb(path, **options)
        except LacunaryError as problem:
            return problem


def same(read: lac.Table, scanned: lac.Scan) -> None:
    """Compare all that is known of two sources, and every cell."""
    assert scanned.schema == read.schema
    assert [v.unit for v in scanned.schema] == [v.unit for v in read.schema]
    rows = scanned.every.each(lambda table: table)
    codes, reals = (np.concatenate([getattr(part, what) for part in rows]) for what in ("codes", "reals"))
    np.testing.assert_array_equal(codes, read.codes)
    np.testing.assert_array_equal(reals, read.reals)
    assert scanned.decisions == read.decisions
    assert scanned.notes == read.notes


FEW = [name for name, file in FILES.items() if is_delimited(file.name)]


@pytest.mark.parametrize("rows", [1000, 2], ids=["one part", "parts"])
@pytest.mark.parametrize("name", FEW)
def test_messy_files(name: str, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "MOST", rows)
    file: Messy = FILES[name]
    path = tmp_path / file.name
    path.write_bytes(file.text if isinstance(file.text, bytes) else file.text.encode())
    for options in ({}, file.options):
        read, scanned = (taken(verb, path, options) for verb in (lac.read, lac.scan))
        if isinstance(read, LacunaryError):
            assert isinstance(scanned, type(read)), scanned
            if rows == 1000:
                assert str(scanned) == str(read)
            continue
        assert isinstance(scanned, lac.Scan), scanned
        same(read, scanned)


@pytest.mark.parametrize("rows", [1000, 3], ids=["one part", "parts"])
def test_columns_that_have_a_type(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dates and times count from the first of all rows, whichever part it is in."""
    pl = pytest.importorskip("polars")
    monkeypatch.setattr(recipe, "MOST", rows)
    days = [date(2024, 3, 1), None, date(2024, 1, 31), date(2024, 2, 2), date(2024, 5, 1)] * 2
    frame = pl.DataFrame(
        {
            "day": days,
            "at": [None if day is None else datetime(day.year, day.month, day.day, 6) for day in days],
            "long": [timedelta(hours=k) for k in range(10)],
            "clock": [time(k, 30) for k in range(10)],
            "price": ["1,5", "2,5", None, "1.000,25", "3"] * 2,
            "flag": [True, None, True, True, True] * 2,
            "level": pl.Series(
                ["low", "high", "low", None, "low"] * 2, dtype=pl.Enum(["low", "mid", "high"])
            ),
            "group": pl.Series(["u", "v", "u", "w", None] * 2, dtype=pl.Categorical),
            "whole": [1, 2, None, 2, 1] * 2,
            "real": [0.5, 1.5, None, 2.5, 1.0] * 2,
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    same(lac.read(tmp_path / "t.parquet"), lac.scan(tmp_path / "t.parquet"))


@pytest.mark.parametrize("dates", ["days", "parts", "text"])
def test_dates_in_text(dates: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The day of 3/4/2024 is told by a later part, and the first day too."""
    monkeypatch.setattr(recipe, "MOST", 4)
    rows = [f"{1 + k % 9}/{1 + k % 12}/2024,{'ab'[k % 2]}\n" for k in range(20)] + ["28/1/2023,a\n"]
    (tmp_path / "t.csv").write_text("day,y\n" + "".join(rows))
    options = {"dates": dates}
    same(lac.read(tmp_path / "t.csv", **options), lac.scan(tmp_path / "t.csv", **options))  # type: ignore[arg-type]


def test_more_texts_than_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers in one dress are read in it; what is dressed otherwise further down is refused by name."""
    monkeypatch.setattr(recipe, "MOST", 50)
    monkeypatch.setattr(settle, "TEXTS", 40)
    path = tmp_path / "t.csv"
    prices = "".join(f"{k}.{k % 10}00,{k % 90 + 10};{k}\n" for k in range(1, 120))
    path.write_text("price;plain\n" + prices)
    read, scanned = lac.read(path), lac.scan(path)
    whole = scanned.whole("a test")
    np.testing.assert_array_equal(whole.reals, read.reals)
    assert scanned.schema == read.schema
    path.write_text("price;plain\n" + prices + "7 kg;5\n")
    with pytest.raises(lac.TableError, match=r"rows 101 to 120: price: '7 kg' is not written as .*decimal="):
        lac.scan(path).whole("a test")
    days = [date(2020, 1, 1) + timedelta(days=k) for k in range(60)]
    path.write_text("day;plain\n" + "".join(f"{day};1.5\n" for day in days))
    with pytest.raises(lac.TableError, match=r"day holds more than 40 different dates .*drop="):
        lac.scan(path)


def test_several_files_in_other_encodings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "MOST", 3)
    text = ["x;y\n1,5;é\n2,5;b\n", "x;y\n3,5;é\n1.000,5;b\n"]
    (tmp_path / "a.csv").write_bytes(text[0].encode("cp1252"))
    (tmp_path / "b.csv").write_bytes(text[1].encode("utf-16"))
    with pytest.warns(UserWarning, match=r"a\.csv: the text is not UTF-8"):
        rows = lac.scan(tmp_path)
    np.testing.assert_array_equal(rows.whole("a test").reals[:, 0], [1.5, 2.5, 3.5, 1000.5])
    assert rows.schema["y"].states == ("b", "é")
    assert any("b.csv: text read in the encoding utf-16" in said for said in rows.decisions)
    packed = gzip.compress(text[0].encode())
    (tmp_path / "c.csv.gz").write_bytes(packed)
    same(lac.read(tmp_path / "c.csv.gz"), lac.scan(tmp_path / "c.csv.gz"))


def test_numbers_in_their_dress_with_a_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No part decides what a cell means: it is said, or refused."""
    monkeypatch.setattr(recipe, "MOST", 2)
    path = tmp_path / "t.csv"
    path.write_text("x;y\n1,5;a\n2,5;b\n3,5;a\n")
    schema = lac.read(path).schema
    with pytest.raises(lac.TableError, match=r"rows 1 to 2: x, row 1: '1,5' is not a number"):
        lac.scan(path, schema=schema).whole("a test")
    rows = lac.scan(path, schema=schema, decimal=",").whole("a test")
    np.testing.assert_array_equal(rows.reals[:, 0], [1.5, 2.5, 3.5])
