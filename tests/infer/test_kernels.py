"""Kernels that lay tables out, each beside a slow twin or the promises its docstring makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.infer import forest as forest_module
from lacunary.infer.forest import Ground
from lacunary.infer.forest import trace as forest_of
from lacunary.infer.pack import Packed, pack
from lacunary.infer.plan import JunctionTree, junction_tree
from lacunary.kernels.divide import divide_rows
from lacunary.kernels.pack import Slab, distinct_lists, fill_offsets
from lacunary.kernels.trace import Forest, Scopes
from lacunary.model.make import dag
from tests import naive
from tests.strategies import Case, cases, loaded_cases, seeds


def ragged(lists: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Lists one after the other, and where each starts."""
    return (
        np.array([x for one in lists for x in one], dtype=np.int32),
        np.cumsum([0, *map(len, lists)], dtype=np.int64),
    )


# Numbers ------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(-1, 2), max_size=3), max_size=40))
def test_distinct_lists(lists: list[list[int]]) -> None:
    token, start = ragged(lists)
    number, first = np.empty(len(lists), dtype=np.int64), np.empty(len(lists), dtype=np.int64)
    count = distinct_lists(token, start, number, first)
    seen: dict[tuple[int, ...], int] = {}
    for one in lists:
        seen.setdefault(tuple(one), len(seen))
    assert count == len(seen)
    assert number.tolist() == [seen[tuple(one)] for one in lists]
    assert first[:count].tolist() == [lists.index(list(one)) for one in seen]


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True), min_size=1, max_size=4),
    seeds,
)
def test_fill_offsets(shapes: list[list[int]], seed: int) -> None:
    """Every table of every shape: Σ over its open variables of state · step, the last variable fastest.

    Some have no room, and behind some come the offsets with which runs of their last variable begin.
    """
    rng, sizes = np.random.default_rng(seed), np.array([2, 3, 4, 1, 2])
    of_table = rng.integers(0, len(shapes), size=6)
    kept, runs = rng.random(6) < 0.8, rng.random(6) < 0.5
    steps = [rng.integers(0, 50, size=len(shapes[s])).tolist() for s in of_table]
    member, member_start = ragged(shapes)
    step, step_start = ragged(steps)
    size = np.array([int(np.prod(sizes[shapes[s]])) for s in of_table])
    run = np.array([int(sizes[shapes[s][-1]]) for s in of_table]) * runs
    start = np.cumsum([0, *(kept * (size + np.where(runs, size // np.maximum(run, 1), 0)))], dtype=np.int64)
    out = np.full(start[-1], -7, dtype=np.int32)
    fill_offsets(member, member_start, sizes, step, step_start, of_table, run, out, start)
    for t, s in enumerate(of_table):
        wanted = [
            sum(state * by for state, by in zip(states, steps[t], strict=True))
            for states in product(*(range(sizes[v]) for v in shapes[s]))
        ]
        wanted += wanted[:: run[t]] if runs[t] else []
        assert out[start[t] : start[t + 1]].tolist() == (wanted if kept[t] else [])


# Islands ------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 8), st.sampled_from((5, 60)))
def test_divided_rows(seed: int, variables: int, rows: int) -> None:
    """Islands as sets that grow until no neighbour is open; each is listed once, whatever rows have it."""
    rng = np.random.default_rng(seed)
    joined = np.triu(rng.random((variables, variables)) < 0.3, 1)
    met = [np.flatnonzero(row).tolist() for row in joined | joined.T]
    columns = np.flatnonzero(rng.random(variables) < 0.8)
    codes = rng.integers(-1, 2, (rows, variables)).astype(np.int8)
    open_only = [[w for w in others if w in columns] for others in met]
    found = divide_rows(codes, columns, *ragged(open_only))
    members = [found.member[a:b].tolist() for a, b in pairwise(found.member_start)]
    assert len({frozenset(island) for island in members}) == len(members)
    for row, (first, last) in zip(codes, pairwise(found.start), strict=True):
        left, wanted = {int(v) for v in columns if row[v] == HOLE}, set()
        while left:
            island = {left.pop()}
            while more := left.intersection(w for v in island for w in met[v]):
                island |= more
                left -= more
            wanted.add(frozenset(island))
        listed = [frozenset(members[i]) for i in found.island[first:last]]
        assert set(listed) == wanted
        assert len(listed) == len(wanted)


# Patterns -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """A node in plain words: its open variables, its parent's place, what joins them, its scopes."""

    variables: frozenset[int]
    up: int
    joint: frozenset[int]
    scopes: list[int]


def trace(
    tree: JunctionTree, scopes: Sequence[Sequence[int]], sizes: Sequence[int], patterns: NDArray[np.bool_]
) -> list[list[Node]]:
    """The nodes of each pattern."""
    ground = Ground.of(scopes_of(scopes, len(sizes)), sizes, range(len(sizes)), tree)
    return nodes_of(forest_of(ground, patterns))


def scopes_of(scopes: Sequence[Sequence[int]], variables: int) -> Scopes:
    """Scopes as arrays, without places."""
    member, start = ragged(scopes)
    user, user_start = ragged([[s for s, scope in enumerate(scopes) if v in scope] for v in range(variables)])
    zeros = np.zeros(len(scopes), dtype=np.int32)
    return Scopes(member, np.zeros_like(member), start, zeros, user, user_start)


def nodes_of(forest: Forest) -> list[list[Node]]:
    """The nodes of each pattern."""
    ends = pairwise(forest.node_start.tolist())
    return [[_node(forest, n) for n in range(first, last)] for first, last in ends]


def _node(forest: Forest, n: int) -> Node:
    def listed(name: str) -> list[int]:
        start, sort = getattr(forest, f"{name}_start"), forest.sort[n]
        items: list[int] = getattr(forest, name)[start[sort] : start[sort + 1]].tolist()
        return items

    return Node(frozenset(listed("member")), int(forest.up[n]), frozenset(listed("joint")), listed("scope"))


@st.composite
def forests(draw: st.DrawFn) -> tuple[list[list[int]], list[int], NDArray[np.bool_]]:
    """Scopes (some many times, so that merging nodes does not always pay), sizes, patterns."""
    variables = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(seeds))
    scopes = [
        rng.choice(variables, size=rng.integers(1, min(variables, 3) + 1), replace=False).tolist()
        for _ in range(draw(st.integers(1, 10)))
    ]
    repeated = [scope for scope in scopes for _ in range(draw(st.sampled_from((1, 1, 30))))]
    patterns = rng.random((draw(st.integers(1, 6)), variables)) < draw(st.sampled_from((0.3, 0.6, 1.0)))
    return repeated, draw(st.lists(st.integers(2, 4), min_size=variables, max_size=variables)), patterns


@given(forests())
def test_traced_patterns(case: tuple[list[list[int]], list[int], NDArray[np.bool_]]) -> None:
    scopes, sizes, patterns = case
    tree = junction_tree(scopes, sizes, range(len(sizes)))
    assert_trees(trace(tree, scopes, sizes, patterns), scopes, patterns)


def assert_trees(traced: list[list[Node]], scopes: list[list[int]], patterns: NDArray[np.bool_]) -> None:
    """Each pattern has a junction tree of its open variables that holds what is open of every scope."""
    for nodes, pattern in zip(traced, patterns, strict=True):
        open_ = set(np.flatnonzero(pattern).tolist()) & {v for scope in scopes for v in scope}
        assert {v for node in nodes for v in node.variables} == open_
        # Every scope with an open variable belongs to one node, which holds its open variables.
        assert sorted(s for node in nodes for s in node.scopes) == [
            s for s, scope in enumerate(scopes) if open_ & set(scope)
        ]
        assert all(open_ & set(scopes[s]) <= node.variables for node in nodes for s in node.scopes)
        for n, node in enumerate(nodes):
            above = nodes[node.up].variables if node.up >= 0 else frozenset()
            assert node.variables
            assert node.up < n
            # What joins two nodes is all they have in common, and never nothing: else they are islands.
            assert node.joint == node.variables & above
            assert bool(node.joint) == (node.up >= 0)
        # Running intersection: of the nodes that hold a variable one alone hangs on a node without it.
        for v in open_:
            assert sum(v in node.variables and v not in node.joint for node in nodes) == 1


@given(forests())
def test_trees_of_their_own(case: tuple[list[list[int]], list[int], NDArray[np.bool_]]) -> None:
    """Where every pattern is called wide and its own tree cheaper, each has one, as sound as a shared one."""
    scopes, sizes, patterns = case
    tree = junction_tree(scopes, sizes, range(len(sizes)))
    ground = Ground.of(scopes_of(scopes, len(sizes)), sizes, range(len(sizes)), tree)
    with mock.patch.multiple(forest_module, WIDE=0, CHEAPER=math.inf):
        found = nodes_of(forest_of(ground, patterns))
    assert_trees(found, scopes, patterns)


def test_more_nodes_than_open_variables() -> None:
    """Nodes not worth merging are kept, also where the variable that made their clique is observed."""
    scopes = [[0, 1]] * 100 + [[1, 2]] * 100 + [[2]] * 100 + [[0]] * 100
    home = (2,) * 100 + (1,) * 100 + (0,) * 100 + (2,) * 100
    tree = JunctionTree(((2,), (1, 2), (0, 1)), (-1, 0, 1), ((), (2,), (1,)), home, np.log(4))
    patterns = np.array([[True, True, True], [False, True, True]])
    assert [len(nodes) for nodes in trace(tree, scopes, [2, 2, 2], patterns)] == [3, 3]


# Rows ---------------------------------------------------------------------------------------------------


def cell(slab: Slab, c: int) -> tuple[object, ...]:
    """All that makes a cell what it is."""

    def part(values: NDArray[np.signedinteger], start: NDArray[np.signedinteger]) -> tuple[int, ...]:
        return tuple(values[start[c] : start[c + 1]].tolist())

    return (
        int(slab.kind[c]),
        part(slab.base, slab.base_start),
        part(slab.read, slab.read_start),
        part(slab.child, slab.child_start),
        part(slab.above, slab.child_start),
    )


def below(slab: Slab, c: int) -> list[int]:
    """A cell and all cells that hang on it."""
    children = slab.child[slab.child_start[c] : slab.child_start[c + 1]].tolist()
    return [c, *(d for child in children for d in below(slab, child))]


def packed_rows(case: Case) -> tuple[Packed, Table]:
    network, table = case
    return pack(network.dag, table.codes, table.weights, whole=True), table


@given(st.one_of(cases(), loaded_cases()))
def test_no_two_cells_are_alike(case: Case) -> None:
    packed, _ = packed_rows(case)
    for chunk in packed.chunks:
        cells = [cell(chunk.slab, c) for c in range(len(chunk.slab.kind))]
        assert len(set(cells)) == len(cells)


@given(st.one_of(cases(), loaded_cases()))
def test_the_cells_of_a_row_hold_its_holes(case: Case) -> None:
    """Down from its roots, children before parents, a row meets each open variable and no other."""
    packed, table = packed_rows(case)
    kinds, sizes = packed.kinds, np.array(table.schema.sizes)
    for chunk in packed.chunks:
        slab = chunk.slab
        for r, row in enumerate(table.codes[chunk.rows]):
            met = set()
            for root in slab.root[slab.root_start[r] : slab.root_start[r + 1]]:
                assert kinds.own[slab.kind[root]] == -1
                for c in below(slab, root):
                    assert all(
                        child < c for child in slab.child[slab.child_start[c] : slab.child_start[c + 1]]
                    )
                    shape = kinds.shape[slab.kind[c]]
                    members = kinds.member[kinds.member_start[shape] : kinds.member_start[shape + 1]]
                    assert kinds.size[slab.kind[c]] == np.prod(sizes[members])
                    met.update(members.tolist())
            assert met == set(np.flatnonzero((row == HOLE) & (sizes > 1)).tolist())


@given(st.one_of(cases(), loaded_cases()))
def test_weights_arrive_at_the_roots(case: Case) -> None:
    packed, table = packed_rows(case)
    for chunk in packed.chunks:
        slab = chunk.slab
        wanted = np.zeros(len(slab.kind))
        for r, weight in enumerate(table.weights[chunk.rows]):
            wanted[slab.root[slab.root_start[r] : slab.root_start[r + 1]]] += weight
        np.testing.assert_allclose(slab.weight, wanted, rtol=1e-14)  # a dozen weights, added in one order


@given(st.one_of(cases(), loaded_cases()))
def test_constant_counts_are_those_of_observed_families(case: Case) -> None:
    network, table = case
    packed, _ = packed_rows(case)
    dag = network.dag
    wanted = {name: np.zeros_like(network.table(name)) for name in dag.names}
    for row, weight in naive.weighted_rows(table):
        known = [0 if size == 1 else code for size, code in zip(dag.schema.sizes, row, strict=True)]
        for i, parents in enumerate(dag.parent_indices):
            states = (*(known[p] for p in parents), known[i])
            if HOLE not in states:
                wanted[dag.names[i]][states] += weight
    for i, name in enumerate(dag.names):
        np.testing.assert_allclose(dag.layout.table(packed.constant, i), wanted[name], rtol=1e-14)


def test_rows_share_the_cells_in_which_they_agree() -> None:
    """A -> B with A open: rows that differ in C, apart from them, end in one and the same cell."""
    graph = dag("A -> B; C -> D")
    rows = np.array([[HOLE, 1, 0, 0], [HOLE, 1, 1, 0], [HOLE, 1, 1, 1], [HOLE, 0, 1, 1]], dtype=np.int8)
    (chunk,) = pack(graph, rows, np.array([1.0, 2.0, 4.0, 8.0])).chunks
    assert chunk.slab.root.tolist() == [0, 0, 0, 1]
    assert chunk.slab.weight.tolist() == [7.0, 8.0]
