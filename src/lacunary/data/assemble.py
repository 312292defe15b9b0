"""From the columns of a source to a table, and what there is to say about those that cannot be in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.data.bare import Declared, bared, without_marks
from lacunary.data.column import Column, Labels, Numbers, Source, own_name
from lacunary.data.decide import Decided, decide
from lacunary.data.diagnostics import notes
from lacunary.data.moments import PARTS
from lacunary.data.schema import Schema
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.data.wording import counted, listed, meant
from lacunary.errors import LacunaryError, SchemaError, TableError

__all__ = ["Assembled", "Refused", "assemble", "known_columns", "row_weights", "unnamed", "weight_column"]

BLOCK = 2**17
"""Cells of a table that are filled at a time: they stay in the processor's cache."""


@dataclass(frozen=True)
class Refused:
    """A column that cannot be read as it is.

    Attributes
    ----------
    place, name
        Where it stands among the columns, from 0, and what it is called, if anything.
    problem
        Why, and what to do.
    holes
        The share of its cells that are holes.
    examples
        Some of its labels.
    """

    place: int
    name: str
    problem: LacunaryError
    holes: float = 0.0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Assembled:
    """A table and what could not be in it.

    Attributes
    ----------
    table, refused
        The table, and the columns that cannot be read as they are.
    names
        The names of all columns of the source.
    misread
        Those of the table's notes that say that numbers have become labels.
    """

    table: Table
    refused: tuple[Refused, ...]
    names: tuple[str, ...]
    misread: tuple[str, ...]

    @property
    def whole(self) -> Table:
        """The table; if a column had to be left out, one error names every such column."""
        if len(self.refused) == 1:
            raise self.refused[0].problem
        if self.refused:
            kinds = {type(refused.problem) for refused in self.refused}
            kind = kinds.pop() if len(kinds) == 1 else TableError
            lines = "".join(f"\n- {refused.problem}" for refused in self.refused)
            raise kind(f"{len(self.refused)} columns cannot be read as they are:{lines}")
        return self.table


def assemble(
    opened: Source,
    declared: Declared,
    weights: str | ArrayLike | None,
    drop: Collection[str],
    schema: Schema | None,
) -> Assembled:
    """Settle the wanted columns and put them together, without those that cannot be read as they are."""
    wanted, refused = _wanted(opened.names, drop, weights, schema)
    decided: list[Decided] = []
    counts: NDArray[np.float64] | None = None
    rows: dict[int, str] = {}
    repeats: list[NDArray[np.int64]] = []
    measured = _Measured(len(wanted) - isinstance(weights, str))
    for place, (name, column) in enumerate(_columns(opened, wanted, declared.marks)):
        measured.turn(column, place)
        if isinstance(column, LacunaryError):
            refused.append(Refused(opened.names.index(name), name, column))
            continue
        rows.setdefault(len(column), column.name)
        repeats.append(own_name(column))
        if isinstance(weights, str) and column.name == weights:
            counts = _weight_column(column, declared)
        elif len(column):
            try:
                for each in decide(column, declared):
                    decided.append(measured.keep(each, len(decided)))
            except LacunaryError as problem:
                refused.append(_glimpse(opened.names.index(column.name), column, problem, declared.marks))
    _check(rows, opened.path)
    if weights is not None and not isinstance(weights, str):
        counts = row_weights(weights, *rows)
    said = list(_notes(decided, repeats))
    told, many = [note for note, _ in said], next(iter(rows), 0)
    table = _joined(decided, measured, counts, many, told, opened.library)
    table = replace(table, decisions=(*opened.said, *table.decisions)) if opened.said else table
    refused.sort(key=lambda column: column.place)
    return Assembled(table, tuple(refused), opened.names, tuple(note for note, misread in said if misread))


def _columns(
    opened: Source, wanted: Sequence[str], marks: frozenset[str]
) -> Iterator[tuple[str, Column | LacunaryError]]:
    """Yield the wanted columns by name, or what is wrong with their cells."""
    if opened.streamed:
        yield from ((column.name, column) for column in opened.columns(wanted, marks))
        return
    columns = iter(opened.columns(wanted, marks))
    for name in wanted:
        try:
            yield name, next(columns)
        except LacunaryError as problem:
            yield name, problem


def _check(rows: dict[int, str], path: str | None) -> None:
    if len(rows) > 1:
        raise TableError(
            "columns differ in length: "
            + ", ".join(f"{name} has {counted(n, 'row')}" for n, name in rows.items())
        )
    if rows and not next(iter(rows)):
        raise TableError("there are no rows" if path is None else f"{path} has a header line, but no rows")


def _joined(
    decided: Sequence[Decided],
    measured: _Measured,
    counts: NDArray[np.float64] | None,
    rows: int,
    said: Sequence[str],
    library: str | None,
) -> Table:
    schema = Schema(tuple(column.variable for column in decided))
    states = {place: column.values for place, column in enumerate(decided) if column.variable.discrete}
    others = {place: column.values for place, column in enumerate(decided) if place not in states}
    codes = np.empty((rows, len(schema)), dtype=code_dtype(schema.sizes))
    _side_by_side(states, HOLE, codes, [*others])
    reals, shape = measured.cells, (rows, len(schema) if others else 0)
    reals = reals if reals.shape == shape else np.empty(shape)
    away = {place: values for place, values in others.items() if values.base is not reals}
    _side_by_side(away, np.nan, reals, [*states] if others else [])
    decisions = tuple(column.decision for column in decided)
    ones = np.ones(rows) if counts is None else counts
    return Table(schema, codes, reals, ones, decisions, library, tuple(said))


class _Measured:
    """The numbers of continuous variables, each laid in its place as soon as it is known.

    So columns are not held twice, by themselves and in the table; where the reader laid them side by side,
    they stay there. Where there turn out to be fewer or more variables than columns are wanted, they are laid
    again.
    """

    def __init__(self, width: int) -> None:
        self.width, self.cells = width, np.empty((0, 0))
        self.column: Column | LacunaryError | None = None
        self.place = 0

    def turn(self, column: Column | LacunaryError, place: int) -> None:
        """Take note of the column whose variables come next, and of its place among the wanted ones."""
        self.column, self.place = column, place
        beside = column.beside if isinstance(column, Numbers) else None
        if beside is not None and not self.cells.size and beside.shape[1] == self.width:
            self.cells = beside

    def keep(self, decided: Decided, place: int) -> Decided:
        """Return what was decided, with its numbers in their place if they are any."""
        values = decided.values
        # Elsewhere than in its own place may be a column that was not looked at yet.
        if decided.variable.discrete or place != self.place:
            return decided
        if not self.cells.size:
            self.cells = np.empty((len(values), self.width))
        if len(values) != len(self.cells) or place >= self.width:
            return decided
        column = self.column
        laid = isinstance(column, Numbers) and column.beside is self.cells and column.values is values
        if not laid:
            self.cells[:, place] = values
        return Decided(decided.variable, self.cells[:, place], decided.decision, decided.diagnostics)


def _side_by_side(
    columns: dict[int, NDArray[Any]], hole: float, cells: NDArray[Any], empty: Sequence[int]
) -> None:
    """Lay columns at their places of cells, and holes at others, some rows at a time."""
    rows, width = cells.shape
    step = max(BLOCK // max(width, 1), 64)
    for begin in range(0, rows if columns or empty else 0, step):
        part = cells[begin : begin + step]
        if len(empty) == width:
            part.fill(hole)
        elif empty:
            part[:, empty] = hole
        for place, values in columns.items():
            part[:, place] = values[begin : begin + step]


def _notes(decided: Iterable[Decided], repeats: Sequence[NDArray[np.int64]]) -> Iterator[tuple[str, bool]]:
    """Yield what there is to say about the columns, and whether it is that numbers were misread."""
    diagnostics = [diagnostic for column in decided for diagnostic in column.diagnostics]
    again = repeats[0] if repeats else np.empty(0, dtype=np.int64)
    for rows in repeats[1:]:
        again = np.intersect1d(again, rows)
    if len(again):
        where = f"{'row' if len(again) == 1 else 'rows'} {', '.join(str(row + 1) for row in again[:6])}"
        kept = [
            diagnostic
            for diagnostic in diagnostics
            if diagnostic.kind != "mixed" or diagnostic.labels != (diagnostic.column,)
        ]
        more = ", …" if len(again) > 6 else ""
        yield f"{where}{more}: the header line again; take it out of the source", len(kept) < len(diagnostics)
        diagnostics = kept
    yield from notes(diagnostics)


def _glimpse(place: int, column: Column, problem: LacunaryError, marks: frozenset[str]) -> Refused:
    """Return what can be shown of a column that cannot be read."""
    bare, _ = without_marks(column, marks)
    empty = np.isnan(bare.values) if isinstance(bare, Numbers) else bare.codes == HOLE
    shown = bare.levels[:3] if isinstance(bare, Labels) else ()
    return Refused(place, column.name, problem, float(empty.mean()), tuple(map(str, shown)))


def _wanted(
    names: tuple[str, ...], drop: Collection[str], weights: str | ArrayLike | None, schema: Schema | None
) -> tuple[list[str], list[Refused]]:
    """Return the columns to read, and those that have no name of their own to be read by.

    The columns must include those the caller speaks of.
    """
    dropped = {drop} if isinstance(drop, str) else set(drop)
    known_columns(names, dropped - {""}, "drop")  # an empty column without a name is gone
    weight = weights if isinstance(weights, str) else None  # an array compares cell by cell
    known_columns(names, [] if weight is None else [weight], "weights")
    wanted = [name for name in names if name not in dropped or name == weight]
    if schema is not None:
        seen = {variable.name for variable in schema if not variable.hidden}
        dated = {f"{name} {part}": name for name in names for part in PARTS}  # a date's parts come from it
        seen |= {dated[name] for name in seen if name in dated}
        wanted = [name for name in wanted if name in seen or name == weight]
    if not [name for name in wanted if name != weight]:
        missing = "" if schema is None else f" of {', '.join(map(repr, schema.names))}"
        raise TableError(
            f"there is no column{missing} to read; the columns are " + ", ".join(map(repr, names))
        )
    times = Counter(wanted)
    refused = [
        Refused(names.index(name), name, unnamed(name, names.index(name)))
        for name in times
        if not name or times[name] > 1
    ]
    unclear = {column.name for column in refused}
    return [name for name in wanted if name not in unclear], refused


def unnamed(name: str, place: int = 0) -> SchemaError:
    """Return that two columns have one name, or that the one at a place has none, and what helps."""
    if name:
        what = (
            f"two columns are called {name!r}; they must differ: give names=[…], join several "
            "header lines with header=2, or say header=False if there is none"
        )
    else:
        what = (
            f"column {place + 1} has no name; name it with names=[…], join several header lines with "
            "header=2, or leave it out with drop=['']"
        )
    return SchemaError(what)


def known_columns(names: tuple[str, ...], asked: Iterable[str], where: str) -> None:
    """Refuse to speak of columns that are not there."""
    known = frozenset(names)
    for name in asked:
        if name not in known:
            raise SchemaError(
                f"{where}=… speaks of a column {name!r}{meant(name, names)}, but the columns are "
                + listed(names)
            )


def _weight_column(column: Column, declared: Declared) -> NDArray[np.float64]:
    numbers = bared(column, declared)[0].column
    if not isinstance(numbers, Numbers):
        raise TableError(f"the column of weights, {column.name}, holds something else than numbers")
    empty = np.isnan(numbers.values)
    if empty.any():
        raise TableError(f"{column.name}, row {int(np.argmax(empty)) + 1}: a weight must not be a hole")
    return numbers.values.copy()


def weight_column(opened: Source, declared: Declared, name: str) -> NDArray[np.float64]:
    """Return how often each row counts, as a column says."""
    [column] = opened.columns([name], declared.marks)
    return _weight_column(column, declared)


def row_weights(weights: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Return the weights of so many rows."""
    try:
        counts = np.array(weights, dtype=np.float64)  # a copy: the table's arrays never change
    except (TypeError, ValueError):
        raise TableError("weights must be numbers, one a row, or the name of a column") from None
    if counts.shape != (rows,):
        raise TableError(f"weights must be one a row: {rows} of them, not an array of shape {counts.shape}")
    return counts
