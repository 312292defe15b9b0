"""Makers of holes, for simulation."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError, SchemaError, TableError

__all__ = ["hide", "make_holes"]


def make_holes(
    table: Table,
    share: float,
    *,
    mechanism: Literal["mcar", "mar"] = "mcar",
    columns: Collection[str] | None = None,
    driver: str | None = None,
    rng: int | np.random.Generator | None = None,
) -> Table:
    """Return the table with some of its cells emptied at random; holes it has already stay.

    *Missing completely at random* (``"mcar"``): each cell of the chosen columns is emptied with
    probability ``share``, independently of everything.

    *Missing at random* (``"mar"``): the probability depends on the row's value of the ``driver``,
    which itself is always observed and never emptied; given that value, cells are emptied
    independently. Let u be the share of rows with a lower value of the driver plus half the share of
    rows with the same, so that u averages 1/2. A cell is emptied with probability 2 u ``share``, or
    1 − 2 (1 − u)(1 − ``share``) where ``share`` exceeds one half: rising with the driver, and
    ``share`` on average over the rows of the table. States count as low to high in declared order.

    Parameters
    ----------
    share
        Expected share of the chosen cells that are emptied, from 0 to 1.
    columns
        Names of the columns in which to make holes; by default all but the driver.
    rng
        A seed or a generator; by default fresh randomness.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(1000, rng=0), 0.2, rng=0)
    >>> round(float(rows.holes.mean()), 1)
    0.2
    """
    if not 0 <= share <= 1:
        raise ParameterError(f"share must lie between 0 and 1, not {share}")
    chosen = _chosen(table, columns, driver)
    if mechanism == "mcar" and driver is None:
        probability = np.full(len(table), float(share))
    elif mechanism == "mar" and driver is not None:
        probability = _rising(_level(table, driver), share)
    else:
        raise ParameterError(f"mechanism is 'mcar', without a driver, or 'mar', with one; not {mechanism!r}")
    draws = np.random.default_rng(rng).random((len(table), len(chosen)))
    empty = np.zeros((len(table), len(table.schema)), dtype=np.bool_)
    empty[:, chosen] = draws < probability[:, None]
    return _emptied(table, empty)


def hide(table: Table, names: Iterable[str]) -> Table:
    """Return the table with these variables hidden: marked so in the schema, their columns all holes.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.hide(lac.asia().sample(10, rng=0), ["smoke"])
    >>> rows.schema["smoke"].hidden, int(rows.holes.sum())
    (True, 10)
    """
    chosen = [names] if isinstance(names, str) else list(names)
    empty = np.zeros((len(table), len(table.schema)), dtype=np.bool_)
    empty[:, [table.schema.index(name) for name in chosen]] = True
    return replace(_emptied(table, empty), schema=table.schema.hide(chosen))


def _chosen(table: Table, columns: Collection[str] | None, driver: str | None) -> list[int]:
    names = [name for name in table.schema.names if name != driver] if columns is None else list(columns)
    if driver is not None and driver in names:
        raise SchemaError(
            f"the driver {driver!r} is always observed; it cannot be among the columns to empty"
        )
    return [table.schema.index(name) for name in names]


def _level(table: Table, driver: str) -> NDArray[np.float64]:
    """Return each row's u: the share of rows below in the driver, plus half of those level with it."""
    column = table.schema.index(driver)
    if table.holes[:, column].any():
        row = int(np.argmax(table.holes[:, column])) + 1
        raise TableError(f"the driver must always be observed, but {driver} has a hole in row {row}")
    values = (table.codes if table.schema[driver].discrete else table.reals)[:, column]
    _, rank, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(((np.cumsum(counts) - counts / 2) / max(len(table), 1))[rank])


def _rising(level: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    return 2 * level * share if share <= 0.5 else 1 - 2 * (1 - level) * (1 - share)


def _emptied(table: Table, empty: NDArray[np.bool_]) -> Table:
    codes = np.where(empty, np.asarray(HOLE, dtype=table.codes.dtype), table.codes)
    reals = np.where(empty, np.nan, table.reals) if table.reals.shape[1] else table.reals
    return replace(table, codes=codes, reals=reals)
