"""The page of a search: numbers as people write them, units, and nothing said of arcs that is not so."""

from __future__ import annotations

import numpy as np
import pytest

import lacunary as lac
from lacunary.report.search_page import found_page
from lacunary.report.words import significant


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (22490.4, 4, "22,490"),
        (-22820.0, 4, "\N{MINUS SIGN}22,820"),
        (123456.0, 5, "123,456"),
        (0.012345, 3, "0.0123"),
        (100.0, 4, "100"),
        (0.0, 4, "0"),
        (1e-9, 4, "1e\N{MINUS SIGN}09"),
        (1e15, 4, "1e+15"),
        (float("inf"), 4, "inf"),
    ],
)
def test_numbers_have_no_power_of_ten_where_none_is_needed(value: float, digits: int, text: str) -> None:
    assert significant(value, digits) == text


def test_the_page_of_incomes_and_dates() -> None:
    rng = np.random.default_rng(1)
    sex = np.array(["f", "m"])[rng.integers(0, 2, 80)]
    income = np.where(sex == "f", 150_000.0, 420_000.0) + 20_000.0 * rng.normal(size=80)
    day = np.datetime64("2024-01-01") + rng.integers(0, 90, 80).astype("timedelta64[D]")
    table = lac.read({"sex": sex, "income": income, "day": list(day.astype(object))})
    found = lac.search(table)
    assert found.dag.arcs == (("sex", "income"),)
    page = found_page(found)
    assert "e+0" not in page
    assert f"days since {day.min()}" in page
    assert "turned round" not in page  # a number is never the cause of a state
    assert "↔" not in page
    linked = lac.read({"a": sex, "b": sex})
    assert "marked ↔ in the table" in found_page(lac.search(linked))
