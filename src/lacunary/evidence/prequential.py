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

from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.errors import NoEstimateError, ParameterError
from lacunary.evidence.estimate import Estimate, Kind
from lacunary.evidence.exact import complete_log_evidence
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Belief, PriorBelief
from lacunary.infer.completions import complete_statistics
from lacunary.infer.network import Network
from lacunary.learn.fit import fit
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.model.dag import Dag

__all__ = ["prequential"]

EACH = 50
"""Rows up to which the posterior is found anew for every row; then after every fiftieth part of them."""

EARLY = 10
"""Rows, or so many parts of them, within which continuous variables must be observed once."""


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


def _unseen(dag: Dag, holes: Booleans) -> Dag:
    """Return the graph with what was not observed so far as hidden variables."""
    never = np.flatnonzero(holes.all(axis=0))
    variables = (replace(v, hidden=v.hidden or i in never) for i, v in enumerate(dag.schema))
    return replace(dag, schema=Schema(tuple(variables)))


def _late(dag: Dag, so_far: Dag) -> list[str]:
    """Return continuous variables, not observed so far, below which something was.

    A variational posterior has them drift away from where the prior has them.
    """
    told = so_far.ancestors(i for i, v in enumerate(so_far.schema) if not v.hidden)
    return [
        v.name
        for i, v in enumerate(so_far.schema)
        if i in told and v.hidden and not v.discrete and not dag.schema[v.name].hidden
    ]


def _without_barren(belief: Belief, prior: Belief) -> Belief:
    """Return the belief with the prior's regressions of variables below which nothing was observed."""
    dag, alpha = belief.dag, belief.alpha.copy()
    told = dag.ancestors(i for i, v in enumerate(dag.schema) if not v.hidden)
    for i in () if dag.tied else set(dag.layout.numeric) - told:
        dag.layout.statistics(alpha, i)[:] = prior.hyper(i)
    return replace(belief, alpha=alpha)


def _forecasts(problem: Problem, table: Table, every: int | None) -> Array:
    """Return each row's predictive density under the variational posterior of rows before it."""
    prior = problem.scale.believed_outside(problem.belief)
    belief: Belief = prior
    out, seen, fresh = np.empty(len(table)), 0, 1
    start: Network | None = None
    known = problem.dag
    while seen < len(table):
        step = every or max(1, seen // EACH)
        rows = slice(seen, min(seen + step, len(table)))
        problem.say(f"row {seen + 1} of {len(table)} foretold", seen / len(table))
        out[rows] = belief.log_probability(table.take(rows))
        seen = rows.stop
        so_far = _unseen(problem.dag, table.holes[:seen])
        if seen == len(table) or all(variable.hidden for variable in so_far.schema):
            continue
        if late := _late(problem.dag, so_far):
            if seen >= max(EARLY, len(table) / EARLY):
                raise NoEstimateError(
                    f"{late[0]} is not observed in the first {seen} rows, and cannot be foretold from what "
                    "it is tied to; take order='random', or use 'variational'"
                )
            continue
        anew = seen >= fresh or so_far != known  # random starts again whenever rows have doubled
        found = fit(
            so_far,
            replace(table.take(slice(seen)), schema=so_far.schema),
            method="variational",
            prior=PriorBelief(replace(prior, dag=so_far)),
            starts=problem.starts if anew else None,
            initial=None if anew else start,
            fixed=problem.fixed,
            stop=problem.stop,
            rng=problem.rng,
        )
        belief = replace(_without_barren(found.belief, prior), dag=problem.dag)
        start, known = found.network, so_far
        fresh = 2 * fresh if anew else fresh
    return out
