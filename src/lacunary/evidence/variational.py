"""The lower bound of variational Bayesian EM (BG03)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from lacunary.errors import NoEstimateError, ParameterError
from lacunary.evidence.estimate import Estimate, Kind
from lacunary.evidence.problem import Problem
from lacunary.evidence.symmetry import check_symmetric, log_symmetry
from lacunary.infer.belief import Belief
from lacunary.learn.vbem import update_rule

__all__ = ["variational"]


def variational(
    problem: Problem, *, start: Literal["random", "map"] = "random", symmetry: bool = False
) -> Estimate:
    """Return the highest bound found, from random starts or from the MAP's responsibilities.

    From the MAP the bound is never below the plain Cheeseman–Stutz estimate there, which is its value
    before the first update of the holes' posterior. With ``symmetry`` the log of the number of labellings
    of hidden states that rows are in is added, k!/(k − m)! for m of k: no bound any more, and right where
    the labellings' posteriors do not overlap.
    """
    if start not in ("random", "map"):
        raise ParameterError(f"start must be 'random' or 'map', not {start!r}")
    initial = problem.network("map") if start == "map" else None
    found = problem.fitted(method="variational", initial=initial)
    posterior = _standardised(problem, found.belief)
    divergence = float(update_rule(problem.belief, problem.held).divergence(posterior.alpha[None])[0])
    terms = {"expected fit": found.objective + divergence, "divergence from the prior": -divergence}
    counts = posterior.alpha - problem.belief.alpha
    peaks = {} if problem.fixed else {"log symmetry": log_symmetry(problem.dag, counts)}
    if symmetry:
        if problem.fixed:
            raise ParameterError(
                f"symmetry=True counts renamings that {', '.join(problem.fixed)}, fixed, may forbid"
            )
        check_symmetric(problem.belief)
        terms |= peaks
    where = f"the variational posterior, started from {'the MAP' if initial else 'random draws'}"
    bounds = sorted((float(getattr(s, "objective", np.nan)) for s in found.starts), reverse=True)
    details = {"posterior": found.belief, "converged": found.converged, "bounds": bounds, **peaks}
    value = found.objective + (peaks["log symmetry"] if symmetry else 0.0)
    kind: Kind = "approximation" if symmetry else "lower bound"
    return Estimate("variational", value, kind, terms, found.error or None, where=where, details=details)


def _standardised(problem: Problem, posterior: Belief) -> Belief:
    """Return the posterior of standardised columns; refuse it where columns' own units leave it no digits."""
    try:
        return problem.scale.believed_inside(posterior)
    except ParameterError:
        facts, schema = problem.table.facts, problem.dag.schema
        flat = [
            f"{variable.name} is constant ({facts.low[v]:g} in every row)"
            for v, variable in enumerate(schema)
            if not variable.discrete and not variable.hidden and facts.low[v] == facts.high[v]
        ]
        what, way = ", ".join(flat), "leave it out"
        if not flat:
            what, way = "a column varies too little beside its mean", "subtract its mean"
        raise NoEstimateError(
            f"{what}, so that no digits are left for the variance of its posterior in the column's own "
            f"units; {way}, or use 'cheeseman-stutz' or 'sampled'"
        ) from None
