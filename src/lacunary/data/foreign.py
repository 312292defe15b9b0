"""Tables that are no plain text files: spreadsheets, statistical packages, records, databases, pipes.

What can be opened by a library made for it becomes a frame; what comes from a pipe, is compressed, has
another encoding, comments or no header is first written to a text file of its own, in UTF-8, that is gone
afterwards.
"""

from __future__ import annotations

import bz2
import codecs
import io
import json
import lzma
import os
import shutil
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from lacunary.data.bounded import Bounded
from lacunary.errors import FileError, ParameterError

__all__ = ["FOREIGN", "Opening", "check_plain", "foreign", "is_url", "laid_down"]

SHEETS = (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods")
PACKAGES = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
RECORDS = (".json", ".ndjson", ".jsonl")
DATABASES = (".db", ".sqlite", ".sqlite3")
FOREIGN = (*SHEETS, *PACKAGES, *RECORDS, *DATABASES)
PACKED = (".bz2", ".xz", ".zip")
PIECE = 2**20
MOST_JSON = 2**30


@dataclass(frozen=True)
class Opening:
    """How a source that needs more than its path is opened; see `lacunary.read`."""

    sheet: str | None = None
    query: str | None = None
    encoding: str | None = None
    comment: str | None = None
    header: bool = True

    @property
    def plain(self) -> bool:
        """Whether a text file needs none of this."""
        return self.encoding is None and self.comment is None and self.header


def is_url(source: Any) -> bool:
    """Whether a source names a database: sqlite:///x.db or duckdb:///x.duckdb."""
    return isinstance(source, str) and source.startswith(("sqlite://", "duckdb://"))


def check_plain(source: str, how: Opening) -> None:
    """Refuse what only spreadsheets and databases have of a source that is neither."""
    if how.query is not None:
        raise ParameterError(f"query is for databases; {source} is read as a whole")
    if how.sheet is not None:
        raise ParameterError(f"sheet is for spreadsheets; {source} is read as a whole")


def foreign(source: str, how: Opening) -> tuple[Any, str]:
    """Return what a file of another kind holds, as a frame, columns or records, and what was done."""
    if is_url(source):
        engine, _, place = source.partition("://")
        return _database(engine, place.removeprefix("/"), how.query)
    path, suffix = Path(source), Path(source).suffix.lower()
    if how.query is not None and suffix not in DATABASES:
        raise ParameterError(f"query is for databases; {path} is read as a whole")
    if how.sheet is not None and suffix not in SHEETS:
        raise ParameterError(f"sheet is for spreadsheets, which {path} is not")
    if suffix in SHEETS:
        return _sheet(path, how.sheet)
    if suffix in PACKAGES:
        return _package(path, suffix)
    if suffix in DATABASES:
        return _database("sqlite", str(path), how.query)
    return _records(path)


def _needed(module: str, extra: str, what: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise FileError(f"{what} needs {module}: pip install 'lacunary[{extra}]'") from None


def _sheet(path: Path, sheet: str | None) -> tuple[Any, str]:
    fastexcel = _needed("fastexcel", "files", "a spreadsheet")
    try:
        reader = fastexcel.read_excel(str(path))
    except Exception as problem:  # its errors have a common class in some versions only
        raise FileError(f"{path} cannot be read as a spreadsheet: {str(problem).splitlines()[0]}") from None
    names = list(reader.sheet_names)
    if sheet is not None and sheet not in names:
        raise FileError(f"{path} has no sheet {sheet!r}; it has {', '.join(map(repr, names))}")
    chosen = names[0] if sheet is None else sheet
    others = (
        f"; others are {', '.join(n for n in names if n != chosen)}"
        if sheet is None and len(names) > 1
        else ""
    )
    return reader.load_sheet(chosen).to_polars(), f"read from the sheet {chosen!r}{others}"


def _package(path: Path, suffix: str) -> tuple[Any, str]:
    pyreadstat = _needed("pyreadstat", "files", f"a {suffix} file")
    _needed("pandas", "files", f"a {suffix} file")
    name = {".zsav": "sav", ".xpt": "xport"}.get(suffix, suffix[1:])
    options = {} if suffix in (".sas7bdat", ".xpt") else {"apply_value_formats": True}
    try:
        frame, about = getattr(pyreadstat, f"read_{name}")(str(path), **options)
    except Exception as problem:  # whatever the library raises, of no class of its own
        raise FileError(f"{path} cannot be read as {suffix[1:]}: {problem}") from None
    labelled = [n for n in (getattr(about, "variable_value_labels", None) or {}) if n in frame.columns]
    said = f"value labels of {', '.join(labelled)} are the states" if labelled else "no value labels"
    return frame, f"{said}; cells with declared missing codes are holes"


def _records(path: Path) -> tuple[Any, str]:
    if path.stat().st_size > MOST_JSON:
        raise FileError(f"{path} is larger than {MOST_JSON} bytes; save it as .parquet or .csv")
    text = path.read_bytes().decode("utf-8-sig", "strict") if path.suffix.lower() == ".json" else None
    try:
        if text is None:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
            found: Any = [json.loads(line) for line in lines if line.strip()]
        else:
            found = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise FileError(f"{path} is not JSON: {problem}") from None
    if isinstance(found, dict) and len(lists := [v for v in found.values() if isinstance(v, list)]) == 1:
        found = lists[0] if lists[0] and isinstance(lists[0][0], dict) else found
    if isinstance(found, dict):
        return found, "columns by name"
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found) or not found:
        raise FileError(f"{path} holds no records; a table is a list of objects, or lists by name")
    names = list(dict.fromkeys(name for row in found for name in row))
    nested = next((n for row in found for n, v in row.items() if isinstance(v, dict | list)), None)
    if nested is not None:
        raise FileError(f"{path}: {nested} holds objects or lists, not values; flatten it")
    return {
        n: [row.get(n) for row in found] for n in names
    }, f"{len(found)} records; what one lacks is a hole"


def _database(engine: str, path: str, query: str | None) -> tuple[Any, str]:
    if not os.path.isfile(path):
        raise FileError(f"{path!r} does not exist; a database is named as {engine}:///path/to/file.db")
    if engine == "duckdb":
        duckdb = _needed("duckdb", "duckdb", "a DuckDB file")
        with duckdb.connect(path, read_only=True) as link:
            chosen = query or _only_table([r[0] for r in link.execute("show tables").fetchall()], path)
            return link.execute(chosen).pl(), f"read by {chosen}"
    try:
        link = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        try:
            tables = link.execute("select name from sqlite_master where type in ('table', 'view')").fetchall()
            chosen = query or _only_table([row[0] for row in tables], path)
            cursor = link.execute(chosen)
            if cursor.description is None:
                raise FileError(f"the query returns no table: {chosen}")
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
        finally:
            link.close()
    except sqlite3.Error as problem:
        raise FileError(f"{path}: {problem}; the query was {query!r}") from None
    if len(set(names)) < len(names):
        raise FileError(f"the query returns two columns of one name: {', '.join(names)}; name them with 'as'")
    return {n: [row[k] for row in rows] for k, n in enumerate(names)}, f"read by {chosen}"


def _only_table(tables: list[str], path: str) -> str:
    if len(tables) != 1:
        held = ", ".join(tables) or "no table"
        raise FileError(f"{path} holds {held}; say what to read: query='select * from …'")
    return 'select * from "' + tables[0].replace('"', '""') + '"'


# Pipes, compression, encodings


@contextmanager
def laid_down(source: Any, how: Opening) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Give a source as it is, or as a plain file laid down for a while, and what was done to it."""
    with ExitStack() as stack:
        raw, name = _stream(source, stack)
        if raw is None:
            path = Path(os.fsdecode(source)) if isinstance(source, str | os.PathLike) else None
            if path is None or not os.path.isfile(path) or not _needs_work(path, how):
                yield source, ()
                return
            raw, name = stack.enter_context(open(path, "rb")), path
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lacunary-"))
        yield _plain_file(raw, name, Path(folder), how, stack)


def _needs_work(path: Path, how: Opening) -> bool:
    suffix = path.suffix.lower()
    if suffix in FOREIGN or suffix in (".parquet", ".pq", ".feather", ".arrow", ".ipc"):
        return False
    if suffix in PACKED or not how.plain:
        return True
    with open(path, "rb") as file:
        return file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _stream(source: Any, stack: ExitStack) -> tuple[BinaryIO | None, Path]:
    """Return what to read from and its name, if the source is a pipe or an open file."""
    if isinstance(source, str) and source == "-":
        return sys.stdin.buffer, Path("standard input.csv")
    if hasattr(source, "read") and not hasattr(source, "columns"):
        name = Path(str(getattr(source, "name", "open file.csv")))
        first = source.read(0)
        return (source if isinstance(first, bytes) else _Encoded(source)), name  # type: ignore[return-value]
    if isinstance(source, str | os.PathLike) and not is_url(source):
        path = Path(os.fsdecode(source))
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            return stack.enter_context(open(path, "rb")), path if path.suffix else Path(f"{path.name}.csv")
    return None, Path()


class _Encoded(io.RawIOBase):
    """An open text file as bytes in UTF-8."""

    def __init__(self, text: Any) -> None:
        self.text = text

    def read(self, size: int = -1, /) -> bytes:
        """Return some of the text."""
        return str(self.text.read(size)).encode()


def _plain_file(
    raw: BinaryIO, name: Path, folder: Path, how: Opening, stack: ExitStack
) -> tuple[Path, tuple[str, ...]]:
    """Write a stream to a file of plain text in UTF-8; return it and what was done."""
    whole, done = folder / f"packed{name.suffix}", []
    with open(whole, "wb") as out:
        bounded = Bounded(raw, name, None, lines=False)
        while piece := bounded.read(PIECE):
            out.write(piece)
    suffix = name.suffix.lower()
    if suffix in PACKED:
        whole, name = _unpacked(whole, name, folder)
        done.append(f"unpacked from {suffix[1:]}")
        suffix = name.suffix.lower()
    if suffix in FOREIGN or suffix in (".parquet", ".pq", ".feather", ".arrow", ".ipc", ".gz"):
        target = folder / f"table{''.join(name.suffixes[-2:]) if suffix == '.gz' else suffix}"
        shutil.move(whole, target)
        return target, tuple(done)
    with open(whole, "rb") as file:
        start = file.read(2)
    encoding = how.encoding
    if encoding is None and start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        encoding = "utf-16"
    if encoding is not None:
        done.append(f"text read in the encoding {encoding}")
    target = (
        folder / f"table{suffix if suffix in ('.csv', '.tsv', '.tab', '.txt', '.data', '.dat') else '.csv'}"
    )
    done += _rewritten(whole, target, encoding or "utf-8-sig", how, name)
    return target, tuple(done)


def _unpacked(whole: Path, name: Path, folder: Path) -> tuple[Path, Path]:
    """Return the file inside a compressed one, and its name."""
    target, inner = folder / "unpacked", name.with_suffix("")
    suffix = name.suffix.lower()
    try:
        with ExitStack() as stack:
            below = stack.enter_context(open(whole, "rb"))
            if suffix == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(below))
                members = [i for i in archive.infolist() if not i.is_dir() and "__MACOSX" not in i.filename]
                if len(members) != 1:
                    raise FileError(f"{name} holds {len(members)} files; a table is one: unpack it first")
                plain: Any = stack.enter_context(archive.open(members[0]))
                inner = Path(Path(members[0].filename).name)
            else:
                plain = stack.enter_context((bz2 if suffix == ".bz2" else lzma).open(below, "rb"))
            bounded = Bounded(plain, name, below, lines=False)
            with open(target, "wb") as out:
                while piece := bounded.read(PIECE):
                    out.write(piece)
    except (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, RuntimeError) as problem:
        raise FileError(f"{name} is broken {suffix[1:]}: {problem}") from None
    return target, inner


def _rewritten(whole: Path, target: Path, encoding: str, how: Opening, name: Path) -> list[str]:
    """Write a text file again in UTF-8, without comment lines and with a header; return what was done."""
    dropped, done, first = 0, [], True
    try:
        with (
            open(whole, encoding=encoding, newline="") as text,
            open(target, "w", encoding="utf-8", newline="") as out,
        ):
            for line in text:
                if how.comment and line.lstrip().startswith(how.comment):
                    dropped += 1
                    continue
                if first and not how.header and line.strip():
                    out.write(_header(line, target))
                first = False if line.strip() else first
                out.write(line)
    except (UnicodeDecodeError, UnicodeError) as problem:
        raise FileError(
            f"{name} is not text in {encoding} ({problem}); name its encoding, such as encoding='latin-1'"
        ) from None
    except LookupError:
        raise ParameterError(
            f"there is no encoding {encoding!r}; try 'latin-1', 'cp1252' or 'utf-16'"
        ) from None
    if how.comment:
        done.append(f"{dropped} comment lines, which begin with {how.comment}, were left out")
    if not how.header:
        done.append("there is no header; columns are called x1, x2, …")
    return done


def _header(line: str, path: Path) -> str:
    import csv

    from lacunary.data.delimited import delimiter_of

    sign = delimiter_of(path, line)
    many = len(next(csv.reader([line], delimiter=sign)))
    return sign.join(f"x{k + 1}" for k in range(many)) + "\n"
