"""Tables of databases, SQLite's and DuckDB's: opened for reading only, and within bounds.

What a view or a computed column of a database says is carried out as it is read. It may neither reach other
files nor fill the memory, and Ctrl-C ends it where it never ends by itself.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from lacunary.budget import SMALL, reserve
from lacunary.data.apart import reading
from lacunary.errors import FileError

__all__ = ["read_database"]

CELL = 16 * 2**20
"""Bytes that a cell may have."""

ROWS, STEPS = 100, 100_000
"""Rows that are fetched, and steps that SQLite makes, before anything else is heard."""


def read_database(path: str, query: str | None, duckdb: Any = None) -> tuple[Any, str]:
    """Return what a query finds, or the only table there is, and what was asked.

    It is a frame or columns by name; ``duckdb`` is the library, for its files.
    """
    if not os.path.isfile(path):
        engine = "sqlite" if duckdb is None else "duckdb"
        raise FileError(f"{path!r} does not exist; a database is named as {engine}:///path/to/file.db")
    if duckdb is None:
        return _sqlite(path, query)
    alone = {"enable_external_access": "false"}
    with reading(path, "a DuckDB file"), duckdb.connect(path, read_only=True, config=alone) as link:
        chosen = query or _only_table([row[0] for row in link.sql("show tables").fetchall()], path)
        found = link.sql(chosen)
        if found is None:
            raise FileError(f"the query returns no table: {chosen}")
        return found.pl(), f"read by {chosen}"


def _sqlite(path: str, query: str | None) -> tuple[dict[str, list[Any]], str]:
    chosen = query
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as link:
            link.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL)
            link.set_progress_handler(lambda: 0, STEPS)  # between two of them Python hears Ctrl-C
            link.execute("pragma trusted_schema = off")
            held = link.execute("select name from sqlite_master where type in ('table', 'view')").fetchall()
            chosen = query or _only_table([row[0] for row in held], path)
            cursor = link.execute(chosen)
            if cursor.description is None:
                raise FileError(f"the query returns no table: {chosen}")
            names = [column[0] for column in cursor.description]
            rows = list(_fetched(cursor, path))
    except (sqlite3.Error, UnicodeDecodeError) as problem:
        raise FileError(f"{path}: {problem}; the query was {chosen!r}") from None
    if len(set(names)) < len(names):
        raise FileError(f"the query returns two columns of one name: {', '.join(names)}; name them with 'as'")
    return {n: [row[k] for row in rows] for k, n in enumerate(names)}, f"read by {chosen}"


def _fetched(cursor: sqlite3.Cursor, path: str) -> Iterator[tuple[Any, ...]]:
    """Go over the rows as long as there is room for more."""
    while rows := cursor.fetchmany(ROWS):
        yield from rows
        reserve(4.0 * SMALL, f"{path}: going on to read it", "read fewer rows or columns, with query=…")


def _only_table(tables: list[str], path: str) -> str:
    if len(tables) != 1:
        held = ", ".join(tables) or "no table"
        raise FileError(f"{path} holds {held}; say what to read: query='select * from …'")
    return 'select * from "' + tables[0].replace('"', '""') + '"'
