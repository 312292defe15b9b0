"""A table in which any cell may be empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from lacunary.data.facts import Facts
from lacunary.data.parts import Here
from lacunary.data.pickling import given_state
from lacunary.data.schema import Label, Schema, Variable
from lacunary.data.wording import listed, meant
from lacunary.errors import SchemaError, StateError, TableError
from lacunary.registry import borrow

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from lacunary.data.describe import Description
    from lacunary.data.frame import Frame

__all__ = ["HOLE", "DistinctRows", "Table", "code_dtype", "positions", "unique_rows"]

T = TypeVar("T")

HOLE = -1
"""The code of an unobserved discrete cell; an unobserved continuous cell is NaN."""


ABREAST = 2**12
"""Cells of as many rows as are looked through side by side."""

SHOWN = 10
"""Rows that ``print`` shows of a table."""


@dataclass(frozen=True)
class DistinctRows:
    """The different rows of a table, each once.

    Attributes
    ----------
    first
        Where each distinct row first stands in the table; (distinct,).
    inverse
        Which distinct row each row of the table is; (rows,).
    weights
        Summed weight of the rows that are alike; (distinct,).
    """

    first: NDArray[np.int64]
    inverse: NDArray[np.int64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """A schema, the values, the holes and the weights of the rows. Nothing in it changes.

    Attributes
    ----------
    schema
        The variables, in the order of the columns.
    codes
        Positions of the states of the discrete variables, ``HOLE`` where unobserved;
        (rows, variables), with a column of ``HOLE`` for each continuous variable.
    reals
        Values of the continuous variables, NaN where unobserved; (rows, variables), or with no
        columns at all where every variable is discrete.
    weights
        How many times each row counts; (rows,). N, the sample size, is their sum.
    decisions
        What `read` decided about the columns, a sentence each; shown by `describe`.
    library
        The data frame library the table was read from, to which `to_frame` returns it.
    notes
        What of that leaves a doubt, a sentence each; shown by `describe`, too.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> votes.shape, int(votes.holes.sum()), votes[["party", "crime"]].schema.names
    ((435, 17), 392, ('party', 'crime'))
    >>> votes.take(slice(0, 10)).shape
    (10, 17)
    """

    schema: Schema
    codes: NDArray[np.signedinteger]
    reals: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    decisions: tuple[str, ...] = ()
    library: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows, columns = self.codes.shape
        if columns != len(self.schema):
            raise TableError(
                f"{len(self.schema)} variables are declared but the codes have {columns} columns"
            )
        if self.weights.size == 0 and rows:
            object.__setattr__(self, "weights", np.ones(rows))
        if self.reals.size == 0:
            width = 0 if all(v.discrete for v in self.schema) else columns
            object.__setattr__(self, "reals", np.full((rows, width), np.nan))
        self._check(rows)
        for array in (self.codes, self.reals, self.weights):
            array.flags.writeable = False

    def _check(self, rows: int) -> None:
        if self.reals.shape not in ((rows, 0), (rows, len(self.schema))):
            raise TableError(
                f"{rows} rows of {len(self.schema)} variables do not fit reals of {self.reals.shape}"
            )
        if self.weights.shape != (rows,):
            raise TableError(f"{rows} rows need {rows} weights, not {self.weights.size}")
        if not np.all(np.isfinite(self.weights)) or np.any(self.weights < 0):
            where = int(np.flatnonzero(~(np.isfinite(self.weights) & (self.weights >= 0)))[0])
            raise TableError(
                f"weights must be finite and not negative; row {where + 1} has {self.weights[where]}"
            )
        # One look at all codes is forty times as fast as one a column, and mostly enough.
        if self.codes.size and (self.codes.min() < HOLE or self.codes.max() >= min(self.schema.sizes)):
            low, high = _by_column(self.codes, np.min), _by_column(self.codes, np.max)
            wrong = np.flatnonzero((low < HOLE) | (high >= np.array(self.schema.sizes)))
            if wrong.size:
                raise TableError(f"{self.schema.names[wrong[0]]}: a code lies outside the variable's states")
        # Some rows at a time, which stay in the processor's cache and take no memory.
        starts = range(0, rows if self.reals.size else 0, ABREAST)
        if any(np.isinf(self.reals[start : start + ABREAST]).any() for start in starts):
            row, column = np.argwhere(np.isinf(self.reals))[0]
            name = self.schema.names[column]
            raise TableError(
                f"{name}, row {row + 1}: infinite values are not allowed; make it a hole or a number"
            )

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns there are."""
        return len(self), len(self.schema)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.schema.names

    def head(self, rows: int = 5) -> Table:
        """Return the table with its first rows only."""
        return self.take(slice(max(rows, 0)))

    @overload
    def __getitem__(self, wanted: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, wanted: slice | list[str] | tuple[str, ...]) -> Table: ...
    def __getitem__(self, wanted: str | slice | list[str] | tuple[str, ...]) -> NDArray[Any] | Table:
        """Return a column's values by its name, a table of some columns by their names, or a slice of rows.

        A column is an array: numbers, NaN where there is a hole, or states' labels, None where there is one.
        """
        if isinstance(wanted, slice):
            return self.take(wanted)
        if isinstance(wanted, list | tuple) and all(isinstance(name, str) for name in wanted):
            return self.select(wanted)
        if not isinstance(wanted, str):
            raise SchemaError(
                f"a table is indexed by a column's name, a list of names, or a slice of rows, not {wanted!r}"
            )
        column = self.schema.index(wanted)
        states = self.schema.variables[column].states
        if not self.schema.variables[column].discrete:
            return self.reals[:, column].copy()
        labels = np.empty(len(states) + 1, dtype=object)
        labels[: len(states)] = states  # the last stays None, and HOLE points to it
        return np.asarray(labels[self.codes[:, column]])

    def __str__(self) -> str:
        shown = self.head(SHOWN)
        cells = [[name, *(_cell(value) for value in shown[name])] for name in self.columns]
        widths = [max(map(len, column)) for column in cells]
        lines = ["  ".join(map(str.rjust, line, widths)) for line in zip(*cells, strict=True)]
        more = [f"… {len(self) - SHOWN} more rows"] if len(self) > SHOWN else []
        return "\n".join([repr(self), *lines, *more])

    def __repr__(self) -> str:
        empty, cells = int(self.holes.sum()), self.codes.size
        return f"<Table: {len(self)} rows, {len(self.schema)} variables, {empty} of {cells} cells holes>"

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def plot_holes(self) -> Any:
        """Return a figure of matplotlib: the patterns of holes, the commonest first, and the rows of each."""
        return borrow("holes as a figure")(self)

    @property
    def size(self) -> float:
        """N: the sum of the weights."""
        return float(self.weights.sum())

    def __reduce__(self) -> tuple[type[Table], tuple[Any, ...]]:
        # A copy, pickled or not, is made of what the table was made of, and cannot be written to either.
        return Table, tuple(given_state(self).values())

    @cached_property
    def holes(self) -> NDArray[np.bool_]:
        """Which cells are unobserved; (rows, variables)."""
        empty = self.codes == HOLE
        if self.reals.shape[1]:
            continuous = np.array([not v.discrete for v in self.schema])
            empty[:, continuous] = np.isnan(self.reals[:, continuous])
        return np.asarray(empty)

    @cached_property
    def distinct(self) -> DistinctRows:
        """The different rows, each once, with the summed weights."""
        first, inverse = unique_rows(self.codes, self.schema.sizes, self.reals)
        weights = np.bincount(inverse, weights=self.weights, minlength=len(first))
        return DistinctRows(first, inverse, weights.astype(np.float64, copy=False))

    @cached_property
    def facts(self) -> Facts:
        """Sizes, ranges, means and variances of the columns."""
        return Facts.of(self)

    @cached_property
    def doubts(self) -> str:
        """What is doubtful about the columns, in a line: identifiers, constants, dates, repeated columns.

        Every verb says it, and takes the columns as they are; empty where nothing is doubtful.
        """
        from lacunary.data.doubts import doubts

        return doubts(self)

    def mapped(self, function: Callable[[Table], Table]) -> Table:
        """Return the table that a function makes of this one; see `lacunary.data.source.Source`."""
        return function(self)

    def fold(self, function: Callable[[Table], T], merge: Callable[[T, T], T] = add) -> T:
        """Return what a function says of the table: it has one part, so there is nothing to merge."""
        return function(self)

    def laid(self, function: Callable[[Table], T], keep: bool = True) -> Here[T]:
        """Return what a function makes of the table: its one part."""
        return Here((function(self),))

    def whole(self, purpose: str) -> Table:
        """Return the table itself: its rows are in one place, whatever they are needed for."""
        return self

    def select(self, names: Sequence[str]) -> Table:
        """Return the table with these columns only, in this order."""
        columns = [self.schema.index(name) for name in names]
        schema = Schema(tuple(self.schema.variables[c] for c in columns))
        reals = self.reals[:, columns] if self.reals.shape[1] else self.reals
        return replace(self, schema=schema, codes=self.codes[:, columns], reals=reals)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Table:
        """Return the table with these rows only, in this order."""
        return replace(self, codes=self.codes[rows], reals=self.reals[rows], weights=self.weights[rows])

    def align(self, schema: Schema) -> Table:
        """Return the table as a model over ``schema`` sees it: its columns, its order, its state codes.

        Columns the model does not know are left out. A variable the model calls hidden is never observed:
        it needs no column, and if there is one it is seen as holes. Every other variable needs its column.
        """
        hidden = [i for i, variable in enumerate(schema) if variable.hidden]
        if schema == self.schema and self.holes[:, hidden].all():
            return self
        rows = len(self)
        codes = np.full((rows, len(schema)), HOLE, dtype=code_dtype(schema.sizes))
        continuous = not all(v.discrete for v in schema)
        reals = np.full((rows, len(schema) if continuous else 0), np.nan)
        for column, variable in enumerate(schema):
            if variable.hidden:
                continue
            if variable.name not in self.schema:
                raise SchemaError(
                    f"the model's variable {variable.name!r} is not a column of the table"
                    f"{meant(variable.name, self.schema.names)}; "
                    "add the column, or declare the variable hidden"
                )
            given = self.schema.index(variable.name)
            if variable.kind != self.schema.variables[given].kind:
                raise SchemaError(
                    f"{variable.name} is {variable.kind} in the model but "
                    f"{self.schema.variables[given].kind} in the table; read the table with kinds=…"
                )
            if variable.discrete:
                codes[:, column] = self._recode(given, variable)
            else:
                reals[:, column] = self.reals[:, given]
        return replace(self, schema=schema, codes=codes, reals=reals)

    def describe(self) -> Description:
        """Return what the table holds and what `read` decided about it, to print or to keep as JSON."""
        from lacunary.data.describe import describe

        return describe(self)

    @overload
    def to_frame(self, library: Literal["pandas"], *, weights: str | None = None) -> pd.DataFrame: ...
    @overload
    def to_frame(self, library: Literal["polars"], *, weights: str | None = None) -> pl.DataFrame: ...
    @overload
    def to_frame(self, library: Literal["pyarrow"], *, weights: str | None = None) -> pa.Table: ...
    @overload
    def to_frame(
        self, library: Literal["dict"], *, weights: str | None = None
    ) -> dict[str, list[Label | None]]: ...
    @overload
    def to_frame(self, library: str | None = None, *, weights: str | None = None) -> Frame: ...
    def to_frame(self, library: str | None = None, *, weights: str | None = None) -> Frame:
        """Return the table in a data frame library; see `lacunary.data.frame.to_frame`."""
        from lacunary.data.frame import to_frame

        return to_frame(self, library, weights=weights)

    def _recode(self, column: int, target: Variable) -> NDArray[np.signedinteger]:
        source = self.schema.variables[column]
        codes = self.codes[:, column]
        if source.states == target.states:
            return codes
        translation = np.append(positions(source.states, target), HOLE)
        unknown = (translation[codes] == HOLE) & (codes != HOLE)
        if np.any(unknown):
            row = int(np.flatnonzero(unknown)[0])
            raise StateError(
                f"{target.name}, row {row + 1}: there is no state {source.states[codes[row]]!r}"
                f"{meant(source.states[codes[row]], target.states)}; the states are {listed(target.states)}"
            )
        return np.asarray(translation[codes])


def _by_column(codes: NDArray[np.signedinteger], least: Callable[..., NDArray[Any]]) -> NDArray[Any]:
    """Return the least, or the greatest, code of every column; many rows side by side are one long row."""
    rows, columns = codes.shape
    many = max(ABREAST // max(columns, 1), 1)
    whole = rows - rows % many
    if many == 1 or not whole or not codes.flags.c_contiguous:
        return least(codes, axis=0)
    found = least(codes[:whole].reshape(-1, many * columns), axis=0).reshape(many, columns)
    return least(np.concatenate([found, codes[whole:]]), axis=0)


def _cell(value: Any) -> str:
    """Return a cell as it is printed; a hole is a question mark."""
    if value is None or value != value:
        return "?"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def code_dtype(sizes: Sequence[int]) -> np.dtype[np.signedinteger]:
    """Return the smallest signed type that holds the codes of variables with so many states, and `HOLE`."""
    return np.min_scalar_type(-max(sizes, default=0) - 1)


def positions(labels: Sequence[Label], variable: Variable) -> NDArray[np.int64]:
    """Return where each label stands among the variable's states, `HOLE` where it is none of them.

    Files know text alone, so a label that is no state but is spelled like one is that state:
    the integer 1 is the state ``"1"``, and the boolean true the state ``"True"`` or ``"true"``.
    """
    known = list(map(variable.code.get, labels))
    if None not in known:
        return np.array(known, dtype=np.int64)
    spelled = {str(state): position for position, state in enumerate(variable.states)}

    def position(label: Label) -> int:
        found = variable.code.get(label, spelled.get(str(label), HOLE))
        return spelled.get(str(label).lower(), HOLE) if found == HOLE and isinstance(label, bool) else found

    return np.array([position(label) for label in labels], dtype=np.int64)


def unique_rows(
    codes: NDArray[np.signedinteger], sizes: Sequence[int] | NDArray[np.int64], reals: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First occurrence of every distinct row, and which distinct row each row is.

    Rows become one integer in mixed radix, a group of columns at a time where they do not fit in
    62 bits together. If few rows are possible they are found by counting, in time linear in the
    number of rows, else by sorting. Continuous columns enter by the rank of their value.
    """
    key, capacity = np.zeros(codes.shape[0], dtype=np.int64), 1
    order: _Order | None = None
    for column, size in enumerate(map(int, sizes)):
        digits, radix = (codes[:, column], size + 1) if size else _ranks(reals[:, column])
        if capacity * radix >= 2**62:
            order, capacity = _ordered(key, order), 1
            key[:] = 0  # in place, here and below: the table may fill most of the memory
        key *= radix
        key += digits
        if size:
            key += -HOLE
        capacity *= radix
    if order is None and capacity <= max(4 * len(key), 2**16):
        return _by_counting(key, capacity)
    rows, new = _ordered(key, order)
    inverse = key
    inverse[rows] = np.cumsum(new) - 1
    first = np.minimum.reduceat(rows, np.flatnonzero(new)) if len(rows) else rows
    return first.astype(np.int64, copy=False), inverse


class _Order(NamedTuple):
    """Rows in an order, and whether each is unlike the one before it, as far as was looked."""

    rows: NDArray[np.int64]
    new: NDArray[np.bool_]


def _ordered(key: NDArray[np.int64], before: _Order | None) -> _Order:
    """Return rows ordered by a key too: only those that were alike before, mostly few, are sorted."""
    if before is None:
        rows = np.argsort(key)
        new = np.ones(len(rows), dtype=np.bool_)
        new[1:] = (ordered := key[rows])[1:] != ordered[:-1]
        return _Order(rows, new)
    rows, new = before
    alike = np.flatnonzero(~(new & np.append(new[1:], True)))
    some = rows[alike]
    some = some[np.lexsort((key[some], np.cumsum(new)[alike]))]
    rows[alike] = some
    new[alike[1:]] |= key[some[1:]] != key[some[:-1]]
    return before


def _by_counting(key: NDArray[np.int64], capacity: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first = np.full(capacity, -1, dtype=np.int64)
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    present = np.flatnonzero(first >= 0)
    rank = np.zeros(capacity, dtype=np.int64)
    rank[present] = np.arange(len(present))
    return first[present], rank[key]


def _ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    distinct, rank = np.unique(values, return_inverse=True)
    return rank.astype(np.int64), max(len(distinct), 1)
