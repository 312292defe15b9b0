"""A few different rows of a source, by hashes of their cells: a draw that any division into parts shares."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lacunary.data.source import Source, by_cells, different, one_after_other
from lacunary.data.table import Table

__all__ = ["DRAWN", "fewer", "fewest"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

DRAWN = 2000
"""Different rows among which groups are looked for."""


def fewest(source: Source, most: int | None = None) -> Table:
    """Return different rows with their weights, at most `DRAWN`, in an order that depends on cells alone."""
    many = DRAWN if most is None else most
    rows: Table = source.fold(partial(_fewest, many), partial(_merged, many))
    return rows


def _merged(most: int, a: Table, b: Table) -> Table:
    return _fewest(most, one_after_other(a, b))


def _fewest(most: int, table: Table) -> Table:
    """Return the rows whose cells have the smallest hashes: a draw that any division into parts shares."""
    rows = different(table)
    if len(rows) > most:
        rows = rows.take(np.argpartition(_hashes(rows), most)[:most])
    return by_cells(rows)


def _hashes(rows: Table) -> Integers:
    """Return a number for each row that its cells determine, spread over all numbers; (rows,)."""
    return _scattered([*rows.codes.T.astype(np.uint64), *_words(rows.reals)])


def fewer(points: Array, weights: Array) -> tuple[Array, Array]:
    """Return at most `DRAWN` different points and their weights: a draw that any division into parts shares.

    In an order that depends on the points alone.
    """
    found, first, which = np.unique(_scattered(_words(points)), return_index=True, return_inverse=True)
    total = np.bincount(which.ravel(), weights, minlength=len(found)).astype(np.float64)
    return points[first[:DRAWN]], total[:DRAWN]


def _words(numbers: Array) -> list[Integers]:
    """Return the columns of numbers as words of bits; there is one zero, and one hole."""
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    return list(np.ascontiguousarray(plain.T).view(np.uint64))


def _scattered(columns: Sequence[Integers]) -> Integers:
    """Return a number for each line of columns, spread over all numbers; (rows,)."""
    out: Integers = np.zeros(len(columns[0]) if columns else 0, dtype=np.uint64)
    for column in columns:
        out = (out ^ column) * np.uint64(0x9E3779B97F4A7C15)
        out ^= out >> np.uint64(29)
        out *= np.uint64(0xBF58476D1CE4E5B9)
        out ^= out >> np.uint64(32)
    return np.asarray(out)
