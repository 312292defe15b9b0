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
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from scipy.special import logsumexp

from lacunary.budget import reserve
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError, TooWideError
from lacunary.evidence.chains import NumericChains, lay_out
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.imputation import Sequence, sequence
from lacunary.evidence.movers import NumericMover, Statistics, WalkMover
from lacunary.evidence.population import Annealed, Mover, State, anneal, finer, schedule
from lacunary.evidence.problem import Problem
from lacunary.evidence.random_walk import Walk, check_walkable
from lacunary.evidence.smc import (
    BEYOND,
    BUDGET,
    ISLANDS,
    LESS,
    MORE,
    MOVES,
    SPREAD,
    SWEEPS,
    imputing,
    numeric_price,
    sampled,
    walk_price,
)
from lacunary.infer.completions import complete_statistics
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array, Integers

__all__ = ["PathTwin", "RowTwin", "Twin", "ends", "sandwich", "twin_of"]

S = TypeVar("S", bound=State)


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


class Twin(Protocol):
    """Rows with the same holes that were drawn from the prior, with the exact draw that is behind them.

    ``price`` is what one move of a particle costs, and ``first`` how many particles an island has at first.
    """

    first: ClassVar[int]

    @property
    def price(self) -> float:
        """What one move of a particle costs, in multiplications."""
        ...

    def run(self, islands: int, particles: int, rng: np.random.Generator) -> tuple[Annealed, Annealed]:
        """Run islands from the prior, and as many that end at exact draws from the posterior."""
        ...


@dataclass(frozen=True, eq=False)
class RowTwin:
    """A twin of tables alone, by sequential imputation; ``chosen`` is which completion each row is."""

    rows: Sequence
    chosen: Integers
    first: ClassVar[int] = 64

    @property
    def price(self) -> float:
        """What one move of a particle costs, in multiplications."""
        return imputing(self.rows).price

    def run(self, islands: int, particles: int, rng: np.random.Generator) -> tuple[Annealed, Annealed]:
        """Run islands from the prior, and as many that end at exact draws from the posterior."""
        exact = self.rows.settled(np.repeat(self.chosen[None], islands, axis=0), SWEEPS, rng)
        return self.rows.run(islands, particles, rng), self.rows.run(islands, particles, rng, exact)


@dataclass(frozen=True, eq=False)
class PathTwin(Generic[S]):
    """A twin of other networks, by annealing from the prior; ``exact`` is the one particle behind it."""

    mover: Mover[S]
    tau: Array
    exact: S
    price: float
    first: ClassVar[int] = 16

    def run(self, islands: int, particles: int, rng: np.random.Generator) -> tuple[Annealed, Annealed]:
        """Run islands from the prior, and as many that end at exact draws from the posterior."""
        exact = self.exact.take(np.zeros(islands, dtype=np.int64))
        self.mover.move(exact, 1.0, MOVES)
        there = anneal(self.mover, self.tau, islands, particles, rng)
        return there, anneal(self.mover, self.tau, islands, particles, rng, ends=exact)


def ends(there: Annealed, back: Annealed) -> tuple[float, float, float]:
    """Return a stochastic lower and upper bound of the log evidence, and the larger of their errors."""
    size, spread = np.log(len(there.log_z)), max(each.log_z.std(ddof=1) for each in (there, back))
    low, high = float(logsumexp(there.log_z) - size), float(size - logsumexp(-back.log_z))
    return low, high, float(spread / np.sqrt(len(there.log_z)))


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
        raise ParameterError(
            "'sandwich' goes through the completions of every row, and some have too many; use 'sampled'"
        )
    open_ = (holes & (np.array(problem.dag.schema.sizes) > 1)).any(axis=1)
    return RowTwin(rows, rows.chosen(full.codes[open_].astype(np.int64), holes[open_]))


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
    mover, exact = NumericMover(laid, rng), Statistics(np.append(state, log_u)[None])
    return PathTwin(mover, finer(schedule(mover, rng), 2), exact, numeric_price(laid))


def _walk_twin(problem: Problem, rng: np.random.Generator) -> Twin:
    """Return the twin of a network with families to which nothing is conjugate."""
    point = Walk(problem).draw(1, rng)
    twin, _ = _drawn(problem, Walk(problem).theta(point)[0], rng)
    walk = Walk(twin)
    mover = WalkMover(walk, rng)
    tau = finer(schedule(mover, rng), 2)
    mover.seeking = False
    return PathTwin(mover, tau, mover.at(point), walk_price(walk))


def _twin_ends(
    problem: Problem, wanted: float, budget: float, islands: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return a lower and an upper bound of a twin's log evidence and their error, as close as is wanted."""
    twin = twin_of(problem, rng)
    price, particles = twin.price, twin.first
    there, back = twin.run(islands, particles, rng)
    spent = (there.steps + back.steps) * price
    while True:
        low, high, error = ends(there, back)
        off, now = max(abs(high - low), error) / wanted, len(there.log_z)
        if off <= 1.0:  # where nothing is missing no step was needed
            return low, high, error
        room = (budget - spent) / ((there.steps + back.steps) * price)
        times = min(float(np.clip(BEYOND * off**2, LESS, MORE)), room)
        if times < LESS:
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
    return float(max((abs(value - v) / max(np.hypot(error, e), 1e-9) for v, e in others), default=0.0))


def _check(problem: Problem) -> None:
    """Refuse models of which no twin can be drawn."""
    if problem.dag.implied:
        check_walkable(problem, "'sandwich'")
    weights = problem.table.whole("a twin").weights
    if np.any(weights != np.round(weights)):
        raise ParameterError(
            "'sandwich' is for rows of whole weight: half a row cannot be drawn; use 'sampled', which needs "
            "no twin"
        )
