"""What cannot be learned from, refused before anything is done."""

from __future__ import annotations

import numpy as np

from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.model.dag import Dag

__all__ = ["check_rows", "check_select"]


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
    if dag.sigmoids and select in ("average", "max-entropy", "global"):
        raise ParameterError(
            f"select={select!r} is for tables, and the family of {dag.names[dag.sigmoids[0]]} is a sigmoid: "
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
    seen = x[~np.isnan(x)]
    if i in dag.uniforms:
        return
    if method == "ml" and len(seen) and np.all(seen == seen[0]):
        raise TableError(
            f"{variable.name} is constant ({seen[0]:g} in every row): no variance has highest likelihood; "
            "leave the column out, or use method='map', whose prior gives it a small one"
        )
