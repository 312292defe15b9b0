"""The best forest: every variable has one parent at most.

For a score that Markov-equivalent graphs share this is the tree of Chow and Liu (1968), with arcs that
do not pay left out; taken by their gains, the first links that close no circle are the best (Kruskal 1956).
In general the gain of i → j and that of j → i differ, and the best forest is a branching of greatest weight
(Chu and Liu 1965, Edmonds 1967).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunary.errors import GraphError
from lacunary.maths.arrays import Array, Integers
from lacunary.structure.climb import forward
from lacunary.structure.constraints import Constraints
from lacunary.structure.prior import StructurePrior, best_by_links
from lacunary.structure.score import FamilyScore, Parents, Structure, announce, total
from lacunary.structure.walk import Walk

__all__ = ["Tree", "as_good_forest", "best_branching", "best_forest"]

ROUNDING = 1e-10
"""Gains of a link either way that differ by less than this part of the scores differ by rounding."""

TIE = 1e-9
"""A forest is better if its score is by this part of its size: equal ones differ by rounding."""


@dataclass(frozen=True)
class Tree:
    """Find the best graph in which no variable has more than one parent."""

    name = "tree"

    def run(self, walk: Walk) -> None:
        """Search; there is nothing to climb, the best is known at once."""
        before = walk.best
        walk.jump(best_forest(walk.board.score, walk.board.constraints, walk.board.prior))
        if walk.best is not before:
            forward(walk)


def best_forest(
    score: FamilyScore, constraints: Constraints, prior: StructurePrior | None = None
) -> list[Parents]:
    """Return the parents of each variable in the best forest; arcs that gain nothing are left out."""
    n = score.variables
    known = StructurePrior.of(None, constraints) if prior is None else prior
    many = np.flatnonzero(constraints.required.sum(axis=0) > 1)
    if many.size:
        raise GraphError(
            f"{constraints.schema.names[many[0]]} has two required parents; in a tree it has one"
        )
    announce(score, [(j, ()) for j in range(n)])
    alone = np.array([score.family(j, ()) for j in range(n)])
    gains = np.array([score.toggled(j, ()) - alone[j] for j in range(n)]).reshape(n, n).T
    if _even(gains, alone, constraints, known):
        return _chow_liu(gains, known)

    def solve(charge: float) -> tuple[Structure, float]:
        charged = gains + charge * known.counted
        forest = _branching(charged, constraints)
        return forest, float(sum(charged[p, child] for child, ps in enumerate(forest) for p in ps))

    return list(best_by_links(known, solve)[0])


def _even(gains: Array, alone: Array, constraints: Constraints, prior: StructurePrior) -> bool:
    """Whether every link may be there, counts alike, and gains the same either way, up to rounding."""
    other = ~np.eye(len(gains), dtype=bool)
    plain = constraints.free[other].all() and prior.counted[other].all() and constraints.max_parents > 0
    if not plain or not np.isfinite(gains[other]).all():
        return False
    apart = np.abs(gains[other] - gains.T[other]).max(initial=0.0)
    return bool(apart <= ROUNDING * max(np.abs(alone).max(initial=0.0), 1.0))


def _chow_liu(gains: Array, prior: StructurePrior) -> list[Parents]:
    """Return the best forest where a link gains the same either way; each tree hangs from its first node."""
    n = len(gains)
    one, two = np.triu_indices(n, 1)
    tree, worth, best, kept = list(range(n)), float(prior.logs[0]), float(prior.logs[0]), 0
    links: list[tuple[int, int]] = []
    for place in np.argsort(-gains[one, two], kind="stable"):
        a, b = int(one[place]), int(two[place])
        if tree[a] != tree[b]:
            tree = [tree[a] if each == tree[b] else each for each in tree]
            links.append((a, b))
            worth += float(gains[a, b] + prior.logs[len(links)] - prior.logs[len(links) - 1])
            if worth > best:
                best, kept = worth, len(links)
        if len(links) == n - 1:
            break
    return _hung(n, links[:kept])


def _hung(n: int, links: Sequence[tuple[int, int]]) -> list[Parents]:
    """Return the parents where every tree of a forest hangs from its first node."""
    beside: list[list[int]] = [[] for _ in range(n)]
    for a, b in links:
        beside[a].append(b)
        beside[b].append(a)
    parents: list[Parents | None] = [None] * n
    for root in range(n):
        if parents[root] is None:
            parents[root], below = (), [root]
            while below:
                node = below.pop()
                for child in (c for c in beside[node] if parents[c] is None):
                    parents[child] = (node,)
                    below.append(child)
    return [found or () for found in parents]


def _branching(gains: Array, constraints: Constraints) -> Structure:
    """Return the forest that gains most, given what each arc gains; (n, n)."""
    n = len(gains)
    weights = np.where(constraints.free & (gains > 0) & (constraints.max_parents > 0), gains, -np.inf)
    must = constraints.required.any(axis=0)
    weights[:, must] = np.where(constraints.required[:, must], 0.0, -np.inf)
    root = np.where(must, -np.inf, 0.0)
    parent = best_branching(
        np.vstack([np.column_stack([weights, np.full(n, -np.inf)]), np.append(root, 0.0)])
    )
    return tuple(() if parent[j] == n else (int(parent[j]),) for j in range(n))


def as_good_forest(
    score: FamilyScore, constraints: Constraints, prior: StructurePrior | None, structure: Structure
) -> Structure:
    """Return the best forest, or the present structure if that is one and as good.

    Many forests are equally good, as arcs may be turned; left to rounding they would follow each other.
    """
    best = tuple(best_forest(score, constraints, prior))
    if all(len(parents) <= 1 for parents in structure):
        known = StructurePrior.of(None, constraints) if prior is None else prior
        here, there = (total(score, each) + known.log_probability(each) for each in (structure, best))
        if there <= here + TIE * abs(here):
            return structure
    return best


def best_branching(weights: Array) -> Integers:
    """Return the parent of every node but the last, the root, in the arborescence of greatest weight.

    ``weights[i, j]`` is what i → j is worth, −inf where it cannot be; (n + 1, n + 1). Each node takes its
    best parent; a cycle shrinks to a node whose own arcs count by what they improve, and is solved anew.
    """
    size = len(weights)
    weights = weights.copy()
    np.fill_diagonal(weights, -np.inf)
    parent: Integers = weights.argmax(axis=0)
    parent[size - 1] = -1
    cycle = _cycle(parent)
    if not cycle:
        return parent
    inside = np.zeros(size, dtype=bool)
    inside[cycle] = True
    outside = np.flatnonzero(~inside)
    smaller, entry, leaving = _shrunk(weights, parent, cycle, outside)
    found = best_branching(smaller)
    out = parent.copy()
    for new, old in enumerate(outside[:-1]):
        out[old] = _origin(int(found[new]), int(old), outside, leaving)
    tail = _origin(int(found[len(outside) - 1]), -1, outside, leaving)
    out[entry[tail]] = tail
    return out


def _shrunk(
    weights: Array, parent: Integers, cycle: Sequence[int], outside: Integers
) -> tuple[Array, dict[int, int], dict[int, int]]:
    """Return the graph with the cycle as one node, and which of its nodes each arc enters and leaves."""
    count = len(outside)
    smaller = np.full((count + 1, count + 1), -np.inf)
    order = [*range(count - 1), count]  # the root stays last, the cycle comes just before it
    smaller[np.ix_(order, order)] = weights[np.ix_(outside, outside)]
    nodes = np.array(cycle)
    improved = weights[np.ix_(outside, nodes)] - weights[parent[nodes], nodes]
    out_of = weights[np.ix_(nodes, outside)]
    smaller[order, count - 1] = improved.max(axis=1)
    smaller[count - 1, order] = out_of.max(axis=0)
    entry = {int(o): int(nodes[k]) for o, k in zip(outside, improved.argmax(axis=1), strict=True)}
    leaving = {int(o): int(nodes[k]) for o, k in zip(outside, out_of.argmax(axis=0), strict=True)}
    return smaller, entry, leaving


def _origin(found: int, head: int, outside: Integers, leaving: dict[int, int]) -> int:
    """Return which node of the larger graph a parent in the smaller one stands for.

    In the smaller graph come the nodes outside the cycle, then the cycle, and last the root.
    """
    count = len(outside)
    if found == count - 1:
        return leaving[head]
    return int(outside[-1] if found == count else outside[found])


def _cycle(parent: Integers) -> list[int]:
    """Return the nodes of some cycle; empty if there is none."""
    colour = np.zeros(len(parent), dtype=np.int64)
    for start in range(len(parent)):
        node, path = start, []
        while node >= 0 and colour[node] == 0:
            colour[node] = start + 1
            path.append(node)
            node = int(parent[node])
        if node >= 0 and colour[node] == start + 1:
            return path[path.index(node) :]
    return []
