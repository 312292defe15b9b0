"""Path sampling, or thermodynamic integration (Gelman & Meng 1998).

With Z_τ = Σ_x ∫ f_τ(x, θ) dθ the tempered family of `lacunary.score.chains`, Z_0 = 1 and Z_1 is the evidence,

    log p(y) = ∫₀¹ E_τ[g_τ(x)] dτ,   g_τ(x) = d/dτ log ∫ f_τ(x, θ) dθ,

the expectation being over draws at inverse temperature τ. Between rungs of a ladder the integral is taken
by the trapezoid rule with its correction for the slope at both ends, which is itself an expectation:
d/dτ E_τ[g] = Var_τ(g) + E_τ[dg/dτ] (Friel, Hurn & Wyse 2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.score.estimate import Estimate
from lacunary.score.gibbs import ladder
from lacunary.score.jackknife import jackknife, too_few
from lacunary.score.problem import Problem

__all__ = ["path"]


def path(
    problem: Problem, *, temperatures: int = 64, draws: int = 32, burn: int = 8, chains: int = 16
) -> Estimate:
    """Estimate the log marginal likelihood by thermodynamic integration.

    Parameters
    ----------
    temperatures, draws, burn
        Rungs between prior and posterior, draws kept at each, and steps to settle there before.
    chains
        Each climbs the ladder once; the standard error comes from their differences (jackknife), and adds
        what half as many rungs would change, as a measure of the integral's own error.

    Notes
    -----
    Unlike `ais` the estimate is biased where chains do not reach equilibrium at some temperature.
    """
    laid, tau, counts = ladder(problem, temperatures, draws, burn, chains)
    # (chains, temperatures, draws)
    slope = np.stack([laid.slope(t, counts[:, k]) for k, t in enumerate(tau)], axis=1)
    curve = np.stack([laid.curvature(t, counts[:, k]) for k, t in enumerate(tau)], axis=1)

    def integral(which: NDArray[np.int64], step: int = 1) -> float:
        rungs = _rungs(len(tau), step)
        mean = slope[which].mean(axis=(0, 2))
        bend = slope[which].var(axis=(0, 2)) + curve[which].mean(axis=(0, 2))
        return _corrected_trapezoid(tau[rungs], mean[rungs], bend[rungs])

    value, sampled = jackknife(integral, chains)
    coarse = abs(value - integral(np.arange(chains), 2)) / 15  # the rule's error falls like step⁴
    error = None if sampled is None else float(np.hypot(sampled, coarse))
    note = too_few(chains)
    details = {
        "tau": tau,
        "slope": slope.mean(axis=(0, 2)),
        "sampling_error": sampled,
        "integration_error": coarse,
        "trustworthy": not note,
        "note": note,
    }
    return Estimate("path", value, "Monte Carlo", {"integral": value}, stderr=error, details=details)


def _rungs(count: int, step: int) -> NDArray[np.int64]:
    """Return every so many rungs, the last among them."""
    return np.unique(np.append(np.arange(0, count, step), count - 1))


def _corrected_trapezoid(
    at: NDArray[np.float64], height: NDArray[np.float64], slope: NDArray[np.float64]
) -> float:
    """Integrate the cubic through heights and slopes: Σ h (a + b)/2 − h² (b′ − a′)/12."""
    width = np.diff(at)
    return float((width * (height[1:] + height[:-1]) / 2 - width**2 * (slope[1:] - slope[:-1]) / 12).sum())
