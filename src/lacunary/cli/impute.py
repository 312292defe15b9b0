"""``lacunary impute``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import lacunary as lac
from lacunary.cli.app import command, complain
from lacunary.cli.arguments import TABLES, Json, Reading, Rng, answering, data_path, is_many, option, placed
from lacunary.cli.delimited import Sheet, bare, column_names, delimited, put, quoted
from lacunary.cli.show import Waiting, emit, show
from lacunary.cli.standard import called
from lacunary.data.facts import open_cells
from lacunary.data.wording import counted

__all__ = ["impute"]

AVERAGE = "average"
"""What stands for a model that is learned from the table: an average over graphs."""


How = Literal["mode", "mean", "draw", "probability"]
HOW = (
    "Most probable state (mean: with means of numbers), a joint draw, or probabilities; mean without a model."
)
WHAT = (
    "What to fill; before it, if there is one, the model to fill it with: a file (.json, .bif, .xmlbif, "
    ".net, also .gz), asia, alarm; or average: networks learned from the table itself, "
    "averaged over their graphs."
)
COPIES = "How many filled tables to draw, one after the other."
HIDDEN = "Add a column for each hidden variable."
OUT = "Where to write: a table, or a folder, such as filled/, for parts; - for standard output."


@command(
    "lacunary impute house_votes --out filled.csv",
    "lacunary fit house_votes --hidden bloc=3 --out blocs.json",
    "lacunary impute blocs.json house_votes --out filled.csv",
    "lacunary impute blocs.json house_votes --how draw --copies 5 --rng 1 --out five.csv",
    "lacunary impute average house_votes --how mean --out averaged.csv",
    "lacunary impute blocs.json house_votes --out parts/",
)
def impute(
    what: Annotated[list[str], typer.Argument(metavar="[MODEL] DATA", help=WHAT)],
    reading: Reading,
    how: Annotated[How | None, option(HOW)] = None,
    copies: Annotated[int, typer.Option(min=1, help=COPIES)] = 1,
    hidden_columns: Annotated[bool, typer.Option("--hidden-columns", help=HIDDEN)] = False,
    rng: Rng = None,
    out: Annotated[str | None, placed(OUT, TABLES, "--out", "-o")] = None,
    json: Json = False,
) -> None:
    """Fill the holes of a table, with what a model says about them or with what the table itself says.

    Without a model every column is predicted from all others, by a regression and a forest weighed by how
    they tell rows left out; skewed columns go through normal scores and back.

    Of a text file only the cells that are holes change: all columns stay, in their order, as they are
    written. Where dates, or numbers such as €1,000, have holes, their column is written as ISO dates or plain
    numbers throughout. A continuous hole takes the mean of its most probable component; with --how mean, its
    mean.

    With --how probability nothing is filled; columns NAME=STATE are added, or "NAME mean" and "NAME sd" of a
    continuous variable. With --copies a column "copy" is added.

    Many files are filled part by part, by a model, into a folder of Parquet files: --out parts/.

    --json prints: rows, how, copies, filled (how many cells), out; it needs --out.
    """
    if json and out is None:
        raise typer.BadParameter("the filled table needs a file: --out", param_hint="--json")
    if copies > 1 and how != "draw":
        raise typer.BadParameter("copies differ only with --how draw", param_hint="--copies")
    model, data = _named(what)
    known = None if model in (None, AVERAGE) else answering(model)
    in_parts = _is_in_parts(out, model, is_many(data) or bool(reading.scheduler))
    with Waiting(f"reading {data}") as waiting:
        table = reading.table(data, known and known[1])
        more = {"out": out, "hidden_columns": hidden_columns} if in_parts else {}
        filled = _filled(table, known and known[0], model, how, copies, rng, waiting, **more)
        how = how or ("mean" if model is None else "mode")
        if not in_parts:
            added = _added(known[1] if known else table.schema, how, hidden_columns)
            work = _Work(table, filled.to_frame("dict"), added, copies, how, reading.decimal or ".")
            work.put(data_path(data), out, is_renamed=bool(reading.names))
    holes = open_cells(table)[[hidden_columns or not v.hidden for v in table.schema]]
    count = 0 if how == "probability" else int(holes.sum()) * copies
    if json:
        emit({"rows": len(table), "how": how, "copies": copies, "filled": count, "out": out})
    elif out is not None:
        for said in filled.decisions:
            show(said)
        count_of = f"{counted(len(table) * copies, 'row')}, {counted(count, 'hole')} filled"
        show(f"written: {called(out)} ({count_of})")


def _named(what: list[str]) -> tuple[str | None, str]:
    """Return the model's name, if there is one, and that of the data."""
    if len(what) > 2:
        raise typer.BadParameter("one table is filled at a time: [MODEL] DATA", param_hint=what[2])
    return (None, what[0]) if len(what) == 1 else (what[0], what[1])


def _is_in_parts(out: str | None, model: str | None, many: bool) -> bool:
    """Tell whether filled rows go into a folder, part by part; refuse what does not go together."""
    folder = out is not None and out.endswith("/")
    if many and not folder:
        raise typer.BadParameter("many files are filled into a folder: --out filled/", param_hint="--out")
    if folder and model is None:
        raise typer.BadParameter(
            "parts are filled by a model; lacunary fit or search learns one", param_hint="--out"
        )
    return folder


def _filled(
    table: lac.Table, thing: Any, model: str | None, how: How | None, copies: int, rng: int | None,
    waiting: Waiting, **more: Any,
) -> lac.Table:  # fmt: skip
    if model is None:

        def watch(done: int, total: int) -> None:
            waiting.say(f"learning what columns say of each other: {done} of {total}")

        return lac.impute(table, how=how, copies=copies, rng=rng, watch=watch)
    thing = _averaged(table, rng, waiting) if model == AVERAGE else thing
    waiting.say("filling the holes")
    return lac.impute(thing, table, how=how, copies=copies, rng=rng, **more)


def _averaged(table: lac.Table, rng: int | None, waiting: Waiting) -> lac.Ensemble:
    """Return networks learned from the table, to be asked together."""

    def watch(done: int, total: int) -> None:
        waiting.say(f"learning networks: {done} of {total}")

    return lac.average_graphs(table, rng=0 if rng is None else rng, watch=watch)


@dataclass(frozen=True)
class _Work:
    """A table with holes, its filling by column, and the names of the columns to add."""

    table: lac.Table
    filled: dict[str, list[Any]]
    added: list[str]
    copies: int
    how: How
    decimal: str

    def put(self, path: str, out: str | None, is_renamed: bool) -> None:
        """Write the filled rows of a file: as it stands, where it is text whose columns were read as such."""
        sheet = None if is_renamed else self.as_it_stands(path)
        put(self.plain(out) if sheet is None else self.sheet(sheet, path), out)
        if sheet is None and _is_text(path):
            complain(
                "note: numbers are written plainly, and columns as they were read, not as the file has them"
            )
        elif sheet is not None and (anew := self._anew(sheet)):
            complain(
                f"note: {', '.join(anew)} had holes; all cells there are written plainly, dates as 2024-01-31"
            )

    def as_it_stands(self, path: str) -> Sheet | None:
        """Return the cells of a text file, if its rows and the columns to fill are those read; else None."""
        if not _is_text(path):
            return None
        try:
            sheet = Sheet.read(path)
        except lac.LacunaryError:  # of another encoding, or with lines that are no rows
            return None
        if len(sheet.rows) != len(self.table) or not set(self._open) <= set(sheet.names):
            return None
        return sheet

    @cached_property
    def _open(self) -> list[str]:
        """The columns in which cells are filled."""
        if self.how == "probability":
            return []
        holes = open_cells(self.table)
        return [v.name for v, some in zip(self.table.schema, holes, strict=True) if some and not v.hidden]

    def _anew(self, sheet: Sheet) -> list[str]:
        """Return the columns to fill whose cells are not numbers as they were read, such as dates, or €1,000.

        A column is written alike throughout, or it could not be read again.
        """
        schema = self.table.schema
        return [name for name in self._open if not schema[name].discrete and not self._is_plain(sheet, name)]

    def _is_plain(self, sheet: Sheet, name: str) -> bool:
        """Tell whether the cells of a column are the numbers that were read."""
        place, column = sheet.names.index(name), self.table.schema.index(name)
        seen = (~self.table.holes[:, column]).nonzero()[0].tolist()
        try:
            values = [float(bare(sheet.rows[row][place]).replace(self.decimal, ".")) for row in seen]
        except ValueError:
            return False
        return bool(values == self.table.reals[seen, column].tolist())

    def sheet(self, sheet: Sheet, path: str) -> str:
        """Return the file's text with its holes filled and nothing else changed."""
        further = [*self.added, *(["copy"] if self.copies > 1 else [])]
        for name in further:
            if name in sheet.names:
                raise lac.SchemaError(f"{path} has a column {name!r} already; rename it to add one")
        anew = self._anew(sheet)
        return sheet.text(
            (
                self._row(sheet, row, copy, anew)
                for copy in range(self.copies)
                for row in range(len(sheet.rows))
            ),
            further,
        )

    def _row(self, sheet: Sheet, row: int, copy: int, anew: list[str]) -> list[str]:
        cells, at = list(sheet.rows[row]), copy * len(self.table) + row
        for name in self._open:
            if name in anew or self._is_hole(row, name):
                cells[sheet.names.index(name)] = quoted(self._cell(name, at), sheet.delimiter)
        cells += [quoted(self._cell(name, at), sheet.delimiter) for name in self.added]
        return cells + ([str(copy + 1)] if self.copies > 1 else [])

    def _cell(self, name: str, at: int) -> str:
        """Return a value as it is written; ten digits of a number are more than any hole is known to."""
        value, schema = self._written[name][at], self.table.schema
        if isinstance(value, str) or (name in schema and schema[name].discrete):
            return str(value)
        if name not in schema:
            text = str(value)
        else:
            is_hole = self._is_hole(at % len(self.table), name)
            text = f"{value:.10g}" if is_hole else str(value).removesuffix(".0")
        return text.replace(".", self.decimal)

    @cached_property
    def _written(self) -> dict[str, list[Any]]:
        """What the columns hold, moments as dates and times."""
        from lacunary.data.moments import written  # help must not wait for what this needs

        schema, found = self.table.schema, {}
        for name, values in self.filled.items():
            unit = schema[name].unit if name in schema else ""
            found[name] = (unit and written(values, unit)) or values
        return found

    def _is_hole(self, row: int, name: str) -> bool:
        return bool(self.table.holes[row, self.table.schema.index(name)])

    def plain(self, out: str | None) -> str:
        """Return the model's columns, filled, for files that are not text."""
        hidden = self.table.schema.hidden
        names = [name for name in self.filled if name not in hidden or name in self.added]
        columns = {
            name: self._written[name] for name in names if self.how != "probability" or name in self.added
        }
        if self.copies > 1:
            columns["copy"] = [copy + 1 for copy in range(self.copies) for _ in range(len(self.table))]
        return delimited(columns, out)


def _added(schema: lac.Schema, how: How, hidden_columns: bool) -> list[str]:
    """Return the names of the columns that come on top of those of the table."""
    if how != "probability":
        return list(schema.hidden) if hidden_columns else []
    shown = [v for v in schema if hidden_columns or not v.hidden]
    return [name for v in shown for name in column_names(v)]


def _is_text(path: str) -> bool:
    from lacunary.data.foreign import is_text

    return is_text(Path(path))
