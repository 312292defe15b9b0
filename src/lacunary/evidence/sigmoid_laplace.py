"""Laplace's approximation for networks with sigmoid families, in their weights (CH96 eq. 8, GHM96 section 8).

The log-odds of a sigmoid family are linear in its weights, η = X w, and are up to their sign the softmax
coordinates of its table. So with B = ∂φ/∂(parameters), which is constant, A = Bᵀ A_φ B + 1/s² for the
weights, where A_φ is the exact information along φ (`lacunary.evidence.hessian`) without a prior of the
sigmoid tables and s the standard deviation of the weights. Other tables stay in the softmax basis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lacunary.errors import ParameterError
from lacunary.evidence.charge import Charge, dimensions
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.hessian import curvature
from lacunary.evidence.laplace import NEGLIGIBLE
from lacunary.evidence.problem import At, Problem
from lacunary.infer.covariance import free_places
from lacunary.learn.em import maximize_rule
from lacunary.model.dag import Dag
from lacunary.model.sigmoid import design, weights_of

__all__ = ["laplace"]


class _Coordinates(NamedTuple):
    """How φ moves with the parameters, (free tables, parameters); which are weights, and their values."""

    slopes: sparse.csr_array
    is_weight: NDArray[np.bool_]
    weights: NDArray[np.float64]


def laplace(problem: Problem, *, at: At = "map", dimension: Charge = "parameters") -> Estimate:
    """Return Laplace's approximation of the log evidence of a network with sigmoid families.

    ``at`` and ``dimension`` are as for other networks. Renamed states of a hidden parent are different peaks,
    which the normal prior of the weights tells apart: they are not counted.
    """
    if problem.dag.continuous:
        raise ParameterError(
            "'laplace' knows sigmoid families in discrete networks only; use 'bic' or 'draper', or leave "
            f"{problem.dag.names[problem.dag.continuous[0]]}, which is continuous, out"
        )
    if problem.basis != "softmax":
        raise ParameterError("'laplace' of sigmoid families is worked out in the softmax basis alone")
    point = problem.point(at)
    rule = maximize_rule(problem.belief, "map", "softmax", None)
    bent = curvature(problem.prepared, point.theta)
    along = _coordinates(problem.dag, point.theta)
    precision = along.is_weight * problem.belief.weight_sd**-2
    information = np.asarray(along.slopes.T @ bent.softmax_information(rule.pseudo, "softmax") @ along.slopes)
    information += np.diag(precision)
    slope = np.asarray(along.slopes.T @ bent.gradient(rule.pseudo)) - precision * along.weights
    log_det, rise, d = _gauss(problem, information, slope, dimension)
    terms = {
        "log-likelihood": point.log_likelihood,
        "log prior density": float(rule.log_prior(point.theta[None])[0]),
        "volume": d / 2 * float(np.log(2 * np.pi)),
        "curvature": -log_det / 2,
    }
    terms |= {"slope": rise} if rise > NEGLIGIBLE else {}
    details = {"basis": "softmax", "slope": rise}
    value = sum(terms.values())
    return Estimate("laplace", value, "approximation", terms, dimension=d, where=point.where, details=details)


def _coordinates(dag: Dag, theta: NDArray[np.float64]) -> _Coordinates:
    """Return the derivatives of φ = log(θ / θ_last) by the parameters, block by block."""
    layout = dag.layout
    blocks, is_weight, values = [], [np.zeros(0, dtype=bool)], [np.zeros(0)]
    for i in layout.blocks:
        if i in dag.sigmoids:
            sizes = layout.parent_sizes(i)
            blocks.append(-design(sizes))  # φ is the log-odds of the first state
            values.append(weights_of(layout.binary(theta, i), sizes))
        else:
            free = (layout.states[i] - 1) * layout.configurations[i]
            blocks.append(sparse.eye_array(free))
            values.append(np.zeros(free))
        is_weight.append(np.full(len(values[-1]), i in dag.sigmoids))
    slopes = sparse.block_diag(blocks, format="csr")
    assert slopes.shape[0] == len(free_places(layout))
    return _Coordinates(sparse.csr_array(slopes), np.concatenate(is_weight), np.concatenate(values))


def _gauss(
    problem: Problem, information: NDArray[np.float64], slope: NDArray[np.float64], charge: Charge
) -> tuple[float, float, int]:
    """Return log |A|, ½ bᵀA⁻¹b and d, along the most curved directions if not all are charged for."""
    d = dimensions(problem, charge)
    scale = np.sqrt(np.abs(np.diag(information)))
    scale = np.where((scale > 0) & (charge == "parameters"), scale, 1.0)
    values, vectors = np.linalg.eigh(information / scale / scale[:, None])
    kept, along = values[len(values) - d :], vectors[:, len(values) - d :]
    if d and not kept.min() > 64 * len(values) * np.finfo(np.float64).eps * np.abs(values).max():
        raise ParameterError(
            "Laplace's approximation needs a peak, and the point is none: the log posterior is flat or bends "
            f"upwards along {int(np.sum(values <= 0)) or 1} of {len(values)} directions; stop later, as with "
            "stop=Stop(relative=1e-10), or use at='map'"
        )
    b = along.T @ (slope / scale)
    log_det = float(np.log(kept).sum() + 2 * np.log(scale).sum())
    return log_det, float(np.sum(b**2 / kept)) / 2, d
