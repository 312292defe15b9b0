"""Frames out of the imputer: columns keep their types, and what was observed stays as it was."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lacunary.sklearn import NetworkImputer

ROWS = 60


def cells() -> dict[str, list[Any]]:
    """Columns of every type; each has a hole in a row of its own."""
    rng = np.random.default_rng(0)
    low = rng.random(ROWS) < 0.5
    columns: dict[str, list[Any]] = {
        "real": (low + rng.normal(size=ROWS)).tolist(),
        "text": ["u" if each else "v" for each in low],
        "named": ["u" if each else "v" for each in low],
        "told": low.tolist(),
        "level": low.astype(int).tolist(),
        "count": rng.integers(0, 900, ROWS).tolist(),
        "day": [date.fromordinal(737000 + int(k)) for k in rng.integers(0, 500, ROWS)],
    }
    for place, column in enumerate(columns.values()):
        column[place] = None
    return columns


def in_pandas() -> pd.DataFrame:
    frame = pd.DataFrame(cells())
    kinds = {
        "named": "category",
        "told": "boolean",
        "level": "Int64",
        "count": "Int64",
        "day": "datetime64[us]",
    }
    return frame.astype(kinds)


def in_polars() -> pl.DataFrame:
    return pl.DataFrame(cells()).with_columns(pl.col("named").cast(pl.Enum(["v", "u"])))


@pytest.mark.parametrize("frame", [in_pandas(), in_polars()], ids=["pandas", "polars"])
def test_columns_keep_their_types(frame: Any) -> None:
    library = "pandas" if isinstance(frame, pd.DataFrame) else "polars"
    imputer = NetworkImputer(n_classes=2, starts=1).set_output(transform=library)
    filled = imputer.fit_transform(frame)
    before, after = ({n: f[n].dtype for n in f.columns} for f in (frame, filled))
    # A mean of whole numbers is none: their column becomes one of reals, and no other changes.
    assert {name for name in before if before[name] != after[name]} == {"count"}
    assert after["count"] == (pl.Float64 if library == "polars" else pd.Float64Dtype())
    for place, name in enumerate(frame.columns):
        old, new = list(frame[name]), list(filled[name])
        assert old[:place] + old[place + 1 :] == new[:place] + new[place + 1 :]
        assert not pd.isna(new[place])
    assert min(d for d in list(frame["day"]) if not pd.isna(d)) < list(filled["day"])[6]


def test_one_library_in_and_another_out() -> None:
    filled = NetworkImputer(n_classes=2, starts=1).set_output(transform="polars").fit_transform(in_pandas())
    assert isinstance(filled, pl.DataFrame)
    assert filled.schema["real"] == pl.Float64
    assert filled.null_count().sum_horizontal().item() == 0


def test_times_stand_in_their_zone() -> None:
    """Where all that is known is one moment, that is what fills the hole."""
    noon = pd.Timestamp("2024-05-01 12:00:30", tz="Europe/Berlin")
    frame = pd.DataFrame(
        {"at": pd.Series([noon, noon + pd.Timedelta("4h"), noon + pd.Timedelta("8h"), None])}
    )
    filled = NetworkImputer("at;", how="mean", kinds="continuous").set_output(transform="pandas")
    found = filled.fit_transform(frame)["at"]
    assert found.dtype == frame["at"].dtype
    assert abs(found[3] - (noon + pd.Timedelta("4h"))) < pd.Timedelta(
        "1s"
    )  # the mean, where the prior is too


def test_weights_may_be_fractions() -> None:
    """Halves of rows that stand twice are the rows."""
    frame = in_pandas()[["real", "text", "told"]]
    twice = pd.concat([frame, frame], ignore_index=True)
    halves = NetworkImputer(n_classes=2, starts=1).fit(twice, sample_weight=np.full(2 * ROWS, 0.5))
    once = NetworkImputer(n_classes=2, starts=1).fit(frame)
    # The same sums in another order.
    assert halves.fit_.objective == pytest.approx(once.fit_.objective, rel=1e-6)
    free = NetworkImputer().fit(frame, sample_weight=np.linspace(0.1, 1.7, ROWS)).transform(frame)
    assert not pd.isna(free).any()
