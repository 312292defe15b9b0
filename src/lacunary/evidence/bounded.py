"""Whether the likelihood has a maximum: that of normal families may grow without bound.

A regression whose certain rows lie exactly on a plane, or that has none but may have some, can put all its
density on them: its variance falls and the likelihood grows without end. Probabilities of tables have no such
trouble; weights of sigmoids run off where parents separate the states, the likelihood below a supremum.
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
        if not (family.linear and learned and facts.shown[i]):
            continue
        seen = [v for v in dag.layout.regressors[i] if facts.shown[v]]
        inside = problem.scale.source(problem.table)
        moments, possible = inside.fold(partial(_moments, dag, i, seen), _both)
        if any(_flat(moment) for moment, rows in zip(moments, possible, strict=True) if rows):
            return dag.names[i]
    return None


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
