"""Bridge sampling between neighbours on a ladder from prior to posterior (Bennett 1976; Meng & Wong 1996).

For neighbours a and b of the tempered family, with l(x) = log f_b(x) − log f_a(x) and equally many draws of
each, the optimal bridge makes log r = log Z_b − log Z_a the root of

    Σ_{x ~ a} σ(l(x) − log r) = Σ_{x ~ b} σ(log r − l(x)),   σ(t) = 1 / (1 + exp(−t)).

The evidence is the product of all ratios, because the ladder begins at Z_0 = 1.
"""

from __future__ import annotations

from scipy.optimize import brentq
from scipy.special import expit

from lacunary.evidence.diagnostics import jackknife, mixing_note
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.gibbs import ladder
from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array, Integers

__all__ = ["bridge"]


def bridge(
    problem: Problem, *, temperatures: int = 32, draws: int = 64, burn: int = 8, chains: int = 16
) -> Estimate:
    """Estimate the log marginal likelihood by bridge sampling between neighbouring temperatures.

    Parameters
    ----------
    temperatures, draws, burn
        Rungs between prior and posterior, draws kept at each, and steps to reach equilibrium there.
    chains
        Each climbs the ladder once; the standard error comes from their differences (jackknife).

    Notes
    -----
    Unlike `ais` the estimate is biased where chains do not reach equilibrium at some temperature.
    """
    climbed = ladder(problem, temperatures, draws, burn, chains)
    up = [climbed.rise(k, k, k + 1) for k in range(temperatures - 1)]  # each (chains, draws)
    down = [climbed.rise(k + 1, k, k + 1) for k in range(temperatures - 1)]

    def log_ratios(which: Integers) -> float:
        return sum(_log_ratio(a[which].ravel(), b[which].ravel()) for a, b in zip(up, down, strict=True))

    value, error = jackknife(log_ratios, chains)
    note = mixing_note(problem, climbed.heights())
    details = {"tau": climbed.tau, "trustworthy": not note, "note": note}
    return Estimate("bridge", value, "Monte Carlo", {"log ratios": value}, stderr=error, details=details)


def _log_ratio(below: Array, above: Array) -> float:
    """Return the root of the bridge's equation, given l at draws of the lower and the higher neighbour."""
    least = min(below.min(), above.min())
    most = max(below.max(), above.max())
    if most - least < 1e-9:
        return float((least + most) / 2)

    def excess(log_ratio: float) -> float:
        return float(expit(below - log_ratio).sum() - expit(log_ratio - above).sum())

    return float(brentq(excess, least - 1.0, most + 1.0, xtol=1e-10))
