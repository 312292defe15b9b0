"""The evidence by sequential Monte Carlo, as long as its error asks for, with a second opinion.

Sequential imputation begins at the prior and lets the rows of tables come in one by one, on islands; each
gives an unbiased estimate, and islands are independent: their spread tells the error, t distributed. The
same with a particle that ends where Gibbs sampling led it from variational optima is a second opinion, run
shorter. Where completions are too many, or rows so many that it is far cheaper, annealing begins at the
variational optima, in all their labellings; where rows are too many to come in at all, at the posterior's
peaks, or, where rows do not tell all parameters, at the posterior of the first thousand. Graphs with numeric
families are annealed from the prior, with runs that end where Gibbs sampling led from the MAP as a second
opinion, and those to which nothing is conjugate by a random walk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from lacunary.errors import NoEstimateError, ParameterError
from lacunary.evidence.arriving import ARRIVED, RowsMover, rows_mover
from lacunary.evidence.bases import Optima, optima
from lacunary.evidence.chains import NumericChains, check_positive, lay_out
from lacunary.evidence.estimate import INTERRUPTED, Estimate
from lacunary.evidence.exact import complete_log_evidences
from lacunary.evidence.hamiltonian import Hamiltonian, Slopes
from lacunary.evidence.imputation import Sequence, sequence
from lacunary.evidence.movers import NumericMover, Statistics, WalkMover, from_prior
from lacunary.evidence.peaks import PeakMover, peak_mover
from lacunary.evidence.population import Annealed, Mover, Weights, anneal, finer, schedule
from lacunary.evidence.problem import Problem
from lacunary.evidence.random_walk import Walk
from lacunary.evidence.sampler import BUDGET, ISLANDS, ROUGH, SPREAD, Sampler, apart, double, fill, until
from lacunary.evidence.share import rounding
from lacunary.infer.walker import Walker
from lacunary.maths.arrays import Array
from lacunary.maths.mixing import split_rhat
from lacunary.maths.psis import pareto_shape
from lacunary.rank.dimension import dimension

__all__ = [
    "LEAST",
    "MOVES",
    "SWEEPS",
    "annealing",
    "fractional",
    "imputing",
    "numeric_price",
    "particles_of",
    "sampled",
    "samplers",
    "walk_price",
]

LEAST = 8
"""Particles of an island at the first attempt."""

APART, DOUBTED = 3.0, 2.0
"""Standard errors that two samplers may be apart; those from which islands of both are doubled."""

SURELY = 3.0
"""Nats that an unbiased estimate is above the evidence in one of twenty cases at most, whatever its error."""

COVERED = 0.9
"""Share of the variational optima, by their bounds, that particles must have been found at."""

FEW = 0.1
"""Share of the particles that carry the mean below which the tail of their weights matters."""

PATIENCE = 0.25
"""Share of the budget after which islands that are still far apart are left, if another sampler's agree."""

CHEAPER = 4.0
"""Times that the first sampler may be dearer than another, which is the more likely to miss something."""

MOVES = 50
"""Moves of all parameters and holes that lead from a fit to a draw from the posterior."""

SWEEPS = 200
"""Sweeps of collapsed Gibbs sampling that lead from a variational optimum to a draw from the posterior."""

FIRST_RUN = 4.0 * ISLANDS * 6 * LEAST
"""Times that all rows come in when sequential imputation is first run, those that are renewed with them."""

DEAR = BUDGET / 32
"""Multiplications of that first run from which rows are too many to come in: it has no room to grow."""

PEAKED = 25.0
"""Curvature along any direction from which a peak is nearly normal: log odds are known to a fifth."""

FLAT = 0.1
"""Curvature along any direction that a path from the peaks needs, if rows tell all parameters."""

PILOTS: dict[type, int] = {WalkMover: 512, RowsMover: 128, PeakMover: 128}
"""Particles of a pilot run, along whose differences a random walk goes, or which tell how far steps go."""

GLANCE = 0.5
"""Effort of a first run from the prior where it is a second opinion."""

FIRST_WALK = 100.0 * (PILOTS[WalkMover] + 2 * ISLANDS * LEAST)
"""Moves of a random walk's pilot and first run, with about a hundred temperatures."""

FIRST_GLIDE = 50.0 * (PILOTS[RowsMover] + 4 * ISLANDS * LEAST)
"""Steps of a pilot and first run that follow slopes from the first rows on."""

URN = 0.3
"""What a multiplication of an urn takes where rows are few, beside one of a sweep."""

STRIDES = 2.0
"""Moves of a random walk that a step which follows slopes is worth, at least."""

WALKED = 100
"""Free parameters up to which many rows that do not tell them all are taken at once, from the prior."""

MIXED = 8
"""Particles of an island from which R̂ says something."""

HEAVY = 0.7
"""Pareto's k̂ beyond which a mean of weights has no error that can be told (Vehtari et al. 2024)."""


def sampled(
    problem: Problem,
    *,
    stderr: float = 0.1,
    budget: float = BUDGET,
    islands: int = ISLANDS,
    both: bool = False,
) -> Estimate:
    """Estimate the log marginal likelihood by sequential Monte Carlo, until its error is small.

    Parameters
    ----------
    stderr
        The standard error that is wanted, in nats.
    budget
        Multiplications after which it is given up, about 5 · 10⁸ a second.
    islands
        Independent runs at least; the error has one degree of freedom less than there are.
    both
        Give the second sampler as much effort as it takes to meet the error, too; where the two are more than
        two standard errors apart, double the islands of both, up to three times.

    Returns
    -------
    Estimate
        ``details`` hold the ``sampler``, the log estimate of every island (``log_z``), ``freedom`` of the t
        distribution of the error, ``others`` (estimate and error of the other sampler), how often its islands
        were ``doubled`` because of that, what both said ``before``, Pareto's k̂ of the weights, split R̂ of
        the islands' posterior heights, ``coverage`` (the share of variational optima, by their bounds, that
        particles were found at), and whether it is ``trustworthy``, with a ``note`` if not. An
        ``interrupted`` run returns what it has.
    """
    check_positive(islands=islands - 1)
    if not stderr > 0.0:
        raise ParameterError(f"stderr must be positive, not {stderr}")
    rng = np.random.default_rng(problem.rng)
    ways, peaks = samplers(problem, rng)
    interrupted = _grow(problem, ways, islands, stderr, budget, both, rng)
    return _estimate(problem, ways, peaks, stderr, interrupted, rng)


def samplers(problem: Problem, rng: np.random.Generator) -> tuple[list[Sampler], Optima | None]:
    """Return the samplers that a problem can have, the first the one to be tried first."""
    if problem.dag.implied or fractional(problem):
        if problem.dag.continuous:
            raise NoEstimateError(
                "'sampled' knows families without conjugate prior, and rows of fractional weight with holes, "
                "in discrete networks only; use 'laplace' or 'variational'"
            )
        return [_walking(problem, rng)], None
    laid = lay_out(problem)
    if isinstance(laid, NumericChains):
        numeric, price = NumericMover(laid, rng), numeric_price(laid)
        back = annealing("annealing back to the fit", numeric, price, rng, _fitted(problem, numeric))
        return [annealing("annealing from the prior", numeric, price, rng), back], None
    peaks, rows = optima(problem, rng), sequence(problem)
    if rows is not None and FIRST_RUN * imputing(rows).price > DEAR:
        many = _of_many_rows(problem, peaks, imputing(rows), rng)
        if many:
            return many, peaks
    mover, price = peaks.mover(laid), _draw_price(problem, laid)
    ways = [] if rows is None else [imputing(rows), _conditional(rows, peaks)]
    if mover is not None:
        ways.append(annealing("annealing from variational optima", mover, price, rng))
    return ways or [annealing("annealing from the prior", from_prior(laid), price, rng)], peaks


def _of_many_rows(problem: Problem, peaks: Optima, rows: Sampler, rng: np.random.Generator) -> list[Sampler]:
    """Return samplers that take all rows at once; none where it costs less to let them come in.

    From the peaks only where rows tell all parameters: elsewhere the posterior has long arms.
    """
    near, mover, walked = peak_mover(peaks, rng), rows_mover(peaks, rng, ARRIVED), _walking(problem, rng)
    there = [] if near is None else [_gliding("annealing from the posterior's peaks", near, near.price, rng)]
    if near is not None and near.flattest > PEAKED:
        return [*there, _gliding("annealing back to the peaks", near, near.price, rng, _walked(near))]
    if mover is None or mover.price > STRIDES * walked.price:
        cheaper = FIRST_WALK * walked.price < FIRST_RUN * rows.price
        return [walked] if cheaper and problem.dag.layout.free <= WALKED else []
    along = _arriving(mover, rng)
    if problem.dag.layout.free > WALKED:
        return []
    if near is not None and near.flattest > FLAT and dimension(problem.dag).rank == problem.dag.layout.free:
        briefly = along.attempt
        along.attempt = lambda islands, effort, rng: briefly(islands, GLANCE * effort, rng)
    else:
        there = []
    glide, one_by_one = FIRST_GLIDE * along.price, FIRST_RUN * rows.price
    if one_by_one < BUDGET / 8:
        return [along, rows] if not there and glide < BUDGET / 3 else [rows, along, *there]
    return [*there, along] if there or glide < one_by_one else []


def _arriving(mover: RowsMover, rng: np.random.Generator) -> Sampler:
    """Return the path of first rows that come in one by one, on islands, and others that arrive together."""
    assert mover.sequence is not None
    tau, rows = list[Array](), URN * imputing(mover.sequence).price / mover.price

    def attempt(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        if not tau:
            tau.append(schedule(mover, rng, PILOTS[RowsMover]))
            mover.seeking = False
        particles = round(2 * LEAST * effort**0.75)
        begun, steps = mover.arrive(islands, particles, rng)
        found = anneal(mover, finer(tau[0], effort**0.25), islands, particles, rng, begun=begun)
        return replace(found, steps=found.steps + round(steps * rows))

    return Sampler("rows that arrive after the first", attempt, mover.price, points=True, prior=True)


def _gliding(
    name: str,
    mover: Hamiltonian,
    price: float,
    rng: np.random.Generator,
    ends: Callable[[int, np.random.Generator], Any] | None = None,
) -> Sampler:
    """Return annealing by Hamiltonian steps."""
    return replace(annealing(name, mover, price, rng, ends), points=True)


def _walking(problem: Problem, rng: np.random.Generator) -> Sampler:
    """Return a random walk on the parameters, from the prior."""
    walk = Walk(problem)
    walked = annealing("random walk from the prior", WalkMover(walk, rng), walk_price(walk), rng)
    return replace(walked, points=True)


def walk_price(walk: Walk) -> float:
    """Return what one move of a random walk costs, in multiplications of an urn: small sweeps cost alike."""
    rows = len(walk.problem.rows("sampling").weights)
    return walk.short * (2000.0 + rows * walk.problem.dag.layout.size / 8)


def numeric_price(laid: NumericChains) -> float:
    """Return what one draw of all parameters and completions costs, in multiplications of an urn."""
    return 64.0 * len(laid.completions.row) * len(laid.problem.dag.names)


def _fitted(problem: Problem, mover: NumericMover) -> Callable[[int, np.random.Generator], Statistics]:
    """Return what makes draws that Gibbs sampling led to the posterior from the MAP."""

    def ends(islands: int, rng: np.random.Generator) -> Statistics:
        state = Statistics(mover.chains.first(islands, problem.point("map").theta, rng))
        mover.move(state, 1.0, MOVES)
        return state

    return ends


def _walked(mover: PeakMover) -> Callable[[int, np.random.Generator], Slopes]:
    """Return what makes draws that Hamiltonian steps led to the posterior from its peaks."""

    def ends(islands: int, rng: np.random.Generator) -> Slopes:
        state = mover.begin(islands, rng)
        mover.move(state, 1.0, MOVES)
        return state

    return ends


def _draw_price(problem: Problem, laid: Walker) -> float:
    """Return what one draw of all parameters and completions costs, in multiplications of an urn."""
    _, _, weights = problem.rows("sampling")
    return 16.0 * laid.work + 64.0 * problem.dag.layout.size + 12.0 * float(np.minimum(weights, 16).sum())


def fractional(problem: Problem) -> bool:
    """Tell whether rows with holes have weights that are not whole."""
    if problem.dag.numeric:
        return False
    codes, _, weights = problem.rows("sampling")
    open_ = (codes < 0).any(axis=1)
    return bool(np.any(weights[open_] != np.round(weights[open_])))


def imputing(rows: Sequence) -> Sampler:
    """Return sequential imputation of rows."""
    price = float((rows.urn.ways * rows.urn.width)[rows.rows].sum()) + 1.0
    return Sampler(
        "sequential imputation from the prior",
        lambda islands, effort, rng: rows.run(islands, particles_of(effort), rng),
        price,
    )


def particles_of(effort: float) -> int:
    """Return how many particles an island of sequential imputation has."""
    return int(6 * LEAST * effort)


def _conditional(rows: Sequence, peaks: Optima) -> Sampler:
    """Return conditional runs that end at draws which collapsed Gibbs sampling led there from the optima."""

    def attempt(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        which = rng.choice(len(peaks.points), islands, p=peaks.weights)
        expected = (peaks.points - peaks.problem.belief.alpha)[which]
        begun = rows.guided(np.maximum(expected, 0.0), rng)
        return rows.run(islands, particles_of(effort), rng, rows.gibbs(begun, SWEEPS, rng))

    return Sampler("sequential imputation from variational optima", attempt, imputing(rows).price, True)


def annealing(
    name: str,
    mover: Mover[Any],
    price: float,
    rng: np.random.Generator,
    ends: Callable[[int, np.random.Generator], Any] | None = None,
) -> Sampler:
    """Return annealing along a path; more effort goes to temperatures and particles alike.

    With ``ends``, which makes a draw from the posterior for each island, runs are conditional.
    """
    tau: list[Array] = []

    def attempt(islands: int, effort: float, rng: np.random.Generator) -> Annealed:
        if not tau:
            tau.append(schedule(mover, rng, PILOTS.get(type(mover), 64)))
            if isinstance(mover, WalkMover | Hamiltonian):
                mover.seeking = False
        more = effort**0.5
        led = None if ends is None else ends(islands, rng)
        return anneal(mover, finer(tau[0], 2 * more), islands, round(LEAST * more), rng, ends=led)

    return Sampler(name, attempt, price, ends is not None)


def _grow(
    problem: Problem,
    ways: list[Sampler],
    islands: int,
    stderr: float,
    budget: float,
    both: bool,
    rng: np.random.Generator,
) -> bool:
    """Run the samplers until the best meets the error; tell whether that was interrupted."""
    try:
        main = _chosen(problem, ways, islands, stderr, budget, rng)
        rough = main.spread > ROUGH and not main.prior  # from the prior nothing is out of reach
        agreed = _agreed(problem, ways, islands, stderr, PATIENCE * budget, rng) if rough else None
        if agreed is None:
            main = _cheapest(ways, main, stderr) if rough else main
            until(problem, main, islands, stderr, budget, rng)
            fill(problem, main, stderr, budget, rng)
        main = agreed or main
        others = [way for way in ways if way is not main]
        second = next((way for way in others if way.prior), others[0] if others else None)
        if second is not None:
            if second.found is None:
                problem.say(f"{second.name}: a second opinion")
                second.run(islands, 1, rng)
            until(problem, second, islands, stderr if both else 2 * stderr, budget / (1 if both else 8), rng)
        if second is not None and both:
            one, other = main, second
            double(problem, (one, other), lambda: apart(one, other) > DOUBTED, stderr, budget, rng)
        ways[:] = [main] if second is None else _fuller(main, second)
    except KeyboardInterrupt:
        if all(way.found is None for way in ways):
            raise
        reached = (way for way in ways if way.found is not None)
        ways[:] = sorted(reached, key=lambda way: (way.conditional, way.stderr))
        return True
    return False


def _agreed(
    problem: Problem,
    ways: list[Sampler],
    islands: int,
    stderr: float,
    budget: float,
    rng: np.random.Generator,
) -> Sampler | None:
    """Return the first sampler from a beginning of its own that meets the error; None where none does.

    Rows that come in one by one settle early on one of several peaks far apart, each island on its own;
    annealing begins at all of them.
    """
    for way in (way for way in ways if not way.conditional):
        if way.found is None:
            problem.say(f"{way.name}: a first run")
            way.run(islands, 1, rng)
        until(problem, way, islands, stderr, budget, rng)
        if way.stderr <= stderr and way.spread <= SPREAD and not _misses(way, ways):
            return way
    return None


def _says_more(second: Sampler, main: Sampler) -> bool:
    """Tell whether another sampler says more, by more than both errors and rounding."""
    slack = APART * np.hypot(main.stderr, second.stderr) + rounding(main.value)
    return bool(second.value - main.value > slack)


def _fuller(main: Sampler, second: Sampler) -> list[Sampler]:
    """Return two samplers, the second first if it says more: what misses some of the posterior is too low."""
    more = _says_more(second, main)
    sure = second.stderr < 1.0 or _misses(main, [second])
    return [second, main] if more and not second.conditional and sure else [main, second]


def _chosen(
    problem: Problem,
    ways: list[Sampler],
    islands: int,
    stderr: float,
    budget: float,
    rng: np.random.Generator,
) -> Sampler:
    """Return the sampler to grow: the first, unless it is too dear for the budget and another far cheaper."""
    first, *others = (way for way in ways if not way.conditional)
    for way in (first, *others):
        problem.say(f"{way.name}: a first run")
        way.run(islands, 1, rng)
        if first.wanted(stderr) * first.next_cost <= budget / 2:
            return first
    return _cheapest(ways, first, stderr)


def _cheapest(ways: list[Sampler], first: Sampler, stderr: float) -> Sampler:
    """Return the sampler that meets an error at least cost, by what has been run of all."""
    begun = [way for way in ways if not way.conditional and way.found is not None]
    return min(
        (way for way in begun if not _misses(way, begun)),
        key=lambda way: way.wanted(stderr) * way.next_cost * (1 if way is first or way.prior else CHEAPER),
    )


def _misses(way: Sampler, ways: list[Sampler]) -> bool:
    """Tell whether another sampler from a beginning of its own says so much more that this one has missed it.

    By Markov's inequality an unbiased estimate is e³ times as large as the evidence in one of twenty cases at
    most, however few of its islands have found what makes it large.
    """
    far = way.value + APART * min(way.stderr, 1.0) + SURELY
    return any(other.found is not None and not other.conditional and other.value > far for other in ways)


def _estimate(
    problem: Problem,
    ways: list[Sampler],
    peaks: Optima | None,
    asked: float,
    interrupted: bool,
    rng: np.random.Generator,
) -> Estimate:
    main, found = ways[0], ways[0].found
    assert found is not None
    bound = float(peaks.bounds[0]) if peaks is not None else -np.inf
    details: dict[str, Any] = {
        "sampler": main.name,
        "log_z": main.log_z,
        "freedom": len(main.log_z) - 1,
        "spread": main.spread,
        "moves": found.steps,
        "others": {way.name: (way.value, way.stderr) for way in ways[1:]},
        "doubled": max(way.doubled for way in ways),
        "before": {way.name: way.before or (way.value, way.stderr) for way in ways},
        "pareto_k": _tail(found),
        "effective": _effective(found),
        "rhat": None if main.points else _rhat(problem, found, rng),
        "coverage": None if main.points else _coverage(peaks, found),
        "interrupted": interrupted,
    }
    note = _note(ways, details, bound, asked, interrupted)
    details |= {"trustworthy": not note, "note": note}
    terms = {"log mean weight": main.value}
    return Estimate("sampled", main.value, "Monte Carlo", terms, stderr=main.stderr, details=details)


def _tail(found: Annealed) -> float:
    """Return the shape of the tail of all particles' weights."""
    return pareto_shape(found.log_z[:, None] + found.logs - logsumexp(found.logs, axis=1, keepdims=True))


def _effective(found: Annealed) -> float:
    """Return the share of all particles that would carry the mean as well, were their weights even."""
    logs = found.log_z[:, None] + found.logs - logsumexp(found.logs, axis=1, keepdims=True)
    return float(np.exp(2 * logsumexp(logs) - logsumexp(2 * logs)) / logs.size)


def _rhat(problem: Problem, found: Annealed, rng: np.random.Generator) -> float | None:
    """Return split R̂ of the log densities of islands' particles; None where particles are no counts."""
    if problem.dag.numeric or found.logs.shape[1] < MIXED:
        return None
    who = Weights(found.logs, 1.0 + 1e-9).drawn(rng)
    heights = complete_log_evidences(problem.belief, found.counts[who], problem.known)
    return float(split_rhat(heights.reshape(*found.logs.shape, 1))[0])


def _coverage(peaks: Optima | None, found: Annealed) -> float | None:
    """Return the share of the variational optima, by their bounds, that particles were found at."""
    if peaks is None or peaks.orders is None:
        return None
    share = np.exp(peaks.bounds - peaks.bounds.max())
    visited = np.unique(peaks.nearest(found.counts))
    return float(share[visited].sum() / share.sum())


def _note(ways: list[Sampler], details: dict[str, Any], bound: float, asked: float, interrupted: bool) -> str:
    """Say why the standard error is not to be trusted; nothing if it is."""
    main, notes = ways[0], []
    if interrupted:
        notes.append(INTERRUPTED)
    if main.stderr > 1.1 * asked or main.spread > 1.6 * SPREAD:
        notes.append(
            f"the standard error asked for, {asked:g}, was not reached within the budget, and the value is "
            "probably too low"
        )
    if details["pareto_k"] > HEAVY and details["effective"] < FEW:
        notes.append(f"few particles carry the mean (Pareto k̂ {details['pareto_k']:.2f})")
    if main.value < bound - 2 * main.stderr - rounding(bound):
        notes.append(f"it lies below the variational bound, {bound:.2f}, and is too low")
    for way in ways[1:]:
        # What misses some of the posterior is too low: another sampler that is lower tells nothing.
        more = _says_more(way, main) and way.stderr < 1.0
        if more or _misses(main, [way]):
            notes.append(f"{way.name} says {way.value:.2f} ± {way.stderr:.2g}, which is more")
    asked_there = any(way.conditional for way in ways[1:])  # a run from the optima has been there
    if not asked_there and details["coverage"] is not None and details["coverage"] < COVERED:
        notes.append(
            f"variational optima worth {1 - details['coverage']:.0%} of their bounds were not visited"
        )
    return "; ".join(notes)
