"""What cannot be learned from, refused before anything is done."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from lacunary.data.source import Source, first_row
from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError, TableError, TooWideError
from lacunary.family.numeric import NumericFamily
from lacunary.infer.answers import as_source
from lacunary.learn.found import Fit
from lacunary.maths.arrays import Booleans
from lacunary.model.dag import Dag
from lacunary.model.make import dag_over

__all__ = [
    "MOST_CELLS",
    "check_graph",
    "check_room",
    "check_rows",
    "check_select",
    "check_values",
    "with_graph",
]

M = TypeVar("M", bound=Dag | Fit)

MOST_CELLS = 4 * 2**30 // (8 * 16)
"""Cells that the families of a graph may have together: a fit holds some sixteen vectors of them."""


def check_graph(verb: str, model: object, table: object) -> None:
    """Refuse what is no graph or fit where one is expected, and say how to write it."""
    if isinstance(model, Dag) or (verb != "fit" and isinstance(model, Fit)):
        check_room(model if isinstance(model, Dag) else model.network.dag)
        return
    if isinstance(table, Dag) or isinstance(getattr(table, "dag", None), Dag):
        raise ParameterError(f"{verb}(graph, table): these are swapped, the graph comes first")
    if isinstance(getattr(model, "dag", None), Dag):
        raise ParameterError(
            f"{verb} expects a graph, not a {type(model).__name__}; its graph is its attribute dag"
        )
    raise ParameterError(
        f"{verb} expects a graph, such as lac.dag('A -> B', schema=table.schema), not a "
        f"{type(model).__name__}"
    )


def check_room(dag: Dag) -> None:
    """Refuse a graph whose families have more cells than can be held, before any of them is."""
    layout = dag.layout
    if layout.size <= MOST_CELLS:
        return
    cells = [
        configurations * (size or widths[0])
        for configurations, size, widths in zip(
            layout.configurations, layout.sizes, layout.widths, strict=True
        )
    ]
    largest = int(np.argmax([float(many) for many in cells]))
    parents = ", ".join(dag.parents[largest])
    raise TooWideError(
        f"the families of this graph have {float(layout.size):.3g} cells, and {MOST_CELLS:.3g} are allowed; "
        f"the largest is {dag.names[largest]} given {parents}, with {float(cells[largest]):.3g}: take "
        "parents out, or search with max_parents="
    )


def with_graph(verb: str, model: M | str, table: Any, names: Iterable[str] = ()) -> tuple[M | Dag, Any]:
    """Return the model and the rows that a verb was given; arrows as the graph they draw over the columns.

    Columns that neither the arrows nor ``names`` has are left out; variables and states are the table's.
    """
    if not isinstance(model, str) or isinstance(table, Dag):
        check_graph(verb, model, table)
        return cast(M, model), table
    rows = as_source(table)
    try:
        return dag_over(rows.schema, model, names), rows
    except SchemaError as problem:
        how = f"lac.dag({model!r}, hidden={{'H': 2}}, schema=table.schema)"
        told = f"{verb} takes arrows between columns; with a variable that is hidden, make the graph: {how}"
        raise SchemaError(f"{problem}\n{told}") from None


def check_rows(dag: Dag, source: Source, method: str) -> None:
    """Refuse what cannot be learned from.

    That is no rows or none that count, a column of which nothing is observed although the graph does not
    call it hidden, a value outside its variable's bounds, and for "ml" a column without any spread.
    """
    if not source.size > 0:
        raise TableError(
            "there are no rows to learn from" if not len(source) else "all rows have weight zero"
        )
    for i in np.flatnonzero(~source.facts.shown):
        variable = dag.schema.variables[i]
        if not variable.hidden:
            raise SchemaError(
                f"nothing is observed of {variable.name}; declare it hidden (hidden=[{variable.name!r}]) "
                "if that is meant"
            )
    check_values(dag, source, method)


def check_values(dag: Dag, source: Source, method: str = "map") -> None:
    """Refuse numbers that no parameters of their families could give."""
    for column in dag.continuous:
        _check_column(dag, column, source, method)


def check_select(dag: Dag, select: str) -> None:
    """Refuse to choose parameters between the starts where a family does not allow it."""
    for i, family in dag.implied if select in ("average", "max-entropy", "global") else ():
        raise ParameterError(
            f"select={select!r} is for tables, and the family of {dag.names[i]} is {family.phrase}: "
            "the mean of two is none; use 'best', 'entropy' or 'ensemble'"
        )


def _check_column(dag: Dag, i: int, source: Source, method: str) -> None:
    variable, facts, family = dag.schema.variables[i], source.facts, dag.number(i)
    low, high = variable.bounds or (-np.inf, np.inf)
    found = first_row(source, partial(_outside, i, low, high)) if variable.bounds else None
    if found is not None:
        row, value = found[0] + 1, found[1].reals[0, i]
        raise TableError(
            f"{variable.name}, row {row}: {value:.6g} lies outside the declared bounds {low:g} to {high:g}; "
            "correct the value, make it a hole, or widen the bounds"
        )
    problem = family.check_range(float(facts.low[i]), float(facts.high[i]), method) if facts.seen[i] else ""
    wrong = first_row(source, partial(_no_value, family, i)) if family.counts else None
    if wrong is not None:
        problem = family.no_value(float(wrong[1].reals[0, i]))
    if problem:
        raise TableError(f"{variable.name} {problem}")


def _no_value(family: NumericFamily, i: int, table: Table) -> Booleans:
    x = table.reals[:, i]
    return ~np.isnan(x) & ~family.is_value(x)


def _outside(i: int, low: float, high: float, table: Table) -> Booleans:
    x = table.reals[:, i]
    return np.asarray((x < low) | (x > high))
