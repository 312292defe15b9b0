"""A search under way: where it is, the best it has met, and what it has to remember to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from math import isclose
from typing import Any

import numpy as np

from lacunary.data.schema import Schema
from lacunary.errors import ParameterError
from lacunary.learn.standing import damage_named
from lacunary.learn.stop import is_enough
from lacunary.maths.arrays import Booleans
from lacunary.model.dag import Dag
from lacunary.structure.board import Ascent, Board
from lacunary.structure.move import Move
from lacunary.structure.result import Step
from lacunary.structure.score import Parents, Structure

__all__ = [
    "Halt",
    "SearchProgress",
    "Trail",
    "Walk",
    "WatchSearch",
    "dag_of",
    "is_enough",
    "read_structure",
    "structure_of",
]


SAME = 1e-9
"""Two scores agree within this part of their size: another machine adds up in another order."""


class Halt(Exception):
    """The one who watches has seen enough."""


@dataclass(frozen=True, eq=False)
class Trail:
    """A search as it stands, from which it goes on as if it had never stopped.

    Attributes
    ----------
    method
        The search, by name; another cannot go on from here.
    dag, best
        Where the search is, and the best graph it has met.
    path
        The steps so far.
    memory
        What else the search remembers; made of what JSON can hold.
    fingerprint
        Of which rows it is a search, and how, by name; with others one cannot go on.
    """

    method: str
    dag: Dag
    best: Dag
    path: tuple[Step, ...]
    memory: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SearchProgress:
    """What ``watch`` is told after every step.

    Attributes
    ----------
    steps, arcs, score
        Steps taken, and the graph as it stands.
    best
        The best score so far.
    part
        How much of the search is done, between 0 and 1, where that is known.
    trail
        Returns the search as it stands, to be kept in a file.
    """

    method: str
    steps: int
    arcs: int
    score: float
    best: float
    part: float | None
    trail: Callable[[], Trail]


WatchSearch = Callable[[SearchProgress], object]


class Walk:
    """A board on which a search moves, with the path behind it and the best graph it met."""

    def __init__(
        self,
        method: str,
        board: Board,
        rng: np.random.Generator,
        watch: WatchSearch | None = None,
        trail: Trail | None = None,
        fingerprint: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.method, self.board, self.rng, self.watch = method, board, rng, watch
        self.fingerprint = fingerprint
        self.schema: Schema = board.constraints.schema
        self.steps = 0
        self._path: list[Step | Ascent] = []
        self.memory: dict[str, Any] = {}
        self.first, self.bottom = board.parents, board.value
        self.best, self.top = self.first, self.bottom
        if trail is not None:
            self._resume(trail)

    def _resume(self, trail: Trail) -> None:
        """Stand where a search stood; refuse what no search can have left, or one by another score."""
        memory = dict(trail.memory)
        with damage_named():
            self.first = read_structure(self.schema, memory.pop("first"))
            self.bottom, top = float(memory.pop("bottom")), float(memory.pop("top"))
            self.rng.bit_generator.state = memory.pop("rng")
        self.board.jump(structure_of(trail.best))
        if not isclose(self.board.value, top, rel_tol=SAME):
            raise ParameterError(
                f"this cannot go on from there: its best graph scored {top!r}, and the score now says "
                f"{self.board.value!r}"
            )
        self.best, self.top = self.board.parents, top
        self.board.jump(structure_of(trail.dag))
        self._path, self.steps, self.memory = list(trail.path), len(trail.path), memory

    @property
    def path(self) -> list[Step]:
        """The steps so far; ``steps`` is how many."""
        names, counted, out = self.schema.names, self.board.prior.counted, list[Step]()
        for each in self._path:
            out += [each] if isinstance(each, Step) else each.steps(names, counted)
        self._path = [*out]
        return out

    def take(self, move: Move) -> None:
        """Make a move, note it, and note the graph if it is the best."""
        self._took(move, self.board.apply(move))

    def rise(self, barred: Booleans | None = None) -> bool:
        """Make the best move and note it, if it gains; tell whether it did. See `Board.rise`."""
        risen = self.board.rise(barred)
        if risen is not None:
            self._took(*risen)
        return risen is not None

    def ascend(self, barred: Booleans | None = None, most: int | None = None) -> bool | None:
        """Make the best moves until none gains, or so many, in one go; tell whether none gains.

        None, and nothing is done, where the score is not one that kernels work out.
        """
        if self.board.law is None:
            return None
        while most != 0:
            found = self.board.ascend(barred, most)
            self._path.append(found)
            self.steps += len(found)
            self._seen(self.board.value)
            if found.over:
                return True
            most = None if most is None else most - len(found)
        return False

    def _took(self, move: Move, gain: float) -> None:
        names = self.schema.names
        self._note(Step(move.action, names[move.tail], names[move.head], gain, self.board.value))

    def jump(self, parents: Sequence[Parents], step: Step | None = None) -> None:
        """Go to another graph, and note it."""
        before = self.board.value
        self.board.jump(parents)
        value = self.board.value
        self._note(step or Step("jump", "", "", value - before, value))

    def _note(self, step: Step) -> None:
        self._path.append(step)
        self.steps += 1
        self._seen(step.score)

    def _seen(self, score: float) -> None:
        """Keep the graph if it is the best."""
        if score > self.top and score > self.top + self.board.tie:  # the tie costs a sum
            self.best, self.top = self.board.parents, score

    def scout(self) -> Walk:
        """Return a walk that goes on from here by itself and tells nobody, until this one follows it."""
        other = copy(self)
        other.board, other.watch, other._path, other.steps = self.board.copy(), None, [], 0
        return other

    def follow(self, scout: Walk) -> None:
        """Note the steps of a scout that set out from here, and go to a better graph if it stands at one."""
        self._path += scout._path
        self.steps += scout.steps
        if scout.best is not self.best:
            self.board, self.best, self.top = scout.board, scout.best, scout.top
        else:
            value = self.board.value
            self._note(Step("jump", "", "", value - scout.board.value, value))

    def tell(self, part: float | None = None) -> None:
        """Say how far it is, at a moment from which the search could go on; stop if told to."""
        if self.watch is None:
            return
        told = SearchProgress(
            self.method, self.steps, self.board.sketch.size, self.board.value, self.top, part, self.trail
        )
        if is_enough(self.watch(told)):
            raise Halt

    def trail(self) -> Trail:
        """Return the search as it stands."""
        memory = {**deepcopy(self.memory), "rng": self.rng.bit_generator.state}  # the search goes on
        memory |= {"first": [list(parents) for parents in self.first], "bottom": self.bottom, "top": self.top}
        here, best = dag_of(self.schema, self.board.parents), dag_of(self.schema, self.best)
        return Trail(self.method, here, best, tuple(self.path), memory, self.fingerprint())


def dag_of(schema: Schema, parents: Iterable[Iterable[int]]) -> Dag:
    """Return the graph in which each variable has the parents at these positions."""
    return Dag(schema, tuple(tuple(schema.names[p] for p in ps) for ps in parents))


def structure_of(dag: Dag) -> Structure:
    """Return the parents of each variable of a graph, as positions in increasing order."""
    return tuple(tuple(sorted(ps)) for ps in dag.parent_indices)


def read_structure(schema: Schema, plain: Any) -> Structure:
    """Return the graph that lists of parents stand for, as a file has them; refuse what is none."""
    n = len(schema)
    structure = tuple(tuple(map(int, parents)) for parents in plain)
    if len(structure) != n or not all(0 <= p < n for parents in structure for p in parents):
        raise ValueError(f"a graph of {n} variables was expected")
    dag_of(schema, structure)  # refuses cycles
    return structure
