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

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from lacunary.data.wording import counted
from lacunary.errors import NoEstimateError, ParameterError
from lacunary.evidence.charge import Charge, dimensions
from lacunary.evidence.domain import ENOUGH, SLOPE, climbed, remainders
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.hessian import Curvature, curvature
from lacunary.evidence.problem import At, Point, Problem
from lacunary.evidence.symmetry import check_symmetric, log_symmetry
from lacunary.infer.blas import one_blas_thread
from lacunary.learn.em import Basis, Maximize, maximize_rule
from lacunary.maths.arrays import Array, Integers

__all__ = ["NEGLIGIBLE", "laplace"]

NEGLIGIBLE = 1e-3
"""Nats that a slope may be worth at a peak: what EM leaves where it stops."""

BORDER = 1e-12
"""A probability that is as good as zero: where EM had not yet stopped on its way to the border."""


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
    there by itself. Where Stirling's remainders at the posterior counts add up to more than half a nat, the
    probability basis is left for the softmax basis, and there they are a term of their own; where counts
    are too small for that the formula is refused. ``where`` and ``terms`` say which.

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
        "parameters", or "effective" for models with a ridge: keep the curvature along as many
        directions, the most curved ones, as the data can tell apart.
    plain
        Take the formula at the point as it is, as in CH96, however far that is from a peak.

    Raises
    ------
    ParameterError
        Where g has no peak: on a border, a saddle or a ridge; or where a Dirichlet hyperparameter is
        not above one in the probability basis.
    """
    _check_implied(problem, basis or problem.basis, symmetry)
    problem = _in_basis(problem, basis or problem.basis)
    if symmetry:
        _check_nothing_fixed(problem)
        check_symmetric(problem.belief)
    point, missed, curvatures = problem.point(at), 0.0, _Curvatures(problem)
    if not plain:
        point, problem, missed = _in_domain(problem, point, dimension, curvatures)
    if not np.isfinite(point.log_likelihood):
        problem.prepared.check_possible(point.theta)
    _check_inside(problem, point)
    log_det, slope, d = curvatures.gauss(problem, point, dimension)
    terms = {
        "log-likelihood": point.log_likelihood,
        "log prior density": float(_rule(problem).log_prior(point.theta[None])[0]),
        "volume": d / 2 * float(np.log(2 * np.pi)),
        "curvature": -log_det / 2,
    }
    terms |= {"slope": slope} if slope > NEGLIGIBLE else {}
    terms |= {"Stirling's remainders": missed} if missed else {}
    # Renamed states of an implied table's hidden parent are other peaks: the weights' prior tells them apart.
    peaks = {} if problem.fixed or problem.dag.implied else {"log symmetry": log_symmetry(problem.dag)}
    terms |= peaks if symmetry else {}
    details = {"basis": problem.basis, "slope": slope, **peaks}
    return Estimate(
        "laplace",
        sum(terms.values()),
        "approximation",
        terms,
        dimension=d,
        where=point.where,
        details=details,
    )


class _Curvatures:
    """The curvature at the point asked about last, and what is made of it in each basis.

    It is asked for twice: whether the point is a peak, then its worth. The basis changes no curvature.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._last: tuple[Array, Curvature] | None = None
        self._made: dict[tuple[Basis, Charge], tuple[float, float, int]] = {}

    def at(self, point: Point) -> Curvature:
        """Return the curvature at a point."""
        if self._last is None or self._last[0] is not point.theta:
            bent = curvature(self.problem.prepared, point.theta, self.problem.belief)
            self._last = point.theta, bent
            self._made.clear()
        return self._last[1]

    def gauss(self, problem: Problem, point: Point, charge: Charge) -> tuple[float, float, int]:
        """Return log |A|, ½ bᵀA⁻¹b and d at a point; problems differ by their basis alone."""
        bent, key = self.at(point), (problem.basis, charge)
        if key not in self._made:
            self._made[key] = _gauss(problem, bent, _rule(problem).pseudo, point.where, charge)
        return self._made[key]


def _rule(problem: Problem) -> Maximize:
    """Return what tells log p(θ) and the pseudo-counts in the problem's basis."""
    return maximize_rule(problem.belief, "map", problem.basis, problem.held)


def _in_domain(
    problem: Problem, point: Point, dimension: Charge, curvatures: _Curvatures
) -> tuple[Point, Problem, float]:
    """Return a point and a basis at which the formula holds, and what it still misses if that is much."""
    _check_inside(problem, point)
    if dimension == "parameters" and not _is_peak(problem, point, curvatures):
        point = climbed(problem, point, lambda there: _is_peak(problem, there, curvatures)) or point
    missed, lost = remainders(problem, point.counts, problem.basis)
    if problem.basis == "probability" and abs(missed) > ENOUGH:
        softer = replace(problem, basis="softmax", given=None, _points={})
        where = f"map (softmax basis; in the probability basis Stirling's remainders are {missed:.2g} nats)"
        return _in_domain(softer, replace(softer.point("map"), where=where), dimension, curvatures)
    if lost > ENOUGH:
        raise NoEstimateError(
            f"posterior counts at the point ({point.where}) are so small that Laplace's approximation misses "
            f"about {missed:.2g} nats, and how much exactly is not known; use 'sampled', 'variational' or a "
            "prior such as Dirichlet(1)"
        )
    return point, problem, missed if abs(missed) > ENOUGH else 0.0


def _is_peak(problem: Problem, point: Point, curvatures: _Curvatures) -> bool:
    """Tell whether a point is an inner peak to the accuracy that the formula needs."""
    try:
        return curvatures.gauss(problem, point, "parameters")[1] <= SLOPE
    except ParameterError:
        return False


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


def _check_inside(problem: Problem, point: Point) -> None:
    """Refuse a point at which a learned probability is zero, or as good as zero."""
    tables = slice(problem.dag.layout.tables)
    free = True if problem.known is None else np.isnan(problem.known[tables])
    zero = int(np.count_nonzero((point.theta[tables] < BORDER) & free))
    if zero:
        many = (
            f"{counted(zero, 'probability')} of the point ({point.where}) {'is' if zero == 1 else 'are'} zero"
        )
        raise NoEstimateError(
            f"{many}; on the border of the parameter space Laplace's approximation does not hold: use "
            "at='map', whose prior keeps parameters inside"
        )


def _gauss(
    problem: Problem, bent: Curvature, pseudo: Array, where: str, charge: Charge
) -> tuple[float, float, int]:
    """Return log |A|, ½ bᵀA⁻¹b and d."""
    if charge != "parameters":
        return _most_curved(problem, bent, pseudo, where, dimensions(problem, charge))
    pulled, gradient = _along_weights(
        problem, bent, bent.softmax_information(pseudo, problem.basis), bent.gradient(pseudo)
    )
    if problem.known is not None:
        kept = _learned(problem, problem.known)
        pulled, gradient = pulled[np.ix_(kept, kept)], gradient[kept]
    stretch = 2 * bent.log_stretch(problem.known) if problem.basis == "probability" else 0.0
    scale = np.sqrt(np.abs(np.diag(pulled)))
    lower = _factor(pulled, scale)
    if lower is None:
        raise NoEstimateError(_no_peak(problem, pulled, where))
    b = solve_triangular(lower, gradient / scale, lower=True, check_finite=False)
    log_det = 2 * float(np.log(np.diag(lower)).sum() + np.log(scale).sum())
    return log_det - stretch, float(b @ b) / 2, len(b)


def _along_weights(problem: Problem, bent: Curvature, pulled: Array, gradient: Array) -> tuple[Array, Array]:
    """Return information and slope with those of implied tables along their weights, with their prior.

    With B = ∂φ/∂(parameters), which is constant, A = Bᵀ A_φ B + 1/s² for the weights.
    """
    dag, layout = problem.dag, problem.dag.layout
    if not dag.implied:
        return pulled, gradient
    families, blocks, at = dict(dag.implied), [], []
    for i in layout.blocks:
        if i in families:
            blocks.append(sparse.csr_array(families[i].jacobian))
            at.append(families[i].weights(layout.states_first(bent.theta, i)))
        else:
            blocks.append(sparse.eye_array(dag.families[i].free))
            at.append(np.full(dag.families[i].free, np.nan))
    blocks.append(sparse.eye_array(layout.size - layout.tables))
    slopes = sparse.csr_array(sparse.block_diag(blocks))
    weights = np.concatenate([*at, np.full(layout.size - layout.tables, np.nan)])
    precision = np.where(np.isnan(weights), 0.0, problem.belief.weight_sd**-2)
    information = np.asarray(slopes.T @ pulled @ slopes) + np.diag(precision)
    return information, np.asarray(slopes.T @ gradient) - precision * np.nan_to_num(weights)


def _learned(problem: Problem, known: Array) -> Integers:
    """Return the coordinates of what is learned."""
    dag, layout = problem.dag, problem.dag.layout
    counts = [dag.families[i].free for i in layout.blocks]
    counts += [layout.configurations[i] * layout.widths[i][0] for i in layout.numeric]
    blocks = (*layout.blocks, *layout.numeric)
    free = [bool(np.isnan(known[layout.start[i]])) for i in blocks]
    return np.flatnonzero(np.repeat(free, counts))


def _factor(matrix: Array, scale: Array) -> Array | None:
    """Return the Cholesky factor of the matrix scaled to a diagonal of ones, None if it is singular.

    A squared pivot is what is left of a one after the earlier coordinates are accounted for; below
    the rounding error of that sum there is nothing left.
    """
    if np.any(np.diag(matrix) <= 0.0):
        return None
    scaled = matrix / scale
    scaled /= scale[:, None]
    try:
        lower: Array = cholesky(scaled.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    least = np.diag(lower).min(initial=1.0) ** 2
    return None if least < _rounding(len(lower)) else lower


def _rounding(size: int) -> float:
    """Bound on the relative error of an eigenvalue or pivot of a matrix of this size."""
    return float(64 * size * np.finfo(np.float64).eps)


def _most_curved(
    problem: Problem, bent: Curvature, pseudo: Array, where: str, rank: int
) -> tuple[float, float, int]:
    """Return log |A|, ½ bᵀA⁻¹b and d along the eigenvectors of A's largest eigenvalues, d the rank."""
    matrix, gradient = _along_weights(
        problem, bent, bent.information(pseudo, problem.basis), bent.gradient(pseudo, problem.basis)
    )
    values, vectors = np.linalg.eigh(matrix)
    kept, along = values[len(values) - rank :], vectors[:, len(values) - rank :]
    if np.any(kept <= _rounding(len(values)) * np.abs(values).max(initial=0.0)):
        raise NoEstimateError(_no_peak(problem, bent.softmax_information(pseudo, problem.basis), where))
    b = along.T @ gradient
    return float(np.log(kept).sum()), float(np.sum(b**2 / kept)) / 2, rank


def _no_peak(problem: Problem, pulled: Array, where: str) -> str:
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
    message += f"on a ridge: the log posterior is flat along {flat} of {len(values)} directions"
    if problem.fixed:
        return message
    rank = dimensions(problem, "generic")
    return message + (
        ". The effective "
        f"dimension is {rank}; dimension='generic' keeps the curvature along that many directions"
    )
