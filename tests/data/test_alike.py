"""Different rows of parts: as a dictionary would count them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from lacunary.data import alike
from lacunary.data.alike import COUNT, Alike


def frame(rows: int, seed: int, kinds: str) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    holes = rng.random((len(kinds), rows)) < 0.2
    made: dict[str, Any] = {}
    for k, kind in enumerate(kinds):
        numbers = rng.integers(3, size=rows)
        every: dict[str, list[Any]] = {
            "b": [bool(n % 2) for n in numbers],
            "i": [int(n) - 7 for n in numbers],
            "h": [int(n) * 2**61 for n in numbers],  # too wide for one number with the others
            "e": ["xyz"[n] for n in numbers],
            "s": ["xyz"[n] for n in numbers],
            "n": [None] * rows,
        }
        dtypes: dict[str, Any] = {"b": pl.Boolean, "e": pl.Enum(["z", "w", "x", "y"]), "s": pl.String}
        series = pl.Series(f"{kind}{k}", every[kind], dtype=dtypes.get(kind, pl.Int64))
        made[series.name] = (
            series.to_frame().select(pl.when(~pl.Series(holes[k])).then(pl.first())).to_series()
        )
    return pl.DataFrame([series.alias(name) for name, series in made.items()])


@pytest.mark.parametrize("kinds", ["bbi", "iebn", "ihb", "sib", "b"])
def test_rows_are_counted_as_a_dictionary_counts_them(kinds: str) -> None:
    parts = [frame(rows, seed, kinds) for seed, rows in enumerate((300, 500, 0, 7))]
    same = Alike()
    for part in parts:
        same.add(part)
    found = same.together()
    assert found is not None
    assert found.schema == {**parts[0].schema, COUNT: pl.Float64}
    wanted = Counter(row for part in parts for row in part.iter_rows())
    assert {row[:-1]: row[-1] for row in found.iter_rows()} == wanted


def test_many_different_rows_are_given_up_with_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    same = Alike()
    same.add(frame(300, 0, "b"))
    same.add(pl.DataFrame({"b0": [0, 1]}, schema={"b0": pl.Int64}))  # another type
    assert not same.few
    assert same.together() is None
    assert sum(piece[COUNT].sum() for piece in same.pieces) == 300
    same = Alike()
    same.add(pl.DataFrame({"i": range(200)}))
    assert not same.few
    monkeypatch.setattr(alike, "FEW_ROWS", 3)
    same = Alike()
    for _ in range(9):
        same.add(pl.DataFrame({"i": [0, 1, 2, 3] * 50}))
    assert not same.few
