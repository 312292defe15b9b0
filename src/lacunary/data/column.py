"""One column of a source: *labels*, which name states, or *numbers*, which count or measure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Label
from lacunary.data.table import HOLE, code_dtype
from lacunary.errors import TableError

__all__ = [
    "Column",
    "Labels",
    "Levels",
    "Moments",
    "Numbers",
    "Source",
    "at_midnight",
    "of_array",
    "of_values",
    "own_name",
    "parse_number",
    "parse_numbers",
    "taken",
]

EXACT = 2**53
"""Whole numbers up to this size are exact as floats."""

GLANCE = 2**10
"""Cells that mostly tell whether numbers are whole, or times those of midnight."""

ABREAST = 16
"""Levels up to which it is fastest to count each by itself, where codes are bytes."""

# Integers with a leading zero, or longer than a float holds, are codes (postcodes, keys), not numbers.
CODE = re.compile(r"^\s*[+-]?(?:0\d+|\d{16,})\s*$", re.MULTILINE)

WHOLE = re.compile(r"-?[1-9][0-9]{0,14}|0")
"""A whole number as Python writes it, unless it is a code."""


@dataclass(frozen=True)
class Labels:
    """A column of labels.

    Attributes
    ----------
    levels
        The distinct labels.
    codes
        Which level each row has, `HOLE` where it has none; (rows,).
    origin
        What the source holds there, for the record: "text", "categories", "booleans".
    untyped
        Whether the labels may turn out to be numbers, as in a text file, where all is text.
    declared
        Whether the source itself declares the levels and their order.
    ordered
        Whether that order means something.
    """

    name: str
    levels: tuple[Label, ...]
    codes: NDArray[np.signedinteger]
    origin: str = "text"
    untyped: bool = False
    declared: bool = False
    ordered: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    def observed(self) -> NDArray[np.int64]:
        """Return how many rows have each level."""
        return self._observed

    @cached_property
    def _observed(self) -> NDArray[np.int64]:
        if len(self.levels) <= ABREAST and self.codes.itemsize == 1:
            return np.array([np.count_nonzero(self.codes == k) for k in range(len(self.levels))])
        return np.bincount(self.codes + 1, minlength=len(self.levels) + 1)[1:]  # HOLE is −1

    def first_row(self, level: int) -> int:
        """Return the number, from 1, of the first row that has a level."""
        return int(np.argmax(self.codes == level)) + 1


@dataclass(frozen=True)
class Numbers:
    """A column of numbers.

    Attributes
    ----------
    values
        The numbers, NaN where there is a hole; (rows,).
    unit
        Their unit, if one is known.
    marks
        Texts that stood for holes, as far as they are to be named.
    plain
        Whether they are text in a file, each of them `WHOLE`, and all holes the only mark: so that they may
        still turn out to be labels.
    beside
        Numbers of all columns, if the reader laid them side by side; (rows, columns).
    said
        How texts were read as these numbers, if they were written otherwise than Python does.
    """

    name: str
    values: NDArray[np.float64]
    unit: str = ""
    marks: tuple[str, ...] = ()
    plain: bool = False
    beside: NDArray[np.float64] | None = None
    said: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def knowing(self, **facts: Any) -> Numbers:
        """Return the same numbers, of which this need not be found out: ``bounds``, ``counts``, ``whole``."""
        vars(self).update(facts)
        return self

    def texts(self) -> Labels:
        """Return plain numbers as the texts that they are, in the order in which they first appear."""
        known = self.labels()
        texts = [*map(str, known.levels), *self.marks]
        codes = np.where(known.codes == HOLE, len(texts) - 1, known.codes)  # the last is the mark
        first = np.empty(len(texts), dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        order = np.argsort(first)
        place = np.argsort(order).astype(code_dtype([len(texts)]))
        return Labels(self.name, tuple(texts[k] for k in order), place.take(codes), untyped=True)

    def labels(self) -> Labels:
        """Return the distinct numbers as levels in ascending order; whole ones become integers."""
        levels, codes = self._distinct()
        if len(codes) < len(self):
            places = np.full(len(self), HOLE, dtype=codes.dtype)
            places[~np.isnan(self.values)] = codes
            codes = places
        values = tuple(map(int, levels.tolist()) if self.whole else levels.tolist())
        return Labels(self.name, values, codes, "whole numbers" if self.whole else "numbers", declared=True)

    def marked(self) -> Labels:
        """Return the distinct numbers as levels, and last the mark that all holes are, if there is one."""
        known = self.labels()
        if len(self.marks) != 1:
            return known
        codes = np.where(known.codes == HOLE, np.int64(len(known.levels)), known.codes)
        return replace(known, levels=(*known.levels, *self.marks), codes=codes)

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many different numbers there are, and how many cells hold one."""
        seen = self._seen
        steps = self._steps(seen)
        return len(np.unique(seen)) if steps is None else int(np.count_nonzero(taken(steps))), len(seen)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest number, infinite ones too; NaN if there is none."""
        least, most = (ufunc.reduce(self.values, initial=np.nan) for ufunc in (np.fmin, np.fmax))
        return float(least), float(most)

    @cached_property
    def whole(self) -> bool:
        """Whether all are whole numbers, however they are stored (integers with holes become floats)."""
        parts = (self.values[:GLANCE], self.values[GLANCE:])  # of those that are not, mostly the first tell
        return all(np.all(np.isnan(v) | (v == np.floor(v)) & np.isfinite(v)) for v in parts)

    @property
    def _seen(self) -> NDArray[np.float64]:
        """The numbers without holes."""
        holes = np.isnan(self.values)
        return self.values[~holes] if holes.any() else self.values

    def _distinct(self) -> tuple[NDArray[np.float64], NDArray[np.signedinteger]]:
        """Distinct numbers in ascending order, and which each is; those close together are not sorted."""
        seen = self._seen
        steps = self._steps(seen)
        if steps is None:
            found, where = np.unique(seen, return_inverse=True)
            return found, where.astype(np.int64)
        present = np.flatnonzero(taken(steps))
        rank = np.zeros(present[-1] + 1 if len(present) else 0, dtype=code_dtype([len(present)]))
        rank[present] = np.arange(len(present))
        levels = (present + self.bounds[0]).astype(np.float64, copy=False)
        codes: NDArray[np.signedinteger] = rank.take(steps)
        return levels, codes

    def _steps(self, seen: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Return how far whole numbers that lie close together are from the least; None of others."""
        low, high = self.bounds
        if not high - low < 2**16 or not self.whole:
            return None
        return (seen - low).astype(np.int64)


@dataclass(frozen=True)
class Moments:
    """A column of dates, times or durations.

    Attributes
    ----------
    seconds
        Seconds since the beginning of 1970, or since midnight, or of which a duration has so many; NaN where
        there is a hole; (rows,).
    kind
        "dates", "times", "times of day" or "durations".
    zone
        The time zone that seconds are in, where it is known: "UTC".
    wall
        The same moments by the clocks on their walls, where these differ, for weekdays and hours.
    said, doubt
        How texts were read as these moments, if they were, and what else they might be.
    """

    name: str
    seconds: NDArray[np.float64]
    kind: str
    zone: str = ""
    wall: NDArray[np.float64] | None = None
    said: str = ""
    doubt: str = ""

    def __len__(self) -> int:
        return len(self.seconds)


Column = Labels | Numbers | Moments


@dataclass(frozen=True)
class Source:
    """Named columns, made one at a time, so that a large source is never held twice in full.

    Attributes
    ----------
    names
        The names of all columns.
    columns
        From the names that are wanted and the marks of holes to those columns, in the order asked. Unless
        they are streamed, one that cannot be a column raises in its turn, and those behind it still come.
    library
        The data frame library the source belongs to, if any.
    path
        Where the file lies, if it is one.
    streamed
        Whether all columns come by one pass over the source, so that they must be asked for together.
    said
        What was done to rows, once columns have come.
    """

    names: tuple[str, ...]
    columns: Callable[[Sequence[str], Collection[str]], Iterable[Column]]
    library: str | None = None
    path: str | None = None
    streamed: bool = False
    said: Sequence[str] = ()


class Levels(dict[Any, int]):
    """Numbers distinct values as they come; None is `HOLE`."""

    def __init__(self) -> None:
        super().__init__({None: HOLE})

    def __missing__(self, value: object) -> int:
        self[value] = position = len(self) - 1
        return position

    def code(self, values: Sequence[object]) -> NDArray[np.int32]:
        """Return the position of each value."""
        return np.fromiter(map(self.__getitem__, values), dtype=np.int32, count=len(values))

    @property
    def distinct(self) -> tuple[Any, ...]:
        """The distinct values, by position."""
        return tuple(self)[1:]


def of_array(name: str, array: NDArray[Any]) -> Column:
    """Return the column of a one-dimensional array; NaN, None and masked cells are holes."""
    if isinstance(array, np.ma.MaskedArray):
        return of_values(name, array.tolist())  # masked cells become None
    if array.dtype.kind in "iu" and array.size and max(-int(array.min()), int(array.max())) > EXACT:
        return of_values(name, array.tolist())
    if array.dtype.kind in "iuf":
        return Numbers(name, array.astype(np.float64))
    if array.dtype.kind == "b":
        return Labels(name, (False, True), array.astype(np.int8), "booleans", declared=True)
    if array.dtype.kind in "Mm":
        return _of_ticks(name, array)
    return of_values(name, array.tolist())


def _of_ticks(name: str, array: NDArray[Any]) -> Column:
    """Return the column of NumPy's dates and durations."""
    ticks = array.astype(f"{array.dtype.kind}8[us]")
    values = np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / 1e6)
    if array.dtype.kind == "m":
        return Moments(name, values, "durations")
    return Moments(name, values, "dates" if at_midnight(values) else "times")


def at_midnight(seconds: NDArray[np.float64]) -> bool:
    """Tell whether times are those of midnight alone, so that they are dates."""
    parts = (seconds[:GLANCE], seconds[GLANCE:])
    return all(bool(np.all(np.isnan(part) | (part % 86400 == 0))) for part in parts)


def of_values(name: str, values: Iterable[Any]) -> Column:
    """Return the column of these Python values: text, numbers or booleans; None and NaN are holes."""
    cells = _plain(list(values))
    types = set(map(type, cells)) - {type(None)}
    if any(issubclass(t, Decimal) for t in types):
        cells = [float(cell) if isinstance(cell, Decimal) else cell for cell in cells]
        types = set(map(type, cells)) - {type(None)}
    if types and all(issubclass(t, date | time | timedelta) for t in types):
        from lacunary.data.moments import moments_of  # which makes columns

        if (moments := moments_of(name, cells)) is not None:
            return moments
    for foreign in (t for t in types if not issubclass(t, Label)):
        row = next(row for row, cell in enumerate(cells) if type(cell) is foreign)
        raise TableError(
            f"{name}, row {row + 1}: {cells[row]!r} is neither text, number nor boolean; "
            f"convert the column, or leave it out with drop=[{name!r}]"
        )
    if types == {bool}:
        codes = [HOLE if cell is None else int(cell) for cell in cells]
        return Labels(name, (False, True), np.array(codes), "booleans", declared=True)
    if types <= {int, float}:
        long = any(type(cell) is int and abs(cell) > EXACT for cell in cells)
        if not long:
            return Numbers(name, np.array(cells, dtype=np.float64))
        return _text(name, cells, "integers too long to be exact numbers", cast=types != {int})
    mixed = not all(issubclass(t, str) for t in types)
    text = _text(name, cells, "mixed values, read as text" if mixed else "text", cast=mixed)
    return replace(text, untyped=mixed and types <= {int, float, str})


def parse_numbers(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the numbers these texts stand for, or None if one of them stands for no number.

    Numbers are decimal, with an optional exponent, or ``inf`` or ``nan``.
    """
    joined = "\n".join(texts)
    if not joined.isascii() or "_" in joined:
        return None
    try:
        values = np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    except ValueError:
        return None
    return None if np.any(values == np.floor(values)) and CODE.search(joined) else values


def parse_number(text: str) -> float | None:
    """Return the number that a text stands for, as `parse_numbers` does, or None if it stands for none."""
    if not text.isascii() or "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return None if CODE.search(text) else value


def own_name(column: Column) -> NDArray[np.int64]:
    """Return the rows in which a column holds its own name, as where a header line is repeated."""
    if isinstance(column, Labels) and column.name in column.levels:
        return np.flatnonzero(column.codes == column.levels.index(column.name))
    if isinstance(column, Numbers) and column.name in column.marks and column.plain:
        return np.flatnonzero(np.isnan(column.values))
    if isinstance(column, Numbers) and column.plain and WHOLE.fullmatch(column.name):
        return np.flatnonzero(column.values == float(column.name))
    return np.empty(0, dtype=np.int64)


def _text(name: str, cells: list[Any], origin: str, *, cast: bool) -> Labels:
    """Return a column of labels in the order of their first appearance."""
    seen = Levels()
    codes = seen.code([cell if cell is None else str(cell) for cell in cells] if cast else cells)
    return Labels(name, seen.distinct, codes, origin)


def _plain(cells: list[Any]) -> list[Any]:
    """Return the cells as Python values, with None for every hole."""
    types = set(map(type, cells))
    if types <= {str, int, bool, type(None)}:
        return cells
    if not types <= {str, int, bool, type(None), float}:
        cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
        # The nulls of pandas are known by name: pandas need not be installed.
        cells = [None if type(cell).__name__ in ("NAType", "NaTType") else cell for cell in cells]
    return [None if isinstance(cell, float) and cell != cell else cell for cell in cells]


def taken(steps: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which whole numbers from 0 on are there, up to the greatest."""
    found = np.zeros(int(steps.max(initial=-1)) + 1, dtype=np.bool_)
    found[steps] = True
    return found
