"""The evidence from both sides: bidirectional Monte Carlo on a twin, and two samplers on the data.

For rows that were drawn from the model with parameters from its prior, the completions and parameters
behind them are an exact draw from the posterior (Grosse, Ghahramani & Adams 2015). Led backwards from it,
conditional runs give a mean whose log lies above the evidence, as that of forward runs lies below it: a
sandwich, whose gap bounds the errors of both. Of real rows nobody has such a draw. Their twin has as many
rows with the same holes, drawn from the same model and prior; its gap is what error is to be expected of
the sampler, and no bound for the data. What the data themselves tell is whether runs that begin at the
prior and at the variational optima agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from lacunary.data.table import HOLE
from lacunary.errors import ParameterError
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.imputation import Sequence, sequence
from lacunary.evidence.population import Annealed
from lacunary.evidence.problem import Problem
from lacunary.evidence.smc import (
    BEYOND,
    BUDGET,
    ISLANDS,
    LESS,
    MORE,
    SPREAD,
    SWEEPS,
    fractional,
    imputing,
    sampled,
)
from lacunary.infer.network import Network
from lacunary.maths.arrays import Integers

__all__ = ["Twin", "ends", "sandwich", "twin_of"]

FIRST = 64
"""Particles of an island at the first attempt at a twin."""


def sandwich(
    problem: Problem, *, stderr: float = 0.1, budget: float = BUDGET, islands: int = ISLANDS
) -> Estimate:
    """Estimate the log marginal likelihood, with a twin's certified gap as its expected error.

    Parameters
    ----------
    stderr, budget, islands
        As for `sampled`; the twin's gap is narrowed until it is below ``stderr`` or the budget is spent.

    Returns
    -------
    Estimate
        The value of `sampled` on the data. ``details`` hold the twin's ``lower`` and ``upper`` end and its
        ``gap``; ``runs``, what the samplers that begin at the prior and at the variational optima say of
        the data, each with its error; ``apart``, how many standard errors lie between them; and all that
        `sampled` has.
    """
    _check(problem)
    found = sampled(problem, stderr=stderr, budget=budget, islands=islands, both=True)
    rng = np.random.default_rng(problem.rng)
    low, high, error = _twin_ends(problem, stderr, budget, islands, rng)
    details: dict[str, Any] = dict(found.details)
    runs = {details["sampler"]: (found.value, found.stderr or 0.0), **details["others"]}
    details |= {"lower": low, "upper": high, "gap": high - low, "runs": runs, "apart": _apart(runs)}
    details["gap_error"] = error
    wide = f"the twin's gap is {high - low:.2g} ± {error:.2g} nats, {stderr:g} were wanted"
    wide = wide if max(abs(high - low), error) > stderr else ""
    note = "; ".join(filter(None, [details["note"], wide]))
    details |= {"note": note, "trustworthy": not note}
    return replace(found, method="sandwich", details=details)


@dataclass(frozen=True, eq=False)
class Twin:
    """Rows with the same holes that were drawn from the prior, and which completion each of them is."""

    rows: Sequence
    chosen: Integers

    def run(self, islands: int, particles: int, rng: np.random.Generator) -> tuple[Annealed, Annealed]:
        """Run islands from the prior, and as many that end at exact draws from the posterior."""
        exact = self.rows.settled(np.repeat(self.chosen[None], islands, axis=0), SWEEPS, rng)
        return self.rows.run(islands, particles, rng), self.rows.run(islands, particles, rng, exact)


def ends(there: Annealed, back: Annealed) -> tuple[float, float, float]:
    """Return a stochastic lower and upper bound of the log evidence, and the larger of their errors."""
    size, spread = np.log(len(there.log_z)), max(each.log_z.std(ddof=1) for each in (there, back))
    low, high = float(logsumexp(there.log_z) - size), float(size - logsumexp(-back.log_z))
    return low, high, float(spread / np.sqrt(len(there.log_z)))


def twin_of(problem: Problem, rng: np.random.Generator) -> Twin | None:
    """Draw parameters from the prior, and rows from the model; hide what is hidden in the data.

    None where the completions of a row are too many to be gone through.
    """
    theta = problem.belief.draw(rng)
    theta = theta if problem.known is None else np.where(np.isnan(problem.known), theta, problem.known)
    table = problem.table.whole("a twin")
    full = Network(problem.dag, theta).sample(len(table), rng=rng)
    holes = table.codes == HOLE
    codes = np.where(holes, HOLE, full.codes).astype(full.codes.dtype)
    twin = replace(problem, table=replace(full, codes=codes, weights=table.weights), given=None, _points={})
    rows = sequence(twin)
    if rows is None:
        return None
    open_ = (holes & (np.array(problem.dag.schema.sizes) > 1)).any(axis=1)
    often = np.where(open_, table.weights, 0).astype(np.int64)
    return Twin(rows, rows.chosen(np.repeat(full.codes, often, axis=0), np.repeat(holes, often, axis=0)))


def _twin_ends(
    problem: Problem, wanted: float, budget: float, islands: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return a lower and an upper bound of a twin's log evidence and their error, as close as is wanted."""
    twin = twin_of(problem, rng)
    if twin is None:
        raise ParameterError(
            "'sandwich' goes through the completions of every row, and some have too many; use 'sampled'"
        )
    price, particles = imputing(twin.rows).price, FIRST
    there, back = twin.run(islands, particles, rng)
    spent = (there.steps + back.steps) * price
    while True:
        low, high, error = ends(there, back)
        off, now = max(abs(high - low), error) / wanted, len(there.log_z)
        times = float(np.clip(BEYOND * off**2, LESS, MORE))
        cost = (there.steps + back.steps) * price * times
        if off <= 1.0 or spent + cost > budget:
            return low, high, error
        problem.say(f"the twin, {particles} particles on {now} islands", min(spent / budget, 1.0))
        if error * np.sqrt(now) > SPREAD:
            particles = int(times * particles)
            there, back = twin.run(islands, particles, rng)
            spent += (there.steps + back.steps) * price
        else:
            more = twin.run(max(int(now * (times - 1.0)), 2), particles, rng)
            spent += sum(each.steps for each in more) * price
            there, back = there.with_islands(more[0]), back.with_islands(more[1])


def _apart(runs: dict[str, tuple[float, float]]) -> float:
    """Return the most standard errors that lie between two runs; nothing if there is one."""
    (value, error), *others = runs.values()
    return max((abs(value - v) / max(np.hypot(error, e), 1e-9) for v, e in others), default=0.0)


def _check(problem: Problem) -> None:
    """Refuse models of which no twin can be led backwards."""
    why = ""
    if problem.dag.implied or problem.dag.numeric:
        i, family = (problem.dag.implied or problem.dag.numeric)[0]
        why = f"networks of tables, and the family of {problem.dag.names[i]} is {family.phrase}"
    elif fractional(problem):
        why = "rows with holes of whole weight: half a row cannot be drawn"
    if why:
        raise ParameterError(f"'sandwich' is for {why}; use 'sampled', which needs no twin")
