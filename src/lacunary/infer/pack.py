"""Lay rows out along a junction tree: all that does not depend on the parameters, worked out once.

Three ideas keep a sweep short. Rows that are alike are swept once. The open variables of a row fall apart
into *islands*, and rows share the tree restricted to an island. And a *shape* (a clique with some of its
variables open) owns its offset tables, whatever islands and rows it turns up in.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import room
from lacunary.data.pickling import given_state
from lacunary.data.table import HOLE, code_dtype
from lacunary.infer.forest import Ground, by_island, sort_sizes, trace
from lacunary.infer.parallel import in_parallel
from lacunary.infer.places import Places
from lacunary.infer.plan import junction_tree
from lacunary.infer.shape import (
    Nodes,
    distinct,
    flat,
    is_large,
    lengths_of,
    list_sums,
    refuse,
    running,
    sort_nodes,
    starts,
)
from lacunary.kernels.arena import Arena, arena_of_cells, cells_of, kinds_of
from lacunary.kernels.cell import Kinds, Spots
from lacunary.kernels.divide import Divided, divide_rows
from lacunary.kernels.folded import fold, unfold
from lacunary.kernels.lanes import LANES
from lacunary.kernels.lone import TOGETHER
from lacunary.kernels.pack import Slab, lay_rows
from lacunary.kernels.shown import Shown, count_shown
from lacunary.kernels.spans import notes
from lacunary.kernels.trace import Forest, Scopes
from lacunary.model.dag import Dag

__all__ = ["Chunk", "Packed", "pack"]

CHUNK_WORK, CHUNKS = 2_000_000, 4
"""Operations, about a nanosecond each, that make a chunk worth handing out; and how many chunks there are
before they grow instead: within a chunk rows share cells, so few large ones do less work than many small."""

PLACES, MANY, MOST = 128, 16, 2**25
"""Operations that a chunk has at least for every place there is, as it counts into places of its own, which
are cleared before and added up afterwards; and how many it has for each where that would be more than the
last."""

RUN = 2**14
"""Rows that are divided into islands together; others are at the same time."""

SPARSE, PRODUCTS, ENTRIES = 14, 128, 4096
"""Rows there must be for every product that a group's table has for one configuration of what is always seen;
the most products of one configuration of all parents; and the most entries of such a table."""

ALONE = 2**16
"""Numbers that the links of lone cells lead to, from which on parameter vectors are swept one by one, each in
its own call, if those of one cell fill a vector of the processor: all lanes together would take longer."""

WIDE = 2**22
"""Configurations of a chunk above which parameter vectors are swept one by one: eight would need much."""

FAR = 8 * 2**31
"""Bytes of working memory that can be reached: places in it are 32-bit numbers."""

MANY_CELLS, LARGE = 2048, 4
"""Cells from which on a chunk is folded if it takes so many times the bytes of the rows' codes. Fewer are
swept in too short a time."""

CELL, LINK, ENTRY = 128, 16, 4
"""Bytes that a node takes at most while it is laid out, each of its scopes, and an entry of a table."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of the rows, as cells that share what they have in common.

    Attributes
    ----------
    rows
        Which of the packed rows these are.
    kinds_arena
        What the cells are made of, in one piece, which the chunks of a stretch share; see `kinds`.
    cells, weight
        The cells in one piece, as a sweep takes them or `folded`, and their weights.
    value_room, shared_room, largest
        How much working memory there must be, and how many numbers a cell has at most, or notes.
    lanes
        How many parameter vectors are swept together at most.
    lone
        Whether `sweep_lone` can do it under one vector.
    folded
        Whether the cells are kept in few bytes, and laid out in full where they are asked for.
    """

    rows: slice
    kinds_arena: Arena
    cells: Arena
    weight: NDArray[np.float64]
    value_room: int
    shared_room: int
    largest: int
    lanes: int = LANES
    lone: bool = False
    folded: bool = False

    @property
    def arena(self) -> Arena:
        """The cells in one piece, as a sweep takes them."""
        return unfold(self.kinds_arena, self.cells, self.weight) if self.folded else self.cells

    @cached_property
    def kinds(self) -> Kinds:
        """What the cells are made of, as views of its arena."""
        return kinds_of(self.kinds_arena)

    @property
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
class Recipe:
    """How rows are laid out, which depends on the table alone.

    Attributes
    ----------
    places
        Where the families stand, and which holes are summed out beforehand.
    ground
        Scopes, sizes and the tree that all islands share.
    joined
        The variables that are open where they are a hole, and what each of them meets in a scope, as
        `divide_rows` takes them.
    width
        How many places each row's readouts take; none where rows add to counts.
    budget
        Bytes that may be used.
    """

    dag: Dag
    places: Places
    ground: Ground
    joined: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]
    width: int
    budget: int

    def lay(
        self, codes: NDArray[np.signedinteger], weights: NDArray[np.float64], cuts: Sequence[slice]
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float64]]:
        """Lay a stretch of rows out, cut into chunks; also return the counts of fully observed families."""
        divided = self.divided(codes[cuts[0].start : cuts[-1].stop])
        return self.laid(codes, weights, cuts, self.traced(divided), divided)

    def divided(self, codes: NDArray[np.signedinteger]) -> Divided:
        """Return the islands into which the open variables of each row fall, in the order they are met in."""
        runs = [codes[first : first + RUN] for first in range(0, len(codes), RUN)] or [codes]
        return _one_after_another(in_parallel(lambda run: divide_rows(run, *self.joined), runs))

    def traced(self, divided: Divided) -> Forest:
        """Return the nodes of all islands."""
        many = lengths_of(divided.member_start)
        islands = np.zeros((len(many), len(self.dag.schema)), dtype=np.bool_)
        islands[np.repeat(np.arange(len(many)), many), divided.member] = True
        return trace(self.ground, islands)

    def laid(
        self,
        codes: NDArray[np.signedinteger],
        weights: NDArray[np.float64],
        cuts: Sequence[slice],
        forest: Forest,
        divided: Divided,
    ) -> tuple[tuple[Chunk, ...], NDArray[np.float64]]:
        """Do as `lay` with the nodes of all islands, and the islands of the rows from the first cut on."""
        separate = self.width > 0
        factors = len(self.places.factors)
        nodes = sort_nodes(
            self.dag, self.ground.scopes, factors, forest, separate=separate, budget=self.budget
        )
        kinds_arena, first = nodes.arena, cuts[0].start
        many = (
            lengths_of(forest.node_start),
            by_island(lengths_of(forest.scope_start), forest).astype(np.int64),
        )

        def lay(part: slice) -> tuple[Chunk, NDArray[np.float64]]:
            start = divided.start[part.start - first : part.stop - first + 1]
            mine = divided.island[start[0] : start[-1]]
            room = int(many[0][mine].sum()), int(many[1][mine].sum())
            islands = mine, start - start[0]
            return _chunk(self, part, forest, nodes, kinds_arena, room, codes[part], weights[part], islands)

        found = list(in_parallel(lay, cuts))
        constant = sum((observed for _, observed in found), start=np.zeros(self.places.size))
        return tuple(chunk for chunk, _ in found), constant


@dataclass(frozen=True, eq=False)
class Packed:
    """Rows ready to be swept under any parameters of one graph.

    Attributes
    ----------
    recipe
        How the rows are laid out.
    cuts
        Runs of rows, stretch by stretch, that can be swept apart from each other.
    kept
        The chunks of each stretch; None where they are laid out anew for each sweep, for want of memory.
    counted
        Counts of fully observed families over all rows, which no parameter changes; (places,).
    codes, weights
        The rows' states, ``HOLE`` where open, and weights; (rows, variables) and (rows,).
    """

    recipe: Recipe
    cuts: tuple[tuple[slice, ...], ...]
    kept: tuple[tuple[Chunk, ...] | None, ...]
    counted: NDArray[np.float64]
    codes: NDArray[np.signedinteger]
    weights: NDArray[np.float64]

    def __getstate__(self) -> dict[str, Any]:
        # Views are not copied beside what they are views of.
        return given_state(self)

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.recipe.dag

    @property
    def stretches(self) -> Iterator[tuple[Chunk, ...]]:
        """The chunks, some at a time: those that are not kept are laid out when it is their turn."""
        for cuts, kept in zip(self.cuts, self.kept, strict=True):
            yield self.recipe.lay(self.codes, self.weights, cuts)[0] if kept is None else kept

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks at once."""
        return tuple(chunk for chunks in self.stretches for chunk in chunks)

    @property
    def arena(self) -> Arena:
        """What the cells of the first stretch are made of, in one piece."""
        return next(self.stretches)[0].kinds_arena

    @property
    def kinds(self) -> Kinds:
        """What the cells of the first stretch are made of, as views of the arena."""
        return next(self.stretches)[0].kinds

    @cached_property
    def constant(self) -> NDArray[np.float64]:
        """Counts of the families that rows show whole; (layout size,)."""
        return self.recipe.places.shown(self.counted)

    @cached_property
    def nonzero(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Where the constant counts are not zero, and what they are there."""
        places = np.flatnonzero(self.counted)
        return places, self.counted[places]

    @cached_property
    def shown(self) -> Shown:
        """The rows in which nothing of a factor is open, and where they lead among all places."""
        places, found = self.recipe.places, [(np.empty(0, dtype=np.int64),) * 2]
        coded = places.coded(self.codes)
        for members, strides, start in places.factors:
            codes = coded[list(members)]
            rows = np.flatnonzero((codes != HOLE).all(axis=0))
            found.append((rows, start + np.array(strides, dtype=np.int64) @ codes[:, rows].astype(np.int64)))
        return Shown(*(np.concatenate(each).astype(np.int32) for each in zip(*found, strict=True)))

    def weighed(self, weights: NDArray[np.float64]) -> Packed:
        """Return the same rows with other weights; (rows,)."""
        counted = np.zeros(self.recipe.places.size)
        count_shown(self.shown, weights, counted)
        kept = tuple(
            chunks and tuple(_weighed_chunk(chunk, weights[chunk.rows]) for chunk in chunks)
            for chunks in self.kept
        )
        return replace(self, kept=kept, counted=counted, weights=weights)


def _weighed_chunk(chunk: Chunk, weights: NDArray[np.float64]) -> Chunk:
    if not len(chunk.weight):  # of rows without holes
        return chunk
    slab = chunk.slab
    of_roots = np.repeat(weights, lengths_of(slab.root_start))
    weight = np.bincount(slab.root, of_roots, minlength=len(slab.kind)).astype(np.float64, copy=False)
    return replace(chunk, weight=weight)


def pack(
    dag: Dag,
    codes: NDArray[np.signedinteger],
    weights: NDArray[np.float64],
    *,
    targets: Sequence[Sequence[int]] | None = None,
    budget: int | None = None,
    whole: bool = False,
    grouped: bool = True,
) -> Packed:
    """Lay rows out along junction trees of the graph.

    Parameters
    ----------
    dag, codes, weights
        The graph, and rows over its variables; (rows, variables) and (rows,).
    targets
        Sets of variables whose joint posterior is read out of each row, into a place of its own;
        by default the families are read out, into places that all rows share.
    budget
        Bytes that may be used, by default all there are; rows that need more together are laid out anew for
        each sweep, some at a time, and a row that needs more by itself raises `TooWideError`.
    whole
        Keep all chunks, and in them a configuration of every hole, as completions need it.
    grouped
        Lay some childless variables out together where that spares work; see `Places`.
    """
    budget = room() if budget is None else budget
    sizes = dag.schema.sizes
    rows = np.array(codes, dtype=code_dtype(sizes), order="C")
    rows[:, [i for i, size in enumerate(sizes) if size == 1]] = 0  # known without looking
    ever_open = _ever_open(rows)
    summed = ever_open & _childless(dag, targets or ()) & (not whole)
    lone = whole or not grouped or targets is not None
    groups = () if lone else _groups(dag, summed, ever_open & ~summed, len(rows))
    turned = () if whole else _turned(dag, groups, summed)
    places = Places(dag.layout, summed, groups, turned)
    recipe = _kept_recipe(dag, places, ever_open & ~summed, targets or (), budget)
    divided = recipe.divided(rows)
    forest = recipe.traced(divided)
    size = sort_sizes(forest, recipe.ground.sizes)
    _check_widest(dag, forest, size, budget)
    weight = np.array(weights, dtype=np.float64)
    cuts = _parts(forest, size, divided, recipe.places.size)
    stretches = [cuts] if whole else _stretches(forest, size, divided, cuts, budget)
    if len(stretches) == 1:
        chunks, counted = recipe.laid(rows, weight, cuts, forest, divided)
        return Packed(recipe, (tuple(cuts),), (chunks,), counted, rows, weight)
    del forest, divided
    return _in_stretches(recipe, rows, weight, stretches)


def _one_after_another(runs: Sequence[Divided]) -> Divided:
    """Return runs of rows as one, as if they had been divided together: islands by their first row."""
    if len(runs) == 1:
        return runs[0]
    member = np.concatenate([run.member for run in runs])
    start = running(np.concatenate([lengths_of(run.member_start) for run in runs]))
    number, first = distinct(member, start)
    before = running(np.array([len(run.member_start) - 1 for run in runs]))
    rows = running(np.array([run.start[-1] for run in runs]))
    listed = [number[at:][run.island].astype(np.int32) for run, at in zip(runs, before, strict=False)]
    begun = [run.start[:-1] + at for run, at in zip(runs, rows, strict=False)]
    lengths = lengths_of(start)[first]
    ends = running(lengths)
    kept = member[np.arange(ends[-1]) + np.repeat(start[first] - ends[:-1], lengths)]
    return Divided(np.concatenate(listed), np.concatenate([*begun, rows[-1:]]), kept, ends)


def _ever_open(codes: NDArray[np.signedinteger]) -> NDArray[np.bool_]:
    """Return which columns have a hole; (variables,). Rows are looked at 64 side by side, as they lie."""
    width, many = codes.shape[1], len(codes) // 64
    first = (codes[: 64 * many] == HOLE).reshape(many, 64 * width).any(axis=0)
    return np.asarray(first.reshape(64, width).any(axis=0) | (codes[64 * many :] == HOLE).any(axis=0))


def _in_stretches(
    recipe: Recipe,
    codes: NDArray[np.signedinteger],
    weights: NDArray[np.float64],
    stretches: Sequence[Sequence[slice]],
) -> Packed:
    """Lay rows out some at a time, and keep as many stretches as half of the budget holds."""
    kept: list[tuple[Chunk, ...] | None] = []
    counted, left = np.zeros(recipe.places.size), recipe.budget / 2
    for cuts in stretches:
        chunks, constant = recipe.lay(codes, weights, cuts)
        counted += constant
        left -= chunks[0].kinds_arena.nbytes + sum(c.cells.nbytes + c.weight.nbytes for c in chunks)
        kept.append(chunks if left >= 0 else None)
        del chunks  # or those that are not kept would be there while the next are laid out
    return Packed(recipe, tuple(map(tuple, stretches)), tuple(kept), counted, codes, weights)


def _childless(dag: Dag, targets: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Return which variables nothing but their own family depends on, nor is asked about; (variables,)."""
    asked = {v for target in targets for v in target}
    return np.array([not children and i not in asked for i, children in enumerate(dag.child_indices)])


def _groups(
    dag: Dag, summed: NDArray[np.bool_], ever_open: NDArray[np.bool_], rows: int
) -> tuple[tuple[int, ...], ...]:
    """Return childless variables that have the same parents, one of which is open somewhere, some at a time.

    Tied tables stay alone, and so do those whose products would be too many, for the rows or for the cache.
    """
    layout, once, found = dag.layout, Counter(dag.layout.start), []
    waiting: dict[tuple[int, ...], tuple[list[int], int]] = {}
    for i in np.flatnonzero(_childless(dag, ())).tolist():
        parents, states = layout.members[i][1:], layout.states[i] + int(summed[i])
        seen = math.prod(layout.states[p] for p in parents if not ever_open[p])
        most = min(rows // (SPARSE * seen), PRODUCTS, ENTRIES // layout.configurations[i])
        if once[layout.start[i]] > 1 or not ever_open[list(parents)].any() or 2 * states > most:
            continue
        group, length = waiting.get(parents, ([], 1))
        if length * states > most:
            found.append(group)
            group, length = [], 1
        waiting[parents] = [*group, i], length * states
    found += [group for group, _ in waiting.values()]
    return tuple(tuple(group) for group in found if len(group) > 1)


def _ranks(dag: Dag) -> NDArray[np.int64]:
    """Return where each variable stands in cliques: parents behind their children, as in families."""
    rank = np.empty(len(dag.names), dtype=np.int64)
    rank[list(dag.order_indices)] = np.arange(len(rank))[::-1]
    return rank


def _turned(
    dag: Dag, groups: tuple[tuple[int, ...], ...], summed: NDArray[np.bool_]
) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return the large tables whose parents are not in the order of cliques, with that order; see `Places`.

    Tied tables, whose parents are not the same, stay as they are, and so do those of groups and those
    with sums.
    """
    layout, rank, once = dag.layout, _ranks(dag), Counter(dag.layout.start)
    grouped, found = {i for group in groups for i in group}, []
    for i in layout.blocks:
        parents = layout.members[i][1:]
        order = tuple(sorted(range(len(parents)), key=lambda k: rank[parents[k]]))
        if list(order) == sorted(order) or once[layout.start[i]] > 1 or i in grouped or summed[i]:
            continue
        if is_large([layout.states[i], *(layout.states[parents[k]] for k in order)]):
            found.append((i, order))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A recipe, and what it is for."""

    key: tuple[Any, ...]
    recipe: Recipe


def _kept_recipe(
    dag: Dag,
    places: Places,
    ever_open: NDArray[np.bool_],
    targets: Sequence[Sequence[int]],
    budget: int,
) -> Recipe:
    """Return the recipe for these open variables; the last one is kept with the graph."""
    key = (
        places.summed.tobytes(),
        places.groups,
        places.turned,
        ever_open.tobytes(),
        tuple(map(tuple, targets)),
    )
    kept: _Kept | None = dag.__dict__.get("_last_recipe")
    if kept is None or kept.key != key:
        kept = dag.__dict__["_last_recipe"] = _Kept(key, _recipe(dag, places, ever_open, targets, budget))
    return kept.recipe if kept.recipe.budget == budget else replace(kept.recipe, budget=budget)


def _recipe(
    dag: Dag,
    places: Places,
    ever_open: NDArray[np.bool_],
    targets: Sequence[Sequence[int]],
    budget: int,
) -> Recipe:
    """Find a junction tree over the variables that are ever open, and list the scopes it must hold."""
    sizes, width = dag.schema.sizes, 0
    members, strides, start = (list(each) for each in zip(*places.factors, strict=True))
    for target in targets:
        below = np.cumprod([1, *(sizes[v] for v in reversed(target))])[::-1]
        members.append(tuple(target))
        strides.append(tuple(int(b) for b in below[1:]))
        start.append(width)
        width += int(below[0])
    rank = _ranks(dag)
    opened = [[v for v in scope if ever_open[v]] for scope in members]
    tree = junction_tree(opened, sizes, rank.tolist())
    scopes = Scopes(
        member=flat(members),
        stride=flat(strides),
        member_start=starts(members),
        start=np.array(start, dtype=np.int32),
        user=_users(members),
        user_start=running(np.bincount(flat(members), minlength=len(sizes))),
    )
    ground = Ground.of(scopes, sizes, rank.tolist(), tree)
    joined = np.flatnonzero(ever_open), *_meetings(opened, len(sizes))
    return Recipe(dag, places, ground, joined, width, budget)


def _meetings(scopes: Sequence[Sequence[int]], variables: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return which variables each shares a scope with, and where its list of them starts."""
    met: list[set[int]] = [set() for _ in range(variables)]
    for scope in scopes:
        for v in scope:
            met[v].update(scope)
    lists = [sorted(others - {v}) for v, others in enumerate(met)]
    return flat(lists), starts(lists)


def _users(members: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """Return the scopes of which each variable is a member, variable by variable."""
    scope = np.repeat(np.arange(len(members)), [len(one) for one in members])
    return scope[np.argsort(flat(members), kind="stable")].astype(np.int32)


def _check_widest(dag: Dag, forest: Forest, size: NDArray[np.float64], budget: int) -> None:
    """Refuse a node that would need too much working memory by itself."""
    if size.size and size.max() * 8 > budget:
        widest = int(size.argmax())
        clique = forest.member[forest.member_start[widest] : forest.member_start[widest + 1]]
        refuse(dag, clique.tolist(), float(size.max()) * 8, budget)


def _parts(forest: Forest, size: NDArray[np.float64], divided: Divided, places: int) -> list[slice]:
    """Cut the rows into parts of about equal work, neither too small to hand out nor too large to keep.

    The cut depends on the rows alone, so that sums come out the same on any number of threads.
    """
    work = _up_to(by_island((3 + lengths_of(forest.scope_start)) * (size + 4), forest), divided)
    total, rows = int(work[-1]), len(work) - 1
    enough = max(2 * CHUNK_WORK, min(PLACES * places, max(MANY * places, MOST)))
    parts = max(min(total // CHUNK_WORK, CHUNKS), total // enough, 1)
    parts -= parts % CHUNKS if parts > CHUNKS else 0  # or else two threads, or four, would not end together
    cuts = np.searchsorted(work[1:], np.arange(1, parts) * (total / parts))
    edges = sorted({0, *cuts.tolist(), rows})
    return [slice(a, b) for a, b in pairwise(edges)] or [slice(0, 0)]


def _up_to(values: NDArray[np.float64], divided: Divided) -> NDArray[np.float64]:
    """Add up what islands have, over all rows before each; (rows + 1,)."""
    return np.asarray(running(values[divided.island])[divided.start])


def _stretches(
    forest: Forest, size: NDArray[np.float64], divided: Divided, cuts: Sequence[slice], budget: int
) -> list[list[slice]]:
    """Join parts into stretches that are laid out together, each of which takes a quarter of the budget."""
    scopes = lengths_of(forest.scope_start)
    tables = by_island(ENTRY * size * (scopes + 2), forest)  # shared by all rows with the island
    cells, met = by_island(CELL + LINK * scopes, forest), np.bincount(divided.island, minlength=len(tables))
    if met @ cells + tables.sum() <= budget / 4:
        return [list(cuts)]
    filled = _up_to(cells + tables / met, divided)[1:] // (budget / 4)
    group = [int(filled[max(part.stop - 1, 0)]) for part in cuts]
    return [[part for part, g in zip(cuts, group, strict=True) if g == which] for which in sorted(set(group))]


def _chunk(
    recipe: Recipe,
    rows: slice,
    forest: Forest,
    nodes: Nodes,
    kinds_arena: Arena,
    room: tuple[int, int],
    codes: NDArray[np.signedinteger],
    weights: NDArray[np.float64],
    islands: tuple[NDArray[np.int32], NDArray[np.int64]],
) -> tuple[Chunk, NDArray[np.float64]]:
    """Lay some rows out as cells; also return the counts of their fully observed families.

    ``room`` are the nodes and scopes of all rows, which are more than the cells and links that they share;
    ``islands`` are those of the rows, and where each row's begin.
    """
    many, links = room
    separate = recipe.width > 0
    constant = np.zeros(recipe.places.size)
    out = Slab(
        kind=np.empty(many + 1, dtype=np.int32),
        base=np.empty(links, dtype=np.int32),
        base_start=np.zeros(many + 2, dtype=np.int32),
        read=np.empty(links if separate else 0, dtype=np.int32),
        read_start=np.zeros(many + 2, dtype=np.int32),
        child=np.empty(many, dtype=np.int32),
        above=np.empty(many, dtype=np.int32),
        child_start=np.zeros(many + 2, dtype=np.int32),
        weight=np.empty(many + 1),
        root=np.empty(many, dtype=np.int32),
        root_start=np.zeros(len(weights) + 1, dtype=np.int32),
    )
    cells = lay_rows(
        forest,
        nodes.kind,
        nodes.above,
        recipe.ground.scopes,
        len(recipe.places.factors),
        codes,
        recipe.places.of_holes,
        recipe.width,
        weights,
        islands,
        constant,
        out,
    )
    slab = _trimmed(out, cells, separate)
    if len(nodes.kinds.span):
        slab = _alike_together(nodes.kinds, slab)
    spots, turns = _spots(nodes, slab)
    value_room = turns[0] + turns[1] * turns[2]
    shared_room = int(nodes.kinds.shared[slab.kind].sum())
    largest, lone = int(nodes.kinds.size.max(initial=0)), _is_lone(nodes.kinds, slab, spots)
    alone = lone and largest >= LANES and len(slab.base) * largest >= ALONE
    spare = _large_room(nodes.kinds, slab) if rows.stop - rows.start > 1 else 0
    lanes = min(_lanes(recipe, nodes.kinds, value_room + 2 * shared_room, spare), 1 if alone else LANES)
    arena = arena_of_cells(slab, spots)
    if len(nodes.kinds.span) and cells:
        met = lengths_of(slab.base_start) + lengths_of(slab.child_start)
        spans = nodes.kinds.span.reshape(-1, 4)
        largest = max(largest, notes(int(met.max()), int((spans[:, 1] // spans[:, 3]).max())))
    room_of, folded = (value_room + largest * lone, shared_room, largest), None
    if not separate and cells >= MANY_CELLS and arena.nbytes + slab.weight.nbytes > LARGE * codes.nbytes:
        folded = fold(nodes.kinds, slab, spots, arena, turns)
    kept = arena if folded is None else folded
    return Chunk(rows, kinds_arena, kept, slab.weight, *room_of, lanes, lone, folded is not None), constant


def _is_lone(kinds: Kinds, slab: Slab, spots: Spots) -> bool:
    """Tell whether all cells are roots of one kind that is not large, without children or tables."""
    alike = len(slab.kind) > 0 and not len(slab.child) and bool((slab.kind == slab.kind[0]).all())
    return alike and bool(kinds.own[slab.kind[0]] < 0 and spots.plain.all()) and not len(kinds.span)


def _large_room(kinds: Kinds, slab: Slab) -> int:
    """Return how much working memory is for the values of large cells, which hardly any sweep writes to."""
    large = lengths_of(kinds.span_start)[kinds.shape[slab.kind]] > 0
    return int(kinds.size[slab.kind[large & (kinds.own[slab.kind] >= 0)]].sum())


def _lanes(recipe: Recipe, kinds: Kinds, wide: int, spare: int) -> int:
    """Return how many parameter vectors a chunk is swept under together; refuse it if not even one fits.

    One vector can do without ``spare`` of ``wide`` numbers.
    """
    if wide > FAR // 8 or (wide - spare) * 8 > recipe.budget:
        shape = kinds.shape[kinds.size.argmax()]
        clique = kinds.member[kinds.member_start[shape] : kinds.member_start[shape + 1]]
        refuse(recipe.dag, clique.tolist(), wide * 8.0, recipe.budget)
    return LANES if wide <= WIDE and wide * 8 * LANES <= recipe.budget else 1


def _spots(nodes: Nodes, slab: Slab) -> tuple[Spots, tuple[int, int, int]]:
    """Give every cell its place in working memory; roots take turns in a few places after the others.

    Also return behind how many numbers, how many places, and how large these are.
    """
    kinds = nodes.kinds
    size, is_root = kinds.size[slab.kind], kinds.own[slab.kind] < 0
    kept = np.where(is_root, 0, size)
    scratch = int(kept.sum())
    shared = kinds.shared[slab.kind]
    shared_at = (np.cumsum(shared) - shared).astype(np.int32)
    led = list_sums(slab.above >= 0, slab.child_start)
    largest = int(size[is_root].max(initial=1))
    turns = max(min(TOGETHER // largest, int(is_root.sum())), 1)
    spots = Spots(
        value=np.where(
            is_root, scratch + np.cumsum(is_root) % turns * largest, np.cumsum(kept) - kept
        ).astype(np.int32),
        shared=shared_at,
        child_message=shared_at[slab.child],
        plain=nodes.plain[slab.kind] & (led == 0),
    )
    return spots, (scratch, turns, largest)


def _alike_together(kinds: Kinds, slab: Slab) -> Slab:
    """Return the cells level by level, leaves first; side by side are those that meet the same numbers.

    Large cells would otherwise fetch their tables from far away, one row after the other.
    """
    of = np.repeat(np.arange(len(slab.kind)), lengths_of(slab.child_start))
    height, more = np.zeros(len(slab.kind), dtype=np.int64), True
    while more:  # as often as the highest tree is high
        raised = height.copy()
        np.maximum.at(raised, of, height[slab.child] + 1)
        more, height = bool((raised != height).any()), raised
    first = np.where(
        lengths_of(slab.base_start) > 0, slab.base[np.minimum(slab.base_start[:-1], len(slab.base) - 1)], -1
    )
    order = np.lexsort((first, kinds.shape[slab.kind], height))
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)

    def ragged(start: NDArray[np.int32], *lists: NDArray[np.int32]) -> list[NDArray[np.int32]]:
        lengths = lengths_of(start)[order]
        ends = running(lengths).astype(np.int32)
        items = np.arange(ends[-1]) + np.repeat(start[:-1][order] - ends[:-1], lengths)
        return [*(one[items] for one in lists), ends]

    base, base_start = ragged(slab.base_start, slab.base)
    read, read_start = (base, base_start) if slab.read is slab.base else ragged(slab.read_start, slab.read)
    child, above, child_start = ragged(slab.child_start, slab.child, slab.above)
    return Slab(
        slab.kind[order], base, base_start, read, read_start, place[child], above, child_start,
        slab.weight[order], place[slab.root], slab.root_start,
    )  # fmt: skip


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
