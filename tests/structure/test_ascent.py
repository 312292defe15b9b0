"""Climbs that a kernel makes in one call, beside the same board move by move."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lacunary as lac
from lacunary.kernels import ascent, hooks
from lacunary.kernels.compile import COMPILES
from lacunary.structure.board import RUN, Board
from lacunary.structure.constraints import Constraints
from lacunary.structure.gaussian import BGe, GaussianBIC
from lacunary.structure.move import Add
from lacunary.structure.prior import PriorGiven, StructurePrior
from lacunary.structure.score import FamilyScore
from lacunary.structure.search import run
from lacunary.structure.walk import Walk
from tests.strategies import seeds
from tests.structure.small import rules


@pytest.fixture(autouse=True, scope="module")
def due() -> Iterator[None]:
    """The kernel is used from the first board on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ascent, "EASY", -1)
        yield


class Asked:
    """The same score, of which no kernel knows."""

    def __init__(self, score: FamilyScore) -> None:
        self.family, self.toggled = score.family, score.toggled
        self.variables, self.allowed = score.variables, score.allowed


def table_of(seed: int, variables: int, rows: int = 60) -> lac.Table:
    """Rows of a random network with strong arcs."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(variables, variables)) * (rng.random((variables, variables)) < 0.5), 1)
    values = rng.normal(size=(rows, variables)) @ np.linalg.inv(np.eye(variables) - weights)
    return lac.read({f"x{i}": values[:, i] for i in range(variables)}, kinds="continuous")


def score_of(table: lac.Table, charged: bool) -> FamilyScore:
    return GaussianBIC.of(table) if charged else BGe.of(table)


@settings(max_examples=40, deadline=None)
@given(st.data(), seeds, st.integers(1, 7), st.booleans(), st.sampled_from([None, "links", "beta-binomial"]))
def test_a_climb_in_one_call_is_the_climb_move_by_move(
    data: st.DataObject, seed: int, n: int, charged: bool, prior: PriorGiven
) -> None:
    """To the last bit: the graph, the families' scores, all gains, and every step on the way."""
    table = table_of(seed, n)
    score, limits = score_of(table, charged), data.draw(rules(table.schema))
    believed = StructurePrior.of(prior, limits)
    barred: NDArray[np.bool_] = np.random.default_rng(seed).random((n, n)) < 0.2
    most = data.draw(st.sampled_from([None, 0, 1, 3]))
    walks = [
        Walk("greedy", Board(each, limits, limits.start(None), believed), np.random.default_rng(0))
        for each in (score, Asked(score))
    ]
    fast, slow = walks
    top = fast.ascend(barred, most)
    taken = 0
    while (most is None or taken < most) and slow.rise(barred):
        taken += 1
    assert top is (most is None or taken < most)
    assert fast.steps == taken
    assert fast.path == slow.path
    assert fast.board.parents == slow.board.parents
    assert (fast.best, fast.top) == (slow.best, slow.top)
    np.testing.assert_array_equal(fast.board.terms, slow.board.terms)
    assert fast.board.best() == slow.board.best()
    np.testing.assert_array_equal(fast.board.gain, slow.board.gain)
    np.testing.assert_array_equal(fast.board.sketch.above, slow.board.sketch.above)


def test_a_climb_longer_than_one_call_goes_on() -> None:
    n = 14
    values = np.random.default_rng(0).normal(size=(400, 3)) @ np.random.default_rng(1).normal(size=(3, n))
    values += 0.1 * np.random.default_rng(2).normal(size=values.shape)
    table = lac.read({f"x{i}": values[:, i] for i in range(n)}, kinds="continuous")
    limits = Constraints.of(table.schema)
    found, _ = run(lac.Greedy(), BGe.of(table), limits)
    plain, _ = run(lac.Greedy(), Asked(BGe.of(table)), limits)
    assert found.steps > RUN * n
    assert found.path == plain.path
    assert found.path[-1].score == found.board.value


def test_moves_and_jumps_score_what_changed() -> None:
    table = table_of(3, 5)
    limits = Constraints.of(table.schema)
    boards = [Board(each, limits, [()] * 5) for each in (BGe.of(table), Asked(BGe.of(table)))]
    for board in boards:
        board.apply(Add(0, 3))
        board.jump([(), (0,), (), (0, 2), (3,)])
    np.testing.assert_array_equal(boards[0].terms, boards[1].terms)
    assert boards[0].best() == boards[1].best()
    np.testing.assert_array_equal(boards[0].gain, boards[1].gain)


@pytest.mark.parametrize("method", [lac.Greedy(2), lac.Tabu(restarts=1), lac.Reinsert()])
def test_whoever_is_watched_walks_the_same_way(method: lac.SearchMethod) -> None:
    """Told of every step a search goes step by step; else in one call."""
    table = table_of(5, 6)
    alone = lac.search(table, method=method, rng=1)
    watched = lac.search(table, method=method, rng=1, watch=lambda told: None)
    assert alone.path == watched.path
    assert alone.dag == watched.dag


def test_few_boards_are_not_worth_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ascent, "EASY", 12)
    monkeypatch.setattr(ascent, "_met", [0])
    monkeypatch.setattr(hooks, "is_stored", lambda function: False)
    table = table_of(3, 5)
    boards = [Board(BGe.of(table), Constraints.of(table.schema), [()] * 5) for _ in range(3)]
    assert [board.law is None for board in boards] == [True, True, not COMPILES]
