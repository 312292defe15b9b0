"""The normal density around a point: its curvature, what is left of a slope, and how far it reaches."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from lacunary.errors import NoEstimateError
from lacunary.evidence.charge import Charge, dimensions
from lacunary.evidence.hessian import Curvature, curvature
from lacunary.evidence.problem import Point, Problem
from lacunary.learn.em import Basis, Maximize, maximize_rule
from lacunary.maths.arrays import Array, Integers

__all__ = ["Curvatures", "rule_of"]


class Curvatures:
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
            self._made[key] = _gauss(problem, bent, rule_of(problem).pseudo, point.where, charge)
        return self._made[key]

    def reach(self, problem: Problem, point: Point) -> float:
        """Return the largest standard deviation of a learned probability, in times of itself.

        With A = LLᵀ along φ and log θ moving by S φ, that of θ_k is the length of L⁻¹ S_kᵀ. It is nothing
        where the point is no peak, which is refused elsewhere.
        """
        bent = self.at(point)
        pulled = bent.softmax_information(rule_of(problem).pseudo, problem.basis)
        slopes = np.zeros((problem.dag.layout.tables, len(pulled)))
        slopes[:, : bent.slopes.shape[1]] = bent.slopes.toarray()
        if problem.known is not None:
            kept = _learned(problem, problem.known)
            pulled, slopes = pulled[np.ix_(kept, kept)], slopes[:, kept]
        scale = np.sqrt(np.abs(np.diag(pulled)))
        lower = _factor(pulled, scale)
        if lower is None:
            return 0.0
        spread = solve_triangular(lower, (slopes / scale).T, lower=True, check_finite=False)
        return float(np.sqrt((spread**2).sum(axis=0)).max(initial=0.0))


def rule_of(problem: Problem) -> Maximize:
    """Return what tells log p(θ) and the pseudo-counts in the problem's basis."""
    return maximize_rule(problem.belief, "map", problem.basis, problem.held)


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
