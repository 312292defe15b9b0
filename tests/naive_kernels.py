"""Slow and obvious: what kernels do, in plain Python, a number at a time.

Nothing here is fast, and nothing here knows how a kernel does it: counts go row by row, scores come from
their definition, graphs are searched from scratch, and rows are laid out by trying every completion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import multigammaln

from lacunary.infer.pack import Chunk, Packed
from tests.naive_structure import acyclic

Array = NDArray[np.float64]


# Counts and scores of families --------------------------------------------------------------------------


def count_beside(
    codes: NDArray[np.int32], place: Sequence[int], weights: Array, sizes: Sequence[int]
) -> Array:
    """Weight of the rows at each place that have each state of each variable; (places, Σ states)."""
    first = np.cumsum([0, *sizes])
    out = np.zeros((max(place) + 1, int(first[-1])))
    for row, height, weight in zip(codes.tolist(), place, weights.tolist(), strict=True):
        for j, state in enumerate(row):
            out[height, first[j] + state] += weight
    return out


def bd_term(table: Array, alpha: float) -> float:
    """Σ_j [log Γ(α_j) − log Γ(α_j + N_j) + Σ_k log Γ(α + N_jk) − log Γ(α)]; (configurations, states)."""
    total = 0.0
    for cells in table.tolist():
        whole = alpha * len(cells)
        total += math.lgamma(whole) - math.lgamma(whole + math.fsum(cells))
        total += math.fsum(math.lgamma(alpha + n) - math.lgamma(alpha) for n in cells)
    return total


def likelihood_term(table: Array) -> float:
    """Σ N_jk log(N_jk / N_j); (configurations, states)."""
    return math.fsum(n * math.log(n / math.fsum(cells)) for cells in table.tolist() for n in cells if n > 0)


# Graphs -------------------------------------------------------------------------------------------------


def parents_of(arcs: NDArray[np.bool_]) -> list[list[int]]:
    """The parents of each node, from i → j at (i, j)."""
    return [np.flatnonzero(arcs[:, j]).tolist() for j in range(len(arcs))]


def allowed(
    arcs: NDArray[np.bool_], free: NDArray[np.bool_], required: NDArray[np.bool_], most: int
) -> Iterator[tuple[int, int, int]]:
    """Every move that leaves a graph which keeps all rules: kind (1 in or out, 2 turned), tail and head."""
    n = len(arcs)
    for tail in range(n):
        for head in range(n):
            if tail == head:
                continue
            for kind in (1, 2) if arcs[tail, head] else (1,):
                after = arcs.copy()
                after[tail, head] ^= True
                after[head, tail] |= kind == 2
                added = after & ~arcs
                crowded = added.any(axis=0) & (after.sum(axis=0) > most)
                if (
                    not (required & ~after).any()
                    and not (added & ~free).any()
                    and not crowded.any()
                    and acyclic(parents_of(after))
                ):
                    yield kind, tail, head


# Regressions --------------------------------------------------------------------------------------------


def toggles(size: int, child: int, parents: Sequence[int]) -> list[list[int]]:
    """The parents after each variable is put in or taken out; the child's own and the last: as they are."""
    out = [[p for p in parents if p != j] if j in parents else [*parents, j] for j in range(size)]
    out[child] = list(parents)
    return [*out, list(parents)]


def log_normal_evidence(prior: Array, posterior: Array, nu: float, degrees: float, rows: float) -> float:
    """Log-evidence of rows of a normal with unknown mean and precision, normal-Wishart before.

    π^(−Nl/2) (ν/(ν+N))^(l/2) Γ_l((d+N)/2)/Γ_l(d/2) |τ|^(d/2) / |τ*|^((d+N)/2) for l variables.
    """
    many = len(prior)
    if many == 0:
        return 0.0
    return float(
        -0.5 * rows * many * math.log(math.pi)
        + 0.5 * many * math.log(nu / (nu + rows))
        + multigammaln(0.5 * (degrees + rows), many)
        - multigammaln(0.5 * degrees, many)
        + 0.5 * degrees * np.linalg.slogdet(prior)[1]
        - 0.5 * (degrees + rows) * np.linalg.slogdet(posterior)[1]
    )


def rest(matrix: Array, child: int, parents: Sequence[int]) -> float:
    """What the parents leave of the child: A_cc − A_cP A_PP⁻¹ A_Pc."""
    inner, cross = matrix[np.ix_(parents, parents)], matrix[parents, child]
    return float(matrix[child, child] - cross @ np.linalg.solve(inner, cross))


# Rows laid out ------------------------------------------------------------------------------------------


def below(chunk: Chunk, cell: int) -> Iterator[tuple[int, int, int]]:
    """All cells that hang on a cell: who, on whom, and the table from the latter to what they share."""
    slab = chunk.slab
    for k in range(slab.child_start[cell], slab.child_start[cell + 1]):
        child = int(slab.child[k])
        yield child, cell, int(slab.above[k])
        yield from below(chunk, child)


def configuration(packed: Packed, sizes: Sequence[int], kind: int, states: Sequence[int]) -> int:
    """Which configuration of a kind's open variables, the last fastest, some states are."""
    kinds, number = packed.kinds, 0
    shape = kinds.shape[kind]
    for v in kinds.member[kinds.member_start[shape] : kinds.member_start[shape + 1]].tolist():
        number = number * sizes[v] + states[v]
    return number


def led(packed: Packed, table: int, i: int) -> int:
    """Where a table leads from configuration i; −1 stands for the table that leads to i itself."""
    return int(packed.kinds.offsets[table + i]) if table >= 0 else i


def factors(packed: Packed, chunk: Chunk, cell: int, i: int) -> list[int]:
    """Which parameters cell multiplies in its configuration i."""
    slab, kinds = chunk.slab, packed.kinds
    begin, end = slab.base_start[cell], slab.base_start[cell + 1]
    first = kinds.link_start[slab.kind[cell]]
    return [
        int(slab.base[k]) + led(packed, int(kinds.link_table[first + k - begin]), i)
        for k in range(begin, end)
    ]


def log_add(logs: Sequence[float]) -> float:
    """Log Σ exp."""
    top = max(logs, default=-math.inf)
    return top if top == -math.inf else top + math.log(math.fsum(math.exp(x - top) for x in logs))


def may_be_lost(packed: Packed, chunk: Chunk, log_theta: Sequence[float]) -> dict[int, tuple[float, float]]:
    """For each root the log of its sum, and of what may be missing from it, relative to it.

    All is worked out in logarithms, in which nothing vanishes. A cell that is scaled to sum to one may lack
    1e-200 at each value that is smaller, and what its children lack over its sum before it is scaled.
    """
    slab, kinds, spots = chunk.slab, packed.kinds, chunk.spots
    message: dict[int, float] = {}
    lacks: dict[int, float] = {}
    whole: dict[int, float] = {}
    roots = {}
    for c in range(len(slab.kind)):
        kind = slab.kind[c]
        hung = range(slab.child_start[c], slab.child_start[c + 1])
        value = [
            math.fsum(log_theta[f] for f in factors(packed, chunk, c, i))
            + math.fsum(
                message[int(spots.child_message[k]) + led(packed, int(slab.above[k]), i)] for k in hung
            )
            for i in range(kinds.size[kind])
        ]
        total = log_add(value)
        lack = log_add([lacks[int(slab.child[k])] for k in hung]) - total
        own = kinds.own[kind]
        if own < 0:
            roots[c] = total + math.fsum(whole[int(slab.child[k])] for k in hung), lack
            continue
        if any(-math.inf < x - total < math.log(1e-200) for x in value):
            lack = max(lack, math.log(1e-200))
        lacks[c] = lack
        whole[c] = total + math.fsum(whole[int(slab.child[k])] for k in hung)
        for j in range(kinds.shared[kind]):
            agreeing = [x - total for i, x in enumerate(value) if led(packed, own, i) == j]
            message[int(spots.shared[c]) + j] = log_add(agreeing)
    return roots
