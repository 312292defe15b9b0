"""Simulated annealing: random moves, taken if they gain, and while it is hot also if they lose."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from lacunary.structure.board import Board
from lacunary.structure.climb import check_at_least, climb
from lacunary.structure.move import Add, Move, Remove, Reverse
from lacunary.structure.walk import Walk

__all__ = ["Anneal", "propose"]


@dataclass(frozen=True)
class Anneal:
    """Take a random move that gains g nats with probability min(1, exp(g / T)), while T falls.

    Attributes
    ----------
    hot, cold
        The first and the last temperature, in nats; between them it falls geometrically.
    moves
        How many moves are proposed; by default 100 for every pair of variables.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.asia().sample(300, rng=0).select(["smoke", "bronc", "dysp"])
    >>> len(lac.search(rows, method=lac.Anneal()).dag.arcs)
    2
    """

    hot: float = 20.0
    cold: float = 0.1
    moves: int | None = None
    name = "anneal"

    def __post_init__(self) -> None:
        check_at_least(0, hot=self.hot, cold=self.cold)
        check_at_least(1, moves=self.moves)

    def run(self, walk: Walk) -> None:
        """Search, and at the end climb from the best graph to the nearest top."""
        n = len(walk.best)
        moves = max(1, 50 * n * (n - 1)) if self.moves is None else self.moves
        for step in range(int(walk.memory.get("step", 0)), moves if n > 1 else 0):
            temperature = self.hot * (self.cold / self.hot) ** (step / moves)
            move, chance = propose(walk.board, walk.rng)
            walk.memory["step"] = step + 1
            if move is None:
                continue
            gain = walk.board.delta(move)
            if gain >= 0 or chance < exp(gain / temperature):
                walk.take(move)
                walk.tell(step / moves)
        if walk.board.parents != walk.best and not walk.memory.get("climbing", False):
            walk.jump(walk.best)
        walk.memory["climbing"] = True
        climb(walk)


def propose(board: Board, rng: np.random.Generator) -> tuple[Move | None, float]:
    """Return a random change of a random pair if the constraints allow it, and a number to weigh it by.

    An arc that is there is as often taken out as turned round.
    """
    n = len(board.terms)
    one, other = int(rng.integers(n)), int(rng.integers(n - 1))
    kind, chance = rng.random(2)
    tail, head = one, other + (other >= one)
    return _legal(board, tail, head, turn=kind < 0.5), float(chance)


def _legal(board: Board, tail: int, head: int, *, turn: bool) -> Move | None:
    """Return the move that changes tail → head, if there is one."""
    constraints, sketch = board.constraints, board.sketch
    if not sketch.arcs[tail, head]:
        room = len(sketch.parents[head]) < constraints.max_parents
        may = room and constraints.free[tail, head] and sketch.may_add(tail, head)
        return Add(tail, head) if may else None
    if constraints.required[tail, head]:
        return None
    if not turn:
        return Remove(tail, head)
    room = len(sketch.parents[tail]) < constraints.max_parents
    return (
        Reverse(tail, head)
        if room and constraints.free[head, tail] and sketch.may_reverse(tail, head)
        else None
    )
