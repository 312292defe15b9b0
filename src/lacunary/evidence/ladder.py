"""Path sampling and bridge sampling: the evidence from draws on a ladder of temperatures.

A ladder leads from a base to the posterior; with Z_τ the normaliser of its rung, Z_0 = 1 and Z_1 is the
evidence. Of tables every variational optimum, in all its labellings and much widened, has a ladder of its own
(`lacunary.evidence.bases`), which ends at its share of the posterior: Z_1 is then its part of the evidence,
and these add up. With pseudo-counts far below one, chains that come from the prior hardly find the posterior;
but one more ladder begins there, for what lies beside all optima. Graphs with numeric families have it alone.
For neighbours a and b on a ladder let l(x) = log f_b(x) − log f_a(x).

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from lacunary.errors import ParameterError
from lacunary.evidence.bases import optima
from lacunary.evidence.chains import Chains, NumericChains, TableChains, check_positive, lay_out
from lacunary.evidence.diagnostics import jackknife, mixing_note
from lacunary.evidence.estimate import INTERRUPTED, Estimate
from lacunary.evidence.movers import NumericMover, from_prior
from lacunary.evidence.population import Mover, State, climbing, finer, schedule
from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array, Integers

__all__ = ["Ladder", "Ladders", "bridge", "ladders", "path"]

EVEN = 0.25
"""Nats that chains' own estimates of the log evidence differ by, as a deviation, on a ladder that will do."""

AGREE = 0.4
"""Nats beyond which their error says little; farther off, so that a lucky ladder is not the one believed."""

FIRST, GROWTH = 32, 4
"""Rungs of a first ladder; how many times as many the next has if chains did not agree."""

LEARNED = 0.25
"""Share of what a variational optimum has learned that the base of a ladder knows, which is wide."""

FEW = 8
"""Rungs below which half of them do not tell the integral's own error."""

STARTS, OPTIMA = 64, 16
"""Climbs to variational optima, and the most that have a ladder: of one that is missed, so is its part."""

LEAST = 8
"""Particles that each island of a ladder has, however small its share of the base."""

SHORT, MOST = 4, 4
"""Steps of a first schedule for which the moves asked for are meant; the most times as many."""

Part = Callable[[Integers], float]
"""What some chains say of the log of a part of the evidence."""

Rises = Sequence[tuple[Array, Array]]
"""For each pair of neighbours, l at draws of the lower and of the higher; (chains, draws) each."""


def path(
    problem: Problem, *, temperatures: int | None = None, draws: int = 32, burn: int = 4, chains: int = 16
) -> Estimate:
    """Estimate the log marginal likelihood by thermodynamic integration.

    Parameters
    ----------
    temperatures, draws, burn
        Rungs between base and posterior, by default as many as it takes for the chains to agree; particles
        at each, which the variational optima share (with no fewer than 8 for any), and steps that each makes
        there.
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
    climbed = _tall_enough(problem, temperatures, draws, burn, chains)
    value, sampled, _ = jackknife(_added(climbed, _integrals), chains, chains * draws)
    halved = _added(climbed, lambda one: _integrals(one, 2))(np.arange(chains))
    missed = abs(value - halved) / 15  # the error falls like step⁴
    rungs = climbed.tau.shape[1]
    few = f"{rungs} temperatures are too few to tell the error of the integral; take at least {FEW}"
    note = "; ".join(filter(None, [_note(problem, climbed), few if rungs < FEW else ""]))
    details = {
        "freedom": chains - 1,
        "tau": climbed.tau,
        "bounds": tuple(_log_sum(side) for side in zip(*map(_bounds, climbed.parts), strict=True)),
        "sampling_error": sampled,
        "integration_error": missed,
        "interrupted": climbed.interrupted,
        "trustworthy": not note,
        "note": note,
    }
    error = None if sampled is None else float(np.hypot(sampled, missed))
    return Estimate("path", value, "Monte Carlo", {"integral": value}, stderr=error, details=details)


def _added(climbed: Ladders, part: Callable[[Ladder], Part]) -> Part:
    """Return what some chains say of the log evidence: its parts, one of each ladder, added up."""
    parts = [part(one) for one in climbed.parts]
    return lambda which: _log_sum([log_part(which) for log_part in parts])


def _log_sum(logs: Sequence[float]) -> float:
    return float(logsumexp(logs))


def _integrals(one: Ladder, step: int = 1) -> Part:
    """Return the integral along every so many rungs of a ladder, as some chains say."""
    rises, odds, first = one.rises(step), one.log_odds(step), one.mover.log_constant
    return lambda which: first + _integral(rises, which, odds)


def _bounds(one: Ladder) -> tuple[float, ...]:
    """Return the sums of E_a[l] and of E_b[l] as draws have them."""
    sides = zip(*one.rises(), strict=True)
    return tuple(one.mover.log_constant + sum(float(end.mean()) for end in side) for side in sides)


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
    climbed = _tall_enough(problem, temperatures, draws, burn, chains)
    value, error, _ = jackknife(_added(climbed, _log_ratios), chains, chains * draws)
    note = _note(problem, climbed)
    details = {"freedom": chains - 1, "tau": climbed.tau, "interrupted": climbed.interrupted}
    details |= {"trustworthy": not note, "note": note}
    return Estimate("bridge", value, "Monte Carlo", {"log ratios": value}, stderr=error, details=details)


def _log_ratios(one: Ladder) -> Part:
    """Return the sum of log ratios between neighbours on a ladder, as some chains say."""
    pairs = list(zip(one.rises(), one.log_odds(), strict=True))

    def added(which: Integers) -> float:
        out = one.mover.log_constant
        for (below, above), odds in pairs:
            draws = below.shape[1]
            low, high = (np.repeat(share / draws, draws) for share in _shares(odds, which))
            out += _log_ratio(below[which].ravel(), above[which].ravel(), low, high)
        return out

    return added


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
    """Draws at every rung from one base to its part of the posterior.

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
    """

    mover: Mover[Any]
    tau: Array
    states: Sequence[State]
    log_z: Array

    def rises(self, step: int = 1) -> Rises:
        """Return l for neighbours on every so many rungs, the last among them."""
        return [(self._rise(a, a, b), self._rise(b, a, b)) for a, b in self._neighbours(step)]

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


@dataclass(frozen=True, eq=False)
class Ladders:
    """Ladders from bases to their parts of the posterior, all with as many chains and rungs.

    Attributes
    ----------
    parts
        One of each base; what they lead to adds up to the evidence.
    interrupted
        Whether more of them, or longer ones, were being climbed.
    missing
        How many were not climbed to their ends, whose parts are missing.
    """

    parts: Sequence[Ladder]
    interrupted: bool = False
    missing: int = 0

    @property
    def tau(self) -> Array:
        """How far along its path the rungs of each are; (ladders, rungs)."""
        return np.array([one.tau for one in self.parts])

    @property
    def spread(self) -> float:
        """Standard deviation between chains of what their weights say of the log evidence."""
        logs = logsumexp([one.log_z[:, -1] + one.mover.log_constant for one in self.parts], axis=0)
        return float(logs.std(ddof=1)) if len(logs) > 1 else 0.0

    @property
    def counts(self) -> Array:
        """What is known of the draws at the ends, those of all ladders mixed; (chains, draws, size)."""
        counts = [one.counts for one in self.parts]
        place = np.concatenate([(np.arange(c.shape[1]) + 0.5) / c.shape[1] for c in counts])
        return np.asarray(np.concatenate(counts, axis=1)[:, np.argsort(place, kind="stable")])


def _tall_enough(problem: Problem, temperatures: int | None, draws: int, burn: int, chains: int) -> Ladders:
    """Return ladders of so many rungs, or of as many as it takes for the chains to agree.

    If that is interrupted, the last ones that were climbed to their ends, all if possible.
    """
    rungs, climbed = temperatures or FIRST, None
    while True:
        try:
            problem.say(f"a ladder of {rungs} temperatures")
            found = ladders(problem, rungs, draws, burn, chains)
        except KeyboardInterrupt:
            if climbed is None:
                raise
            return replace(climbed, interrupted=True)
        if found.interrupted:
            return replace(climbed or found, interrupted=True)
        climbed = found
        if temperatures is not None or climbed.spread <= EVEN or rungs >= GROWTH * FIRST:
            return climbed
        rungs *= GROWTH


def _note(problem: Problem, climbed: Ladders) -> str:
    """Say why the error is not to be trusted; nothing if it is."""
    notes = []
    if climbed.interrupted:
        notes.append(INTERRUPTED)
    if climbed.missing:
        stand, all_ = len(climbed.parts), len(climbed.parts) + climbed.missing
        notes.append(
            f"{stand} of {all_} ladders stand, and what the others lead to is missing: but for its error it "
            "is a floor"
        )
    if climbed.spread > AGREE:
        notes.append(
            f"what chains' weights say of the evidence differs by {climbed.spread:.2g} nats between them: "
            "take more temperatures, or 'sampled'"
        )
    heights = lay_out(problem).log_tempered(1.0, climbed.counts)
    return "; ".join(filter(None, [mixing_note(problem, heights), *notes]))


def ladders(problem: Problem, temperatures: int, draws: int, burn: int, chains: int) -> Ladders:
    """Draw completions at every rung of ladders from bases to the posterior.

    Every chain is an island of particles on each ladder, which climbs it once, moving ``burn`` steps at each
    rung after particles were drawn anew by their weights: what is missed by moves that do not mix, weights
    make up for. Rungs lie such that every step leaves weights about as even. Particles of different bases do
    not compete: one whose part is small half-way, and great at the end, would have few left by then.
    Interrupted, those that are climbed to their ends are returned, if any is.
    """
    if temperatures < 2:
        raise ParameterError(f"temperatures must be at least two, base and posterior, not {temperatures}")
    check_positive(draws=draws, chains=chains)
    laid, generator = lay_out(problem), np.random.default_rng(problem.rng)
    movers = _movers(problem, laid, generator)
    many = [max(round(share * draws), min(LEAST, draws)) for _, share in movers]
    laid.check_room(chains, temperatures * sum(many), ("counts",))
    parts = list[Ladder]()
    for (mover, _), particles in zip(movers, many, strict=True):
        try:
            problem.say(f"ladder {len(parts) + 1} of {len(movers)}", len(parts) / len(movers))
            first = schedule(mover, generator)
            tau, moves = finer(first, steps=temperatures - 1), max(burn, 1)
            moves *= _times(len(first) - 1) if isinstance(laid, TableChains) else 1
            rungs = list(climbing(mover, tau, chains, particles, generator, moves, always=True))
        except KeyboardInterrupt:
            if not parts:
                raise
            return Ladders(parts, interrupted=True, missing=len(movers) - len(parts))
        log_z = np.stack([rung.log_z for rung in rungs], axis=1)
        parts.append(Ladder(mover, tau, [rung.state for rung in rungs], log_z))
    return Ladders(parts)


def _times(steps: int) -> int:
    """Return how many times the moves a ladder's particles make whose first schedule has so many steps."""
    return min(max(round(steps / SHORT), 1), MOST)


def _movers(problem: Problem, laid: Chains, rng: np.random.Generator) -> list[tuple[Mover[Any], float]]:
    """Return paths to parts of the posterior, and their shares: of tables from optima and the prior."""
    if isinstance(laid, NumericChains):
        return [(NumericMover(laid, rng), 1.0)]
    assert isinstance(laid, TableChains)
    found = optima(problem, rng, STARTS, OPTIMA).with_prior()
    mover = found.mover(laid, LEARNED) or from_prior(laid)
    alone = np.eye(len(mover.weights))
    return [(replace(mover, weights=one), float(w)) for one, w in zip(alone, mover.weights, strict=True)]
