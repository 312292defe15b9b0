"""Texts as numbers: the distinct texts of a column in the order of their first appearance, and each row's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, code_dtype

if TYPE_CHECKING:
    import polars as pl

__all__ = ["categories", "coded", "numbered"]

FIRST = 2**12
"""Rows in which most texts of a column appear."""

SHORT = 2**10
"""Rows up to which texts are numbered one by one."""

FEW = 64
"""Distinct texts up to which they are told apart by a few bits."""

PLACES = 2**16
"""Numbers of that many bits of a text's hash."""


def coded(texts: pl.Series) -> tuple[list[str], NDArray[np.signedinteger]]:
    """Return distinct texts or categories in the order in which they first appear, and each row's."""
    levels, codes = numbered(texts)
    if None not in levels:
        return [str(level) for level in levels], codes
    empty = levels.index(None)
    where = np.arange(len(levels), dtype=codes.dtype)
    where[empty + 1 :] -= 1
    where[empty] = HOLE
    return [str(level) for level in levels if level is not None], where.take(codes)


def numbered(column: pl.Series) -> tuple[list[str | None], NDArray[np.signedinteger]]:
    """Return the distinct texts of a column in the order in which they first appear, and each row's.

    A null is one of them, None. Texts get numbers from polars, in an order that depends on its threads; what
    they are here depends on the rows alone.
    """
    import polars as pl

    if len(column) <= SHORT:
        return _one_by_one(column.cast(pl.String).to_list())
    new = column.dtype == pl.String
    if new:
        if (found := _few(column)) is not None:
            return found
        column = column.cast(categories())
    numbers, most = column.to_physical().cast(pl.UInt32), column.to_physical().max()
    size, empty = (0 if most is None else int(most) + 1) + 1, column.null_count() > 0  # type: ignore[arg-type]
    own = (numbers.fill_null(size - 1) if empty else numbers).to_numpy()
    # Of new categories each stands in some row.
    many = size - (not empty) if new else int(np.count_nonzero(np.bincount(own, minlength=size)))
    rows = _first_rows(own, size, many)
    present = np.flatnonzero(rows >= 0)
    order = np.argsort(rows[present])
    place = np.full(size, HOLE, dtype=code_dtype([len(present)]))
    place[present[order]] = np.arange(len(present))
    return column.gather(rows[present[order]]).cast(pl.String).to_list(), place.take(own)


def categories() -> Any:
    """Return a type of categories which no other column shares, so that their numbers are small."""
    import polars as pl

    return pl.Categorical(pl.Categories.random()) if hasattr(pl, "Categories") else pl.Categorical


def _one_by_one(texts: list[str | None]) -> tuple[list[str | None], NDArray[np.signedinteger]]:
    places: dict[str | None, int] = {}
    codes = [places.setdefault(text, len(places)) for text in texts]
    return list(places), np.array(codes, dtype=code_dtype([len(places)]))


def _few(texts: pl.Series) -> tuple[list[str | None], NDArray[np.signedinteger]] | None:
    """Return the same where the first rows show all texts, and these are few; None where they do not.

    A few bits of their hashes tell them apart; that each row has the text it is taken for is then looked at.
    """
    levels = texts.head(FIRST).unique(maintain_order=True)
    if len(levels) > FEW:
        return None
    bits = np.uint64(PLACES - 1)
    place = np.zeros(PLACES, dtype=code_dtype([len(levels)]))
    own = (levels.hash().to_numpy() & bits).view(np.int64)
    place[own] = np.arange(len(levels))
    codes = place.take((texts.hash().to_numpy() & bits).view(np.int64))
    if not levels.gather(codes).eq_missing(texts).all():
        return None
    return levels.to_list(), codes


def _first_rows(numbers: NDArray[np.integer], size: int, distinct: int) -> NDArray[np.int64]:
    """Return the first row of every number below a size, -1 of one that no row has.

    So many are distinct, mostly early ones.
    """
    for many in (FIRST, 4 * FIRST, 16 * FIRST, len(numbers)):
        rows = np.full(size, -1)
        rows[numbers[:many][::-1]] = np.arange(min(many, len(numbers)) - 1, -1, -1)
        if np.count_nonzero(rows >= 0) == distinct:
            break
    return rows
