"""Standardised columns, in which continuous variables are learned, and the way back to the data's units.

Moments lose digits where the mean is many standard deviations from zero, so learning never sees a column as
it was measured, but as (x − centre) / spread. Parameters and beliefs are moved in before and out after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lacunary.data.source import Source
from lacunary.data.table import Table
from lacunary.errors import TableError
from lacunary.infer.belief import Belief
from lacunary.infer.rows import Rows, prepare
from lacunary.maths.moments import move
from lacunary.model.dag import Dag

__all__ = ["Scale", "check_squares"]

LEAST = 1e-150
"""Numbers smaller than this, or larger than one over it, have squares of which sums are no numbers."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Centre and spread of every column; zero and one where it is discrete, hidden or constant.

    A constant column keeps its centre: standardised it is zero.
    """

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, source: Source, dag: Dag | None = None) -> Scale:
        """Return the weighted mean and standard deviation of each column's observed cells.

        Columns that tied families of a graph treat alike are taken together: what they share means the
        same in both only if they are measured alike.
        """
        columns = len(source.schema)
        centre, spread = np.zeros(columns), np.ones(columns)
        for group in _alike(dag) if dag else [(i,) for i in range(columns)]:
            if not source.schema.variables[group[0]].discrete:
                centre[list(group)], spread[list(group)] = source.facts.centre_and_spread(group)
        return cls(centre, spread)

    def table(self, table: Table) -> Table:
        """Return a table with standardised columns; declared bounds are not kept."""
        reals = (table.reals - self.centre) / self.spread if table.reals.shape[1] else table.reals
        return replace(table, reals=reals)

    def source(self, source: Source) -> Source:
        """Return rows with standardised columns, wherever they are."""
        return source.mapped(self.table)

    def prepare(self, dag: Dag, source: Source) -> Rows:
        """Lay standardised rows out; log-likelihoods are those of the rows as they were measured."""
        rows = prepare(dag, source)
        if not dag.continuous:
            return rows
        return rows.shifted(-np.log(self.spread))

    def log_jacobian(self, source: Source) -> float:
        """Return what log-likelihoods gain from standardised columns to the data's units."""
        return -float(source.facts.seen @ np.log(self.spread))

    def inward(self, dag: Dag, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return parameters for standardised columns, given those for the data's; (..., size)."""
        out = np.array(theta)
        for i in dag.layout.regressions:
            x, y = list(dag.layout.regressors[i]), self.spread[i]
            record, given = dag.layout.records(out, i), dag.layout.records(theta, i)
            if i in dag.uniforms:
                record[:] = (given - self.centre[i]) / y
                continue
            record[..., 0] = (given[..., 0] + given[..., 1:-1] @ self.centre[x] - self.centre[i]) / y
            record[..., 1:-1] = given[..., 1:-1] * self.spread[x] / y
            record[..., -1] = given[..., -1] / y / y
        return out

    def outward(self, dag: Dag, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return parameters for the data's columns, given those for standardised ones; (..., size)."""
        out = np.array(theta)
        for i in dag.layout.regressions:
            x, y = list(dag.layout.regressors[i]), self.spread[i]
            record, given = dag.layout.records(out, i), dag.layout.records(theta, i)
            if i in dag.uniforms:
                record[:] = self.centre[i] + given * y
                continue
            record[..., 1:-1] = given[..., 1:-1] * y / self.spread[x]
            record[..., 0] = self.centre[i] + given[..., 0] * y - record[..., 1:-1] @ self.centre[x]
            with np.errstate(over="ignore", under="ignore"):
                record[..., -1] = given[..., -1] * y**2
            held = (record[..., -1] > 0) & np.isfinite(record[..., -1])
            if np.any((given[..., -1] > 0) & ~held):
                raise _no_square(dag.names[i], float(y))
        return out

    def believed_inside(self, belief: Belief) -> Belief:
        """Return what is believed about the parameters for standardised columns."""
        return belief if belief.standard else self._moved(belief, -self.centre / self.spread, 1 / self.spread)

    def believed_outside(self, belief: Belief) -> Belief:
        """Return what is believed about the parameters for the data's columns."""
        return replace(self._moved(belief, self.centre, self.spread), standard=False)

    def _moved(self, belief: Belief, origin: NDArray[np.float64], step: NDArray[np.float64]) -> Belief:
        layout, alpha = belief.dag.layout, np.array(belief.alpha)
        for i in layout.regressions:
            family = [*layout.regressors[i], i]
            moments = layout.moments(alpha, i)
            moments[:] = move(moments, origin[family], step[family])
        return replace(belief, alpha=alpha)

    def log_stretch(self, dag: Dag, learned: Sequence[int] | None = None) -> float:
        """Return log |dη′/dη|, summed over regressions, from the data's parameters to the standardised.

        η = (intercept, coefficients / variance, 1 / variance), the coordinates of MAP estimates. With
        ``learned`` only these regressions count: what is given has no density.
        """
        log, total = np.log(self.spread), 0.0
        for i in dag.layout.regressions if learned is None else learned:
            if i in dag.uniforms:  # bounds are known before a climb
                continue
            x = list(dag.layout.regressors[i])
            total += dag.layout.configurations[i] * float(log[i] + (log[x] + log[i]).sum())
        return total


def check_squares(names: Sequence[str], values: NDArray[np.float64]) -> None:
    """Refuse columns whose squares no number can hold; (rows, columns)."""
    largest = np.abs(values).max(axis=0, initial=0.0, where=~np.isnan(values))
    for name, size in zip(names, largest.tolist(), strict=True):
        if size and not LEAST < size < 1 / LEAST:
            raise _no_square(name, size)


def _no_square(name: str, size: float) -> TableError:
    return TableError(
        f"{name} varies by about {size:.3g}, and no number can hold the square of that, its variance; "
        "measure the column in other units"
    )


def _alike(dag: Dag) -> list[tuple[int, ...]]:
    """Group the variables that stand in the same place of tied regressions."""
    group: dict[int, tuple[int, ...]] = {i: (i,) for i in range(len(dag.schema))}
    for tied in dag.tied:
        families = [(i, *dag.layout.regressors[i]) for i in map(dag.schema.index, tied)]
        for place in zip(*families, strict=True):
            joined = tuple(sorted({i for member in place for i in group[member]}))
            group |= dict.fromkeys(joined, joined)
    return list(dict.fromkeys(group.values()))
