"""Different rows and how often each stands there: where they are few, they are all there is to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["COUNT", "SHORT", "Alike"]

FEW_ROWS = 2**20
"""Different rows that are kept; where there are more, rows are learned from part by part."""

SHORT = 2**12
"""Rows up to which different ones come in the order in which they first stand there, as people name them."""

LEAST = 64
"""Rows up to which it does not matter how many are different."""

COUNT = "\0count"
"""The column that says how often a row stands there: no column of a file can be called so."""

KEYS = 2**62
"""Rows whose cells can hold no more combinations than this are told apart by one number."""


class Alike:
    """The different rows of parts that come one by one, while they are few.

    Attributes
    ----------
    pieces
        Different rows of some parts each, with their counts; a row may stand in several.
    few
        Whether different rows are few, and much fewer than rows.
    """

    def __init__(self) -> None:
        self.pieces: list[pl.DataFrame] = []
        self.few = True
        self.rows = 0

    def add(self, part: pl.DataFrame) -> None:
        """Take a part in; once different rows turn out to be many, what was taken in before is left."""
        pieces = [*self.pieces, _different([part])]
        bound, self.rows = sum(piece.height for piece in pieces), self.rows + part.height
        self.few = pieces[0].schema == pieces[-1].schema  # files may hold a column in different types
        if self.few and not self._so_few(bound, slack=2):  # some rows stand in several pieces
            pieces = [_different(pieces)]
            self.few = self._so_few(pieces[0].height)
        if self.few:
            self.pieces = pieces

    def _so_few(self, many: int, slack: int = 1) -> bool:
        # Of all rows so far: those of a short last part may all be different.
        return 2 * many <= max(self.rows, LEAST) and many <= slack * FEW_ROWS

    def together(self) -> pl.DataFrame | None:
        """Return the different rows of all parts, with their counts; None if they are many."""
        if not self.few or not self.pieces:
            return None
        rows = self.pieces[0] if len(self.pieces) == 1 else _different(self.pieces)
        return rows if self._so_few(rows.height) else None


def _different(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the different rows of frames, with their counts."""
    import polars as pl

    whole = frames[0] if len(frames) == 1 else pl.concat(frames)
    names = [name for name in whole.columns if name != COUNT]
    plain = [str(k) for k in range(len(names))]  # in expressions names such as * and ^a$ are patterns
    counts = [whole[COUNT]] if COUNT in whole.columns else []
    whole = pl.DataFrame([*(whole[name].alias(k) for name, k in zip(names, plain, strict=True)), *counts])
    counted = pl.col(COUNT).sum() if counts else pl.len().cast(pl.Float64).alias(COUNT)
    key = _key(whole[plain])
    if key is None:
        found = whole.group_by(plain, maintain_order=whole.height <= SHORT).agg(counted)
    else:
        whole = whole.with_columns(key.alias("key"))
        grouped = whole.group_by("key", maintain_order=whole.height <= SHORT)
        found = grouped.agg(*(pl.col(k).first() for k in plain), counted).drop("key")
    found.columns = [*names, COUNT]
    return found


def _key(cells: pl.DataFrame) -> pl.Series | None:
    """Return a number for every row, equal where rows are equal; None where cells are not of few values."""
    import polars as pl

    whole = (kind.is_integer() or kind == pl.Boolean or isinstance(kind, pl.Enum) for kind in cells.dtypes)
    if not all(whole):
        return None
    numbers = cells.select(pl.all().to_physical().cast(pl.Int64, strict=False))
    lows, highs = numbers.min().row(0), numbers.max().row(0)
    spans = [2 if low is None else high - low + 2 for low, high in zip(lows, highs, strict=True)]
    key, many = pl.lit(0, dtype=pl.Int64), 1
    for name, low, span in zip(numbers.columns, lows, spans, strict=True):
        key = key * span + (pl.col(name) - (low or 0)).fill_null(span - 1)
        many *= span
    return numbers.select(key).to_series() if many <= KEYS else None
