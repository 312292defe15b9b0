"""Numbers as people write them: one rule a column, what is open is doubted."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacunary.data.read import examine, read
from lacunary.data.spelling import Spelling, different_units, spelled
from lacunary.errors import ParameterError, SchemaError


@pytest.mark.parametrize(
    ("texts", "values", "unit"),
    [
        (["1,234.5", "12"], [1234.5, 12], ""),
        (["1.234,5", "0,5"], [1234.5, 0.5], ""),
        (["1 234", "12"], [1234, 12], ""),
        (["1\u202f234,5", "1\xa0234"], [1234.5, 1234], ""),
        (["1'234.5", "1\u2019000"], [1234.5, 1000], ""),
        (["1.234.567", "1.234"], [1234567, 1234], ""),
        (["12,34,567", "5"], [1234567, 5], ""),
        (["0,5", "1,25", "1e3"], [0.5, 1.25, 1000], ""),
        (["1,5E+03", ",5"], [1500, 0.5], ""),
        (["1,234", "999"], [1234, 999], ""),  # 999 beside it would be 999,000 with decimals
        (["$1,234.50", "($3.00)", "-$4", "$-5"], [1234.5, -3, -4, -5], "$"),
        (["1.234,50 €", "12 €"], [1234.5, 12], "€"),
        (["USD 5", "USD 1,000.00"], [5, 1000], "USD"),
        (["kr 1 234,50", "kr 7"], [1234.5, 7], "kr"),
        (["12%", "5.5 %", "0"], [12, 5.5, 0], "%"),
        (["123-", "4"], [-123, 4], ""),
        (["\u22125.5", "(3.5)"], [-5.5, -3.5], ""),
        (["12 kg", "3.5 kg"], [12, 3.5], "kg"),
        (["1 year", "2 years"], [1, 2], "years"),
        (["37.2°C", "36.6°C"], [37.2, 36.6], "°C"),
        (["5 mm/h", "10 mm/h"], [5, 10], "mm/h"),
    ],
)
def test_every_cell_is_a_number_in_the_same_dress(texts: list[str], values: list[float], unit: str) -> None:
    found = spelled(texts, Spelling())
    assert found is not None
    np.testing.assert_array_equal(found.values, values)
    assert (found.unit, found.doubt) == (unit, "")
    assert " is read as " in found.said


@pytest.mark.parametrize(
    "texts",
    [
        ["a"], ["1-2"], ["1,,5"], ["12,5,6"], ["007", "1,5"], ["5A", "7A"], ["3 kg", "4 g"], ["$5", "€6"],
        ["2024-01-02"], ["1.2.3"], ["+-5"], ["(-5)"], ["5", ""], ["1,5", "1.5"], ["$5 kg"], ["<5"], ["1/2"],
        ["\u0663,\u0665"], ["5e", "6"], ["1" * 70],
    ],
)  # fmt: skip
def test_what_is_no_number_in_one_dress_stays_text(texts: list[str]) -> None:
    assert spelled(texts, Spelling()) is None


@pytest.mark.parametrize(
    ("how", "text", "value"),
    [
        ({}, "1,234", 1234.0),
        ({"decimal": ","}, "1,234", 1.234),
        ({"decimal": "."}, "1,234", 1234.0),
        ({"thousands": ","}, "1,234", 1234.0),
        ({"thousands": ""}, "1,234", 1.234),
        ({"decimal": ","}, "1.234", 1234.0),
        ({"thousands": "."}, "1.234", 1234.0),
        ({"thousands": "'"}, "1'234", 1234.0),
    ],
)
def test_what_is_said_is_obeyed(how: dict[str, str], text: str, value: float) -> None:
    found = spelled([text], Spelling(**how))  # type: ignore[arg-type]
    assert found is not None
    assert found.values.tolist() == [value]
    assert bool(found.doubt) == (how in ({}, {"decimal": ","}) and text == "1,234")


def test_a_currency_makes_a_point_part_thousands_with_a_doubt() -> None:
    found = spelled(["€1.234", "€2.345"], Spelling())
    assert found is not None
    assert found.values.tolist() == [1234, 2345]
    assert "decimal='.' reads the other" in found.doubt


def test_units_that_differ_are_named() -> None:
    assert different_units(["3 kg", "4 g", "5"]) == ("kg", "g", "none")
    assert different_units(["3 kg", "4 kg"]) == different_units(["a"]) == ()


@pytest.mark.parametrize(
    "wrong", [{"decimal": ";"}, {"thousands": "x"}, {"decimal": ",", "thousands": ","}, {"dates": "weeks"}]
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Spelling(**wrong)


def test_conversions_are_decisions_and_units_are_kept() -> None:
    text = io.StringIO("id;price;share\na;1.234,50 €;12%\nb;;5,5 %\na;(99,00 €);7%\n")
    table = read(text)
    assert table.decisions[-2:] == (
        "price: numbers, taken as continuous; '1.234,50 €' is read as 1234.5, '(99,00 €)' is read as -99; "
        "'' is a hole",
        "share: numbers, taken as continuous; '5,5 %' is read as 5.5",
    )
    assert [v.unit for v in table.schema] == ["", "€", "%"]
    assert "-99 to 1234.5, mean 567.75 (€)" in str(table.describe())
    assert table.describe().to_dict()["variables"][1]["unit"] == "€"


def test_decimal_on_thousands_is_doubted_aloud() -> None:
    with pytest.warns(UserWarning, match=r"'1,234' is read as 1\.234.*thousands=','"):
        table = read(io.StringIO("a;b\n1,234;x\n5,678;y\n"), decimal=",", kinds={"a": "continuous"})
    assert table.reals[:, 0].tolist() == [1.234, 5.678]
    table = read(io.StringIO("a;b\n1,234;x\n5,678;y\n"), thousands=",", kinds={"a": "continuous"})
    assert table.reals[:, 0].tolist() == [1234, 5678]


def test_a_model_reads_another_table_in_its_dress() -> None:
    learned = read({"dose": ["5 mg", "10 mg", "5 mg"], "x": ["1.234,5", "2,5", "3"]})
    assert learned.schema["dose"].states == (5, 10)
    again = read({"dose": ["10 mg", None], "x": ["7,5", None]}, schema=learned.schema)
    assert again.to_frame("dict") == {"dose": [10, None], "x": [7.5, None]}
    weighed = read({"w": ["1.5 kg", "2.5 kg"]})
    with pytest.raises(SchemaError, match="w is in g, but in kg where it was learned from"):
        read({"w": ["1.5 g", "2.5 g"]}, schema=weighed.schema)


def test_declared_discrete_and_states_keep_the_text() -> None:
    assert read({"dose": ["5 mg", "10 mg"]}, kinds={"dose": "discrete"}).schema["dose"].states == (
        "10 mg",
        "5 mg",
    )
    assert read({"dose": ["5 mg"]}, states={"dose": ["5 mg", "9 mg"]}).schema["dose"].size == 2


def test_weights_may_be_dressed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read(io.StringIO('a,n\nx,"1,200"\ny,900\n'), weights="n")
    assert table.weights.tolist() == [1200, 900]


def test_large_files_are_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "".join(f"{k},25;$1,{k:03}.5\n" for k in range(500)))
    small = read(path)
    monkeypatch.setattr("lacunary.data.large.LARGE", 0)
    monkeypatch.setattr("lacunary.data.large.TALL", 0)
    np.testing.assert_array_equal(read(path).reals, small.reals)
    assert small.reals[3].tolist() == [3.25, 1003.5]


def test_examine_says_the_same() -> None:
    assert examine({"a": ["1,234", "2,345"]}).notes == read_notes({"a": ["1,234", "2,345"]})


def read_notes(source: Any) -> tuple[str, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(source).notes
