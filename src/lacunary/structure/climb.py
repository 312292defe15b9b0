"""Searches that climb: greedy, and with a memory of what was just changed (tabu); both can start anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lacunary.errors import ParameterError
from lacunary.maths.arrays import Booleans
from lacunary.structure.move import Remove, Reverse
from lacunary.structure.neighbours import covered
from lacunary.structure.walk import Walk

__all__ = ["Greedy", "Tabu", "check_at_least", "climb", "forward", "shake"]


def climb(
    walk: Walk, most: int | None = None, *, barred: Booleans | None = None, quiet: bool = False
) -> bool:
    """Take the best move until none gains, or ``most`` were taken; tell whether the top was reached.

    ``barred`` leaves moves out (`Board.best`); ``quiet`` where a search could not go on from halfway.
    """
    at_once = walk.ascend(barred, most) if quiet or walk.watch is None else None
    if at_once is not None:
        return at_once
    taken = 0
    while most is None or taken < most:
        if not walk.rise(barred):
            return True
        if not quiet:
            walk.tell()
        taken += 1
    return False


def shake(walk: Walk) -> None:
    """Go back to the best graph and loosen it.

    First as many random *covered* arcs are turned round as there are variables: i → j is covered if
    i's parents are all of j's other parents. That leads to an equivalent graph (Chickering 1995), from which
    other neighbours are in reach (Castelo and Kočka 2003). Then some variables, up to one in five, drawn
    at random, lose all arcs that are not required.
    """
    walk.jump(walk.best)
    n, board = len(walk.best), walk.board
    for _ in range(n):
        covered = _covered(walk)
        if covered:
            walk.take(covered[int(walk.rng.integers(len(covered)))])
    some = 1 + int(walk.rng.integers(n // 5 + 1))
    for node in walk.rng.choice(n, some, replace=False):
        loose = board.sketch.arcs & ~board.constraints.required
        for tail, head in np.argwhere(loose):
            if node in (tail, head):
                walk.take(Remove(int(tail), int(head)))


def _covered(walk: Walk) -> list[Reverse]:
    """Return the turns of covered arcs that the constraints allow; they never make a cycle."""
    return [Reverse(*arc) for arc in covered(walk.board.sketch.parents, walk.board.constraints)]


def forward(walk: Walk) -> None:
    """Turn arcs to run from earlier columns to later ones, wherever data cannot tell."""
    board = walk.board
    turned = True
    while turned:
        turned = False
        for move in _covered(walk):
            if move.tail > move.head and not turned:
                turned = board.apply(move) >= -board.tie
                if not turned:
                    board.apply(move.opposite)
    walk.best, walk.top = board.parents, board.value


def _again(walk: Walk, restarts: int, one_round: Callable[[Walk], object]) -> None:
    """Go one round, shake, and so on, until so many rounds in a row found nothing better."""
    walk.memory = {"failed": -1, "mark": None, **walk.memory}
    while True:
        one_round(walk)
        mark = walk.memory["mark"]
        better = mark is None or walk.top > mark + walk.board.tie
        walk.memory |= {"failed": 0 if better else walk.memory["failed"] + 1, "mark": walk.top}
        if walk.memory["failed"] >= restarts or len(walk.best) < 2:
            return
        shake(walk)
        walk.memory |= {"idle": 0, "recent": []}
        walk.tell(walk.memory["failed"] / restarts)


@dataclass(frozen=True)
class Greedy:
    """Take the move that gains most until none gains.

    Attributes
    ----------
    restarts
        How many times in a row to `shake` the best graph and climb again without finding a better one.
    """

    restarts: int = 0
    name = "greedy"

    def __post_init__(self) -> None:
        check_at_least(0, restarts=self.restarts)

    def run(self, walk: Walk) -> None:
        """Search."""
        _again(walk, self.restarts, climb)


@dataclass(frozen=True)
class Tabu:
    """Take the best move even if it loses, but none that touches what was changed just before.

    A tabu move is taken after all if it leads to a graph better than any before.

    Attributes
    ----------
    length
        For how many moves a pair of variables is left alone; fewer where there are few pairs.
    patience
        Moves without a better graph after which a round ends.
    restarts
        How many rounds in a row, each from the best graph after a `shake`, may find nothing better; by
        default 15, or as many as there are variables if that is more.
    """

    length: int = 10
    patience: int = 15
    restarts: int | None = None
    name = "tabu"

    def __post_init__(self) -> None:
        check_at_least(0, length=self.length, restarts=self.restarts)
        check_at_least(1, patience=self.patience)

    def run(self, walk: Walk) -> None:
        """Search."""
        walk.memory = {"idle": 0, "recent": [], **walk.memory}
        _again(walk, max(15, len(walk.best)) if self.restarts is None else self.restarts, self._round)

    def _round(self, walk: Walk) -> None:
        n = len(walk.best)
        length = min(self.length, n * (n - 1) // 4)
        while walk.memory["idle"] < self.patience:
            top = walk.top
            move, gain = walk.board.best()
            if walk.board.value + gain <= top + walk.board.tie:
                move, gain = walk.board.best(_barred(n, walk.memory["recent"]))
            if move is None:
                break
            walk.take(move)
            recent = [*walk.memory["recent"], [move.tail, move.head]]
            walk.memory["recent"] = recent[max(len(recent) - length, 0) :]
            walk.memory["idle"] = 0 if walk.top > top else walk.memory["idle"] + 1
            walk.tell()


def _barred(n: int, recent: list[list[int]]) -> Booleans:
    out = np.zeros((n, n), dtype=bool)
    for one, two in recent:
        out[one, two] = out[two, one] = True
    return out


def check_at_least(least: int, **settings: float | None) -> None:
    """Refuse a setting that is too small."""
    for name, value in settings.items():
        if value is not None and not value >= least:
            raise ParameterError(f"{name} must be {least} or more, not {value}")
