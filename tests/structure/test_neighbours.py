"""Graphs near a graph, against all graphs written down."""

from __future__ import annotations

import numpy as np
import pytest

import lacunary as lac
from lacunary.structure.board import Board
from lacunary.structure.cache import Cache
from lacunary.structure.constraints import Constraints
from lacunary.structure.discrete import BD
from lacunary.structure.neighbours import across, equivalents, near, pattern
from lacunary.structure.score import Structure, total
from tests import naive_structure as naive
from tests.structure.small import chain


def one_apart(one: Structure, other: Structure) -> bool:
    """Whether an arc put in, taken out or turned round leads from one graph to the other."""
    arcs, others = ({(p, c) for c, ps in enumerate(graph) for p in ps} for graph in (one, other))
    changed = arcs ^ others
    return len(changed) == 1 or (len(changed) == 2 and len({frozenset(arc) for arc in changed}) == 1)


@pytest.mark.parametrize("seed", range(4))
def test_graphs_two_changes_away_are_that_and_the_best_come_first(seed: int) -> None:
    table = chain(4, 50, seed=seed)
    score, limits = Cache(BD(table)), Constraints.of(table.schema)
    graphs = list(naive.all_dags(4))
    here = graphs[int(np.random.default_rng(seed).integers(len(graphs)))]
    classes: dict[object, list[Structure]] = {}
    for graph in graphs:
        classes.setdefault(pattern(graph), []).append(graph)
    ring = {k for k, c in classes.items() if any(one_apart(m, o) for m in classes[pattern(here)] for o in c)}
    second = {
        k for k, c in classes.items() if any(one_apart(m, o) for r in ring for m in classes[r] for o in c)
    }
    found = across(Board(score, limits, here), equivalents(here, limits, 60), 1000)
    kinds = [pattern(each) for each in found]
    assert len(set(kinds)) == len(kinds)
    assert set(kinds) <= second - ring - {pattern(here)}
    # Most of what is two changes away is met: in between, moves of one graph of each class are looked at.
    assert len(kinds) >= 0.7 * len(second - ring - {pattern(here)})
    values = [total(score, each) for each in found]
    assert values == sorted(values, reverse=True) or np.diff(values).max() < 1e-9
    assert across(Board(score, limits, here), equivalents(here, limits, 60), 3) == found[:3]


def test_a_link_gets_another_end_though_its_neighbours_have_to_turn() -> None:
    """Of seed 5018 of `benchmarks.choices`: 0 → 3 ← 2 ← 4 against 0 → 2 ← 3, 2 → 4; 0 → 1 in both."""
    here, there = ((), (0,), (4,), (0, 2), ()), ((), (0,), (0, 3), (), (2,))
    schema = lac.Schema(tuple(lac.Variable(f"V{i}", (0, 1)) for i in range(5)))
    names = schema.names
    truth = lac.random_network(lac.Dag(schema, tuple(tuple(names[p] for p in ps) for ps in there)), rng=5)
    table = truth.sample(20_000, rng=5)  # so many that no other graph comes near
    limits = Constraints.of(schema)
    board = Board(Cache(BD(table)), limits, here)
    assert pattern(there) not in {pattern(each) for each, _ in near(board, equivalents(here, limits, 60))}
    first, *_ = across(board, equivalents(here, limits, 60), 10)
    assert pattern(first) == pattern(there)


def test_required_arcs_stay() -> None:
    table = chain(4, 50)
    limits = Constraints.of(table.schema, required="V0 -> V3")
    here: Structure = ((), (0,), (), (0,))
    for graph in across(Board(Cache(BD(table)), limits, here), equivalents(here, limits, 60), 100):
        assert 0 in graph[3]
