"""Tables of a workspace: how each is read, what columns hold, and which cells are missing together."""

from __future__ import annotations

import ast
import gzip
import os
import re
import shutil
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

import lacunary as lac
from lacunary.workbench.workspace import Workspace

__all__ = ["SUFFIXES", "Tables", "described", "read_as", "suffix_of"]

TEXT, COLUMNAR = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat"), (".parquet", ".pq")
SHEETS = (".xlsx", ".xls", ".ods")
PACKAGES, RECORDS = (".sav", ".dta", ".sas7bdat"), (".ndjson", ".jsonl")
SUFFIXES = (*TEXT, *(f"{suffix}.gz" for suffix in TEXT), *COLUMNAR, *SHEETS, *PACKAGES, *RECORDS)
"""The files that are taken as tables."""

MOST_UNPACKED = 2 * 2**30
MOST_CELLS = 100_000_000
MOST_STATES = 10_000
PATTERNS, BARS, KEPT, SHOWN_STATES = 400, 24, 4, 200
TOGETHER = 120
"""The most columns whose joint holes are shown as a matrix."""

LIST, MAP = re.compile(r"\b(drop|holes)=(\[[^\]]*\])"), re.compile(r"\bkinds=(\{[^}]*\})")
_QUIET = RLock()
"""Held while warnings are off: threads share them."""

OPTION = re.compile(
    r"\b(decimal|thousands|encoding|delimiter|quote|comment|sheet|escape)=('[^']*')|"
    r"\b(header|skip|skip_end|ragged|day_first)=(\d+|True|False)"
)
"""What a sentence may name that reads the file otherwise."""


def suffix_of(name: str) -> str:
    """Return the suffix of a table's file, which must be one that is read."""
    lower = name.lower()
    found = next(
        (suffix for suffix in sorted(SUFFIXES, key=len, reverse=True) if lower.endswith(suffix)), None
    )
    if found is None:
        kinds = (*TEXT, *COLUMNAR, *SHEETS, *PACKAGES, *RECORDS)
        raise lac.FileError(f"tables are read from {', '.join(kinds)}; text also as .gz")
    return found


def check_size(path: Path, suffix: str) -> None:
    """Refuse a packed file that would unpack to more than can be held."""
    if suffix.endswith(".gz"):
        _check_packed(path)
    elif suffix in COLUMNAR:
        _check_columnar(path)


def _check_packed(path: Path) -> None:
    whole = 0
    try:
        with gzip.open(path) as file:  # which goes over all members of a file that has several
            while chunk := file.read(2**20):
                whole += len(chunk)
                if whole > MOST_UNPACKED:
                    raise lac.FileError(f"the file unpacks to more than {MOST_UNPACKED} bytes")
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise lac.FileError(f"expected gzip-compressed data: {problem}") from None


def _check_columnar(path: Path) -> None:
    try:
        from pyarrow import parquet
    except ImportError:
        raise lac.FileError("Parquet needs pyarrow: pip install 'lacunary[parquet]'") from None
    try:
        found = parquet.ParquetFile(path).metadata
        cells = found.num_rows * found.num_columns
    except Exception as problem:
        raise lac.FileError(f"cannot be read as Parquet: {problem}") from None
    if cells > MOST_CELLS:
        raise lac.FileError(f"{cells} cells, and {MOST_CELLS} are the limit here")


def read_as(path: str | os.PathLike[str], settings: dict[str, Any]) -> lac.Table:
    """Return a table as its settings say: those of `lacunary.read`, and ``rename`` from old to new names."""
    rename = settings.get("rename") or {}
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what would be warned of stands in the notes
        table = lac.read(path, **_settings(settings))
    return _renamed(table, rename) if rename else table


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as `lacunary.read` takes them; those of columns that are dropped say nothing."""
    said = {"header", "quote"}  # whose nothing says something: no line of names, no quotes
    known = {
        key: value
        for key, value in settings.items()
        if key != "rename" and (value or (key in said and value is not None))
    }
    drop = set(known.get("drop", ()))
    for key in ("kinds", "states"):
        if key in known:
            known[key] = {name: value for name, value in known[key].items() if name not in drop}
    if "ordered" in known:
        known["ordered"] = [name for name in known["ordered"] if name not in drop]
    return known


def _renamed(table: lac.Table, names: dict[str, str]) -> lac.Table:
    variables = tuple(replace(v, name=names.get(v.name, v.name)) for v in table.schema)
    return replace(table, schema=lac.Schema(variables))


class Tables:
    """The tables of a workspace; the last that were asked for stay in memory."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._held: OrderedDict[str, tuple[Any, lac.Table]] = OrderedDict()
        self._lock = RLock()

    def add(
        self, name: str, source: Path, *, settings: dict[str, Any] | None = None, shipped: str = ""
    ) -> str:
        """Take a file into the workspace, by moving it; return the table's key.

        ``shipped`` is the name under which the package itself has it.
        """
        suffix = suffix_of(name)
        check_size(source, suffix)
        key, place = self.workspace.new("tables")
        try:
            shutil.move(source, place / f"table{suffix}")
            title = Path(name).name[: -len(suffix)] or "table"
            meta = {"name": title[:200], "file": Path(name).name[:200], "suffix": suffix, "shipped": shipped}
            try:
                lac.examine(place / f"table{suffix}", **_settings(settings or {}))
            except lac.LacunaryError as problem:
                if suffix not in (*TEXT, *SHEETS) or not said(str(problem))["mends"]:
                    # No other way of reading is named that might help.
                    told = str(problem).replace(str(place / f"table{suffix}"), meta["file"])
                    raise lac.FileError(told) from None
            self.workspace.keep("tables", key, {**meta, "settings": settings or {}, "first": settings or {}})
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return key

    def path(self, key: str) -> Path:
        """Return where a table's file lies."""
        return self.workspace.place("tables", key) / f"table{self.workspace.record('tables', key)['suffix']}"

    def table(self, key: str) -> lac.Table:
        """Return a table as its settings say."""
        settings = self.workspace.record("tables", key)["settings"]
        with self._lock:
            held = self._held.get(key)
            if held is None or held[0] != settings:
                held = (settings, read_as(self.path(key), settings))
                self._held[key] = held
            self._held.move_to_end(key)
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
            return held[1]

    def change(self, key: str, settings: dict[str, Any]) -> None:
        """Read a table otherwise; what cannot be read so is refused, and it stays as it was."""
        table, names = None, settings.get("rename") or {}
        settings = self._labelled(key, settings)
        found = lac.examine(self.path(key), **_settings(settings))
        if not found.problems:
            table = read_as(self.path(key), settings)
        if any(not isinstance(new, str) or not new.strip() or len(new) > 200 for new in names.values()):
            raise lac.SchemaError("a new name must be a text of at most 200 letters")
        with self._lock:
            self.workspace.keep("tables", key, {"settings": settings})
            self._held.pop(key, None)
            if table is not None:
                self._held[key] = (settings, table)

    def _labelled(self, key: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Return settings whose states are labels as the table has them: a page knows them as texts alone."""
        now = self.workspace.record("tables", key)["settings"]
        if not settings.get("states") or lac.examine(self.path(key), **_settings(now)).problems:
            return settings
        table = read_as(self.path(key), {**now, "rename": {}})
        known = {v.name: {str(state): state for state in v.states} for v in table.schema}
        states = {
            name: [known.get(name, {}).get(str(label), label) for label in labels]
            for name, labels in settings["states"].items()
        }
        return {**settings, "states": states}

    def shown(self, key: str) -> dict[str, Any]:
        """Return all that the page shows of a table."""
        record = self.workspace.record("tables", key)
        out = {name: record[name] for name in ("id", "name", "file", "settings", "shipped", "created")}
        try:
            found = lac.examine(self.path(key), **_settings(record["settings"]))
        except lac.LacunaryError as problem:
            told = str(problem).replace(str(self.path(key)), record["file"])
            nothing = {"rows": 0, "columns": [], "decisions": [], "notes": [], "problems": [said(told)]}
            return {**out, **nothing, "readable": False}
        if found.problems:
            return {**out, **_refused(found), "readable": False}
        return {**out, **described(self.table(key), found), "readable": True}

    def rows(self, key: str, start: int, count: int, missing: Sequence[str] | None) -> dict[str, Any]:
        """Return some rows, of all or of those in which exactly these columns are missing."""
        table = self.table(key)
        where = np.arange(len(table))
        if missing is not None:
            wanted = np.zeros(len(table.schema), dtype=bool)
            wanted[[table.schema.index(name) for name in missing]] = True
            where = np.flatnonzero((table.holes == wanted).all(axis=1))
        part = table.take(where[start : start + count])
        cells = [part[name].tolist() for name in part.columns]
        return {
            "total": len(where),
            "columns": list(part.columns),
            "numbers": (where[start : start + count] + 1).tolist(),
            "rows": [list(row) for row in zip(*cells, strict=True)],
        }


def _refused(found: Any) -> dict[str, Any]:
    """Return what is known of a file some of whose columns cannot be read yet."""
    columns = [
        {"name": v.name, "kind": v.kind, "holes": v.holes, "examples": list(v.examples), "states": []}
        for v in found.variables
    ]
    told = {
        "notes": [said(note) for note in found.notes],
        "problems": [said(note) for note in found.problems],
    }
    return {"rows": found.rows, "columns": columns, "decisions": list(found.decisions), **told}


def said(sentence: str) -> dict[str, Any]:
    """Return a doubt in words, and the changes of settings that it names, each of which may mend it.

    What the buttons of these changes say is left out of the words.
    """
    mends: list[dict[str, Any]] = []
    try:
        for found in LIST.finditer(sentence):
            mends.append({found[1]: [str(label) for label in ast.literal_eval(found[2])]})
        mends += [{"kinds": dict(ast.literal_eval(found[1]))} for found in MAP.finditer(sentence)]
        for found in OPTION.finditer(sentence):
            name, value = found[1] or found[3], ast.literal_eval(found[2] or found[4])
            mends.append({name: int(value) if name == "header" else value})
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        # A column may be called like an option: the sentence says it all the same.
        return {"text": sentence, "mends": []}
    named = [found.start() for pattern in (LIST, MAP, OPTION) for found in pattern.finditer(sentence)]
    end = sentence.rfind("; ", 0, min(named, default=0))
    return {"text": sentence[:end] if end > 0 else sentence, "mends": mends}


def described(table: lac.Table, found: Any) -> dict[str, Any]:
    """Return a table's columns, patterns of holes and doubts, as plain lists and numbers."""
    if table.codes.size > MOST_CELLS:
        raise lac.TableError(f"{table.codes.size} cells, and {MOST_CELLS} are the limit here")
    widest = max((variable.size for variable in table.schema), default=0)
    if widest > MOST_STATES:
        raise lac.TableError(f"a column has {widest} states, and {MOST_STATES} are the limit here; drop it")
    holes = table.holes
    gaps = holes.any(axis=1)
    return {
        "rows": len(table),
        "distinct": found.distinct,
        "weight": table.size,
        "holes": int(holes.sum()),
        "complete": int((~gaps).sum()),
        "wasted": int((~holes[gaps]).sum()),
        "columns": [_column(table, i) for i in range(len(table.schema))],
        **_patterns(holes),
        "together": _together(holes),
        "decisions": list(found.decisions),
        "notes": [said(note) for note in found.notes],
        "problems": [],
    }


def _column(table: lac.Table, i: int) -> dict[str, Any]:
    variable, seen = table.schema.variables[i], ~table.holes[:, i]
    out: dict[str, Any] = {
        "name": variable.name,
        "kind": variable.kind,
        "ordered": variable.ordered,
        "holes": int((~seen).sum()),
        "states": [str(state) for state in variable.states[:SHOWN_STATES]],
        "size": variable.size,
    }
    if variable.discrete:
        counts = np.bincount(table.codes[seen, i], minlength=variable.size)
        return {**out, "counts": counts[:SHOWN_STATES].tolist()}
    values = table.reals[seen, i]
    if not values.size:
        return {**out, "counts": [], "range": None}
    low, high = float(values.min()), float(values.max())
    with np.errstate(over="ignore", invalid="ignore"):
        spread = high - low
        share = (
            np.clip((values / 2 - low / 2) / (spread / 2), 0.0, 1.0) if spread > 0 else np.zeros(len(values))
        )
    bars = np.bincount(np.minimum((np.nan_to_num(share) * BARS).astype(int), BARS - 1), minlength=BARS)
    with np.errstate(over="ignore"):
        mean, sd = float(values.mean()), float(values.std())
    return {**out, "counts": bars.tolist(), "range": [low, high], "mean": mean, "sd": sd}


def _patterns(holes: Any) -> dict[str, Any]:
    """Return the patterns of missing cells, the most frequent first."""
    packed = np.packbits(holes, axis=1)
    distinct, counts = np.unique(packed, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:PATTERNS]
    bits = np.unpackbits(distinct[order], axis=1, count=holes.shape[1])
    shown = [
        {"holes": np.flatnonzero(line).tolist(), "rows": int(counts[at])}
        for line, at in zip(bits, order, strict=True)
    ]
    return {"patterns": shown, "pattern_count": len(distinct)}


def _together(holes: Any) -> dict[str, Any] | None:
    """Return in how many rows each pair of columns with holes is missing together."""
    some = np.flatnonzero(holes.any(axis=0))
    if not 1 < len(some) <= TOGETHER:
        return None
    part = holes[:, some].astype(np.float64)
    return {"columns": some.tolist(), "rows": (part.T @ part).astype(int).tolist()}
