"""Junction trees: cliques that hold every scope, joined so that each variable's cliques hang together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunary.infer.plan import JunctionTree, junction_tree

VARIABLES = 9

scopes = st.lists(st.lists(st.integers(0, VARIABLES - 1), max_size=4, unique=True), max_size=14)
sizes = st.lists(st.integers(1, 4), min_size=VARIABLES, max_size=VARIABLES)
ranks = st.permutations(range(VARIABLES))


def plan(scopes: Sequence[Sequence[int]], size: int = 2) -> JunctionTree:
    """The tree of variables of one size, cliques listed in the variables' order."""
    count = 1 + max((v for scope in scopes for v in scope), default=-1)
    return junction_tree(scopes, [size] * count, range(count))


@given(scopes, sizes, ranks)
def test_every_scope_lies_in_its_home(scopes: list[list[int]], sizes: list[int], rank: list[int]) -> None:
    tree = junction_tree(scopes, sizes, rank)
    for scope, home in zip(scopes, tree.home, strict=True):
        assert set(scope) <= set(tree.cliques[home]) if scope else home == -1


@given(scopes, sizes, ranks)
def test_running_intersection(scopes: list[list[int]], sizes: list[int], rank: list[int]) -> None:
    """The cliques that hold a variable are connected: just one of them hangs on a clique without it."""
    tree = junction_tree(scopes, sizes, rank)
    for v in {v for scope in scopes for v in scope}:
        tops = [
            c
            for c, clique in enumerate(tree.cliques)
            if v in clique and (tree.parent[c] < 0 or v not in tree.cliques[tree.parent[c]])
        ]
        assert len(tops) == 1


@given(scopes, sizes, ranks)
def test_parents_come_first_and_share_the_separator(
    scopes: list[list[int]], sizes: list[int], rank: list[int]
) -> None:
    tree = junction_tree(scopes, sizes, rank)
    for c, (clique, parent, separator) in enumerate(
        zip(tree.cliques, tree.parent, tree.separators, strict=True)
    ):
        assert parent < c
        assert set(separator) == (set(clique) & set(tree.cliques[parent]) if parent >= 0 else set())
        for members in (clique, separator):
            assert list(members) == sorted(members, key=rank.__getitem__)


@given(scopes, sizes, ranks)
def test_the_size_of_the_largest_clique(scopes: list[list[int]], sizes: list[int], rank: list[int]) -> None:
    tree = junction_tree(scopes, sizes, rank)
    largest = max((math.prod(sizes[v] for v in clique) for clique in tree.cliques), default=1)
    assert tree.log_size == pytest.approx(math.log(largest), abs=1e-12)  # a sum of at most nine logs


@pytest.mark.parametrize(
    ("scopes", "width"),
    [
        ([[v, v + 1] for v in range(50)], 2),  # a chain
        ([[0, v] for v in range(1, 200)], 2),  # a star, with more neighbours than are counted
        ([[v, (v + 1) % 12] for v in range(12)], 3),  # a ring
        ([[v, v + 1, v + 2] for v in range(30)], 3),
        (list(map(list, combinations(range(7), 2))), 7),  # all joined with all
    ],
    ids=["chain", "star", "ring", "strip", "complete"],
)
def test_graphs_of_known_treewidth(scopes: list[list[int]], width: int) -> None:
    assert max(map(len, plan(scopes).cliques)) == width


def test_a_grid_is_not_wider_than_its_side_plus_two() -> None:
    """Its treewidth is its side, so its largest clique holds at least one more; a good order comes close."""
    side = 6
    across = [[r * side + c, r * side + c + 1] for r in range(side) for c in range(side - 1)]
    down = [[r * side + c, (r + 1) * side + c] for r in range(side - 1) for c in range(side)]
    assert side + 1 <= max(map(len, plan(across + down).cliques)) <= side + 2


def test_no_scopes_no_cliques() -> None:
    tree = junction_tree([[], []], [2, 2], [0, 1])
    assert tree.cliques == ()
    assert tree.home == (-1, -1)
    assert tree.log_size == 0.0


def test_sizes_decide_between_orders() -> None:
    """In a ring of four one diagonal must be joined: not the one between the two large variables."""
    tree = junction_tree([[0, 1], [1, 2], [2, 3], [3, 0]], [50, 2, 50, 2], range(4))
    assert max(math.prod([50, 2, 50, 2][v] for v in clique) for clique in tree.cliques) == 50 * 2 * 2
