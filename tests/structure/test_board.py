"""Moves, the graph they change, and what they gain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lacunary as lac
from lacunary.errors import GraphError
from lacunary.structure.board import ROUNDING, Board
from lacunary.structure.cache import Cache
from lacunary.structure.climb import climb
from lacunary.structure.constraints import Constraints
from lacunary.structure.discrete import BD
from lacunary.structure.move import Add, Move, Remove, Reverse
from lacunary.structure.prior import StructurePrior
from lacunary.structure.score import total
from lacunary.structure.search import run
from lacunary.structure.sketch import Sketch
from lacunary.structure.walk import Walk
from tests import naive_structure as naive
from tests.structure.small import chain, complete, rules

Graph = tuple[tuple[int, ...], ...]


def moved(parents: Graph, move: Move) -> Graph:
    """The graph after a move, by its meaning."""
    arcs = {(p, i) for i, ps in enumerate(parents) for p in ps}
    if isinstance(move, Add):
        arcs.add((move.tail, move.head))
    else:
        arcs.discard((move.tail, move.head))
        if isinstance(move, Reverse):
            arcs.add((move.head, move.tail))
    return tuple(tuple(sorted(p for p, i in arcs if i == child)) for child in range(len(parents)))


def all_moves(parents: Graph, limits: Constraints) -> list[Move]:
    """Every move that leads to another graph the rules allow."""
    n = len(parents)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    there = [(i, j) for i, j in pairs if i in parents[j]]
    found: list[Move] = [Add(i, j) for i, j in pairs if i not in parents[j]]
    found += [Remove(i, j) for i, j in there] + [Reverse(i, j) for i, j in there]
    return [move for move in found if allowed(moved(parents, move), limits)]


def allowed(parents: Graph, limits: Constraints) -> bool:
    arcs = np.zeros((len(parents), len(parents)), dtype=bool)
    for child, ps in enumerate(parents):
        arcs[list(ps), child] = True
    good = not np.any(arcs & ~limits.free) and not np.any(limits.required & ~arcs)
    return good and naive.acyclic(parents) and all(len(ps) <= limits.max_parents for ps in parents)


@settings(max_examples=40)
@given(data=st.data())
def test_ancestors_follow_every_change(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 6))
    sketch = Sketch([()] * n)
    for _ in range(data.draw(st.integers(0, 12))):
        tail, head = data.draw(st.permutations(range(n)))[:2]
        parents = tuple(sketch.parents)
        assert sketch.may_add(tail, head) == (
            tail not in parents[head] and naive.acyclic(moved(parents, Add(tail, head)))
        )
        turned = tail in parents[head] and naive.acyclic(moved(parents, Reverse(tail, head)))
        assert sketch.may_reverse(tail, head) == turned
        if sketch.may_add(tail, head):
            move: Move = Add(tail, head)
        elif turned and data.draw(st.booleans()):
            move = Reverse(tail, head)
        elif tail in parents[head]:
            move = Remove(tail, head)
        else:
            continue
        sketch.apply(move)
        assert tuple(sketch.parents) == moved(parents, move)
        for node in range(n):
            assert set(np.flatnonzero(sketch.above[node])) == naive.ancestors(sketch.parents, node)


@settings(max_examples=30)
@given(data=st.data())
def test_moves_are_all_there_are_and_gain_what_they_say(data: st.DataObject) -> None:
    table = data.draw(complete(min_variables=2))
    limits = data.draw(rules(table.schema))
    score = BD(table)
    board = Board(Cache(score), limits, limits.start(None))
    for _ in range(3):
        found = dict(board.moves())
        assert set(found) == set(all_moves(board.parents, limits))
        before = total(score, board.parents)
        assert board.value == pytest.approx(before, abs=1e-8)
        for move, gain in found.items():
            after = total(score, moved(board.parents, move))
            assert gain == pytest.approx(after - before, abs=1e-8)  # rounding of sums below 1000
            assert board.delta(move) == gain
        best, gain = board.best()
        assert (best is None) == (not found)
        if best is None:
            break
        assert gain == pytest.approx(max(found.values()), abs=1e-8)
        parents = board.parents
        board.apply(best)
        assert board.parents == moved(parents, best)
        board.apply(best.opposite)
        assert board.parents == parents
        board.apply(data.draw(st.sampled_from(list(found))))


@settings(max_examples=20)
@given(data=st.data())
def test_a_copy_of_a_board_moves_by_itself(data: st.DataObject) -> None:
    table = data.draw(complete(min_variables=2))
    limits = data.draw(rules(table.schema))
    board = Board(Cache(BD(table)), limits, limits.start(None))
    parents, moves = board.parents, dict(board.moves())
    for _ in range(2):  # a second copy is as good as the first
        other = board.copy()
        assert dict(other.moves()) == moves
        for _ in range(3):
            there = [move for move, _ in other.moves()]
            if there:
                other.apply(data.draw(st.sampled_from(there)))
        assert board.parents == parents
        assert dict(board.moves()) == moves
        for one in (board, other):
            # rounding of sums below 1000
            assert one.value == pytest.approx(total(BD(table), one.parents), abs=1e-8)


def test_only_what_changed_is_scored_again() -> None:
    cache = Cache(BD(chain(6, 50)))
    board = Board(cache, Constraints.of(chain(6, 50).schema), [()] * 6)
    board.best()
    assert cache.missed == 6
    board.apply(Add(0, 1))
    board.best()
    assert cache.missed == 7
    board.apply(Reverse(0, 1))
    board.best()
    assert cache.missed == 8  # variable 1 is back to the parents it had


def test_a_bounded_cache_forgets_but_says_the_same() -> None:
    score = BD(chain(5, 40))
    small, large = Cache(score, most=2), Cache(score)
    for _ in range(2):
        for child in range(5):
            parents = ((child + 1) % 5,)
            assert np.array_equal(small.toggled(child, parents), large.toggled(child, parents))
            assert small.family(child, parents) == large.family(child, parents)
    assert (small.missed, large.missed) == (10, 5)
    assert len(small._toggled) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"required": "V0 -> V1", "forbidden": [("V0", "V1")]}, "V0 -> V1 is both required and forbidden"),
        ({"required": ["V0 -> V1", "V1 -> V2 -> V0"]}, "required arcs cannot all be.*cycle"),
        ({"required": "V0 V1 V2 -> V3", "max_parents": 2}, "V3 has 3 required parents, and max_parents is 2"),
        ({"required": "V3 -> V0", "tiers": [["V0"], ["V3"]]}, "V3 -> V0 is required, but the tiers"),
        ({"tiers": [["V0"], ["V0"]]}, "V0 is in two tiers"),
        ({"required": [("V0", "V0")]}, "from V0 to itself"),
        ({"required": "V0"}, "no arrow"),
        ({"required": [3]}, "3 is no arc"),
        ({"forbidden": "V0 -> X"}, "no variable 'X'"),
        ({"max_parents": -1}, "max_parents must be a whole number"),
        ({"max_parents": 1.5}, "max_parents must be a whole number"),
    ],
)
def test_rules_that_contradict_each_other(given: dict[str, object], message: str) -> None:
    with pytest.raises(lac.LacunaryError, match=message):
        Constraints.of(chain(4, 5).schema, **given)  # type: ignore[arg-type]


def test_a_required_arc_that_kinds_forbid() -> None:
    table = lac.read({"a": [0.5, 1.5, 2.25], "b": ["x", "y", "x"]})
    with pytest.raises(GraphError, match="a -> b is required, but a discrete variable"):
        Constraints.of(table.schema, required="a -> b")


def test_starts_that_break_the_rules() -> None:
    schema = chain(3, 5).schema
    dag = lac.Dag.from_arcs(schema, [("V0", "V1"), ("V2", "V1")])
    with pytest.raises(GraphError, match="V0 -> V1 is in the start, but forbidden"):
        Constraints.of(schema, forbidden="V0 -> V1").start(dag)
    with pytest.raises(GraphError, match=r"do not go together.*cycle"):
        Constraints.of(schema, required="V1 -> V0").start(dag)
    with pytest.raises(GraphError, match="V1 starts with 2 parents, and max_parents is 1"):
        Constraints.of(schema, max_parents=1).start(dag)
    assert Constraints.of(schema, required="V1 -> V2").start(None) == [(), (), (1,)]


class Rounded:
    """A score that does not care about arcs, but whose toggles are all a little too high."""

    variables = 2
    allowed = ~np.eye(2, dtype=bool)

    def family(self, child: int, parents: tuple[int, ...]) -> float:
        return 1.0 if child else -1.0  # the sum is zero, and rounding is not

    def toggled(self, child: int, parents: tuple[int, ...]) -> NDArray[np.float64]:
        return np.full(2, self.family(child, parents) + 1e-6)


def test_a_climb_on_rounding_ends() -> None:
    schema = lac.Schema((lac.Variable("a", (0, 1)), lac.Variable("b", (0, 1))))
    rules = Constraints.of(schema)
    walk, _ = run(lac.Greedy(), Rounded(), rules, lac.dag("a; b", states=2), rng=0)
    assert walk.best == ((), ())
    assert walk.path == []


def test_ties_go_by_the_families_and_not_by_their_sum() -> None:
    schema = lac.Schema((lac.Variable("a", (0, 1)), lac.Variable("b", (0, 1))))
    board = Board(Rounded(), Constraints.of(schema), [(), ()])
    assert board.value == 0.0
    assert board.tie == 2 * ROUNDING


def test_links_are_counted_along_the_way() -> None:
    """What a move adds, and the number of links, are those of a board that begins with the graph."""
    table = chain(6, 400)
    limits = Constraints.of(table.schema)
    prior = StructurePrior.of("links", limits)
    board = Board(BD(table), limits, [()] * len(table.schema), prior)
    told = []
    for move in (Add(0, 1), Reverse(0, 1), Add(1, 2), Remove(1, 2), Add(2, 3)):
        before = board.value
        added = board.apply(move)
        told.append(board.links)
        fresh = Board(BD(table), limits, board.sketch.parents, prior)
        assert fresh.links == board.links
        assert fresh.value == board.value
        assert board.value - before == pytest.approx(added, abs=1e-9)  # sums of some hundred, rounded
    assert told == [1, 1, 2, 1, 2]


def test_pairs_that_do_not_count_are_not_charged() -> None:
    """As those with a hidden variable: an arc between them gains what it does under the uniform prior."""
    table = chain(4, 100)
    limits = Constraints.of(table.schema)
    prior = StructurePrior.of("links", limits)
    counted = prior.counted.copy()
    counted[:, 0] = counted[0, :] = False
    graph: Graph = ((), (0,), (1,), ())
    plain, charged = (
        Board(BD(table), limits, list(graph), each).toggles()
        for each in (None, replace(prior, counted=counted))
    )
    more, less = prior.steps(1)
    expected = np.where(counted, more, 0.0)
    expected[1, 2] = less  # the one link that counts
    apart = ~np.isneginf(plain)
    np.testing.assert_allclose(charged[apart], (plain + expected)[apart], rtol=0, atol=1e-9)


@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_climb_takes_no_more_moves_than_it_may(most: int) -> None:
    table = chain(6, 400)
    board = Board(BD(table), Constraints.of(table.schema), [()] * 6)
    assert not climb(Walk("greedy", board, np.random.default_rng(0)), most)
    assert board.sketch.size == most


def test_graphs_are_admitted_as_they_are() -> None:
    schema = lac.Schema(tuple(lac.Variable(name, ("a", "b")) for name in "XYZ"))
    rules = Constraints.of(schema, forbidden="X -> Z", max_parents=1)
    assert rules.admit(((), (0,), (1,)))
    assert not rules.admit(((), (), (0,)))  # forbidden
    assert not rules.admit(((), (0, 2), ()))  # too many parents
    assert not Constraints.of(schema, required="X -> Y").admit(((), (), ()))  # must be put in first
