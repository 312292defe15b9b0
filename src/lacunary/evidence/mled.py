"""MLED, the marginal likelihood of the expected data (CH96 eq. 12)."""

from __future__ import annotations

from lacunary.evidence.estimate import Estimate
from lacunary.evidence.exact import complete_log_evidence
from lacunary.evidence.problem import At, Problem

__all__ = ["mled"]


def mled(problem: Problem, *, at: At = "map") -> Estimate:
    """Return log p(D′), where the expected counts at θ are taken as if they had been observed.

    It is not asymptotically correct: the fit of the imaginary data D′ differs from that of the data.
    Holes in continuous columns are measured in standard deviations of their column, as they have no unit
    of their own; the observed cells are measured as in the table.
    """
    point = problem.point(at)
    value = complete_log_evidence(problem.belief, point.counts, problem.known) + problem.log_jacobian
    terms = {"evidence of the expected data": value}
    return Estimate("mled", value, "approximation", terms, where=point.where)
