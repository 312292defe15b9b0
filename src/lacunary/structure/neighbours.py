"""Graphs near a graph: one arc away, from it or from graphs that say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from lacunary.structure.board import Board
from lacunary.structure.constraints import Constraints
from lacunary.structure.move import Move, Reverse
from lacunary.structure.score import Parents, Structure, toggle

__all__ = ["Pattern", "covered", "equivalents", "moved", "near", "pattern"]

Pattern = tuple[frozenset[frozenset[int]], frozenset[tuple[int, int, int]]]
"""The links of a graph and the pairs of unlinked parents that meet: the same for equivalent graphs alone."""


def pattern(structure: Structure) -> Pattern:
    """Return what equivalent graphs have in common, and no others (Verma & Pearl 1990)."""
    links = frozenset(frozenset((parent, child)) for child, ps in enumerate(structure) for parent in ps)
    meet = (
        (one, child, other)
        for child, parents in enumerate(structure)
        for one, other in combinations(parents, 2)
        if frozenset((one, other)) not in links
    )
    return links, frozenset(meet)


def moved(structure: Structure, move: Move) -> Structure:
    """Return a graph after a move."""
    out = list(structure)
    for child in move.children:
        out[child] = toggle(out[child], move.head if child == move.tail else move.tail)
    return tuple(out)


def equivalents(structure: Structure, constraints: Constraints, most: int) -> list[Structure]:
    """Return a graph and some that say the same, so many at most (Chickering 1995: turns of covered arcs)."""
    known, found = {structure}, [structure]
    for here in found:
        for tail, head in covered(here, constraints):
            other = moved(here, Reverse(tail, head))
            if len(found) < most and other not in known:
                known.add(other)
                found.append(other)
    return found


def covered(structure: Sequence[Parents], constraints: Constraints) -> Iterator[tuple[int, int]]:
    """Go over covered arcs that may be turned, tail and head: the head's other parents are the tail's."""
    for head, parents in enumerate(structure):
        for tail in parents:
            alike = len(parents) == len(structure[tail]) + 1 and toggle(parents, tail) == structure[tail]
            if alike and constraints.free[head, tail] and not constraints.required[tail, head]:
                yield tail, head


def near(board: Board, members: list[Structure]) -> list[tuple[Structure, float]]:
    """Return all graphs one move away from some graph of a class, one of each class, and what they score.

    Those that score most come first. Of the class itself there are only graphs that score more than this one.
    """
    found: dict[Pattern | Structure, tuple[Structure, float]] = {}
    board.jump(members[0])
    home, value, tie = pattern(members[0]), board.value, board.tie
    for member in members:
        board.jump(member)
        for move, gain in board.moves():
            other, score = moved(member, move), board.value + gain
            kind: Pattern | Structure = pattern(other)
            if kind == home:
                if score <= value + tie:
                    continue
                kind = other
            found.setdefault(kind, (other, score))
    return sorted(found.values(), key=lambda each: -each[1])
