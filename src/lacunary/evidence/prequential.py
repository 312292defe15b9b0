"""Dawid's prequential score: each row is foretold from those before it, in any order (CH96 section 2).

Σ log p(row l | rows before l) is the log evidence, in whatever order rows come, if every prediction
integrates over the posterior. Without holes that is a closed form. With holes the posterior is the
variational one of the rows before, and the sum is an approximation that depends a little on the order; a
model is judged by nothing but its forecasts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from lacunary.data.table import Table
from lacunary.errors import NoEstimateError, ParameterError, TableError
from lacunary.evidence.estimate import Estimate, Kind
from lacunary.evidence.exact import complete_log_evidence
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Belief, PriorBelief
from lacunary.infer.completions import complete_statistics
from lacunary.infer.network import Network
from lacunary.learn.fit import fit
from lacunary.maths.arrays import Array, Booleans, Integers

__all__ = ["prequential"]

EACH = 50
"""Rows up to which the posterior is found anew for every row; then after every fiftieth part of them."""


def prequential(
    problem: Problem, *, order: Literal["given", "random"] | ArrayLike = "given", every: int | None = None
) -> Estimate:
    """Return Σ over rows of log p(row | rows before it).

    Parameters
    ----------
    order
        "given", as rows stand; "random"; or all row numbers in the order in which they come.
    every
        With holes: rows after which the posterior is found anew; by default every row up to fifty, then as
        many as a fiftieth of those seen.

    Returns
    -------
    Estimate
        ``details`` hold ``by_row``, each row's term in the table's order, and ``order``.
    """
    table = problem.table.whole("a prequential score")
    turns = _turns(order, len(table), problem.rng)
    if not table.size > 0:
        raise TableError("there are no rows that count, so that none is to be foretold")
    if (table.weights != 1.0).any():
        raise NoEstimateError(
            "a prequential score is of rows that come one by one, and some have weights other than one; "
            "use 'variational' or 'cheeseman-stutz'"
        )
    by_row = np.empty(len(table))
    if table.holes.any():
        kind: Kind = "approximation"
        by_row[turns] = _forecasts(problem, table.take(turns), every)
    else:
        kind = "exact"
        by_row[turns] = _closed(problem, table, turns)
    value = float(by_row.sum())
    details = {"by_row": by_row, "order": turns}
    return Estimate("prequential", value, kind, {"sum over rows": value}, details=details)


def _turns(order: object, rows: int, rng: int | np.random.Generator) -> Integers:
    """Return the row numbers in the order in which they come."""
    if isinstance(order, str):
        if order not in ("given", "random"):
            raise ParameterError(f"order is 'given', 'random' or row numbers, not {order!r}")
        return np.random.default_rng(rng).permutation(rows) if order == "random" else np.arange(rows)
    turns = np.asarray(order, dtype=np.int64)
    if not np.array_equal(np.sort(turns), np.arange(rows)):
        raise ParameterError(f"order needs every row number from 0 to {rows - 1} once")
    return turns


def _closed(problem: Problem, table: Table, turns: Integers) -> Array:
    """Return each row's predictive density in closed form, its turn after those before."""
    inside = problem.scale.table(table) if problem.dag.continuous else table
    belief, out = problem.belief, np.zeros(len(turns))
    for place, row in enumerate(turns):
        some = slice(row, row + 1)
        added = complete_statistics(problem.dag, inside.codes[some], inside.reals[some], np.ones(1))
        if problem.dag.continuous:
            out[place] = problem.scale.log_jacobian(table.take(some), problem.dag)
        out[place] += complete_log_evidence(belief, added, problem.known)
        belief = replace(belief, alpha=belief.alpha + added)
    return out


def _all_shown(holes: Booleans, problem: Problem) -> bool:
    """Tell whether every variable that is not hidden was observed at least once."""
    needed = [i for i, variable in enumerate(problem.dag.schema) if not variable.hidden]
    return bool((~holes[:, needed]).any(axis=0).all())


def _forecasts(problem: Problem, table: Table, every: int | None) -> Array:
    """Return each row's predictive density under the variational posterior of rows before it."""
    prior = PriorBelief(problem.scale.believed_outside(problem.belief))
    belief: Belief = prior.belief
    out, seen, fresh = np.empty(len(table)), 0, 1
    start: Network | None = None
    while seen < len(table):
        step = every or max(1, seen // EACH)
        rows = slice(seen, min(seen + step, len(table)))
        problem.say(f"row {seen + 1} of {len(table)} foretold", seen / len(table))
        out[rows] = belief.log_probability(table.take(rows))
        seen = rows.stop
        if seen == len(table) or not _all_shown(table.holes[:seen], problem):
            continue
        anew = seen >= fresh  # random starts again whenever rows have doubled
        found = fit(
            problem.dag,
            table.take(slice(seen)),
            method="variational",
            prior=prior,
            starts=problem.starts if anew else None,
            initial=None if anew else start,
            fixed=problem.fixed,
            stop=problem.stop,
            rng=problem.rng,
        )
        belief, start, fresh = found.belief, found.network, 2 * fresh if anew else fresh
    return out
