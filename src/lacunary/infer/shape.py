"""Shapes, offset tables and kinds: what nodes have in common, worked out once for all of them.

A *shape* is a set of open variables within a clique. A *table* leads from each configuration of a shape
to a place in a family's parameters, or among the configurations a node shares with its parent. A *kind*
is a shape with the scopes attached to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import said
from lacunary.errors import TooWideError
from lacunary.kernels.arena import Arena, arena_of_kinds, kinds_of
from lacunary.kernels.cell import Kinds
from lacunary.kernels.pack import distinct_lists, fill_offsets
from lacunary.kernels.spans import BLOCK, filled
from lacunary.kernels.trace import Forest, Scopes
from lacunary.model.dag import Dag

__all__ = [
    "Nodes",
    "distinct",
    "flat",
    "is_large",
    "lengths_of",
    "list_sums",
    "refuse",
    "running",
    "sort_nodes",
    "starts",
]


LARGE, RUN = 128, 4
"""Configurations from which on a cell is taken by runs, if its last variable has so many states or more."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """The kinds of nodes there are, also as an arena, the kind of each, and the table its parent hears it by.

    ``plain[k]`` tells that cells of kind k need no table for their links and readouts.
    """

    arena: Arena
    kinds: Kinds
    kind: NDArray[np.int64]
    above: NDArray[np.int64]
    plain: NDArray[np.bool_]


def sort_nodes(
    dag: Dag, scopes: Scopes, factors: int, forest: Forest, *, separate: bool, budget: int
) -> Nodes:
    """Find what nodes have in common; with ``separate`` readouts factors, the first scopes, are not read."""
    shapes = _shapes(dag, forest)
    joint, example = distinct(forest.joint, forest.joint_start)
    joints = _lists(forest.joint, forest.joint_start, example)
    kind, first = _distinct_kinds(forest, shapes, joint)
    lengths = lengths_of(forest.scope_start)[first]
    ends = running(lengths)
    scope = forest.scope[np.arange(ends[-1]) + np.repeat(forest.scope_start[first] - ends[:-1], lengths)]
    shape = shapes.of_sort[first]
    inner = np.flatnonzero(lengths_of(forest.joint_start)[first])
    joined = np.flatnonzero(forest.up >= 0)
    parent = np.repeat(forest.node_start[:-1], lengths_of(forest.node_start))[joined] + forest.up[joined]
    goals = len(scopes.start) + len(joints)  # a table leads to a scope or to what nodes have in common
    keys = np.concatenate(
        [
            np.repeat(shape, lengths) * goals + scope,
            shape[inner] * goals + len(scopes.start) + joint[first[inner]],
            shapes.of_sort[forest.sort[parent]] * goals + len(scopes.start) + joint[forest.sort[joined]],
        ]
    )
    links, owned = len(scope), len(scope) + len(inner)
    tables = _tables(dag, joints, scopes, shapes, keys, goals, slice(links, owned), budget)
    own, shared = np.full(len(first), -1), np.zeros(len(first), dtype=np.int64)
    own[inner], shared[inner] = tables.place[links:owned], tables.reach[links:owned]
    above = np.zeros(len(forest.sort), dtype=np.int64)
    above[joined] = tables.short[owned:]
    factor = scope < factors
    read = ~factor if separate else factor
    kinds = Kinds(
        size=shapes.size[shape],
        shared=shared,
        own=own,
        link_start=running(factor)[ends],
        link_table=tables.short[:links][factor],
        read_start=running(read)[ends],
        read_table=tables.short[:links][read],
        shape=shape,
        member_start=starts(shapes.members),
        member=flat(shapes.members),
        span_start=starts(shapes.spans),
        span=flat(shapes.spans).astype(np.int64),
        offsets=np.empty(0, dtype=np.int32),
    )
    arena = arena_of_kinds(kinds, tables.size, tables.fill)
    led = list_sums(kinds.link_table >= 0, kinds.link_start) + list_sums(
        kinds.read_table >= 0, kinds.read_start
    )
    return Nodes(arena, kinds_of(arena), kind[forest.sort], above, led == 0)


@dataclass(frozen=True)
class _Shapes:
    """The different sets of open variables that nodes have: which sort has which, members, sizes and runs."""

    of_sort: NDArray[np.int64]
    members: list[tuple[int, ...]]
    size: NDArray[np.int64]
    spans: list[list[int]]


def _shapes(dag: Dag, forest: Forest) -> _Shapes:
    of_sort, first = distinct(forest.member, forest.member_start)
    members = _lists(forest.member, forest.member_start, first)
    sizes = dag.schema.sizes
    size = [math.prod([sizes[v] for v in one]) for one in members]
    spans = [_spans([sizes[v] for v in one]) for one in members]
    return _Shapes(of_sort, members, np.array(size, dtype=np.int64), spans)


def is_large(sizes: Sequence[int]) -> bool:
    """Return whether configurations of variables with so many states are taken by runs."""
    fits = len(sizes) > 1 and max(filled(sizes[-1]), sizes[-2]) <= BLOCK
    return fits and sizes[-1] >= RUN and math.prod(sizes) >= LARGE


def _spans(sizes: Sequence[int]) -> list[int]:
    """Return how long a stretch of a cell is, a block, the runs of a block's last two variables, and a run.

    Of a cell that is not taken by runs there are none; see `lacunary.kernels.spans`.
    """
    if not is_large(sizes):
        return []
    run = block = sizes[-1]
    stretch = run * sizes[-2]
    for size in sizes[-3::-1]:
        if stretch // run * filled(run) > BLOCK or stretch // run * size > BLOCK:
            break
        block, stretch = stretch, stretch * size
    return [stretch, block, min(run * sizes[-2], block), run]


def _lists(
    items: NDArray[np.int32], start: NDArray[np.int64], which: NDArray[np.int64]
) -> list[tuple[int, ...]]:
    return [tuple(items[start[n] : start[n + 1]].tolist()) for n in which]


def refuse(dag: Dag, clique: Sequence[int], needed: float, budget: int) -> None:
    """Raise the error that a network is too wide, with the clique and the bytes it would need."""
    names = ", ".join(dag.names[v] for v in clique[:12]) + (", …" if len(clique) > 12 else "")
    raise TooWideError(
        f"exact inference would need about {said(needed)}, more than the {said(budget)} "
        f"allowed: {len(clique)} variables are open together in one clique ({names}). "
        "Remove arcs between them, split or merge states, or observe some of them."
    )


def _distinct_kinds(
    forest: Forest, shapes: _Shapes, joint: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the different (shape, joint, scopes) numbers; return that of each sort, and a sort for each."""
    sorts = len(joint)
    lengths = lengths_of(forest.scope_start)
    start = running(lengths + 2)
    token = np.empty(int(start[-1]), dtype=np.int32)
    token[start[:-1]], token[start[:-1] + 1] = shapes.of_sort, joint
    token[np.arange(len(forest.scope)) + 2 * (np.repeat(np.arange(sorts), lengths) + 1)] = forest.scope
    return distinct(token, start)


def distinct(
    token: NDArray[np.int32], start: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give different lists numbers; return each list's, and the first list of each number."""
    number, first = np.empty(len(start) - 1, dtype=np.int64), np.empty(len(start) - 1, dtype=np.int64)
    count = distinct_lists(token, start, number, first)
    return number, first[:count]


@dataclass(frozen=True)
class _Tables:
    """Offset tables, each once; where that of each key begins (short: −1 for the identity), and its reach.

    They are written by ``fill``, into so many places.
    """

    fill: Callable[[NDArray[np.int32]], None]
    size: int
    place: NDArray[np.int64]
    short: NDArray[np.int64]
    reach: NDArray[np.int64]


def _tables(
    dag: Dag,
    joints: list[tuple[int, ...]],
    scopes: Scopes,
    shapes: _Shapes,
    keys: NDArray[np.int64],
    goals: int,
    owned: slice,
    budget: int,
) -> _Tables:
    """Find the table of every different key, shape · goals + goal; identities are written for owned ones."""
    unique, which = _number(keys)
    shape = unique // goals
    sizes = np.array(dag.schema.sizes, dtype=np.int64)
    variables = _padded(shapes.members)[shape]
    places = np.where(variables >= 0, sizes[variables], 1)
    steps, reach = _steps(joints, scopes, variables, places, unique % goals)
    is_plain = ((steps == _radix(places)) | (variables < 0)).all(axis=1)
    needed = ~is_plain
    needed[which[owned]] = True
    run = np.array([spans[-1] if spans else 0 for spans in shapes.spans], dtype=np.int64)[shape]
    size = shapes.size[shape]
    at = running(np.where(needed, size + np.where(run > 0, size // np.maximum(run, 1), 0), 0))
    if at[-1] * 4 > budget:
        refuse(dag, shapes.members[int(shapes.size.argmax())], float(at[-1]) * 4, budget)
    lengths = running((variables >= 0).sum(axis=1))
    listed = (
        flat(shapes.members),
        starts(shapes.members),
        sizes,
        steps[variables >= 0].astype(np.int32),
        lengths,
    )

    def fill(offsets: NDArray[np.int32]) -> None:
        fill_offsets(*listed, shape, run, offsets, at)

    short = np.where(is_plain, -1, at[:-1])
    return _Tables(fill, int(at[-1]), at[:-1][which], short[which], reach[which])


def _steps(
    joints: list[tuple[int, ...]],
    scopes: Scopes,
    variables: NDArray[np.int64],
    places: NDArray[np.int64],
    goal: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how far a step in each open variable leads, and, for separators, to how many places.

    ``variables`` and ``places`` are the open variables of each table's shape, padded with −1, and their
    sizes, padded with 1; (tables, width).
    """
    families = len(scopes.start)
    steps, reach = np.zeros_like(variables), np.zeros(len(variables), dtype=np.int64)
    led = np.flatnonzero(goal < families)
    bounds = scopes.member_start[goal[led]], scopes.member_start[goal[led] + 1]
    for k in range(int((bounds[1] - bounds[0]).max(initial=0))):
        there = led[bounds[0] + k < bounds[1]]
        entry = scopes.member_start[goal[there]] + k
        steps[there] += np.where(
            variables[there] == scopes.member[entry, None], scopes.stride[entry, None], 0
        )
    joint = np.flatnonzero(goal >= families)
    shared = _padded(joints)[goal[joint] - families]
    common = (variables[joint][:, :, None] == np.where(shared >= 0, shared, -2)[:, None, :]).any(axis=2)
    counted = np.where(common, places[joint], 1)
    steps[joint] = np.where(common, _radix(counted), 0)
    reach[joint] = counted.prod(axis=1)
    return steps, reach


def _radix(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how far a step in each variable leads when the last moves fastest; (tables, width)."""
    below = np.cumprod(places[:, ::-1], axis=1)[:, ::-1]
    return np.concatenate([below[:, 1:], np.ones((len(places), 1), dtype=np.int64)], axis=1)


def _padded(lists: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return the lists as rows of one array, filled up with −1."""
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    out = np.full((len(lists), int(lengths.max(initial=1))), -1, dtype=np.int64)
    out[np.arange(out.shape[1]) < lengths[:, None]] = flat(lists)
    return out


def _number(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different keys, sorted, and which of them each is; in linear time where keys are small."""
    top = int(keys.max(initial=0)) + 1
    if top > max(4 * len(keys), 2**20):
        unique, which = np.unique(keys, return_inverse=True)
        return unique, which
    present = np.zeros(top, dtype=bool)
    present[keys] = True
    rank = np.cumsum(present) - 1
    return np.flatnonzero(present), rank[keys]


def lengths_of(start: NDArray[Any]) -> NDArray[Any]:
    """Return how long lists are that start there: what `numpy.diff` does, without asking for axes."""
    return np.asarray(start[1:] - start[:-1])


def running(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of all values before each, and of all of them."""
    summed = np.cumsum(values)
    out = np.zeros(len(summed) + 1, dtype=summed.dtype)
    out[1:] = summed
    return out


def list_sums(values: NDArray[Any], start: NDArray[np.signedinteger]) -> NDArray[np.int64]:
    """Sum the values of each list, given where the lists start."""
    return np.asarray(lengths_of(running(values)[start]))


def flat(lists: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """Return the items of all lists, one list after the other."""
    return np.array([x for one in lists for x in one], dtype=np.int32)


def starts(lists: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return where each list starts in `flat`, and where the last one ends."""
    return np.cumsum([0, *(len(one) for one in lists)], dtype=np.int64)
