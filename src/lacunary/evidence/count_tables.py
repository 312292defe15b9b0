"""Tables of counts: what completions of rows with holes lead to, without going through the completions.

Equal rows are told apart by nobody: w of them with c completions lead to (w + c − 1 over w) tables of
counts and not to c^w completions, each table in as many ways as a multinomial coefficient says. Tables of
different rows are added, equal sums merged. Of a row only observed variables and their ancestors are
completed: what lies below holes sums to one, whatever is counted there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import comb, log10, prod
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from lacunary.data.table import HOLE
from lacunary.errors import NoEstimateError, TooWideError
from lacunary.evidence.problem import Problem
from lacunary.infer.completions import complete_statistics
from lacunary.maths.arrays import Array, Booleans, Integers

__all__ = ["BUDGET", "count_tables"]

BUDGET = 2_000_000
"""Tables of counts that are worth summing over; each takes about a microsecond for each of its cells."""

AT_ONCE = 2**16
"""Tables that are handed over at once."""

PURPOSE = "exact evidence by enumeration"


@dataclass(frozen=True, eq=False)
class _Row:
    """Equal rows: all ways to spread them over their completions.

    ``codes`` and ``reals`` are (variables,), ``open`` the variables to complete, ``families`` those counted.
    """

    codes: NDArray[np.signedinteger]
    reals: Array
    weight: float
    open: tuple[int, ...]
    families: tuple[int, ...]

    def completions(self, sizes: tuple[int, ...]) -> int:
        return prod(sizes[i] for i in self.open)

    def tables(self, sizes: tuple[int, ...]) -> int:
        return comb(int(self.weight) + self.completions(sizes) - 1, int(self.weight))


def count_tables(problem: Problem, budget: int = BUDGET) -> Iterator[tuple[Array, Array]]:
    """Go over the statistics that completions lead to, some at a time, with the log of how many lead there.

    (tables, statistics size) and (tables,). `TooWideError`, with the number of completions, if more than
    ``budget`` would have to be summed.
    """
    rows, base = _sorted(problem)
    sizes, left = problem.dag.schema.sizes, budget
    if not problem.dag.continuous:
        _check_number(problem, rows, budget)
    states, logs = base[None], np.zeros(1)
    for row in rows:
        left -= len(states) * row.tables(sizes)
        if left < 0:
            _refuse(rows, sizes, budget)
        added, ways = _spread(problem, row)
        if row is rows[-1]:
            yield from _sums(states, logs, added, ways)
            return
        states, logs = _merged(*map(np.concatenate, zip(*_sums(states, logs, added, ways), strict=True)))
    yield states, logs


def _check_number(problem: Problem, rows: list[_Row], budget: int) -> None:
    """Refuse what is too much before it is gone through, by one whole number in place of every table.

    The number is a sum over the table's cells with weights at random, modulo 2⁶⁴: equal tables have equal
    numbers, so that there are no more numbers than tables.
    """
    sizes, left = problem.dag.schema.sizes, budget
    if sum(log10(row.tables(sizes)) for row in rows) + log10(len(rows) or 1) < log10(budget):
        return
    width = problem.dag.layout.statistics_size
    weights = np.random.default_rng(0).integers(-(2**62), 2**62, width)
    numbers = np.zeros(1, dtype=np.int64)
    for row in rows:
        left -= len(numbers) * row.tables(sizes)
        if left < 0:
            _refuse(rows, sizes, budget)
        added = _spread(problem, row)[0].astype(np.int64) @ weights
        numbers = np.unique(numbers[:, None] + added)


def _sorted(problem: Problem) -> tuple[list[_Row], Array]:
    """Return the rows to complete, those with few tables first, and the statistics of all others."""
    codes, reals, weights = problem.rows(PURPOSE)
    dag, base, rows = problem.dag, np.zeros(problem.dag.layout.statistics_size), []
    patterns, which = np.unique(_seen(problem, codes, reals), axis=0, return_inverse=True)
    for p, seen in enumerate(patterns):
        kept = sorted(dag.ancestors(np.flatnonzero(seen).tolist()))
        families = tuple(i for i in kept if seen[i] or not dag.families[i].leaf)
        hollow = [i for i in families if not seen[i]]
        _check(problem, hollow)
        places = np.flatnonzero(which.ravel() == p)
        if all(dag.schema.sizes[i] == 1 for i in hollow):
            filled = np.where(codes[places] == HOLE, 0, codes[places])
            base += complete_statistics(dag, filled, reals[places], weights[places], families)
        else:
            rows += [_Row(codes[r], reals[r], float(weights[r]), tuple(hollow), families) for r in places]
    for row in rows:
        if row.weight != round(row.weight):
            raise NoEstimateError(
                "exact enumeration needs whole weights: half a row has no completions; use 'laplace' "
                "or 'variational'"
            )
    return sorted(rows, key=lambda row: row.tables(dag.schema.sizes)), base


def _seen(problem: Problem, codes: NDArray[np.signedinteger], reals: Array) -> Booleans:
    """Tell which cells are observed; (rows, variables)."""
    seen = np.asarray(codes != HOLE)
    for i in problem.dag.continuous:
        seen[:, i] = ~np.isnan(reals[:, i])
    return seen


def _check(problem: Problem, hollow: list[int]) -> None:
    """Refuse continuous holes, which cannot be enumerated, where something below them is observed."""
    for i in hollow:
        if not problem.dag.schema.variables[i].discrete:
            raise NoEstimateError(
                f"{problem.dag.names[i]} is continuous and has holes above what is observed: its completions "
                "cannot be enumerated, and there is no closed form; use 'ais' for an unbiased estimate, or "
                "'variational' for a lower bound"
            )


def _refuse(rows: list[_Row], sizes: tuple[int, ...], budget: int) -> NoReturn:
    total = sum(row.weight * log10(row.completions(sizes)) for row in rows)
    tables = sum(log10(row.tables(sizes)) for row in rows)
    raise TooWideError(
        f"the holes have about 10^{total:.0f} completions, too many to enumerate, in up to 10^{tables:.0f} "
        f"tables of counts where {budget} are allowed; use 'ais' for an unbiased estimate, or 'variational' "
        "for a lower bound"
    )


def _spread(problem: Problem, row: _Row) -> tuple[Array, Array]:
    """Return all statistics of equal rows, and logs of their ways; (tables, size) and (tables,)."""
    sizes = problem.dag.schema.sizes
    options = [range(sizes[i]) if i in row.open else [max(int(c), 0)] for i, c in enumerate(row.codes)]
    each = np.array(
        [
            complete_statistics(problem.dag, np.array([full]), row.reals[None], np.ones(1), row.families)
            for full in product(*options)
        ]
    )
    often = _compositions(int(row.weight), len(each))
    return often @ each, gammaln(row.weight + 1) - gammaln(often + 1.0).sum(axis=1)


def _compositions(total: int, parts: int) -> Integers:
    """Return all ways to write a number as a sum of so many, order counting; (ways, parts)."""
    left, columns = np.array([total]), list[Integers]()
    for _ in range(parts - 1):
        last = np.repeat(np.arange(len(left)), left + 1)
        taken = np.arange(len(last)) - np.searchsorted(last, last)
        columns = [column[last] for column in columns] + [taken]
        left = left[last] - taken
    return np.stack([*columns, left], axis=1)


def _sums(states: Array, logs: Array, added: Array, ways: Array) -> Iterator[tuple[Array, Array]]:
    """Go over all sums of one table of each kind, some at a time."""
    step = max(AT_ONCE // len(added), 1)
    for first in range(0, len(states), step):
        some = slice(first, first + step)
        sums = states[some, None] + added
        yield sums.reshape(-1, sums.shape[-1]), (logs[some, None] + ways).ravel()


def _merged(states: Array, logs: Array) -> tuple[Array, Array]:
    """Return the different states, each with the log of the sum of its ways."""
    varies = states[:, (states != states[0]).any(axis=0)]
    order = np.lexsort(varies.T) if varies.shape[1] else np.arange(len(states))
    states, logs, varies = states[order], logs[order], varies[order]
    new = np.concatenate([[True], (varies[1:] != varies[:-1]).any(axis=1)])
    return states[new], np.logaddexp.reduceat(logs, np.flatnonzero(new))
