"""Columns that a model would take at their word, though their author hardly means it.

What is here is said once by every verb, in a line, and nothing is dropped unasked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lacunary.data.diagnostics import CAMEL, DATE, IDENTIFIER, sounds_missing
from lacunary.data.facts import state_weights
from lacunary.data.table import HOLE

if TYPE_CHECKING:
    from lacunary.data.source import Source
    from lacunary.data.table import Table

__all__ = ["doubts"]

LOOKED_AT = 2000
"""Rows in which columns are compared, the first ones."""

COMPARED = 200
"""The most columns of a kind that are compared with each other."""

FEWEST = 10
"""Rows below which nothing is said: everything repeats itself, or nothing does."""

ALIKE = 0.999
"""Correlation of two continuous columns, or share of rows in which states correspond, that is all but one."""

GLANCED_AT = 200
"""Rows in which columns of states are first compared, all pairs at once: hardly any are alike in these."""

WIDEST = 2048
"""The most states of all columns of one size together for which that glance is taken."""

FEW = 3
"""Values of a continuous column that look like states."""

CONSTANT = "holds one value alone"


@dataclass(frozen=True)
class Doubtful:
    """Columns that are doubtful, by name, and what they look like.

    Attributes
    ----------
    alone
        Identifiers, dates and constants.
    twice
        Those that all but repeat another.
    few
        Numbers with few values.
    """

    alone: dict[str, str]
    twice: dict[str, str]
    few: dict[str, str]

    def __str__(self) -> str:
        if not (self.alone or self.few or self.twice):
            return ""
        said = [f"{name} {what}" for name, what in {**self.alone, **self.twice, **self.few}.items()]
        drop = [*self.alone, *self.twice]
        remedies = [f"drop={drop!r} leaves them out"] if drop else []
        remedies += [f"kinds={{{name!r}: 'discrete'}} makes states of {name}" for name in self.few]
        return f"taken as they are, but doubtful: {', '.join(said)}; {'; '.join(remedies)}"


def doubts(source: Source) -> str:
    """Return what is doubtful about the columns, in a line; empty where nothing is.

    Of rows in parts: what every part large enough to tell says alike.
    """
    found = source.fold(_doubtful, _agreed)
    return "" if found is None else str(replace(found, alone=dict(_still(source, found.alone))))


def _doubtful(table: Table) -> Doubtful | None:
    """Return what is doubtful in a table; nothing is known where rows are few."""
    if len(table) < FEWEST:
        return None
    alone = dict(_alone(table))
    rest = [
        i for i, variable in enumerate(table.schema) if variable.name not in alone and not variable.hidden
    ]
    return Doubtful(alone, dict(_repeated(table, rest)), dict(_few(table, rest)))


def _agreed(one: Doubtful | None, other: Doubtful | None) -> Doubtful | None:
    """Return what two parts say alike; what one says where the other is too small to tell."""
    if one is None or other is None:
        return other if one is None else one
    pairs = ((one.alone, other.alone), (one.twice, other.twice), (one.few, other.few))
    return Doubtful(*(dict(item for item in a.items() if item in b.items()) for a, b in pairs))


def _still(source: Source, alone: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what still holds of all rows: each part may have held one value, but not the same."""
    for name, what in alone.items():
        i = source.schema.index(name)
        if what != CONSTANT:
            yield name, what
        elif not source.schema.variables[i].discrete:
            if source.facts.low[i] == source.facts.high[i]:
                yield name, what
        elif (state_weights(source, name) > 0).sum() == 1:
            yield name, what


def _alone(table: Table) -> Iterator[tuple[str, str]]:
    """Yield identifiers, dates and constants, by name, and what they look like."""
    plain = _plain(table)
    for i, variable in enumerate(table.schema):
        if variable.hidden:
            continue
        if variable.discrete:
            what = _dates(variable.states) if plain[i] else _labels(table, i)
        else:
            values = table.reals[~table.holes[:, i], i]
            what = _numbers(values, variable.name) if len(values) >= FEWEST else ""
        if what:
            yield variable.name, what


def _plain(table: Table) -> list[bool]:
    """Tell which columns have states that repeat and differ, which is seen in the first rows of most."""
    codes, size = table.codes[:GLANCED_AT], np.array([v.size for v in table.schema])
    shown = (codes != HOLE).sum(axis=0)
    least = codes.min(axis=0, where=codes != HOLE, initial=np.iinfo(codes.dtype).max)
    plain = (shown >= FEWEST) & (least < codes.max(axis=0)) & (size < 0.9 * shown)
    return [bool(each) for each in plain]


def _labels(table: Table, i: int) -> str:
    states = table.schema.variables[i].states
    holes, *counts = np.bincount(
        table.codes[:, i].astype(np.int64) - HOLE, minlength=len(states) + 1
    ).tolist()
    shown, cells = sum(count > 0 for count in counts), len(table) - holes
    if cells < FEWEST:
        return ""
    if shown == 1:
        return CONSTANT
    return _dates(states) or ("has a state a row" if shown >= 0.9 * cells else "")


def _dates(states: Sequence[object]) -> str:
    dated = all(isinstance(one, str) and DATE.fullmatch(one) and not sounds_missing(one) for one in states)
    return "holds dates" if dated else ""


def _numbers(values: NDArray[np.float64], name: str) -> str:
    low, high = float(values.min()), float(values.max())
    if low == high:
        return CONSTANT
    if np.any(values[:LOOKED_AT] != np.floor(values[:LOOKED_AT])):
        return ""
    named = IDENTIFIER.search(name) or CAMEL.search(name)
    if not named and high - low + 1 != len(values):
        return ""
    distinct = len(np.unique(values)) == len(values) and bool(np.all(values == np.floor(values)))
    return "numbers the rows" if distinct else ""


def _few(table: Table, columns: list[int]) -> Iterator[tuple[str, str]]:
    for i in columns:
        if not table.schema.variables[i].discrete:
            values = table.reals[~table.holes[:, i], i]
            if len(values) >= FEWEST and (number := len(np.unique(values))) <= FEW:
                yield table.schema.names[i], f"is a number with {number} values"


def _repeated(table: Table, columns: list[int]) -> Iterator[tuple[str, str]]:
    """Yield columns that all but repeat an earlier one of their kind, and which."""
    names, variables = table.schema.names, table.schema.variables
    numbers = [i for i in columns if not variables[i].discrete][:COMPARED]
    states = [i for i in columns if variables[i].discrete][:COMPARED]
    taken: set[int] = set()
    for pairs in (_alike_numbers(table, numbers), _alike_states(table, states)):
        for k, i in pairs:
            if i not in taken and k not in taken and _same(table, k, i):
                taken.add(i)
                yield names[i], f"nearly repeats {names[k]}"


def _alike_states(table: Table, columns: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of columns of states that may hold the same: the first rows do not rule it out.

    Rows whose states do not correspond are no fewer in all rows that are looked at than in the first of them.
    """
    sizes, found = table.schema.sizes, []
    allowed = (1.0 - ALIKE) * min(len(table), LOOKED_AT) + 0.5
    for size in sorted({sizes[i] for i in columns} - {1}):
        alike = [i for i in columns if sizes[i] == size]
        if len(alike) * size > WIDEST:
            found += [(k, i) for place, i in enumerate(alike) for k in alike[:place]]
            continue
        codes = table.codes[:GLANCED_AT, alike]
        shown = (codes[:, None] == np.arange(size)[:, None]).reshape(len(codes), -1).astype(np.float32)
        counts = (shown.T @ shown).reshape(size, len(alike), size, len(alike))
        lost = (counts.sum(axis=2) - counts.max(axis=2)).sum(axis=0)
        few = np.maximum(lost, lost.T) <= allowed
        found += [(alike[k], alike[i]) for i, k in np.argwhere(np.tril(few, -1)).tolist()]
    return sorted(found, key=lambda pair: pair[::-1])


def _alike_numbers(table: Table, columns: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of columns of numbers that may hold the same: their correlations do not rule it out.

    These are taken for all pairs at once; where few digits are left of a variance, nothing is ruled out.
    """
    if len(columns) < 2:
        return []
    shown = ~table.holes[:LOOKED_AT, columns]
    seen = shown.astype(np.float64)
    x = np.where(shown, table.reals[:LOOKED_AT, columns], 0.0)
    x /= np.maximum(np.abs(x).max(axis=0), np.finfo(np.float64).tiny)
    x = np.where(shown, x - x.sum(axis=0) / np.maximum(seen.sum(axis=0), 1.0), 0.0)
    x /= np.maximum(np.abs(x).max(axis=0), np.finfo(np.float64).tiny)
    both = np.maximum(seen.T @ seen, 1.0)
    sums, squares = x.T @ seen, (x * x).T @ seen
    spread = squares - sums * sums / both
    joint = x.T @ x - sums * sums.T / both
    clear = np.minimum(spread, spread.T) > 1e-8 * both
    apart = clear & (joint * joint < (ALIKE - 1e-4) ** 2 * spread * spread.T)
    return [(columns[k], columns[i]) for i, k in np.argwhere(np.tril(~apart, -1)).tolist()]


def _standard(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers about their mean, in units of the largest: squares of 1e160 are no numbers."""
    unit = np.abs(x).max() or 1.0
    x = x / unit - (x / unit).mean()
    return np.asarray(x / (np.abs(x).max() or 1.0))


def _same(table: Table, a: int, b: int) -> bool:
    """Tell whether two columns of a kind hold the same, in other words or units."""
    both = ~(table.holes[:LOOKED_AT, a] | table.holes[:LOOKED_AT, b])
    if both.sum() < FEWEST:
        return False
    if not table.schema.variables[a].discrete:
        x, y = table.reals[:LOOKED_AT, a][both], table.reals[:LOOKED_AT, b][both]
        x, y = _standard(x), _standard(y)
        return bool((x @ y) ** 2 > ALIKE**2 * (x @ x) * (y @ y) > 0)
    if table.schema.variables[a].size == 1 or table.schema.sizes[a] != table.schema.sizes[b]:
        return False
    size = table.schema.variables[b].size
    pairs = table.codes[:LOOKED_AT, a][both].astype(np.int64) * size + table.codes[:LOOKED_AT, b][both]
    counts = np.bincount(pairs, minlength=size * size).reshape(size, size)
    one = (
        counts.max(axis=1).sum() >= ALIKE * counts.sum() and counts.max(axis=0).sum() >= ALIKE * counts.sum()
    )
    return bool(one and (counts.sum(axis=1) > 0).sum() > 1)
