"""Slow and obvious: scores of families row by row, and every graph there is on a few variables."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product

from lacunary.data.table import Table

Family = tuple[int, ...]


def counts(table: Table, child: int, parents: Family) -> dict[tuple[int, ...], dict[int, float]]:
    """N_jk for every configuration j of the parents that occurs."""
    out: dict[tuple[int, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for row, weight in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
        out[tuple(row[p] for p in parents)][row[child]] += weight
    return out


def bd(table: Table, child: int, parents: Family, alpha: Callable[[int], float]) -> float:
    """Σ_j [log Γ(α_j) − log Γ(α_j + N_j) + Σ_k log Γ(α_jk + N_jk) − log Γ(α_jk)]."""
    sizes = table.schema.sizes
    one = alpha(sizes[child] * math.prod(sizes[p] for p in parents))
    total = 0.0
    for cells in counts(table, child, parents).values():
        whole = one * sizes[child]
        total += math.lgamma(whole) - math.lgamma(whole + sum(cells.values()))
        total += sum(math.lgamma(one + n) - math.lgamma(one) for n in cells.values())
    return total


def bic(table: Table, child: int, parents: Family) -> float:
    """Σ N_jk log(N_jk / N_j) − (log N)/2 · (r − 1) q."""
    sizes = table.schema.sizes
    total = 0.0
    for cells in counts(table, child, parents).values():
        whole = sum(cells.values())
        total += sum(n * math.log(n / whole) for n in cells.values() if n)
    q = math.prod(sizes[p] for p in parents)
    return total - 0.5 * math.log(max(table.size, 1.0)) * (sizes[child] - 1) * q


def ancestors(parents: Sequence[Sequence[int]], node: int) -> set[int]:
    """All from whom a directed path leads to a node."""
    found: set[int] = set()
    waiting = list(parents[node])
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += parents[one]
    return found


def acyclic(parents: Sequence[Sequence[int]]) -> bool:
    return all(node not in ancestors(parents, node) for node in range(len(parents)))


def all_dags(n: int) -> Iterator[tuple[Family, ...]]:
    """Every graph on n variables: 1, 3, 25, 543, …"""
    sets = [
        [tuple(j for j in range(n) if bits >> j & 1 and j != i) for bits in range(1 << n)] for i in range(n)
    ]
    for chosen in product(*(sorted(set(options)) for options in sets)):
        if acyclic(chosen):
            yield chosen


def log_sum(logs: Sequence[float]) -> float:
    """log Σ exp."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(log - top) for log in logs))


def arc_chances(graphs: Sequence[Sequence[Family]], logs: Sequence[float]) -> list[list[float]]:
    """How probable each arc is, [parent][child], where graphs have these log weights."""
    n, whole = len(graphs[0]), log_sum(logs)
    out = [[0.0] * n for _ in range(n)]
    for graph, log in zip(graphs, logs, strict=True):
        for child, parents in enumerate(graph):
            for parent in parents:
                out[parent][child] += math.exp(log - whole)
    return out
