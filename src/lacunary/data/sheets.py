"""Sheets of spreadsheets as people make them: titles, several header lines, blank rows, notes below."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from lacunary.data.apart import reading
from lacunary.data.assemble import unnamed
from lacunary.data.blocks import second_table
from lacunary.data.rewrite import joined
from lacunary.data.tidy import CONTROL, NOTED, SUMS, Opening
from lacunary.data.wording import counted, listed
from lacunary.errors import FileError, ParameterError

__all__ = ["read_sheet"]

TITLES = 40
"""Rows at the top of a sheet among which its line of names is looked for."""

LONG_AGO = {date(1899, 12, 30), date(1899, 12, 31), date(1904, 1, 1)}
"""The days of times of day that have none."""

ERRORS = {
    "Div0": "#DIV/0!",
    "NA": "#N/A",
    "Name": "#NAME?",
    "Null": "#NULL!",
    "Num": "#NUM!",
    "Ref": "#REF!",
    "Value": "#VALUE!",
}
"""What cells show whose formulas have no value, by the reader's names."""

Cells = Sequence[Sequence[str | None]]


def read_sheet(path: Path, how: Opening, fastexcel: Any) -> tuple[Any, str, tuple[str, ...]]:
    """Return a sheet as a frame of polars, what was done, and what is doubtful."""
    _check_kind(path)
    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it would tell of every column without values
    with reading(path, "a spreadsheet"):
        reader = fastexcel.read_excel(str(path))
        names = list(reader.sheet_names)
        if how.sheet is not None and how.sheet not in names:
            raise FileError(f"{path} has no sheet {how.sheet!r}; it has {', '.join(map(repr, names))}")
        chosen = how.sheet or next(filter(lambda name: _is_shown(reader, name), names), names[0])
        sheet = reader.load_sheet(chosen, header_row=None, skip_rows=0, dtypes="string")
        text, errors = sheet.to_polars(), _errors(sheet)
        cells = [list(row) for row in text.rows()]
        for (row, column), what in errors.items():
            cells[row][column] = what
        found = _Sheet(path, chosen, cells, how)
        frame = found.typed(reader, text)
        found.notes += found.failed(errors)
    others = [name for name in names if name != chosen]
    told = [f"others are {', '.join(others)}"] if others and how.sheet is None else []
    said = "; ".join([f"read from the sheet {chosen!r}", *told, *found.said])
    return frame, said, tuple(found.notes)


def _check_kind(path: Path) -> None:
    """Refuse a file that is no spreadsheet, and say what it is."""
    with open(path, "rb") as file:
        start = file.read(512)
    if not start or start.startswith((b"PK", b"\xd0\xcf", b"\x09")):
        return
    if start.lstrip()[:1] == b"<":
        what, helps = "a page (HTML or XML)", "open it in a spreadsheet and save it anew"
    elif not CONTROL.search(start) and b"\0" not in start and b"\n" in start:
        what, helps = "text", "call it .csv"
    else:
        return
    raise FileError(f"{path} is no spreadsheet, as its suffix says, but {what}; {helps}")


def _is_shown(reader: Any, name: str) -> bool:
    """Whether a sheet is not hidden, and holds something."""
    top = reader.load_sheet(name, header_row=None, n_rows=TITLES, dtypes="string")
    return bool(top.visible == "visible" and top.width > 0)


def _errors(sheet: Any) -> dict[tuple[int, int], str]:
    """Return what cells show that have an error in place of a value, by row and column."""
    found = sheet.to_arrow_with_errors()[1]
    told = (
        (error.position, re.search(r"Error\((\w+)\)", error.detail))
        for error in (found.errors if found else ())
    )
    return {place: ERRORS.get(what[1], what[1]) for place, what in told if what}


class _Sheet:
    """What is where in a sheet, by its cells as text.

    Attributes
    ----------
    first, rows
        The row at which the table's rows begin, and which of those from there on belong to it.
    names, kept
        The columns' names, and which columns those are.
    said, notes
        What was done, and what is doubtful, a sentence each.
    """

    def __init__(self, path: Path, name: str, cells: Cells, how: Opening) -> None:
        self.path, self.name, self.how = path, name, how
        self.said, self.notes = list[str](), list[str]()
        if not any(map(_any, cells[how.skip :])):
            raise FileError(f"{path}: the sheet {name!r} is empty; name another with sheet=…")
        lines = int(how.header)
        top = next(k for k, row in enumerate(cells) if k >= how.skip and _any(row))
        above = _below_titles(cells, top) if lines == 1 and not how.skip else top
        self.said += [f"{counted(above - top, 'row')} above the header left out"] if above > top else []
        self.first = above + lines
        self.rows = [k for k, row in enumerate(cells[self.first :]) if _any(row)]
        self._end(cells[self.first :])
        body = [cells[self.first + k] for k in self.rows]
        width = len(cells[0])
        heads = joined([[cell or "" for cell in row] for row in cells[above : self.first]]) if lines else []
        heads = heads or [f"x{k + 1}" for k in range(width)]
        self.kept = [k for k in range(width) if heads[k] or _any([row[k] for row in body])]
        if len(self.kept) < width:
            empty = counted(width - len(self.kept), "column")
            self.said.append(f"{empty} without a name or a value left out")
        self.names = self._named([heads[k] for k in self.kept])
        self.notes += self._beside(body)
        if again := second_table(cells, above, self.rows[-1] + self.first + 1 if self.rows else above):
            self.notes.append(again)

    def _beside(self, body: Cells) -> Iterator[str]:
        """Yield where an empty column parts columns of different lengths, as it does two tables."""
        ends = [max((r for r, row in enumerate(body) if _any([row[k]])), default=0) for k in self.kept]
        for k, (left, right) in enumerate(pairwise(self.kept), 1):
            if right > left + 1 and len(set(ends[:k])) == 1 and not set(ends[:k]) & set(ends[k:]):
                yield (
                    f"an empty column stands between {self.names[k - 1]!r} and {self.names[k]!r}: if these "
                    "are two tables, drop=[…] leaves out the columns of one"
                )

    def failed(self, errors: dict[tuple[int, int], str]) -> Iterator[str]:
        """Yield in which columns how many cells show an error in place of a value."""
        rows, names = {self.first + k for k in self.rows}, dict(zip(self.kept, self.names, strict=True))
        kinds: dict[str, Counter[str]] = {}
        for (row, column), what in errors.items():
            if row in rows and column in names:
                kinds.setdefault(names[column], Counter())[what] += 1
        if kinds:
            said = [f"{name} has {each.total()} ({', '.join(sorted(each))})" for name, each in kinds.items()]
            yield f"cells with an error in the sheet are holes: {', '.join(said)}"

    def _end(self, cells: Cells) -> None:
        """Leave rows at the end out that were asked to be, or that are notes; say what may be sums."""
        if self.how.skip_end:
            self.rows = self.rows[: -self.how.skip_end]
            self.said.append(f"{counted(self.how.skip_end, 'row')} at the end left out, as asked")
            return
        below = 0
        while below < len(self.rows) - 2 and _is_note(cells[self.rows[-1 - below]]):
            below += 1
        if below:
            words = cells[self.rows[-below]][0]
            self.said.append(f"{counted(below, 'row')} below the last one left out: {str(words)[:60]!r}")
            self.rows = self.rows[:-below]
        last = next((cell for cell in cells[self.rows[-1]] if cell), "") if len(self.rows) > 2 else ""
        if SUMS.fullmatch(str(last).strip()):
            self.notes.append(
                f"the last row, {last!r}, may sum up the others; skip_end={below + 1} leaves it out"
            )

    def _named(self, heads: Sequence[str]) -> list[str]:
        names = list(heads) if self.how.names is None else list(self.how.names)
        if len(names) != len(heads):
            raise ParameterError(f"names=… has {len(names)} names, but there are {len(heads)} columns")
        for k, name in enumerate(names):
            if name in names[:k]:
                raise unnamed(name, k)
        return names

    def typed(self, reader: Any, text: Any) -> Any:
        """Return the rows as they are typed in the sheet, given its cells as text; say what became a hole."""
        import polars as pl

        try:
            whole = reader.load_sheet(self.name, header_row=None, skip_rows=self.first).to_polars()
        except Exception:  # cells of one column whose types have nothing in common
            whole = text.slice(self.first)
            self.said.append("cells of different types in one column, so that all were read as text")
        lost: dict[str, None] = {}
        columns = []
        for k, name in zip(self.kept, self.names, strict=True):
            series, words = whole.to_series(k)[self.rows], text.to_series(k)[self.first :][self.rows]
            lost |= dict.fromkeys(words.filter(series.is_null() & (words.fill_null("") != "")).to_list())
            columns.append(_clock(series, pl).alias(name))
        self.said += [f"{listed(lost, 6)} read as holes"] if lost else []
        return pl.DataFrame(columns)


def _clock(series: Any, pl: Any) -> Any:
    """Return times of day as such: a spreadsheet has them as times of a day long ago."""
    if series.dtype != pl.Datetime or set(series.drop_nulls().dt.date().to_list()) - LONG_AGO:
        return series
    return series.dt.time()


def _any(cells: Sequence[str | None]) -> bool:
    return any(cell and cell.strip() for cell in cells)


def _below_titles(cells: Cells, top: int) -> int:
    """Return the row of names: the first, or where it has few, as a title has, the first that is whole."""
    names = sum(bool(cell) for cell in cells[top])
    if 2 * names > len(cells[top]) or len(cells[top]) < 2:
        return top
    whole = (k for k, row in enumerate(cells[:TITLES]) if k >= top and all(row))
    return next(whole, top)


def _is_note(row: Sequence[str | None]) -> bool:
    """Whether a row is a sentence in its first cell."""
    words = row[0] or ""
    return len(row) > 1 and not _any(row[1:]) and bool(NOTED.search(words)) and len(words) > 1
