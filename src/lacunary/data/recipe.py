"""Recipes of parts: which rows of which files a part is; small enough to be sent, and made again anywhere.

A file is looked through once for its length (and, if it is text, for where its rows begin). Parts are runs of
so many rows, counted through all files in their order: where a file ends and the next begins does not matter.
"""

from __future__ import annotations

import csv
import glob
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

import numpy as np

from lacunary.data.assemble import unnamed
from lacunary.data.batches import check_batches
from lacunary.data.delimited import regular_rows, strictly
from lacunary.data.hush import hushed
from lacunary.data.large import is_plain
from lacunary.data.pages import check_pages
from lacunary.data.parted import BLOCK
from lacunary.data.plainly import is_delimited, plain_path, plainly
from lacunary.data.quotes import Closed
from lacunary.data.remote import here, is_remote, remote_stamp
from lacunary.data.tidy import Opening
from lacunary.data.wording import counted
from lacunary.errors import FileError, SchemaError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["KINDS", "File", "Segment", "look_through", "parts_of", "raw", "runs_of"]

CELLS, MOST = 2**25, 2**18
"""A part has at most so many cells, and so many rows."""

STRIDE = 2**12
"""It is noted where every so many-th row of a text file begins."""

KINDS: dict[str, Literal["parquet", "ipc", "text"]] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "ipc",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
}


@dataclass(frozen=True)
class File:
    """A file of rows, looked through.

    Attributes
    ----------
    path, kind, rows
        Where it lies, what it is, and how many rows it has.
    stamp
        Its size, and when it was last changed: it must not change while it is learned from.
    names
        The columns in it.
    keys
        Columns that the names of its folders give, as ``year=2024`` does, and their values.
    holds
        What each column holds, in a word; of text files nothing is said.
    delimiter, starts, opening
        Of text: what parts cells, the bytes at which every `STRIDE`-th row begins (the end is the last), and
        how it is written again, if it is not in order.
    said, notes
        Of text: what was done to it, and what is doubtful about it, a sentence each.
    """

    path: str
    kind: Literal["parquet", "ipc", "text"]
    rows: int
    stamp: tuple[int, int]
    names: tuple[str, ...]
    keys: tuple[tuple[str, str], ...] = ()
    delimiter: str = ","
    starts: tuple[int, ...] = ()
    holds: tuple[str, ...] = ()
    opening: Opening | None = None
    said: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, those of its folders last."""
        return (*self.names, *(key for key, _ in self.keys))

    def segment(self, first: int, rows: int) -> Segment:
        """Return some rows of the file."""
        here = replace(self, starts=(), said=(), notes=())
        if self.kind != "text":
            return Segment(here, first, rows)
        block = first // STRIDE
        last = -(-(first + rows) // STRIDE)
        begin, end = self.starts[block], self.starts[min(last, len(self.starts) - 1)]
        return Segment(here, first, rows, begin, end, first - block * STRIDE)


@dataclass(frozen=True)
class Segment:
    """Rows ``first`` to ``first + rows`` of a file; of text, the bytes that hold them, after some others."""

    file: File
    first: int
    rows: int
    begin: int = 0
    end: int = 0
    skip: int = 0

    def __str__(self) -> str:
        return f"{self.file.path}, rows {self.first + 1} to {self.first + self.rows}"


def parts_of(files: Sequence[File]) -> list[tuple[Segment, ...]]:
    """Return the parts of the rows of all files."""
    runs = runs_of([file.rows for file in files], len(files[0].columns))
    return [tuple(files[k].segment(first, rows) for k, first, rows in run) for run in runs]


def runs_of(counts: Sequence[int], width: int) -> list[list[tuple[int, int, int]]]:
    """Return runs of as many rows as the number of columns allows, through pieces of so many rows.

    A run is a list of pieces: which it is, its first row, and how many rows of it.
    """
    size = max(1, min(MOST, CELLS // max(1, width)))
    runs: list[list[tuple[int, int, int]]] = [[]]
    room = size
    for piece, count in enumerate(counts):
        first = 0
        while first < count:
            if not room:
                runs.append([])
                room = size
            rows = min(room, count - first)
            runs[-1].append((piece, first, rows))
            first, room = first + rows, room - rows
    return runs


def look_through(path: str, folders: Sequence[str], opening: Opening | None = None) -> File:
    """Return a file's length and columns; text is read through once.

    ``folders`` are those below the one that is scanned, whose names may give columns; ``opening`` says how
    text is opened.
    """
    kind = "text" if is_delimited(path) else KINDS.get(PurePosixPath(path).suffix.lower())
    if kind is None:
        raise FileError(
            f"{path}: scans take files that end in {', '.join(KINDS)}; read it into memory with lac.read"
        )
    keys, stamp = tuple(_keys(folders)), _stamp(path)
    if kind == "text":
        return _text(path, stamp, keys, opening or Opening())
    (check_pages if kind == "parquet" else check_batches)(here(path))
    frame = _lazy(path, kind)
    try:
        with hushed():
            schema = frame.collect_schema()
            rows = int(frame.select(_length()).collect().item())
    except (Exception, _panic()) as error:
        raise _damaged(path, error) from None
    holds = tuple(map(_holds, schema.dtypes()))
    return _checked(File(path, kind, rows, stamp, tuple(schema.names()), keys, holds=holds))


def _holds(kind: pl.DataType) -> str:
    """Return what columns of a type hold, in a word; nothing if they are empty."""
    import polars as pl

    if kind == pl.Null:
        return ""
    if kind.is_numeric():
        return "numbers"
    if kind in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return "truth values" if kind == pl.Boolean else str(kind)


def _checked(file: File) -> File:
    if len(set(file.columns)) < len(file.columns):
        name = next(name for k, name in enumerate(file.columns) if name in file.columns[:k])
        raise unnamed(name, file.columns.index(name))
    return file


def _keys(folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        key, equals, value = folder.partition("=")
        if equals and key:
            yield key, "" if value == "__HIVE_DEFAULT_PARTITION__" else value


def _stamp(path: str) -> tuple[int, int]:
    if is_remote(path):
        return remote_stamp(path)
    try:
        told = os.stat(path)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    return told.st_size, told.st_mtime_ns


def _text(path: str, stamp: tuple[int, int], keys: tuple[tuple[str, str], ...], how: Opening) -> File:
    plain = plainly(path, how)
    starts, rows = _row_starts(Path(plain.path), blanks=len(plain.names) == 1)
    return _checked(
        File(
            path,
            "text",
            rows,
            stamp,
            plain.names,
            keys,
            plain.delimiter,
            tuple(starts),
            opening=plain.opening,
            said=plain.said,
            notes=plain.notes,
        )
    )


def _row_starts(path: Path, blanks: bool) -> tuple[list[int], int]:
    """Return where every `STRIDE`-th row begins, the end of the file last, and how many rows there are.

    A row ends where a line ends outside quotes. Blank lines are none, unless ``blanks``; the first row is the
    header.
    """
    starts: list[int] = []
    rows, inside, place, begin = -1, 0, 0, 0
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            cells = np.frombuffer(block, dtype=np.uint8)
            quotes = np.flatnonzero(cells == ord('"'))
            ends = np.flatnonzero(cells == ord("\n"))
            ends = ends[(np.searchsorted(quotes, ends) + inside) % 2 == 0]
            inside = (inside + len(quotes)) % 2
            if len(ends):
                begins = np.append(begin, ends[:-1] + place + 1)
                length = ends + place - begins
                returned = cells[np.maximum(ends - 1, 0)] == ord("\r")
                begins = begins[(length > 1) | ((length == 1) & ~returned) | blanks]
                number = rows + np.arange(len(begins))
                starts.extend(begins[(number >= 0) & (number % STRIDE == 0)].tolist())
                rows, begin = rows + len(begins), int(ends[-1]) + place + 1
            place += len(block)
    if begin < place:  # a last line that does not end
        starts.extend([begin] if rows >= 0 and rows % STRIDE == 0 else [])
        rows += 1
    return [*starts, place], max(rows, 0)


def raw(part: Sequence[Segment], names: Sequence[str]) -> pl.DataFrame:
    """Return some columns of a part as they stand in its files; of text files all is text."""
    import polars as pl

    frames = [_segment(segment, names) for segment in part]
    if len(frames) == 1:
        return frames[0]
    try:
        return pl.concat(frames, how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        files = ", ".join(dict.fromkeys(segment.file.path for segment in part))
        raise SchemaError(f"the columns of {files} are of different types: {error}") from None


def _segment(segment: Segment, names: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    file = segment.file
    if _stamp(file.path) != file.stamp:
        raise FileError(f"{file.path} has changed since it was scanned; scan the files anew")
    mine = [name for name in names if name in file.names]
    if file.kind == "text":
        frame = _text_rows(segment)[mine]
    else:
        try:
            with hushed():
                rows = _lazy(file.path, file.kind)
                places = [rows.collect_schema().names().index(name) for name in mine]  # * is a pattern
                frame = rows.select(pl.nth(places)).slice(segment.first, segment.rows).collect()
        except (Exception, _panic()) as error:
            raise _damaged(f"{segment}{_row_group(segment)}", error) from None
    frame = frame.with_columns(pl.lit(value or None, dtype=pl.String).alias(key) for key, value in file.keys)
    if frame.height != segment.rows:
        raise FileError(f"{segment}: only {counted(frame.height, 'row')} can be read; is the file damaged?")
    return frame[list(names)]


def _lazy(path: str, kind: Literal["parquet", "ipc", "text"]) -> pl.LazyFrame:
    import polars as pl

    path = here(path)
    if kind == "parquet":
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)
    return pl.scan_ipc(glob.escape(path), hive_partitioning=False)  # its glob= came late


def _length() -> pl.Expr:
    import polars as pl

    return pl.len()


def _row_group(segment: Segment) -> str:
    """Return which group of rows of a Parquet file cannot be read, as far as can be told."""
    try:
        from pyarrow import parquet

        file = parquet.ParquetFile(here(segment.file.path))
    except Exception:  # pyarrow is not there, or not even the end of the file makes sense
        return ""
    first = 0
    for number in range(file.num_row_groups):
        rows = file.metadata.row_group(number).num_rows
        if first < segment.first + segment.rows and first + rows > segment.first:
            try:
                file.read_row_group(number)
            except Exception:
                return f", in row group {number} (rows {first + 1} to {first + rows})"
        first += rows
    return ""


def _panic() -> type[BaseException]:
    """Return what polars raises where it breaks down, which is no `Exception`."""
    import polars as pl

    return pl.exceptions.PanicException


def _damaged(where: str, error: BaseException) -> FileError:
    told = str(error).strip().splitlines() or [type(error).__name__]
    return FileError(f"{where}: the file is damaged, or is not what its suffix says: {told[0][:200]}")


def _text_rows(segment: Segment) -> pl.DataFrame:
    """Return the rows of a text file, all cells as text; what polars would read otherwise is read slowly."""
    import polars as pl

    with open(plain_path(segment.file.path, segment.file.opening), "rb") as file:
        file.seek(segment.begin)
        block = file.read(segment.end - segment.begin)
    names, delimiter = segment.file.names, segment.file.delimiter
    if len(names) > 1 and is_plain(block, delimiter, len(names)):
        try:
            frame = pl.read_csv(
                block,
                has_header=False,
                new_columns=list(names),
                separator=delimiter,
                infer_schema_length=0,
            ).fill_null("")
        except (pl.exceptions.PolarsError, OSError):  # text that begins with x^ is compressed to polars
            frame = _slowly(segment, block)
    else:
        frame = _slowly(segment, block)
    return frame.slice(segment.skip, segment.rows)


def _slowly(segment: Segment, block: bytes) -> pl.DataFrame:
    import polars as pl

    path, names = Path(segment.file.path), segment.file.names
    before = segment.first - segment.skip + 1  # the header's line, and rows before; blank lines are not known
    try:
        text = io.StringIO(block.decode("utf-8"), newline="")
        reader = strictly(Closed(text, segment.file.delimiter), segment.file.delimiter)
        rows = list(regular_rows(path, reader, len(names), before))
    except (csv.Error, UnicodeDecodeError) as error:
        raise FileError(f"{segment}: {error}") from None
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pl.DataFrame(
        dict(zip(names, map(list, columns), strict=True)), schema=dict.fromkeys(names, pl.String)
    )
