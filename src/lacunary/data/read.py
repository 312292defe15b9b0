"""From a file, a data frame, an array or plain Python to a table."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.data.column import Column, Numbers, Source
from lacunary.data.delimited import delimited
from lacunary.data.plain import from_array, from_mapping, from_rows
from lacunary.data.schema import Kind, Label, Schema
from lacunary.data.settle import Declared, Settled, settle, without_marks
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import FileError, SchemaError, TableError

__all__ = ["HOLES", "read"]

HOLES = ("", "NA", "NaN", "?")
"""Cells that are holes unless told otherwise."""

TEXT = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat")
ARROW = (".parquet", ".pq", ".feather", ".arrow", ".ipc")


def read(
    source: Any,
    *,
    schema: Schema | None = None,
    kinds: Kind | Mapping[str, Kind] | None = None,
    holes: Iterable[Label] = HOLES,
    weights: str | ArrayLike | None = None,
    states: Mapping[str, Sequence[Label]] | None = None,
    ordered: Collection[str] = (),
    drop: Collection[str] = (),
) -> Table:
    """Return a source as a table, in which any cell may be a hole.

    What is decided about each column is kept in ``table.decisions`` and shown by
    ``table.describe()``:

    - text, categories and booleans are discrete. Categories keep their order, text is sorted. Text
      with nearly as many labels as rows is refused, as it names rows and not states.
    - whole numbers are discrete up to 20 distinct values (10 if most occur but once) and continuous above.
      How they are stored does not matter: integers with holes are floats in NumPy and pandas.
    - other numbers are continuous.
    - in text files a column of which every cell is a number holds numbers, all others hold text,
      also ``true`` and ``false``. Integers with leading zeros or of more than 15 digits are text.

    Parameters
    ----------
    source
        A path to a CSV or TSV file (also gzipped; UTF-8 with a header line) or to a Parquet, Feather
        or Arrow file (needs pyarrow); a pandas, polars or pyarrow frame; a two-dimensional array,
        whose columns are called x1, x2, … or as in the schema; a structured array; a mapping from
        names to columns; a list of rows, each a mapping; or a table.
    schema
        The variables the columns must fit. Columns it does not name are left out; a variable may lack
        a column only if it is hidden.
    kinds
        "discrete" or "continuous", for all columns or by name.
    holes
        Cells that are holes, beside None, NaN and null. A mark that spells a number, such as
        -9, is a hole in columns of numbers too. A declared state is never a hole.
    weights
        How many times each row counts: an array, or the name of a column, which then is no variable.
    states
        The states of columns, by name, in order. Other values in these columns are refused.
    ordered
        Names of discrete columns whose states are in a meaningful order.
    drop
        Names of columns to leave out.

    Raises
    ------
    SchemaError, StateError, TableError, FileError
        If the source cannot be read as asked; the message names the file, column, row or line.
    """
    if isinstance(source, Table):
        if kinds or states or ordered or drop or isinstance(weights, str):
            raise SchemaError("a table has its kinds and states already; declare them where it is read")
        table = source if weights is None else replace(source, weights=_weights(weights, len(source)))
        return table if schema is None else table.align(schema)
    if schema is not None and (kinds or states or ordered):
        raise SchemaError("a schema says all about kinds, states and order; give either it or them")
    opened = _open(source, schema)
    marks = frozenset(map(str, [holes] if isinstance(holes, str) else holes))
    wanted = _wanted(opened.names, drop, weights, schema)
    if schema is None:
        return _table(opened, wanted, _from_caller(opened.names, kinds, states, ordered, marks), weights)
    table = _table(opened, wanted, _from_schema(schema, marks), weights).align(schema)
    return replace(table, decisions=(*table.decisions, *_left_out(opened.names, wanted, drop)))


def _table(
    opened: Source, wanted: Sequence[str], declared: Declared, weights: str | ArrayLike | None
) -> Table:
    """Settle the wanted columns and put them together."""
    settled: list[Settled] = []
    counts: NDArray[np.float64] | None = None
    rows: dict[int, str] = {}
    for column in opened.columns(wanted, declared.marks):
        rows.setdefault(len(column), column.name)
        if isinstance(weights, str) and column.name == weights:
            counts = _weight_column(column, declared.marks)
        elif len(column):
            settled.append(settle(column, declared))
    if len(rows) > 1:
        raise TableError(
            "columns differ in length: " + ", ".join(f"{name} has {n} rows" for n, name in rows.items())
        )
    if not settled:
        raise TableError("there are no rows")
    if weights is not None and not isinstance(weights, str):
        counts = _weights(weights, *rows)
    return _joined(settled, counts, opened.library)


def _joined(settled: list[Settled], counts: NDArray[np.float64] | None, library: str | None) -> Table:
    schema = Schema(tuple(column.variable for column in settled))
    rows = len(settled[0].values)
    codes = np.full((rows, len(schema)), HOLE, dtype=code_dtype(schema.sizes))
    reals = np.full((rows, 0 if all(v.discrete for v in schema) else len(schema)), np.nan)
    for place, column in enumerate(settled):
        (codes if column.variable.discrete else reals)[:, place] = column.values
    decisions = tuple(column.decision for column in settled)
    return Table(schema, codes, reals, np.ones(rows) if counts is None else counts, decisions, library)


def _wanted(
    names: tuple[str, ...], drop: Collection[str], weights: str | ArrayLike | None, schema: Schema | None
) -> list[str]:
    """Return the columns to read; names must be there, distinct, and include those the caller speaks of."""
    dropped = {drop} if isinstance(drop, str) else set(drop)
    _known(names, dropped, "drop")
    weight = weights if isinstance(weights, str) else None  # an array compares cell by cell
    _known(names, [] if weight is None else [weight], "weights")
    wanted = [name for name in names if name not in dropped or name == weight]
    if schema is not None:
        seen = {variable.name for variable in schema if not variable.hidden}
        wanted = [name for name in wanted if name in seen or name == weight]
    for place, name in enumerate(wanted):
        if not name:
            raise SchemaError(
                f"column {names.index(name) + 1} has no name; name it, or leave it out with drop=['']"
            )
        if name in wanted[:place]:
            raise SchemaError(
                f"two columns are called {name!r}; names must be distinct (is there a header line?)"
            )
    if not [name for name in wanted if name != weight]:
        missing = "" if schema is None else f" of {', '.join(map(repr, schema.names))}"
        raise TableError(
            f"there is no column{missing} to read; the columns are " + ", ".join(map(repr, names))
        )
    return wanted


def _left_out(names: Sequence[str], wanted: Sequence[str], drop: Collection[str]) -> Iterator[str]:
    for name in names:
        if name not in wanted and name not in drop:
            yield f"{name}: left out, as the schema does not name it"


def _known(names: tuple[str, ...], asked: Iterable[str], where: str) -> None:
    for name in asked:
        if name not in names:
            raise SchemaError(
                f"{where}=… speaks of a column {name!r}, but the columns are {', '.join(map(repr, names))}"
            )


def _from_schema(schema: Schema, marks: frozenset[str]) -> Declared:
    return Declared(
        kinds={v.name: v.kind for v in schema},
        states={v.name: v.states for v in schema if v.discrete},
        ordered=[v.name for v in schema if v.ordered],
        marks=marks,
        may_be_empty=schema.names,
    )


def _from_caller(
    names: tuple[str, ...],
    kinds: Kind | Mapping[str, Kind] | None,
    states: Mapping[str, Sequence[Label]] | None,
    ordered: Collection[str],
    marks: frozenset[str],
) -> Declared:
    by_name = dict.fromkeys(names, kinds) if isinstance(kinds, str) else dict(kinds or {})
    lists = {name: _states(name, given) for name, given in (states or {}).items()}
    order = {ordered} if isinstance(ordered, str) else set(ordered)
    for where, asked in (("kinds", by_name), ("states", lists), ("ordered", order)):
        _known(names, asked, where)
    for name, kind in by_name.items():
        if kind not in ("discrete", "continuous"):
            raise SchemaError(f"{name}: kind must be 'discrete' or 'continuous', not {kind!r}")
        if kind == "continuous" and not isinstance(kinds, str) and name in lists:
            raise SchemaError(f"{name} is declared continuous, and with states; it cannot be both")
    told = () if isinstance(kinds, str) else [name for name, kind in by_name.items() if kind == "continuous"]
    return Declared(by_name, lists, order, marks, told)


def _states(name: str, given: Sequence[Label]) -> tuple[Label, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SchemaError(f"states of {name} must be a list of labels, not {given!r}")
    labels = tuple(state.item() if isinstance(state, np.generic) else state for state in given)
    for state in labels:
        if not isinstance(state, Label):
            raise SchemaError(f"{name}: a state is a text, number or boolean, not {state!r}")
    return labels


def _weight_column(column: Column, marks: frozenset[str]) -> NDArray[np.float64]:
    numbers, _ = without_marks(column, marks)
    if not isinstance(numbers, Numbers):
        raise TableError(f"the column of weights, {column.name}, holds something else than numbers")
    empty = np.isnan(numbers.values)
    if empty.any():
        raise TableError(f"{column.name}, row {int(np.argmax(empty)) + 1}: a weight must not be a hole")
    return numbers.values.copy()


def _weights(weights: ArrayLike, rows: int) -> NDArray[np.float64]:
    try:
        counts = np.array(weights, dtype=np.float64)  # a copy: the table's arrays never change
    except (TypeError, ValueError):
        raise TableError("weights must be numbers, one a row, or the name of a column") from None
    if counts.shape != (rows,):
        raise TableError(f"weights must be one a row: {rows} of them, not an array of shape {counts.shape}")
    return counts


def _open(source: Any, schema: Schema | None) -> Source:
    """Return the columns of whatever was given."""
    if isinstance(source, str | os.PathLike):
        return _file(source)
    if isinstance(source, np.ndarray):
        return from_array(source, schema)
    if isinstance(source, Mapping):
        return from_mapping(source)
    if isinstance(source, list | tuple):
        return from_rows(source)
    from lacunary.data.frame import from_frame  # narwhals takes time to import, and only frames need it

    return from_frame(source)


def _file(source: str | os.PathLike[str]) -> Source:
    path = Path(os.fsdecode(source))
    suffix = path.with_suffix("").suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()
    if not os.path.isfile(path):
        what = "is a directory" if os.path.isdir(path) else "does not exist"
        raise FileError(f"{str(path)[:200]!r} {what}; a file is read by its path")
    if path.suffix.lower() in ARROW:
        from lacunary.data.frame import arrow_file

        return arrow_file(path)
    if suffix not in TEXT:
        raise FileError(
            f"{path}: tables are read from {', '.join((*TEXT, *ARROW))}, by suffix; text also as .gz"
        )
    return delimited(path)
