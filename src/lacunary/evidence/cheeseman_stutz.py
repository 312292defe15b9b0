"""The evidence of expected data (MLED), and corrected for their fit, the estimate of Cheeseman and Stutz.

With D′ the imaginary complete data whose counts are the expected ones at θ (CH96 eq. 13)

    log p(D) ≈ log p(D′) − log p(D′ | θ) + d′/2 · log N + log p(D | θ) − d/2 · log N.

Without its two terms in log N (GHM96 section 6) it is a lower bound of the evidence: it equals the
variational bound after one update of the parameters' posterior from θ's responsibilities (BG03).
d′ counts the parameters, which complete data identify; d may be the effective dimension. TMCH98
eq. 11 prints the powers of N upside down. The two terms of D′ are worked out in standardised columns: in
their difference the units cancel.
"""

from __future__ import annotations

from lacunary.evidence.charge import Charge, dimensions, price
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.exact import complete_log_evidence, complete_log_likelihood
from lacunary.evidence.problem import At, Problem

__all__ = ["cheeseman_stutz", "expected_terms", "mled"]


def expected_terms(evidence: float, fit: float, log_likelihood: float) -> dict[str, float]:
    """Return the terms of the estimate but for those in log N, by name.

    ``evidence`` and ``fit`` are log p(D′) and log p(D′ | θ), in the same units.
    """
    return {
        "evidence of the expected data": evidence,
        "fit of the expected data": -fit,
        "log-likelihood": log_likelihood,
    }


def cheeseman_stutz(
    problem: Problem, *, at: At | None = None, dimension: Charge = "parameters", plain: bool = False
) -> Estimate:
    """Return the estimate; ``plain`` leaves out the terms in log N, which makes it a lower bound.

    Where the E-step draws, the standard error is that of the log-likelihood: at a peak what is expected
    moves the two other terms together.
    """
    point = problem.point(at)
    evidence = complete_log_evidence(problem.belief, point.counts, problem.known)
    fit = complete_log_likelihood(problem.dag, point.theta, point.counts)
    terms = expected_terms(evidence, fit, point.log_likelihood)
    if plain:
        value = sum(terms.values())
        return Estimate("cheeseman-stutz", value, "lower bound", terms, point.error, where=point.where)
    full, d = dimensions(problem, "parameters"), dimensions(problem, dimension, at)
    half_log = price(problem.size)
    terms |= {"dimension of the expected data": full * half_log, "dimension of the data": -d * half_log}
    return Estimate(
        "cheeseman-stutz",
        sum(terms.values()),
        "approximation",
        terms,
        point.error,
        dimension=d,
        where=point.where,
    )


def mled(problem: Problem, *, at: At | None = None) -> Estimate:
    """Return log p(D′), where the expected counts at θ are taken as if they had been observed (CH96 eq. 12).

    It is not asymptotically correct: the fit of the imaginary data D′ differs from that of the data.
    Holes in continuous columns are measured in standard deviations of their column, as they have no unit
    of their own; the observed cells are measured as in the table.
    """
    point = problem.point(at)
    value = complete_log_evidence(problem.belief, point.counts, problem.known) + problem.log_jacobian
    terms = {"evidence of the expected data": value}
    return Estimate("mled", value, "approximation", terms, where=point.where)
