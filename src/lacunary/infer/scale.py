"""Standardised columns, in which continuous variables are learned, and the way back to the data's units.

Moments lose digits where the mean is many standard deviations from zero, so learning never sees a column as
it was measured, but as (x − centre) / spread. Parameters and beliefs are moved in before and out after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lacunary.data.source import Source
from lacunary.data.table import Table
from lacunary.family.numeric import Units
from lacunary.family.registry import numeric_class
from lacunary.family.regression import no_square
from lacunary.infer.belief import Belief
from lacunary.infer.rows import Rows, prepare
from lacunary.model.dag import Dag

__all__ = ["Scale", "check_squares"]

LEAST = 1e-150
"""Numbers smaller than this, or larger than one over it, have squares of which sums are no numbers."""


@dataclass(frozen=True, eq=False)
class Scale:
    """Centre and spread of every column; zero and one where it is discrete, hidden or constant.

    A constant column keeps its centre: standardised it is zero. Columns whose families take them as they are
    have zero and one too; ``typical`` has the mean of every column, by which priors of such families measure.
    """

    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    typical: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, source: Source, dag: Dag | None = None) -> Scale:
        """Return the weighted mean and standard deviation of each column's observed cells.

        Columns that tied families of a graph treat alike are taken together: what they share means the
        same in both only if they are measured alike.
        """
        columns = len(source.schema)
        centre, spread, typical = np.zeros(columns), np.ones(columns), np.ones(columns)
        for group in _alike(dag) if dag else [(i,) for i in range(columns)]:
            some, variable = list(group), source.schema.variables[group[0]]
            if variable.discrete:
                continue
            middle, width = source.facts.centre_and_spread(group)
            if (dag.number(group[0]) if dag else numeric_class(variable)).scaled:
                centre[some], spread[some] = middle, width
            else:
                typical[some] = middle or 1.0
        return cls(centre, spread, typical)

    def table(self, table: Table) -> Table:
        """Return a table with standardised columns; declared bounds are not kept."""
        reals = (table.reals - self.centre) / self.spread if table.reals.shape[1] else table.reals
        return replace(table, reals=reals)

    def source(self, source: Source) -> Source:
        """Return rows with standardised columns, wherever they are."""
        return source if all(v.discrete for v in source.schema) else source.mapped(self.table)

    def prepare(self, dag: Dag, source: Source) -> Rows:
        """Lay standardised rows out; log-likelihoods are those of the rows as they were measured."""
        rows = prepare(dag, source)
        if not dag.continuous:
            return rows
        return rows.shifted(-np.log(self.spread))

    def log_jacobian(self, source: Source, dag: Dag) -> float:
        """Return what log-likelihoods gain from standardised columns to the data's units.

        And from values' log-densities that depend on no parameters (`NumericFamily.log_base`).
        """
        base = source.fold(partial(_log_base, dag)) if dag.leaves else 0.0
        return base - float(source.facts.seen @ np.log(self.spread))

    def inward(self, dag: Dag, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return parameters for standardised columns, given those for the data's; (..., size)."""
        out = np.array(theta)
        for i, family in dag.numeric:
            dag.layout.records(out, i)[:] = family.inward(dag.layout.records(theta, i), self.units(dag, i))
        return out

    def outward(self, dag: Dag, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return parameters for the data's columns, given those for standardised ones; (..., size)."""
        out = np.array(theta)
        for i, family in dag.numeric:
            dag.layout.records(out, i)[:] = family.outward(dag.layout.records(theta, i), self.units(dag, i))
        return out

    def of_columns(
        self, where: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return centre, spread and typical size of some columns; (columns,) each."""
        some = list(where)
        typical = np.ones(len(some)) if self.typical is None else self.typical[some]
        return self.centre[some], self.spread[some], typical

    def units(self, dag: Dag, i: int) -> Units:
        """Return how the columns of a continuous variable's family were standardised."""
        columns = [*dag.layout.regressors[i], i]
        typical = 1.0 if self.typical is None else float(self.typical[i])
        return Units(self.centre[columns], self.spread[columns], typical)

    def believed_inside(self, belief: Belief) -> Belief:
        """Return what is believed about the parameters for standardised columns."""
        dag, alpha = belief.dag, np.array(belief.alpha)
        for i, family in dag.numeric:
            hyper, units = dag.layout.statistics(alpha, i), self.units(dag, i)
            if (family.scaled and not belief.standard) or (not family.scaled and belief.relative):
                hyper[:] = family.believed_inside(hyper, units)
        return replace(belief, alpha=alpha, relative=False) if dag.continuous else belief

    def believed_outside(self, belief: Belief) -> Belief:
        """Return what is believed about the parameters for the data's columns."""
        dag, alpha = belief.dag, np.array(belief.alpha)
        for i, family in dag.numeric:
            hyper = dag.layout.statistics(alpha, i)
            hyper[:] = family.believed_outside(hyper, self.units(dag, i))
        return replace(belief, alpha=alpha, standard=False, relative=False)

    def log_stretch(self, dag: Dag, learned: Sequence[int] | None = None) -> float:
        """Return log |dη′/dη|, summed over families, from the data's parameters to the standardised.

        η are the coordinates of MAP estimates, of a regression (intercept, coefficients / variance,
        1 / variance). With ``learned`` only these families count: what is given has no density.
        """
        known = (each for each in dag.numeric if learned is None or each[0] in learned)
        return float(sum(family.log_stretch(self.units(dag, i)) for i, family in known))


def check_squares(source: Source) -> None:
    """Refuse columns whose squares no number can hold."""
    if all(variable.discrete for variable in source.schema):
        return
    facts = source.facts
    largest = np.nan_to_num(np.fmax(np.abs(facts.low), np.abs(facts.high)))
    for name, size in zip(source.schema.names, largest.tolist(), strict=True):
        if size and not LEAST < size < 1 / LEAST:
            raise no_square(name, size)


def _log_base(dag: Dag, table: Table) -> float:
    """Return what values have whatever the parameters, summed over rows."""
    return float(sum(table.weights @ family.log_base(table.reals[:, i]) for i, family in dag.leaves))


def _alike(dag: Dag) -> list[tuple[int, ...]]:
    """Group the variables that stand in the same place of tied regressions."""
    group: dict[int, tuple[int, ...]] = {i: (i,) for i in range(len(dag.schema))}
    for tied in dag.tied:
        families = [(i, *dag.layout.regressors[i]) for i in map(dag.schema.index, tied)]
        for place in zip(*families, strict=True):
            joined = tuple(sorted({i for member in place for i in group[member]}))
            group |= dict.fromkeys(joined, joined)
    return list(dict.fromkeys(group.values()))
