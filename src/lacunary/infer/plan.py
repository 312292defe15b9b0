"""The junction tree of a graph: cliques small enough to sum over, joined so that sums can be passed on.

The tree spans only the variables that may be *open* (unobserved in some row, with more than one
state): whatever is observed in every row is a constant of the row and never widens a clique.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

__all__ = ["JunctionTree", "junction_tree"]

MANY = 48
"""Above so many neighbours the fill-in of a node is bounded instead of counted."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in an order in which parents come first, one for each variable.

    A clique may lie within another: which of them are worth merging is decided when the holes are known.

    Attributes
    ----------
    cliques
        The variables of each clique, in the common order ``rank`` gives.
    parent
        The clique each clique hangs on, −1 for a root.
    separators
        What each clique shares with its parent, in the same order.
    home
        For each scope given to `junction_tree`, a clique that contains it; −1 for an empty scope.
    log_size
        Log of the number of configurations of the largest clique.
    """

    cliques: tuple[tuple[int, ...], ...]
    parent: tuple[int, ...]
    separators: tuple[tuple[int, ...], ...]
    home: tuple[int, ...]
    log_size: float


def junction_tree(scopes: Sequence[Iterable[int]], sizes: Sequence[int], rank: Sequence[int]) -> JunctionTree:
    """Triangulate the graph in which every scope is complete, and return the cheapest tree found.

    Parameters
    ----------
    scopes
        Sets of variables that must lie in one clique each: families, and sets asked about.
    sizes
        Number of states of every variable.
    rank
        Position of every variable in the order in which cliques list their members.
    """
    sets = [frozenset(scope) for scope in scopes]
    neighbours: dict[int, set[int]] = {}
    for scope in sets:
        for v in scope:
            neighbours.setdefault(v, set()).update(scope)
    for v, around in neighbours.items():
        around.discard(v)
    weight = [math.log(max(size, 1)) for size in sizes]
    order = _eliminate(neighbours, weight, _fill_then_weight)
    if _fills(order, neighbours):  # otherwise the graph was triangulated as it stood: nothing is cheaper
        others = (_eliminate(neighbours, weight, cost) for cost in (_weight_only, _weighted_fill))
        order = min((order, *others), key=lambda steps: _total_size(steps, weight))
    return _tree(order, sets, weight, rank)


Steps = list[tuple[int, frozenset[int]]]
Cost = Callable[[int, dict[int, set[int]], list[float]], tuple[float, float]]


def _eliminate(graph: dict[int, set[int]], weight: list[float], cost: Cost) -> Steps:
    """Remove variables cheapest first, joining their neighbours; return (variable, its neighbours then)."""
    around = {v: set(ns) for v, ns in graph.items()}
    current = {v: cost(v, around, weight) for v in around}
    degree = {v: len(ns) for v, ns in graph.items()}  # between equals, leaves go before the hub they hang on
    heap = [(c, degree[v], v) for v, c in current.items()]
    heapq.heapify(heap)
    steps: Steps = []
    while heap:
        c, _, v = heapq.heappop(heap)
        if v not in around or c != current[v]:
            continue
        ns = around.pop(v)
        steps.append((v, frozenset(ns)))
        touched = set(ns)
        for a in ns:
            new = ns - around[a] - {a}
            around[a].discard(v)
            if new:
                around[a] |= new
                touched |= around[a]
        for a in touched:
            fresh = cost(a, around, weight)
            if fresh != current[a]:
                current[a] = fresh
                heapq.heappush(heap, (fresh, degree[a], a))
    return steps


def _fills(steps: Steps, graph: dict[int, set[int]]) -> bool:
    """Whether the elimination joined neighbours that were not joined before."""
    return sum(len(ns) for _, ns in steps) > sum(len(ns) for ns in graph.values()) // 2


def _fill_then_weight(v: int, around: dict[int, set[int]], weight: list[float]) -> tuple[float, float]:
    ns = around[v]
    if len(ns) > MANY:
        return len(ns) * len(ns) / 2, len(ns)
    missing = sum(len(ns) - 1 - len(ns & around[a]) for a in ns) / 2
    return missing, round(weight[v] + sum(weight[a] for a in ns), 9)


def _weight_only(v: int, around: dict[int, set[int]], weight: list[float]) -> tuple[float, float]:
    return round(weight[v] + sum(weight[a] for a in around[v]), 9), 0.0


def _weighted_fill(v: int, around: dict[int, set[int]], weight: list[float]) -> tuple[float, float]:
    ns = around[v]
    if len(ns) > MANY:
        return float("inf"), len(ns)
    missing = sum(weight[a] * weight[b] for a in ns for b in ns - around[a] if a < b)
    return round(missing, 9), round(weight[v] + sum(weight[a] for a in ns), 9)


def _total_size(steps: Steps, weight: list[float]) -> float:
    return math.fsum(math.exp(min(weight[v] + sum(weight[a] for a in ns), 700.0)) for v, ns in steps)


def _tree(
    steps: Steps, scopes: list[frozenset[int]], weight: list[float], rank: Sequence[int]
) -> JunctionTree:
    """Turn elimination steps into cliques, root first: each variable with those it was joined to."""
    when = {v: t for t, (v, _) in enumerate(steps)}
    last = len(steps) - 1

    def listed(members: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(members, key=rank.__getitem__))

    def clique_of(members: frozenset[int]) -> int:
        """Return the clique of the member that was removed first, which holds all the others."""
        return last - min(map(when.__getitem__, members)) if members else -1

    steps = steps[::-1]
    return JunctionTree(
        cliques=tuple(listed(ns | {v}) for v, ns in steps),
        parent=tuple(clique_of(ns) for _, ns in steps),
        separators=tuple(listed(ns) for _, ns in steps),
        home=tuple(clique_of(s) for s in scopes),
        log_size=max((weight[v] + sum(weight[a] for a in ns) for v, ns in steps), default=0.0),
    )
