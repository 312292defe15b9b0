"""Reaching into a table: columns by name, tables by names or slices, and what is printed of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac

COLUMNS: dict[str, list[Any]] = {
    "size": ["S", None, "L", "S"],
    "mass": [1.5, 2.0, None, 4.0],
    "on": [True, False, True, None],
}


@pytest.fixture
def table() -> lac.Table:
    return lac.read(COLUMNS)


def test_shape_and_columns(table: lac.Table) -> None:
    assert table.shape == (4, 3)
    assert table.columns == ("size", "mass", "on")


def test_a_column_has_labels_and_holes_are_none(table: lac.Table) -> None:
    assert table["size"].tolist() == COLUMNS["size"]
    assert table["on"].tolist() == COLUMNS["on"]


def test_a_continuous_column_has_numbers_and_its_own_memory(table: lac.Table) -> None:
    mass = table["mass"]
    np.testing.assert_array_equal(mass, [1.5, 2.0, np.nan, 4.0])
    mass[0] = 9.0
    assert table["mass"][0] == 1.5


def test_names_and_slices_give_tables(table: lac.Table) -> None:
    assert table[["mass", "size"]].columns == ("mass", "size")
    assert table[1:3].to_frame("dict") == {name: values[1:3] for name, values in COLUMNS.items()}
    assert table.head(2).to_frame("dict") == {name: values[:2] for name, values in COLUMNS.items()}
    assert len(table.head()) == 4
    assert table.head(0).shape == (0, 3)


def test_what_is_no_column_is_named(table: lac.Table) -> None:
    with pytest.raises(lac.SchemaError, match="mas"):
        table["mas"]
    with pytest.raises(lac.SchemaError, match="a list of names, or a slice of rows, not 3"):
        table[3]  # type: ignore[call-overload]


def test_print_shows_rows(table: lac.Table) -> None:
    head, names, first, second, *_ = str(table).splitlines()
    assert head == repr(table)
    assert names.split() == ["size", "mass", "on"]
    assert first.split() == ["S", "1.5", "True"]
    assert second.split() == ["?", "2", "False"]
    assert str(lac.house_votes()).endswith("425 more rows")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    network = lac.asia()
    lac.save(network, tmp_path / "asia.json")
    assert lac.load(tmp_path / "asia.json", lac.Network).dag == network.dag
    with pytest.raises(lac.FileError, match="expected a Fit, not a Network"):
        lac.load(tmp_path / "asia.json", lac.Fit)


def test_answers_refuse_what_the_other_kind_has() -> None:
    answer = lac.asia().query("lung")
    with pytest.raises(AttributeError, match="is about states and has no quantile"):
        answer.quantile(0.5)
    normal = lac.random_network(lac.dag("x -> y", kinds="continuous"), rng=0).query("y")
    with pytest.raises(AttributeError, match="continuous variable and has no probabilities"):
        normal.probabilities  # noqa: B018
