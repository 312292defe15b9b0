"""Gamma variates that are going to be divided by their sum: however small pseudo-counts are."""

from __future__ import annotations

import numpy as np

from lacunary.maths.arrays import Array, Integers

__all__ = ["dirichlet", "gammas", "log_gammas"]

TINY = 1e-300
"""The least probability that is drawn, about."""

SCARCE = 0.02
"""Pseudo-counts below which all Gamma variates of a distribution may be smaller than can be written down."""


def log_gammas(alpha: Array, rng: np.random.Generator) -> Array:
    """Return the logs of Gamma variates, which do not underflow: Gamma(α) is Gamma(α + 1) · U^(1/α)."""
    return np.asarray(np.log(rng.standard_gamma(alpha + 1.0)) + np.log1p(-rng.random(alpha.shape)) / alpha)


def gammas(alpha: Array, group: Integers, groups: int, rng: np.random.Generator) -> Array:
    """Return Gamma variates, none of them 0, in each group up to a factor; (..., places).

    ``group`` says which of so many groups each place belongs to; (places,).
    """
    out = rng.standard_gamma(alpha)
    if alpha.min(initial=1.0) < SCARCE:
        logs = log_gammas(alpha, rng)
        rows = logs.size // max(len(group), 1)
        bins = (np.arange(rows)[:, None] * groups + group).ravel()
        top = np.full(rows * groups, -np.inf)
        np.maximum.at(top, bins, logs.ravel())
        out = np.exp(logs - top[bins].reshape(logs.shape))
    return np.asarray(np.maximum(out, TINY))


def dirichlet(alpha: Array, rng: np.random.Generator) -> Array:
    """Return one distribution drawn from Dirichlet(alpha), no probability 0; (k,)."""
    drawn = gammas(alpha, np.zeros(len(alpha), dtype=np.int64), 1, rng)
    return np.asarray(drawn / drawn.sum())
