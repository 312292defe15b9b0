"""Tables in text files: CSV and TSV, also gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from lacunary.data.bounded import Bounded
from lacunary.data.column import Column, Labels, Levels, Numbers, Source, parse_number, parse_numbers
from lacunary.data.large import AS_TEXT, columns_of
from lacunary.data.many import Reads
from lacunary.data.quotes import Closed
from lacunary.data.wording import counted
from lacunary.errors import FileError, TableError

if TYPE_CHECKING:
    from _csv import Reader

__all__ = [
    "DELIMITERS",
    "HEAD",
    "QUOTES",
    "NotUtf8",
    "delimited",
    "delimiter_of",
    "header_of",
    "is_tabbed",
    "left_behind",
    "opened",
    "refused_row",
    "regular_rows",
    "strictly",
]

DELIMITERS = ",;\t|"
"""What may part the cells of a line; where two part the header into as many names, the first does."""

CELLS = 2**16
"""Cells that are held as text at a time."""

TEXTS = 2**16
"""Distinct texts of a column that are kept before it is tried as a column of numbers."""

ALL = 2**31
"""More texts than a column has rows: it is not tried as one of numbers."""

SWAPPED = str.maketrans(",.", ".,")
"""Decimal commas become points, and points, which then part thousands, make a text no number."""

PIECE = 2**18
"""Bytes that are read at a time."""

QUOTES = "quote='' takes quotes as they stand, escape='\\\\' is for quotes after a backslash"
"""What helps where quotes stand in odd places."""

PACKED = 2**14
"""Bytes of a gzipped file from which it is worth unpacking beforehand."""

BROKEN = (gzip.BadGzipFile, EOFError, zlib.error, FileError, OSError)
"""What can go wrong where a gzipped file is unpacked."""

HEAD = 2**16
"""Characters from which the delimiter is told."""


class NotUtf8(FileError):
    """A text file in another encoding."""


def delimited(
    path: Path,
    commas: bool = False,
    delimiter: str | None = None,
    points: bool = False,
    reads: Reads = AS_TEXT,
) -> Source:
    """Return the columns of a text file with a header line, encoded as UTF-8.

    Cells are stripped of blanks around them. Blank lines are skipped, except that in a file of one
    column a blank line is an empty cell. The delimiter is a tab in ``.tsv`` and ``.tab`` files,
    elsewhere the one of comma, semicolon, tab and vertical bar that splits the header into most names.
    ``commas`` says that numbers have a decimal comma, ``points`` that a point parts their thousands,
    ``reads`` what else may be read at once where texts are many.
    """
    with opened(path) as file:
        head = file.read(HEAD)
        sign = delimiter or delimiter_of(path, head)
        file.seek(0)
        header = header_of(path, strictly(Closed(file, sign), sign))
    said: list[str] = []

    def columns(wanted: Sequence[str], marks: Collection[str]) -> Iterator[Column]:
        quickly = None
        with suppress(*BROKEN), _unpacked(path) as plain:  # what is wrong is said by the slow reader
            quickly = columns_of(plain, header, wanted, marks, sign, points or commas, reads)
        return slowly(wanted, marks) if quickly is None else quickly

    def slowly(wanted: Sequence[str], marks: Collection[str]) -> Iterator[Column]:
        gathered = {name: _Gathered(name, marks, commas, points) for name in wanted}
        with opened(path) as file:
            lines = Closed(file, sign)
            reader = strictly(lines, sign)
            header_of(path, reader)
            for rows in _chunks(path, reader, header, said):
                for name, cells in zip(header, zip(*rows, strict=True), strict=True):
                    if name in gathered:
                        gathered[name].add(cells)
            said.extend(lines.said)
        for name in wanted:
            yield gathered.pop(name).column()

    return Source(header, columns, path=str(path), streamed=True, said=said)


class _Gathered:
    """The cells of one column so far: coded texts or, once the texts get too many, numbers."""

    def __init__(self, name: str, marks: Collection[str], commas: bool, points: bool) -> None:
        self.name, self.marks, self.commas = name, marks, commas
        self.levels = Levels()
        self.codes: list[NDArray[np.int32]] = []
        self.reals: list[NDArray[np.float64]] = []
        self.most = ALL if points else TEXTS

    def add(self, cells: Sequence[str]) -> None:
        """Take in further cells."""
        if self.reals:
            self.reals.append(self._numbers(cells))
            return
        self.codes.append(self.levels.code(cells))
        if len(self.levels) > self.most:
            self._become_numbers()

    def column(self) -> Column:
        """Return the column; texts that differ by surrounding blanks alone are one."""
        if self.reals:
            return Numbers(self.name, np.concatenate(self.reals))
        stripped = Levels()
        texts = [text.strip() for text in self.levels.distinct]
        where = stripped.code(texts)
        codes = np.concatenate(self.codes) if self.codes else np.empty(0, dtype=np.int32)
        return Labels(self.name, stripped.distinct, where[codes], untyped=True)

    def _become_numbers(self) -> None:
        """Keep values in place of texts, if all texts so far are numbers or marks of holes."""
        values = parse_numbers(self._unmarked(self.levels.distinct))
        if values is None:
            self.most = ALL  # text after all: do not ask again
            return
        self.reals = [values[np.concatenate(self.codes)]]
        self.levels, self.codes = Levels(), []

    def _numbers(self, cells: Sequence[str]) -> NDArray[np.float64]:
        values = None if self.commas else parse_numbers(cells)
        if values is None:
            texts = self._unmarked(cells)
            values = parse_numbers(texts)
        if values is None:
            place = next(i for i, text in enumerate(texts) if parse_number(text) is None)
            row = sum(map(len, self.reals)) + place + 1
            raise TableError(
                f"{self.name}, row {row}: {texts[place]!r} is not a number, but all cells before it are; "
                f"name it in holes=…, or leave the column out with drop=[{self.name!r}]"
            )
        return values

    def _unmarked(self, cells: Sequence[str]) -> list[str]:
        texts = ["nan" if text in self.marks else text for text in map(str.strip, cells)]
        return [text.translate(SWAPPED) for text in texts] if self.commas else texts


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """Give a file that is not gzipped: the file itself, or a copy that is gone afterwards."""
    if path.suffix.lower() != ".gz" or path.stat().st_size < PACKED:
        yield path
        return
    with TemporaryDirectory() as folder, open(path, "rb") as raw:
        plain: BinaryIO = gzip.GzipFile(fileobj=raw)  # type: ignore[assignment]
        target = Path(folder) / "plain.csv"
        with open(target, "wb") as out:
            shutil.copyfileobj(io.BufferedReader(Bounded(plain, path, raw), PIECE), out, PIECE)
        yield target


@contextmanager
def opened(path: Path) -> Iterator[io.TextIOWrapper]:
    """Open a text file, gzipped or not; whatever goes wrong while reading it is said by its name."""
    try:
        with open(path, "rb") as raw:
            start = raw.read(2)
            raw.seek(0)
            packed = path.suffix.lower() == ".gz"
            if packed != (start == b"\x1f\x8b"):
                raise FileError(
                    f"{path} is {'not gzipped, as its suffix says' if packed else 'gzipped; call it .gz'}"
                )
            plain: BinaryIO = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            bounded = io.BufferedReader(Bounded(plain, path, raw if packed else None), PIECE)
            with io.TextIOWrapper(bounded, encoding="utf-8-sig", newline="") as file:
                yield file
    except UnicodeDecodeError as error:
        raise NotUtf8(
            f"{path} is not UTF-8 text ({error.reason}); name its encoding, such as encoding='latin-1'"
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileError(f"{path} is broken gzip: {error}") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None


def delimiter_of(path: Path, head: str) -> str:
    """Return the delimiter of a file that begins so."""
    if "\0" in head:
        raise FileError(f"{path} is not a text file: it holds zero bytes")
    if is_tabbed(path):
        return "\t"

    def names(sign: str) -> int:
        return len(_first(csv.reader(io.StringIO(head), delimiter=sign, skipinitialspace=True)))

    return max(DELIMITERS, key=names)


def is_tabbed(path: Path) -> bool:
    """Tell whether the suffix of a file says that tabs part its cells."""
    return bool({".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes[-2:]})


def _first(reader: Reader) -> list[str]:
    """Return the first line that is not blank; nothing if there is none or it cannot be parsed."""
    try:
        return next((row for row in reader if any(map(str.strip, row))), [])
    except csv.Error:
        return []


def strictly(lines: Iterable[str], delimiter: str) -> Reader:
    """Return a reader of rows that refuses quotes in odd places; blanks before quotes are none."""
    return csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)


def header_of(path: Path, reader: Reader) -> tuple[str, ...]:
    """Return the names of the columns, which the first line that is not blank holds."""
    try:
        names = next((row for row in reader if row), None)
    except csv.Error as error:
        raise FileError(f"{path}, line {reader.line_num}: {error}") from None
    if names is None:
        raise FileError(f"{path} is empty; the first line must name the columns")
    return tuple(map(str.strip, names))


def _chunks(
    path: Path, reader: Reader, header: tuple[str, ...], said: list[str]
) -> Iterator[list[list[str]]]:
    """Yield rows some at a time, all of one width; leave out, and say, the header where it comes again."""
    width, again, long, names = len(header), 0, 0, list(header)
    marked = ["\ufeff" + names[0], *names[1:]]  # of a file that was put behind another
    while True:
        line = reader.line_num
        try:
            rows = list(islice(reader, max(1, CELLS // width)))
        except csv.Error as error:
            raise FileError(f"{path}, line {reader.line_num}: {error}; {QUOTES}") from None
        if not rows:
            said += [f"the header comes again in {counted(again, 'line')}, left out"] if again else []
            said += [left_behind(long)] if long else []
            return
        if set(map(len, rows)) != {width}:
            long += sum(len(row) > width for row in rows)
            rows = list(regular_rows(path, rows, width, line))
        if width > 1 and (names in rows or marked in rows):
            left = [row for row in rows if row not in (names, marked)]
            again, rows = again + len(rows) - len(left), left
        if rows:
            yield rows


def left_behind(rows: int) -> str:
    """Say that rows had cells behind the last column, which were empty."""
    return f"empty cells behind the last column left out, in {counted(rows, 'row')}"


def refused_row(path: Path, line: int, cells: int, width: int) -> FileError:
    """Return that a row has too few or too many cells, and what helps."""
    helps = (
        "ragged=True lets short rows end in holes"
        if cells < width
        else "put cells that hold the delimiter in quotes, or name it with delimiter=…"
    )
    where = f"{path}, line {line}: {counted(cells, 'cell')}, but the header names {counted(width, 'column')}"
    return FileError(f"{where}; {helps}; skip=… and skip_end=… leave out lines that are no rows")


def regular_rows(path: Path, rows: Iterable[list[str]], width: int, line: int) -> Iterator[list[str]]:
    """Yield rows without blank lines, after so many lines; refuse those with too few or too many cells."""
    for row in rows:
        line += 1
        if len(row) == width:
            yield row
        elif width == 1 and not row:
            yield [""]
        elif len(row) > width and any(map(str.strip, row)) and not any(map(str.strip, row[width:])):
            yield row[:width]
        elif any(map(str.strip, row)) or len(row) > 1:
            raise refused_row(path, line, len(row), width)
        line += sum(cell.count("\n") for cell in row)
