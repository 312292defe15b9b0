"""Chib's estimate for continuous and mixed networks; see `lacunary.evidence.chib`.

The posterior's density at θ* is the mean over Gibbs draws of the completions x of Dirichlet densities and,
for regressions, of normal–inverse-gamma ones with pseudo-moments T + Σ z zᵀ. Both it and the prior's are
taken in the coordinates (intercept, coefficients / variance, 1 / variance) of standardised columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, permutations, product
from math import factorial, prod

import numpy as np

from lacunary.errors import ParameterError, TooWideError
from lacunary.evidence.problem import At, Problem
from lacunary.infer.belief import Belief
from lacunary.learn.align import permutable, permuted_places, swapped_places
from lacunary.maths import special
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.special import log_rising
from lacunary.model.dag import Dag
from lacunary.model.swaps import Swaps

__all__ = ["check_mirrors", "log_prior_density", "log_ratios", "mixed_point", "mixed_relabellings"]


def check_mirrors(dag: Dag) -> None:
    """Refuse hidden continuous variables: a chain sees one of their signs and rotations."""
    for variable in dag.schema:
        if variable.hidden and not variable.discrete:
            raise ParameterError(
                f"'chib' would have to average over every sign and rotation of {variable.name}, which is "
                "hidden and continuous; use 'ais', 'path' or 'bridge'"
            )


def mixed_point(problem: Problem, at: At) -> Array:
    """Return θ*: of the belief with the expected statistics at a point, tables' means, peaks of others."""
    belief, layout, counts = problem.belief, problem.dag.layout, problem.point(at).counts
    theta = np.empty(layout.size)
    tables = slice(layout.tables)
    theta[tables] = layout.normalize(belief.alpha[tables] + counts[tables])
    for i, family in belief.dag.numeric:
        layout.records(theta, i)[:] = family.peak(
            belief.hyper(i) + layout.statistics(counts, i), belief.surplus
        )
    return theta


def log_prior_density(belief: Belief, theta: Array) -> float:
    """Return log p(θ); (size,)."""
    layout = belief.dag.layout
    alpha = belief.alpha[: layout.tables]
    out = special.gammaln(layout.total(alpha)).sum() - special.gammaln(alpha).sum()
    out += (alpha - 1.0) @ np.log(theta[: layout.tables])
    for i, family in belief.dag.numeric:
        out += family.log_density(layout.records(theta, i), belief.hyper(i), belief.surplus).sum()
    return float(out)


def log_ratios(belief: Belief, statistics: Array, theta: Array) -> Array:
    """Return log p(θ | completed rows) − log p(θ) for all pairs of rows and θ; (..., renamings)."""
    layout = belief.dag.layout
    alpha, counts = belief.alpha[: layout.tables], statistics[..., : layout.tables]
    risen = log_rising(layout.total(alpha), layout.total(counts)).sum(axis=-1)
    risen = risen - log_rising(alpha, counts).sum(axis=-1)
    out = counts @ np.log(theta[:, : layout.tables]).T + risen[..., None]
    for i, family in belief.dag.numeric:
        prior = belief.hyper(i)
        posterior = prior + layout.statistics(statistics, i)
        for k, records in enumerate(layout.records(theta, i)):
            out[..., k] += family.log_density(records, posterior, belief.surplus).sum(axis=-1)
            out[..., k] -= family.log_density(records, prior, belief.surplus).sum(axis=-1)
    return np.asarray(out)


def mixed_relabellings(problem: Problem, most: int, rng: np.random.Generator) -> tuple[Integers, bool]:
    """Return renamings that leave the posterior as it is, θ[renaming], and whether these are all."""
    dag, alpha = problem.dag, problem.belief.alpha
    free, (images, all_images) = permutable(dag), _images(dag, most)
    sizes = [dag.schema.sizes[h] for h in free]
    everything = len(images) * prod(map(factorial, sizes)) <= most
    wanted: Iterable[tuple[dict[int, int], Sequence[Sequence[int]]]]
    if everything:
        wanted = product(images, product(*(permutations(range(size)) for size in sizes)))
    else:
        wanted = (
            (images[rng.integers(len(images))], [rng.permutation(size).tolist() for size in sizes])
            for _ in range(most)
        )
    kept = []
    for image, orders in wanted:
        named = dict(zip(free, orders, strict=True))
        theta, statistics = (_places(dag, image, named, s) for s in (False, True))
        if np.array_equal(alpha[statistics], alpha):
            kept.append(theta)
    return np.array(kept or [np.arange(dag.layout.size)]), everything and all_images


def _images(dag: Dag, most: int) -> tuple[list[dict[int, int]], bool]:
    """Return the ways for hidden variables to change places, and whether these are all."""
    try:
        found = list(islice(Swaps(dag), most + 1))
        return found[:most], len(found) <= most
    except TooWideError:
        return [{v: v for v in range(len(dag.schema))}], False


def _places(dag: Dag, image: dict[int, int], orders: dict[int, Sequence[int]], statistics: bool) -> Integers:
    """Return where each number is found after variables changed places and states their names."""
    places = swapped_places(dag, image, statistics=statistics)
    for h, order in orders.items():
        places = places[permuted_places(dag, h, np.array(order), statistics=statistics)]
    return places
