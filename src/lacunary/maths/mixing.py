"""What chains of draws say: means, and how far they can be trusted.

Split R̂ and the effective sample size follow Gelman et al., *Bayesian Data Analysis*, 3rd edition,
sections 11.4 and 11.5, with the pairwise truncation of Geyer (1992) made monotone as in Vehtari,
Gelman, Simpson, Carpenter & Bürkner, *Rank-normalization, folding, and localization: an improved R̂*
(Bayesian Analysis 2021), section 3.2. Nothing is rank-normalised: it is the mean that is judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from lacunary.errors import ParameterError
from lacunary.maths.arrays import Array

__all__ = ["Mean", "chain_mean", "effective_size", "split_rhat"]

LEAST = 4
"""Draws a chain must have, so that each half has a variance."""

AGREE = 1.05
"""R̂ up to which chains count as having met."""


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of chains of draws, and its diagnosis; each is (size,).

    Attributes
    ----------
    mean
        Over all draws of all chains.
    rhat
        Split R̂: near one where the halves of all chains agree; above 1.01 they do not.
    ess
        How many independent draws would give as exact a mean.
    stderr
        Monte Carlo standard error of the mean: standard deviation / √ess.
    """

    mean: Array
    rhat: Array
    ess: Array
    stderr: Array


def chain_mean(draws: Array) -> Mean:
    """Return the mean of draws of several quantities with R̂ and effective size; (chains, draws, size).

    Where a variable is hidden its states are exchangeable, and a chain may call first what another
    calls second: align such draws before their mean is taken.
    """
    ess = effective_size(draws)
    return Mean(draws.mean(axis=(0, 1)), split_rhat(draws), ess, np.sqrt(draws.var(axis=(0, 1)) / ess))


def split_rhat(draws: Array) -> Array:
    """Return √(pooled variance / variance within) with every chain cut into halves; (size,).

    One for what never varies; infinite for what varies only between chains.
    """
    halves = _split(draws)
    within, pooled = _variances(halves)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(pooled / within)
    return np.where(pooled > 0, ratio, 1.0)


def effective_size(draws: Array) -> Array:
    """Return the effective number of draws for the mean, all chains together; (size,).

    The number of draws itself for what never varies. Never more than S log₁₀ S of S draws: chains that
    swing about the mean may be worth more than independent draws, but not for sure by how much.
    """
    halves = _split(draws)
    chains, length, _ = halves.shape
    count = chains * length
    within, pooled = _variances(halves)
    covariance = _autocovariance(halves).mean(axis=0)  # (length, size)
    varies = pooled > 0
    rho = 1.0 - (within - covariance) / np.where(varies, pooled, 1.0)
    rho[0] = 1.0
    tau = np.maximum(_integrated(rho), 1.0 / np.log10(count))
    return np.where(varies, count / tau, float(count))


def _split(draws: Array) -> Array:
    """Return twice as many chains of half the length; an odd draw in the middle is left out."""
    if draws.ndim != 3 or draws.shape[0] < 1 or draws.shape[1] < LEAST:
        raise ParameterError(f"draws must be (chains, at least {LEAST} draws, size), not {draws.shape}")
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _variances(chains: Array) -> tuple[Array, Array]:
    """Return W, the mean variance within, and var⁺ = (n − 1)/n W + B/n; (size,) each."""
    length = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean(axis=0)
    between = chains.mean(axis=1).var(axis=0, ddof=1)
    return within, (length - 1) / length * within + between


def _autocovariance(chains: Array) -> Array:
    """Return the autocovariance of each chain at every lag, by Fourier transform; (chains, length, size)."""
    length = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    padded = next_fast_len(2 * length, real=True)
    spectrum = rfft(centred, padded, axis=1)
    power = irfft((spectrum * spectrum.conj()).real, padded, axis=1)
    # Divided by n − 1 so that lag zero is the variance that W is the mean of.
    return np.asarray(power[:, :length] / (length - 1))


def _integrated(rho: Array) -> Array:
    """Return τ = −1 + 2 Σ pairs of neighbouring autocorrelations, as long as they are positive and fall."""
    even = len(rho) // 2 * 2
    pairs = rho[0:even:2] + rho[1:even:2]
    positive = np.logical_and.accumulate(pairs > 0, axis=0)
    falling = np.minimum.accumulate(np.where(positive, pairs, np.inf), axis=0)
    return np.asarray(-1.0 + 2.0 * np.where(positive, falling, 0.0).sum(axis=0))
