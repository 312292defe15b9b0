"""Annealed importance sampling: an unbiased estimate of the evidence (Neal 2001; BG03 section 4.1).

A chain is led from the prior to the posterior in small steps; the product of the ratios of unnormalised
densities along its way is a weight whose mean is the evidence, however short or badly mixing the chain.

Two kinds of moves. ``"gibbs"`` anneals p(θ) p(x, y | θ)^τ u(x)^(1−τ) over completions x and parameters θ
with exact draws of each given the other; the weights integrate θ out in closed form, so that they do not
vary at all where nothing is hidden. ``"metropolis"`` is BG03's: it anneals p(θ) p(y | θ)^τ by a random walk
on the parameters. `docs/derivations/ais.md` derives both. Continuous and mixed networks have the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from lacunary.errors import ParameterError
from lacunary.evidence.chains import Chains, TableChains, check_positive, lay_out, seeds
from lacunary.evidence.estimate import INTERRUPTED, Estimate
from lacunary.evidence.problem import Problem
from lacunary.evidence.random_walk import ACCEPTED, random_walk
from lacunary.evidence.schedule import (
    PILOTS,
    bent,
    check_schedule,
    pilot_steps,
    spread_steps,
    straight,
    tuned,
)
from lacunary.infer.network import Network
from lacunary.infer.parallel import threads
from lacunary.infer.walker import Walks
from lacunary.maths.arrays import Array

__all__ = ["ais", "average_weight"]

Moves = Literal["gibbs", "metropolis"]

BUDGET = 2**24
"""Steps of all chains together after which a run that grows gives up."""

ENOUGH = 10.0
"""Effective chains below which a standard error says little."""

EVEN, EASY = 0.35, 0.25
"""Standard deviation of log-weights that is aimed at; that up to which first chains are taken as they are."""

ROUGH = 1.0
"""That up to which the length that leads to another can be told: it falls like one over the root of it."""

LESS, MORE = 1.4, 4.0
"""The least and the most times the length of the chains before."""

SAFE, SMALL = 0.85, 0.6
"""Share of the wanted error that is aimed at; that below which first chains are enough."""

UNEVEN = 0.8
"""Standard deviation of log-weights beyond which their error says little, and the value is too low."""

LONGEST = 2**17
"""Steps of a chain after which one whose length was not given gives up."""

KEPT = 256
"""Points of a trace that are kept."""


@dataclass(frozen=True, eq=False)
class _Way:
    """How chains go: their moves, their schedule, and the pace of proposals along it."""

    moves: Moves
    tau: Array
    pace: Array

    def run(self, laid: Chains, numbers: list[int], start: Array | None) -> Walks:
        """Run a chain for each number."""
        every = max((len(self.tau) - 1) // KEPT, 1)
        if self.moves == "gibbs":
            return laid.walk(self.tau, numbers, start=start, every=every, keep=("trace",))
        return laid.wander(self.tau, numbers, self.pace, start=start, every=every, keep=("trace",))


def ais(
    problem: Problem,
    *,
    steps: int | None = None,
    chains: int = 32,
    moves: Moves | None = None,
    schedule: str | float | ArrayLike = "tuned",
    stderr: float | None = None,
    budget: int = BUDGET,
    start: Network | None = None,
) -> Estimate:
    """Estimate the log marginal likelihood by annealed importance sampling.

    Parameters
    ----------
    steps, chains
        Temperatures that each chain passes, and chains. By default 2048, or 512 with continuous variables,
        whose steps take longer; where their weights are uneven, they tell how many more are needed, and
        others go these. One chain gives no standard error. An interrupted run returns what it has.
    moves
        ``"gibbs"``, exact draws of completions and parameters in turn, or ``"metropolis"``, a random walk on
        the parameters as in BG03, at a pace that a pilot run found to be accepted often enough. The first is
        the default wherever all families are conjugate; others have the second alone.
    schedule
        ``"tuned"``: steps lie where a pilot run found them to be needed; ``"straight"``; a positive number,
        the bend of a schedule that lingers near the prior; or inverse temperatures that rise from 0 to 1.
    stderr
        Grow until the standard error is at most this, from ``steps`` and ``chains`` on: more steps while
        weights are uneven, and as many chains as these then ask for.
    budget
        Steps of all chains after which growing stops.
    start
        Begin every chain at these parameters instead of a draw from the prior, as BG03 did with the true
        ones. This is a diagnostic: the weights are then not unbiased.

    Returns
    -------
    Estimate
        The log of the mean weight. ``details`` hold ``log_weights``, their ``trace`` (chains, points) at
        inverse temperatures ``tau``, ``ess`` (the effective number of chains, (Σw)² / Σw²), ``acceptance``,
        ``steps``, ``chains``, and whether the standard error is ``trustworthy`` with a ``note`` if not.
    """
    check_positive(steps=1 if steps is None else steps, chains=chains, budget=budget)
    if moves not in (None, "gibbs", "metropolis"):
        raise ParameterError(f"moves must be 'gibbs' or 'metropolis', not {moves!r}")
    rng = np.random.default_rng(problem.rng)
    if problem.dag.implied:
        _check_walk(problem, moves, schedule, stderr, start)
        tau, walks = random_walk(problem, steps or TableChains.steps, chains, rng)
        every = max((len(tau) - 1) // KEPT, 1)
        walks = replace(walks, trace=walks.trace[:, every - 1 :: every])
        return _estimate(_Way("metropolis", tau, walks.pace), walks, None, False, False)
    moves, laid = moves or "gibbs", lay_out(problem)
    theta = None if start is None else _theta(problem, start)

    def lead(way: _Way | int, chains: int) -> _Led:
        """Lead so many chains along a way, or along a new one of so many steps."""
        way = way if isinstance(way, _Way) else _way(laid, moves, schedule, way, rng)
        return _Led(way, *_led(problem, way, laid, seeds(rng, chains), theta))

    found = lead(steps or laid.steps, chains)
    if stderr is not None or (steps is None and chains >= ENOUGH):
        budget = budget if stderr is not None else min(budget, LONGEST * chains)
        found = _grown(lead, found, max(chains, 2 * int(ENOUGH)), stderr, budget)
    return _estimate(found.way, found.walks, stderr, start is not None, found.interrupted)


@dataclass(frozen=True, eq=False)
class _Led:
    """Chains that were led along a way, and whether that was interrupted."""

    way: _Way
    walks: Walks
    interrupted: bool

    @property
    def steps(self) -> int:
        """Steps of a chain."""
        return len(self.way.tau) - 1

    @property
    def chains(self) -> int:
        """How many there are."""
        return len(self.walks.log_weights)

    @property
    def spread(self) -> float:
        """Standard deviation of log-weights."""
        return float(self.walks.log_weights.std(ddof=1)) if self.chains > 1 else np.inf

    @property
    def stderr(self) -> float:
        """Of the log of their mean; infinite of a single one."""
        error = average_weight(self.walks.log_weights)[1]
        return np.inf if error is None else error


def _grown(
    lead: Callable[[_Way | int, int], _Led], found: _Led, chains: int, stderr: float | None, budget: float
) -> _Led:
    """Have chains tell how uneven weights are, then lead as long ones and as many as that asks for.

    Those that told it are forgotten: chains that are believed as soon as their weights happen to look even
    have missed the large ones, and value and error are too small. More join the last only where their error
    is not as small as is wanted.
    """
    wanted, spent = np.inf if stderr is None else stderr, float(found.steps * found.chains)
    try:
        last = found.spread <= EASY and found.stderr <= SMALL * wanted
        while not (last or found.interrupted):
            last, uneven = found.spread <= ROUGH, min(found.spread / ROUGH, 1e3)
            many = max(chains, int(np.ceil((min(found.spread, EVEN) / (SAFE * wanted)) ** 2)) if last else 0)
            times = max((found.spread / EVEN) ** 2, 1.0) if last else float(np.clip(uneven**2, LESS, MORE))
            room = (budget - spent) / (found.steps * many)
            if room < min(times, LESS):
                return found
            more = lead(round(min(times, room) * found.steps), many)
            spent += more.steps * more.chains
            found = replace(found, interrupted=True) if more.interrupted else more
        while found.stderr > wanted and not found.interrupted:
            many = int(found.chains * min((found.stderr / (SAFE * wanted)) ** 2 - 1.0, MORE)) + 1
            many = min(many, int((budget - spent) / found.steps))
            if many < 2:
                return found
            more = lead(found.way, many)
            spent += more.steps * more.chains
            found = _Led(found.way, _both(found.walks, more.walks), more.interrupted)
    except KeyboardInterrupt:
        return replace(found, interrupted=True)
    return found


def _led(
    problem: Problem, way: _Way, laid: Chains, numbers: list[int], start: Array | None
) -> tuple[Walks, bool]:
    """Run a chain for each number, and tell whether that was interrupted: then there are fewer."""
    done: Walks | None = None
    few = int(threads()) if isinstance(laid, TableChains) else len(numbers)
    try:
        for k in range(0, len(numbers), few):
            problem.say(f"annealing, {len(way.tau) - 1} steps", k / len(numbers))
            some = way.run(laid, numbers[k : k + few], start)
            done = some if done is None else _both(done, some)
    except KeyboardInterrupt:
        if done is None or len(done.log_weights) < 2:
            raise
        return done, True
    assert done is not None
    return done, False


def _check_walk(
    problem: Problem, moves: Moves | None, schedule: Any, stderr: float | None, start: Network | None
) -> None:
    """Refuse options that a random walk over weights does not have."""
    i, family = problem.dag.implied[0]
    given = {"moves='gibbs'": moves == "gibbs", "stderr": stderr is not None, "start": start is not None}
    given["schedule"] = not (isinstance(schedule, str) and schedule == "tuned")
    for option in (name for name, chosen in given.items() if chosen):
        raise ParameterError(
            f"{option} needs conjugate families, and that of {problem.dag.names[i]} is {family.phrase}; "
            "leave it out"
        )


def average_weight(log_weights: Array) -> tuple[float, float | None]:
    """Return the log of the mean weight and its standard error; None for a single weight.

    Of few weights the large ones that carry mean and error may be missing: the error, to first order that of
    the mean, relative, is at least the one that normal logs of this spread have.
    """
    chains = len(log_weights)
    value = float(logsumexp(log_weights) - np.log(chains))
    if chains < 2:
        return value, None
    relative = float(np.exp(log_weights - value).std(ddof=1))
    normal = float(np.sqrt(np.expm1(min(log_weights.std(ddof=1), 2.0) ** 2)))
    return value, float(max(relative, normal) / np.sqrt(chains))


def _ess(log_weights: Array) -> float:
    return float(np.exp(2 * logsumexp(log_weights) - logsumexp(2 * log_weights)))


def _theta(problem: Problem, start: Network) -> Array:
    if start.dag.layout != problem.dag.layout:
        raise ParameterError("the network to start from does not have the same variables, states and arcs")
    return problem.scale.inward(problem.dag, start.theta)


def _way(
    laid: Chains, moves: Moves, schedule: str | float | ArrayLike, steps: int, rng: np.random.Generator
) -> _Way:
    """Return the schedule, and the pace of proposals if any, found by pilot runs where that is asked for."""
    chosen = None if isinstance(schedule, str) and schedule == "tuned" else _given(schedule, steps)
    if moves == "gibbs":
        return _Way(moves, tuned(laid, steps, rng) if chosen is None else chosen, np.empty(0))
    pilot = bent(4 * pilot_steps(steps))
    first = np.full(len(pilot), 1.0)
    found = laid.wander(pilot, seeds(rng, PILOTS), first, tune=ACCEPTED, keep=("trace",))
    tau = spread_steps(pilot, found.trace, steps) if chosen is None else chosen
    pace = np.exp(np.log(found.pace[:, 1:]).mean(axis=0))
    return _Way(moves, tau, np.interp(tau, pilot[1:], pace))


def _given(schedule: str | float | ArrayLike, steps: int) -> Array:
    if isinstance(schedule, str):
        if schedule != "straight":
            raise ParameterError(f"schedule must be 'tuned', 'straight', a bend or numbers, not {schedule!r}")
        return straight(steps)
    if isinstance(schedule, int | float):
        return bent(steps, schedule)
    return check_schedule(np.asarray(schedule, dtype=np.float64))


def _both(one: Walks, other: Walks) -> Walks:
    return Walks(
        *(np.concatenate([getattr(one, name), getattr(other, name)]) for name in one.__dataclass_fields__)
    )


def _estimate(way: _Way, walks: Walks, asked: float | None, started: bool, interrupted: bool) -> Estimate:
    value, error = average_weight(walks.log_weights)
    steps, chains, ess = len(way.tau) - 1, len(walks.log_weights), _ess(walks.log_weights)
    every = max(steps // KEPT, 1)
    uneven = float(walks.log_weights.std(ddof=1)) if chains > 1 else 0.0
    note = _note(ess, uneven, chains, error, asked, started)
    if interrupted:
        note = "; ".join(filter(None, [INTERRUPTED, note]))
    details: dict[str, Any] = {
        "log_weights": walks.log_weights,
        "trace": walks.trace,
        "tau": way.tau[every::every],
        "ess": ess,
        "steps": steps,
        "chains": chains,
        "moves": way.moves,
        "acceptance": float(walks.acceptance.mean()),
        "freedom": max(chains - 1, 1),
        "interrupted": interrupted,
        "trustworthy": not note,
        "note": note,
    }
    return Estimate("ais", value, "Monte Carlo", {"log mean weight": value}, stderr=error, details=details)


def _note(
    ess: float, uneven: float, chains: int, error: float | None, asked: float | None, started: bool
) -> str:
    """Say why the standard error is not to be trusted; nothing if it is."""
    notes = []
    if started:
        notes.append("chains began at given parameters: a diagnostic, not an unbiased estimate")
    if chains < ENOUGH:
        notes.append(f"{chains} chains are too few to tell the error; take at least {ENOUGH:.0f}")
    elif uneven > UNEVEN:
        notes.append(
            f"the weights of {chains} chains count for {ess:.1f} only, so that the error is itself unsure "
            "and the value probably too low; take more steps"
        )
    if asked is not None and (error is None or error > asked):
        notes.append(f"the standard error asked for, {asked:g}, was not reached within the budget")
    return "; ".join(notes)
