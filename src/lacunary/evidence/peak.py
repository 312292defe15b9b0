"""The log-likelihood at the peak of the posterior, alone or with the prior's density (BG03 Figure 1)."""

from __future__ import annotations

from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import Problem
from lacunary.learn.em import maximize_rule

__all__ = ["peak"]


def peak(problem: Problem, *, prior_density: bool = False) -> Estimate:
    """Return log p(D | θ) at the MAP, and log p(θ) too if asked: no penalty for what was adapted."""
    point = problem.point("map")
    terms = {"log-likelihood": point.log_likelihood}
    if prior_density:
        rule = maximize_rule(problem.belief, "map", problem.basis, None)
        stretch = problem.scale.log_stretch(problem.dag)  # to the data's units
        terms["log prior density"] = float(rule.log_prior(point.theta[None])[0]) + stretch
    return Estimate("map", sum(terms.values()), "approximation", terms, where=point.where)
