"""Columns of very many dates, times and decimal commas, read at once, beside Python's own reading."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import lacunary as lac
from lacunary.data import large, many
from lacunary.data.column import Labels, Moments, Numbers
from lacunary.data.moments import dated

ROWS = 6_000
START = datetime(1931, 3, 1, tzinfo=UTC)


def moments(rng: np.random.Generator) -> list[datetime]:
    """Moments of a century, the ends of months and a leap day among them."""
    known = [datetime(2000, 2, 29, 23, 59, 59, tzinfo=UTC), datetime(1999, 12, 31, tzinfo=UTC)]
    return known + [START + timedelta(seconds=int(s)) for s in rng.integers(0, 3 * 10**9, ROWS - 2)]


def written(path: Path, columns: dict[str, list[str]], sign: str = ",") -> Path:
    """Write a file that is large enough for polars."""
    lines = [sign.join(columns), *map(sign.join, zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    assert path.stat().st_size > large.LARGE
    return path


FORMS: dict[str, Callable[[datetime], str]] = {
    "iso": lambda m: m.strftime("%Y-%m-%d %H:%M:%S"),
    "letter": lambda m: m.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "minutes": lambda m: m.strftime("%d.%m.%Y %H:%M"),
    "slashes": lambda m: m.strftime("%m/%d/%Y"),
    "reversed": lambda m: m.strftime("%d/%m/%Y"),
    "parts": lambda m: m.strftime("%Y/%m/%d %H:%M:%S.") + f"{m.second:03d}",
}


def meant(form: str, m: datetime) -> datetime:
    """What a text of a form keeps of a moment."""
    if form in ("slashes", "reversed"):
        return m.replace(hour=0, minute=0, second=0)
    if form == "minutes":
        return m.replace(second=0)
    return m + timedelta(milliseconds=m.second) if form == "parts" else m


def test_moments_of_many_texts_are_those_python_reads_and_holes_stay(tmp_path: Path) -> None:
    found = moments(np.random.default_rng(1))
    columns = {form: [write(m) for m in found] for form, write in FORMS.items()}
    columns["iso"][5], columns["slashes"][7], columns["slashes"][8] = "", "NA", ""
    table = lac.read(written(tmp_path / "t.csv", columns))
    for place, form in enumerate(FORMS):
        seconds = np.array([(meant(form, m) - START).total_seconds() for m in found])
        seconds[[5] if form == "iso" else [7, 8] if form == "slashes" else []] = np.nan
        counted = 86400.0 * table.reals[:, place]  # in days, from the first moment or the second it is in
        # Days since the first of a century are known to 1e-11 of a day.
        np.testing.assert_allclose(counted - np.nanmin(counted), seconds - np.nanmin(seconds), atol=1e-3)
        assert np.array_equal(np.isnan(counted), np.isnan(seconds))
    told = dict(zip(FORMS, table.decisions, strict=True))
    assert "'' is a hole" in told["iso"]
    assert "'NA', '' are holes" in told["slashes"]
    assert "'2000-02-29T23:59:59Z' is 29 Feb 2000 23:59 UTC" in told["letter"]


def test_clocks_and_decimal_commas_of_many_texts(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    found, values = moments(rng), rng.normal(0, 1000, 3 * ROWS).round(4).tolist()
    columns = {
        "clock": [m.strftime("%H:%M:%S") for m in found] * 3,
        "x": [f"{v}".replace(".", ",") for v in values],
    }
    columns["x"][3] = "NA"
    table = lac.read(written(tmp_path / "t.csv", columns, ";"))
    hours = [(m.hour * 3600 + m.minute * 60 + m.second) / 3600 for m in found] * 3
    assert table.reals[:, 0].tolist() == hours
    assert np.isnan(table.reals[3, 1])
    assert table.reals[:3, 1].tolist() + table.reals[4:, 1].tolist() == values[:3] + values[4:]
    longest = max((text for text in columns["x"] if text != "NA"), key=len)
    assert (
        f"; {longest!r} is read as {float(longest.replace(',', '.')):.12g}; 'NA' is a hole"
        in table.decisions[1]
    )


@given(
    st.lists(st.text("0159,-+. e\t", max_size=15).map(str.strip), min_size=1, max_size=12),
    st.sampled_from([1, 7, 2**16]),
)
@example(["1,5", "0", "-0,25", "100"], 1)
@example(["1,5", "00"], 7)
@example(["1,5", "1,5,5"], 2**16)
@example(["-,5"], 1)
def test_lines_are_numbers_with_commas_where_the_pattern_says_so(texts: list[str], piece: int) -> None:
    letters = np.frombuffer("".join(text + "\n" for text in texts).encode(), dtype=np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "PIECE", piece)
        assert many._all_with_commas(letters) == all(re.search(many.COMMA, text) for text in texts)


@given(
    st.lists(
        st.sampled_from(["1,5", "-2,25", "10,125", "7", "NA", "", " 3,5 ", "8", "2001-02-03"]), max_size=30
    ),
    st.sampled_from([frozenset({"", "NA"}), frozenset({"", "NA", "8"}), frozenset({"2001-02-03", ""})]),
)
def test_marks_of_holes_are_holes_whatever_they_look_like(texts: list[str], marks: frozenset[str]) -> None:
    found = many.Reads().column("x", pl.Series("x", texts, dtype=pl.String), marks)
    told = [text.strip() for text in texts]
    gone = [text in marks for text in told]
    if isinstance(found, Moments):
        assert {*told} <= {"2001-02-03", *marks}
        assert np.isnan(found.seconds).tolist() == gone
    elif {"1,5", "-2,25"} & {*told} and "2001-02-03" not in {*told} - marks:  # commas part no thousands
        assert isinstance(found, Numbers)
        wanted = [math.nan if text in marks else float(text.replace(",", ".")) for text in told]
        np.testing.assert_array_equal(found.values, wanted)
    else:
        assert found is None or " 3,5 " in texts


@given(st.lists(st.decimals(-(10**8), 10**8, places=5), min_size=1, max_size=50))
def test_decimal_commas_are_read_as_python_reads_points(values: list[Decimal]) -> None:
    texts = [f"{value + 0:f}" for value in values]  # no -0
    commas = pl.Series("x", [text.replace(".", ",") for text in texts])
    found = many.Reads().column("x", commas, frozenset())
    assert isinstance(found, Numbers)
    assert found.values.tolist() == list(map(float, texts))


def test_a_date_that_marks_a_hole_is_one() -> None:
    texts = ["2001-02-03", "1999-01-01", "", "1999-01-01", "2001-02-04"]
    found = many.Reads().column("x", pl.Series("x", texts), frozenset({"1999-01-01", ""}))
    assert isinstance(found, Moments)
    assert np.isnan(found.seconds).tolist() == [False, True, True, True, False]


@pytest.mark.parametrize(
    "odd", ["2001-02-29 10:00:00", "2001-02-28 25:00:00", "2001-02-28_10:00:00", "soon", "2001-02-28 10:00"]
)
def test_one_text_of_another_kind_leaves_all_of_them_to_be_looked_at_one_by_one(
    tmp_path: Path, odd: str
) -> None:
    texts = [FORMS["iso"](m) for m in moments(np.random.default_rng(3))]
    columns = {"when": [*texts[:-1], odd] * 3, "x": ["1", "2"] * (3 * ROWS // 2)}
    path = written(tmp_path / "t.csv", columns)
    reads = many.Reads()
    source = large.columns_of(path, ["when", "x"], ["when", "x"], frozenset(), ",", reads=reads)
    assert source is not None
    assert isinstance(next(iter(source)), Labels)


@pytest.mark.parametrize("how", [{"dates": "text"}, {"kinds": {"when": "discrete"}}])
def test_texts_stay_states_where_that_is_said(tmp_path: Path, how: dict[str, object]) -> None:
    texts = [FORMS["letter"](m) for m in moments(np.random.default_rng(4))] * 3
    path = written(tmp_path / "t.csv", {"when": texts, "x": ["1", "2"] * (3 * ROWS // 2)})
    if how == {"dates": "text"}:  # so many are refused as names of rows
        with pytest.raises(lac.TableError, match="too many to be states"):
            lac.read(path, **how)  # type: ignore[arg-type]
    else:
        table = lac.read(path, **how)  # type: ignore[arg-type]
        assert table.schema["when"].states == tuple(sorted({*texts}))


def test_days_and_months_that_no_cell_tells_apart_leave_the_same_doubt() -> None:
    texts = ["01/02/2003", "03/03/2003", "05/04/2003"]
    found, loose = dated(texts), dated(["1/2/2003", "3/3/2003", "5/4/2003"])
    assert found is not None
    assert loose is not None
    assert found.seconds.tolist() == loose.seconds.tolist()
    assert found.doubt.replace("01/02", "1/2") == loose.doubt != ""
    told = dated(texts, day_first=True)
    assert told is not None
    assert told.seconds[0] == datetime(2003, 2, 1, tzinfo=UTC).timestamp()


def test_a_large_gzipped_file_is_read_as_the_file_itself_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    columns = {"x": [f"{v:.9f}" for v in rng.normal(size=30_000)], "s": ["yes", "no", "NA"] * 10_000}
    path = written(tmp_path / "t.csv", columns)
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    plain, found = lac.read(path), lac.read(packed)
    assert found.schema == plain.schema
    assert found.decisions == plain.decisions
    assert np.array_equal(found.reals, plain.reals, equal_nan=True)
    assert np.array_equal(found.codes, plain.codes)
    packed.write_bytes(packed.read_bytes()[:-40])
    with pytest.raises(lac.FileError, match="broken gzip"):
        lac.read(packed)


def test_booleans_of_polars_with_and_without_nulls(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"a": [True, None, False], "b": [False, False, True], "none": pl.Series([None] * 3, dtype=pl.Boolean)}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        table = lac.read(source, drop=["none"])
        assert [variable.states for variable in table.schema] == [(False, True)] * 2
        assert table.codes.tolist() == [[1, 0], [-1, 0], [0, 1]]
        with pytest.raises(lac.SchemaError, match="none has only holes"):
            lac.read(source)
