"""The exact marginal likelihood: in closed form without holes, by enumeration with few.

Without holes (CH96 eq. 5, Cooper & Herskovits 1992)

    log p(D) = Σ_ij [log Γ(α_ij) − log Γ(α_ij + N_ij) + Σ_k log Γ(α_ijk + N_ijk) − log Γ(α_ijk)],

and other families add what they say themselves, a regression log Z(T + Σ z zᵀ) − log Z(T) − N_ij/2 · log 2π
in every configuration j (BGe; see `lacunary.maths.regression`). With holes in discrete columns it is the sum
of this over all completions, gone through as tables of counts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp, xlogy

from lacunary.errors import NoEstimateError, ParameterError
from lacunary.evidence.count_tables import BUDGET, count_tables
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import CERTAIN, Problem
from lacunary.family.leaf import LeafFamily
from lacunary.infer.belief import Belief
from lacunary.infer.network import Network
from lacunary.learn.foregone import showing
from lacunary.maths.arrays import Array, Booleans
from lacunary.maths.special import log_rising
from lacunary.model.dag import Dag

__all__ = [
    "complete_log_evidence",
    "complete_log_evidences",
    "complete_log_likelihood",
    "exact",
    "exact_posterior",
]

MEMBERS = 1000
"""Beliefs that a posterior is made of at most."""


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

    They are summed as tables of counts (`lacunary.evidence.count_tables`); `TooWideError` if these would be
    more than ``budget``. Continuous columns must not have holes above what is observed: these cannot be
    enumerated.
    """
    told = sum(_told_by_rows(problem, i, leaf) for i, leaf in problem.dag.leaves if not leaf.conjugate)
    if not (problem.prepared.open_columns & _enumerated(problem)).any():
        counts = problem.prepared.expect(_anywhere(problem)[None]).counts[0]
        value = complete_log_evidence(problem.belief, counts, problem.known) + problem.log_jacobian + told
        return Estimate("exact", value, "exact", {"closed form": value})
    value, tables = -np.inf, 0
    for counts, ways in count_tables(problem, budget):
        logs = complete_log_evidences(problem.belief, counts, problem.known) + ways
        value, tables = float(np.logaddexp(value, logsumexp(logs))), tables + len(ways)
    value += problem.log_jacobian + told
    return Estimate("exact", value, "exact", {"sum over completions": value}, details={"tables": tables})


def exact_posterior(problem: Problem, most: int = MEMBERS) -> list[tuple[Belief | Network, float]]:
    """Return the posterior of the parameters as beliefs with weights that sum to one.

    Without holes it is one belief, with holes one for each set of counts that completions lead to. Beyond
    ``most`` of them so many are drawn, by systematic sampling with a fixed seed. Predictions of single rows
    are then exact integrals over the parameters, where no row uses a tied table twice. Graphs with families
    that have no conjugate prior have their MAP.
    """
    if not all(family.conjugate for family in problem.dag.families):
        return [(problem.network("map"), 1.0)]
    if not (problem.prepared.open_columns & _enumerated(problem)).any():
        counts, weights = problem.prepared.expect(_anywhere(problem)[None]).counts, np.ones(1)
    else:
        counts, weights = _members(problem, most)
    beliefs = [replace(problem.belief, alpha=_with_known(problem, each)) for each in counts]
    return [
        (problem.scale.believed_outside(belief), float(weight))
        for belief, weight in zip(beliefs, weights, strict=True)
    ]


def _members(problem: Problem, most: int) -> tuple[Array, Array]:
    """Return tables of counts with their posterior probabilities; of more than ``most``, some by chance."""
    passes = [
        complete_log_evidences(problem.belief, counts, problem.known) + ways
        for counts, ways in count_tables(problem, BUDGET)
    ]
    top = float(logsumexp(np.concatenate(passes)))
    everything = sum(map(len, passes)) <= most
    at = (np.random.default_rng(0).random() + np.arange(most)) / most
    before, kept, weights = 0.0, [], []
    for (counts, _), logs in zip(count_tables(problem, BUDGET), passes, strict=True):
        own = np.exp(logs - top)
        reach = before + np.cumsum(own)
        times = np.diff(np.searchsorted(at, [before, *reach]))
        before, chosen = float(reach[-1]), np.flatnonzero(own if everything else times)
        kept.append(counts[chosen])
        weights.append(own[chosen] if everything else times[chosen] / most)
    shares = np.concatenate(weights)
    return np.concatenate(kept), np.asarray(shares / shares.sum())


def _with_known(problem: Problem, counts: Array) -> Array:
    """Return hyperparameters given counts; of known tables so many that they say nothing else."""
    alpha, known, tables = problem.belief.alpha + counts, problem.known, problem.dag.layout.tables
    if known is not None:
        if problem.dag.numeric and not np.isnan(known[tables:]).all():
            raise ParameterError("averages by 'exact' hold tables fixed, no continuous families")
        given = ~np.isnan(known[:tables])
        alpha[:tables][given] = np.maximum(known[:tables][given], 1e-300) * CERTAIN
    return np.asarray(alpha)


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
        raise NoEstimateError(
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
