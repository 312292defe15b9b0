"""Sources of rows: what learning needs to know of data before there is a graph.

A `Table` is a source; so is a sum of parts that never stand in one place (`lacunary.Partitioned`). What is
learned from rows is additive: it is worked out part by part with `Source.fold` and added in the order of the
parts, in a tree whose shape depends on their number alone, so that who does the work changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import add, attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lacunary.data.facts import Facts
    from lacunary.data.parts import Parts
    from lacunary.data.schema import Schema
    from lacunary.data.table import Table

__all__ = [
    "Source",
    "by_cells",
    "different",
    "distinct_rows",
    "first_row",
    "in_tree",
    "joined",
    "merged_rows",
    "one_after_other",
    "one_table",
    "row_weights",
]

T = TypeVar("T")


class Source(Protocol):
    """Columns and rows, wherever these are."""

    @property
    def schema(self) -> Schema:
        """The variables, in the order of the columns."""
        ...

    @property
    def size(self) -> float:
        """N: the sum of the rows' weights."""
        ...

    @property
    def facts(self) -> Facts:
        """Sizes, ranges, means and variances of the columns."""
        ...

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def align(self, schema: Schema) -> Source:
        """Return the rows as a model over ``schema`` sees them; see `Table.align`."""
        ...

    def mapped(self, function: Callable[[Table], Table]) -> Source:
        """Return the source whose rows are those of this one, changed part by part."""
        ...

    def fold(self, function: Callable[[Table], T], merge: Callable[[T, T], T] = ...) -> T:
        """Return what a function says of each part, merged in the order of the parts; by default added."""
        ...

    def laid(self, function: Callable[[Table], T], keep: bool = True) -> Parts[T]:
        """Return what a function makes of each part, which stays where the part is; see `Parts.then`."""
        ...

    def whole(self, purpose: str) -> Table:
        """Return all rows as one table, or raise `SourceError`, naming the purpose that needs them."""
        ...


def in_tree(parts: Sequence[T], merge: Callable[[T, T], T] = add) -> T:
    """Return the parts merged two neighbours at a time: a tree whose shape depends on their number alone."""
    level = list(parts)
    while len(level) > 1:
        pairs = [merge(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def first_row(source: Source, test: Callable[[Table], NDArray[np.bool_]]) -> tuple[int, Table] | None:
    """Return the first row that passes a test, its number counted from zero; None if none does."""
    _, found = source.fold(partial(_first, test), _earlier)
    return found


Found = tuple[int, tuple[int, "Table"] | None]
"""How many rows there are, and the first that passed: its number, and itself."""


def _first(test: Callable[[Table], NDArray[np.bool_]], table: Table) -> Found:
    passed = np.flatnonzero(test(table))
    return len(table), (int(passed[0]), table.take(passed[:1])) if len(passed) else None


def _earlier(a: Found, b: Found) -> Found:
    later = None if b[1] is None else (a[0] + b[1][0], b[1][1])
    return a[0] + b[0], a[1] or later


def joined(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of two arrays, one after the other: how `Source.fold` merges what each row says."""
    return np.concatenate([a, b])


def one_table(source: Source) -> Table | None:
    """Return the source if it is one table, which can be counted as it stands; None if it is not."""
    from lacunary.data.table import Table

    return source if isinstance(source, Table) else None


def row_weights(source: Source) -> NDArray[np.float64]:
    """Return how often each row counts, all in one place; (rows,)."""
    return source.fold(attrgetter("weights"), joined)


def distinct_rows(table: Table) -> Table:
    """Return the different rows with their summed weights, in an order that depends on their cells alone."""
    return by_cells(different(table))


def different(table: Table) -> Table:
    """Return the different rows with their summed weights, in whatever order."""
    distinct = table.distinct
    return replace(table.take(distinct.first), weights=distinct.weights)


def by_cells(rows: Table) -> Table:
    """Return different rows in an order that depends on their cells alone."""
    return rows.take(np.lexsort([*rows.codes.T, *rows.reals.T]))


def merged_rows(a: Table, b: Table) -> Table:
    """Return the different rows of two tables of different rows; see `distinct_rows`."""
    return distinct_rows(one_after_other(a, b))


def one_after_other(a: Table, b: Table) -> Table:
    """Return the rows of two tables with the same variables, with their weights."""
    both = zip((a.codes, a.reals, a.weights), (b.codes, b.reals, b.weights), strict=True)
    codes, reals, weights = (np.concatenate(pair) for pair in both)
    return replace(a, codes=codes, reals=reals, weights=weights)
