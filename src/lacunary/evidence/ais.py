"""Annealed importance sampling: an unbiased estimate of the evidence (Neal 2001; BG03 section 4.1).

A chain is led from the prior to the posterior in small steps; the product of the ratios of unnormalised
densities along its way is a weight whose mean is the evidence, however short or badly mixing the chain.

Two kinds of moves. ``"gibbs"`` anneals p(θ) p(x, y | θ)^τ u(x)^(1−τ) over completions x and parameters θ
with exact draws of each given the other; the weights integrate θ out in closed form, so that they do not
vary at all where nothing is hidden. ``"metropolis"`` is BG03's: it anneals p(θ) p(y | θ)^τ by a random walk
on the parameters. `docs/derivations/ais.md` derives both. Continuous and mixed networks have the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from lacunary.errors import ParameterError
from lacunary.evidence.chains import Chains, TableChains, check_positive, lay_out, seeds
from lacunary.evidence.estimate import Estimate
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

EVEN = 0.5
"""Standard deviation of log-weights up to which the log of their mean is near normal."""

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
        whose steps take longer, and twice as many again until weights are even. One chain gives no standard
        error. An interrupted run returns what it has.
    moves
        ``"gibbs"``, exact draws of completions and parameters in turn, or ``"metropolis"``, a random walk on
        the parameters as in BG03, at a pace that a pilot run found to be accepted often enough. The first is
        the default wherever all families are conjugate; others have the second alone.
    schedule
        ``"tuned"``: steps lie where a pilot run found them to be needed; ``"straight"``; a positive number,
        the bend of a schedule that lingers near the prior; or inverse temperatures that rise from 0 to 1.
    stderr
        Grow until the standard error is at most this, from ``steps`` and ``chains`` on: twice the steps,
        anew, while weights are uneven, and twice the chains otherwise.
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
    way = _way(laid, moves, schedule, steps or laid.steps, rng)
    walks, interrupted = _led(problem, way, laid, seeds(rng, chains), theta)
    spent = (len(way.tau) - 1) * chains
    grows = stderr is not None or (steps is None and chains >= ENOUGH)
    budget = budget if stderr is not None else min(budget, LONGEST * chains)
    while grows and not interrupted and not _enough(walks.log_weights, stderr) and 2 * spent <= budget:
        try:
            if len(walks.log_weights) >= ENOUGH and _ess(walks.log_weights) > len(walks.log_weights) / 2:
                more, interrupted = _led(problem, way, laid, seeds(rng, len(walks.log_weights)), theta)
                walks = _both(walks, more)
            else:
                longer = _way(laid, moves, schedule, 2 * (len(way.tau) - 1), rng)
                numbers = seeds(rng, max(len(walks.log_weights), 2 * int(ENOUGH)))
                more, interrupted = _led(problem, longer, laid, numbers, theta)
                if not interrupted:
                    walks, way = more, longer
        except KeyboardInterrupt:
            interrupted = True
        spent += (len(way.tau) - 1) * len(walks.log_weights)
    return _estimate(way, walks, stderr, start is not None, interrupted)


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
    """Return the log of the mean weight and its standard error to first order; None for a single weight."""
    chains = len(log_weights)
    value = float(logsumexp(log_weights) - np.log(chains))
    if chains < 2:
        return value, None
    relative = np.exp(log_weights - value)
    return value, float(relative.std(ddof=1) / np.sqrt(chains))


def _ess(log_weights: Array) -> float:
    return float(np.exp(2 * logsumexp(log_weights) - logsumexp(2 * log_weights)))


def _enough(log_weights: Array, stderr: float | None) -> bool:
    """Tell whether weights are even, and the error as small as is wanted."""
    error = average_weight(log_weights)[1]
    small = stderr is None or (error is not None and error <= stderr)
    if stderr is not None:
        return small and _ess(log_weights) >= ENOUGH
    return bool(log_weights.std(ddof=1) <= EVEN)


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
        note = "; ".join(filter(None, ["it was interrupted, and this is what had been found by then", note]))
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
