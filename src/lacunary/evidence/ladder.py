"""Path sampling and bridge sampling: the evidence from draws on a ladder of temperatures.

A ladder leads from a base to the posterior; with Z_τ the normaliser of its rung, Z_0 = 1 and Z_1 is the
evidence. The base of tables is a mixture of variational optima in all their labellings, much widened
(`lacunary.evidence.bases`): with pseudo-counts far below one, chains that come from the prior hardly find
the posterior. Graphs with numeric families begin at the prior. For neighbours a and b on a ladder let
l(x) = log f_b(x) − log f_a(x).

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
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from lacunary.errors import ParameterError
from lacunary.evidence.bases import optima
from lacunary.evidence.chains import Chains, NumericChains, TableChains, check_positive, lay_out
from lacunary.evidence.diagnostics import jackknife, mixing_note
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.movers import NumericMover, from_prior
from lacunary.evidence.population import Mover, State, climbing, finer, schedule
from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array, Integers

__all__ = ["Ladder", "bridge", "ladder", "path"]

EVEN = 0.25
"""Nats that chains' own estimates of the log evidence differ by, as a deviation, on a ladder that will do."""

AGREE = 0.4
"""Nats beyond which their error says little; farther off, so that a lucky ladder is not the one believed."""

GROWTH = 4
"""How many times the rungs a ladder has on which chains did not agree."""

LEARNED = 0.25
"""Share of what a variational optimum has learned that the base of a ladder knows, which is wide."""

FEW = 8
"""Rungs below which half of them do not tell the integral's own error."""

Rises = Sequence[tuple[Array, Array]]
"""For each pair of neighbours, l at draws of the lower and of the higher; (chains, draws) each."""


def path(
    problem: Problem, *, temperatures: int | None = None, draws: int = 32, burn: int = 1, chains: int = 16
) -> Estimate:
    """Estimate the log marginal likelihood by thermodynamic integration.

    Parameters
    ----------
    temperatures, draws, burn
        Rungs between base and posterior, by default as many as it takes for the chains to agree; particles
        at each, and steps that each makes there.
    chains
        Islands that climb the ladder once each; the standard error comes from their differences
        (jackknife), and adds a part of what half as many rungs would change, as a measure of the integral's
        own error.

    Returns
    -------
    Estimate
        ``details`` hold the two parts of the error, and ``bounds``: the sums of E_a[l] and of E_b[l] as the
        draws have them, between which the integral lies.
    """
    climbed = _tall_enough(problem, temperatures, 64, draws, burn, chains)
    fine, coarse, first = climbed.rises(), climbed.rises(2), climbed.mover.log_constant
    value, sampled, _ = jackknife(
        lambda which: first + _integral(fine, which, climbed.log_odds()), chains, chains * draws
    )
    halved = first + _integral(coarse, np.arange(chains), climbed.log_odds(2))
    missed = abs(value - halved) / 15  # the error falls like step⁴
    few = (
        f"{len(climbed.tau)} temperatures are too few to tell the error of the integral; take at least {FEW}"
    )
    note = "; ".join(filter(None, [_note(problem, climbed), few if len(climbed.tau) < FEW else ""]))
    details = {
        "freedom": chains - 1,
        "tau": climbed.tau,
        "bounds": tuple(first + sum(float(end.mean()) for end in side) for side in zip(*fine, strict=True)),
        "sampling_error": sampled,
        "integration_error": missed,
        "trustworthy": not note,
        "note": note,
    }
    error = None if sampled is None else float(np.hypot(sampled, missed))
    return Estimate("path", value, "Monte Carlo", {"integral": value}, stderr=error, details=details)


def _integral(rises: Rises, which: Integers, log_odds: Rises | None = None) -> float:
    """Add up (E_a + E_b)/2 − (Var_b − Var_a)/12 over neighbours, from some of the chains."""
    out = 0.0
    for k, (below, above) in enumerate(rises):
        shares = _shares(None if log_odds is None else log_odds[k], which)
        (low, low_var), (high, high_var) = (
            _moments(x[which], share) for x, share in zip((below, above), shares, strict=True)
        )
        out += (low + high) / 2 - (high_var - low_var) / 12
    return out


def _shares(log_odds: tuple[Array, Array] | None, which: Integers) -> tuple[Array, Array]:
    """Return how much each of some chains counts at the lower and the higher neighbour."""
    if log_odds is None:
        even = np.full(len(which), 1.0 / len(which))
        return even, even
    low, high = (np.exp(log[which] - log[which].max()) for log in log_odds)
    return low / low.sum(), high / high.sum()


def _moments(x: Array, share: Array) -> tuple[float, float]:
    """Return mean and variance of draws of chains that count so much each."""
    mean = float(share @ x.mean(axis=1))
    return mean, float(share @ ((x - mean) ** 2).mean(axis=1))


def bridge(
    problem: Problem, *, temperatures: int | None = None, draws: int = 32, burn: int = 4, chains: int = 16
) -> Estimate:
    """Estimate the log marginal likelihood by bridge sampling between neighbouring temperatures.

    ``temperatures``, ``draws``, ``burn`` and ``chains`` are as in `path`.
    """
    climbed = _tall_enough(problem, temperatures, 32, draws, burn, chains)
    rises = climbed.rises()

    log_odds = climbed.log_odds()

    def log_ratios(which: Integers) -> float:
        out = climbed.mover.log_constant
        for (below, above), odds in zip(rises, log_odds, strict=True):
            low, high = (np.repeat(share / draws, draws) for share in _shares(odds, which))
            out += _log_ratio(below[which].ravel(), above[which].ravel(), low, high)
        return out

    value, error, _ = jackknife(log_ratios, chains, chains * draws)
    note = _note(problem, climbed)
    details = {"freedom": chains - 1, "tau": climbed.tau, "trustworthy": not note, "note": note}
    return Estimate("bridge", value, "Monte Carlo", {"log ratios": value}, stderr=error, details=details)


def _log_ratio(below: Array, above: Array, low: Array | None = None, high: Array | None = None) -> float:
    """Return the root of the bridge's equation, given l at draws of the lower and the higher neighbour.

    ``low`` and ``high`` say how much each draw counts; by default all count alike.
    """
    low = np.ones(len(below)) if low is None else low
    high = np.ones(len(above)) if high is None else high
    least = min(below.min(), above.min())
    most = max(below.max(), above.max())
    if most - least < 1e-9:
        return float((least + most) / 2)

    def excess(log_ratio: float) -> float:
        return float(low @ expit(below - log_ratio) - high @ expit(log_ratio - above))

    return float(brentq(excess, least - 1.0, most + 1.0, xtol=1e-10))


@dataclass(frozen=True, eq=False)
class Ladder:
    """Draws at every rung from a base to the posterior.

    Attributes
    ----------
    mover
        The path.
    tau
        How far along it the rungs are; (rungs,).
    states
        What was drawn at each rung: draws of one chain, then those of the next.
    log_z
        What each chain's weights say of log Z at every rung; (chains, rungs).
    interrupted
        Whether a longer one was being climbed.
    """

    mover: Mover[Any]
    tau: Array
    states: Sequence[State]
    log_z: Array
    interrupted: bool = False

    def rises(self, step: int = 1) -> Rises:
        """Return l for neighbours on every so many rungs, the last among them."""
        return [(self._rise(a, a, b), self._rise(b, a, b)) for a, b in self._neighbours(step)]

    @property
    def spread(self) -> float:
        """Standard deviation between chains of what their weights say of the log evidence."""
        return float(self.log_z[:, -1].std(ddof=1)) if len(self.log_z) > 1 else 0.0

    def log_odds(self, step: int = 1) -> Rises:
        """Return log Z of every chain at both neighbours, on every so many rungs; (chains,) each."""
        return [(self.log_z[:, a], self.log_z[:, b]) for a, b in self._neighbours(step)]

    @property
    def counts(self) -> Array:
        """What is known of the draws at the posterior; (chains, draws, size)."""
        counts = self.states[-1].counts
        return np.asarray(counts.reshape(len(self.log_z), -1, counts.shape[-1]))

    def _neighbours(self, step: int) -> list[tuple[int, int]]:
        last = len(self.tau) - 1
        return list(pairwise(sorted({*range(0, last, step), last})))

    def _rise(self, at: int, low: int, high: int) -> Array:
        """Return log f_high − log f_low of the draws at either rung; (chains, draws)."""
        rise = self.mover.rise(float(self.tau[low]), float(self.tau[high]), self.states[at])
        return rise.reshape(len(self.log_z), -1)


def _tall_enough(
    problem: Problem, temperatures: int | None, first: int, draws: int, burn: int, chains: int
) -> Ladder:
    """Return a ladder of so many rungs, or of as many as it takes for the chains to agree.

    If that is interrupted, the last ladder that was climbed to its end.
    """
    rungs, climbed = temperatures or first, None
    while True:
        try:
            problem.say(f"a ladder of {rungs} temperatures")
            climbed = ladder(problem, rungs, draws, burn, chains)
        except KeyboardInterrupt:
            if climbed is None:
                raise
            return replace(climbed, interrupted=True)
        if temperatures is not None or climbed.spread <= EVEN or rungs >= GROWTH * first:
            return climbed
        rungs *= GROWTH


def _note(problem: Problem, climbed: Ladder) -> str:
    """Say why the error is not to be trusted; nothing if it is."""
    notes = []
    if climbed.interrupted:
        notes.append("it was interrupted, and this is what had been found by then")
    if climbed.spread > AGREE:
        notes.append(
            f"what chains' weights say of the evidence differs by {climbed.spread:.2g} nats between them: "
            "take more temperatures, or 'sampled'"
        )
    heights = lay_out(problem).log_tempered(1.0, climbed.counts)
    return "; ".join(filter(None, [mixing_note(problem, heights), *notes]))


def ladder(problem: Problem, temperatures: int, draws: int, burn: int, chains: int) -> Ladder:
    """Draw completions at every rung of a ladder from a base to the posterior.

    Every chain is an island of ``draws`` particles that climbs the ladder once, moving ``burn`` steps at each
    rung after particles were drawn anew by their weights: what is missed by moves that do not mix, weights
    make up for. Rungs lie such that every step leaves weights about as even.
    """
    if temperatures < 2:
        raise ParameterError(f"temperatures must be at least two, base and posterior, not {temperatures}")
    check_positive(draws=draws, chains=chains)
    laid, generator = lay_out(problem), np.random.default_rng(problem.rng)
    laid.check_room(chains, temperatures * draws, ("counts",))
    mover = _mover(problem, laid, generator)
    tau = finer(schedule(mover, generator), steps=temperatures - 1)
    rungs = list(climbing(mover, tau, chains, draws, generator, max(burn, 1), always=True))
    return Ladder(mover, tau, [rung.state for rung in rungs], np.stack([r.log_z for r in rungs], axis=1))


def _mover(problem: Problem, laid: Chains, rng: np.random.Generator) -> Mover[Any]:
    """Return a path to the posterior: from variational optima where there are tables alone."""
    if isinstance(laid, NumericChains):
        return NumericMover(laid, rng)
    assert isinstance(laid, TableChains)
    return optima(problem, rng).mover(laid, LEARNED) or from_prior(laid)
