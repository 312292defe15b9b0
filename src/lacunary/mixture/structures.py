"""Better structures for components, from the present ones, on expected data."""

from __future__ import annotations

from collections.abc import Iterator

from lacunary.mixture.component import Structure
from lacunary.structure.board import Board
from lacunary.structure.rules import Rules
from lacunary.structure.score import FamilyScore, total
from lacunary.structure.search import SearchMethod, run
from lacunary.structure.tree import best_forest
from lacunary.structure.walk import dag_of

__all__ = ["climbed", "forested", "refined"]

TIE = 1e-9
"""A forest is better if its score is by this part of its size: equal ones differ by rounding."""


def climbed(score: FamilyScore, rules: Rules, structure: Structure, most: int | None) -> Iterator[Structure]:
    """Yield the structures of a greedy climb, one after every move that gains."""
    board = Board(score, rules, list(structure))
    taken = 0
    while most is None or taken < most:
        if board.rise() is None:
            return
        taken += 1
        yield board.parents


def refined(
    method: SearchMethod, score: FamilyScore, rules: Rules, structure: Structure, seed: int
) -> Structure:
    """Return the best structure that another search finds from the present one."""
    walk, interrupted = run(method, score, rules, dag_of(rules.schema, structure), rng=seed)
    if interrupted:
        raise KeyboardInterrupt
    return walk.best


def forested(score: FamilyScore, rules: Rules, structure: Structure) -> Structure:
    """Return the best forest, or the present structure if that is one and as good.

    Many forests are equally good, as arcs may be turned; left to rounding they would follow each other.
    """
    best = tuple(best_forest(score, rules))
    if all(len(parents) <= 1 for parents in structure):
        here, there = total(score, structure), total(score, best)
        if there <= here + TIE * abs(here):
            return structure
    return best
