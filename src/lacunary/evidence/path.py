"""Path sampling, or thermodynamic integration (Gelman & Meng 1998).

With Z_τ the normaliser of the tempered family of `lacunary.evidence.chains`, Z_0 = 1 and Z_1 is the evidence.
From one rung a of a ladder to the next, b, the path f_a^(1−s) f_b^s leads, along which

    log Z_b − log Z_a = ∫₀¹ E_s[l(x)] ds,   l = log f_b − log f_a,   d/ds E_s[l] = Var_s(l).

Means and variances are known at both ends, from the draws there, and the integral is that of the cubic with
these heights and slopes: (E_a + E_b)/2 − (Var_b − Var_a)/12 (as Friel, Hurn & Wyse 2014). Parameters are
integrated out of f, so that what does not depend on the draws is integrated exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lacunary.evidence.diagnostics import jackknife, mixing_note
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.gibbs import Ladder, ladder
from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array, Integers

__all__ = ["path"]

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

    Notes
    -----
    Unlike `ais` the estimate is biased where chains do not reach equilibrium at some temperature.
    """
    climbed = ladder(problem, temperatures, draws, burn, chains)
    fine, coarse = _rises(climbed, 1), _rises(climbed, 2)
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


def _rises(climbed: Ladder, step: int) -> Rises:
    """Return l for neighbours on every so many rungs, the last among them."""
    last = len(climbed.tau) - 1
    rungs = sorted({*range(0, last, step), last})
    return [(climbed.rise(a, a, b), climbed.rise(b, a, b)) for a, b in pairwise(rungs)]


def _integral(rises: Rises, which: Integers) -> float:
    """Add up (E_a + E_b)/2 − (Var_b − Var_a)/12 over neighbours, from some of the chains."""
    out = 0.0
    for below, above in rises:
        low, high = below[which], above[which]
        out += float((low.mean() + high.mean()) / 2 - (high.var() - low.var()) / 12)
    return out
