"""Searches that climb: greedy, with restarts, and with a memory of what was just changed (tabu)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacunary.errors import ParameterError
from lacunary.structure.walk import Walk

__all__ = ["Greedy", "Tabu", "check_at_least", "climb", "kick"]


def climb(walk: Walk, most: int | None = None) -> bool:
    """Take the best move until none gains, or ``most`` were taken; tell whether the top was reached."""
    taken = 0
    while most is None or taken < most:
        move, gain = walk.board.best()
        if move is None or gain <= walk.board.tie:
            return True
        walk.take(move)
        walk.tell()
        taken += 1
    return False


def kick(walk: Walk, moves: int) -> None:
    """Start anew: go back to the best graph and make random moves."""
    walk.jump(walk.best)
    for _ in range(moves):
        choices = [move for move, _ in walk.board.moves()]
        if choices:
            walk.take(choices[int(walk.rng.integers(len(choices)))])


@dataclass(frozen=True)
class Greedy:
    """Take the move that gains most until none gains.

    Attributes
    ----------
    restarts
        How often to shake the best graph and climb again.
    kicks
        Random moves of a shake; by default half as many as there are variables.
    """

    restarts: int = 0
    kicks: int | None = None
    name = "greedy"

    def __post_init__(self) -> None:
        check_at_least(0, restarts=self.restarts, kicks=self.kicks)

    def run(self, walk: Walk) -> None:
        """Search."""
        walk.memory.setdefault("round", 0)
        climb(walk)
        while walk.memory["round"] < self.restarts:
            kick(walk, _kicks(self.kicks, walk))
            walk.memory["round"] += 1
            walk.tell(walk.memory["round"] / self.restarts)
            climb(walk)


@dataclass(frozen=True)
class Tabu:
    """Take the best move even if it loses, but none that touches what was changed just before.

    A tabu move is taken after all if it leads to a graph better than any before.

    Attributes
    ----------
    length
        For how many moves a pair of variables is left alone; by default 10, and less on few variables.
    patience
        Moves without a better graph after which the search ends or restarts; by default 15, or the number
        of variables if that is more.
    restarts, kicks
        As of `Greedy`.
    """

    length: int | None = None
    patience: int | None = None
    restarts: int = 0
    kicks: int | None = None
    name = "tabu"

    def __post_init__(self) -> None:
        check_at_least(0, length=self.length, restarts=self.restarts, kicks=self.kicks)
        check_at_least(1, patience=self.patience)

    def run(self, walk: Walk) -> None:
        """Search."""
        walk.memory = {"round": 0, "idle": 0, "recent": [], **walk.memory}
        while self._round(walk) and walk.memory["round"] < self.restarts:
            kick(walk, _kicks(self.kicks, walk))
            walk.memory |= {"round": walk.memory["round"] + 1, "idle": 0, "recent": []}
            walk.tell(walk.memory["round"] / self.restarts)

    def _round(self, walk: Walk) -> bool:
        n = len(walk.best)
        length = min(10, n * (n - 1) // 4) if self.length is None else self.length
        patience = max(15, n) if self.patience is None else self.patience
        while walk.memory["idle"] < patience:
            top = walk.top
            move, gain = walk.board.best()
            if walk.board.value + gain <= top + walk.board.tie:
                move, gain = walk.board.best(_barred(n, walk.memory["recent"]))
            if move is None:
                break
            walk.take(move)
            recent = [*walk.memory["recent"], [move.tail, move.head]]
            walk.memory["recent"] = recent[len(recent) - min(length, len(recent)) :]
            walk.memory["idle"] = 0 if walk.top > top else walk.memory["idle"] + 1
            walk.tell()
        return True


def _barred(n: int, recent: list[list[int]]) -> NDArray[np.bool_]:
    out = np.zeros((n, n), dtype=bool)
    for one, two in recent:
        out[one, two] = out[two, one] = True
    return out


def _kicks(kicks: int | None, walk: Walk) -> int:
    return max(2, len(walk.best) // 2) if kicks is None else kicks


def check_at_least(least: int, **settings: float | None) -> None:
    """Refuse a setting that is too small."""
    for name, value in settings.items():
        if value is not None and not value >= least:
            raise ParameterError(f"{name} must be {least} or more, not {value}")
