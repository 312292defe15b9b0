"""The singular BIC of nested models, and learning coefficients that are known.

The evidence of model i, if the truth lies in its submodel j, falls like N^−λ (log N)^(m − 1) with the
learning coefficient λ_ij and its multiplicity m_ij (Watanabe 2009). With L_ij the greatest likelihood of
model i times this, Drton and Plummer (2017) average over what the truth may be, by submodels' evidences:

    L_i = Σ_{j ≤ i} L_ij L_j P_j / Σ_{j ≤ i} L_j P_j,

a quadratic equation in L_i once the smaller models are known, of which one root is positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lacunary.errors import ParameterError
from lacunary.maths.arrays import Array

__all__ = ["class_coefficient", "factor_coefficient", "sbic", "two_class_coefficient"]


def sbic(
    log_likelihood: ArrayLike,
    coefficients: ArrayLike,
    rows: float,
    *,
    multiplicities: ArrayLike | None = None,
    prior: ArrayLike | None = None,
) -> Array:
    """Return the singular BIC of each of several nested models, in nats, higher is better; (models,).

    It is log L_i, an approximation of log p(D | i) that holds, up to O(1), wherever in i the truth is.

    Parameters
    ----------
    log_likelihood
        The greatest of each model, submodels before the models they lie in; (models,).
    coefficients
        λ_ij, the learning coefficient of model i where the truth is in j; NaN where j does not lie in i;
        (models, models). With d/2 everywhere the result is BIC.
    rows
        N.
    multiplicities
        m_ij, one unless given; (models, models).
    prior
        P_j, any positive numbers; equal unless given.

    Examples
    --------
    >>> import lacunary as lac
    >>> nan = float("nan")
    >>> lac.sbic([-520.0, -512.0], [[2.0, nan], [2.5, 4.5]], 100).round(3)
    array([-529.21, -526.39])
    """
    logs, table = np.asarray(log_likelihood, dtype=np.float64), np.asarray(coefficients, dtype=np.float64)
    count = len(logs)
    orders = np.ones((count, count)) if multiplicities is None else np.asarray(multiplicities, dtype=float)
    chances = np.ones(count) if prior is None else np.asarray(prior, dtype=np.float64)
    _check(logs, table, orders, chances, rows)
    found = np.empty(count)
    for i in range(count):
        inside = np.flatnonzero(~np.isnan(table[i, :i]))
        charge = -table[i] * np.log(rows)
        several = orders[i] > 1
        charge[several] += (orders[i][several] - 1) * (np.log(np.log(rows)) if several.any() else 0.0)
        weights = found[inside] + np.log(chances[inside]) - np.log(chances[i])
        found[i] = _root(logs[i] + charge[i], logs[i] + charge[inside], weights)
    return found


def _root(own: float, below: Array, weights: Array) -> float:
    """Return log x of the positive root of x² + (Σ w − o) x − Σ b w = 0, given the logs of o, b and w."""
    if not len(below):
        return own
    total, product = float(np.logaddexp.reduce(weights)), float(np.logaddexp.reduce(below + weights))
    unit = max(own, total, 0.5 * product)  # in which nothing overflows, and what underflows does not count
    linear, constant = np.exp(total - unit) - np.exp(own - unit), np.exp(product - 2 * unit)
    root = np.sqrt(linear**2 + 4.0 * constant)
    if linear <= 0.0:
        return float(unit + np.log((root - linear) / 2.0))
    # Both terms of the difference root − linear are nearly equal: by its conjugate, in logs.
    return float(np.log(2.0) + product - unit - np.log(root + linear))


def _check(logs: Array, table: Array, orders: Array, chances: Array, rows: float) -> None:
    count = len(logs)
    if table.shape != (count, count) or orders.shape != (count, count) or chances.shape != (count,):
        raise ParameterError(
            f"{count} log-likelihoods need {count} by {count} coefficients and multiplicities and {count} "
            f"prior weights, not {table.shape}, {orders.shape} and {chances.shape}"
        )
    if not (np.isfinite(logs).all() and (chances > 0).all() and np.isfinite(chances).all()):
        raise ParameterError("log-likelihoods must be finite, and prior weights positive")
    if np.isnan(np.diag(table)).any() or np.nanmin(table, initial=0.0) < 0.0:
        raise ParameterError("each model needs its own coefficient on the diagonal, and none is negative")
    if (~np.isnan(table))[np.triu_indices(count, 1)].any():
        raise ParameterError("submodels come before the models they lie in: coefficients above the diagonal")
    if not rows >= 1 or ((orders > 1).any() and not rows > np.e):
        raise ParameterError(f"sBIC needs at least one row, and with multiplicities three, not {rows:g}")


def class_coefficient(classes: int, inside: int, free: int, phi: float, shared: int = 0) -> float:
    """Return an upper bound of λ for a mixture of ``classes`` when ``inside`` of them would do.

    ½ min(jr + j − 1 + φ(i − j), ri + j − 1) with i classes, j inside, r free parameters a class: either the
    classes too many are empty, or they are twins of others. φ is the Dirichlet weight of the class's
    probabilities. Parameters that classes ``share`` count by half each. For i = j it is d/2.
    """
    i, j, r = classes, inside, free
    return 0.5 * (shared + min(j * r + j - 1 + phi * (i - j), r * i + j - 1))


def two_class_coefficient(free: ArrayLike, phi: float) -> tuple[float, int]:
    """Return λ and m of two classes when the features are independent: exact.

    ``free`` has the number of states less one of each feature. With t the smaller class and u_k the
    difference of the classes in feature k, dependence vanishes with all t · u_k · u_l, k ≠ l: a monomial
    ideal, whose coefficient is half of min(φ, r/2, r − max). With binary features and φ = 1 these are the
    closed forms of Rusakov and Geiger (2005): (n + 1)/2, and for two features 3/2 with m = 3.
    """
    widths = np.asarray(free, dtype=np.float64)
    r, alike, but_one = widths.sum(), widths.sum() / 2, widths.sum() - widths.max()
    least = min(phi, alike, but_one)
    if but_one == 0.0:  # one feature, of which two classes say no more than one
        return float(r) / 2, 1
    return float(r + least) / 2, sum(way == least for way in (phi, alike, but_one))


def factor_coefficient(variables: int, factors: int, inside: int) -> float:
    """Return an upper bound of λ for a factor analysis of ``factors`` when ``inside`` of them would do.

    m variances, the loadings of j factors up to their rotation, and a quarter for each of the (m − j)(i − j)
    loadings that vanish; means not counted. It is exact for i = j, and for no factor inside one.
    """
    m, i, j = variables, factors, inside
    return 0.25 * ((i + 2) * m + j * (m - i + 1))
