"""Whether the likelihood has a maximum: that of normal and uniform families may grow without bound.

A regression whose certain rows lie exactly on a plane, or that has none but may have some, can put all its
density on them: its variance falls and the likelihood grows without end. Bounds around a single value narrow
likewise. Probabilities of tables have no such trouble; weights of sigmoids run off where parents separate
the states, the likelihood below a supremum.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lacunary.data.table import Table
from lacunary.family.sigmoid import RUNAWAY, log_odds
from lacunary.learn.foregone import showing
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

if TYPE_CHECKING:
    from lacunary.evidence.problem import Problem

__all__ = ["runaway", "unbounded"]

FLAT = 1e-10
"""Share of a variance, in standardised columns, below which what is left of it is rounding."""


def unbounded(problem: Problem) -> str | None:
    """Return the first variable that can make the likelihood as large as it likes; None if none can."""
    dag, facts = problem.dag, problem.table.facts
    for i, family in dag.numeric:
        learned = problem.known is None or np.isnan(problem.known[dag.layout.start[i]])
        if not (learned and facts.shown[i]):
            continue
        if not family.linear:
            if any(family.check_range(low, high, "ml") for low, high in _ranges(problem, i)):
                return dag.names[i]
            continue
        seen = [v for v in dag.layout.regressors[i] if facts.shown[v]]
        inside = problem.scale.source(problem.table)
        moments, possible = inside.fold(partial(_moments, dag, i, seen), _both)
        if any(_flat(moment) for moment, rows in zip(moments, possible, strict=True) if rows):
            return dag.names[i]
    return None


def _ranges(problem: Problem, i: int) -> list[tuple[float, float]]:
    """Return where values of a variable lie in each configuration, of certain rows if these are not alike."""
    ends = problem.table.fold(partial(_ends, problem.dag, i), np.maximum)
    lows, highs = -ends[..., 0], ends[..., 1]
    certain = lows[0] < highs[0]
    both = zip(np.where(certain, *lows).tolist(), np.where(certain, *highs).tolist(), strict=True)
    return [(low, high) if low <= high else (0.0, 0.0) for low, high in both]


def _ends(dag: Dag, i: int, table: Table) -> Array:
    """Return minus the least and the greatest value, of certain and of possible rows; (2, q, 2)."""
    x = table.reals[:, i]
    seen = ~np.isnan(x) & (table.weights > 0)
    return np.array([[_end(x[rows & seen]) for rows in kind] for kind in showing(dag, table, i)])


def _end(x: Array) -> tuple[float, float]:
    return float((-x).max(initial=-np.inf)), float(x.max(initial=-np.inf))


def _both(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return a[0] + b[0], a[1] + b[1]


def _moments(dag: Dag, i: int, regressors: list[int], table: Table) -> tuple[Array, Array]:
    """Return Σ z zᵀ of certain rows, z = (1, regressors, i), and how many are possible, by configuration."""
    certain, possible = showing(dag, table, i)
    z = np.column_stack([np.ones(len(table)), table.reals[:, [*regressors, i]]])
    whole = certain & ~np.isnan(z).any(axis=1)
    moments = [z[rows].T @ z[rows] for rows in whole]
    return np.array(moments), possible.sum(axis=1).astype(np.float64)


def _flat(moments: Array) -> bool:
    """Tell whether the last variable is a linear function of the others in these rows."""
    others, with_last, square = moments[:-1, :-1], moments[:-1, -1], moments[-1, -1]
    if moments[0, 0] < len(moments):  # fewer rows than numbers to choose
        return True
    explained = with_last @ np.linalg.lstsq(others, with_last, rcond=None)[0]
    return bool(square - explained <= FLAT * max(moments[0, 0], square))


def runaway(dag: Dag, theta: Array) -> str | None:
    """Return the first variable whose weights ran off to infinity; None if there is none."""
    for i, _ in dag.implied:
        if np.abs(log_odds(dag.layout.states_first(theta, i))).max() > RUNAWAY:
            return dag.names[i]
    return None
