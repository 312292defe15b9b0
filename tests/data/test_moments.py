"""Dates, times and durations: told from text or typed, as numbers, parts or states."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lacunary as lac
from lacunary.data.moments import dated
from lacunary.data.read import read

DAY = 86400.0


def seconds(*parts: int) -> float:
    return (dt.datetime(*parts) - dt.datetime(1970, 1, 1)).total_seconds()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("texts", "first", "kind"),
    [
        (["2024-02-29", "2023-1-5"], seconds(2024, 2, 29), "dates"),
        (["2024/02/29"], seconds(2024, 2, 29), "dates"),
        (["2024-02-29 13:45"], seconds(2024, 2, 29, 13, 45), "times"),
        (["2024-02-29T13:45:10.5Z"], seconds(2024, 2, 29, 13, 45, 10) + 0.5, "times"),
        (["2024-02-29T13:45:00+02:00"], seconds(2024, 2, 29, 11, 45), "times"),
        (["2024-02-29 13:45:00-0530"], seconds(2024, 2, 29, 19, 15), "times"),
        (["05/13/2024", "01/02/2024"], seconds(2024, 5, 13), "dates"),
        (["13/05/2024", "01/02/2024"], seconds(2024, 5, 13), "dates"),
        (["01.02.2024"], seconds(2024, 2, 1), "dates"),
        (["01.02.68", "01.02.69"], seconds(2068, 2, 1), "dates"),
        (["5/13/24 1:30 PM"], seconds(2024, 5, 13, 13, 30), "times"),
        (["5/13/24 12:30 am"], seconds(2024, 5, 13, 0, 30), "times"),
        (["13-May-2024"], seconds(2024, 5, 13), "dates"),
        (["May 3, 2024", "January 13, 2023"], seconds(2024, 5, 3), "dates"),
        (["Mon, 13 May 2024 10:00:00 GMT"], seconds(2024, 5, 13, 10), "times"),
        (["3rd March 2024"], seconds(2024, 3, 3), "dates"),
        (["2024-05", "2024-06"], seconds(2024, 5, 1), "dates"),
        (["May 2024"], seconds(2024, 5, 1), "dates"),
        (["2024-Q3"], seconds(2024, 7, 1), "dates"),
        (["Q2 2024"], seconds(2024, 4, 1), "dates"),
        (["10:30", "9:05"], 10.5 * 3600, "times of day"),
        (["1:30 pm"], 13.5 * 3600, "times of day"),
        (["36:15:00"], 36.25 * 3600, "durations"),
        (["2 days 03:00:00"], 2 * DAY + 3 * 3600, "durations"),
        (["1 day, 0:00:01"], DAY + 1, "durations"),
        (["P1DT2H"], DAY + 7200, "durations"),
        (["PT15M"], 900, "durations"),
        (["1h 30m", "2h"], 5400, "durations"),
    ],
)
def test_forms(texts: list[str], first: float, kind: str) -> None:
    found = dated(texts)
    assert found is not None
    assert (found.seconds[0], found.kind, found.doubt) == (first, kind, "")


@pytest.mark.parametrize(
    "texts",
    [
        ["2024-02-30"], ["13/13/2024"], ["13/05/2024", "05/13/2024"], ["2024-01-01", "01/02/2024"], ["12"],
        ["1.5"], ["a"], [], ["2024-01-01T10:00Z", "2024-01-01T11:00"], ["25:61"], ["13:00 pm"], ["P"],
        ["days"],        ["2024-13-01"], ["2024-13"], ["May"], ["10-12"], ["1990-2000"],
    ],
)  # fmt: skip
def test_what_is_no_date(texts: list[str]) -> None:
    assert dated(texts) is None


def test_the_order_of_day_and_month() -> None:
    open_ = dated(["03/04/2024", "05/06/2024"])
    assert open_ is not None
    assert open_.seconds[0] == seconds(2024, 3, 4)
    assert "day_first=True reads the other" in open_.doubt
    told = dated(["03/04/2024"], day_first=True)
    assert told is not None
    assert (told.seconds[0], told.doubt) == (seconds(2024, 4, 3), "")
    assert dated(["03/14/2024"], day_first=True) is None


CSV = "when,x\n2024-01-05,1.5\n2024-01-07,2.5\n,3.5\n2024-03-01,4.5\n"


def test_dates_are_days_since_the_first_and_the_schema_knows() -> None:
    table = read(io.StringIO(CSV))
    assert table.reals[:, 0].tolist()[:2] == [0, 2]
    assert table.schema["when"].unit == "days since 2024-01-05"
    assert table.decisions[-2].startswith(
        "when: dates, taken as days since 2024-01-05; '2024-01-05' is 05 Jan 2024"
    )
    later = read(io.StringIO("when,x\n05.02.2024,1\n"), schema=table.schema)
    assert later.reals[0, 0] == 31
    assert "0 to 56, mean 19.3333 (days since 2024-01-05)" in str(table.describe())


def test_the_unit_is_kept_in_files(tmp_path: Path) -> None:
    table = read(io.StringIO(CSV))
    network = lac.fit(lac.dag("when -> x", schema=table.schema), table).network
    lac.save(network, tmp_path / "n.json")
    kept = lac.load(tmp_path / "n.json")
    assert kept.dag.schema["when"].unit == "days since 2024-01-05"
    assert kept.dag.schema == table.schema


def test_parts_and_text() -> None:
    table = read(io.StringIO(CSV), dates="parts")
    assert table.to_frame("dict") == {
        "when year": [2024, 2024, None, 2024],
        "when month": ["Jan", "Jan", None, "Mar"],
        "when weekday": ["Fri", "Sun", None, "Fri"],
        "x": [1.5, 2.5, 3.5, 4.5],
    }
    assert table.schema["when month"].ordered
    again = read(io.StringIO("when,x\n2024-12-25,0\n"), schema=table.schema)
    assert again.to_frame("dict") == {
        "when year": [2024], "when month": ["Dec"], "when weekday": ["Wed"], "x": [0.0],
    }  # fmt: skip
    text = read(io.StringIO(CSV), dates={"when": "text"})
    assert text.schema["when"].states == ("2024-01-05", "2024-01-07", "2024-03-01")
    with pytest.raises(lac.SchemaError, match="dates=… speaks of a column 'wen'"):
        read(io.StringIO(CSV), dates={"wen": "text"})


def frames() -> list[Any]:
    times = pd.to_datetime(["2024-01-05 22:00", "NaT", "2024-01-08 22:00"])
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2024-01-05", "NaT", "2024-02-01"]),
            "zoned": times.tz_localize("Asia/Tokyo"),
            "long": pd.to_timedelta(["90min", None, "2h"]),
            "money": [Decimal("1.5"), None, Decimal(2)],
            "count": pd.array([1, None, 3], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "date": [dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)],
        }
    )
    other = pl.from_pandas(frame)
    return [frame, frame.convert_dtypes(dtype_backend="pyarrow"), other, other.to_arrow()]


@pytest.mark.parametrize("kind", range(4))
def test_types_of_frames(kind: int) -> None:
    frame = frames()[kind]
    assert read(frame).to_frame("dict") == {
        "day": [0, None, 27],
        "zoned": [0, None, 3],
        "long": [1.5, None, 2],
        "money": [1.5, None, 2],
        "count": [1, None, 3],
        "flag": [True, None, False],
        "date": [0, None, 2],
    }
    units = {v.name: v.unit for v in read(frame).schema if v.unit}
    assert units == {
        "day": "days since 2024-01-05",
        "zoned": "days since 2024-01-05 13:00:00 UTC",
        "long": "hours",
        "date": "days since 2024-01-01",
    }
    parts = read(frame, dates="parts").to_frame("dict")
    assert parts["zoned weekday"] == ["Fri", None, "Mon"]  # by the clocks of Tokyo
    assert parts["zoned hour"] == [22, None, 22]


def test_parquet_and_numpy_and_python(tmp_path: Path) -> None:
    frames()[2].write_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").schema["zoned"].unit == "days since 2024-01-05 13:00:00 UTC"
    table = read(
        {
            "n": np.array(["2024-01-05", "NaT", "2024-01-06"], dtype="M8[D]"),
            "t": [dt.time(10, 30), None, dt.time(11)],
            "s": np.array([10, "NaT", 30], dtype="m8[s]"),
        }
    )
    assert table.to_frame("dict") == {"n": [0, None, 1], "t": [10.5, None, 11], "s": [10, None, 30]}
    assert [v.unit for v in table.schema] == ["days since 2024-01-05", "hours since midnight", "seconds"]


def test_a_span_of_minutes_is_not_counted_in_days() -> None:
    table = read({"t": ["2024-01-05 10:00:00", "2024-01-05 10:00:30", "2024-01-05 10:30:00"]})
    assert table.schema["t"].unit == "minutes since 2024-01-05 10:00:00"
    assert table.reals[:, 0].tolist() == [0, 0.5, 30]


def test_typed_dates_as_states() -> None:
    column = {"d": [dt.date(2024, 1, 3), dt.date(2024, 1, 1)], "t": [dt.time(10), dt.time(9)]}
    table = read(column, kinds="discrete")
    assert table.schema["d"].states == ("2024-01-01", "2024-01-03")
    assert table.schema["t"].states == ("09:00:00", "10:00:00")
