"""From a column to a variable: what is declared is obeyed, the rest is decided and said in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.bare import Bare, Declared, bared, recoded, value_of, without_marks
from lacunary.data.column import Column, Labels, Moments, Numbers, parse_number
from lacunary.data.diagnostics import (
    Diagnostic,
    diagnose_codes,
    diagnose_labels,
    diagnose_numbers,
    stray_numbers,
)
from lacunary.data.schema import Kind, Label, Variable
from lacunary.data.spelling import Spelling, spelled
from lacunary.data.table import HOLE, positions
from lacunary.data.wording import counted, listed, meant
from lacunary.errors import SchemaError, StateError, TableError

__all__ = ["Decided", "Declared", "decide", "without_marks"]

FEW, SEVERAL = 20, 10
"""Whole numbers with up to `FEW` distinct values are states, with more they are measurements; and so they are
with more than `SEVERAL` if most of them occur but once."""

MANY, TOO_MANY = 50, 1000
"""More than `MANY` labels where most cells differ, or more than `TOO_MANY` in any column, look like names
of the rows rather than states."""


@dataclass(frozen=True)
class Decided:
    """A variable, its column as codes (discrete) or reals (continuous), and a sentence on why it is so.

    What the column looks like is there where it leaves a doubt.
    """

    variable: Variable
    values: NDArray[Any]
    decision: str
    diagnostics: tuple[Diagnostic, ...] = ()


def decide(column: Column, declared: Declared) -> list[Decided]:
    """Return the variables that a column becomes: one, unless its dates are taken apart.

    Declared states come first, then hole marks, then the declared kind. Where no kind is declared,
    labels are discrete; whole numbers, also those stored as floats, are discrete up to `FEW`
    distinct values, or up to `SEVERAL` where values hardly repeat; all other numbers are continuous.
    """
    if column.name in declared.states and not isinstance(column, Moments):
        return [_with_states(column, declared)]
    return [_decided(bare, declared) for bare in bared(column, declared)]


def _decided(bare: Bare, declared: Declared) -> Decided:
    """Return the variable that labels or numbers become."""
    column, kind = bare.column, declared.kinds.get(bare.column.name)
    if column.name in declared.states:
        return _with_states(column, declared)
    if isinstance(column, Labels) and kind == "continuous":
        column = _measured(column)
    if isinstance(column, Labels):
        decided = _discrete(column, kind, declared, bare.said)
    else:
        _check(column, declared)
        decided = _moments(bare, declared) if bare.moments else _numeric(column, kind, declared, bare.said)
        decided = replace(decided, variable=replace(decided.variable, unit=column.unit))
    return replace(decided, diagnostics=(*bare.doubts, *decided.diagnostics))


def _moments(bare: Bare, declared: Declared) -> Decided:
    """Return the continuous variable that dates, times or durations become."""
    numbers = bare.column
    assert isinstance(numbers, Numbers)
    other = "; dates='parts' takes them apart, dates='text' makes states of them"
    way = other if bare.moments in ("dates", "times") and numbers.name not in declared.units else ""
    return _continuous(numbers, declared, f"{bare.moments}, taken as {numbers.unit}{bare.said}{way}")


def _numeric(numbers: Numbers, kind: Kind | None, declared: Declared, marked: str) -> Decided:
    """Return the variable that numbers become."""
    if kind == "continuous":
        return _continuous(numbers, declared, "declared continuous" + marked)
    if kind is None and not numbers.whole:
        decided = _continuous(numbers, declared, "numbers, taken as continuous" + marked)
        return replace(decided, diagnostics=tuple(diagnose_codes(numbers)))
    distinct, cells = numbers.counts
    if kind is None and _are_measurements(distinct, cells):
        reason = f"{distinct} distinct whole numbers, taken as continuous{marked}"
        decided = _continuous(
            numbers, declared, f"{reason}; kinds={{{numbers.name!r}: 'discrete'}} makes it discrete"
        )
        return replace(decided, diagnostics=(*diagnose_numbers(numbers), *diagnose_codes(numbers)))
    if kind is None and distinct > 2:
        marked += f"; kinds={{{numbers.name!r}: 'continuous'}} makes it continuous"
    return _discrete(numbers.labels(), kind, declared, marked)


def _are_measurements(distinct: int, cells: int) -> bool:
    """Tell whether whole numbers are too many, or too rarely the same, to be states."""
    return distinct > FEW or (distinct > SEVERAL and 2 * distinct > cells)


def _discrete(labels: Labels, kind: Kind | None, declared: Declared, marked: str) -> Decided:
    """Return the variable whose states are the labels: in the source's order, or sorted if it has none."""
    if not labels.levels:
        raise _only_holes(labels.name)
    if kind is None:
        _refuse_names_of_rows(labels)
    states = labels.levels if labels.declared else tuple(sorted(labels.levels))
    ordered = labels.ordered or labels.name in declared.ordered
    variable = Variable(labels.name, states, ordered=ordered)
    how = "declared" if kind else "taken as"
    decision = f"{labels.name}: {labels.origin}, {how} discrete with {counted(len(states), 'state')}{marked}"
    codes = recoded(labels, positions(labels.levels, variable), len(states))
    return Decided(
        variable, codes, decision, () if kind else tuple(diagnose_labels(labels, declared.spelling))
    )


def _continuous(numbers: Numbers, declared: Declared, reason: str) -> Decided:
    if numbers.name in declared.ordered:
        raise SchemaError(
            f"{numbers.name} is in ordered=… but continuous; only states are ordered: "
            f"declare kinds={{{numbers.name!r}: 'discrete'}}"
        )
    return Decided(Variable(numbers.name, kind="continuous"), numbers.values, f"{numbers.name}: {reason}")


def _with_states(column: Labels | Numbers, declared: Declared) -> Decided:
    """Return the discrete variable with declared states; a cell that is none of them is refused."""
    labels = column
    if isinstance(labels, Numbers):
        labels = labels.texts() if labels.plain else labels.marked()
    states = declared.states[column.name]
    variable = Variable(column.name, states, ordered=column.name in declared.ordered)
    where = positions(labels.levels, variable)
    if labels.untyped:
        where = np.where(
            where == HOLE, positions([value_of(text) for text in labels.levels], variable), where
        )
    if declared.spelling and np.any(where == HOLE) and (values := _undressed(labels, declared)):
        where = np.where(where == HOLE, positions(values, variable), where)
    for level, label in enumerate(labels.levels):
        if where[level] == HOLE and str(label) not in declared.marks and np.any(labels.codes == level):
            raise StateError(
                f"{column.name}, row {labels.first_row(level)}: {label!r} is none of the declared states "
                f"{listed(states)}{meant(label, states)}; declare it, or name it in holes=…"
            )
    return Decided(
        variable,
        recoded(labels, where, len(states)),
        f"{column.name}: the {counted(len(states), 'declared state')}",
    )


def _undressed(labels: Labels, declared: Declared) -> list[Label]:
    """Return the numbers that labels are spelled as, 5 for 5 mg, beside marks; nothing if one is none."""
    texts = [str(label) for label in labels.levels if str(label) not in declared.marks]
    written = spelled(texts, declared.spelling or Spelling()) if texts else None
    if written is None:
        return []
    values = dict(zip(texts, written.values.tolist(), strict=True))
    return [value_of(str(values[str(label)])) if str(label) in values else label for label in labels.levels]


def _measured(labels: Labels) -> Numbers:
    """Return labels as the numbers they stand for, as a column declared continuous must."""
    texts = [str(int(label)) if isinstance(label, bool) else str(label) for label in labels.levels]
    values = [parse_number(text) for text in texts]
    for level, value in enumerate(values):
        if value is None and np.any(labels.codes == level):
            raise TableError(
                f"{labels.name}, row {labels.first_row(level)}: {labels.levels[level]!r} is not a number, "
                f"but the column is declared continuous; {_way_out(labels)}"
            )
    by_level = [np.nan if value is None else value for value in values]
    return Numbers(labels.name, np.array([*by_level, np.nan])[labels.codes])


def _way_out(labels: Labels) -> str:
    diagnostic = stray_numbers(labels)
    usual = "name it in holes=…, or declare the column discrete"
    return f"{diagnostic.remedy}; or {usual}" if diagnostic and diagnostic.kind == "written" else usual


def _check(numbers: Numbers, declared: Declared) -> None:
    if np.isinf(numbers.bounds).any():
        row = int(np.argmax(np.isinf(numbers.values))) + 1
        raise TableError(
            f"{numbers.name}, row {row}: infinite values are not allowed; "
            "make it a number, or name it in holes=…"
        )
    if numbers.name not in declared.may_be_empty and np.isnan(numbers.bounds[0]):
        raise _only_holes(numbers.name)


def _refuse_names_of_rows(labels: Labels) -> None:
    """Refuse to make a state of nearly every row."""
    counts = labels.observed()
    distinct, cells = int(np.count_nonzero(counts)), int(counts.sum())
    if distinct > TOO_MANY or (distinct > MANY and 2 * distinct > cells):
        diagnostic = stray_numbers(labels)
        raise TableError(
            f"{labels.name} has {distinct} distinct labels in {cells} cells, too many to be states"
            + (f": {diagnostic.what}; {diagnostic.remedy}; or leave it " if diagnostic else "; leave it ")
            + f"out with drop=[{labels.name!r}], or insist with kinds={{{labels.name!r}: 'discrete'}}"
        )


def _only_holes(name: str) -> SchemaError:
    return SchemaError(
        f"{name} has only holes, so nothing tells its states; declare them with states={{{name!r}: […]}}, "
        f"make it numbers with kinds={{{name!r}: 'continuous'}}, or leave it out with drop=[{name!r}]"
    )
