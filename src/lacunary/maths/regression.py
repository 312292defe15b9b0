"""What is believed of a linear regression with Gaussian noise: a normal–inverse-gamma distribution.

The child of a family is intercept + coefficientsᵀ parents + noise of variance σ². With v = (−intercept,
−coefficients, 1), w = 1/σ² and z = (1, parents, child), the belief with pseudo-moments T and ``dof``
degrees of freedom has the density

    p(intercept, coefficients, w) = w^((m + 1)/2 + dof/2 − 1) exp(−½ w vᵀTv) / Z,

where m is the number of parents: σ² is inverse-gamma(dof/2, s/2) with s what the regression leaves of
T's last entry, and (intercept, coefficients) given σ² is normal about the regression's coefficients with
covariance σ² T_p⁻¹, T_p being T without the child. Rows update T by adding their moments Σ w z zᵀ and
``dof`` by adding their number. The prior of a family that follows from a Normal–Wishart belief over n
variables (ν, μ, α, τ) by parameter modularity has dof = α − n + m + 1 (Heckerman & Geiger 1995;
``maths.normal_wishart``), and T the submatrix of the Normal–Wishart's.

Everything is vectorised over leading axes: T is (..., m + 2, m + 2), ``dof`` is (...,), parameters
``theta`` are (..., m + 2): intercept, coefficients, variance. The derivation is docs/derivations/gaussian.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lacunary.errors import ParameterError
from lacunary.maths import special
from lacunary.maths.arrays import Array
from lacunary.maths.moments import factor

__all__ = [
    "Solved",
    "divergence",
    "draw",
    "expected_form",
    "log_density",
    "log_evidence",
    "log_normalizer",
    "log_predictive",
    "maximum_likelihood",
    "mean",
    "peak",
    "point_form",
    "predictive",
    "solved_in_turn",
]

LOG_2PI = math.log(2.0 * math.pi)


class Solved(NamedTuple):
    """Least squares: intercept and coefficients, (..., m + 1), and √s, what they leave; (...,)."""

    coefficients: Array
    pivot: Array


def solved_in_turn(moment: Array, count: int) -> list[Solved] | None:
    """Return the regressions of the last ``count`` coordinates, each on all before it, from one factor.

    They are those of the leading parts of the matrix one by one, to rounding; None where a coordinate is
    redundant, which `factor` decides by the size of the part.
    """
    from scipy.linalg.lapack import dtrtri  # slow to load, and tables do not need it

    size = moment.shape[-1]
    try:
        lower = np.asarray(np.linalg.cholesky(moment), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diagonal(lower, axis1=-2, axis2=-1)
    floor = size * np.finfo(np.float64).eps * np.diagonal(moment, axis1=-2, axis2=-1)
    if not np.all(pivots**2 > np.maximum(floor, np.finfo(np.float64).tiny)):
        return None
    # Row p of the inverse is (−coefficients, 1) / pivot, by the same substitution as one by one.
    contrasts = np.array([dtrtri(one, lower=1)[0] for one in lower.reshape(-1, size, size)])
    slopes = -contrasts.reshape(lower.shape) * pivots[..., None]
    return [Solved(slopes[..., p, :p], pivots[..., p]) for p in range(size - count, size)]


def log_normalizer(moment: Array, dof: ArrayLike) -> Array:
    """Return log Z = (m + 1)/2 log 2π − ½ log|T_p| + log Γ(dof/2) − dof/2 log(s/2); (...,)."""
    lower = factor(moment)
    return _log_normalizer(lower, np.asarray(dof, dtype=np.float64))


def log_evidence(prior: Array, dof: ArrayLike, moment: Array) -> Array:
    """Return log p(rows), whose moments these are, with the parameters integrated out; (...,).

    log Z(T + moments, dof + N) − log Z(T, dof) − N/2 log 2π: exact, no constant dropped.
    """
    count, dof = moment[..., 0, 0], np.asarray(dof, dtype=np.float64)
    gain = log_normalizer(prior + moment, dof + count) - log_normalizer(prior, dof)
    return np.asarray(gain - 0.5 * count * LOG_2PI)


def peak(moment: Array, dof: ArrayLike) -> Array:
    """Return the mode: the regression's coefficients, and σ² = s/(dof − m − 1); (..., m + 2).

    It is the mode in the coordinates (intercept, coefficients/σ², 1/σ²): up to sign, the child's
    row of a precision matrix. In them the Jacobian from the families of a complete DAG to (mean, precision)
    is one, so that every DAG's modes are regressions taken from the one mode of the Normal–Wishart,
    τ/(α − n). With α = ν + n the divisor is the pseudo-count itself: N + ν after N rows (TMCH98 section 6).
    """
    coefficients, pivot = _solved(moment)
    divisor = np.asarray(dof, dtype=np.float64) - (moment.shape[-1] - 1)
    if np.any(divisor <= 0):
        raise ParameterError(
            "the density has no peak: degrees of freedom must exceed the number of coefficients; "
            "take a Normal-Wishart with alpha above the number of variables"
        )
    return _joined(coefficients, pivot**2 / divisor)


def mean(moment: Array, dof: ArrayLike) -> Array:
    """Return the expected parameters, E σ² = s/(dof − 2), infinite where dof ≤ 2; (..., m + 2)."""
    lower = factor(moment)
    divisor = np.asarray(dof, dtype=np.float64) - 2.0
    variance = np.where(divisor > 0, lower[..., -1, -1] ** 2 / np.where(divisor > 0, divisor, 1.0), np.inf)
    return _joined(_coefficients(lower), variance)


def maximum_likelihood(moment: Array, floor: ArrayLike) -> Array:
    """Return least squares, with the variance s/N but no less than ``floor`` (positive); (..., m + 2).

    The maximum of the likelihood over all parameters with σ² ≥ floor. Parents that are linear combinations of
    others get coefficient zero; a family that no row has seen gets zeros and the floor.
    """
    if np.any(np.asarray(floor) <= 0):
        raise ParameterError("the floor of variances must be positive")
    coefficients, pivot = _solved(moment)
    count = moment[..., 0, 0]
    seen = count > 0
    variance = np.where(seen, pivot**2 / np.where(seen, count, 1.0), 0.0)
    return _joined(coefficients * seen[..., None], np.maximum(variance, floor))


def log_density(theta: Array, moment: Array, dof: ArrayLike) -> Array:
    """Return the log-density in the coordinates of ``peak``, (intercept, coefficients/σ², 1/σ²); (...,).

    (dof − m − 1)/2 log w − ½ w vᵀTv − log Z, with w = 1/σ².
    """
    dof = np.asarray(dof, dtype=np.float64)
    lower = factor(moment)
    exponent = 0.5 * (dof - (moment.shape[-1] - 1))
    variance = theta[..., -1]
    square = _square(lower, _contrast(theta))
    return np.asarray(-exponent * np.log(variance) - 0.5 * square / variance - _log_normalizer(lower, dof))


def point_form(theta: Array) -> tuple[Array, Array]:
    """Return Q = vvᵀ/σ² and g = −½ log 2πσ², log-density g − ½ zᵀQz; (..., m + 2, m + 2), (...,)."""
    contrast, variance = _contrast(theta), theta[..., -1]
    outer = contrast[..., :, None] * contrast[..., None, :]
    return outer / variance[..., None, None], -0.5 * (LOG_2PI + np.log(variance))


def expected_form(moment: Array, dof: ArrayLike) -> tuple[Array, Array]:
    """Return Q = E[vvᵀ/σ²] and g = −½ E[log 2πσ²] under the belief; (..., m + 2, m + 2), (...,).

    Q = dof/s · v̂v̂ᵀ + T_p⁻¹ (bordered by zeros), v̂ being v at the regression's coefficients.
    """
    dof = np.asarray(dof, dtype=np.float64)
    lower = factor(moment)
    rest = lower[..., -1, -1] ** 2
    contrast = _contrast(_joined(_coefficients(lower), rest))
    form = (dof / rest)[..., None, None] * contrast[..., :, None] * contrast[..., None, :]
    half = _inverse(lower[..., :-1, :-1])
    form[..., :-1, :-1] += np.swapaxes(half, -1, -2) @ half
    return form, 0.5 * (_expected_log_precision(rest, dof) - LOG_2PI)


def divergence(moment: Array, dof: ArrayLike, prior: Array, prior_dof: ArrayLike) -> Array:
    """Return KL(belief ‖ prior) between two such beliefs, in nats; (...,)."""
    dof, prior_dof = np.asarray(dof, dtype=np.float64), np.asarray(prior_dof, dtype=np.float64)
    lower, under = factor(moment), factor(prior)
    rest = lower[..., -1, -1] ** 2
    contrast = _contrast(_joined(_coefficients(lower), rest))
    # tr(T E[w vvᵀ]) is dof + m + 1 for the belief's own T; for the prior's it is a sum of squares.
    own = dof + (moment.shape[-1] - 1)
    spread = _inverse(lower[..., :-1, :-1]) @ under[..., :-1, :-1]
    other = dof / rest * _square(under, contrast) + np.sum(spread**2, axis=(-2, -1))
    gain = 0.5 * (dof - prior_dof) * _expected_log_precision(rest, dof) - 0.5 * (own - other)
    return np.asarray(gain - _log_normalizer(lower, dof) + _log_normalizer(under, prior_dof))


def draw(moment: Array, dof: ArrayLike, rng: np.random.Generator) -> Array:
    """Return parameters drawn from the belief, one set for each T; (..., m + 2)."""
    lower = factor(moment)
    shape = lower.shape[:-2]
    half_dof = np.broadcast_to(0.5 * np.asarray(dof, dtype=np.float64), shape)
    variance = 0.5 * lower[..., -1, -1] ** 2 / rng.standard_gamma(half_dof)
    noise = rng.standard_normal((*shape, moment.shape[-1] - 1))
    apart = np.einsum("...ji,...j->...i", _inverse(lower[..., :-1, :-1]), noise)
    return _joined(_coefficients(lower) + np.sqrt(variance)[..., None] * apart, variance)


def predictive(moment: Array, dof: ArrayLike, parents: ArrayLike) -> tuple[Array, Array]:
    """Return location and scale of the child's Student t with ``dof`` degrees of freedom.

    With u = (1, parents): location β̂ᵀu, scale² = s/dof · (1 + uᵀT_p⁻¹u). ``parents`` is (..., m), its leading
    axes those of ``moment`` or broadcast against them; so are the answers.
    """
    lower = factor(moment)
    parents = np.asarray(parents, dtype=np.float64)
    u = np.concatenate([np.ones((*parents.shape[:-1], 1)), parents], axis=-1)
    location = np.sum(_coefficients(lower) * u, axis=-1)
    leverage = np.sum(np.einsum("...ij,...j->...i", _inverse(lower[..., :-1, :-1]), u) ** 2, axis=-1)
    scale = lower[..., -1, -1] * np.sqrt((1.0 + leverage) / np.asarray(dof, dtype=np.float64))
    return location, np.asarray(scale)


def log_predictive(moment: Array, dof: ArrayLike, parents: ArrayLike, child: ArrayLike) -> Array:
    """Return the log-density of the child's value with the parameters integrated out; (...,)."""
    location, scale = predictive(moment, dof, parents)
    apart = (np.asarray(child, dtype=np.float64) - location) / scale
    return np.asarray(special.log_student(apart, dof) - np.log(scale))


def _log_normalizer(lower: Array, dof: Array) -> Array:
    """Return log Z, given the Cholesky factor of T; (...,)."""
    pivots = np.diagonal(lower, axis1=-2, axis2=-1)
    half_log = np.log(pivots[..., :-1]).sum(axis=-1)
    scale = dof * (np.log(pivots[..., -1]) - 0.5 * math.log(2.0))
    return np.asarray(0.5 * (lower.shape[-1] - 1) * LOG_2PI - half_log + special.gammaln(0.5 * dof) - scale)


def _expected_log_precision(rest: Array, dof: Array) -> Array:
    """Return E[log 1/σ²] = ψ(dof/2) − log(s/2); (...,)."""
    return np.asarray(special.digamma(0.5 * dof) - np.log(0.5 * rest))


def _solved(moment: Array) -> Solved:
    lower = factor(moment)
    return Solved(_coefficients(lower), lower[..., -1, -1])


def _coefficients(lower: Array) -> Array:
    """Return β̂ = L_p⁻ᵀ l, l the child's row of the factor: intercept and coefficients; (..., m + 1)."""
    upper = np.swapaxes(lower[..., :-1, :-1], -1, -2)
    return np.asarray(np.linalg.solve(upper, lower[..., -1, :-1, None])[..., 0])


def _inverse(lower: Array) -> Array:
    """Return the inverse of a triangular factor; (..., k, k)."""
    return np.asarray(np.linalg.inv(lower))


def _joined(coefficients: Array, variance: Array) -> Array:
    """Return theta: intercept, coefficients, variance; (..., m + 2)."""
    return np.concatenate([coefficients, variance[..., None]], axis=-1)


def _contrast(theta: Array) -> Array:
    """Return v = (−intercept, −coefficients, 1); (..., m + 2)."""
    return np.concatenate([-theta[..., :-1], np.ones_like(theta[..., -1:])], axis=-1)


def _square(lower: Array, contrast: Array) -> Array:
    """Return vᵀTv = ‖Lᵀv‖², which never falls below zero; (...,)."""
    return np.asarray(np.sum(np.einsum("...ij,...i->...j", lower, contrast) ** 2, axis=-1))
