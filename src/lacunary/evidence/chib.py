"""Chib's estimate: the evidence from the posterior's density at one point (Chib 1995).

At any parameters θ*,

    log p(y) = log p(y | θ*) + log p(θ*) − log p(θ* | y),

and the posterior's density is the mean of Dirichlet(θ*; α + N(x)) over Gibbs draws of the completions x
(regressions: `lacunary.evidence.mixed_chib`).
States of a hidden variable may be renamed without changing the posterior, but a chain hardly ever does so
and then sees one of many equal modes; the density is therefore averaged over all renamings of θ* as well
(Neal 1999; Frühwirth-Schnatter 2004), or over some at random where there are too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from math import factorial, log, prod

import numpy as np
from scipy.special import logsumexp

from lacunary.evidence.chains import check_positive, seeds
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.jackknife import jackknife, too_few
from lacunary.evidence.mixed_chains import lay_out
from lacunary.evidence.mixed_chib import (
    check_mirrors,
    log_prior_density,
    log_ratios,
    mixed_point,
    mixed_relabellings,
)
from lacunary.evidence.problem import At, Problem
from lacunary.evidence.schedule import straight
from lacunary.evidence.stuck import stuck
from lacunary.maths.arrays import Integers
from lacunary.model.dag import Dag

__all__ = ["chib", "relabellings", "swaps"]

RELABELLINGS = 5040
"""Renamings that are all tried; with more, so many are drawn."""

MOVABLE = 6
"""Hidden variables whose exchanges are all tried; with more, none are."""

Swap = Mapping[int, int]
"""Which hidden variable takes the place of which."""


def chib(
    problem: Problem,
    *,
    at: At = "map",
    draws: int = 500,
    burn: int = 500,
    chains: int = 16,
    most: int = RELABELLINGS,
) -> Estimate:
    """Estimate the log marginal likelihood from the posterior's density at one point.

    Parameters
    ----------
    at
        θ* is what a Dirichlet posterior with the expected counts at this point has for its mean, and that of
        a regression with the expected moments for its peak.
    draws, burn, chains
        Gibbs draws of each chain, and steps before them, the first half of which anneal. The standard error
        comes from the chains' differences (jackknife).
    most
        Renamings of hidden states that are averaged over.

    Notes
    -----
    Modes other than renamings of one another, of which each chain sees one, are weighted as often as chains
    happened to end in them. `ais` weighs them rightly.
    """
    check_positive(draws=draws, chains=chains, most=most)
    check_mirrors(problem.dag)
    rng, size = np.random.default_rng(problem.rng), problem.dag.layout.statistics_size
    theta = mixed_point(problem, at)
    ramp = straight(max(burn // 2, 1))
    tau = np.concatenate([ramp, np.ones(max(burn - burn // 2, 0) + draws)])
    laid = lay_out(problem)
    drawn = laid.walk(tau, seeds(rng, chains), keep=("counts",)).counts[:, -draws:]
    counts = drawn[..., :size]  # behind which mixed chains have more
    found = mixed_relabellings if problem.dag.continuous else relabellings
    renamed, everything = found(problem, most, rng)
    ordinates = log_ratios(problem.belief, counts, theta[renamed])

    def log_ratio(which: Integers) -> float:
        return float(logsumexp(ordinates[which]) - log(ordinates[which].size))

    ratio, error = jackknife(log_ratio, chains)
    log_prior = log_prior_density(problem.belief, theta)
    terms = {
        "log-likelihood": float(problem.prepared.expect(theta[None]).log_likelihood[0]),
        "log prior density": log_prior,
        "log posterior density": -(log_prior + ratio),
    }
    held = stuck(problem, laid.log_tempered(1.0, drawn))
    notes = [
        too_few(chains),
        held,
        "" if everything else f"only {len(renamed)} renamings at random were tried",
    ]
    note = "; ".join(filter(None, notes))
    details = {"relabellings": len(renamed), "trustworthy": not note, "note": note}
    value = terms["log-likelihood"] - ratio  # of huge densities the difference would be lost
    return Estimate("chib", value, "Monte Carlo", terms, stderr=error, where=at, details=details)


def relabellings(problem: Problem, most: int, rng: np.random.Generator) -> tuple[Integers, bool]:
    """Return renamings that leave the posterior as it is, and whether these are all.

    Each is an order of the parameters, θ[renaming]; (renamings, size). States may change names where a
    variable is hidden in every row, and such variables may change places where the arcs allow it. Renamings
    under which the prior or shared tables would not be the same are left out.
    """
    hidden = np.flatnonzero(~problem.table.facts.shown & (np.array(problem.dag.schema.sizes) > 1)).tolist()
    sizes = [problem.dag.schema.sizes[v] for v in hidden]
    moves = list(swaps(problem.dag, hidden))
    everything = len(moves) * prod(map(factorial, sizes)) <= most
    wanted: Iterable[tuple[Swap, Sequence[Sequence[int]]]]
    if everything:
        wanted = product(moves, product(*(permutations(range(size)) for size in sizes)))
    else:
        wanted = [
            (moves[rng.integers(len(moves))], [rng.permutation(size).tolist() for size in sizes])
            for _ in range(most)
        ]
    alpha = problem.belief.alpha
    orders = (_order(problem.dag, swap, dict(zip(hidden, new, strict=True))) for swap, new in wanted)
    kept = [order for order in orders if order.min() >= 0 and np.array_equal(alpha[order], alpha)]
    return np.array(kept or [np.arange(len(alpha))]), everything


def swaps(dag: Dag, hidden: Sequence[int]) -> Iterator[Swap]:
    """Yield the ways for hidden variables to change places that keep sizes and arcs; the identity first."""
    parents = [frozenset(ps) for ps in dag.parent_indices]
    places = permutations(hidden) if len(hidden) <= MOVABLE else iter([tuple(hidden)])
    for order in places:
        swap = dict(zip(hidden, order, strict=True))
        if all(dag.schema.sizes[a] == dag.schema.sizes[b] for a, b in swap.items()) and all(
            frozenset(swap.get(p, p) for p in ps) == parents[swap.get(i, i)] for i, ps in enumerate(parents)
        ):
            yield swap


def _order(dag: Dag, swap: Swap, rename: Mapping[int, Sequence[int]]) -> Integers:
    """Return where each parameter stands after a renaming; −1 where shared tables would disagree."""
    layout = dag.layout
    order = np.full(layout.size, -1)
    for i, (members, strides, start) in enumerate(
        zip(layout.members, layout.strides, layout.start, strict=True)
    ):
        to = swap.get(i, i)
        reach = dict(zip(layout.members[to], layout.strides[to], strict=True))
        grid = np.indices([layout.sizes[m] for m in members]).reshape(len(members), -1)
        here, there = np.full(grid.shape[1], start), np.full(grid.shape[1], layout.start[to])
        for m, stride, states in zip(members, strides, grid, strict=True):
            here += stride * states
            there += reach[swap.get(m, m)] * np.array(rename.get(m, range(layout.sizes[m])))[states]
        if np.any((order[here] >= 0) & (order[here] != there)):
            return np.full(layout.size, -1)
        order[here] = there
    return order
