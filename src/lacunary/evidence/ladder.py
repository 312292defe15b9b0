"""Path sampling and bridge sampling: the evidence from draws on a ladder of temperatures.

With Z_τ the normaliser of the tempered family of `lacunary.evidence.chains`, Z_0 = 1 and Z_1 is the evidence.
For neighbours a and b on a ladder from prior to posterior let l(x) = log f_b(x) − log f_a(x).

Path sampling, or thermodynamic integration (Gelman & Meng 1998): along the path f_a^(1−s) f_b^s

    log Z_b − log Z_a = ∫₀¹ E_s[l(x)] ds,   d/ds E_s[l] = Var_s(l).

Means and variances are known at both ends, from the draws there, and the integral is that of the cubic with
these heights and slopes: (E_a + E_b)/2 − (Var_b − Var_a)/12 (as Friel, Hurn & Wyse 2014).

Bridge sampling (Bennett 1976; Meng & Wong 1996): with equally many draws of each, the optimal bridge makes
log r = log Z_b − log Z_a the root of

    Σ_{x ~ a} σ(l(x) − log r) = Σ_{x ~ b} σ(log r − l(x)),   σ(t) = 1 / (1 + exp(−t)).

Parameters are integrated out of f, so that what does not depend on the draws is accounted for exactly. Unlike
`ais` both are biased where chains do not reach equilibrium at some temperature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from lacunary.errors import ParameterError
from lacunary.evidence.chains import Chains, check_positive, lay_out, seeds
from lacunary.evidence.diagnostics import jackknife, mixing_note
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import Problem
from lacunary.evidence.schedule import tuned
from lacunary.maths.arrays import Array, Integers

__all__ = ["Ladder", "bridge", "ladder", "path"]

Rises = Sequence[tuple[Array, Array]]
"""For each pair of neighbours, l at draws of the lower and of the higher; (chains, draws) each."""


def path(
    problem: Problem, *, temperatures: int = 64, draws: int = 32, burn: int = 8, chains: int = 16
) -> Estimate:
    """Estimate the log marginal likelihood by thermodynamic integration.

    Parameters
    ----------
    temperatures, draws, burn
        Rungs between prior and posterior, draws kept at each, and steps to reach equilibrium there.
    chains
        Each climbs the ladder once; the standard error comes from their differences (jackknife), and adds
        a part of what half as many rungs would change, as a measure of the integral's own error.

    Returns
    -------
    Estimate
        ``details`` hold the two parts of the error, and ``bounds``: the sums of E_a[l] and of E_b[l], between
        which the integral lies.
    """
    climbed = ladder(problem, temperatures, draws, burn, chains)
    fine, coarse = climbed.rises(), climbed.rises(2)
    value, sampled = jackknife(lambda which: _integral(fine, which), chains)
    missed = abs(value - _integral(coarse, np.arange(chains))) / 15  # the rule's error falls like step⁴
    note = mixing_note(problem, climbed.heights())
    details = {
        "tau": climbed.tau,
        "bounds": (sum(float(low.mean()) for low, _ in fine), sum(float(high.mean()) for _, high in fine)),
        "sampling_error": sampled,
        "integration_error": missed,
        "trustworthy": not note,
        "note": note,
    }
    error = None if sampled is None else float(np.hypot(sampled, missed))
    return Estimate("path", value, "Monte Carlo", {"integral": value}, stderr=error, details=details)


def _integral(rises: Rises, which: Integers) -> float:
    """Add up (E_a + E_b)/2 − (Var_b − Var_a)/12 over neighbours, from some of the chains."""
    out = 0.0
    for below, above in rises:
        low, high = below[which], above[which]
        out += float((low.mean() + high.mean()) / 2 - (high.var() - low.var()) / 12)
    return out


def bridge(
    problem: Problem, *, temperatures: int = 32, draws: int = 64, burn: int = 8, chains: int = 16
) -> Estimate:
    """Estimate the log marginal likelihood by bridge sampling between neighbouring temperatures.

    ``temperatures``, ``draws``, ``burn`` and ``chains`` are as in `path`.
    """
    climbed = ladder(problem, temperatures, draws, burn, chains)
    rises = climbed.rises()

    def log_ratios(which: Integers) -> float:
        return sum(_log_ratio(a[which].ravel(), b[which].ravel()) for a, b in rises)

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


@dataclass(frozen=True, eq=False)
class Ladder:
    """Draws at every rung from prior to posterior.

    Attributes
    ----------
    laid
        The tempered family.
    tau
        The rungs' inverse temperatures; (rungs,).
    counts
        Counts of the completions drawn; (chains, rungs, draws, size).
    """

    laid: Chains
    tau: Array
    counts: Array

    def rises(self, step: int = 1) -> Rises:
        """Return l for neighbours on every so many rungs, the last among them."""
        last = len(self.tau) - 1
        rungs = sorted({*range(0, last, step), last})
        return [(self._rise(a, a, b), self._rise(b, a, b)) for a, b in pairwise(rungs)]

    def heights(self) -> Array:
        """Return log f of the draws at each rung, at its own temperature; (chains, draws, rungs)."""
        rungs = [self.laid.log_tempered(tau, self.counts[:, at]) for at, tau in enumerate(self.tau)]
        return np.stack(rungs, axis=-1)

    def _rise(self, at: int, low: int, high: int) -> Array:
        """Return log f_high − log f_low of the draws at a rung; (chains, draws)."""
        counts = self.counts[:, at]
        return self.laid.log_tempered(self.tau[high], counts) - self.laid.log_tempered(self.tau[low], counts)


def ladder(problem: Problem, temperatures: int, draws: int, burn: int, chains: int) -> Ladder:
    """Draw completions at every rung of a ladder from prior to posterior.

    Every chain climbs the ladder once; at each rung it leaves ``burn`` steps out and keeps ``draws``.
    Rungs lie close where a pilot run found that much happens.
    """
    if temperatures < 2:
        raise ParameterError(f"temperatures must be at least two, prior and posterior, not {temperatures}")
    check_positive(draws=draws, chains=chains)
    laid, generator = lay_out(problem), np.random.default_rng(problem.rng)
    laid.check_room(chains, temperatures * (burn + draws), ("counts",))
    tau = tuned(laid, temperatures - 1, generator)
    steps = np.concatenate([[0.0], np.repeat(tau, burn + draws)])
    counts = laid.walk(steps, seeds(generator, chains), keep=("counts",)).counts
    return Ladder(laid, tau, counts.reshape(chains, temperatures, burn + draws, -1)[:, :, burn:])
