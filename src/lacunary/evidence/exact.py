"""The exact marginal likelihood: in closed form without holes, by enumeration with few.

Without holes (CH96 eq. 5, Cooper & Herskovits 1992)

    log p(D) = Σ_ij [log Γ(α_ij) − log Γ(α_ij + N_ij) + Σ_k log Γ(α_ijk + N_ijk) − log Γ(α_ijk)].

With holes it is the sum of this over all completions. Rows that are alike are completed together, and
partial completions with the same counts are merged, so that work grows with the number of different
counts and not with the number of completions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product
from math import comb, prod
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from lacunary.data.table import HOLE
from lacunary.errors import ParameterError, TooWideError
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Belief

__all__ = ["complete_log_evidence", "exact", "family_log_evidence"]

BUDGET = 200_000
"""Partial completions that are worth trying; each takes about ten microseconds."""


def family_log_evidence(belief: Belief, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each variable's part of the closed form; tied families count with the first of their group."""
    layout = belief.dag.layout
    alpha, posterior = belief.alpha, belief.alpha + counts
    cells = gammaln(posterior) - gammaln(alpha)
    out = np.bincount(layout.variable, weights=cells, minlength=len(layout.start))
    totals = gammaln(layout.total(alpha)) - gammaln(layout.total(posterior))
    return np.asarray(out + np.bincount(layout.variable_of_group, weights=totals, minlength=len(out)))


def complete_log_evidence(belief: Belief, counts: NDArray[np.float64]) -> float:
    """Return log p(data without holes) in closed form, from the counts alone (CH96 eq. 5)."""
    return belief.log_normalizer - Belief(belief.dag, belief.alpha + counts).log_normalizer


def exact(problem: Problem, *, budget: int = BUDGET) -> Estimate:
    """Return the exact log marginal likelihood, summing over all completions of the holes.

    Raises `TooWideError` with the number of completions if it would take more than ``budget`` steps.
    """
    packed = problem.prepared.packed
    open_rows = np.flatnonzero((packed.codes == HOLE).any(axis=1))
    if not len(open_rows):
        value = complete_log_evidence(problem.belief, packed.constant)
        return Estimate("exact", value, "exact", {"closed form": value})
    sums = _completions(problem, open_rows, budget)
    counts = np.array(list(sums))
    logs = [
        complete_log_evidence(problem.belief, row) + ways
        for row, ways in zip(counts, sums.values(), strict=True)
    ]
    value = float(logsumexp(logs))
    return Estimate(
        "exact", value, "exact", {"sum over completions": value}, details={"different counts": len(sums)}
    )


def _completions(
    problem: Problem, open_rows: NDArray[np.int64], budget: int
) -> dict[tuple[float, ...], float]:
    """Return the different counts that completions lead to, with the log of how many lead there."""
    packed = problem.prepared.packed
    ways = _ways(problem, open_rows)
    if sum(ways) > budget:
        _refuse(problem)
    base = np.zeros(problem.dag.layout.size)
    for row in np.setdiff1d(np.arange(len(packed.codes)), open_rows):
        base += packed.weights[row] * _indicator(problem, packed.codes[row])
    sums: dict[tuple[float, ...], float] = {tuple(base): 0.0}
    for row in open_rows[np.argsort(ways)]:
        budget -= len(sums) * _ways(problem, [row])[0]
        if budget < 0:
            _refuse(problem)
        choices = [_indicator(problem, full) for full in _fillings(problem, packed.codes[row])]
        grown: dict[tuple[float, ...], float] = {}
        for log_ways, added in _spread(choices, int(packed.weights[row])):
            for counts, before in sums.items():
                key = tuple(np.array(counts) + added)
                grown[key] = np.logaddexp(grown.get(key, -np.inf), before + log_ways)
        sums = grown
    return sums


def _ways(problem: Problem, rows: Sequence[int] | NDArray[np.int64]) -> list[int]:
    """Return in how many ways each row, as often as it counts, can be spread over its completions."""
    packed, sizes = problem.prepared.packed, problem.dag.schema.sizes
    out = []
    for row in rows:
        weight = packed.weights[row]
        if weight != round(weight):
            raise ParameterError("exact enumeration needs whole weights: half a row has no completions")
        open_sizes = (size for code, size in zip(packed.codes[row], sizes, strict=True) if code == HOLE)
        out.append(comb(int(weight) + prod(open_sizes) - 1, int(weight)))
    return out


def _refuse(problem: Problem) -> NoReturn:
    packed = problem.prepared.packed
    sizes = np.where(packed.codes == HOLE, np.array(problem.dag.schema.sizes, dtype=np.float64), 1.0)
    total = float(packed.weights @ np.log10(sizes).sum(axis=1))
    raise TooWideError(
        f"the holes have about 10^{total:.0f} completions, too many to enumerate; "
        "use 'ais' for an unbiased estimate, or 'variational' for a lower bound"
    )


def _fillings(problem: Problem, row: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """Return all complete rows that agree with a row with holes."""
    options = [
        range(size) if code == HOLE else [code]
        for code, size in zip(row, problem.dag.schema.sizes, strict=True)
    ]
    return [np.array(full, dtype=np.int32) for full in product(*options)]


def _indicator(problem: Problem, row: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the counts of one complete row."""
    layout, out = problem.dag.layout, np.zeros(problem.dag.layout.size)
    for members, strides, start in zip(layout.members, layout.strides, layout.start, strict=True):
        out[start + int(row[list(members)] @ np.array(strides))] += 1.0
    return out


def _spread(choices: list[NDArray[np.float64]], rows: int) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Go over all ways to spread equal rows over their completions: log multinomial, counts added."""
    for chosen in combinations_with_replacement(range(len(choices)), rows):
        often = np.array(list(Counter(chosen).values()), dtype=np.float64)
        added = np.sum([choices[which] for which in chosen], axis=0)
        yield float(gammaln(rows + 1) - gammaln(often + 1).sum()), added
