"""The exact evidence of networks with uniform families, where their parents are observed.

A uniform variable without children is independent of the rest given its discrete parents, so the evidence is
that of the network without it, times for each configuration of its parents

    p(x₁ … x_N) = ∫∫ p(w₁, w₂) / (w₂ − w₁)^N dw₁ dw₂,

which the Pareto prior of the bounds w gives in closed form (`lacunary.maths.pareto`; DeGroot 1970, section
9.7); or, where bounds are declared, (high − low)^−N.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lacunary.errors import ParameterError
from lacunary.evidence import exact as others
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import Problem
from lacunary.infer.bounds import bounds_prior, showing
from lacunary.model.family import has_bounds
from lacunary.model.uniform import SLACK

__all__ = ["exact"]


def exact(problem: Problem, *, budget: int = others.BUDGET) -> Estimate:
    """Return the exact log marginal likelihood; see `lacunary.evidence.exact.exact`.

    Holes of a uniform variable are free; those of its parents are refused in rows that show it.
    """
    dag = problem.dag
    names = [dag.names[i] for i in dag.uniforms]
    rest = dag.without(names)
    terms = {"bounds": sum(_log_evidence(problem, i) for i in dag.uniforms)}
    if rest.tied != dag.tied:
        raise ParameterError("'exact' knows no tied families beside uniform ones; use 'bic' or 'draper'")
    if len(rest.schema):
        table = problem.table.align(rest.schema)
        found = others.exact(replace(problem, dag=rest, table=table, given=None, _points={}), budget=budget)
        terms |= found.terms
    return Estimate("exact", sum(terms.values()), "exact", terms)


def _log_evidence(problem: Problem, i: int) -> float:
    """Return the log evidence of one uniform variable given its parents."""
    dag, table = problem.dag, problem.table.whole("exact evidence of uniform families")
    certain, possible = showing(dag, table, i)
    if not np.array_equal(certain, possible):
        raise ParameterError(
            f"a parent of {dag.names[i]}, which is uniform, is a hole in a row that shows it: there is no "
            "closed form; use 'bic' or 'draper'"
        )
    x, weights, total = table.reals[:, [i]], table.weights, 0.0
    prior, variable = bounds_prior(table, i), dag.schema.variables[i]
    for rows in certain:
        if has_bounds(variable):
            low, high = variable.bounds or (0.0, 1.0)
            slack = SLACK * (high - low)
            if np.any((x[rows] < low - slack) | (x[rows] > high + slack)):
                return -np.inf
            total -= float(weights[rows].sum()) * float(np.log(high - low))
        elif rows.any():
            total += float(np.ravel(prior.log_evidence(x[rows], weights[rows]))[0])
    return total
