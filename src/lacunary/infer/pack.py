"""Lay rows out along a junction tree: all that does not depend on the parameters, worked out once.

Three ideas keep a sweep short. Rows that are alike are swept once. Rows with the same holes share a
*pattern*: the tree restricted to their open variables. And a *shape* (a clique with some of its
variables open) owns its offset tables, whatever patterns and rows it turns up in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, unique_rows
from lacunary.errors import TooWideError
from lacunary.infer.plan import JunctionTree, junction_tree
from lacunary.kernels.lanes import LANES
from lacunary.kernels.pack import (
    Forest,
    Scopes,
    Slab,
    Tree,
    distinct_lists,
    fill_offsets,
    lay_rows,
    trace_patterns,
)
from lacunary.kernels.cell import Kinds, Spots
from lacunary.model.dag import Dag

__all__ = ["MEMORY_BUDGET", "Chunk", "Packed", "pack"]

MEMORY_BUDGET = 4 * 2**30
"""Bytes that tables and working memory may take before a network is refused as too wide."""

CHUNK_WORK, CHUNKS = 2_000_000, 16
"""Operations (about a nanosecond each) that make a chunk worth handing out, and how many chunks are enough."""

NO_REALS = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of the rows, as cells that share what they have in common.

    Attributes
    ----------
    rows
        Which of the packed rows these are.
    slab
        The cells.
    spots
        Where the cells lie in working memory.
    value_room, shared_room
        How much of it there must be.
    """

    rows: slice
    slab: Slab
    spots: Spots
    value_room: int
    shared_room: int


@dataclass(frozen=True, eq=False)
class Packed:
    """Rows ready to be swept under any parameters of one graph.

    Attributes
    ----------
    kinds
        What the cells of all chunks are made of.
    chunks
        The rows, in parts that can be swept apart from each other.
    scopes
        The families as arrays, for looking up observed cells.
    constant
        Counts of fully observed families over all rows, which no parameter changes; (layout size,).
    codes, weights
        The rows' states, ``HOLE`` where open, and weights; (rows, variables) and (rows,).
    """

    dag: Dag
    kinds: Kinds
    chunks: tuple[Chunk, ...]
    scopes: Scopes
    constant: NDArray[np.float64]
    codes: NDArray[np.int32]
    weights: NDArray[np.float64]


def pack(
    dag: Dag,
    codes: NDArray[np.signedinteger],
    weights: NDArray[np.float64],
    *,
    targets: Sequence[Sequence[int]] | None = None,
    budget: int = MEMORY_BUDGET,
) -> Packed:
    """Lay rows out along the graph's junction tree.

    Parameters
    ----------
    dag, codes, weights
        The graph, and rows over its variables; (rows, variables) and (rows,).
    targets
        Sets of variables whose joint posterior is read out of each row, into a place of its own;
        by default the families are read out, into places that all rows share.
    budget
        Bytes that may be used; a network that needs more raises `TooWideError`.
    """
    rows = np.array(codes, dtype=np.int32, order="C")
    rows[:, [i for i, size in enumerate(dag.schema.sizes) if size == 1]] = 0  # known without looking
    is_open = rows == HOLE
    scopes, tree = _plan(dag, is_open.any(axis=0), targets or ())
    first, pattern = unique_rows(
        np.where(is_open, HOLE, 0), np.ones(len(dag.schema), dtype=np.int64), NO_REALS
    )
    sizes = np.array(dag.schema.sizes, dtype=np.int64)
    forest = _trace(tree, scopes, sizes, is_open[first])
    shapes = _shapes(dag, tree, forest, budget)
    tables = _tables(dag, tree, scopes, forest, shapes, budget)
    kinds, kind_of_node = _kinds(dag, forest, shapes, tables, targets is not None)
    width = sum(int(np.prod([dag.schema.sizes[v] for v in target])) for target in targets or ())
    constant = np.zeros(dag.layout.size)
    chunks = tuple(
        _chunk(
            dag, part, forest, kinds, kind_of_node, tables, scopes, width, rows, weights, pattern, constant
        )
        for part in _parts(forest, kinds.size[kind_of_node], pattern)
    )
    return Packed(dag, kinds, chunks, scopes, constant, rows, np.array(weights, dtype=np.float64))


def _plan(
    dag: Dag, ever_open: NDArray[np.bool_], targets: Sequence[Sequence[int]]
) -> tuple[Scopes, JunctionTree]:
    """Find a junction tree over the variables that are ever open, and list the scopes it must hold."""
    layout, sizes = dag.layout, dag.schema.sizes
    members, strides, start = list(layout.members), list(layout.strides), list(layout.start)
    at = 0
    for target in targets:
        below = np.cumprod([1, *(sizes[v] for v in reversed(target))])[::-1]
        members.append(tuple(target))
        strides.append(tuple(int(b) for b in below[1:]))
        start.append(at)
        at += int(below[0])
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[list(dag.order_indices)] = np.arange(len(sizes))[::-1]
    tree = junction_tree([[v for v in scope if ever_open[v]] for scope in members], sizes, rank.tolist())
    return Scopes(
        member=_flat(members),
        stride=_flat(strides),
        member_start=_starts(members),
        start=np.array(start, dtype=np.int32),
        home=np.array(tree.home, dtype=np.int32),
    ), tree


def _trace(
    tree: JunctionTree, scopes: Scopes, sizes: NDArray[np.int64], patterns: NDArray[np.bool_]
) -> Forest:
    """Restrict the tree to the open variables of each pattern."""
    arrays = Tree(
        member=_flat(tree.cliques),
        member_start=_starts(tree.cliques),
        shared=_flat(tree.separators),
        shared_start=_starts(tree.separators),
        parent=np.array(tree.parent, dtype=np.int32),
    )
    nodes = int(patterns.sum())  # a clique for each variable, with that variable open or merged
    touched = np.add.reduceat(patterns[:, scopes.member], scopes.member_start[:-1], axis=1, dtype=np.int64)
    out = Forest(
        clique=np.zeros(nodes, dtype=np.int32),
        mask=np.zeros(nodes, dtype=np.int64),
        up=np.zeros(nodes, dtype=np.int32),
        edge=np.zeros(nodes, dtype=np.int32),
        scope=np.zeros(int((touched > 0).sum()), dtype=np.int32),
        scope_start=np.zeros(nodes + 1, dtype=np.int64),
        node_start=np.zeros(len(patterns) + 1, dtype=np.int64),
    )
    trace_patterns(arrays, scopes, sizes, patterns, out)
    used = int(out.node_start[-1])
    return Forest(
        out.clique[:used],
        out.mask[:used],
        out.up[:used],
        out.edge[:used],
        out.scope,
        out.scope_start[: used + 1],
        out.node_start,
    )


@dataclass(frozen=True)
class _Shapes:
    """The different sets of open variables that nodes have: which node has which, members and sizes."""

    of_node: NDArray[np.int64]
    members: list[tuple[int, ...]]
    size: NDArray[np.int64]


def _shapes(dag: Dag, tree: JunctionTree, forest: Forest, budget: int) -> _Shapes:
    cliques = max(len(tree.cliques), 1)
    widest = max((len(c) for c in tree.cliques), default=0)
    if widest + np.log2(cliques) >= 62:
        _refuse(dag, max(tree.cliques, key=len), float("inf"), budget)
    keys, of_node = np.unique(forest.mask * cliques + forest.clique, return_inverse=True)
    members = []
    for mask, clique in zip((keys // cliques).tolist(), (keys % cliques).tolist(), strict=True):
        variables = tree.cliques[clique]
        members.append(tuple(v for place, v in enumerate(reversed(variables)) if mask >> place & 1)[::-1])
    sizes = np.array(dag.schema.sizes, dtype=np.float64)
    size = np.array([sizes[list(m)].prod() for m in members])
    if size.size and size.max() * 8 * LANES > budget:
        _refuse(dag, members[int(size.argmax())], float(size.max()) * 8 * LANES, budget)
    return _Shapes(of_node, members, size.astype(np.int64))


def _refuse(dag: Dag, clique: Sequence[int], needed: float, budget: int) -> None:
    names = ", ".join(dag.names[v] for v in clique[:12]) + (", …" if len(clique) > 12 else "")
    raise TooWideError(
        f"exact inference would need about {needed / 2**30:.3g} GiB, more than the {budget / 2**30:.3g} GiB "
        f"allowed: {len(clique)} variables are open together in one clique ({names}). "
        "Remove arcs between them, observe some of them, or raise the budget."
    )


@dataclass(frozen=True)
class _Tables:
    """Offset tables, each once, and which of them links and separators use (−1: the identity)."""

    offsets: NDArray[np.int32]
    link: NDArray[np.int64]
    own: NDArray[np.int64]
    above: NDArray[np.int64]
    shared_size: NDArray[np.int64]


def _tables(
    dag: Dag, tree: JunctionTree, scopes: Scopes, forest: Forest, shapes: _Shapes, budget: int
) -> _Tables:
    nodes, links = len(forest.clique), len(forest.scope)
    kinds = scopes.home.size + len(tree.cliques)  # a table leads to a scope or to a separator
    node_of_link = np.repeat(np.arange(nodes), np.diff(forest.scope_start))
    joined = np.flatnonzero(forest.up >= 0)
    start = np.repeat(forest.node_start[:-1], np.diff(forest.node_start))
    parent = start[joined] + forest.up[joined]
    edge = scopes.home.size + forest.edge[joined]
    keys = np.concatenate(
        [
            shapes.of_node[node_of_link] * kinds + forest.scope,
            shapes.of_node[joined] * kinds + edge,
            shapes.of_node[parent] * kinds + edge,
        ]
    )
    unique, which = np.unique(keys, return_inverse=True)
    steps, shape, shared = _steps(dag, tree, scopes, shapes, unique, kinds)
    at = np.concatenate([[0], np.cumsum(shapes.size[shape])])
    if at[-1] * 4 > budget:
        widest = int(shapes.size.argmax())
        _refuse(dag, shapes.members[widest], float(at[-1]) * 4, budget)
    offsets = np.empty(int(at[-1]), dtype=np.int32)
    sizes = np.array(dag.schema.sizes, dtype=np.int64)
    fill_offsets(
        _flat(shapes.members),
        _starts(shapes.members),
        sizes,
        _flat(steps),
        _starts(steps),
        shape,
        offsets,
        at,
    )
    identity = np.array(
        [_radix(dag, shapes.members[s]) == step for s, step in zip(shape, steps, strict=True)]
    )
    place = at[:-1][which]
    short = np.where(identity[which], -1, place) if len(which) else place
    own, above, size = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    own[joined] = place[links : links + len(joined)]
    above[joined] = short[links + len(joined) :]
    size[joined] = shared[which[links : links + len(joined)]]
    return _Tables(offsets, short[:links], own, above, size)


def _steps(
    dag: Dag, tree: JunctionTree, scopes: Scopes, shapes: _Shapes, keys: NDArray[np.int64], kinds: int
) -> tuple[list[tuple[int, ...]], NDArray[np.int64], NDArray[np.int64]]:
    """For each table: how far a step in each open variable leads, its shape, and (separators) its range."""
    member, stride = scopes.member.tolist(), scopes.stride.tolist()
    bounds = scopes.member_start.tolist()
    steps, shape, shared = [], keys // kinds, np.zeros(len(keys), dtype=np.int64)
    for t, (s, kind) in enumerate(zip(shape.tolist(), (keys % kinds).tolist(), strict=True)):
        variables = shapes.members[s]
        if kind < len(bounds) - 1:
            lead = dict(
                zip(
                    member[bounds[kind] : bounds[kind + 1]],
                    stride[bounds[kind] : bounds[kind + 1]],
                    strict=True,
                )
            )
        else:
            common = tuple(v for v in tree.separators[kind - len(bounds) + 1] if v in variables)
            lead = dict(zip(common, _radix(dag, common), strict=True))
            shared[t] = np.prod([dag.schema.sizes[v] for v in common])
        steps.append(tuple(lead.get(v, 0) for v in variables))
    return steps, shape, shared


def _radix(dag: Dag, variables: Sequence[int]) -> tuple[int, ...]:
    """How far a step in each variable leads when the last moves fastest."""
    below, out = 1, []
    for v in reversed(variables):
        out.append(below)
        below *= dag.schema.sizes[v]
    return tuple(out[::-1])


def _kinds(
    dag: Dag, forest: Forest, shapes: _Shapes, tables: _Tables, separate: bool
) -> tuple[Kinds, NDArray[np.int64]]:
    """Find the different kinds of nodes, and which kind each is."""
    nodes = len(forest.clique)
    own = np.where(forest.up >= 0, tables.own, -1)
    lengths = np.diff(forest.scope_start)
    start = np.concatenate([[0], np.cumsum(lengths + 2)])
    token = np.empty(int(start[-1]), dtype=np.int32)
    token[start[:-1]], token[start[:-1] + 1] = shapes.of_node, own
    token[np.arange(len(forest.scope)) + 2 * (np.repeat(np.arange(nodes), lengths) + 1)] = forest.scope
    kind, first = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    first = first[: distinct_lists(token, start, kind, first)]
    ends = np.concatenate([[0], np.cumsum(lengths[first])])
    link = np.arange(ends[-1]) + np.repeat(forest.scope_start[first] - ends[:-1], lengths[first])
    factor = forest.scope[link] < len(dag.schema)
    read = ~factor if separate else factor
    return Kinds(
        size=shapes.size[shapes.of_node[first]],
        shared=tables.shared_size[first],
        own=own[first],
        link_start=np.concatenate([[0], np.cumsum(factor)])[ends],
        link_table=tables.link[link][factor],
        read_start=np.concatenate([[0], np.cumsum(read)])[ends],
        read_table=tables.link[link][read],
        shape=shapes.of_node[first],
        member_start=_starts(shapes.members),
        member=_flat(shapes.members),
        offsets=tables.offsets,
    ), kind


def _parts(forest: Forest, size: NDArray[np.int64], pattern: NDArray[np.int64]) -> list[slice]:
    """Cut the rows into parts of about equal work, neither too small to hand out nor too large to keep.

    The cut depends on the rows alone, so that sums come out the same on any number of threads.
    """
    cost = _sums((3 + np.diff(forest.scope_start)) * (size + 4), forest.node_start)
    work = np.cumsum(cost[pattern])
    total = int(work[-1]) if len(work) else 0
    parts = max(min(total // CHUNK_WORK, CHUNKS), -(-total // (8 * CHUNK_WORK)), 1)
    cuts = np.searchsorted(work, np.arange(1, parts) * (total / parts))
    edges = np.unique(np.concatenate([[0], cuts, [len(pattern)]]))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def _chunk(
    dag: Dag,
    rows: slice,
    forest: Forest,
    kinds: Kinds,
    kind_of_node: NDArray[np.int64],
    tables: _Tables,
    scopes: Scopes,
    width: int,
    codes: NDArray[np.int32],
    weights: NDArray[np.float64],
    pattern: NDArray[np.int64],
    constant: NDArray[np.float64],
) -> Chunk:
    """Lay some rows out as cells."""
    mine = pattern[rows]
    nodes = np.diff(forest.node_start)[mine].sum()
    links = np.diff(forest.scope_start[forest.node_start])[mine].sum()
    families = len(dag.schema)
    separate = width > 0
    out = Slab(
        kind=np.empty(nodes + 1, dtype=np.int32),
        base=np.empty(links, dtype=np.int32),
        base_start=np.zeros(nodes + 2, dtype=np.int64),
        read=np.empty(links if separate else 0, dtype=np.int32),
        read_start=np.zeros(nodes + 2, dtype=np.int64),
        child=np.empty(nodes, dtype=np.int32),
        above=np.empty(nodes, dtype=np.int64),
        child_start=np.zeros(nodes + 2, dtype=np.int64),
        weight=np.empty(nodes + 1),
        root=np.empty(nodes, dtype=np.int32),
        root_start=np.zeros(len(mine) + 1, dtype=np.int64),
    )
    cells = lay_rows(
        forest,
        kind_of_node,
        tables.above,
        scopes,
        families,
        width,
        codes[rows],
        weights[rows],
        mine,
        constant,
        out,
    )
    slab = _trimmed(out, cells, separate)
    spots, value_room = _spots(kinds, slab)
    shared_room = int(kinds.shared[slab.kind].sum())
    return Chunk(rows, slab, spots, value_room, shared_room)


def _spots(kinds: Kinds, slab: Slab) -> tuple[Spots, int]:
    """Give every cell its place in working memory; all roots use one and the same, after the others."""
    size, is_root = kinds.size[slab.kind], kinds.own[slab.kind] < 0
    kept = np.where(is_root, 0, size)
    scratch = int(kept.sum())
    shared = kinds.shared[slab.kind]
    shared_at = np.cumsum(shared) - shared
    linked = _sums(kinds.link_table >= 0, kinds.link_start) + _sums(kinds.read_table >= 0, kinds.read_start)
    led = _sums(slab.above >= 0, slab.child_start)
    spots = Spots(
        value=np.where(is_root, scratch, np.cumsum(kept) - kept),
        shared=shared_at,
        heard=shared_at[slab.child],
        plain=(linked[slab.kind] == 0) & (led == 0),
    )
    return spots, scratch + int(size[is_root].max(initial=0))


def _trimmed(slab: Slab, cells: int, separate: bool) -> Slab:
    """Keep what was used of the slab; without readouts of their own, cells read out their links."""
    base_start = slab.base_start[: cells + 1].copy()
    child_start = slab.child_start[: cells + 1].copy()
    read_start = slab.read_start[: cells + 1].copy() if separate else base_start
    base = slab.base[: base_start[-1]].copy()
    return Slab(
        kind=slab.kind[:cells].copy(),
        base=base,
        base_start=base_start,
        read=slab.read[: read_start[-1]].copy() if separate else base,
        read_start=read_start,
        child=slab.child[: child_start[-1]].copy(),
        above=slab.above[: child_start[-1]].copy(),
        child_start=child_start,
        weight=slab.weight[:cells].copy(),
        root=slab.root[: slab.root_start[-1]].copy(),
        root_start=slab.root_start,
    )


def _sums(values: NDArray[Any], start: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sum the values of each list, given where the lists start."""
    return np.diff(np.concatenate([[0], np.cumsum(values)])[start])


def _flat(lists: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    return np.array([x for one in lists for x in one], dtype=np.int32)


def _starts(lists: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(one) for one in lists)], dtype=np.int64)
