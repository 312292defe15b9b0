"""Chib's estimate: the evidence from the posterior's density at some points (Chib 1995).

At any parameters θ*,

    log p(y) = log p(y | θ*) + log p(θ*) − log p(θ* | y),

and the posterior's density is the mean, over Gibbs draws of the completions x, of every family's own given x:
Dirichlet(θ*; α + N(x)) for tables, and for the others that of hyperparameters plus statistics, in the
coordinates of `NumericFamily.log_density` and in standardised columns.

The density p̂ that is found is itself one, so that ∫ p (p̂ − p)/p dθ = 0: at a single θ* its error is what it
is, but over points that are draws from the posterior errors cancel to first order. What is left is the
divergence of p̂ from p, by which the mean is too high and which the jackknife takes off. Each chain gives one
point, at which the others tell the density.
States of a hidden variable may be renamed without changing the posterior, but a chain hardly ever does so
and then sees one of many equal modes; the density is therefore averaged over all renamings of θ* as well
(Neal 1999; Frühwirth-Schnatter 2004), or over some at random where there are too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, permutations, product
from math import factorial, log, prod

import numpy as np
from scipy.special import logsumexp

from lacunary.errors import NoEstimateError, TooWideError
from lacunary.evidence.chains import (
    FEWEST,
    NumericChains,
    TableChains,
    check_positive,
    draw_parameters,
    lay_out,
    seeds,
)
from lacunary.evidence.diagnostics import jackknife, mixing_note
from lacunary.evidence.estimate import INTERRUPTED, Estimate
from lacunary.evidence.imputation import sequence
from lacunary.evidence.population import Weights
from lacunary.evidence.problem import Problem
from lacunary.evidence.schedule import straight
from lacunary.family.numeric import NumericFamily
from lacunary.learn.align import Swap, relabelled
from lacunary.maths import special
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.maths.special import log_rising
from lacunary.model.dag import Dag
from lacunary.model.swaps import Swaps

__all__ = ["chib", "relabellings"]

AGREE = 0.4
"""Nats that chains' own estimates of the log evidence may differ by, as a standard deviation."""

FEW = 0.1
"""Nats of the jackknife's correction beyond which what is left of the divergence is not small."""

COMPARED = 2**15
"""Renamed points at most: with many renamings there are fewer points."""

RELABELLINGS = 5040
"""Renamings that are all tried; with more, so many are drawn."""


def chib(
    problem: Problem,
    *,
    draws: int = 500,
    burn: int = 500,
    chains: int = 16,
    most: int = RELABELLINGS,
) -> Estimate:
    """Estimate the log marginal likelihood from the posterior's density at some points.

    Parameters
    ----------
    draws, burn, chains
        Gibbs draws of each chain, and steps before them, the first half of which anneal. The standard error
        comes from the chains' differences (jackknife).
    most
        Renamings of hidden states that are averaged over.

    Notes
    -----
    Modes other than renamings of one another, of which each chain sees one, are weighted as often as chains
    happened to end in them. `ais` weighs them rightly. Interrupted, it returns what the chains say that are
    done, two at least, at the points whose densities are known by then.
    """
    check_positive(draws=draws, chains=chains, most=most)
    _check_mirrors(problem.dag)
    rng, laid = np.random.default_rng(problem.rng), lay_out(problem)
    states, log_z = _posterior(problem, laid, draws, burn, chains, rng)
    renamed, everything = relabellings(problem, most, rng)
    points = _points(problem, states, len(renamed), rng)
    ordinates = _ordinates(problem, states, points, renamed) + log_z
    interrupted = len(states) < chains or states.shape[1] < draws or len(ordinates) < len(points)
    chains, draws, points = len(states), min(draws, states.shape[1]), points[: len(ordinates)]

    def log_ratio(which: Integers) -> float:
        others = [_others(which, k) for k in range(len(points))]
        each = [
            logsumexp(own[some]) - logsumexp(log_z[some]) for own, some in zip(ordinates, others, strict=True)
        ]
        return float(np.mean(each))

    first, error, bias = jackknife(log_ratio, chains, chains * draws // 2)
    ratio = first - bias
    log_prior = float(np.mean([_log_prior_density(problem, theta) for theta in points]))
    terms = {
        "log-likelihood": float(problem.prepared.expect(points).log_likelihood.mean()),
        "log prior density": log_prior,
        "log posterior density": -(log_prior + ratio),
    }
    tried = "" if everything else f"only {len(renamed)} renamings at random were tried"
    mixed = mixing_note(problem, laid.log_tempered(1.0, states))
    few = _few(abs(bias), float(log_z.std(ddof=1)) if chains > 1 else 0.0)
    note = "; ".join(filter(None, [INTERRUPTED if interrupted else "", mixed, few, tried]))
    details = {
        "relabellings": len(renamed),
        "points": len(points),
        "freedom": max(chains - 1, 1),
        "interrupted": interrupted,
        "trustworthy": not note,
        "note": note,
    }
    value = terms["log-likelihood"] - ratio  # of huge densities the difference would be lost
    return Estimate("chib", value, "Monte Carlo", terms, stderr=error, details=details)


def _posterior(
    problem: Problem,
    laid: TableChains | NumericChains,
    draws: int,
    burn: int,
    chains: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return posterior draws of completed rows and what each chain says of log p(y), up to a constant.

    (chains, draws, size) and (chains,). Of tables they come from sequential imputation, whose weights see
    to it that modes are met as often as they should be; chains that anneal and stay count alike. Interrupted,
    there are fewer chains, or draws; with too few to tell an error it ends.
    """
    problem.say("draws from the posterior")
    least = min(chains, 2)
    rows = None if isinstance(laid, NumericChains) else sequence(problem)
    if rows is not None:
        found = rows.run(chains, draws, rng, least=least)
        who = Weights(found.logs, 1.0 + 1e-9).drawn(rng)
        return found.counts[who].reshape(*found.logs.shape, -1), found.log_z
    ramp = straight(max(burn // 2, 1))
    tau = np.concatenate([ramp, np.ones(max(burn - burn // 2, 0) + draws)])
    walks = laid.walk(tau, seeds(rng, chains), keep=("counts",), partly=True)
    states = walks.counts[:, len(tau) - 1 - draws :]
    if len(states) < least or states.shape[1] < min(FEWEST, draws):
        raise KeyboardInterrupt
    return states, np.zeros(len(states))


def _points(problem: Problem, states: Array, renamings: int, rng: np.random.Generator) -> Array:
    """Return θ* from the last draw of each chain, or of some where renamings are many; (points, size)."""
    many, size = max(min(len(states), COMPARED // renamings), 1), problem.dag.layout.statistics_size
    return draw_parameters(problem, states[:many, -1, :size], rng)


def _ordinates(problem: Problem, states: Array, points: Array, renamed: Integers) -> Array:
    """Return each chain's log p(θ | y) − log p(θ) at every point, over all renamings; (points, chains).

    Interrupted, at fewer points, if at any.
    """
    size, draws, found = problem.dag.layout.statistics_size, states.shape[1], list[Array]()
    try:
        for theta in points:
            problem.say("the posterior's density at points", len(found) / len(points))
            logs = _log_ratios(problem, states[..., :size], theta[renamed])
            found.append(logsumexp(logs, axis=(1, 2)))
    except KeyboardInterrupt:
        if not found:
            raise
    return np.array(found) - log(draws * len(renamed))


def _others(which: Integers, own: int) -> Integers:
    """Return chains but for that which a point came from; that one where there is no other."""
    others = which[which != own]
    return others if len(others) else which


def _few(bias: float, spread: float) -> str:
    """Say that few draws, or few chains, carry the density at the points; nothing if many do."""
    if spread > AGREE:
        return f"chains differ by {spread:.2g} nats in what they say of the evidence"
    if bias > FEW:
        return (
            f"few draws carry the density at the points ({bias:.2g} nats were taken off for it), so that the "
            "error is itself unsure; take more draws, or 'sampled'"
        )
    return ""


def _check_mirrors(dag: Dag) -> None:
    """Refuse hidden continuous variables: a chain sees one of their signs and rotations."""
    for variable in dag.schema:
        if variable.hidden and not variable.discrete:
            raise NoEstimateError(
                f"'chib' would have to average over every sign and rotation of {variable.name}, which is "
                "hidden and continuous; use 'ais', 'path' or 'bridge'"
            )


def _learned(problem: Problem) -> tuple[Booleans, list[tuple[int, NumericFamily]]]:
    """Return which entries of tables are not known, and the numeric families that are not; (tables,)."""
    known, layout, numeric = problem.known, problem.dag.layout, problem.dag.numeric
    if known is None:
        return np.ones(layout.tables, dtype=np.bool_), list(numeric)
    return np.isnan(known[: layout.tables]), [(i, f) for i, f in numeric if np.isnan(known[layout.start[i]])]


def _log_prior_density(problem: Problem, theta: Array) -> float:
    """Return log p(θ) of what is learned; (size,)."""
    belief, layout = problem.belief, problem.dag.layout
    free, numeric = _learned(problem)
    alpha = belief.alpha[: layout.tables]
    sums = layout.total(alpha)[np.unique(layout.group[: layout.tables][free])]
    out = special.gammaln(sums).sum() - special.gammaln(alpha[free]).sum()
    out += (alpha[free] - 1.0) @ np.log(theta[: layout.tables][free])
    for i, family in numeric:
        out += family.log_density(layout.records(theta, i), belief.hyper(i), belief.surplus).sum()
    return float(out)


def _log_ratios(problem: Problem, statistics: Array, theta: Array) -> Array:
    """Return log p(θ | completed rows) − log p(θ) for all pairs of rows and θ; (..., renamings)."""
    belief, layout = problem.belief, problem.dag.layout
    free, numeric = _learned(problem)
    alpha, counts = belief.alpha[: layout.tables], np.where(free, statistics[..., : layout.tables], 0.0)
    risen = log_rising(layout.total(alpha), layout.total(counts)).sum(axis=-1)
    risen = risen - log_rising(alpha, counts).sum(axis=-1)
    out = counts[..., free] @ np.log(theta[:, : layout.tables][:, free]).T + risen[..., None]
    for i, family in numeric:
        prior = belief.hyper(i)
        posterior = prior + layout.statistics(statistics, i)
        for k, records in enumerate(layout.records(theta, i)):
            out[..., k] += family.log_density(records, posterior, belief.surplus).sum(axis=-1)
            out[..., k] -= family.log_density(records, prior, belief.surplus).sum(axis=-1)
    return np.asarray(out)


def relabellings(problem: Problem, most: int, rng: np.random.Generator) -> tuple[Integers, bool]:
    """Return renamings that leave the posterior as it is, and whether these are all.

    Each is an order of the parameters, θ[renaming]; (renamings, size). States may change names where a
    variable is hidden in every row, and such variables may change places where the arcs allow it. Renamings
    under which the prior, shared tables or known parameters would not be the same are left out.
    """
    dag, alpha, known = problem.dag, problem.sampled_alpha, problem.known
    hidden = np.flatnonzero(~problem.table.facts.shown & (np.array(dag.schema.sizes) > 1)).tolist()
    sizes = [dag.schema.sizes[v] for v in hidden]
    moves, all_moves = _swaps(dag, most)
    everything = len(moves) * prod(map(factorial, sizes)) <= most
    wanted: Iterable[tuple[Swap, Sequence[Sequence[int]]]]
    if everything:
        wanted = product(moves, product(*(permutations(range(size)) for size in sizes)))
    else:
        wanted = (
            (moves[rng.integers(len(moves))], [rng.permutation(size).tolist() for size in sizes])
            for _ in range(most)
        )
    kept = []
    for swap, new in wanted:
        rename = dict(zip(hidden, new, strict=True))
        order, places = (relabelled(dag, swap, rename, statistics=told) for told in (False, True))
        same = order.min() >= 0 and np.array_equal(alpha[places], alpha)
        if same and (known is None or np.array_equal(known[order], known, equal_nan=True)):
            kept.append(order)
    return np.array(kept or [np.arange(dag.layout.size)]), everything and all_moves


def _swaps(dag: Dag, most: int) -> tuple[list[Swap], bool]:
    """Return the ways for hidden variables to change places, and whether these are all."""
    moving = [v for v, variable in enumerate(dag.schema) if not (variable.hidden and variable.size == 1)]
    try:
        found: list[Swap] = list(islice(Swaps(dag, moving), most + 1))
        return found[:most], len(found) <= most
    except TooWideError:
        return [{}], False
