"""BIC, which is minus Rissanen's MDL, and the estimate at a single point without any penalty.

BIC keeps of Laplace's approximation only what grows with N (CH96 eq. 9, Schwarz 1978):
log p(D | θ) − d/2 · log N. Its error stays bounded as N grows.
"""

from __future__ import annotations

from lacunary.evidence.charge import Charge, dimensions, price
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import At, Problem

__all__ = ["bic", "bic_terms"]


def bic_terms(log_likelihood: float, free: int, rows: float) -> dict[str, float]:
    """Return the two terms of BIC, by name: the log-likelihood, and the penalty for free parameters."""
    return {"log-likelihood": log_likelihood, "penalty": -free * price(rows)}


def bic(problem: Problem, *, at: At = "map", dimension: Charge = "parameters") -> Estimate:
    """Return log p(D | θ) − d/2 · log N."""
    point, d = problem.point(at), dimensions(problem, dimension)
    terms = bic_terms(point.log_likelihood, d, problem.size)
    return Estimate("bic", sum(terms.values()), "approximation", terms, dimension=d, where=point.where)
