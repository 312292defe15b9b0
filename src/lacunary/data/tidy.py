"""Text files as they come: what is no part of the table is found at both ends, and said.

`look` reads the first and the last lines alone, so that files in order cost next to nothing; a file that is
not in order, or is to be read otherwise, is written again by `lacunary.data.rewrite`.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from lacunary.data.blocks import has_numbers, second_table
from lacunary.data.bounded import Bounded
from lacunary.data.column import parse_number, parse_numbers
from lacunary.data.delimited import DELIMITERS, HEAD, delimiter_of, is_tabbed
from lacunary.data.wording import counted
from lacunary.errors import FileError, ParameterError

__all__ = [
    "BLANKS",
    "CONTROL",
    "ENDED",
    "FIXED",
    "NOTED",
    "SUMS",
    "WIDE",
    "Opening",
    "Tidied",
    "dialect",
    "fixed",
    "look",
    "split",
    "unpacked",
    "unwrapped",
]

ROWS = 60
"""Rows at the beginning that tell how many cells a row has."""

BLANKS, WIDE, FIXED = " ", "  ", "   "
"""What parts cells where blanks do: any number of them, at least two, or as many as columns need."""

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""What a file begins with that says its encoding; the longer ones first."""

OTHERS = {
    b"PK\x03\x04": "a spreadsheet (.xlsx, .ods) or an archive (.zip)",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (.xls)",
    b"PAR1": "Parquet (.parquet)",
    b"ARROW1": "Arrow (.feather, .arrow)",
    b"SQLite format 3": "a database (.sqlite)",
    b"BZh": "compressed (.bz2)",
    b"\xfd7zXZ": "compressed (.xz)",
    b"$FL2": "SPSS (.sav)",
    b"<stata_dta>": "Stata (.dta)",
}
"""How files begin that are called text but are not."""

CONTROL = re.compile(rb"[\x01-\x08\x0e-\x19\x1b-\x1f\x7f]")
SUMS = re.compile(
    r"(?:grand |sub)?(?:total|sum|mean|average|summe|gesamt|somme|moyenne)s?\b.*", re.IGNORECASE
)
RULED = re.compile(r"^[ \t|+:]*-{3,}[ \t|+:-]*$", re.MULTILINE)
SPACED = re.compile(r'(?:^|[,;|\t])[ ]+"', re.MULTILINE)
ENDED = "an empty cell at the end of every row was left out"
RARE = "~^:!#&/*=\\"
"""Signs that hardly ever part cells."""

QUALTRICS = '{"ImportId"'
"""How each cell begins of a line that Qualtrics writes below its columns' names."""

NOTED = re.compile(r"\s|^[*†‡]|^(?:source|note|notes|quelle|legend|footnote|generated)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Opening:
    """How a source that needs more than its path is opened; see `lacunary.read`."""

    sheet: str | None = None
    query: str | None = None
    encoding: str | None = None
    comment: str | None = None
    header: bool | int = True
    names: Sequence[str] | None = None
    delimiter: str | None = None
    quote: str = '"'
    escape: str | None = None
    skip: int = 0
    skip_end: int = 0
    ragged: bool = False

    def __post_init__(self) -> None:
        for name in ("skip", "skip_end", "header"):
            if getattr(self, name) < 0:
                raise ParameterError(f"{name} must not be negative, but is {getattr(self, name)}")
        for name in ("delimiter", "quote", "escape"):
            if len(getattr(self, name) or "") > 1:
                raise ParameterError(f"{name} must be one sign, not {getattr(self, name)!r}")
        if isinstance(self.names, str):
            raise ParameterError("names must be a list of names, one a column")

    @property
    def plain(self) -> bool:
        """Whether a text file is read as it is found."""
        return replace(self, sheet=None, query=None) == Opening()


@dataclass(frozen=True)
class Tidied:
    """What was found at the ends of a text file.

    Attributes
    ----------
    encoding, delimiter
        In which it is written, and what parts its cells.
    above, below
        Lines above the header and rows below the last one that are no part of the table.
    wrapped, comment
        Whether every line stands in quotes; what lines begin with that are left out.
    edges, heads
        Where columns of fixed width begin, and their names.
    unnamed, empty, described
        Whether the header lacks the first column's name, as row names do; columns that hold nothing, not even
        a name; lines below the header that describe columns.
    said, notes
        What is done about it, a sentence each, and what is doubtful.
    """

    encoding: str = "utf-8-sig"
    delimiter: str = ","
    above: int = 0
    below: int = 0
    unnamed: bool = False
    wrapped: bool = False
    comment: str | None = None
    edges: tuple[int, ...] = ()
    heads: tuple[str, ...] = ()
    empty: tuple[int, ...] = ()
    described: int = 0
    said: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.said or self.empty)


# Looking


def look(path: Path, how: Opening) -> Tidied:
    """Return what is to be done about a text file, gzipped or not."""
    with unpacked(path) as file:
        head = file.read(HEAD)
    _refuse_others(path, head)
    encoding, said = _encoding(path, head, how)
    try:
        text = head.decode(encoding, "replace")
    except LookupError:
        raise ParameterError(
            f"there is no encoding {encoding!r}; try 'latin-1', 'cp1252' or 'utf-16'"
        ) from None
    if "\0" in text:
        text = text.replace("\0", "")
        said = (*said, "zero bytes in the text were left out")
    lines = text.splitlines(keepends=True)
    lines = lines[:-1] if len(head) == HEAD else lines  # the last one is cut
    above, sign = how.skip, how.delimiter
    if above < len(lines) and (told := re.fullmatch(r'"?sep=(.)"?\s*', lines[above])):
        above, sign = above + 1, sign or told[1]
        said = (*said, f"cells are parted by {sign!r}, as the line above the header says")
    lines = [line for line in lines[above:] if not (how.comment and line.lstrip().startswith(how.comment))]
    if SPACED.search(text) and how.quote:
        said = (*said, "blanks before quotes left out")
    found = Tidied(encoding, sign or "", above, how.skip_end, said=said)
    if how.comment is None and lines and not how.skip:
        found = _framed(path, lines, found, how)
    if not found.delimiter:
        found = replace(found, delimiter=delimiter_of(path, "".join(lines)))
    if found.delimiter not in (BLANKS, WIDE, FIXED):
        whole = len(head) < HEAD and not found.wrapped
        doubts = (_strange(lines, found.delimiter, how), _again(lines, found, how) if whole else "")
        found = replace(found, notes=(*found.notes, *filter(None, doubts)))
    return _ended(path, found, how) if found.encoding in ("utf-8-sig", "cp1252") else found


def _strange(lines: Sequence[str], sign: str, how: Opening) -> str:
    """Return that a rare sign may part the cells, where there is one column and every line has it alike."""
    told = list(islice(filter(str.strip, lines), ROWS))
    if how.delimiter or len(told) < 3 or set(_widths(told, sign, how)) != {1}:
        return ""
    for rare in RARE:
        many = Counter(line.count(rare) for line in told)
        usual, lines_with = max(
            ((n, k) for n, k in many.items() if n), key=lambda each: each[1], default=(0, 0)
        )
        if usual and lines_with + many[0] == len(told) and 3 * lines_with >= 2 * len(told):
            which = "every line has" if not many[0] else "most lines have"
            return f"there is one column, but {which} {rare!r}; delimiter={rare!r} parts cells there"
    return ""


def _again(lines: Sequence[str], found: Tidied, how: Opening) -> str:
    """Return that a second table seems to follow after a blank line, if one does; `lines` are all."""
    cells: list[list[str]] = [[] for _ in range(found.above + len(lines))]
    skipped = found.above if how.skip else 0
    for line, row in _parsed(lines, found.delimiter, how):
        cells[skipped + line - 1] = row
    return second_table(cells, found.above, len(cells) if how.skip else len(lines))


def _refuse_others(path: Path, head: bytes) -> None:
    """Refuse a file that is something else than delimited text, and say what it is called then."""
    start = head.lstrip()[:300].lower()
    for mark, what in OTHERS.items():
        if head.startswith(mark):
            raise FileError(f"{path} is not delimited text but {what}; give it that suffix")
    if start.startswith((b"<!doctype", b"<html", b"<table", b"<?xml")):
        raise FileError(
            f"{path} is a page (HTML or XML); open it in a spreadsheet and save it as .csv or .xlsx"
        )
    if (drawn := RULED.search(head[:4096].decode("latin-1"))) and {*"|+"} & {*drawn[0]}:
        raise FileError(
            f"{path} is a table drawn with lines, as Markdown, psql and MySQL print it; save it as .csv "
            "(psql --csv, mysql --batch)"
        )
    if start.startswith(b"@relation"):
        raise FileError(f"{path} is ARFF, as Weka writes it; save it as .csv there")
    if start.startswith((b"[{", b'{"')) or (start.startswith(b"[") and b"{" in start[:20]):
        raise FileError(f"{path} looks like JSON; give it the suffix .json, or .ndjson with a record a line")


def _encoding(path: Path, head: bytes, how: Opening) -> tuple[str, tuple[str, ...]]:
    if how.encoding is not None:
        return how.encoding, (f"text read in the encoding {how.encoding}",)
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return name, () if name == "utf-8-sig" else (f"text read in the encoding {name}",)
    zeros = [head[k::2].count(0) for k in (0, 1)]
    for name, some, few in (("utf-16-le", zeros[1], zeros[0]), ("utf-16-be", zeros[0], zeros[1])):
        if some > 0.3 * len(head) / 2 and few < 0.05 * len(head) / 2:
            return name, (f"text read in the encoding {name}",)
    if sum(zeros) and (CONTROL.search(head) or sum(zeros) > 0.02 * len(head) + 2):
        raise FileError(f"{path} is not a text file: it holds zero bytes")
    return "utf-8-sig", ()


def _framed(path: Path, lines: list[str], found: Tidied, how: Opening) -> Tidied:
    """Find lines above the header, a header that lacks a name, and cells that are parted by blanks."""
    sign = first_choice = found.delimiter or ("\t" if is_tabbed(path) else "")
    sure = bool(sign)
    if not sure:
        widths = {mark: _widths(lines, mark, how) for mark in DELIMITERS}
        first = {mark: counts[0] if counts else 0 for mark, counts in widths.items()}
        sign = first_choice = max(DELIMITERS, key=lambda mark: first[mark])
        if len(set(widths[sign])) > 1 or first[sign] < 2:  # else the header's choice parts all rows alike
            steady = [m for m in DELIMITERS if _usual(widths[m]) > 1]
            sign = max(
                steady, key=lambda m: (Counter(widths[m])[_usual(widths[m])], _usual(widths[m])), default=sign
            )
            if not steady and (below := _below(lines, found, how)):
                return below
            if not steady and (blanks := _by_blanks(lines)):
                what = "cells are parted by blanks" + (", two at least" if blanks == WIDE else "")
                return replace(found, delimiter=blanks, said=(*found.said, what))
            edges, heads = ((), ()) if steady else _columns(lines)
            if edges:
                places = ", ".join(str(edge + 1) for edge in edges)
                what = f"columns of fixed width, which begin at the letters {places} of a line"
                return replace(found, delimiter=FIXED, edges=edges, heads=heads, said=(*found.said, what))
            if _is_wrapped(lines, how):
                found = replace(found, wrapped=True, said=(*found.said, "every line stood in quotes"))
                return _framed(path, [unwrapped(line) for line in lines], found, how)
    rows = list(islice(_parsed(lines, sign, how), ROWS))
    usual = _usual([len(row) for _, row in rows])
    named = next((k for k, (_, row) in enumerate(rows) if len(row) == usual), 0)
    found = replace(found, delimiter=sign)
    if not sure and sign != first_choice:
        found = replace(
            found, said=(*found.said, f"cells are parted by {sign!r}, which parts most rows alike")
        )
    if len(rows) > 3 and how.header is True and all(cell.startswith(QUALTRICS) for cell in rows[2][1]):
        what = "2 lines below the header left out, which describe the columns as Qualtrics does"
        found = replace(found, described=2, said=(*found.said, what))
    if usual < 2 or not rows or len(rows[0][1]) >= usual:
        return _without_nothing(rows, found, how)
    if named == 1 and len(rows[0][1]) == usual - 1 > 1 and has_numbers(rows[1][1]):
        return _short_header(rows, found)
    if all(parse_number(cell.strip()) is not None for cell in rows[named][1] if cell.strip()):
        return found  # no line of names: decimal commas between commas, perhaps
    above = rows[named][0] - 1
    cells = [cell for _, row in rows[:named] for cell in row if cell.strip()]
    names = rows[named][1][0].startswith("#") and has_numbers(rows[named + 1][1])  # as genome files have it
    if cells and cells[0].lstrip().startswith("#") and not names:
        what = "lines that begin with # left out"
        return replace(found, comment="#", said=(*found.said, what))
    what = f"{counted(above, 'line')} above the header left out: {cells[0].strip()[:60]!r}" if cells else ""
    found = replace(found, above=found.above + above, said=(*found.said, what)) if what else found
    return _without_nothing(rows[named:], found, how)


def _below(lines: Sequence[str], found: Tidied, how: Opening) -> Tidied | None:
    """Find a table below a long preamble: the last rows, parted alike into more cells than any above."""
    for sign in DELIMITERS:
        rows = list(_parsed(lines, sign, how))
        wide = len(rows[-1][1]) if rows else 0
        run = next((k for k, (_, row) in enumerate(reversed(rows)) if len(row) != wide), len(rows))
        top = len(rows) - run
        if (
            wide > 1
            and run > 3
            and top
            and len(rows[0][1]) == 1
            and all(len(row) < wide for _, row in rows[:top])
        ):
            first = next(cell for cell in rows[0][1] if cell.strip())
            above = rows[top][0] - 1
            what = f"{counted(above, 'line')} above the header left out: {first.strip()[:60]!r}"
            found = replace(found, delimiter=sign, above=found.above + above, said=(*found.said, what))
            return _without_nothing(rows[top:], found, how)
    return None


def _without_nothing(rows: Sequence[tuple[int, list[str]]], found: Tidied, how: Opening) -> Tidied:
    """Find columns without a name and without a value."""
    if how.header is not True or how.names is not None:
        return found
    header = rows[0][1] if rows else []
    nameless = [k for k, cell in enumerate(header) if not cell.strip()]
    empty = tuple(
        k
        for k in nameless
        if len(rows) > 1 and not any(row[k].strip() for _, row in rows[1:] if len(row) > k)
    )
    return replace(found, empty=empty)


def _short_header(rows: Sequence[tuple[int, list[str]]], found: Tidied) -> Tidied:
    """Say what a header means that has one name less than the rows have cells."""
    if not any(row[-1].strip() for _, row in rows[1:]):
        return replace(found, said=(*found.said, ENDED))
    what = "the header does not name the first column, which is called 'row'"
    return replace(found, unnamed=True, said=(*found.said, what))


def _usual(widths: Sequence[int]) -> int:
    """Return how many cells most rows have, if that is more than half of them and several; else 0."""
    [(width, many)] = Counter(widths).most_common(1) or [(0, 0)]
    return width if many >= 2 and 2 * many > len(widths) else 0


def _widths(lines: Sequence[str], sign: str, how: Opening) -> list[int]:
    return [len(row) for _, row in islice(_parsed(lines, sign, how), ROWS)]


def _parsed(lines: Sequence[str], sign: str, how: Opening) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not blank, each with the line it begins in; end where they cannot be parsed."""
    reader = csv.reader(lines, **dialect(sign, how, strict=False))
    begin = 1
    try:
        for row in reader:
            if any(map(str.strip, row)):
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error:
        return


def dialect(sign: str, how: Opening, strict: bool = True) -> dict[str, Any]:
    """Return how `csv` is to take signs apart."""
    told: dict[str, Any] = {"delimiter": sign, "strict": strict, "escapechar": how.escape}
    told["skipinitialspace"] = True
    if how.quote:
        return told | {"quotechar": how.quote, "doublequote": how.escape is None}
    return told | {"quoting": csv.QUOTE_NONE}


def _by_blanks(lines: Sequence[str]) -> str:
    """Return by how many blanks all lines are parted alike, one column of them numbers; else nothing."""
    for sign in (BLANKS, WIDE):
        rows = [split(line, sign) for line in islice(filter(str.strip, lines), ROWS)]
        if len(rows) > 2 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            columns = zip(*rows[1:], strict=True)
            if any(parse_numbers(column) is not None for column in columns):
                return sign
    return ""


def split(line: str, sign: str) -> list[str]:
    """Return the cells of a line that blanks part."""
    return line.split() if sign == BLANKS else re.split(r"\s{2,}", line.strip())


def _columns(lines: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return where columns begin that the same blanks part in all rows, and their names.

    One of them must hold numbers, and each have a name above it, which may stand a little aside.
    """
    header, *told = [line.rstrip().expandtabs() for line in lines if line.strip()] or [""]
    long = max(map(len, told), default=0)
    taken = [any(line[k : k + 1].strip() for line in told) for k in range(long)]
    edges = tuple(k for k in range(long) if taken[k] and not (k and taken[k - 1]))
    ends = [next((k for k in range(edge, long) if not taken[k]), long) for edge in edges]
    words = list(re.finditer(r"\S+(?: \S+)*", header))
    over = [
        [word[0] for word in words if word.start() < end and word.end() > edge]
        for edge, end in zip(edges, ends, strict=True)
    ]
    if len(told) < 2 or len(edges) < 2 or len(words) != len(edges) or any(len(names) != 1 for names in over):
        return (), ()
    columns = zip(*(fixed(line, edges) or () for line in told), strict=True)
    counted = any(parse_numbers([cell or "nan" for cell in column]) is not None for column in columns)
    return (edges, tuple(names[0] for names in over)) if counted else ((), ())


def fixed(line: str, edges: Sequence[int]) -> list[str] | None:
    """Return the cells of a line whose columns begin at these places; None if a word stands across one."""
    text = line.rstrip().expandtabs()
    if any(text[edge - 1 : edge].strip() and text[edge : edge + 1].strip() for edge in edges if edge):
        return None
    return [text[first:last].strip() for first, last in zip(edges, (*edges[1:], None), strict=True)]


def _is_wrapped(lines: Sequence[str], how: Opening) -> bool:
    """Whether every line stands in quotes as a whole, and holds several cells."""
    told = list(islice(filter(None, map(str.strip, lines)), ROWS))
    if how.quote != '"' or not all(len(line) > 2 and line[0] == line[-1] == '"' for line in told):
        return False
    whole = set(_widths(told, ",", how)) == {1}
    inner = [unwrapped(line) for line in told]
    return whole and len(told) > 1 and any(_usual(_widths(inner, mark, how)) > 1 for mark in DELIMITERS)


def unwrapped(line: str) -> str:
    """Return what a line holds that stands in quotes as a whole."""
    bare = line.strip()
    return bare[1:-1].replace('""', '"') + "\n" if len(bare) > 1 and bare[0] == bare[-1] == '"' else line


def _ended(path: Path, found: Tidied, how: Opening) -> Tidied:
    """Find footnotes below the last row, and a last row of sums."""
    if (
        found.delimiter in (BLANKS, WIDE, FIXED)
        or found.wrapped
        or how.skip_end
        or path.suffix.lower() == ".gz"
    ):
        return found
    with open(path, "rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - HEAD))
        tail = file.read()
    ended = tail.rstrip(b"\x1a")
    lines = ended.decode(found.encoding, "replace").splitlines(keepends=True)
    if len(ended) < len(tail) and ended.endswith(b"\n"):
        found = replace(found, said=(*found.said, "a sign for the end of the file (^Z) left out"))
    lines = lines[1:] if size > HEAD else lines[found.above :]
    comment = how.comment or found.comment
    lines = [line for line in lines if not (comment and line.lstrip().startswith(comment))]
    rows = list(_parsed(lines, found.delimiter, how))
    usual = _usual([len(row) for _, row in rows[-ROWS:]])
    below = 0
    while below < len(rows) - 2 and usual > 1 and _is_note(rows[-1 - below][1], usual):
        below += 1
    if below:
        words = next(cell for cell in rows[-below][1] if cell.strip())
        what = f"{counted(below, 'line')} below the last row left out: {words.strip()[:60]!r}"
        found = replace(found, below=below, said=(*found.said, what))
    last = rows[-1 - below][1] if len(rows) > below + 2 else []
    label = next((cell.strip() for cell in last if cell.strip()), "")
    if usual > 1 and SUMS.fullmatch(label) and has_numbers(last):
        what = f"the last row, {label!r}, may sum up the others; skip_end={below + 1} leaves it out"
        found = replace(found, notes=(*found.notes, what))
    return found


def _is_note(row: Sequence[str], usual: int) -> bool:
    cells = [cell.strip() for cell in row if cell.strip()]
    alone = len(cells) == 1 and (len(row) == 1 or row[0].strip() != "")
    few = len(row) < usual and bool(NOTED.search(cells[0]))
    return (
        (alone or few) and len(row) != usual and bool(NOTED.search(cells[0])) and not has_numbers(cells[:1])
    )


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file, unpacked if it is gzipped."""
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            plain: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            yield io.BufferedReader(Bounded(plain, path, raw if packed else None))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(f"{path} is broken gzip: {error}") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
