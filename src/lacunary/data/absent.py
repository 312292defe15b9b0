"""Rows that were left behind: results are pickled without the table they were learned from, unless asked."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from lacunary.errors import SourceError

if TYPE_CHECKING:
    from lacunary.data.facts import Facts
    from lacunary.data.schema import Schema
    from lacunary.data.source import Source
    from lacunary.data.table import Table

__all__ = ["Absent", "Lean", "keep_rows", "left_behind"]

_kept: ContextVar[bool] = ContextVar("rows are pickled", default=False)


@contextmanager
def keep_rows() -> Iterator[None]:
    """Let results that are pickled in a ``with`` block take along the rows they were learned from.

    Without it a `SearchResult`, a `Comparison`, a `MixtureFit` or `Classes` are pickled without their table;
    copies in the same process keep it.

    Examples
    --------
    >>> import lacunary as lac, pickle
    >>> found = lac.search(lac.asia().sample(50, rng=0), method="greedy")
    >>> with lac.keep_rows():
    ...     whole = pickle.loads(pickle.dumps(found))
    >>> len(whole.table)
    50
    """
    token = _kept.set(True)
    try:
        yield
    finally:
        _kept.reset(token)


@dataclass(frozen=True, eq=False)
class Absent:
    """What is still known of a source of rows that is not here: its columns, its size, facts of columns."""

    schema: Schema
    size: float
    facts: Facts
    doubts: str = ""

    def __len__(self) -> int:
        """Return how many rows there were."""
        return self.facts.rows

    def align(self, schema: Schema) -> Source:
        """Raise `SourceError`: there are no rows."""
        self._refuse("a model over them")

    def mapped(self, function: Callable[[Table], Table]) -> Source:
        """Raise `SourceError`: there are no rows."""
        self._refuse("changing them")

    def fold(self, function: Callable[[Table], Any], merge: Callable[[Any, Any], Any] = ...) -> Any:  # type: ignore[assignment]
        """Raise `SourceError`: there are no rows."""
        self._refuse("what is asked of them")

    def take(self, rows: Any) -> Table:
        """Raise `SourceError`: there are no rows."""
        self._refuse("taking some of them")

    def laid(self, function: Callable[[Table], Any], keep: bool = True) -> Any:
        """Raise `SourceError`: there are no rows."""
        self._refuse("looking at each of them")

    def prepare(self, dag: Any) -> Any:
        """Raise `SourceError`: there are no rows."""
        self._refuse("laying them out")

    def whole(self, purpose: str) -> Table:
        """Raise `SourceError`: there are no rows."""
        self._refuse(purpose)

    def _refuse(self, purpose: str) -> NoReturn:
        raise SourceError(
            f"{purpose} needs the {len(self)} rows that this was learned from, and it was pickled without "
            "them; pickle it inside `with lacunary.keep_rows():`, or learn it again"
        )


def left_behind(state: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return an object's state with its tables outlined in place of their rows, unless rows are to be kept.

    The tables are those of these names, or "table".
    """
    if _kept.get():
        return state
    return state | {name: _outlined(state[name]) for name in names or ("table",)}


def _outlined(table: Any) -> Any:
    if table is None or isinstance(table, Absent):
        return table
    return Absent(table.schema, table.size, table.facts, str(getattr(table, "doubts", "")))


class Lean:
    """A result that is pickled without rows, and copied with them."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = object.__new__(type(self))
        memo[id(self)] = made
        for name, held in self.__dict__.items():
            made.__dict__[name] = copy.deepcopy(held, memo)
        return made

    @staticmethod
    def keeps_rows() -> bool:
        """Return whether rows are to be pickled."""
        return _kept.get()
