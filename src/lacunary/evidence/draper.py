"""Draper's estimate: BIC with the constant d/2 · log 2π kept (CH96 eq. 10)."""

from __future__ import annotations

import numpy as np

from lacunary.evidence.bic import bic_terms
from lacunary.evidence.charge import Charge, dimensions
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import At, Problem

__all__ = ["draper"]


def draper(problem: Problem, *, at: At = "map", dimension: Charge = "parameters") -> Estimate:
    """Return log p(D | θ) − d/2 · log N + d/2 · log 2π."""
    point, d = problem.point(at), dimensions(problem, dimension)
    terms = bic_terms(point.log_likelihood, d, problem.size)
    terms["volume"] = d / 2 * float(np.log(2 * np.pi))
    return Estimate("draper", sum(terms.values()), "approximation", terms, dimension=d, where=point.where)
