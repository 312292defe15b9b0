"""The default search: climb, walk on a little, then take each variable out and put it back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lacunary.infer.parallel import in_parallel, threads
from lacunary.structure.climb import Tabu, check_at_least, climb
from lacunary.structure.score import Parents
from lacunary.structure.walk import Walk

__all__ = ["Reinsert"]

SECONDS, FEW = 30.0, 100
"""About how long moves take in all, and up to how many variables they take as long as they take."""


AHEAD = 8
"""Trials that are made at once for each thread, at most, and no more than have found nothing so far: once one
finds a better graph, those behind it are made again."""


@dataclass(frozen=True)
class Reinsert:
    """Climb, and where nothing gains any more take each variable out and put it back in other ways.

    A variable loses all its arcs that are not required. Then the graph climbs anew: first the variable gets
    no parents, as if it were a cause, and once nothing gains it may; in a second trial it first gets no
    children. What ends higher is kept, and the variables around the change have their turn again. It ends
    when no variable is left to try. So an arc that ran the wrong way from the start, which data could not
    tell, and the arcs that make up for it go together. Moore and Wong (2003) find the best way to put a
    variable back; here it is climbed to, on scores that are mostly known.

    Attributes
    ----------
    patience
        How many moves a tabu search may go on from the first top without finding a higher one, before
        variables are taken out; 0 for none.
    moves
        How many moves are made with variables taken out, at most; by default as many as it takes up to some
        hundred variables, and with more, for which a move takes longer, what takes about half a minute.
    """

    patience: int = 15
    moves: int | None = None
    name = "reinsert"

    def __post_init__(self) -> None:
        check_at_least(0, patience=self.patience, moves=self.moves)

    def _most(self, structure: Sequence[Parents]) -> int:
        """Return how many moves there is time for: each looks at all pairs, and at large families longer."""
        n, arcs = len(structure), sum(map(len, structure))
        if self.moves is not None or n <= FEW:
            return sys.maxsize if self.moves is None else self.moves
        return int(SECONDS / (3e-9 * n * (n + arcs)))

    def run(self, walk: Walk) -> None:
        """Search."""
        if "queue" not in walk.memory:
            if self.patience:
                Tabu(patience=self.patience, restarts=0).run(walk)
            else:
                climb(walk)
            walk.jump(walk.best)
            nodes = range(len(walk.best))
            queue = [[node, way] for way in (0, 1) for node in nodes]
            walk.memory = {"queue": queue, "until": walk.steps + self._most(walk.best)}
        idle = 0
        while (queue := walk.memory["queue"]) and walk.steps < walk.memory["until"]:
            most = threads() if walk.board.threaded else 1
            many = max(most, min(idle, AHEAD * most)) if most > 1 else 1
            for scout in in_parallel(partial(_replanted, walk), queue[:many]):
                before, idle = walk.best, idle + 1
                queue.pop(0)
                if scout is not None:
                    walk.follow(scout)
                queue += _around(before, walk.best, queue)
                walk.tell()
                if walk.best is not before or walk.steps >= walk.memory["until"]:
                    idle = 0
                    break  # what others have found from where the walk stood is nothing to it now


def _replanted(walk: Walk, trial: list[int]) -> Walk | None:
    """Return a scout that took a variable out and climbed; none where nothing can be taken out.

    With no arc into the variable (way 0) or out of it (1), and then freely.
    """
    node, way = trial
    without = _without(walk, node)
    if without == walk.best:
        return None
    scout = walk.scout()
    scout.jump(without)
    barred = np.zeros((len(without), len(without)), dtype=bool)
    barred[(slice(None), node) if way == 0 else (node, slice(None))] = True
    climb(scout, barred=barred, quiet=True)
    climb(scout, quiet=True)
    if scout.best is not walk.best:
        scout.jump(scout.best)
    return scout


def _without(walk: Walk, node: int) -> tuple[Parents, ...]:
    """Return the best graph without a variable's arcs, but for those that are required."""
    required, out = walk.board.constraints.required, list(walk.best)
    for child, parents in enumerate(walk.best):
        if child == node:
            out[child] = tuple(p for p in parents if required[p, child])
        elif node in parents and not required[node, child]:
            out[child] = tuple(p for p in parents if p != node)
    return tuple(out)


def _around(before: Sequence[Parents], after: Sequence[Parents], waiting: list[list[int]]) -> list[list[int]]:
    """Return the trials of variables whose parents, or whose children's parents, changed, if not waiting."""
    if before is after:
        return []
    changed: set[int] = set()
    for child, (old, new) in enumerate(zip(before, after, strict=True)):
        if old != new:
            changed |= {child, *old, *new}
    trials = [[node, way] for way in (0, 1) for node in sorted(changed)]
    return [trial for trial in trials if trial not in waiting]
