"""What a table holds, for people (as text) and for machines (as a dictionary)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lacunary.data.facts import open_cells
from lacunary.data.schema import Kind, Label, Variable
from lacunary.data.table import Table, unique_rows
from lacunary.data.wording import counted, visible

if TYPE_CHECKING:
    from lacunary.data.assemble import Refused
    from lacunary.data.source import Source

__all__ = ["Description", "Pattern", "VariableSummary", "describe", "describe_parts"]

PATTERNS = 10
"""Hole patterns that are listed."""

WIDTH = 80
"""Characters that a list of states or names may take."""


@dataclass(frozen=True)
class VariableSummary:
    """One variable: its kind, the states or the range and mean, and the share of holes in its column.

    Of a column that is "refused", as it cannot be read as it is, there are ``examples`` of its labels.
    """

    name: str
    kind: Kind | Literal["refused"]
    states: tuple[Label, ...]
    ordered: bool
    hidden: bool
    holes: float
    range: tuple[float, float] | None = None
    mean: float | None = None
    examples: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True)
class Pattern:
    """A set of variables that are holes together, and in how many rows exactly these are."""

    holes: tuple[str, ...]
    rows: int


@dataclass(frozen=True, repr=False)
class Description:
    """What a table holds and what was decided about it; prints as text.

    Attributes
    ----------
    rows, distinct, size
        Number of rows, of distinct rows (None: rows that never stand in one place were not compared), and
        N, the sum of the weights.
    holes
        Share of the cells that are holes.
    variables
        A summary of each.
    patterns
        The commonest hole patterns, of ``pattern_count`` in all; none of rows that were not compared.
    decisions
        What `read` decided about the columns.
    notes
        What of that leaves a doubt.
    problems
        Why some columns cannot be read as they are, and what to do about each.
    """

    rows: int
    distinct: int | None
    size: float
    holes: float
    variables: tuple[VariableSummary, ...]
    patterns: tuple[Pattern, ...]
    pattern_count: int
    decisions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain dictionaries, lists and numbers."""
        return asdict(self)

    def __str__(self) -> str:
        said = [
            "\n".join([head, *(f"  {visible(sentence)}" for sentence in sentences)])
            for head, sentences in self._said()
            if sentences
        ]
        holes = [self._holes()] if self.patterns else []
        return "\n\n".join([self._head(), self._columns(), *holes, *said])

    __repr__ = __str__

    def _head(self) -> str:
        weighted = "" if self.size == self.rows else f", N = {self.size:g} by weight"
        rows = counted(self.rows, "row")
        if self.problems:
            lost = sum(variable.kind == "refused" for variable in self.variables)
            return f"{rows}{weighted}, {counted(len(self.variables), 'column')}, {lost} of them refused"
        distinct = "" if self.distinct is None else f" ({self.distinct} distinct)"
        return (
            f"{rows}{distinct}{weighted}, {counted(len(self.variables), 'variable')}, {self.holes:.1%} holes"
        )

    def _columns(self) -> str:
        rows = [("variable", "kind", "holes", "states")]
        rows += [(visible(v.name), _kind(v), f"{v.holes:.1%}", _content(v)) for v in self.variables]
        width = [max(len(row[place]) for row in rows) for place in range(3)]
        return "\n".join(
            f"{name:<{width[0]}}  {kind:<{width[1]}}  {holes:>{width[2]}}  {content}".rstrip()
            for name, kind, holes, content in rows
        )

    def _holes(self) -> str:
        rows = [f"{p.rows:>9} {'row: ' if p.rows == 1 else 'rows:'}" for p in self.patterns]
        names = [_listed(p.holes) or "no holes" for p in self.patterns]
        lines = [f"{row} {name}" for row, name in zip(rows, names, strict=True)]
        more = self.pattern_count - len(self.patterns)
        return "\n".join(["hole patterns", *lines, *([f"          and {more} more"] if more else [])])

    def _said(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the sentences under their headings, what is to be looked after last."""
        return [("decisions", self.decisions), ("notes", self.notes), ("problems", self.problems)]


def _doubts(table: Table) -> list[str]:
    """Return what is doubtful about the columns, unless a note names all of it already."""
    noted = [note.partition(": ")[0] for note in table.notes if "look like an identifier" in note]
    return [table.doubts] if table.doubts and f"drop={noted!r} leaves" not in table.doubts else []


def describe(table: Table, refused: Sequence[Refused] = (), names: Sequence[str] = ()) -> Description:
    """Return what a table holds, beside columns that could not be in it; see ``table.describe()``."""
    first, pattern = unique_rows(
        -table.holes.astype(np.int8), (1,) * len(table.schema), np.empty((len(table), 0))
    )
    counts = np.bincount(pattern, minlength=len(first))
    commonest = np.argsort(-counts, kind="stable")[:PATTERNS]
    return Description(
        rows=len(table),
        distinct=len(table.distinct.first),
        size=table.size,
        holes=float(table.holes.mean()) if table.holes.size else 0.0,
        variables=_in_order(table, refused, names),
        patterns=tuple(_pattern(table, int(first[k]), int(counts[k])) for k in commonest),
        pattern_count=len(first),
        decisions=table.decisions,
        notes=(*table.notes, *_doubts(table)),
        problems=tuple(str(column.problem) for column in refused),
    )


def describe_parts(source: Source, decisions: Sequence[str], notes: Sequence[str]) -> Description:
    """Return what rows hold that never stand in one place, as far as it adds over them."""
    facts, rows = source.facts, max(len(source), 1)
    holes = open_cells(source) / rows
    mean = facts.mean * facts.unit
    summaries = [
        VariableSummary(
            v.name, v.kind, v.states, v.ordered, v.hidden, float(holes[k]),
            range=None if np.isnan(facts.low[k]) else (float(facts.low[k]), float(facts.high[k])),
            mean=None if np.isnan(facts.low[k]) else float(mean[k]), unit=v.unit,
        )
        for k, v in enumerate(source.schema)
    ]  # fmt: skip
    return Description(
        rows=len(source),
        distinct=None,
        size=source.size,
        holes=float(holes.mean()) if holes.size else 0.0,
        variables=tuple(summaries),
        patterns=(),
        pattern_count=0,
        decisions=tuple(decisions),
        notes=tuple(notes),
    )


def _in_order(table: Table, refused: Sequence[Refused], names: Sequence[str]) -> tuple[VariableSummary, ...]:
    """Return all columns, the refused ones where they stand in the source."""
    found = [_summary(table, column, v) for column, v in enumerate(table.schema)]
    if not refused:
        return tuple(found)
    place = {column.name: names.index(column.name) for column in found}
    for column in refused:
        name = column.name or f"(column {column.place + 1})"
        place[name] = column.place
        found.append(
            VariableSummary(name, "refused", (), False, False, column.holes, examples=column.examples)
        )
    return tuple(sorted(found, key=lambda column: place[column.name]))


def _summary(table: Table, column: int, variable: Variable) -> VariableSummary:
    empty = table.holes[:, column]
    seen = table.reals[~empty, column] if not variable.discrete else np.empty(0)
    return VariableSummary(
        name=variable.name,
        kind=variable.kind,
        states=variable.states,
        ordered=variable.ordered,
        hidden=variable.hidden,
        holes=float(empty.mean()) if len(table) else 0.0,
        range=(float(seen.min()), float(seen.max())) if seen.size else None,
        mean=float(np.average(seen, weights=table.weights[~empty])) if seen.size else None,
        unit=variable.unit,
    )


def _pattern(table: Table, row: int, count: int) -> Pattern:
    names = table.schema.names
    return Pattern(tuple(names[column] for column in np.flatnonzero(table.holes[row])), count)


def _kind(variable: VariableSummary) -> str:
    return ("hidden " if variable.hidden else "") + ("ordered" if variable.ordered else variable.kind)


def _content(variable: VariableSummary) -> str:
    unit = f" ({variable.unit})" if variable.unit else ""
    if variable.kind == "discrete":
        return _listed(variable.states) + unit
    if variable.kind == "refused":
        return f"such as {_listed(variable.examples)}" if variable.examples else ""
    if variable.range is None:
        return ""
    return f"{variable.range[0]:g} to {variable.range[1]:g}, mean {variable.mean:g}{unit}"


def _listed(items: tuple[Label, ...]) -> str:
    """Return a list with commas, cut where it gets long."""
    shown = ", ".join(map(visible, items))
    if len(shown) <= WIDTH:
        return shown
    return shown[:WIDTH].rpartition(", ")[0] + f", … ({len(items)} in all)"
