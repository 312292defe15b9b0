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
from typing import Any, TypeVar

import numpy as np

from lacunary.budget import reserve
from lacunary.data.table import HOLE, Table
from lacunary.errors import NoEstimateError, TooWideError
from lacunary.evidence.chains import NumericChains, lay_out
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.imputation import Sequence, sequence
from lacunary.evidence.movers import NumericMover, Statistics, WalkMover
from lacunary.evidence.population import Annealed, Mover, State
from lacunary.evidence.problem import Problem
from lacunary.evidence.random_walk import Walk, check_walkable
from lacunary.evidence.sampler import BUDGET, ISLANDS, Sampler, double, until
from lacunary.evidence.smc import (
    MOVES,
    SWEEPS,
    annealing,
    imputing,
    numeric_price,
    particles_of,
    sampled,
    walk_price,
)
from lacunary.infer.completions import complete_statistics
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array, Integers

__all__ = ["Twin", "both_ends", "sandwich", "twin_of"]

CLOSE = 0.4
"""Share of the wanted gap that is aimed at as the error of either end: that of the gap is then half of it."""

S = TypeVar("S", bound=State)


def sandwich(
    problem: Problem, *, stderr: float = 0.1, budget: float = BUDGET, islands: int = ISLANDS
) -> Estimate:
    """Estimate the log marginal likelihood, with a twin's certified gap as its expected error.

    Parameters
    ----------
    stderr, budget, islands
        As for `sampled`; the twin's ends are found to such errors that chance alone does not make them
        ``stderr`` apart, unless the budget is spent before.

    Returns
    -------
    Estimate
        The value of `sampled` on the data. ``details`` hold the twin's ``lower`` and ``upper`` end, their
        ``gap`` and its standard error, ``gap_error``; ``runs``, what the samplers that begin at the prior and
        at the variational optima say of the data, each with its error; ``apart``, how many standard errors
        lie between them; and all that `sampled` has. Runs that were more than two standard errors apart
        had their islands ``doubled`` so many times, at most three; so had the twin's ends where they were
        further apart than ``stderr``, ``twin_doubled`` times; ``before`` and
        ``gap_before`` tell what was found until then. An interrupted run returns what it has: where
        the twin's ends were not both reached, there is no gap, and the ``note`` says so.
    """
    _check(problem)
    found = sampled(problem, stderr=stderr, budget=budget, islands=islands, both=True)
    details: dict[str, Any] = dict(found.details)
    runs = {details["sampler"]: (found.value, found.stderr or 0.0), **details["others"]}
    details |= {"runs": runs, "apart": _apart(runs)}
    try:
        if details["interrupted"]:
            raise KeyboardInterrupt  # who wants an end does not want a twin
        ends, said = _ends(problem, stderr, budget, islands)
    except KeyboardInterrupt:
        ends, said = {"interrupted": True}, "it was interrupted before the twin's ends were found"
    note = "; ".join(filter(None, [details["note"], said]))
    details |= {**ends, "note": note, "trustworthy": not note}
    return replace(found, method="sandwich", details=details)


def _ends(problem: Problem, stderr: float, budget: float, islands: int) -> tuple[dict[str, Any], str]:
    """Return the twin's ends and their gap, and what is to be said where that is wide."""
    there, back = both_ends(problem, stderr, budget, islands, np.random.default_rng(problem.rng))
    low, high, error = there.value, back.value, float(np.hypot(there.stderr, back.stderr))
    wide = f"the twin's gap is {high - low:.2g} ± {error:.2g} nats, {stderr:g} were wanted"
    before = (back.before or (high,))[0] - (there.before or (low,))[0]
    ends = {"lower": low, "upper": high, "gap": high - low, "gap_error": error}
    ends |= {"twin_doubled": max(there.doubled, back.doubled), "gap_before": before}
    return ends, wide if max(high - low, error) > stderr else ""


@dataclass(frozen=True, eq=False)
class Twin:
    """Rows with the same holes that were drawn from the prior, as a problem.

    ``there`` leads particles from the prior, ``back`` has one of them end at an exact draw behind the rows.
    """

    problem: Problem
    there: Sampler
    back: Sampler

    @property
    def gap(self) -> float:
        """How far the upper end lies above the lower."""
        return self.back.value - self.there.value


def twin_of(problem: Problem, rng: np.random.Generator) -> Twin:
    """Draw parameters from the prior, and rows from the model; hide what is hidden in the data."""
    if problem.dag.implied:
        return _walk_twin(problem, rng)
    theta = problem.with_known(problem.belief.draw(rng))
    twin, full = _drawn(problem, theta, rng)
    if problem.dag.numeric:
        return _numeric_twin(twin, full, rng)
    rows, holes = sequence(twin), twin.table.whole("a twin").holes
    if rows is None:
        raise NoEstimateError(
            "'sandwich' goes through the completions of every row, and some have too many; use 'sampled'"
        )
    open_ = (holes & (np.array(problem.dag.schema.sizes) > 1)).any(axis=1)
    return _row_twin(twin, rows, rows.chosen(full.codes[open_].astype(np.int64), holes[open_]))


def _row_twin(twin: Problem, rows: Sequence, chosen: Integers) -> Twin:
    """Return the twin of tables alone, by sequential imputation; ``chosen`` is each row's completion."""

    def attempt(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        exact = rows.gibbs(np.repeat(chosen[None], islands, axis=0), SWEEPS, rng)
        return rows.run(islands, particles_of(effort), rng, exact)

    there = imputing(rows)
    return Twin(
        twin, there, replace(there, name="sequential imputation back", attempt=attempt, conditional=True)
    )


def _path_twin(twin: Problem, mover: Mover[S], exact: S, price: float, rng: np.random.Generator) -> Twin:
    """Return the twin of other networks, by annealing; ``exact`` is the one particle behind it."""

    def ends(islands: int, rng: np.random.Generator) -> S:
        state = exact.take(np.zeros(islands, dtype=np.int64))
        mover.move(state, 1.0, MOVES)
        return state

    there = annealing("annealing from the prior", mover, price, rng)
    return Twin(twin, there, annealing("annealing back", mover, price, rng, ends))


def _drawn(problem: Problem, theta: Array, rng: np.random.Generator) -> tuple[Problem, Table]:
    """Return the problem with rows drawn at parameters for standardised columns, and these without holes.

    A row that counts more than once is drawn as often.
    """
    table = problem.table.whole("a twin")
    cells = 16.0 * float(table.weights.sum()) * len(problem.dag.names)
    reserve(
        cells, f"a twin of {table.weights.sum():.0f} rows", "use 'sampled', which needs none", TooWideError
    )
    holes = np.repeat(table.holes, table.weights.astype(np.int64), axis=0)
    network = Network(problem.dag, problem.scale.outward(problem.dag, theta))
    full = network.sample(len(holes), rng=rng)
    codes = np.where(holes, HOLE, full.codes).astype(full.codes.dtype)
    reals = np.where(holes, np.nan, full.reals) if problem.dag.numeric else full.reals
    shown = replace(full, codes=codes, reals=reals)
    return replace(problem, table=shown, given=None, _points={}), full


def _numeric_twin(twin: Problem, full: Table, rng: np.random.Generator) -> Twin:
    """Return the twin of a network with numeric families; its state is made of the rows without holes."""
    laid = lay_out(twin)
    assert isinstance(laid, NumericChains)
    inside, holes = twin.scale.table(full), twin.table.whole("a twin").holes
    leaves = [family.leaf for family in twin.dag.families]
    reals = np.where(holes & leaves, np.nan, inside.reals)  # a leaf's holes say nothing, and are not drawn
    state = complete_statistics(twin.dag, inside.codes, reals, np.ones(len(full)))
    drawn = inside.reals[holes & ~np.array(leaves) & [not v.discrete for v in full.schema]]
    log_u = -laid.completions.log_ways - 0.5 * float((drawn**2 + np.log(2 * np.pi)).sum())
    exact = Statistics(np.append(state, log_u)[None])
    return _path_twin(twin, NumericMover(laid, rng), exact, numeric_price(laid), rng)


def _walk_twin(problem: Problem, rng: np.random.Generator) -> Twin:
    """Return the twin of a network with families to which nothing is conjugate."""
    point = Walk(problem).draw(1, rng)
    twin, _ = _drawn(problem, Walk(problem).theta(point)[0], rng)
    walk = Walk(twin)
    mover = WalkMover(walk, rng)
    return _path_twin(twin, mover, mover.at(point), walk_price(walk), rng)


def both_ends(
    problem: Problem, wanted: float, budget: float, islands: int, rng: np.random.Generator
) -> tuple[Sampler, Sampler]:
    """Return what has found a lower and an upper bound of a twin's log evidence.

    How far apart these are is not looked at until both have the errors that were settled beforehand: ends
    that are taken when they happen to be close are not as close as they look. If they are then further apart
    than is wanted, one way or the other, islands are doubled, and all of them count. Interrupted, ends are
    returned as they are by then, if both are anything.
    """
    twin = twin_of(problem, rng)
    try:
        for way in (twin.there, twin.back):
            problem.say(f"the twin, {way.name}: a first run")
            way.run(islands, 1, rng)
            until(problem, way, islands, CLOSE * wanted, budget / 2, rng)
        double(problem, (twin.there, twin.back), lambda: abs(twin.gap) > wanted, CLOSE * wanted, budget, rng)
    except KeyboardInterrupt:
        if twin.back.found is None:
            raise
    return twin.there, twin.back


def _apart(runs: dict[str, tuple[float, float]]) -> float:
    """Return the most standard errors that lie between two runs; nothing if there is one."""
    (value, error), *others = runs.values()
    return float(max((abs(value - v) / max(np.hypot(error, e), 1e-9) for v, e in others), default=0.0))


def _check(problem: Problem) -> None:
    """Refuse models of which no twin can be drawn."""
    if problem.dag.implied:
        check_walkable(problem, "'sandwich'")
    weights = problem.table.whole("a twin").weights
    if np.any(weights != np.round(weights)):
        raise NoEstimateError(
            "'sandwich' is for rows of whole weight: half a row cannot be drawn; use 'sampled', which needs "
            "no twin"
        )
