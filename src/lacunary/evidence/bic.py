"""BIC, which is minus Rissanen's MDL, and the estimate at a single point without any penalty.

BIC keeps of Laplace's approximation only what grows with N (CH96 eq. 9, Schwarz 1978):
log p(D | θ) − d/2 · log N. Its error stays bounded as N grows.
"""

from __future__ import annotations

import numpy as np

from lacunary.evidence.charge import Charge, dimensions
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import At, Problem

__all__ = ["bic"]


def bic(problem: Problem, *, at: At = "map", dimension: Charge = "parameters") -> Estimate:
    """Return log p(D | θ) − d/2 · log N."""
    point, d = problem.point(at), dimensions(problem, dimension)
    terms = {"log-likelihood": point.log_likelihood, "penalty": -d / 2 * float(np.log(problem.size))}
    return Estimate("bic", sum(terms.values()), "approximation", terms, dimension=d, where=point.where)
