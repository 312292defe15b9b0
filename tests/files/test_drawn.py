"""Rows drawn into a folder: the same in parts of any size, whole or not at all, and gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lacunary as lac
from lacunary.files import drawn, whole
from lacunary.files.drawn import Recipe, draw_into


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "BLOCK", 64)


def rows_of(folder: Path, rows: int, model: Any = None, **settings: Any) -> pl.DataFrame:
    model = model or lac.asia()
    parts = draw_into(folder, model, Recipe.of(model, rows, **{"rng": 5, **settings}))
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"part-{k:06}.parquet" for k in range(parts)]
    return pl.concat(map(pl.read_parquet, files))


def test_rows_do_not_depend_on_parts(tmp_path: Path) -> None:
    first = rows_of(tmp_path / "a", 300, missing=0.25)
    assert first.shape == (300, 8)
    for part in (1, 7, 64, 100, 299, 1000):
        few = 40 if part == 1 else 250
        assert rows_of(tmp_path / f"b{part}", few, part=part, missing=0.25).equals(first.head(few))
    assert not rows_of(tmp_path / "c", 300, rng=6, missing=0.25).equals(first)
    assert (tmp_path / "a").exists()
    assert not list(tmp_path.glob(".*"))


def test_holes_leave_the_other_cells_as_they_are(tmp_path: Path) -> None:
    full, some = (rows_of(tmp_path / str(share), 2000, missing=share) for share in (0.0, 0.3))
    assert sum(full.null_count().row(0)) == 0
    # 16 000 cells: a share's standard deviation is below 0.004, and five of them are allowed
    assert sum(some.null_count().row(0)) / 16000 == pytest.approx(0.3, abs=0.02)
    for name in full.columns:
        seen = some[name].is_not_null()
        assert (some[name].cast(str) == full[name].cast(str)).filter(seen).all()


def test_rows_are_those_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of states against exact marginals: 4 000 draws, five standard deviations."""
    monkeypatch.setattr(drawn, "BLOCK", 1500)
    model = lac.asia()
    frame = rows_of(tmp_path / "a", 4000, model, how={"given": {"smoke": "yes"}})
    assert set(frame["smoke"].cast(str)) == {"yes"}
    for name in ("lung", "bronc", "dysp"):
        p = model.query(name, given={"smoke": "yes"})["yes"]
        share = (frame[name].cast(str) == "yes").mean()
        assert share == pytest.approx(p, abs=5 * (p * (1 - p) / 4000) ** 0.5)


def test_mixtures(tmp_path: Path) -> None:
    one, two = (lac.Network.from_tables(lac.dag("x"), {"x": [p, 1 - p]}) for p in (0.0, 1.0))
    mixture = lac.Mixture([0.5, 0.5], (one, two))  # type: ignore[arg-type]
    frame = rows_of(tmp_path / "a", 150, mixture, part=70)
    assert frame.equals(rows_of(tmp_path / "b", 150, mixture))
    assert 40 < frame["x"].cast(int).sum() < 110


def test_what_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = rows_of(tmp_path / "whole", 300, part=50)
    drawings: list[int] = []
    usual = Recipe.drawn

    def counted(self: Recipe, model: Any, block: int) -> lac.Table:
        drawings.append(block)
        return usual(self, model, block)

    monkeypatch.setattr(Recipe, "drawn", counted)

    def fail(step: str, target: Path) -> None:
        if step == "replace" and target.name == "part-000003.parquet":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(whole, "before", fail)
    with pytest.raises(lac.FileError, match="No space left"):
        rows_of(tmp_path / "a", 300, part=50)
    assert not (tmp_path / "a").exists()
    assert len(list((tmp_path / ".a.partial").glob("part-*.parquet"))) == 3
    monkeypatch.setattr(whole, "before", lambda step, target: None)
    with pytest.raises(lac.FileError, match="drawn otherwise, with the seed 5; delete it, or go on"):
        rows_of(tmp_path / "a", 300, part=60)
    drawings.clear()
    assert rows_of(tmp_path / "a", 300, part=50).equals(wanted)
    assert drawings == [2, 3, 4]  # rows 150 to 299, in blocks of 64
    with pytest.raises(lac.FileError, match="exists already"):
        rows_of(tmp_path / "a", 300, part=50)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(lac.ParameterError, match="between 0 and 1"):
        Recipe.of(lac.asia(), 10, missing=1.5)
    with lac.memory("300 MiB"), pytest.raises(lac.BudgetError, match="draw smaller parts"):
        draw_into(tmp_path / "a", lac.asia(), Recipe.of(lac.asia(), 10**9, part=10**8))
    assert not list(tmp_path.iterdir())
