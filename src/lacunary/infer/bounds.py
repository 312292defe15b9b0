"""The bounds of uniform families: declared, or learned from the rows with a Pareto prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import TableError
from lacunary.maths.pareto import Pareto
from lacunary.model.dag import Dag
from lacunary.model.family import has_bounds

__all__ = ["bounds_prior", "drawn_bounds", "learned_bounds", "log_bounds_density", "showing"]

ROWS = 1.0
"""How many rows the default prior of bounds is worth."""

MIDDLE = 0.5
"""It says that a variable varies at least so many standard deviations around the mean of its column."""


def drawn_bounds(variable: Variable, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return bounds drawn from the prior of a column of mean zero and variance one; (count, 2)."""
    if has_bounds(variable):
        return np.tile(np.array(variable.bounds), (count, 1))
    ends = np.full(count, MIDDLE)
    return np.stack(Pareto(np.full(count, ROWS), -ends, ends).draw(random), axis=-1)


def bounds_prior(table: Table, i: int) -> Pareto:
    """Return what is believed of one column's bounds beforehand: its mean ± half a standard deviation."""
    seen = ~np.isnan(table.reals[:, i]) & (table.weights > 0)
    x, weight = table.reals[seen, i], table.weights[seen]
    mean = float(np.average(x, weights=weight)) if len(x) else 0.0
    spread = float(np.sqrt(np.average((x - mean) ** 2, weights=weight))) if len(x) else 1.0
    half = MIDDLE * (spread if spread > 0 else 1.0)
    return Pareto(np.array(ROWS), np.array(mean - half), np.array(mean + half))


def showing(dag: Dag, table: Table, i: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which rows show a variable with its parents in each configuration, for certain and possibly.

    (configurations, rows) each.
    """
    parents, sizes = list(dag.layout.members[i][1:]), dag.layout.parent_sizes(i)
    seen = ~np.isnan(table.reals[:, i]) & (table.weights > 0)
    codes = table.codes[:, parents]
    states = np.indices(sizes).reshape(len(sizes), dag.layout.configurations[i]).T
    single = np.array(sizes) == 1  # a hole there hides nothing
    same = (codes == states[:, None, :]) | single
    return seen & same.all(axis=-1), seen & (same | (codes == HOLE)).all(axis=-1)


def learned_bounds(dag: Dag, table: Table, i: int, method: str) -> NDArray[np.float64]:
    """Return the bounds that a fit gives a uniform variable, (configurations, 2).

    They are the declared ones, or the narrowest that hold the rows whose parents are observed: those of
    highest likelihood or, holding what is known beforehand as well, of highest posterior density. Of a
    configuration that no row shows for certain, all rows that allow it are held. A row that is then outside
    of all it allows widens the nearest bounds.
    """
    variable = dag.schema.variables[i]
    if has_bounds(variable):
        return np.tile(np.array(variable.bounds), (dag.layout.configurations[i], 1))
    prior, x = bounds_prior(table, i), table.reals[:, i]
    certain, possible = showing(dag, table, i)
    out = np.empty((len(certain), 2))
    for j, (sure, may) in enumerate(zip(certain, possible, strict=True)):
        mine = x[sure] if len(np.unique(x[sure])) > 1 else x[may]
        if method == "map":
            out[j] = np.ravel(prior.update(mine[:, None]).peak)
        elif len(np.unique(mine)) > 1:
            out[j] = mine.min(), mine.max()
        else:
            raise TableError(
                f"{variable.name} has fewer than two values where its parents are alike: the likelihood of "
                "bounds has no maximum; declare bounds in the schema, or use method='map'"
            )
    _widen(out, x, possible)
    return out


def _widen(bounds: NDArray[np.float64], x: NDArray[np.float64], possible: NDArray[np.bool_]) -> None:
    """Let every row be within the bounds of some configuration that it allows."""
    rows = np.flatnonzero(possible.any(axis=0))
    away = np.maximum(bounds[:, :1] - x[rows], x[rows] - bounds[:, 1:])
    outside = rows[np.where(possible[:, rows], away, np.inf).min(axis=0) > 0]
    for row in outside:  # each may widen bounds for the next
        away = np.maximum(np.maximum(bounds[:, 0] - x[row], x[row] - bounds[:, 1]), 0.0)
        j = int(np.where(possible[:, row], away, np.inf).argmin())
        bounds[j] = min(bounds[j, 0], x[row]), max(bounds[j, 1], x[row])


def log_bounds_density(dag: Dag, table: Table, i: int, bounds: NDArray[np.float64]) -> float:
    """Return the log prior density of learned bounds, (configurations, 2); zero where they are declared."""
    if has_bounds(dag.schema.variables[i]):
        return 0.0
    return float(bounds_prior(table, i).log_density(bounds[:, 0], bounds[:, 1]).sum())
