"""Delimited text: written from columns, or kept cell by cell as it stands in a file."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacunary.cli.app import complain
from lacunary.cli.show import emit, show
from lacunary.cli.standard import called
from lacunary.data.schema import Variable
from lacunary.data.wording import counted

__all__ = ["Sheet", "bare", "column_names", "delimited", "hand_over", "note_formulas", "put", "quoted"]

FORMULAS = tuple("=+-@\t\r")
"""How a cell begins that a spreadsheet takes for a formula."""


def delimited(columns: Mapping[str, Sequence[Any]], path: str | None) -> str:
    """Return columns as text with a header line; a hole is an empty cell."""
    from lacunary.data.delimited import is_tabbed  # help must not wait for what this needs

    note_formulas(text for name, cells in columns.items() for text in (name, *cells))
    text = io.StringIO()
    tabs = path is not None and is_tabbed(Path(path))
    writer = csv.writer(text, delimiter="\t" if tabs else ",", lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def note_formulas(cells: Iterable[Any]) -> None:
    """Warn of cells that a spreadsheet would run; they are written as they are, as the names of states."""
    texts = {text for text in cells if isinstance(text, str)}
    runs = sorted(text for text in texts if text[:1] in FORMULAS and not _is_number(text))
    if runs:
        complain(
            f"note: {runs[0][:40]!r} looks like a formula to a spreadsheet (such texts: {len(runs)}); it is "
            "written as it is, since a changed text would be another state: import such columns as text"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def column_names(variable: Variable) -> list[str]:
    """Return the names of the columns that hold what is known of a variable."""
    if variable.discrete:
        return [f"{variable.name}={state}" for state in variable.states]
    return [f"{variable.name} mean", f"{variable.name} sd"]


def put(text: str, path: str | None) -> None:
    """Write text to a file, whole or not at all, or to the screen."""
    if path is None:
        sys.stdout.write(text)
        return
    from lacunary.files import write_whole

    data = text.encode()
    write_whole(path, gzip.compress(data, mtime=0) if path.lower().endswith(".gz") else data)


def hand_over(columns: Mapping[str, Sequence[Any]], out: str | None, json: Mapping[str, Any] | None) -> None:
    """Write columns to a file and say so, or print them; ``json`` is what to print of them in that form."""
    rows = len(next(iter(columns.values()), ()))
    if out is not None or json is None:
        put(delimited(columns, out), out)
    if json is not None:
        emit(json)
    elif out is not None:
        show(f"written: {called(out)} ({counted(rows, 'row')})")


def quoted(cell: str, delimiter: str) -> str:
    """Return a cell as it is written, in quotes where it needs them."""
    special = any(mark in cell for mark in (delimiter, '"', "\n", "\r"))
    return '"' + cell.replace('"', '""') + '"' if special else cell


@dataclass(frozen=True)
class Sheet:
    """A delimited file whose cells are kept as they are written, quotes and blanks included.

    Attributes
    ----------
    delimiter, ending
        What parts cells, and what ends lines.
    header
        The cells of the header line.
    rows
        The cells of every row. Blank lines are left out, as they are no rows.
    """

    delimiter: str
    ending: str
    header: list[str]
    rows: list[list[str]]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Sheet:
        """Return a file that `lacunary.read` has read before and found in order."""
        from lacunary.data.delimited import HEAD, delimiter_of, opened

        with opened(Path(path)) as file:
            text = file.read()
        delimiter = delimiter_of(Path(path), text[:HEAD])
        ending = "\r\n" if "\r\n" in text else "\n"
        records = list(_records(text, delimiter))
        start = next(place for place, record in enumerate(records) if record != [""])
        header = records[start]
        return cls(delimiter, ending, header, [r for r in records[start + 1 :] if len(r) == len(header)])

    @property
    def names(self) -> list[str]:
        """The columns' names, as `lacunary.read` knows them."""
        return [bare(cell).strip() for cell in self.header]

    def text(self, rows: Iterable[Sequence[str]], further: Sequence[str] = ()) -> str:
        """Return rows as text under the header, which gets further columns at its end."""
        header = [*self.header, *(quoted(name, self.delimiter) for name in further)]
        lines = (self.delimiter.join(row) for row in (header, *rows))
        return self.ending.join([*lines, ""])


def _records(text: str, delimiter: str) -> Iterable[list[str]]:
    """Go over the lines of a file, each as its cells."""
    part = re.escape(delimiter)
    cell = re.compile(rf'("(?:[^"]|"")*+"[^{part}\r\n]*+|[^{part}\r\n]*+)({part}|\r\n|\r|\n|\Z)')
    record: list[str] = []
    place = 0
    while place < len(text) or record:
        match = cell.match(text, place)
        assert match is not None, "a cell may be empty, so one always matches"
        record.append(match.group(1))
        place = match.end()
        if match.group(2) != delimiter:
            yield record
            record = []


def bare(cell: str) -> str:
    """Return what a cell holds, without its quotes."""
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell
