"""Laplace's approximation, with the exact Hessian (CH96 eq. 8).

With g(θ) = log p(D | θ) + log p(θ), its peak θ̃ and A = −∇²g(θ̃),

    log p(D) ≈ log p(D | θ̃) + log p(θ̃) + d/2 · log 2π − ½ log |A|.

Its error shrinks like 1/N where one peak carries the mass. The density, the peak and A depend on the
coordinates: the probability basis is the paper's, the softmax basis needs no α > 1. Regressions have
(intercept, coefficients/σ², 1/σ²) in both, as their MAP estimate has, and other families theirs.
States of a hidden variable can be renamed, which makes as many peaks as `log_symmetry` counts: the formula
sees one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lacunary.data.wording import counted
from lacunary.errors import ParameterError
from lacunary.evidence.charge import Charge, check_charge, dimensions
from lacunary.evidence.domain import Place, check_inside, in_domain
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.normal import Curvatures, rule_of
from lacunary.evidence.problem import At, Problem
from lacunary.evidence.symmetry import check_symmetric, log_symmetry
from lacunary.infer.blas import one_blas_thread
from lacunary.learn.em import Basis

__all__ = ["NEGLIGIBLE", "laplace"]

NEGLIGIBLE = 1e-3
"""Nats that a slope may be worth at a peak: what EM leaves where it stops."""


@one_blas_thread()
def laplace(
    problem: Problem,
    *,
    at: At | None = None,
    basis: Basis | None = None,
    symmetry: bool = False,
    dimension: Charge = "parameters",
    plain: bool = False,
) -> Estimate:
    """Return Laplace's approximation of the log evidence.

    Where the point is no inner peak, or short of it by more than a quarter of a nat, EM climbs on from
    there by itself. Where Stirling's remainders at the posterior counts add up to more than half a nat, or a
    standard deviation of a probability exceeds it, the probability basis is left for the softmax basis. There
    the remainders are a term of their own; where counts are too small for that the formula is refused.
    ``where`` and ``terms`` say which.

    Parameters
    ----------
    problem
        The graph, the table and the prior.
    at
        "map", or "ml", where g is not flat: the integral of its second-order expansion there has one
        more term, ``slope`` = ½ bᵀA⁻¹b with b = ∇g. It is there wherever it is not negligible: at a given
        fit too that maximised anything else than g in this basis, under another prior or by another rule, or
        stopped early. ``details["slope"]`` tells how far from a peak the point is.
    basis
        "softmax" or "probability"; by default the problem's.
    symmetry
        Add the log of the number of equivalent peaks, as a term of its own; it is always in ``details``.
    dimension
        "parameters", or another charge for models with a ridge: where g does not bend downwards in all
        directions, keep the curvature along as many, the most curved ones, as the data can tell apart. The
        value is then right up to a constant, and says so.
    plain
        Take the formula at the point as it is, as in CH96, however far that is from a peak.

    Raises
    ------
    ParameterError
        Where g has no peak: on a border, a saddle or a ridge; or where a Dirichlet hyperparameter is
        not above one in the probability basis.
    """
    _check_implied(problem, basis or problem.basis, symmetry)
    check_charge(problem, dimension)
    problem = _in_basis(problem, basis or problem.basis)
    if symmetry:
        _check_nothing_fixed(problem)
        check_symmetric(problem.belief)
    place, curvatures = Place(problem.point(at), problem, 0.0, dimension), Curvatures(problem)
    if not plain:
        place = in_domain(problem, place.point, dimension, curvatures)
        problem = place.problem
    point = place.point
    if not np.isfinite(point.log_likelihood):
        problem.prepared.check_possible(point.theta)
    check_inside(problem, point)
    log_det, slope, d = curvatures.gauss(problem, point, place.charge)
    terms = {
        "log-likelihood": point.log_likelihood,
        "log prior density": float(rule_of(problem).log_prior(point.theta[None])[0]),
        "volume": d / 2 * float(np.log(2 * np.pi)),
        "curvature": -log_det / 2,
    }
    terms |= {"slope": slope} if slope > NEGLIGIBLE else {}
    terms |= {"Stirling's remainders": place.missed} if place.missed else {}
    # Renamed states of an implied table's hidden parent are other peaks: the weights' prior tells them apart.
    peaks = {} if problem.fixed or problem.dag.implied else {"log symmetry": log_symmetry(problem.dag)}
    terms |= peaks if symmetry else {}
    details: dict[str, Any] = {"basis": problem.basis, "slope": slope, **peaks}
    if left := dimensions(problem, "parameters") - d:
        along = counted(left, "direction")
        details["note"] = f"nothing is integrated along {along} of a ridge: it is right up to a constant"
    return Estimate(
        "laplace",
        sum(terms.values()),
        "approximation",
        terms,
        dimension=d,
        where=point.where,
        details=details,
    )


def _in_basis(problem: Problem, basis: Basis) -> Problem:
    """Return the problem with its peak sought in this basis; refuse densities without an inner peak."""
    if basis not in ("softmax", "probability"):
        raise ParameterError(f"basis must be 'softmax' or 'probability', not {basis!r}")
    layout = problem.dag.layout
    several = np.array(layout.states)[layout.variable] > 1
    if problem.known is not None:
        several &= np.isnan(problem.known[: layout.tables])
    alpha = problem.belief.alpha[: layout.tables][several]
    if basis == "probability" and np.any(alpha <= 1.0):
        raise ParameterError(
            "in the probability basis Laplace's approximation needs every Dirichlet hyperparameter above 1, "
            f"or the peak may lie on the border, but the least is {alpha.min():g}; "
            "use basis='softmax', or a prior such as Dirichlet(1.01), CH96's choice"
        )
    return problem if basis == problem.basis else replace(problem, basis=basis, _points={})


def _check_implied(problem: Problem, basis: str, symmetry: bool) -> None:
    """Refuse what is not known of tables that weights imply."""
    for i, family in problem.dag.implied:
        told = f"and the family of {problem.dag.names[i]} is {family.phrase}"
        if basis != "softmax":
            raise ParameterError(f"'laplace' is worked out along weights in the softmax basis alone, {told}")
        if symmetry:
            raise ParameterError(f"symmetry=True is for priors that do not tell states apart, {told}")


def _check_nothing_fixed(problem: Problem) -> None:
    if problem.fixed:
        raise ParameterError(
            f"symmetry=True counts renamings of hidden states, which {', '.join(problem.fixed)}, fixed, may "
            "forbid; leave symmetry out"
        )
