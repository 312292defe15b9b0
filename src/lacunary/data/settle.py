"""Settle the variables of rows that are too many for one table: what each part shows of a column is joined.

Only what decides a column's kind and states is kept of it: its different values, as long as they are few.
Where whole rows are few, these are kept as well, and are all there is to learn from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunary.data.alike import COUNT, Alike
from lacunary.data.bare import Declared
from lacunary.data.column import Column, Labels, Numbers, Source, parse_numbers
from lacunary.data.decide import TOO_MANY, decide
from lacunary.data.large import coded
from lacunary.data.schema import Label, Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import LacunaryError, SchemaError, TableError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Settled", "columns_of", "few_rows", "settle"]


@dataclass(frozen=True)
class Settled:
    """What one pass over the rows settles.

    Attributes
    ----------
    schema, decisions, notes
        The variables, and what was decided about them, a sentence each; what leaves a doubt.
    distinct
        The different rows with the number of times that each stands there, if they are few.
    """

    schema: Schema
    decisions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    distinct: pl.DataFrame | None = None


@dataclass
class _Glimpse:
    """What settles a column: its different values and how often they stand there, while they are few.

    Attributes
    ----------
    seen
        Whether there were rows.
    values
        How often each value was seen; of text files as text.
    many
        Whether there were more than `TOO_MANY`, all of which are no longer known.
    numbers, whole
        Whether all were numbers, and whole ones.
    """

    untyped: bool
    seen: bool = False
    values: Counter[Label] = field(default_factory=Counter)
    many: bool = False
    numbers: bool = True
    whole: bool = True
    origin: str = "text"
    levels: tuple[Label, ...] = ()
    ordered: bool = False


def settle(
    parts: Iterator[pl.DataFrame],
    names: Sequence[str],
    declared: Declared,
    untyped: Collection[str],
    alike: bool = True,
) -> Settled:
    """Return the variables that the columns of all parts become, by one pass over them.

    ``alike`` says whether equal rows are to be looked for.
    """
    glimpses = {name: _Glimpse(name in untyped) for name in names}
    same = Alike() if alike else None

    def look(frames: Sequence[pl.DataFrame]) -> None:
        for frame in frames:
            for name, glimpse in glimpses.items():
                _look(glimpse, _tally(frame, name), declared)

    for frame in parts:
        if same is not None:
            same.add(frame)
            if same.few:  # what they show of columns, different rows show
                continue
            look(same.pieces)
            same = None
        look([frame])
    rows = None if same is None else same.together()
    look([] if same is None else [rows] if rows is not None else same.pieces)
    if not any(glimpse.seen for glimpse in glimpses.values()):
        raise TableError("there are no rows in any of the files")
    return replace(_decided(glimpses, declared), distinct=rows)


def _tally(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the different values of a column, and how often each stands there."""
    import polars as pl

    if COUNT in frame.columns:
        return frame.group_by(name).agg(pl.col(COUNT).sum())
    return frame[name].value_counts(name=COUNT)


def _look(glimpse: _Glimpse, tally: pl.DataFrame, declared: Declared) -> None:
    """Take in what a part shows of a column."""
    import polars as pl

    glimpse.seen |= tally.height > 0
    column = tally.to_series(0)
    if column.dtype in (pl.Categorical, pl.Enum):
        if isinstance(column.dtype, pl.Enum):
            glimpse.levels, glimpse.ordered = tuple(column.dtype.categories.to_list()), True
        glimpse.origin, column = "categories", column.cast(pl.String)
    if glimpse.many and not glimpse.untyped and glimpse.numbers and not glimpse.whole:
        return
    there = column.is_not_null()
    values, many = column.filter(there).to_list(), tally[COUNT].filter(there).to_list()
    _kinds(glimpse, values, declared)
    for value, count in zip(values, many, strict=True):
        key = value.strip() if isinstance(value, str) else value
        if key in glimpse.values or len(glimpse.values) <= TOO_MANY:
            glimpse.values[key] += int(count)
        else:
            glimpse.many = True
            break


def _kinds(glimpse: _Glimpse, values: Sequence[Any], declared: Declared) -> None:
    """Note whether values are numbers, and whole."""
    seen = [value for value in values if not (isinstance(value, float) and value != value)]
    if glimpse.untyped:
        texts = [text for text in map(str.strip, seen) if text not in declared.marks]
        numbers = parse_numbers(texts) if texts else np.empty(0)
        glimpse.numbers &= numbers is not None
        glimpse.whole &= numbers is not None and bool(np.all(numbers == np.floor(numbers)))
        return
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in seen)
    glimpse.numbers &= numeric
    glimpse.whole &= numeric and all(float(v).is_integer() for v in seen)
    if seen and all(isinstance(v, bool) for v in seen):
        glimpse.origin = "booleans"


def _decided(glimpses: dict[str, _Glimpse], declared: Declared) -> Settled:
    variables: list[Variable] = []
    decisions: list[str] = []
    notes: list[str] = []
    problems: list[LacunaryError] = []
    for name, glimpse in glimpses.items():
        try:
            [found] = decide(_column(name, glimpse), declared)
        except LacunaryError as problem:
            problems.append(problem)
            continue
        variables.append(found.variable)
        decisions.append(found.decision.replace(f"{TOO_MANY + 1} distinct", f"more than {TOO_MANY} distinct"))
        notes.extend(f"{d.column}: {d.what}" for d in found.diagnostics)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        lines = "".join(f"\n- {problem}" for problem in problems)
        raise SchemaError(f"{len(problems)} columns cannot be read as they are:{lines}")
    return Settled(Schema(tuple(variables)), tuple(decisions), tuple(notes))


def _column(name: str, glimpse: _Glimpse) -> Column:
    """Return a short column that is decided about as the long one would be.

    Every value stands there as often as in the rows, but no oftener than decides whether values repeat.
    """
    most = 2 * len(glimpse.values) + 1
    counts = [min(count, most) for count in glimpse.values.values()]
    values = list(glimpse.values)
    if glimpse.numbers and (glimpse.many or not glimpse.untyped) and values:
        texts = [str(value) for value in values]
        parsed = parse_numbers(texts) if glimpse.untyped else np.array(values, dtype=np.float64)
        if parsed is not None:
            return Numbers(name, np.repeat(parsed, counts))
    levels = glimpse.levels or tuple(values)
    place = {level: k for k, level in enumerate(levels)}
    codes = np.repeat(np.array([place[value] for value in values], dtype=np.int64), counts)
    return Labels(name, levels, codes, glimpse.origin, glimpse.untyped, bool(glimpse.levels), glimpse.ordered)


def columns_of(frame: pl.DataFrame, untyped: Collection[str]) -> Source:
    """Return the columns of a part, as `lacunary.data.assemble` takes them."""

    def columns(wanted: Sequence[str], marks: Any) -> Iterator[Column]:
        return (_taken(frame[name], name in untyped) for name in wanted)

    return Source(tuple(frame.columns), columns, "polars")


def _taken(column: pl.Series, untyped: bool) -> Column:
    import polars as pl

    name = column.name
    if column.dtype.is_numeric():
        return Numbers(name, column.cast(pl.Float64).to_numpy().astype(np.float64))
    declared = isinstance(column.dtype, pl.Enum)
    origin = "categories" if column.dtype in (pl.Categorical, pl.Enum) else "text"
    if column.dtype == pl.Boolean:
        codes = column.cast(pl.Int32).fill_null(HOLE).to_numpy()
        return Labels(name, (False, True), codes, "booleans", declared=True)
    if origin == "text" and column.dtype != pl.String:
        raise TableError(
            f"{name} holds {column.dtype}, neither text nor numbers; leave it out with drop=[{name!r}]"
        )
    if untyped and origin == "text":
        column = column.str.strip_chars()
    levels, found = coded(column)
    return Labels(name, tuple(levels), found, origin, untyped, declared)


def few_rows(settled: Settled, make: Callable[[pl.DataFrame], Table]) -> Table | None:
    """Return the different rows as a table, in an order that depends on them alone; None if they are many."""
    if settled.distinct is None:
        return None
    from lacunary.data.source import distinct_rows

    table = make(settled.distinct.drop(COUNT))
    return distinct_rows(replace(table, weights=settled.distinct[COUNT].to_numpy().astype(np.float64)))
