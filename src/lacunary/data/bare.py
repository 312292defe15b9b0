"""What a column holds once marks of holes are gone and numbers and dates are told from their spelling."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.column import Column, Labels, Moments, Numbers, parse_number, parse_numbers
from lacunary.data.diagnostics import Diagnostic
from lacunary.data.moments import DECADE, PARTS, dated, iso, measured, parts
from lacunary.data.schema import Kind, Label
from lacunary.data.spelling import Spelled, Spelling, looks_pointed, spelled
from lacunary.data.table import HOLE, code_dtype
from lacunary.data.wording import holes_told
from lacunary.errors import SchemaError

__all__ = ["Bare", "Declared", "bared", "recoded", "value_of", "without_marks"]


CUT = re.compile(r"\d(?:[.,]\d{1,6})?[eE]\+(?:1[1-9]|[2-9]\d)")
SHORTENED = (
    "whole numbers of a dozen digits and more, the first few of them written: a spreadsheet has cut them, "
    "and different ones may have become one; save them as text in the source if they are identifiers"
)

POINTED = (
    "every number with a point has three digits behind it, and others have no point: thousands='.' reads "
    "1.234 as 1234, decimal='.' says that it is right so"
)


@dataclass(frozen=True)
class Declared:
    """What the caller says about the columns.

    Attributes
    ----------
    kinds, states
        Kind and states of the named columns.
    ordered
        Columns whose states are in a meaningful order.
    marks
        What a cell that is a hole holds, as text.
    may_be_empty
        Continuous columns that may hold nothing but holes. (Discrete ones may if their states are declared.)
    spelling
        How numbers and dates are written; None if only plain numbers are looked for.
    units
        Units of columns, as far as they are known from elsewhere.
    """

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    states: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)
    ordered: Collection[str] = ()
    marks: frozenset[str] = frozenset()
    may_be_empty: Collection[str] = ()
    spelling: Spelling | None = None
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Bare:
    """Labels or numbers, what is to be said of how they were read, and what is doubtful about it.

    ``moments`` is what the numbers measure if they are dates, times or durations.
    """

    column: Labels | Numbers
    said: str = ""
    doubts: tuple[Diagnostic, ...] = ()
    moments: str = ""


def bared(column: Column, declared: Declared) -> list[Bare]:
    """Return the columns that a column is read as: one, or the parts of its dates."""
    if isinstance(column, Moments):
        return list(_of_moments(column, declared, column.said, _doubts(column.name, column.doubt)))
    if isinstance(column, Numbers) and column.said:
        return [Bare(column, column.said)]
    how = declared.spelling
    if how is not None and isinstance(column, Numbers) and column.plain and _may_be_days(column, declared):
        column = column.texts()
    left, marked = _left(column, declared.marks)
    bare = _plainly(left)
    if how is not None and isinstance(left, Labels) and isinstance(bare, Numbers):
        if how.decimal == "," or how.thousands == "." or _may_be_days(bare, declared):
            bare = left  # 1.234 and 20240131 are numbers, too, but others
        elif not bare.whole and how.decimal is None and looks_pointed(list(map(str, left.levels))):
            return [Bare(bare, marked, _doubts(bare.name, POINTED))]
        elif bare.whole and all(map(CUT.fullmatch, map(str, left.levels))):
            return [Bare(bare, marked, _doubts(bare.name, SHORTENED))]
    if how is None or not _may_be_spelled(bare, declared):
        return [Bare(bare, marked)]
    assert isinstance(bare, Labels)
    texts = [str(label) for label in bare.levels]
    if all(map(DECADE.fullmatch, texts)):
        return [Bare(bare, marked)]  # the 1990s are no seconds
    if how.dates_of(bare.name) != "text" and (found := dated(texts, how.day_first)):
        wall = None if found.wall is None else np.append(found.wall, np.nan)[bare.codes]
        seconds = np.append(found.seconds, np.nan)[bare.codes]
        moments = Moments(bare.name, seconds, found.kind, found.zone, wall)
        doubts = _doubts(bare.name, found.doubt)
        return list(_of_moments(moments, declared, f"; {found.said}{marked}", doubts))
    written = spelled(texts, how)
    if written is None:
        return [Bare(_plainly(bare), marked)]
    return [_numbers(bare, written, marked, declared)]


def _may_be_days(numbers: Numbers, declared: Declared) -> bool:
    """Whether whole numbers may be dates such as 20240131."""
    least, most = numbers.bounds
    if not 19000101 <= least < most <= 21001231 or declared.kinds.get(numbers.name) == "discrete":
        return False
    return numbers.whole


def _numbers(labels: Labels, written: Spelled, marked: str, declared: Declared) -> Bare:
    """Return labels as the numbers that they are spelled as."""
    known = declared.units.get(labels.name)
    if known and written.unit and known != written.unit:
        raise SchemaError(
            f"{labels.name} is in {written.unit}, but in {known} where it was learned from; convert it"
        )
    numbers = Numbers(labels.name, np.append(written.values, np.nan)[labels.codes], written.unit)
    plain = parse_numbers([str(label) for label in labels.levels])
    said = "" if plain is not None and np.array_equal(plain, written.values) else f"; {written.said}"
    return Bare(numbers, said + marked, _doubts(labels.name, written.doubt))


def _doubts(name: str, doubt: str) -> tuple[Diagnostic, ...]:
    what, _, remedy = doubt.partition(": ")
    return (Diagnostic(name, what, remedy, "doubtful", misread=True),) if doubt else ()


def _may_be_spelled(bare: Column, declared: Declared) -> bool:
    """Whether a column holds text that may be numbers or dates in some dress."""
    return (
        isinstance(bare, Labels)
        and bare.origin == "text"
        and bool(bare.levels)
        and declared.kinds.get(bare.name) != "discrete"
        and all(issubclass(kind, str) for kind in set(map(type, bare.levels)))
    )


def _of_moments(
    moments: Moments, declared: Declared, said: str = "", doubts: tuple[Diagnostic, ...] = ()
) -> Iterator[Bare]:
    """Yield dates as numbers, as their parts, or as text."""
    name, how = moments.name, declared.spelling or Spelling()
    known = [part for part in PARTS if f"{name} {part}" in declared.kinds]
    mode = "parts" if known and name not in declared.kinds else how.dates_of(name)
    if declared.kinds.get(name) == "discrete" or mode == "text":
        yield Bare(iso(moments), said)
    elif mode == "parts":
        for part in parts(moments):
            if not known or part.name in declared.kinds:
                yield Bare(part, said, doubts)
                said, doubts = "", ()
    else:
        yield Bare(measured(moments, declared.units.get(name)), said, doubts, moments.kind)


def without_marks(column: Column, marks: frozenset[str]) -> tuple[Labels | Numbers, str]:
    """Turn marked cells into holes, and untyped text into numbers if it is nothing else."""
    if isinstance(column, Moments):
        return measured(column), ""
    left, marked = _left(column, marks)
    return _plainly(left), marked


def _plainly(column: Labels | Numbers) -> Labels | Numbers:
    """Return untyped text as numbers, if it is nothing else."""
    if isinstance(column, Numbers) or not column.untyped or not column.levels:
        return column
    numbers = parse_numbers(list(map(str, column.levels)))
    return column if numbers is None else Numbers(column.name, np.append(numbers, np.nan).take(column.codes))


def _left(column: Labels | Numbers, marks: frozenset[str]) -> tuple[Labels | Numbers, str]:
    """Return labels or numbers without those that are marks of holes, and which there were, in words."""
    if isinstance(column, Numbers):
        return _without_numbers(column, marks)
    found = not marks.isdisjoint(map(str, column.levels))
    gone = [level for level, label in enumerate(column.levels) if str(label) in marks] if found else []
    where = np.arange(len(column.levels)) - np.searchsorted(gone, np.arange(len(column.levels)))
    where[gone] = HOLE
    levels = np.delete(np.array(column.levels, dtype=object), gone) if gone else column.levels
    kept = replace(column, levels=tuple(levels), codes=recoded(column, where, len(levels)))
    return kept, holes_told([column.levels[level] for level in gone])


def _without_numbers(numbers: Numbers, marks: frozenset[str]) -> tuple[Numbers, str]:
    """Turn numbers into holes that a mark spells, as -9 does."""
    spelled_out = [value for mark in marks if not isinstance(value := value_of(mark), str)]
    found = np.isin(numbers.values, spelled_out) if spelled_out else np.zeros(1, dtype=np.bool_)
    if not found.any():
        return numbers, holes_told(numbers.marks)
    shown = [value_of(str(value)) for value in np.unique(numbers.values[found]).tolist()]
    return replace(numbers, values=np.where(found, np.nan, numbers.values)), holes_told(
        [*numbers.marks, *shown]
    )


def recoded(labels: Labels, where: NDArray[np.int64], size: int) -> NDArray[np.signedinteger]:
    """Return the codes moved to new positions, in the smallest type."""
    places = np.append(where, HOLE).astype(code_dtype([size]))
    if labels.codes.dtype == places.dtype and np.array_equal(where, np.arange(len(where))):
        return labels.codes
    return places.take(labels.codes)


def value_of(text: Any) -> Label:
    """Return the number a text stands for, else the text."""
    number = parse_number(str(text))
    if number is None or not isfinite(number):
        return text if isinstance(text, Label) else str(text)
    return int(number) if number.is_integer() else number
