"""The prompt with many files: a folder or a pattern stands where a file stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lacunary as lac
from lacunary.data import recipe
from tests.test_cli import Result

GRAPH = "asia -> tub; smoke -> lung bronc; lung -> xray; bronc -> dysp"


@pytest.fixture(autouse=True)
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> lac.Table:
    """A folder of text files with decimal commas in one column and a mark of holes of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recipe, "MOST", 100)
    table = lac.make_holes(lac.asia().sample(250, rng=0), 0.2, rng=0)
    columns = table.to_frame("dict")
    heights = np.random.default_rng(0).normal(170, 10, 250).round(1)
    Path("visits").mkdir()
    for first, last in ((0, 120), (120, 250)):
        lines = [";".join([*columns, "height"])]
        for row in range(first, last):
            cells = ["?" if columns[name][row] is None else str(columns[name][row]) for name in columns]
            lines.append(";".join([*cells, f"{heights[row]:.1f}".replace(".", ",")]))
        Path(f"visits/{first:03}.csv").write_text("\n".join(lines) + "\n")
    return table


READ = ("--holes", "?", "--decimal", ",", "--delimiter", ";")


def test_files_are_described_and_read_as_one_file_is(visits: lac.Table) -> None:
    told = Result("describe", "visits", *READ, "--json").json
    assert told["rows"] == 250
    assert told["distinct"] is None
    assert told["holes"] == pytest.approx(visits.holes.sum() / (250 * 9), abs=1e-12)
    height = told["variables"][-1]
    assert height["kind"] == "continuous"
    assert 130 < height["range"][0] < height["mean"] < height["range"][1] < 210
    assert "250 rows, 9 variables" in Result("describe", "visits/*.csv", *READ).out
    assert "Invalid value for --sheet" in Result("describe", "visits", "--sheet", "a").err


def test_holes_are_those_of_all_rows(visits: lac.Table) -> None:
    """With few different rows, which are learned from with weights, and with many."""
    for more in ((), ("--drop", "height")):
        found = Result("fit", "visits", GRAPH, *READ, *more, "--json").json
        assert found["rows"] == 250
        names = {v.name for v in lac.dag(GRAPH, states=2).schema}
        seen = [v.name in names for v in visits.schema]
        assert found["holes"] == visits.holes[:, seen].sum()
    drop = ("--drop", "height")
    said = Result(
        "mixture", "visits", *READ, *drop, "--components", 1, "--structure", "empty", "--report", "m.html"
    )
    assert f"250 rows, {visits.holes.sum()} holes" in said.out
    assert Path("m.html").exists()


def test_many_files_are_filled_into_a_folder(visits: lac.Table) -> None:
    drop = ("--drop", "height")
    graph = "cause -> asia tub smoke lung bronc either xray dysp"
    assert Result("fit", "visits", graph, "--hidden", "cause=2", *READ, *drop, "--out", "m.json").code == 0
    told = Result("impute", "m.json", "visits", *READ, "--out", "filled/", "--json").json
    assert told == {"rows": 250, "how": "mode", "copies": 1, "filled": visits.holes.sum(), "out": "filled/"}
    wanted = lac.impute(lac.load("m.json"), visits, hidden_columns=False)
    filled = lac.scan("filled", schema=wanted.schema).whole("a test")
    np.testing.assert_array_equal(filled.codes, wanted.codes)
    assert len(list(Path("filled").iterdir())) == 3
    for arguments, why in (
        (("m.json", "visits", "--out", "filled/"), "exists already"),
        (("m.json", "visits", "--out", "a.csv"), "many files are filled into a folder"),
        (("visits", "--out", "a/"), "parts are filled by a model"),
    ):
        assert why in " ".join(Result("impute", *arguments, *READ).err.split()).replace("│ ", "")
    assert not Path("a").exists()
