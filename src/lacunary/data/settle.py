"""Settle the variables of rows that are too many for one table: what each part shows of a column is joined.

Only what decides a column's kind and states is kept of it: its different values, as long as they are few.
What becomes of each different text, number in its dress or date is then known, and parts are read by looking
it up: every part as all of them together would be. Where whole rows are few, these are kept as well, and are
all there is to learn from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.alike import COUNT, SHORT, Alike
from lacunary.data.assemble import assemble
from lacunary.data.bare import Declared
from lacunary.data.coded import coded
from lacunary.data.column import Column, Labels, Numbers, Source, parse_numbers
from lacunary.data.decide import TOO_MANY, Decided, decide
from lacunary.data.diagnostics import notes
from lacunary.data.large import TEXTS
from lacunary.data.schema import Label, Schema, Variable
from lacunary.data.spelling import Spelling, spelled
from lacunary.data.table import HOLE, Table
from lacunary.errors import FileError, LacunaryError, SchemaError, TableError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Dressed", "Known", "Reader", "Settled", "columns_of", "few_rows", "settle", "settle_one"]

ROWS = 2**16
"""Rows of a column, as it is decided about, up to which each value stands there as often as it does."""


@dataclass(frozen=True, eq=False)
class Known:
    """What becomes of every different value of a column.

    Attributes
    ----------
    place
        Where each value stands: texts as they are without blanks around them, moments as numbers.
    values
        By the variables that the column becomes, one or several: codes or numbers, a hole's last.
    """

    place: Mapping[Any, int]
    values: Mapping[str, NDArray[Any]]

    def read(self, name: str, column: pl.Series) -> dict[str, NDArray[Any]]:
        """Return the cells of a part of the column."""
        levels, codes = _levels_of(column)
        try:
            where = np.array([*(self.place[level] for level in levels), -1], dtype=np.int64)
        except KeyError as strange:
            raise FileError(
                f"{name}: {strange} was not there when the files were scanned; scan them anew"
            ) from None
        return {variable: values[where[codes]] for variable, values in self.values.items()}


@dataclass(frozen=True, eq=False)
class Dressed:
    """How the numbers of a column are written whose different texts are too many to be known.

    Attributes
    ----------
    spelling, unit
        What parts thousands and comes before decimals, and the unit that numbers have.
    marks
        What a cell that is a hole holds.
    """

    spelling: Spelling
    unit: str
    marks: frozenset[str]

    def read(self, name: str, column: pl.Series) -> dict[str, NDArray[Any]]:
        """Return the cells of a part of the column."""
        levels, codes = _levels_of(column)
        texts = [text for text in levels if text not in self.marks]
        written = spelled(texts, self.spelling) if texts else None
        if texts and (written is None or (written.unit and written.unit != self.unit)):
            odd = next((text for text in texts if not self._fits(text)), texts[0])
            raise TableError(
                f"{name}: {odd!r} is not written as the first {TEXTS} different texts of the column "
                "are; say decimal=… and thousands=…, name it in holes=…, or read the file with lac.read"
            )
        known = dict(zip(texts, [] if written is None else written.values.tolist(), strict=True))
        values = np.array([*(known.get(text, np.nan) for text in levels), np.nan])
        return {name: values[codes]}

    def _fits(self, text: str) -> bool:
        alone = spelled([text], self.spelling)
        return alone is not None and alone.unit in ("", self.unit)


Reader = Known | Dressed
"""What makes cells of the texts or moments of a column, in every part alike."""


@dataclass(frozen=True)
class Settled:
    """What one pass over the rows settles.

    Attributes
    ----------
    schema, decisions, notes
        The variables, and what was decided about them, a sentence each; what leaves a doubt.
    misread
        Those of the notes that say that numbers have become labels, or may mean something else.
    distinct
        The different rows with the number of times that each stands there, if they are few.
    readers
        What makes cells of the values of columns that are looked up, by their names.
    """

    schema: Schema
    decisions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    misread: tuple[str, ...] = ()
    distinct: pl.DataFrame | None = None
    readers: Mapping[str, Reader] = field(default_factory=dict)


@dataclass
class _Glimpse:
    """What settles a column: its different values and how often they stand there, while they are few.

    Attributes
    ----------
    seen
        Whether there were rows.
    values
        How often each value was seen; of text files as text, of moments as numbers.
    holes
        How many cells hold nothing at all.
    most, many
        How many different values are kept, and whether there were more, all of which are no longer known.
    numbers, whole
        Whether all were numbers, and whole ones.
    moments
        The type of a column of dates, times or durations.
    """

    untyped: bool
    seen: bool = False
    values: Counter[Label] = field(default_factory=Counter)
    holes: int = 0
    most: int = TOO_MANY
    many: bool = False
    numbers: bool = True
    whole: bool = True
    origin: str = "text"
    levels: tuple[Label, ...] = ()
    ordered: bool = False
    moments: Any = None

    @property
    def text(self) -> bool:
        """Whether values are texts that may be anything."""
        return self.untyped or (self.origin == "text" and not self.numbers and self.moments is None)


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


def settle_one(
    frame: pl.DataFrame, names: Sequence[str], declared: Declared, untyped: Collection[str], weights: Any
) -> Settled:
    """Return the variables that the columns of rows become which make but one part: as `read` has them."""
    found = assemble(columns_of(frame, untyped), declared, weights, (), None)
    table, variables = found.whole, [name for name in names if name != weights]
    settled = settle(iter([frame]), variables, declared, untyped, alike=weights is None)
    return replace(
        settled, schema=table.schema, decisions=table.decisions, notes=table.notes, misread=found.misread
    )


VALUE = "value"
"""How a column is called whose values are counted."""


def _tally(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the different values of a column, ``VALUE``, and how often each stands there, ``COUNT``.

    In the order in which they first stand there, as people name them; texts of many rows in their own.
    """
    import polars as pl

    short, column = frame.height <= SHORT, frame[name].alias(VALUE)  # to polars * and ^a$ are patterns
    if COUNT in frame.columns:
        rows = pl.DataFrame([column, frame[COUNT]])
        tally = rows.group_by(VALUE, maintain_order=short).agg(pl.col(COUNT).sum())
    elif short:
        tally = column.to_frame().group_by(VALUE, maintain_order=True).agg(pl.len().alias(COUNT))
    else:
        tally = column.value_counts(name=COUNT)
    if not short and column.dtype == pl.String:
        tally = tally.sort(VALUE)
    return tally


def _look(glimpse: _Glimpse, tally: pl.DataFrame, declared: Declared) -> None:
    """Take in what a part shows of a column."""
    import polars as pl

    glimpse.seen |= tally.height > 0
    column = tally.to_series(0)
    if isinstance(column.dtype, pl.Enum):
        glimpse.levels, glimpse.ordered = tuple(column.dtype.categories.to_list()), True
    if column.dtype in (pl.Categorical, pl.Enum):
        glimpse.origin, column = "categories", column.cast(pl.String)
    if column.dtype.is_temporal():
        glimpse.moments, column = column.dtype, column.to_physical().cast(pl.Int64)
    elif column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if glimpse.many and not glimpse.untyped and glimpse.numbers and not glimpse.whole:
        return
    there = column.is_not_null()
    values, many = column.filter(there).to_list(), tally[COUNT].filter(there).to_list()
    glimpse.holes += int(tally[COUNT].sum()) - int(sum(many))
    _kinds(glimpse, values, declared)
    glimpse.most = TEXTS if glimpse.text or glimpse.moments is not None else TOO_MANY
    for value, count in zip(values, many, strict=True):
        key = value.strip() if isinstance(value, str) and glimpse.untyped else value
        if key in glimpse.values or len(glimpse.values) <= glimpse.most:
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
    found: list[Decided] = []
    problems: list[LacunaryError] = []
    readers: dict[str, Reader] = {}
    for name, glimpse in glimpses.items():
        try:
            mine, reader = _settled(name, glimpse, declared)
        except LacunaryError as problem:
            problems.append(problem)
            continue
        found += mine
        variables += [each.variable for each in mine]
        most = len(glimpse.values)
        few, more = f"{most} distinct", f"more than {most - 1} distinct"
        decisions += [each.decision.replace(few, more) if glimpse.many else each.decision for each in mine]
        readers |= {} if reader is None else {name: reader}
    if len(problems) == 1:
        raise problems[0]
    if problems:
        lines = "".join(f"\n- {problem}" for problem in problems)
        raise SchemaError(f"{len(problems)} columns cannot be read as they are:{lines}")
    said = list(notes([diagnostic for each in found for diagnostic in each.diagnostics]))
    misread = tuple(note for note, wrong in said if wrong)
    told = tuple(note for note, _ in said)
    return Settled(Schema(tuple(variables)), tuple(decisions), told, misread, readers=readers)


def _settled(name: str, glimpse: _Glimpse, declared: Declared) -> tuple[list[Decided], Reader | None]:
    """Return what a column becomes, and what makes cells of its values, if they are looked up."""
    if glimpse.moments is not None and glimpse.many:
        raise TableError(
            f"{name} holds more than {TEXTS} different dates, times or durations; write them as numbers, or "
            f"leave them out with drop=[{name!r}]"
        )
    column, counts = _column(name, glimpse)
    mine = decide(column, declared)
    if glimpse.moments is None and not glimpse.text:
        return mine, None
    if not glimpse.many:
        return mine, _known(glimpse, counts, mine)
    if isinstance(column, Numbers) or mine[0].variable.discrete:
        return mine, None  # plain numbers are read as they stand; of other texts so many are refused
    texts = [str(value) for value in glimpse.values if value not in declared.marks]
    written = spelled(texts, declared.spelling or Spelling())
    if written is None:
        raise TableError(
            f"{name} holds more than {TEXTS} different dates or times as text; write them as numbers, or "
            f"leave them out with drop=[{name!r}]"
        )
    explicit = replace(
        declared.spelling or Spelling(), decimal=written.dialect.decimal, thousands=written.dialect.group
    )
    return mine, Dressed(explicit, written.unit, declared.marks)


def _known(glimpse: _Glimpse, counts: NDArray[np.int64], mine: Sequence[Decided]) -> Known:
    """Return what becomes of every value: what its first cell became in the column decided about."""
    first = np.cumsum(counts) - counts
    values = {}
    for each in mine:
        hole = HOLE if each.variable.discrete else np.nan
        own = np.append(each.values[first], hole).astype(each.values.dtype)
        values[each.variable.name] = own
    return Known({value: place for place, value in enumerate(glimpse.values)}, values)


def _column(name: str, glimpse: _Glimpse) -> tuple[Column, NDArray[np.int64]]:
    """Return a short column that is decided about as the long one would be, and how often values stand there.

    Every value stands there as often as in the rows, but no oftener than decides whether values repeat.
    """
    values = list(glimpse.values)
    most = max(2 * len(values) + 1, ROWS // max(len(values), 1))
    counts = np.array([min(count, most) for count in glimpse.values.values()], dtype=np.int64)
    if glimpse.moments is not None:
        return _of_moments(name, np.repeat(np.array(values, dtype=np.int64), counts), glimpse.moments), counts
    if glimpse.numbers and (glimpse.many or not glimpse.untyped) and values:
        texts = [str(value) for value in values]
        parsed = parse_numbers(texts) if glimpse.untyped else np.array(values, dtype=np.float64)
        if parsed is not None:
            return Numbers(name, np.repeat(parsed, counts)), counts
    booleans = (False, True) if glimpse.origin == "booleans" else ()
    levels: tuple[Label, ...] = glimpse.levels or booleans or tuple(values)
    place = {level: k for k, level in enumerate(levels)}
    holes = np.full(min(glimpse.holes, most), HOLE, dtype=np.int64)
    codes = np.repeat(np.array([place[value] for value in values], dtype=np.int64), counts)
    declared = bool(glimpse.levels or booleans)
    labels = Labels(
        name, levels, np.append(codes, holes), glimpse.origin, glimpse.untyped, declared, glimpse.ordered
    )
    return labels, counts


def _of_moments(name: str, ticks: NDArray[np.int64], kind: Any) -> Column:
    import polars as pl

    from lacunary.data.typed import of_series

    return of_series(name, pl.Series(ticks).cast(kind))


def _levels_of(column: pl.Series) -> tuple[list[Any], NDArray[np.int32]]:
    """Return the different values of a column, moments as numbers, and which of them each row has."""
    import polars as pl

    if column.dtype in (pl.String, pl.Categorical):
        return coded(column)
    ticks = column.to_physical().cast(pl.Int64)
    levels = ticks.drop_nulls().unique()
    where = np.searchsorted(levels.sort().to_numpy(), ticks.fill_null(0).to_numpy()).astype(np.int32)
    where[column.is_null().to_numpy()] = HOLE
    return levels.sort().to_list(), where


def columns_of(frame: pl.DataFrame, untyped: Collection[str]) -> Source:
    """Return the columns of a part, as `lacunary.data.assemble` takes them."""

    def columns(wanted: Sequence[str], marks: Any) -> Iterator[Column]:
        return (_taken(name, frame[name].alias(""), name in untyped) for name in wanted)

    return Source(tuple(frame.columns), columns, "polars")


def _taken(name: str, column: pl.Series, untyped: bool) -> Column:
    import polars as pl

    from lacunary.data.typed import of_series

    if column.dtype == pl.String:
        levels, found = coded(column.str.strip_chars() if untyped else column)
        return Labels(name, tuple(levels), found, untyped=untyped)
    if isinstance(column.dtype, pl.Enum):
        codes = column.to_physical().cast(pl.Int32).fill_null(HOLE).to_numpy()
        return Labels(name, tuple(column.dtype.categories), codes, "categories", declared=True, ordered=True)
    if column.dtype == pl.Categorical:
        levels, found = coded(column)
        return Labels(name, tuple(levels), found, "categories")
    if column.dtype == pl.Boolean:
        codes = column.cast(pl.Int32).fill_null(HOLE).to_numpy()
        return Labels(name, (False, True), codes, "booleans", declared=True)
    if column.dtype.is_float() or column.dtype.is_integer():
        return Numbers(name, column.cast(pl.Float64).to_numpy().astype(np.float64))
    return of_series(name, column)


def few_rows(settled: Settled, make: Callable[[pl.DataFrame], Table]) -> Table | None:
    """Return the different rows as a table, in an order that depends on them alone; None if they are many."""
    if settled.distinct is None:
        return None
    from lacunary.data.source import distinct_rows

    table = make(settled.distinct.drop(COUNT))
    return distinct_rows(replace(table, weights=settled.distinct[COUNT].to_numpy().astype(np.float64)))
