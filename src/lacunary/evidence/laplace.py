"""Laplace's approximation, with the exact Hessian (CH96 eq. 8).

With g(θ) = log p(D | θ) + log p(θ), its peak θ̃ and A = −∇²g(θ̃),

    log p(D) ≈ log p(D | θ̃) + log p(θ̃) + d/2 · log 2π − ½ log |A|.

Its error shrinks like 1/N where one peak carries the mass. The density, the peak and A depend on the
coordinates: the probability basis is the paper's, the softmax basis needs no α > 1. Regressions have
(intercept, coefficients/σ², 1/σ²) in both, as their MAP estimate has. States of a hidden variable can be
renamed, which makes as many peaks as `log_symmetry` counts: the formula sees one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from lacunary.errors import ParameterError
from lacunary.evidence.charge import Charge, dimensions
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.hessian import Curvature, curvature
from lacunary.evidence.mixed_hessian import MixedCurvature, mixed_curvature
from lacunary.evidence.problem import At, Problem
from lacunary.evidence.symmetry import check_symmetric, log_symmetry
from lacunary.infer.mixed import Mixed
from lacunary.learn.em import Basis, maximize_rule

__all__ = ["laplace"]


def laplace(
    problem: Problem,
    *,
    at: At = "map",
    basis: Basis | None = None,
    symmetry: bool = False,
    dimension: Charge = "parameters",
) -> Estimate:
    """Return Laplace's approximation of the log evidence.

    Parameters
    ----------
    problem
        The graph, the table and the prior.
    at
        "map", or "ml", where g is not flat: the integral of its second-order expansion there has one
        more term, ``slope`` = ½ bᵀA⁻¹b with b = ∇g. The same holds for a given fit that maximised
        anything else than g in this basis. ``details["slope"]`` tells how far from a peak the point is.
    basis
        "softmax" or "probability"; by default the problem's.
    symmetry
        Add the log of the number of equivalent peaks, as a term of its own; it is always in ``details``.
    dimension
        "parameters", or "effective" for models with a ridge: keep the curvature along as many
        directions, the most curved ones, as the data can tell apart.

    Raises
    ------
    ParameterError
        Where g has no peak: on a border, a saddle or a ridge; or where a Dirichlet hyperparameter is
        not above one in the probability basis.
    """
    problem = _in_basis(problem, basis or problem.basis)
    if symmetry:
        check_symmetric(problem.belief)
    point = problem.point(at)
    if not np.isfinite(point.log_likelihood):
        problem.prepared.check_possible(point.theta)
    rule = maximize_rule(problem.belief, "map", problem.basis, None)
    bent = _bent(problem, point.theta)
    _check_inside(bent, point.where)
    log_det, slope, d = _gauss(problem, bent, rule.pseudo, point.where, dimension)
    terms = {
        "log-likelihood": point.log_likelihood,
        "log prior density": float(rule.log_prior(point.theta[None])[0]),
        "volume": d / 2 * float(np.log(2 * np.pi)),
        "curvature": -log_det / 2,
    }
    peaks = log_symmetry(problem.dag)
    terms |= {} if _is_peak(problem, at) else {"slope": slope}
    terms |= {"log symmetry": peaks} if symmetry else {}
    details = {"basis": problem.basis, "log symmetry": peaks, "slope": slope}
    return Estimate(
        "laplace",
        sum(terms.values()),
        "approximation",
        terms,
        dimension=d,
        where=point.where,
        details=details,
    )


Bent = Curvature | MixedCurvature


def _bent(problem: Problem, theta: NDArray[np.float64]) -> Bent:
    """Return the derivatives at a point, of whichever kind the variables are."""
    if isinstance(problem.prepared, Mixed):
        return mixed_curvature(problem.prepared, theta, problem.belief)
    return curvature(problem.prepared, theta)


def _in_basis(problem: Problem, basis: Basis) -> Problem:
    """Return the problem with its peak sought in this basis; refuse densities without an inner peak."""
    if basis not in ("softmax", "probability"):
        raise ParameterError(f"basis must be 'softmax' or 'probability', not {basis!r}")
    layout = problem.dag.layout
    several = np.array(layout.states)[layout.variable] > 1
    alpha = problem.belief.alpha[: layout.tables][several]
    if basis == "probability" and np.any(alpha <= 1.0):
        raise ParameterError(
            "in the probability basis Laplace's approximation needs every Dirichlet hyperparameter above 1, "
            f"or the peak may lie on the border, but the least is {alpha.min():g}; "
            "use basis='softmax', or a prior such as Dirichlet(1.01), CH96's choice"
        )
    return problem if basis == problem.basis else replace(problem, basis=basis, _points={})


def _is_peak(problem: Problem, at: At) -> bool:
    """Whether the point was found by climbing g in this basis."""
    given = problem.given
    return at == "map" if given is None else (given.method, given.basis) == ("map", problem.basis)


def _check_inside(bent: Bent, where: str) -> None:
    zero = int(np.count_nonzero(bent.theta[: bent.layout.tables] == 0.0))
    if zero:
        raise ParameterError(
            f"{zero} parameters of the point ({where}) are zero; on the border of the parameter space "
            "Laplace's approximation does not hold: use at='map', whose prior keeps parameters inside"
        )


def _gauss(
    problem: Problem, bent: Bent, pseudo: NDArray[np.float64], where: str, charge: Charge
) -> tuple[float, float, int]:
    """Return log |A|, ½ bᵀA⁻¹b and d."""
    if charge not in ("parameters", "effective"):
        raise ParameterError(f"dimension must be 'parameters' or 'effective', not {charge!r}")
    if charge == "effective":
        return _most_curved(problem, bent, pseudo, where)
    pulled = bent.softmax_information(pseudo, problem.basis)
    stretch = 2 * bent.log_stretch if problem.basis == "probability" else 0.0
    scale = np.sqrt(np.abs(np.diag(pulled)))
    lower = _factor(pulled, scale)
    if lower is None:
        raise ParameterError(_no_peak(problem, pulled, where))
    b = solve_triangular(lower, bent.gradient(pseudo) / scale, lower=True, check_finite=False)
    log_det = 2 * float(np.log(np.diag(lower)).sum() + np.log(scale).sum())
    return log_det - stretch, float(b @ b) / 2, len(b)


def _factor(matrix: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the Cholesky factor of the matrix scaled to a diagonal of ones, None if it is singular.

    A squared pivot is what is left of a one after the earlier coordinates are accounted for; below
    the rounding error of that sum there is nothing left.
    """
    if np.any(np.diag(matrix) <= 0.0):
        return None
    scaled = matrix / scale
    scaled /= scale[:, None]
    try:
        lower: NDArray[np.float64] = cholesky(scaled.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    least = np.diag(lower).min(initial=1.0) ** 2
    return None if least < _rounding(len(lower)) else lower


def _rounding(size: int) -> float:
    """Bound on the relative error of an eigenvalue or pivot of a matrix of this size."""
    return float(64 * size * np.finfo(np.float64).eps)


def _most_curved(
    problem: Problem, bent: Bent, pseudo: NDArray[np.float64], where: str
) -> tuple[float, float, int]:
    """Return log |A|, ½ bᵀA⁻¹b and d along the eigenvectors of A's largest eigenvalues, d the rank."""
    rank = dimensions(problem.dag, "effective")
    matrix = bent.information(pseudo, problem.basis)
    values, vectors = np.linalg.eigh(matrix)
    kept, along = values[len(values) - rank :], vectors[:, len(values) - rank :]
    if np.any(kept <= _rounding(len(values)) * np.abs(values).max(initial=0.0)):
        raise ParameterError(_no_peak(problem, bent.softmax_information(pseudo, problem.basis), where))
    b = along.T @ bent.gradient(pseudo, problem.basis)
    return float(np.log(kept).sum()), float(np.sum(b**2 / kept)) / 2, rank


def _no_peak(problem: Problem, pulled: NDArray[np.float64], where: str) -> str:
    """Say what the point is, if it is no peak."""
    scale = np.sqrt(np.abs(np.diag(pulled)))
    scale[scale == 0.0] = 1.0
    values = np.linalg.eigvalsh(pulled / scale / scale[:, None])
    bound = _rounding(len(values)) * max(1.0, values.max())
    flat, down = int(np.sum(np.abs(values) <= bound)), int(np.sum(values < -bound))
    message = f"Laplace's approximation needs a peak, but the point ({where}) is "
    if down:
        return message + (
            f"a saddle, or short of the peak: the log posterior bends upwards along {down} of {len(values)} "
            "directions; stop later, as with stop=Stop(relative=1e-10), or fit with more starts"
        )
    rank = dimensions(problem.dag, "effective")
    return message + (
        f"on a ridge: the log posterior is flat along {flat} of {len(values)} directions. The effective "
        f"dimension is {rank}; dimension='effective' keeps the curvature along that many directions"
    )
