"""Text files written again: in UTF-8, with commas between cells, without what is no part of the table."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from lacunary.data.beheaded import beheaded
from lacunary.data.delimited import QUOTES, NotUtf8, left_behind, refused_row
from lacunary.data.quotes import Closed
from lacunary.data.tidy import (
    BLANKS,
    ENDED,
    FIXED,
    WIDE,
    Opening,
    Tidied,
    dialect,
    fixed,
    split,
    unpacked,
    unwrapped,
)
from lacunary.data.wording import counted
from lacunary.errors import FileError

__all__ = ["copied", "joined", "rewrite"]


@dataclass
class _Counts:
    """What was left out while rows were written."""

    comments: int = 0
    headers: int = 0
    short: int = 0
    empty: int = 0
    long: int = 0
    closed: tuple[str, ...] = ()


def copied(path: Path, target: Path, found: Tidied, how: Opening, name: Path) -> tuple[tuple[str, ...], str]:
    """Write a text file again in UTF-8; return what was done beyond ``found``, and what parts cells now."""
    if (comments := beheaded(path, target, found, how)) is not None:
        return tuple(_told(_Counts(comments), how, found)), found.delimiter
    return rewrite(path, target, found, how, name), ","


def rewrite(path: Path, target: Path, found: Tidied, how: Opening, name: Path) -> tuple[str, ...]:
    """Write a text file again in UTF-8 with commas between cells; return what was done beyond ``found``."""
    counts = _Counts()
    try:
        with unpacked(path) as raw, open(target, "w", encoding="utf-8", newline="") as out:
            text = io.TextIOWrapper(raw, encoding=found.encoding, newline="")
            writer = csv.writer(out, lineterminator="\n")
            for row in _rows(text, found, how, name, counts):
                writer.writerow(row)
    except (UnicodeDecodeError, UnicodeError) as problem:
        told = NotUtf8 if found.encoding == "utf-8-sig" and how.encoding is None else FileError
        raise told(
            f"{name} is not text in {found.encoding} ({problem}); name its encoding, such as "
            "encoding='latin-1'"
        ) from None
    except FileError as problem:
        raise FileError("; ".join((str(problem), *found.notes))) from None
    return tuple(_told(counts, how, found))


def _told(counts: _Counts, how: Opening, found: Tidied) -> Iterator[str]:
    if how.comment:
        yield f"{counted(counts.comments, 'comment line')}, beginning with {how.comment}, left out"
    if how.skip:
        yield f"{counted(how.skip, 'line')} at the beginning left out, as asked"
    if how.skip_end:
        yield f"{counted(how.skip_end, 'row')} at the end left out, as asked"
    if not how.header and how.names is None:
        yield "there is no header; columns are called x1, x2, …"
    if counts.headers:
        yield f"the header comes again in {counted(counts.headers, 'line')}, left out"
    if counts.short:
        yield f"{counted(counts.short, 'row')} with too few cells ended in holes"
    if counts.empty:
        yield f"{counted(counts.empty, 'column')} without a name or a value left out"
    if counts.long and ENDED not in found.said:
        yield left_behind(counts.long)
    yield from counts.closed


def _rows(text: Any, found: Tidied, how: Opening, name: Path, counts: _Counts) -> Iterator[list[str]]:
    """Yield the header and all rows, each as long as the header, without columns that hold nothing."""
    records = _records(text, found, how, name, counts)
    names, last, first = _header(records, found, how, name)
    kept = [k for k in range(len(names)) if k not in found.empty]
    counts.empty = len(names) - len(kept)
    yield [names[k] for k in kept]
    marked = ["\ufeff" + last[0], *last[1:]] if last else []  # of a file that was put behind another
    waiting: deque[tuple[int, list[str]]] = deque()  # the last rows are no rows, and need not be as long
    for line, row in islice(chain(first, records), found.described, None):
        if row and row in (last, marked):
            counts.headers += 1
            continue
        if not any(map(str.strip, row)) and len(row) < 2:
            if len(names) > 1:
                continue
            row = [""]
        waiting.append((line, row))
        if len(waiting) > found.below:
            line, row = waiting.popleft()
            cells = _fitted(row, len(names), line, how, name, counts)
            if any(cells[k].strip() for k in found.empty):
                raise FileError(f"{name}, line {line}: a value in a column without a name; give names=[…]")
            yield [cells[k] for k in kept]


def _records(
    text: Any, found: Tidied, how: Opening, name: Path, counts: _Counts
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of every record with the line it begins in."""
    comment = how.comment or found.comment

    def lines() -> Iterator[str]:
        for number, line in enumerate(text):
            if number < found.above:
                yield "\n"
            elif comment and line.lstrip().startswith(comment):
                counts.comments += 1
                yield "\n"
            else:
                plain = "" if line.strip() == "\x1a" else line.replace("\0", "")
                yield unwrapped(plain) if found.wrapped else plain

    if found.delimiter in (BLANKS, WIDE):
        yield from ((k + 1, split(line, found.delimiter)) for k, line in enumerate(lines()))
        return
    if found.delimiter == FIXED:
        yield from _fixed(lines(), found, name)
        return
    closed = Closed(lines(), found.delimiter, how.quote, how.escape)
    reader = csv.reader(closed, **dialect(found.delimiter, how))
    begin = 1
    try:
        for row in reader:
            yield begin, row
            begin = reader.line_num + 1
        counts.closed = closed.said
    except csv.Error as error:
        raise FileError(f"{name}, line {reader.line_num}: {error}; {QUOTES}") from None


def _fixed(lines: Iterator[str], found: Tidied, name: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of lines whose columns have fixed widths; the first has their names."""
    names: list[str] | None = list(found.heads)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = names or fixed(line, found.edges)
        if cells is None:
            raise FileError(
                f"{name}, line {number}: a word stands across two columns of fixed width; part columns by a "
                "sign in the source, and name it with delimiter=…"
            )
        names = None
        yield number, cells


def _header(
    records: Iterator[tuple[int, list[str]]], found: Tidied, how: Opening, name: Path
) -> tuple[list[str], list[str], list[tuple[int, list[str]]]]:
    """Return the names of the columns, the last header line, and the row that was read on the way, if any."""
    seen = ((line, row) for line, row in records if any(map(str.strip, row)))
    lines = list(islice(seen, int(how.header) or 1))
    if not lines:
        raise FileError(f"{name} is empty; the first line must name the columns")
    if how.header:
        names, last, first = joined([row for _, row in lines]), lines[-1][1], []
    else:
        names, last, first = [f"x{k + 1}" for k in range(len(lines[0][1]))], [], lines
    if found.unnamed:
        names = ["row", *names]
    return (names if how.names is None else list(how.names)), last, first


def joined(lines: Sequence[list[str]]) -> list[str]:
    """Return the names that several header lines give together."""
    width = max(map(len, lines))
    names = [""] * width
    for place, line in enumerate(lines):
        last, cells = "", [*line, *[""] * (width - len(line))]
        for k, cell in enumerate(map(str.strip, cells)):
            last = cell or (last if place < len(lines) - 1 else "")  # a merged cell stands for those after it
            names[k] = f"{names[k]} {last}".strip()
    return names


def _fitted(row: list[str], width: int, line: int, how: Opening, name: Path, counts: _Counts) -> list[str]:
    if len(row) == width:
        return row
    if len(row) > width and not any(map(str.strip, row[width:])):
        counts.long += 1
        return row[:width]
    if len(row) < width and how.ragged:
        counts.short += 1
        return [*row, *[""] * (width - len(row))]
    raise refused_row(name, line, len(row), width)
