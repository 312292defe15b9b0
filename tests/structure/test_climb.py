"""Climbing with a score whose best graph is known: each arc between two variables has a worth of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.errors import ParameterError
from lacunary.structure.board import Board
from lacunary.structure.climb import Greedy, Tabu, _barred, _covered, check_at_least, climb, forward, shake
from lacunary.structure.constraints import Constraints
from lacunary.structure.score import FamilyScore
from lacunary.structure.walk import Walk

WORTH = np.array([[0, 8, 0, 0], [7, 0, 4, 0], [0, 3, 0, 2], [0, 0, 1, 0]], dtype=float)
"""What an arc adds to the score, by tail and head: the best graph is 0 → 1 → 2 → 3, worth 14."""


class Worth(FamilyScore):
    """A score that is the sum of the worths of all arcs."""

    def __init__(self, worth: Any) -> None:
        self.worth = worth

    @property
    def variables(self) -> int:
        return len(self.worth)

    @property
    def allowed(self) -> Any:
        return np.ones((len(self.worth), len(self.worth)), dtype=bool)

    def family(self, child: int, parents: tuple[int, ...]) -> float:
        return float(sum(self.worth[p, child] for p in parents)) - 1000.0

    def toggled(self, child: int, parents: tuple[int, ...]) -> Any:
        return np.array([self.family(child, tuple(set(parents) ^ {i})) for i in range(len(self.worth))])


def walk(worth: Any = WORTH, parents: Any = None, **rules: Any) -> Walk:
    names = "abcdefgh"[: len(worth)]
    schema = lac.dag("; ".join(names), states=2).schema
    board = Board(Worth(worth), Constraints.of(schema, **rules), parents or [()] * len(worth))
    return Walk("test", board, np.random.default_rng(1))


@pytest.mark.parametrize("most", range(6))
def test_so_many_moves_are_taken_and_no_more(most: int) -> None:
    """Three moves lead to the top; that it is the top is known by the fourth that is not there."""
    here = walk()
    told: list[int] = []
    here.watch = lambda progress: told.append(progress.steps)
    assert climb(here, most) is (most > 3)
    assert [step.gain for step in here.path] == [8, 4, 2][:most]
    assert told == [1, 2, 3][:most]


def test_a_climb_without_a_limit_reaches_the_top_and_a_quiet_one_says_nothing() -> None:
    here = walk()
    here.watch = lambda progress: pytest.fail("it was to be quiet")
    assert climb(here, quiet=True) is True
    assert here.best == ((), (0,), (1,), (2,))
    assert here.top == 14 - 4000
    barred = np.zeros((4, 4), dtype=bool)
    barred[0, 1] = barred[1, 0] = True
    other = walk()
    assert climb(other, barred=barred)
    assert other.top == 6 - 4000


def test_covered_arcs_are_those_whose_ends_share_all_other_parents() -> None:
    """0 → 1 is covered, 0 → 2 is not (2 has the parent 1, too), 1 → 2 is; 3 stands apart."""
    here = walk(parents=[(), (0,), (0, 1), ()])
    assert {(move.tail, move.head) for move in _covered(here)} == {(0, 1), (1, 2)}
    required = walk(parents=[(), (0,), (0, 1), ()], required=[("a", "b")])
    assert {(move.tail, move.head) for move in _covered(required)} == {(1, 2)}
    forbidden = walk(parents=[(), (0,), (0, 1), ()], forbidden=[("c", "b")])
    assert {(move.tail, move.head) for move in _covered(forbidden)} == {(0, 1)}


def test_arcs_are_turned_forward_where_that_costs_nothing() -> None:
    worth = np.zeros((3, 3))
    worth[1, 0] = worth[0, 1] = 5.0  # cannot be told apart
    worth[2, 1], worth[1, 2] = 5.0, 4.0  # can be
    here = walk(worth, parents=[(1,), (), ()])
    forward(here)
    assert here.best == ((), (0,), ())
    other = walk(worth, parents=[(), (2,), ()])
    forward(other)
    assert other.best == ((), (2,), ())
    assert other.top == 5.0 - 3000


def test_a_shake_starts_from_the_best_graph_and_takes_arcs_off_some_variables() -> None:
    n = 10
    worth = np.triu(np.ones((n, n)), 1)
    names = [f"x{i}" for i in range(n)]
    schema = lac.dag("; ".join(names), states=2).schema
    parents = [tuple(range(i)) for i in range(n)]
    bare = set()
    for seed in range(12):
        board = Board(Worth(worth), Constraints.of(schema, required=[("x0", "x1")]), parents)
        here = Walk("test", board, np.random.default_rng(seed))
        climb(here)
        shake(here)
        turned = [step for step in here.path if step.action == "reverse"]
        assert 1 <= len(turned) <= n
        arcs = here.board.sketch.arcs | here.board.sketch.arcs.T
        arcs[0, 1] = arcs[1, 0] = False
        bare.add(int((arcs.sum(axis=0) == 0).sum()))
        assert here.board.sketch.arcs[0, 1]
        assert here.best == tuple(parents)
    assert bare <= {1, 2, 3}  # one in five, and one more
    assert len(bare) > 1


def test_rounds_end_after_so_many_that_found_nothing_better() -> None:
    for restarts in (0, 1, 3):
        here = walk()
        parts: list[float] = []
        here.watch = lambda progress, parts=parts: (
            parts.append(progress.part) if progress.part is not None else None
        )
        Greedy(restarts).run(here)
        assert here.memory["failed"] == restarts
        assert parts == [k / restarts for k in range(restarts)]
        assert here.top == 14 - 4000


def test_a_tabu_search_goes_on_for_so_many_moves_and_leaves_what_it_changed_alone() -> None:
    """Three moves up; then so many that are not better, none of pairs that were changed just before."""
    for patience in (1, 4):
        here = walk()
        Tabu(length=2, patience=patience, restarts=0).run(here)
        assert [step.gain for step in here.path[:3]] == [8, 4, 2]
        assert len(here.path) == 3 + patience
        pairs = [frozenset((step.tail, step.head)) for step in here.path]
        for k, pair in enumerate(pairs[3:], 3):
            assert pair not in pairs[max(k - 2, 0) : k]
        assert len(here.memory["recent"]) == 2
    six = walk()  # of four variables there are six pairs, and at most half of them are left alone
    Tabu(length=10, patience=3, restarts=0).run(six)
    assert len(six.memory["recent"]) == 3


def test_a_barred_pair_is_barred_both_ways() -> None:
    assert np.argwhere(_barred(3, [[0, 2]])).tolist() == [[0, 2], [2, 0]]


def test_settings_that_are_too_small_are_refused() -> None:
    check_at_least(1, patience=1, restarts=None)
    with pytest.raises(ParameterError, match="patience must be 1 or more, not 0"):
        check_at_least(1, patience=0)
    with pytest.raises(ParameterError, match="restarts must be 0 or more"):
        Greedy(-1)
    with pytest.raises(ParameterError, match="length must be 0"):
        Tabu(length=-1)
    with pytest.raises(ParameterError, match="patience must be 1"):
        Tabu(patience=0)
    Tabu(length=0, restarts=0)


def test_a_shaken_graph_is_climbed_from_again() -> None:
    """With a patience of one move, too: rounds after the first find better graphs on some of these tables."""
    tables = [lac.asia().sample(300, rng=seed) for seed in (1, 2, 3)]
    once, again = (
        [lac.search(table, method=lac.Tabu(patience=1, restarts=n), rng=0).score for table in tables]
        for n in (0, 10)
    )
    assert any(second > first + 0.1 for first, second in zip(once, again, strict=True))
