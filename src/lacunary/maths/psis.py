"""Pareto-smoothed importance sampling, and what rows would be worth to a model that had not seen them.

With log p(row | θ) at draws of θ from the posterior, the density of a row given all others is the harmonic
mean of p(row | θ): importance sampling with weights 1/p(row | θ), whose largest are smoothed by the
generalised Pareto distribution fitted to them. Its shape k̂ tells whether the mean can be trusted (Vehtari,
Simpson, Gelman, Yao & Gabry 2024; Vehtari, Gelman & Gabry 2017). WAIC estimates the same by the variance of
log p(row | θ) (Watanabe 2010).
"""

from __future__ import annotations

import numpy as np

from lacunary.maths.arrays import Array
from lacunary.maths.special import logsumexp

__all__ = ["fit_pareto", "loo_densities", "pareto_shape", "smoothed", "waic_densities"]

LEAST = 5
"""Weights a tail must have for a shape to be fitted."""

GRID = 20
"""The fewest points at which the shape of plain weights is looked for."""

BELIEF = 10.0
"""Weights that the prior belief of the shape, ½, is worth."""


def fit_pareto(excess: Array, least: int = 30) -> tuple[float, float]:
    """Return shape k and scale σ of the generalised Pareto distribution that positive numbers have.

    By Zhang & Stephens (2009): the posterior mean over a grid of the profile likelihood in k/σ, of √n more
    than ``least`` points. The shape is drawn a little towards ½.
    """
    x, n = np.sort(excess), len(excess)
    points = least + int(n**0.5)
    grid = 1 / x[-1] + (1 - np.sqrt(points / (np.arange(1, points + 1) - 0.5))) / 3 / x[int(n / 4 + 0.5) - 1]
    shapes = np.log1p(-grid[:, None] * x).mean(axis=1)
    ratio = np.full(points, 1 / x.mean())  # where k/σ is zero
    np.divide(-grid, shapes, out=ratio, where=shapes != 0)
    profile = n * (np.log(ratio) - shapes - 1)
    weights = np.exp(profile - logsumexp(profile))
    best = float(weights @ grid)
    k = float(np.log1p(-best * x).mean())
    return (n * k + BELIEF * 0.5) / (n + BELIEF), -k / best if best else float(x.mean())


def pareto_shape(log_weights: Array) -> float:
    """Return k̂ of the largest weights, by the estimate of Zhang & Stephens (2009); 0 where they do not vary.

    Weights have k̂ᵗʰ moments up to 1/k̂: below 0.5 their variance is finite, above 0.7 their mean cannot be
    relied on. The tail is the largest fifth, or 3 √S of S weights if that is less. The shape is drawn
    towards 0.5 as if ten more weights had said so.
    """
    logs = np.sort(np.ravel(log_weights))
    size = int(min(0.2 * len(logs), 3 * np.sqrt(len(logs))))
    if size < LEAST:
        return 0.0
    weights = np.exp(logs - logs[-1])
    excess = weights[-size:] - weights[-size - 1]
    if not excess[-1] > 0.0 or not excess[0] > 1e-12 * excess[-1]:
        excess = excess[excess > 1e-12 * max(excess[-1], 1e-300)]
        if len(excess) < LEAST:
            return 0.0
    return fit_pareto(excess, GRID)[0]


def smoothed(log_ratios: Array, efficiency: float = 1.0) -> tuple[Array, float]:
    """Return log-weights that sum to one, the largest smoothed, and their shape k̂; (draws,)."""
    logs = log_ratios - log_ratios.max()
    draws = len(logs)
    tail = int(np.ceil(min(draws / 5, 3 * np.sqrt(draws / efficiency))))
    order = np.argsort(logs, kind="stable")
    cut = max(float(logs[order[-tail - 1]]), -700.0) if tail < draws else -700.0
    beyond = order[-tail:][logs[order[-tail:]] > cut]
    k = np.inf if np.ptp(logs) > 0 else -np.inf  # equal weights have no tail
    if len(beyond) >= LEAST and np.ptp(logs[beyond]) > 0:
        k, sigma = fit_pareto(np.exp(logs[beyond]) - np.exp(cut))
        places = (np.arange(len(beyond)) + 0.5) / len(beyond)
        heights = sigma * np.expm1(-k * np.log1p(-places)) / k if k else -sigma * np.log1p(-places)
        logs[beyond] = np.minimum(np.log(heights + np.exp(cut)), 0.0)
    return logs - logsumexp(logs), k


def loo_densities(log_density: Array, efficiency: float = 1.0) -> tuple[Array, Array]:
    """Return the log-density of each row given all others, and k̂ of each; (draws, rows) → (rows,) twice."""
    densities, shapes = np.empty(log_density.shape[1]), np.empty(log_density.shape[1])
    for row in range(log_density.shape[1]):
        logs, shapes[row] = smoothed(-log_density[:, row], efficiency)
        densities[row] = logsumexp(logs + log_density[:, row])
    return densities, shapes


def waic_densities(log_density: Array) -> tuple[Array, Array]:
    """Return what WAIC takes for that, and the variances it takes off; (draws, rows) → (rows,) twice."""
    fit = logsumexp(log_density, axis=0) - np.log(len(log_density))
    spread = log_density.var(axis=0, ddof=1)
    return np.asarray(fit - spread), spread
