"""The exact marginal likelihood: in closed form without holes, by enumeration with few.

Without holes (CH96 eq. 5, Cooper & Herskovits 1992)

    log p(D) = Σ_ij [log Γ(α_ij) − log Γ(α_ij + N_ij) + Σ_k log Γ(α_ijk + N_ijk) − log Γ(α_ijk)].

With holes it is the sum of this over all completions. Rows that are alike are completed together, and
partial completions with the same counts are merged, so that work grows with the number of different
counts and not with the number of completions.
"""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from lacunary.data.table import HOLE
from lacunary.errors import ParameterError, TooWideError
from lacunary.infer.belief import Belief
from lacunary.score.estimate import Estimate
from lacunary.score.problem import Problem

__all__ = ["complete_log_evidence", "exact", "family_log_evidence"]

BUDGET = 2_000_000
"""Partial completions that are worth trying."""


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
    fixed = np.zeros(problem.dag.layout.size)
    fixed += packed.constant if not len(open_rows) else 0.0
    if not len(open_rows):
        value = complete_log_evidence(problem.belief, fixed)
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
    _check_size(problem, open_rows, budget)
    observed = np.setdiff1d(np.arange(len(packed.codes)), open_rows)
    base = np.zeros(problem.dag.layout.size)
    for row in observed:
        base += packed.weights[row] * _indicator(problem, packed.codes[row])
    sums: dict[tuple[float, ...], float] = {tuple(base): 0.0}
    steps = 0
    for row in open_rows:
        choices = [_indicator(problem, full) for full in _fillings(problem, packed.codes[row])]
        grown: dict[tuple[float, ...], float] = {}
        for ways, added in _spread(choices, int(packed.weights[row])):
            steps += len(sums)
            if steps > budget:
                raise TooWideError(
                    f"exact enumeration took more than the {budget} steps allowed; raise budget="
                )
            for counts, log_ways in sums.items():
                key = tuple(np.array(counts) + added)
                grown[key] = np.logaddexp(grown.get(key, -np.inf), log_ways + ways)
        sums = grown
    return sums


def _check_size(problem: Problem, open_rows: NDArray[np.int64], budget: int) -> None:
    packed = problem.prepared.packed
    weights = packed.weights[open_rows]
    if np.any(weights != np.round(weights)):
        raise ParameterError("exact enumeration needs whole weights: half a row has no completions")
    sizes = np.array(problem.dag.schema.sizes, dtype=np.float64)
    ways = [np.prod(np.where(packed.codes[row] == HOLE, sizes, 1.0)) for row in open_rows]
    one_step = sum(
        comb(int(w) + int(m) - 1, int(w)) if m < 1e6 else m for w, m in zip(weights, ways, strict=True)
    )
    if one_step > budget:
        total = float(np.sum(weights * np.log10(ways)))
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


def _spread(choices: list[NDArray[np.float64]], rows: int) -> list[tuple[float, NDArray[np.float64]]]:
    """Return all ways to spread equal rows over their completions: log multinomial, counts added."""
    out = []

    def place(which: int, left: int, added: NDArray[np.float64], log_ways: float) -> None:
        if which == len(choices) - 1:
            out.append((log_ways - gammaln(left + 1), added + left * choices[which]))
            return
        for here in range(left + 1):
            place(which + 1, left - here, added + here * choices[which], log_ways - gammaln(here + 1))

    place(0, rows, np.zeros_like(choices[0]), float(gammaln(rows + 1)))
    return out
