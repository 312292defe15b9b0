"""A variable's parameters as a table with labels, one line for each configuration of its discrete parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.frame import frame_of
from lacunary.errors import ParameterError
from lacunary.model.dag import Dag

__all__ = ["LabelledTable", "ParameterTable"]

SHOWN = 40
"""How many lines are printed of a long table: the first half and the last."""


@dataclass(frozen=True)
class ParameterTable:
    """p(variable | parents) with the parents' states and the variable's own named.

    Attributes
    ----------
    variable
        The variable.
    parents
        Its discrete parents, the first columns.
    columns
        Names of the other columns: the variable's states, or what its family's parameters are called.
    lines
        For each configuration of the parents their states, and the numbers.
    """

    variable: str
    parents: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[tuple[tuple[Any, ...], tuple[float, ...]], ...]

    def to_frame(self, library: str | None = None) -> Any:
        """Return it as a frame of pandas, polars or pyarrow, or as lists by name ("dict")."""
        states = {name: [line[0][k] for line in self.lines] for k, name in enumerate(self.parents)}
        numbers = {name: [line[1][k] for line in self.lines] for k, name in enumerate(self._headers)}
        return frame_of({**states, **numbers}, library)

    @property
    def _headers(self) -> list[str]:
        """The columns of numbers, with the variable's name where a parent has the same."""
        return [f"{self.variable}={name}" if name in self.parents else name for name in self.columns]

    def _cells(self) -> list[list[str]]:
        shown = list(self.lines)
        cells = [[*map(str, states), *(f"{number:.6g}" for number in numbers)] for states, numbers in shown]
        if len(cells) > SHOWN:
            cells[SHOWN // 2 : -SHOWN // 2] = [["…"] * len(cells[0])]
        return cells

    def __str__(self) -> str:
        rows = [[*self.parents, *self._headers], *self._cells()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        left = len(self.parents)
        lines = [
            "  ".join(
                cell.ljust(width) if k < left else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        given = f" | {', '.join(self.parents)}" if self.parents else ""
        return "\n".join([f"p({self.variable}{given})", *(f"  {line.rstrip()}" for line in lines)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        head = row([*self.parents, *self._headers], "th")
        body = "".join(row(cells, "td") for cells in self._cells())
        return f"<table><caption>p({escape(self.variable)})</caption>{head}{body}</table>"


class LabelledTable(np.ndarray[Any, np.dtype[np.float64]]):
    """An array of parameters, indexed by the parents and last by the variable, that knows its labels.

    It prints, and displays in notebooks, with parents and states named, and becomes a frame by `to_frame`.
    Copies and ``table.round(2)`` keep the labels; parts of it, and what is worked out of it, have none.
    """

    _of: tuple[Dag, str] | None = None

    @classmethod
    def of(cls, numbers: NDArray[np.float64], dag: Dag, name: str) -> LabelledTable:
        """Return an array with the labels of a variable of a graph."""
        out: LabelledTable = numbers.view(cls)
        out._of = (dag, name)
        return out

    def __array_finalize__(self, made_from: Any) -> None:
        self._of = (
            None  # a part or a transpose of it, or its logarithm, is another thing, be its shape the same
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (np.asarray if self._of is None else _labelled), (np.array(self), *(self._of or ()))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Any:
        return self.copy()

    def copy(self, order: Any = "C") -> Any:
        """Return a copy, with its labels."""
        copied = np.array(self, order=order)
        return copied if self._of is None else LabelledTable.of(copied, *self._of)

    def round(self, decimals: Any = 0, out: Any = None) -> Any:
        """Return it rounded, with its labels."""
        rounded = np.asarray(self).round(decimals, out)
        return rounded if self._of is None or out is not None else LabelledTable.of(rounded, *self._of)

    def labelled(self) -> ParameterTable:
        """Return it as lines with labels."""
        if self._of is None:
            raise ParameterError("this is a part of a table, which has no labels of its own: ask the network")
        return parameter_table(*self._of, np.asarray(self))

    def to_frame(self, library: str | None = None) -> Any:
        """Return it as a frame of pandas, polars or pyarrow, or as lists by name ("dict")."""
        return self.labelled().to_frame(library)

    def _shows_labels(self) -> bool:
        return self._of is not None and self.dtype == np.float64 and self.ndim > 0

    def __repr__(self) -> str:
        return str(self.labelled()) if self._shows_labels() else repr(np.asarray(self))

    def __str__(self) -> str:
        return str(self.labelled()) if self._shows_labels() else str(np.asarray(self))

    def _repr_html_(self) -> str | None:
        return self.labelled()._repr_html_() if self._shows_labels() else None


def _labelled(numbers: NDArray[np.float64], dag: Dag, name: str) -> LabelledTable:
    return LabelledTable.of(numbers, dag, name)


def parameter_table(dag: Dag, name: str, table: NDArray[np.float64]) -> ParameterTable:
    """Return a variable's parameters as a table with labels."""
    variable = dag.schema[name]
    parents = tuple(p for p in dag.parents_of(name) if dag.schema[p].discrete)
    numbers = table.reshape(-1, table.shape[-1])
    columns = tuple(map(str, variable.states)) if variable.discrete else _words(dag, name, numbers.shape[1])
    states = product(*(dag.schema[p].states for p in parents))
    lines = tuple((at, tuple(row)) for at, row in zip(states, numbers.tolist(), strict=True))
    return ParameterTable(name, parents, columns, lines)


def _words(dag: Dag, name: str, many: int) -> tuple[str, ...]:
    """Return what the parameters of a continuous variable's family are called."""
    slopes = [p for p in dag.parents_of(name) if not dag.schema[p].discrete]
    first, *rest = dag.number(dag.schema.index(name)).words
    words = (first, *(f"slope of {parent}" for parent in slopes), *rest)
    return words if len(words) == many else tuple(f"parameter {k + 1}" for k in range(many))
