"""From a file, a data frame, an array or plain Python to a table."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lacunary.budget import budgeted
from lacunary.data.assemble import Assembled, assemble, known_columns, row_weights
from lacunary.data.bare import Declared
from lacunary.data.column import Source
from lacunary.data.delimited import NotUtf8, delimited
from lacunary.data.describe import Description, describe
from lacunary.data.foreign import (
    FOREIGN,
    TEXT,
    check_plain,
    foreign,
    is_url,
    laid_down,
    other_encoding,
)
from lacunary.data.many import Reads
from lacunary.data.plain import from_array, from_mapping, from_rows
from lacunary.data.schema import Kind, Label, Schema
from lacunary.data.spelling import Spelling
from lacunary.data.table import Table
from lacunary.data.tidy import Opening
from lacunary.errors import FileError, LacunaryError, SchemaError

__all__ = ["HOLES", "Reading", "examine", "read", "settings_of"]

HOLES = ("", "NA", "NaN", "?")
"""Cells that are holes unless told otherwise."""

AS_IT_IS, AS_IT_SEEMS = Opening(), Spelling()
ARROW = (".parquet", ".pq", ".feather", ".arrow", ".ipc")


@budgeted
def read(
    source: Any,
    *,
    schema: Schema | None = None,
    kinds: Kind | Mapping[str, Kind] | None = None,
    holes: Iterable[Label] = (),
    not_holes: Iterable[Label] = (),
    weights: str | ArrayLike | None = None,
    states: Mapping[str, Sequence[Label]] | None = None,
    ordered: Collection[str] = (),
    drop: Collection[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    dates: str | Mapping[str, str] = "days",
    day_first: bool | None = None,
    sheet: str | None = None,
    query: str | None = None,
    encoding: str | None = None,
    comment: str | None = None,
    header: bool | int = True,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
    quote: str = '"',
    escape: str | None = None,
    skip: int = 0,
    skip_end: int = 0,
    ragged: bool = False,
) -> Table:
    """Return a source as a table, in which any cell may be a hole.

    What is decided about each column is kept in ``table.decisions``, what looks doubtful in
    ``table.notes``, and ``table.describe()`` shows both:

    - text, categories and booleans are discrete. Categories keep their order, text is sorted. Text
      with nearly as many labels as rows is refused, as it names rows and not states.
    - whole numbers are discrete up to 20 distinct values (10 if most occur but once) and continuous above.
      How they are stored does not matter: integers with holes are floats in NumPy and pandas.
    - other numbers are continuous.
    - in text files a column of which every cell is a number holds numbers, all others hold text,
      also ``true`` and ``false``. Integers with leading zeros or of more than 15 digits are text.
    - text of which every cell is a number in one and the same dress is numbers: ``1,234.5``, ``1.234,5``,
      ``$12``, ``(12)``, ``12 %``, ``12 kg``; the unit is kept. Dates, times and durations are numbers that
      count from the first one, whether they are text or have a type of their own.

    A warning says where numbers have become labels, for a few cells that are none, and where cells leave
    open what they mean.

    Parameters
    ----------
    source
        A path to a CSV or TSV file (also in .gz, .bz2, .xz, .zip), to a Parquet, Feather or Arrow file, a
        spreadsheet (.xlsx, .xls, .ods), a file of SPSS, Stata or SAS (.sav, .dta, .sas7bdat, with value
        labels and missing codes), JSON records (.json, .ndjson) or a database (.sqlite, sqlite:///x.db,
        duckdb:///x.duckdb); "-" for standard input, a pipe, an open file; a pandas, polars or pyarrow frame;
        a two-dimensional array, whose columns are called x1, x2, … or as in the schema; a structured array; a
        mapping from names to columns; a list of rows, each a mapping; or a table.
    schema
        The variables the columns must fit. Columns it does not name are left out; a variable may lack
        a column only if it is hidden.
    kinds
        "discrete" or "continuous", for all columns or by name.
    holes
        Cells that are holes, beside empty ones, NA, NaN and ?, and None and null. A mark that spells a
        number, such as -9, is a hole in columns of numbers too. A declared state is never a hole.
    not_holes
        Those of the empty cell, NA, NaN and ? that are values here.
    weights
        How many times each row counts: an array, or the name of a column, which then is no variable.
    states
        The states of columns, by name, in order. Other values in these columns are refused.
    ordered
        Names of discrete columns whose states are in a meaningful order.
    drop
        Names of columns to leave out.
    decimal, thousands
        What numbers written as text have before their decimals, "." or ",", and between thousands: ",", ".",
        " ", "'" or nothing, "". By default each column tells, and where it does not a note says so.
    dates
        What becomes of dates and times, in all columns or by name: "days", numbers that count days (or hours,
        …) from the first; "parts", columns "NAME year", "NAME month", "NAME weekday" (and "NAME hour"); or
        "text", states.
    day_first
        Whether 3/4/2024 is in April. By default each column tells, and where it does not a note says so.
    sheet, query
        Which sheet of a spreadsheet, by default the first; what to ask a database, by default its one table.
    encoding
        Of a text file that is not UTF-8, such as "latin-1"; UTF-16 and Western files are recognised.
    comment
        What lines begin with that are left out, such as "#".
    header, names
        How many lines of a text file name the columns: one; several, joined; or none, False, so that they are
        called x1, x2, …. Or their names, in place of those.
    delimiter, quote, escape
        What parts the cells of a text file, by default what parts its lines alike (" " for any number of
        blanks); what stands around cells that hold it, nothing if ""; what stands before a quote in a cell.
    skip, skip_end
        Lines at the beginning and rows at the end of a text file that are no part of the table. By default
        titles and footnotes are recognised.
    ragged
        Whether rows of a text file with too few cells end in holes; else they are refused.

    Raises
    ------
    SchemaError, StateError, TableError, FileError
        If the source cannot be read as asked; the message names the file, line or row, and every column
        that has to be looked after.

    Examples
    --------
    >>> import lacunary as lac
    >>> table = lac.read({"age": [31.5, None, 58.0], "smokes": ["no", "yes", None]})
    >>> table.shape, int(table.holes.sum()), table.schema["smokes"].states
    ((3, 2), 2, ('no', 'yes'))
    """
    if not isinstance(source, Table):
        opening = Opening(
            sheet, query, encoding, comment, header, names, delimiter, quote, escape, skip, skip_end, ragged
        )  # fmt: skip
        spelling = Spelling(decimal, thousands, dates, day_first)
        settings = Reading(
            schema, kinds, holes, not_holes, weights, states, ordered, drop, spelling, opening
        )  # fmt: skip
        found = _assembled(source, settings)
        table = found.whole
        for note in found.misread:
            warnings.warn(note, stacklevel=2)
        return table
    if kinds or states or ordered or drop or isinstance(weights, str):
        raise SchemaError("a table has its kinds and states already; declare them where it is read")
    table = source if weights is None else replace(source, weights=row_weights(weights, len(source)))
    return table if schema is None else table.align(schema)


@budgeted
def examine(source: Any, **settings: Any) -> Description:
    """Return what a source holds as `read` would read it, and every problem that keeps it from doing so.

    Columns that `read` refuses are in the description, with what to do about each in ``problems``. The
    settings are those of `read`.

    Examples
    --------
    >>> import lacunary as lac
    >>> found = lac.examine({"age": [31, None, 58], "smokes": ["no", "yes", None]})
    >>> found.problems
    ()
    """
    if isinstance(source, Table):
        return describe(read(source, **settings))
    spelling = Spelling(**settings_of(Spelling, settings))
    opening = Opening(**settings_of(Opening, settings))
    found = _assembled(source, Reading(**settings, spelling=spelling, opening=opening))
    return describe(found.table, found.refused, found.names)


def settings_of(kind: type[Spelling] | type[Opening], settings: dict[str, Any]) -> dict[str, Any]:
    """Take out of settings those that a kind of settings has."""
    return {f.name: settings.pop(f.name) for f in fields(kind) if f.name in settings}


@dataclass(frozen=True)
class Reading:
    """How a source is to be read; see `read`."""

    schema: Schema | None = None
    kinds: Kind | Mapping[str, Kind] | None = None
    holes: Iterable[Label] = ()
    not_holes: Iterable[Label] = ()
    weights: str | ArrayLike | None = None
    states: Mapping[str, Sequence[Label]] | None = None
    ordered: Collection[str] = ()
    drop: Collection[str] = ()
    spelling: Spelling | None = AS_IT_SEEMS
    opening: Opening = AS_IT_IS

    def __post_init__(self) -> None:
        if self.schema is not None and (self.kinds or self.states or self.ordered):
            raise SchemaError("a schema says all about kinds, states and order; give either it or them")

    @property
    def marks(self) -> frozenset[str]:
        """What a cell that is a hole holds, as text."""
        return (frozenset(HOLES) - _texts(self.not_holes)) | _texts(self.holes)

    def keeps_text(self, name: str) -> bool:
        """Whether a column's texts are states, as is said of it, or only plain numbers are looked for."""
        if self.spelling is None or name in (self.states or ()):
            return True
        if self.schema is not None:
            return name in self.schema and self.schema[name].discrete
        kinds = self.kinds or {}
        return (kinds if isinstance(kinds, str) else kinds.get(name)) == "discrete"

    def declared(self, names: tuple[str, ...]) -> Declared:
        """Return what is said about columns of these names."""
        return _from_caller(names, self) if self.schema is None else _from_schema(self.schema, self)

    def settled(self, schema: Schema) -> Reading:
        """Return the same once the variables are known."""
        return replace(self, schema=schema, kinds=None, states=None, ordered=())


def _assembled(source: Any, how: Reading) -> Assembled:
    try:
        return _laid_down(source, how)
    except NotUtf8:
        if how.opening.encoding is not None or not isinstance(source, str | os.PathLike) or source == "-":
            raise
        guess, note = other_encoding(os.fsdecode(source))
        found = _laid_down(source, replace(how, opening=replace(how.opening, encoding=guess)))
        return replace(found, table=replace(found.table, notes=(note, *found.table.notes)))


def _laid_down(source: Any, how: Reading) -> Assembled:
    with laid_down(source, how.opening) as laid:
        plain, said, notes = laid.source, laid.said, laid.notes
        path = os.fsdecode(plain) if isinstance(plain, str | os.PathLike) else ""
        if is_url(path) or (Path(path).suffix.lower() in FOREIGN and os.path.isfile(path)):
            plain, done, doubtful = foreign(path, how.opening)
            said, notes = (*said, done), (*notes, *doubtful)
        else:
            check_plain(path or "what is given", how.opening)
        try:
            found = _put_together(plain, how, laid.delimiter)
        except NotUtf8:
            raise
        except LacunaryError as problem:
            said_of = str(problem).replace(path, laid.name) if laid.name else str(problem)
            more = notes if isinstance(problem, FileError) else ()
            raise type(problem)("; ".join((said_of, *more))) from None
    table = found.table
    told = replace(table, decisions=(*said, *table.decisions), notes=(*notes, *table.notes))
    return replace(found, table=told, misread=(*notes, *found.misread)) if said or notes else found


def _put_together(source: Any, how: Reading, delimiter: str | None) -> Assembled:
    opened = _open(source, how, delimiter)
    found = assemble(opened, how.declared(opened.names), how.weights, how.drop, how.schema)
    if how.schema is None:
        return found
    table = found.whole.align(how.schema)
    left_out = _left_out(opened.names, how)
    return replace(found, table=replace(table, decisions=(*table.decisions, *left_out)))


def _texts(labels: Iterable[Label]) -> frozenset[str]:
    return frozenset(map(str, [labels] if isinstance(labels, str) else labels))


def _left_out(names: Sequence[str], how: Reading) -> Iterator[str]:
    """Say which columns the schema does not name."""
    known = {variable.name for variable in how.schema or () if not variable.hidden} | set(how.drop)
    for name in names:
        if name not in known and not (isinstance(how.weights, str) and name == how.weights):
            yield f"{name}: left out, as the schema does not name it"


def _from_schema(schema: Schema, how: Reading) -> Declared:
    return Declared(
        kinds={v.name: v.kind for v in schema},
        states={v.name: v.states for v in schema if v.discrete},
        ordered=[v.name for v in schema if v.ordered],
        marks=how.marks,
        may_be_empty=schema.names,
        spelling=how.spelling,
        units={v.name: v.unit for v in schema if v.unit},
    )


def _from_caller(names: tuple[str, ...], how: Reading) -> Declared:
    kinds, alike = how.kinds, isinstance(how.kinds, str)
    by_name = dict.fromkeys(names, kinds) if isinstance(kinds, str) else dict(kinds or {})
    lists = {name: _states(name, given) for name, given in (how.states or {}).items()}
    order = {how.ordered} if isinstance(how.ordered, str) else set(how.ordered)
    for where, asked in (("kinds", by_name), ("states", lists), ("ordered", order)):
        known_columns(names, asked, where)
    for name, kind in by_name.items():
        if kind not in ("discrete", "continuous"):
            raise SchemaError(f"{name}: kind must be 'discrete' or 'continuous', not {kind!r}")
        if kind == "continuous" and not alike and name in lists:
            raise SchemaError(f"{name} is declared continuous, and with states; it cannot be both")
    told = () if alike else [name for name, kind in by_name.items() if kind == "continuous"]
    if how.spelling is not None and not isinstance(how.spelling.dates, str):
        known_columns(names, how.spelling.dates, "dates")
    return Declared(by_name, lists, order, how.marks, told, how.spelling)


def _states(name: str, given: Sequence[Label]) -> tuple[Label, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SchemaError(f"states of {name} must be a list of labels, not {given!r}")
    labels = tuple(state.item() if isinstance(state, np.generic) else state for state in given)
    for state in labels:
        if not isinstance(state, Label):
            raise SchemaError(f"{name}: a state is a text, number or boolean, not {state!r}")
    return labels


def _open(source: Any, how: Reading, delimiter: str | None) -> Source:
    """Return the columns of whatever was given."""
    if isinstance(source, str | os.PathLike):
        return _file(source, how, delimiter)
    if isinstance(source, np.ndarray):
        return from_array(source, how.schema)
    if isinstance(source, Mapping):
        return from_mapping(source)
    if isinstance(source, list | tuple):
        return from_rows(source)
    from lacunary.data.frame import from_frame  # narwhals takes time to import, and only frames need it

    return from_frame(source)


def _file(source: str | os.PathLike[str], how: Reading, delimiter: str | None) -> Source:
    path = Path(os.fsdecode(source))
    suffix = path.with_suffix("").suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()
    if not os.path.isfile(path):
        what = "is a directory" if os.path.isdir(path) else "does not exist"
        raise FileError(f"{str(path)[:200]!r} {what}; a file is read by its path")
    if path.suffix.lower() in ARROW:
        from lacunary.data.arrow import arrow_file

        return arrow_file(path)
    if path.suffix.lower() in (".zst", ".lz4", ".7z", ".rar", ".tar", ".tgz"):
        raise FileError(f"{path} is packed in a way that is not read; unpack it first, or pack it as .gz")
    if suffix not in TEXT:
        raise FileError(
            f"{path}: tables are read from {', '.join((*TEXT, *ARROW, *FOREIGN))}, by suffix; text "
            "also as .gz, .bz2, .xz and .zip"
        )
    spelling = how.spelling or AS_IT_SEEMS
    reads = Reads(spelling, how.keeps_text)
    return delimited(path, spelling.decimal == ",", delimiter, spelling.thousands == ".", reads)
