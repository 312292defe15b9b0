"""Tables that are no plain text files: spreadsheets, statistical packages, records, databases, pipes.

What can be opened by a library made for it becomes a frame; what comes from a pipe, is compressed, has
another encoding, comments or no header is first written to a text file of its own, in UTF-8, that is gone
afterwards.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from lacunary.budget import reserve
from lacunary.data.apart import read_apart
from lacunary.data.bounded import Bounded
from lacunary.data.databases import read_database
from lacunary.data.rewrite import copied
from lacunary.data.sheets import read_sheet
from lacunary.data.tidy import CONTROL, Opening, look
from lacunary.errors import BudgetError, FileError, ParameterError

__all__ = [
    "FOREIGN",
    "PACKED",
    "TEXT",
    "check_plain",
    "foreign",
    "is_text",
    "is_url",
    "laid_down",
    "other_encoding",
    "unpacked_file",
]

TEXT = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat")

SHEETS = (".xlsx", ".xls", ".xlsb", ".xlsm", ".ods")
PACKAGES = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
RECORDS = (".json", ".ndjson", ".jsonl")
DATABASES = (".db", ".sqlite", ".sqlite3")
FOREIGN = (*SHEETS, *PACKAGES, *RECORDS, *DATABASES)
PACKED = (".bz2", ".xz", ".zip")
PIECE = 2**20
DEEPEST = 4
"""How deep objects may stand in objects to become columns."""

MOST_JSON = 2**30
ROW = re.compile("[0-9]{1,18}")
"""A row's number, as JSON has it for a key."""


class Laid(NamedTuple):
    """A source that can be opened: as it was given, or written again as a text file with commas.

    Attributes
    ----------
    source
        What to open.
    said, notes
        What was done to it, and what is doubtful about it, a sentence each.
    name
        What it is called if it is a file that was written again.
    delimiter
        What parts its cells then.
    """

    source: Any
    said: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = ""
    delimiter: str | None = None


def is_url(source: Any) -> bool:
    """Whether a source names a database: sqlite:///x.db or duckdb:///x.duckdb."""
    return isinstance(source, str) and source.startswith(("sqlite://", "duckdb://"))


def check_plain(source: str, how: Opening) -> None:
    """Refuse what only spreadsheets and databases have of a source that is neither."""
    if how.query is not None:
        raise ParameterError(f"query is for databases; {source} is read as a whole")
    if how.sheet is not None:
        raise ParameterError(f"sheet is for spreadsheets; {source} is read as a whole")


def foreign(source: str, how: Opening) -> tuple[Any, str, tuple[str, ...]]:
    """Return what a file of another kind holds, what was done, and what is doubtful.

    It is a frame, columns by name, or records.
    """
    if is_url(source):
        engine, _, place = source.partition("://")
        library = _needed("duckdb", "duckdb", "a DuckDB file") if engine == "duckdb" else None
        return *read_database(place.removeprefix("/"), how.query, library), ()
    path, suffix = Path(source), Path(source).suffix.lower()
    if how.query is not None and suffix not in DATABASES:
        raise ParameterError(f"query is for databases; {path} is read as a whole")
    if how.sheet is not None and suffix not in SHEETS:
        raise ParameterError(f"sheet is for spreadsheets, which {path} is not")
    if suffix in SHEETS:
        _needed("pyarrow", "files", "a spreadsheet")
        return read_sheet(path, how, _needed("fastexcel", "files", "a spreadsheet"))
    if suffix in PACKAGES:
        return *_package(path, suffix), ()
    if suffix in DATABASES:
        return *read_database(str(path), how.query), ()
    return *_records(path), ()


def _needed(module: str, extra: str, what: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise FileError(f"{what} needs {module}: pip install 'lacunary[{extra}]'") from None


def _package(path: Path, suffix: str) -> tuple[Any, str]:
    for module in ("pyreadstat", "pandas"):
        _needed(module, "files", f"a {suffix} file")
    name = {".zsav": "sav", ".xpt": "xport"}.get(suffix, suffix[1:])
    options = {} if suffix in (".sas7bdat", ".xpt") else {"apply_value_formats": True}
    frame, labelled, more = read_apart(path, f"read_{name}", options)
    said = f"value labels of {', '.join(labelled)} are the states" if labelled else "no value labels"
    return frame, "; ".join([said, "cells with declared missing codes are holes", *more])


def _records(path: Path) -> tuple[Any, str]:
    if path.stat().st_size > MOST_JSON:
        raise FileError(f"{path} is larger than {MOST_JSON} bytes; save it as .parquet or .csv")
    try:
        text = path.read_text(encoding="utf-8-sig")
        lines = path.suffix.lower() != ".json" or _is_a_record_a_line(text)
        found: Any = list(_by_line(text, path)) if lines else json.loads(text, object_pairs_hook=_object)
    except FileError:
        raise
    except (ValueError, RecursionError) as problem:
        raise FileError(f"{path} is not JSON: {problem}") from None
    if isinstance(found, dict) and _is_split(found):
        found = [dict(zip(found["columns"], row, strict=True)) for row in found["data"]]
    if isinstance(found, dict) and len(lists := [v for v in found.values() if isinstance(v, list)]) == 1:
        found = lists[0] if lists[0] and isinstance(lists[0][0], dict) else found
    if isinstance(found, dict) and found and all(isinstance(each, dict) and each for each in found.values()):
        if all(ROW.fullmatch(key) for each in found.values() for key in each):
            return _by_row(found), "columns by name, each by the rows' numbers"
        found = list(found.values())
    if isinstance(found, dict):
        return found, "columns by name"
    if _is_rows(found):
        names, *rows = found
        return dict(
            zip(names, map(list, zip(*rows, strict=True)), strict=True)
        ), "the first row has the names"
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found) or not found:
        raise FileError(f"{path} holds no records; a table is a list of objects, or lists by name")
    flat = [_object(list(_flat(row))) for row in found]
    names = list(dict.fromkeys(name for row in flat for name in row))
    reserve(
        8.0 * len(flat) * len(names), f"{path}: {len(names)} columns of {len(flat)} records", "read fewer"
    )
    said = f"{len(flat)} records; what one lacks is a hole"
    if flat != found:
        said += "; what is nested in an object is a column, as 'outer.inner'"
    return {n: [row.get(n) for row in flat] for n in names}, said


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; one that says two things of a name is refused, as one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise FileError(f"{twice!r} stands twice in a record of JSON; rename one of them")
    return found


def _by_line(text: str, path: Path) -> Iterator[Any]:
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if line.strip():
                yield json.loads(line, object_pairs_hook=_object)
        except FileError as problem:
            raise FileError(f"{path}, line {number}: {problem}") from None
        except ValueError as problem:
            what = str(problem).partition(": line")[0]
            raise FileError(f"{path}, line {number} is not JSON: {what}") from None


def _by_row(found: dict[str, dict[str, Any]]) -> dict[str, list[Any]]:
    """Return columns, each by the numbers of its rows, as pandas writes them, as lists."""
    rows = sorted({key for each in found.values() for key in each}, key=int)
    return {name: [each.get(row) for row in rows] for name, each in found.items()}


def _is_rows(found: Any) -> bool:
    """Whether a list holds lists of one length, of which the first has different texts."""
    if not isinstance(found, list) or len(found) < 2 or not all(isinstance(row, list) for row in found):
        return False
    names = found[0]
    texts = all(isinstance(name, str) for name in names) and len({*names}) == len(names) > 0
    return texts and all(len(row) == len(names) for row in found)


def _is_split(found: dict[str, Any]) -> bool:
    """Whether an object has names and rows by themselves, as pandas and others write tables."""
    names, rows = found.get("columns"), found.get("data")
    return (
        isinstance(names, list)
        and isinstance(rows, list)
        and all(isinstance(name, str) for name in names)
        and len({*names}) == len(names)
        and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    )


def _is_a_record_a_line(text: str) -> bool:
    """Whether a file called .json holds a record a line, and several."""
    first, _, rest = text.lstrip().partition("\n")
    return first.rstrip().startswith("{") and first.rstrip().endswith("}") and rest.lstrip().startswith("{")


def _flat(row: dict[str, Any], above: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the values of an object, those of objects in it by both names."""
    for name, value in row.items():
        if isinstance(value, dict) and value and depth < DEEPEST:
            yield from _flat(value, f"{above}{name}.", depth + 1)
        else:
            yield f"{above}{name}", value


# Pipes, compression, encodings


@contextmanager
def laid_down(source: Any, how: Opening) -> Iterator[Laid]:
    """Give a source as it is, or as a plain file laid down for a while, and what was done to it."""
    with ExitStack() as stack:
        raw, name = _stream(source, stack)
        path: Path | None = None
        done: tuple[str, ...] = ()
        if raw is not None or (_is_path(source) and Path(os.fsdecode(source)).suffix.lower() in PACKED):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lacunary-")))
            if raw is None:
                name = Path(os.fsdecode(source))
                raw = stack.enter_context(open(name, "rb"))
            path, name, done = _copied(raw, name, folder)
        elif _is_path(source):
            path = name = Path(os.fsdecode(source))
        if path is None or not is_text(path):
            yield Laid(source if path is None or (not done and path == name) else path, done)
            return
        found = look(path, how)
        if how.plain and not found:
            yield Laid(path if raw is not None else source, done, found.notes, str(name) if done else "")
            return
        target = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lacunary-"))) / "table.csv"
        more, delimiter = copied(path, target, found, how, name)
        yield Laid(target, (*done, *found.said, *more), found.notes, str(name), delimiter)


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike) and os.path.isfile(source)


def is_text(path: Path) -> bool:
    """Whether a file is delimited text by its suffix, gzipped or not."""
    return Path(path.name.lower().removesuffix(".gz")).suffix in TEXT


def other_encoding(path: str) -> tuple[str, str]:
    """Return the encoding of a text file that is not UTF-8, Western, as most are, and a note that says so."""
    undefined = frozenset(b"\x81\x8d\x8f\x90\x9d")
    with open(path, "rb") as file:
        while block := file.read(PIECE):
            if CONTROL.search(block):
                raise FileError(f"{path} is not a text file: it holds control characters")
            if undefined.intersection(block):
                raise FileError(
                    f"{path} is not UTF-8 text, nor Western text; name its encoding, such as "
                    "encoding='shift-jis', 'cp1251' or 'mac-roman'"
                )
    note = "the text is not UTF-8 and was read in the encoding cp1252; if letters look wrong, "
    return "cp1252", f"{note}encoding='cp1250', 'cp1251', 'mac-roman', 'gb18030' or 'euc-kr' may be right"


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


def _copied(raw: BinaryIO, name: Path, folder: Path) -> tuple[Path, Path, tuple[str, ...]]:
    """Write a stream to a file, unpacked; return it, what it is called, and what was done."""
    whole = folder / f"packed{_ending(name)}"
    suffix = name.suffix.lower()
    _write(raw, whole, name, lines=suffix in TEXT)
    if suffix not in PACKED:
        return whole, name, ()
    inner, name = _unpacked(whole, name, folder)
    known = name.suffix.lower() in (*FOREIGN, *TEXT, ".parquet", ".pq", ".feather", ".arrow", ".ipc", ".gz")
    target = folder / f"table{_ending(name).lower() if known else '.csv'}"
    shutil.move(inner, target)
    return target, name if known else name.with_suffix(".csv"), (f"unpacked from {suffix[1:]}",)


def _ending(name: Path) -> str:
    """Return the last two suffixes of a name, which an archive may have as long as it likes."""
    return "".join(name.suffixes[-2:])[-20:]


def unpacked_file(path: Path, name: Path, folder: Path) -> tuple[Path, Path, tuple[str, ...]]:
    """Write what a compressed file holds to a folder; return it, what it is called, and what was done."""
    with open(path, "rb") as raw:
        return _copied(raw, name, folder)


def _write(raw: BinaryIO, target: Path, name: Path, lines: bool) -> None:
    """Write a stream to a file; one that never ends is refused, as nothing could hold what it says."""
    try:
        with open(target, "wb") as out:
            bounded = Bounded(raw, name, None, lines=lines)
            while piece := bounded.read(PIECE):
                out.write(piece)
                reserve(bounded.read_so_far, f"{name}: what was read so far", "read fewer rows")
    except OSError as problem:
        raise FileError(f"{name} cannot be read: {problem.strerror or problem}") from None


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
    except (FileError, BudgetError):
        raise
    except Exception as problem:  # an archive that is damaged raises whatever it comes upon
        raise FileError(f"{name} is broken {suffix[1:]}: {problem}") from None
    return target, inner
