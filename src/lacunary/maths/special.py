"""Special functions: those of SciPy, loaded when the first of them is called.

Importing them takes a sixth of a second, which a fit of tables, needing none, does not pay.
"""

from __future__ import annotations

from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lacunary.maths.arrays import Array, Integers

__all__ = ["log_peak", "log_rising", "log_student", "sum_log_gamma"]

LARGE = 1000.0
"""From here on Stirling's series needs two terms: the third, 1/(1260 z⁵), is below 1e-18."""


def sum_log_gamma(values: ArrayLike) -> float:
    """Return Σ log Γ(value): hyperparameters are many, but few of them differ."""
    different, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    return float(np.array([lgamma(value) for value in different.tolist()]) @ counts)


def log_rising(a: ArrayLike, n: ArrayLike) -> Array:
    """Return log Γ(a + n) − log Γ(a), a > 0 and a + n > 0, without losing digits where a is huge; broadcast.

    For a large a by the difference of Stirling's series, with r(z) = 1/(12 z) − 1/(360 z³),

        (a − ½) log(1 + n/a) + n log(a + n) − n + r(a + n) − r(a).
    """
    a, n = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(n, dtype=np.float64))
    large = np.minimum(a, a + n) >= LARGE
    out = np.empty(a.shape)
    b, m = a[~large], n[~large]
    out[~large] = __getattr__("gammaln")(b + m) - __getattr__("gammaln")(b)
    b, m = a[large], n[large]
    out[large] = (b - 0.5) * np.log1p(m / b) + m * np.log(b + m) - m + (_tail(b + m) - _tail(b))
    return out


def log_student(x: Array, dof: ArrayLike) -> Array:
    """Return the log-density of a Student t of location zero and scale one; broadcast."""
    dof = np.asarray(dof, dtype=np.float64)
    constant = log_rising(0.5 * dof, 0.5) - 0.5 * np.log(np.pi * dof)
    return np.asarray(constant - 0.5 * (dof + 1.0) * np.log1p(x**2 / dof))


def log_peak(alpha: Array, group: Integers, shift: float) -> float:
    """Return Σ log of Dirichlets' densities at their peaks θ ∝ α − shift, to the last digits.

    A density is Γ(A)/Π Γ(α_k) · Π θ_k^(α_k − shift) with A = Σ α_k: with shift 0 that of log-odds, with
    shift 1, for α > 1, that of probabilities. ``group`` numbers each α's Dirichlet from zero; (α,).
    By Stirling, log Γ(z) = (z − ½) log z − z + ½ log 2π + t(z); all that is large cancels.
    """
    total = np.asarray(np.bincount(group, alpha), dtype=np.float64)
    size = np.bincount(group)
    half = 0.5 * np.log(2.0 * np.pi)
    out = float(
        (-0.5 * np.log(total) + half + _rest(total)).sum() - (half + _rest(alpha) - 0.5 * np.log(alpha)).sum()
    )
    if shift:
        less = alpha - shift
        moved = alpha * (np.log1p(-shift / alpha) - np.log1p(-shift * size / total)[group])
        out += float((moved - shift * np.log(less / (total - shift * size)[group])).sum())
    return out


def _rest(z: Array) -> Array:
    """Return log Γ(z) − (z − ½) log z + z − ½ log 2π."""
    large, out = z >= LARGE, np.empty(z.shape)
    b = z[~large]
    out[~large] = __getattr__("gammaln")(b) - (b - 0.5) * np.log(b) + b - 0.5 * np.log(2.0 * np.pi)
    out[large] = _tail(z[large])
    return out


def _tail(z: Array) -> Array:
    """Return what Stirling's series adds to (z − ½) log z − z + ½ log 2π."""
    return np.asarray((1 / 12 - 1 / 360 / z / z) / z)


def __getattr__(name: str) -> Any:
    import scipy.special

    return getattr(scipy.special, name)
