"""Junction trees restricted to the open variables of every island; see `lacunary.kernels.trace`.

One tree for all islands lets rows share most of what they have in common. But it must hold every family of
all variables that are open somewhere, so that many an island is wider in it than it need be. An island that
is wide in the shared tree is given a tree of its own, over what is open in it, where that is cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.elimination import interpreted
from lacunary.infer.parallel import in_parallel
from lacunary.infer.plan import JunctionTree
from lacunary.infer.shape import flat, lengths_of, list_sums, running, starts
from lacunary.kernels import orders
from lacunary.kernels.promote import in_use
from lacunary.kernels.trace import Forest, Scopes, Trees, trace_patterns

__all__ = ["Ground", "by_island", "sort_sizes", "trace"]

ISLANDS = 2048
"""Islands that are traced together; others are traced at the same time."""

WIDE = 2**13
"""Configurations in all nodes of an island above which a tree of its own is looked for."""

CHEAPER = 0.7
"""How much of the shared tree's configurations one of its own may take: rows share less in their own."""

NO_TARGETS = np.empty(0, dtype=np.int64)


class Ground(NamedTuple):
    """What trees stand on: scopes, numbers of states, ranks of variables within cliques, the shared tree."""

    scopes: Scopes
    sizes: NDArray[np.int64]
    rank: NDArray[np.int64]
    shared: Trees

    @classmethod
    def of(cls, scopes: Scopes, sizes: Sequence[int], rank: Sequence[int], tree: JunctionTree) -> Ground:
        """Return the ground with this tree for all islands."""
        shared = _trees(
            (flat(tree.cliques), starts(tree.cliques)),
            (flat(tree.separators), starts(tree.separators)),
            np.array(tree.parent, dtype=np.int32),
            np.array([0, len(tree.cliques)], dtype=np.int64),
            np.array([tree.home], dtype=np.int32).reshape(1, -1),
            len(sizes),
        )
        return cls(scopes, np.array(sizes, dtype=np.int64), np.array(rank, dtype=np.int64), shared)


def trace(ground: Ground, islands: NDArray[np.bool_]) -> Forest:
    """Restrict the shared tree, or one of its own, to each island's open variables; (islands, variables)."""
    parts = [islands[first : first + ISLANDS] for first in range(0, len(islands), ISLANDS)] or [islands]
    if len(parts) == 1:
        return _trace_some(ground, islands)
    traced = in_parallel(lambda part: _trace_some(ground, part), parts)
    return _joined(traced)


def sort_sizes(forest: Forest, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of configurations of each sort of nodes."""
    if len(forest.member_start) == 1:
        return np.empty(0)
    return np.multiply.reduceat(sizes[forest.member].astype(np.float64), forest.member_start[:-1])


def _trace_some(ground: Ground, islands: NDArray[np.bool_]) -> Forest:
    forest = _traced(ground, ground.shared, islands, np.zeros(len(islands), dtype=np.int64))
    cost = _costs(forest, ground.sizes)
    wide = np.flatnonzero(cost > WIDE)
    if not len(wide):
        return forest
    trees = _own_trees(ground, islands[wide])
    alone = _traced(ground, trees, islands[wide], np.arange(len(wide)))
    better = np.flatnonzero(_costs(alone, ground.sizes) < CHEAPER * cost[wide])
    which = np.zeros(len(islands), dtype=np.int64)
    which[wide[better]] = 1 + better
    return _traced(ground, _end_to_end(ground.shared, trees), islands, which)


def by_island(values: NDArray[Any], forest: Forest) -> NDArray[np.float64]:
    """Add over the nodes of each island what nodes of each sort have."""
    return lengths_of(running(values[forest.sort])[forest.node_start])


def _costs(forest: Forest, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of configurations of all nodes of each island."""
    return by_island(sort_sizes(forest, sizes), forest)


def _traced(ground: Ground, trees: Trees, islands: NDArray[np.bool_], which: NDArray[np.int64]) -> Forest:
    nodes = int(lengths_of(trees.clique_start)[which].sum())  # before any are merged

    def within(start: NDArray[np.int64]) -> int:
        return int(lengths_of(start[trees.clique_start])[which].sum())

    def ragged(room: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        return np.empty(room, dtype=np.int32), np.zeros(nodes + 2, dtype=np.int64)

    out = Forest(
        np.empty(nodes, dtype=np.int32),
        np.empty(nodes, dtype=np.int32),
        np.zeros(len(islands) + 1, dtype=np.int64),
        *ragged(within(trees.member_start) + len(ground.sizes)),
        *ragged(within(trees.shared_start) + len(ground.sizes)),
        *ragged((len(islands) + 1) * len(ground.scopes.start)),
    )
    sorts = trace_patterns(trees, ground.scopes, ground.sizes, islands, which, out)
    return _trimmed(out, sorts)


def _trimmed(forest: Forest, sorts: int) -> Forest:
    """Return so many sorts of nodes without the room that was left over."""
    used = int(forest.node_start[-1])

    def ragged(items: NDArray[np.int32], start: NDArray[np.int64]) -> tuple[NDArray[np.int32], Any]:
        return items[: start[sorts]].copy(), start[: sorts + 1].copy()

    return Forest(
        forest.sort[:used].copy(),
        forest.up[:used].copy(),
        forest.node_start,
        *ragged(forest.member, forest.member_start),
        *ragged(forest.joint, forest.joint_start),
        *ragged(forest.scope, forest.scope_start),
    )


def _joined(parts: list[Forest]) -> Forest:
    """Return the nodes of several sets of islands as one."""
    nodes = np.cumsum([0, *(len(part.sort) for part in parts)])
    sorts = np.cumsum([0, *(len(part.member_start) - 1 for part in parts)], dtype=np.int32)

    def ragged(name: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        first = [getattr(part, f"{name}_start") for part in parts]
        ends = np.cumsum([0, *(start[-1] for start in first)])
        begun = [start[:-1] + at for start, at in zip(first, ends, strict=False)]
        return np.concatenate([getattr(part, name) for part in parts]), np.concatenate([*begun, ends[-1:]])

    return Forest(
        np.concatenate([part.sort + at for part, at in zip(parts, sorts, strict=False)]),
        np.concatenate([part.up for part in parts]),
        np.concatenate(
            [part.node_start[:-1] + at for part, at in zip(parts, nodes, strict=False)] + [nodes[-1:]]
        ),
        *ragged("member"),
        *ragged("joint"),
        *ragged("scope"),
    )


def _trees(
    members: tuple[NDArray[np.int32], NDArray[np.int64]],
    shared: tuple[NDArray[np.int32], NDArray[np.int64]],
    parent: NDArray[np.int32],
    clique_start: NDArray[np.int64],
    home: NDArray[np.int32],
    variables: int,
) -> Trees:
    """Return trees that also know in which cliques and separators each variable lies."""
    tree = np.repeat(np.arange(len(clique_start) - 1), lengths_of(clique_start))

    def lying(items: NDArray[np.int32], start: NDArray[np.int64]) -> tuple[Any, Any]:
        clique = np.repeat(np.arange(len(tree)), lengths_of(start))
        key = tree[clique] * variables + items
        many = np.bincount(key, minlength=(len(clique_start) - 1) * variables)
        begin = running(many)
        within = (clique - clique_start[tree[clique]])[np.argsort(key, kind="stable")].astype(np.int32)
        places = np.arange(len(clique_start) - 1)[:, None] * variables + np.arange(variables + 1)
        return within, begin[places]

    return Trees(*members, *shared, parent, clique_start, home, *lying(*members), *lying(*shared))


def _own_trees(ground: Ground, islands: NDArray[np.bool_]) -> Trees:
    """Return a tree for each island over its open variables."""
    scopes, rank = ground.scopes, ground.rank
    graph = scopes.member_start, scopes.member.astype(np.int64)
    weight = np.log(np.maximum(ground.sizes, 1))
    steps = [_steps(graph, island, weight) for island in islands]
    lengths = np.array([len(chain) for chain, _, _ in steps], dtype=np.int64)
    clique_start = running(lengths)
    position = np.full(islands.shape, -1, dtype=np.int64)  # of the clique in which a variable is summed out
    for t, (chain, _, _) in enumerate(steps):
        position[t, chain] = np.arange(len(chain))[::-1]  # what is summed out last is the root
    own = np.concatenate([chain for chain, _, _ in steps])
    tree = np.repeat(np.arange(len(steps)), lengths)
    clique = clique_start[tree] + position[tree, own]
    around = np.concatenate([lengths_of(at) for _, at, _ in steps])
    ring = np.concatenate([listed for _, _, listed in steps])
    shared, shared_start = _lists(np.repeat(clique, around), ring, rank, len(own))
    member, member_start = _lists(
        np.concatenate([np.repeat(clique, around), clique]), np.concatenate([ring, own]), rank, len(own)
    )
    tops = np.repeat(tree, lengths_of(shared_start))
    return _trees(
        (member, member_start),
        (shared, shared_start),
        _last(position[tops, shared], shared_start).astype(np.int32),
        clique_start,
        np.array([_last(at[scopes.member], scopes.member_start) for at in position], dtype=np.int32),
        len(ground.sizes),
    )


def _steps(
    graph: tuple[NDArray[np.int64], NDArray[np.int64]],
    island: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.int64], ...]:
    """Return the open variables in the cheapest order found, and what each stands with then."""
    start, member = graph
    wanted, seen = list_sums(island[member], start) > 0, ~island
    with interpreted(len(member), trees=True):
        found = [
            in_use(orders).order(start, member, wanted, seen, weight, NO_TARGETS, how) for how in range(3)
        ]
    best: tuple[NDArray[np.int64], ...] = min(found, key=lambda steps: _total(steps, weight))
    return best


def _total(steps: tuple[NDArray[np.int64], ...], weight: NDArray[np.float64]) -> float:
    chain, at, ring = steps
    wide = weight[chain] + lengths_of(running(weight[ring])[at])
    return float(np.exp(np.minimum(wide, 700.0)).sum())


def _lists(
    of: NDArray[np.int64], items: NDArray[np.int64], rank: NDArray[np.int64], many: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return items list by list, in the order of ranks, and where each of so many lists starts."""
    order = np.lexsort((rank[items], of))
    start = running(np.bincount(of, minlength=many))
    return items[order].astype(np.int32), start


def _last(values: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the largest value of each list, −1 of an empty one."""
    out, filled = np.full(len(start) - 1, -1, dtype=np.int64), np.flatnonzero(lengths_of(start))
    if len(filled):
        out[filled] = np.maximum.reduceat(values, start[filled])
    return out


def _end_to_end(one: Trees, two: Trees) -> Trees:
    """Return the trees of both."""

    def ragged(name: str) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        starts = getattr(one, f"{name}_start"), getattr(two, f"{name}_start")
        joined = np.concatenate([starts[0], starts[1][1:] + starts[0][-1]])
        return np.concatenate([getattr(one, name), getattr(two, name)]), joined

    return _trees(
        ragged("member"),
        ragged("shared"),
        np.concatenate([one.parent, two.parent]),
        np.concatenate([one.clique_start, two.clique_start[1:] + one.clique_start[-1]]),
        np.concatenate([one.home, two.home]),
        one.holder_start.shape[1] - 1,
    )
