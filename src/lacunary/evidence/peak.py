"""The log-likelihood at the peak of the posterior, alone or with the prior's density (BG03 Figure 1)."""

from __future__ import annotations

from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import Problem
from lacunary.learn.em import learned, maximize_rule

__all__ = ["peak"]


def peak(problem: Problem, *, prior_density: bool = False) -> Estimate:
    """Return log p(D | θ) at the MAP, and log p(θ) too if asked: no penalty for what was adapted.

    It is for reference, and no estimate of the evidence, as its kind and its note say.
    """
    point = problem.point("map")
    terms = {"log-likelihood": point.log_likelihood}
    if prior_density:
        rule = maximize_rule(problem.belief, "map", problem.basis, problem.held)
        stretch = problem.scale.log_stretch(
            problem.dag, learned(problem.dag, rule.known)
        )  # to the data's units
        terms["log prior density"] = float(rule.log_prior(point.theta[None])[0]) + stretch
    note = "what the fit reached, without a charge for what it adapted: no estimate of the evidence"
    details = {"note": note}
    return Estimate("map", sum(terms.values()), "no estimate", terms, where=point.where, details=details)
