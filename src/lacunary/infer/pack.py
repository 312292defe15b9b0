"""Lay rows out along a junction tree: all that does not depend on the parameters, worked out once.

Three ideas keep a sweep short. Rows that are alike are swept once. Rows with the same holes share a
*pattern*: the tree restricted to their open variables. And a *shape* (a clique with some of its
variables open) owns its offset tables, whatever patterns and rows it turns up in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import room
from lacunary.data.pickling import given_state
from lacunary.data.table import HOLE, unique_rows
from lacunary.infer.forest import trace
from lacunary.infer.parallel import in_parallel
from lacunary.infer.plan import JunctionTree, junction_tree
from lacunary.infer.shape import Nodes, flat, list_sums, refuse, sort_nodes, starts
from lacunary.kernels.arena import Arena, arena_of_cells, arena_of_kinds, cells_of, kinds_of
from lacunary.kernels.cell import Kinds, Spots
from lacunary.kernels.lanes import LANES
from lacunary.kernels.pack import Slab, lay_rows
from lacunary.kernels.trace import Forest, Scopes
from lacunary.model.dag import Dag

__all__ = ["Chunk", "Packed", "pack"]

CHUNK_WORK, CHUNKS = 2_000_000, 4
"""Operations, about a nanosecond each, that make a chunk worth handing out; and how many chunks there are
before they grow instead: within a chunk rows share cells, so few large ones do less work than many small."""

ROOTS = 1024
"""Configurations of roots that are kept until they are read together."""

NO_REALS = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of the rows, as cells that share what they have in common.

    Attributes
    ----------
    rows
        Which of the packed rows these are.
    arena, weight
        The cells in one piece, as a sweep takes them, and their weights.
    value_room, shared_room
        How much working memory there must be.
    """

    rows: slice
    arena: Arena
    weight: NDArray[np.float64]
    value_room: int
    shared_room: int

    @classmethod
    def of(cls, rows: slice, slab: Slab, spots: Spots, value_room: int, shared_room: int) -> Chunk:
        """Return a chunk of these cells, whose arrays are copied."""
        return cls(rows, arena_of_cells(slab, spots), slab.weight, value_room, shared_room)

    @cached_property
    def _cells(self) -> tuple[Slab, Spots]:
        return cells_of(self.arena, self.weight)

    @property
    def slab(self) -> Slab:
        """The cells, as views of the arena."""
        return self._cells[0]

    @property
    def spots(self) -> Spots:
        """Where the cells lie in working memory, as views of the arena."""
        return self._cells[1]

    def __getstate__(self) -> dict[str, Any]:
        # Views are not copied beside what they are views of.
        return given_state(self)


@dataclass(frozen=True, eq=False)
class Packed:
    """Rows ready to be swept under any parameters of one graph.

    Attributes
    ----------
    arena
        What the cells of all chunks are made of, in one piece; see `kinds`.
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
    arena: Arena
    chunks: tuple[Chunk, ...]
    scopes: Scopes
    constant: NDArray[np.float64]
    codes: NDArray[np.int32]
    weights: NDArray[np.float64]

    def __getstate__(self) -> dict[str, Any]:
        # Views are not copied beside what they are views of.
        return given_state(self)

    @cached_property
    def kinds(self) -> Kinds:
        """What the cells of all chunks are made of, as views of the arena."""
        return kinds_of(self.arena)

    @cached_property
    def counted(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Where the constant counts are not zero, and what they are there."""
        places = np.flatnonzero(self.constant)
        return places, self.constant[places]

    @cached_property
    def observed(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each family, the rows in which it is fully observed and where they lead in its table."""
        layout, found = self.dag.layout, []
        for members, strides in zip(layout.members, layout.strides, strict=True):
            codes = self.codes[:, members]
            rows = np.flatnonzero((codes != HOLE).all(axis=1))
            found.append((rows, codes[rows] @ np.array(strides)))
        return found

    def weighed(self, weights: NDArray[np.float64]) -> Packed:
        """Return the same rows with other weights; (rows,)."""
        layout, constant = self.dag.layout, np.zeros(self.dag.layout.size)
        for i, (rows, places) in enumerate(self.observed):
            table = constant[layout.slice(i)]
            table += np.bincount(places, weights[rows], minlength=len(table))
        chunks = tuple(_weighed_chunk(chunk, weights[chunk.rows]) for chunk in self.chunks)
        return replace(self, chunks=chunks, constant=constant, weights=weights)


def _weighed_chunk(chunk: Chunk, weights: NDArray[np.float64]) -> Chunk:
    slab = chunk.slab
    of_roots = np.repeat(weights, np.diff(slab.root_start))
    weight = np.bincount(slab.root, of_roots, minlength=len(slab.kind)).astype(np.float64, copy=False)
    return replace(chunk, weight=weight)


def pack(
    dag: Dag,
    codes: NDArray[np.signedinteger],
    weights: NDArray[np.float64],
    *,
    targets: Sequence[Sequence[int]] | None = None,
    budget: int | None = None,
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
        Bytes that may be used, by default all there are; a network that needs more raises `TooWideError`.
    """
    budget = room() if budget is None else budget
    rows = np.array(codes, dtype=np.int32, order="C")
    rows[:, [i for i, size in enumerate(dag.schema.sizes) if size == 1]] = 0  # known without looking
    is_open = rows == HOLE
    scopes, tree = _plan(dag, is_open.any(axis=0), targets or ())
    first, pattern = unique_rows(
        np.where(is_open, HOLE, 0), np.ones(len(dag.schema), dtype=np.int64), NO_REALS
    )
    sizes = np.array(dag.schema.sizes, dtype=np.int64)
    forest = trace(tree, scopes, sizes, is_open[first])
    nodes = sort_nodes(dag, tree, scopes, forest, separate=targets is not None, budget=budget)
    width = sum(int(np.prod([dag.schema.sizes[v] for v in target])) for target in targets or ())
    weight = np.array(weights, dtype=np.float64)

    def lay(part: slice) -> tuple[Chunk, NDArray[np.float64]]:
        return _chunk(dag, part, forest, nodes, scopes, width, rows, weight, pattern)

    laid = list(in_parallel(lay, _parts(forest, nodes.kinds.size[nodes.kind], pattern)))
    for chunk, _ in laid:
        _check_room(dag, nodes.kinds, chunk, budget)
    constant = sum((observed for _, observed in laid), start=np.zeros(dag.layout.size))
    chunks, arena = tuple(chunk for chunk, _ in laid), arena_of_kinds(nodes.kinds)
    return Packed(dag, arena, chunks, scopes, constant, rows, weight)


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
        member=flat(members),
        stride=flat(strides),
        member_start=starts(members),
        start=np.array(start, dtype=np.int32),
        home=np.array(tree.home, dtype=np.int32),
    ), tree


def _parts(forest: Forest, size: NDArray[np.int64], pattern: NDArray[np.int64]) -> list[slice]:
    """Cut the rows into parts of about equal work, neither too small to hand out nor too large to keep.

    The cut depends on the rows alone, so that sums come out the same on any number of threads.
    """
    cost = list_sums((3 + np.diff(forest.scope_start)) * (size + 4), forest.node_start)
    work = np.cumsum(cost[pattern])
    total = int(work[-1]) if len(work) else 0
    parts = max(min(total // CHUNK_WORK, CHUNKS), total // (2 * CHUNK_WORK), 1)
    cuts = np.searchsorted(work, np.arange(1, parts) * (total / parts))
    edges = np.unique(np.concatenate([[0], cuts, [len(pattern)]]))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def _chunk(
    dag: Dag,
    rows: slice,
    forest: Forest,
    nodes: Nodes,
    scopes: Scopes,
    width: int,
    codes: NDArray[np.int32],
    weights: NDArray[np.float64],
    pattern: NDArray[np.int64],
) -> tuple[Chunk, NDArray[np.float64]]:
    """Lay some rows out as cells; also return the counts of their fully observed families."""
    mine = pattern[rows]
    many = int(np.diff(forest.node_start)[mine].sum())
    links = int(np.diff(forest.scope_start[forest.node_start])[mine].sum())
    separate = width > 0
    constant = np.zeros(dag.layout.size)
    out = Slab(
        kind=np.empty(many + 1, dtype=np.int32),
        base=np.empty(links, dtype=np.int32),
        base_start=np.zeros(many + 2, dtype=np.int64),
        read=np.empty(links if separate else 0, dtype=np.int32),
        read_start=np.zeros(many + 2, dtype=np.int64),
        child=np.empty(many, dtype=np.int32),
        above=np.empty(many, dtype=np.int64),
        child_start=np.zeros(many + 2, dtype=np.int64),
        weight=np.empty(many + 1),
        root=np.empty(many, dtype=np.int32),
        root_start=np.zeros(len(mine) + 1, dtype=np.int64),
    )
    cells = lay_rows(
        forest,
        nodes.kind,
        nodes.above,
        scopes,
        len(dag.schema),
        width,
        codes[rows],
        weights[rows],
        mine,
        constant,
        out,
    )
    slab = _trimmed(out, cells, separate)
    spots, value_room = _spots(nodes, slab)
    shared_room = int(nodes.kinds.shared[slab.kind].sum())
    return Chunk.of(rows, slab, spots, value_room, shared_room), constant


def _check_room(dag: Dag, kinds: Kinds, chunk: Chunk, budget: int) -> None:
    """Refuse a chunk whose cells would need too much working memory together."""
    needed = (chunk.value_room + 2.0 * chunk.shared_room) * 8 * LANES
    if needed > budget:
        shape = kinds.shape[kinds.size.argmax()]
        clique = kinds.member[kinds.member_start[shape] : kinds.member_start[shape + 1]]
        refuse(dag, clique.tolist(), needed, budget)


def _spots(nodes: Nodes, slab: Slab) -> tuple[Spots, int]:
    """Give every cell its place in working memory; roots take turns in a few places after the others."""
    kinds = nodes.kinds
    size, is_root = kinds.size[slab.kind], kinds.own[slab.kind] < 0
    kept = np.where(is_root, 0, size)
    scratch = int(kept.sum())
    shared = kinds.shared[slab.kind]
    shared_at = np.cumsum(shared) - shared
    led = list_sums(slab.above >= 0, slab.child_start)
    largest = int(size[is_root].max(initial=1))
    turns = max(min(ROOTS // largest, int(is_root.sum())), 1)
    spots = Spots(
        value=np.where(is_root, scratch + np.cumsum(is_root) % turns * largest, np.cumsum(kept) - kept),
        shared=shared_at,
        child_message=shared_at[slab.child].astype(np.int32),
        plain=nodes.plain[slab.kind] & (led == 0),
    )
    return spots, scratch + turns * largest


def _trimmed(slab: Slab, cells: int, separate: bool) -> Slab:
    """Return views of what was used of the slab; without readouts of their own, cells read out their links.

    The weights are copied, as a chunk keeps them.
    """
    base_start = slab.base_start[: cells + 1]
    child_start = slab.child_start[: cells + 1]
    read_start = slab.read_start[: cells + 1] if separate else base_start
    base = slab.base[: base_start[-1]]
    return Slab(
        kind=slab.kind[:cells],
        base=base,
        base_start=base_start,
        read=slab.read[: read_start[-1]] if separate else base,
        read_start=read_start,
        child=slab.child[: child_start[-1]],
        above=slab.above[: child_start[-1]],
        child_start=child_start,
        weight=slab.weight[:cells].copy(),
        root=slab.root[: slab.root_start[-1]],
        root_start=slab.root_start,
    )
