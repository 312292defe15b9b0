"""Graphs that change an arc at a time, beside searching the whole graph anew."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacunary.kernels.graph import best_move, join, part
from tests import naive_kernels, naive_structure

Bools = NDArray[np.bool_]


def ancestors(arcs: Bools) -> Bools:
    """above[j, i]: whether i is an ancestor of j."""
    out, parents = np.zeros_like(arcs), naive_kernels.parents_of(arcs)
    for node in range(len(arcs)):
        out[node, list(naive_structure.ancestors(parents, node))] = True
    return out


def drawn(rng: np.random.Generator, n: int, density: float) -> Bools:
    """A graph whose arcs follow a random order."""
    order = rng.permutation(n)
    return np.asarray((rng.random((n, n)) < density) & (order[:, None] < order))


@given(st.integers(0, 2**32 - 1), st.integers(2, 7))
@settings(max_examples=60, deadline=None)
def test_join_and_part(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    arcs, waiting = np.zeros((n, n), dtype=np.bool_), np.empty(n, dtype=np.int64)
    above = ancestors(arcs)
    for _ in range(20):
        tail, head = rng.choice(n, 2, replace=False)
        if arcs[tail, head]:
            arcs[tail, head] = False
            part(arcs, above, head, waiting)
        elif not above[tail, head]:
            arcs[tail, head] = True
            join(above, tail, head)
        assert np.array_equal(above, ancestors(arcs))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([0.0, 1.5]))
@settings(max_examples=200, deadline=None)
def test_best_move(seed: int, n: int, tie: float) -> None:
    """Gains are small whole numbers, so that many moves are as good as each other."""
    rng = np.random.default_rng(seed)
    arcs = drawn(rng, n, 0.5)
    free = (rng.random((n, n)) < 0.8) & ~np.eye(n, dtype=np.bool_)
    required, barred = arcs & (rng.random((n, n)) < 0.2), rng.random((n, n)) < 0.1
    gain, most = rng.integers(-3, 4, (n, n)).astype(np.float64), int(rng.integers(1, 4))
    many = arcs.sum(axis=0).astype(np.int64)
    counted, (more, less) = rng.random((n, n)) < 0.7, rng.integers(-2, 3, 2).astype(np.float64).tolist()
    priced = gain + counted * np.where(arcs, less, more)  # a turn keeps the link, and is not priced
    moves = [
        (kind, tail, head, gain[tail, head] + gain[head, tail] if kind == 2 else priced[tail, head])
        for kind, tail, head in naive_kernels.allowed(arcs, free, required, most)
        if not barred[tail, head]
    ]
    toggles = sorted((move for move in moves if move[0] == 1), key=lambda move: (move[2], move[1]))
    turns = [move for move in moves if move[0] == 2]
    top = [max((move[3] for move in some), default=-np.inf) for some in (toggles, turns)]
    wanted = (0, 0, 0, -np.inf)
    if moves:
        some, best = (toggles, top[0]) if top[0] >= top[1] - tie else (turns, top[1])
        wanted = next(move for move in some if move[3] >= best - tie)
    prices = (counted, more, less)
    found = best_move(arcs, ancestors(arcs), free, required, many, most, barred, gain, *prices, tie)
    assert found == wanted


def test_no_move_at_all() -> None:
    none, square = np.zeros(2, dtype=np.int64), np.zeros((2, 2), dtype=np.bool_)
    prices = (square, 0.0, 0.0)
    kind, _, _, gain = best_move(
        square, square, square, square, none, 2, square, np.ones((2, 2)), *prices, 0.0
    )
    assert kind == 0
    assert np.isneginf(gain)
