"""What cannot be learned from, refused before anything is done."""

from __future__ import annotations

import numpy as np

from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.learn.found import Fit
from lacunary.model.dag import Dag

__all__ = ["check_graph", "check_rows", "check_select"]


def check_graph(verb: str, model: object, table: object) -> None:
    """Refuse what is no graph or fit where one is expected, and say how to write it."""
    if isinstance(model, Dag) or (verb != "fit" and isinstance(model, Fit)):
        return
    if isinstance(table, Dag) or isinstance(getattr(table, "dag", None), Dag):
        raise ParameterError(f"{verb}(graph, table): these are swapped, the graph comes first")
    if isinstance(model, str):
        how = f"lac.dag({model!r}, schema=table.schema)"
        raise ParameterError(f"{verb} expects a graph, not the text {model!r}; make it one: {how}")
    if isinstance(getattr(model, "dag", None), Dag):
        raise ParameterError(
            f"{verb} expects a graph, not a {type(model).__name__}; its graph is its attribute dag"
        )
    raise ParameterError(
        f"{verb} expects a graph, such as lac.dag('A -> B', schema=table.schema), not a "
        f"{type(model).__name__}"
    )


def check_rows(dag: Dag, table: Table, method: str) -> None:
    """Refuse what cannot be learned from.

    That is no rows or none that count, a column of which nothing is observed although the graph does not
    call it hidden, a value outside its variable's bounds, and for "ml" a column without any spread.
    """
    if not table.size > 0:
        raise TableError("there are no rows to learn from" if not len(table) else "all rows have weight zero")
    for i in np.flatnonzero(table.holes.all(axis=0)):
        variable = dag.schema.variables[i]
        if not variable.hidden:
            raise SchemaError(
                f"nothing is observed of {variable.name}; declare it hidden (hidden=[{variable.name!r}]) "
                "if that is meant"
            )
    for column in dag.continuous:
        _check_column(dag, column, table, method)


def check_select(dag: Dag, select: str) -> None:
    """Refuse to choose parameters between the starts where a family does not allow it."""
    for i, family in dag.implied if select in ("average", "max-entropy", "global") else ():
        raise ParameterError(
            f"select={select!r} is for tables, and the family of {dag.names[i]} is {family.phrase}: "
            "the mean of two is none; use 'best', 'entropy' or 'ensemble'"
        )


def _check_column(dag: Dag, i: int, table: Table, method: str) -> None:
    variable, x = dag.schema.variables[i], table.reals[:, i]
    low, high = variable.bounds or (-np.inf, np.inf)
    outside = np.flatnonzero((x < low) | (x > high))
    if len(outside):
        raise TableError(
            f"{variable.name}, row {outside[0] + 1}: {x[outside[0]]:.6g} lies outside the declared bounds "
            f"{low:g} to {high:g}; correct the value, make it a hole, or widen the bounds"
        )
    problem = dag.number(i).check_column(x[~np.isnan(x)], method)
    if problem:
        raise TableError(f"{variable.name} {problem}")
