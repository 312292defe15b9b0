"""The exact marginal likelihood: in closed form without holes, by enumeration with few.

Without holes (CH96 eq. 5, Cooper & Herskovits 1992)

    log p(D) = Σ_ij [log Γ(α_ij) − log Γ(α_ij + N_ij) + Σ_k log Γ(α_ijk + N_ijk) − log Γ(α_ijk)],

and other families add what they say themselves, a regression log Z(T + Σ z zᵀ) − log Z(T) − N_ij/2 · log 2π
in every configuration j (BGe; see `lacunary.maths.regression`). With holes in discrete columns it is the sum
of this over all completions. Rows that are alike are completed together, and partial completions with the
same counts are merged, so that work grows with the number of different counts and not with the number of
completions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from math import comb, prod
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, xlogy

from lacunary.data.table import HOLE
from lacunary.errors import ParameterError, TooWideError
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import Problem
from lacunary.family.leaf import LeafFamily
from lacunary.infer.belief import Belief
from lacunary.infer.completions import complete_statistics
from lacunary.learn.foregone import showing
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.maths.special import log_rising
from lacunary.model.dag import Dag

__all__ = [
    "complete_log_evidence",
    "complete_log_evidences",
    "complete_log_likelihood",
    "exact",
    "family_log_evidence",
]

BUDGET = 200_000
"""Partial completions that are worth trying; each takes about ten microseconds."""

ENUMERATION = "exact evidence by enumeration"


def family_log_evidence(belief: Belief, counts: Array) -> Array:
    """Return each variable's part of the closed form; tied families count with the first of their group."""
    layout = belief.dag.layout
    alpha = belief.alpha[: layout.tables]
    counted = np.asarray(counts[: layout.tables])
    cells = log_rising(alpha, counted)
    out = np.bincount(layout.variable, weights=cells, minlength=len(layout.start)).astype(np.float64)
    totals = -log_rising(layout.total(alpha), layout.total(counted))
    out += np.bincount(layout.variable_of_group, weights=totals, minlength=len(out))
    for i, _ in belief.dag.numeric:
        out[i] = _log_evidence(belief, counts, i)
    return out


def complete_log_evidence(belief: Belief, counts: Array, known: Array | None = None) -> float:
    """Return log p(data without holes) in closed form, from their statistics alone (CH96 eq. 5)."""
    return float(complete_log_evidences(belief, counts, known))


def complete_log_evidences(belief: Belief, counts: Array, known: Array | None = None) -> Array:
    """Return `complete_log_evidence` of each of several statistics; (..., statistics size) → (...).

    Of families whose parameters are ``known``, not NaN, it is the log-likelihood there; (size,).
    """
    layout = belief.dag.layout
    alpha, counted = belief.alpha[: layout.tables], counts[..., : layout.tables]
    if known is not None:
        given = ~np.isnan(known[: layout.tables])
        fit = xlogy(counted[..., given], known[: layout.tables][given]).sum(axis=-1)
        counted = np.where(given, 0.0, counted)  # and no counts are no evidence
    out = log_rising(alpha, counted).sum(axis=-1)
    out -= log_rising(layout.total(alpha), layout.total(counted)).sum(axis=-1)
    if known is not None:
        out += fit
    for i, family in belief.dag.numeric:
        if known is None or np.isnan(known[layout.start[i]]) or not family.conjugate:
            out += _log_evidence(belief, counts, i)
        else:
            out += family.log_likelihood(layout.records(known, i), layout.statistics(counts, i))
    return np.asarray(out)


def complete_log_likelihood(dag: Dag, theta: Array, counts: Array) -> float:
    """Return log p(D′ | θ) of complete data with these statistics: Σ N_ijk log θ_ijk, and other families'."""
    layout = dag.layout
    total = float(xlogy(counts[: layout.tables], theta[: layout.tables]).sum())
    for i, family in dag.numeric:
        total += float(family.log_likelihood(layout.records(theta, i), layout.statistics(counts, i)))
    return total


def _log_evidence(belief: Belief, counts: Array, i: int) -> Array:
    """Return the log evidence of a continuous variable; (..., statistics size) → (...).

    That of a family without conjugate prior is not told by statistics: zero, and added from the rows.
    """
    family, statistics = belief.dag.number(i), belief.dag.layout.statistics(counts, i)
    if not family.conjugate:
        return np.zeros(counts.shape[:-1])
    return np.asarray(family.log_evidence(belief.hyper(i), belief.surplus, statistics).sum(axis=-1))


def exact(problem: Problem, *, budget: int = BUDGET) -> Estimate:
    """Return the exact log marginal likelihood, summing over all completions of the holes.

    Raises `TooWideError` with the number of completions if it would take more than ``budget`` steps.
    Continuous columns must not have holes: what fills them cannot be enumerated.
    """
    _check_enumerable(problem)
    told = sum(_told_by_rows(problem, i, leaf) for i, leaf in problem.dag.leaves if not leaf.conjugate)
    if not (problem.prepared.open_columns & _enumerated(problem)).any():
        counts = problem.prepared.expect(_anywhere(problem)[None]).counts[0]
        value = complete_log_evidence(problem.belief, counts, problem.known) + problem.log_jacobian + told
        return Estimate("exact", value, "exact", {"closed form": value})
    sums = _completions(problem, budget)
    logs = complete_log_evidences(problem.belief, np.array(list(sums)), problem.known)
    value = float(logsumexp(logs + np.array(list(sums.values())))) + problem.log_jacobian + told
    return Estimate(
        "exact", value, "exact", {"sum over completions": value}, details={"different counts": len(sums)}
    )


def _anywhere(problem: Problem) -> Array:
    """Return some parameters: statistics of complete rows are the same at all; (size,)."""
    dag, layout = problem.dag, problem.dag.layout
    theta = layout.normalize(np.ones(layout.size))
    for i, family in dag.leaves:
        layout.records(theta, i)[:] = family.begun(problem.belief.hyper(i))
    return theta


def _enumerated(problem: Problem) -> Booleans:
    """Tell which variables' holes must be filled: those of leaves say nothing; (variables,)."""
    return ~np.array([family.leaf for family in problem.dag.families], dtype=bool)


def _told_by_rows(problem: Problem, i: int, leaf: LeafFamily) -> float:
    """Return the log evidence of a family that only rows tell, in standardised columns."""
    table = problem.table.whole(f"exact evidence of {leaf.name} families")
    certain, possible = showing(problem.dag, table, i)
    if not np.array_equal(certain, possible):
        raise ParameterError(
            f"a parent of {problem.dag.names[i]}, which is {leaf.phrase}, is a hole in a row that shows it: "
            "there is no closed form; use 'bic' or 'draper'"
        )
    x, weights = table.reals[:, i], table.weights
    units = float(weights[~np.isnan(x)].sum() * np.log(problem.scale.spread[i]))
    if problem.fixed and problem.dag.names[i] in problem.fixed:
        known = leaf.point(leaf.read(problem.fixed[problem.dag.names[i]]).reshape(certain.shape[0], -1))
        parts = (
            leaf.log_values(x[rows], at) @ weights[rows] for rows, at in zip(certain, known, strict=True)
        )
        return float(sum(parts)) + units
    return leaf.log_evidence_of(x, weights, certain) + units


def _completions(problem: Problem, budget: int) -> dict[tuple[float, ...], float]:
    """Return the different counts that completions lead to, with the log of how many lead there."""
    codes, reals, weights = problem.rows(ENUMERATION)
    open_rows = np.flatnonzero(_holes(problem, codes).any(axis=1))
    ways = _ways(problem, open_rows)
    if sum(ways) > budget:
        _refuse(problem)
    full = np.setdiff1d(np.arange(len(codes)), open_rows)
    base = complete_statistics(problem.dag, codes[full], reals[full], weights[full])
    sums: dict[tuple[float, ...], float] = {tuple(base): 0.0}
    for row in open_rows[np.argsort(ways)]:
        budget -= len(sums) * _ways(problem, [row])[0]
        if budget < 0:
            _refuse(problem)
        choices = [_indicator(problem, filled, reals[row]) for filled in _fillings(problem, codes[row])]
        grown: dict[tuple[float, ...], float] = {}
        for log_ways, added in _spread(choices, int(weights[row])):
            for counts, before in sums.items():
                key = tuple(np.array(counts) + added)
                grown[key] = np.logaddexp(grown.get(key, -np.inf), before + log_ways)
        sums = grown
    return sums


def _ways(problem: Problem, rows: Sequence[int] | Integers) -> list[int]:
    """Return in how many ways each row, as often as it counts, can be spread over its completions."""
    codes, _, weights = problem.rows(ENUMERATION)
    sizes = problem.dag.schema.sizes
    out = []
    for row in rows:
        weight = weights[row]
        if weight != round(weight):
            raise ParameterError("exact enumeration needs whole weights: half a row has no completions")
        open_sizes = (size for code, size in zip(codes[row], sizes, strict=True) if code == HOLE and size)
        out.append(comb(int(weight) + prod(open_sizes) - 1, int(weight)))
    return out


def _refuse(problem: Problem) -> NoReturn:
    codes, _, weights = problem.rows(ENUMERATION)
    sizes = np.where(_holes(problem, codes), np.array(problem.dag.schema.sizes, dtype=np.float64), 1.0)
    total = float(weights @ np.log10(sizes).sum(axis=1))
    raise TooWideError(
        f"the holes have about 10^{total:.0f} completions, too many to enumerate; "
        "use 'ais' for an unbiased estimate, or 'variational' for a lower bound"
    )


def _holes(problem: Problem, codes: NDArray[np.signedinteger]) -> Booleans:
    """Tell which cells are holes in discrete columns; (rows, variables)."""
    return np.asarray((codes == HOLE) & (np.array(problem.dag.schema.sizes) > 0))


def _check_enumerable(problem: Problem) -> None:
    for i in problem.dag.continuous:
        if problem.prepared.open_columns[i] and not problem.dag.families[i].leaf:
            raise ParameterError(
                f"{problem.dag.names[i]} is continuous and has holes: its completions cannot be enumerated, "
                "and there is no closed form; use 'ais' for an unbiased estimate, or 'variational' for a "
                "lower bound"
            )


def _fillings(problem: Problem, row: NDArray[np.signedinteger]) -> list[NDArray[np.int32]]:
    """Return all complete rows that agree with a row with holes."""
    options = [
        range(size) if code == HOLE and size else [code]
        for code, size in zip(row, problem.dag.schema.sizes, strict=True)
    ]
    return [np.array(full, dtype=np.int32) for full in product(*options)]


def _indicator(problem: Problem, row: NDArray[np.int32], reals: Array) -> Array:
    """Return the statistics of one complete row."""
    return complete_statistics(problem.dag, row[None], reals[None], np.ones(1))


def _spread(choices: list[Array], rows: int) -> Iterator[tuple[float, Array]]:
    """Go over all ways to spread equal rows over their completions: log multinomial, counts added."""
    for chosen in combinations_with_replacement(range(len(choices)), rows):
        often = np.array(list(Counter(chosen).values()), dtype=np.float64)
        added = np.sum([choices[which] for which in chosen], axis=0)
        yield float(gammaln(rows + 1) - gammaln(often + 1).sum()), added
