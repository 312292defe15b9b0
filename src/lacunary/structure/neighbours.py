"""Graphs near a graph: one arc away, or two, from it or from graphs that say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from lacunary.structure.board import Board
from lacunary.structure.constraints import Constraints
from lacunary.structure.move import Move, Remove, Reverse
from lacunary.structure.score import Parents, Structure, toggle

__all__ = ["Pattern", "across", "covered", "equivalents", "moved", "near", "pattern"]

Pattern = tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int, int]]]
"""The links of a graph, the first variable first, and the pairs of unlinked parents that meet.

The same for equivalent graphs alone."""


FIRST, MEMBERS = 100, 20
"""Graphs one move away from which a second one is looked at, and equivalent ones of which arcs are taken."""


def pattern(structure: Structure) -> Pattern:
    """Return what equivalent graphs have in common, and no others (Verma & Pearl 1990)."""
    links = {(p, child) if p < child else (child, p) for child, ps in enumerate(structure) for p in ps}
    meet = [
        (one, child, other)
        for child, parents in enumerate(structure)
        if len(parents) > 1
        for one, other in combinations(parents, 2)
        if (one, other) not in links
    ]
    return frozenset(links), frozenset(meet)


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


def across(board: Board, members: list[Structure], most: int) -> list[Structure]:
    """Return the graphs two moves away from a class that score most, one of each class, the best first.

    The first move goes to a graph that is near, where those that score most come first; the second goes on
    from it. Where the first put an arc in, arcs are taken out of graphs that say the same, too: so a link
    gets another end, whichever way arcs have to point for that.
    """
    first = near(board, members)
    known = {pattern(members[0]), *(pattern(structure) for structure, _ in first)}
    found: dict[Structure, float] = {}
    for structure, value in first[:FIRST]:
        board.jump(structure)
        for move, gain in board.moves():
            found.setdefault(moved(structure, move), board.value + gain)
        if _links(structure) > _links(members[0]):
            for other, gain in _without(board, structure):
                found.setdefault(other, value + gain)
    out: list[Structure] = []
    for structure in sorted(found, key=lambda each: -found[each]):
        if len(out) < most and (kind := pattern(structure)) not in known:
            known.add(kind)
            out.append(structure)
    return out


def _without(board: Board, structure: Structure) -> Iterator[tuple[Structure, float]]:
    """Take each arc out of a graph and of some that say the same; yield what is left, and what that adds."""
    less = board.prior.steps(board.links)[1]
    for member in equivalents(structure, board.constraints, MEMBERS):
        for child, parents in enumerate(member):
            for parent in parents:
                if not board.constraints.required[parent, child]:
                    move = Remove(parent, child)
                    gain = board.score.family(child, toggle(parents, parent)) - board.score.family(
                        child, parents
                    )
                    yield moved(member, move), gain + less


def _links(structure: Structure) -> int:
    return sum(map(len, structure))
