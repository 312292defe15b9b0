"""BIC, Draper's estimate, and the fit at the peak: what is reached at one point, less a charge.

BIC, which is minus Rissanen's MDL, keeps of Laplace's approximation only what grows with N (CH96 eq. 9,
Schwarz 1978): log p(D | θ) − d/2 · log N. Its error stays bounded as N grows. Draper's keeps the constant
d/2 · log 2π as well (CH96 eq. 10). Both are taken at the maximum of the likelihood, as in Schwarz's paper and
every other program; CH96's experiments took the MAP point, which ``at="map"`` gives.
"""

from __future__ import annotations

import numpy as np

from lacunary.errors import NoEstimateError
from lacunary.evidence.charge import Charge, dimensions, price
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import At, Problem
from lacunary.learn.em import learned, maximize_rule

__all__ = ["bic", "bic_terms", "draper", "peak"]


def bic_terms(log_likelihood: float, free: int, rows: float) -> dict[str, float]:
    """Return the two terms of BIC, by name: the log-likelihood, and the penalty for free parameters."""
    return {"log-likelihood": log_likelihood, "penalty": -free * price(rows)}


def bic(problem: Problem, *, at: At | None = None, dimension: Charge = "parameters") -> Estimate:
    """Return log p(D | θ) − d/2 · log N, at the maximum of the likelihood unless told or at a given fit."""
    return _charged("bic", problem, at, dimension, 0.0)


def draper(problem: Problem, *, at: At | None = None, dimension: Charge = "parameters") -> Estimate:
    """Return log p(D | θ) − d/2 · log N + d/2 · log 2π.

    With fewer than seven rows it would pay for parameters and lie above the likelihood, and is refused.
    """
    if problem.size < 2 * np.pi:
        raise NoEstimateError(
            f"Draper's estimate with N = {problem.size:.3g} would lie above the likelihood, as no evidence "
            "does: it needs seven rows; use 'bic' or 'laplace'"
        )
    return _charged("draper", problem, at, dimension, float(np.log(2 * np.pi)))


def _charged(method: str, problem: Problem, at: At | None, charge: Charge, volume: float) -> Estimate:
    """Return BIC with half of ``volume`` more for every dimension."""
    at = at or (None if problem.given else "ml")
    point, d = problem.point(at), dimensions(problem, charge, at)
    terms = bic_terms(point.log_likelihood, d, problem.size)
    terms |= {"volume": d / 2 * volume} if volume else {}
    return Estimate(
        method, sum(terms.values()), "approximation", terms, point.error, dimension=d, where=point.where
    )


def peak(problem: Problem, *, prior_density: bool = False) -> Estimate:
    """Return log p(D | θ) at the MAP, and log p(θ) too if asked: no penalty for what was adapted (BG03).

    It is for reference, and no estimate of the evidence, as its kind and its note say.
    """
    point = problem.point("map")
    terms = {"log-likelihood": point.log_likelihood}
    if prior_density:
        rule = maximize_rule(problem.belief, "map", problem.basis, problem.held)
        units = problem.scale.log_stretch(problem.dag, learned(problem.dag, rule.known))  # to the data's
        terms["log prior density"] = float(rule.log_prior(point.theta[None])[0]) + units
    note = "what the fit reached, without a charge for what it adapted: no estimate of the evidence"
    details = {"note": note}
    value = sum(terms.values())
    return Estimate("map", value, "no estimate", terms, point.error, where=point.where, details=details)
