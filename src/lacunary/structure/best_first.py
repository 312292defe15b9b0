"""Best-first search: of all graphs seen and not yet looked around from, take the best."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush, nlargest
from typing import Any

from lacunary.structure.climb import check_at_least
from lacunary.structure.neighbours import moved
from lacunary.structure.result import Step
from lacunary.structure.score import Parents
from lacunary.structure.walk import Walk

__all__ = ["BestFirst"]


@dataclass(frozen=True)
class BestFirst:
    """Look around from the best graph not yet looked around from, and keep what is seen for later.

    Attributes
    ----------
    width
        How many neighbours of a graph are kept, the best of them.
    patience
        Graphs looked around from without a better one after which the search ends; by default 50, or twice
        the number of variables if that is more.
    frontier
        How many graphs are kept for later.
    """

    width: int = 10
    patience: int | None = None
    frontier: int = 5_000
    name = "best-first"

    def __post_init__(self) -> None:
        check_at_least(1, width=self.width, patience=self.patience, frontier=self.frontier)

    def run(self, walk: Walk) -> None:
        """Search."""
        patience = max(50, 2 * len(walk.best)) if self.patience is None else self.patience
        memory = walk.memory
        if "waiting" not in memory:
            memory |= {"waiting": [], "seen": [list(walk.board.parents)], "idle": 0, "count": 0}
            self._look_around(walk, set())
        seen = {_parents(graph) for graph in memory["seen"]}
        memory["waiting"] = [list(item) for item in memory["waiting"]]
        heapify(memory["waiting"])
        while memory["waiting"] and memory["idle"] < patience:
            _, _, parents, (action, tail, head, gain, score) = heappop(memory["waiting"])
            top = walk.top
            walk.jump(_parents(parents), Step(action, tail, head, gain, score))
            memory["idle"] = 0 if walk.top > top else memory["idle"] + 1
            self._look_around(walk, seen)
            walk.tell()

    def _look_around(self, walk: Walk, seen: set[tuple[Parents, ...]]) -> None:
        """Put the best neighbours of the graph that were never seen on the waiting list."""
        memory, names = walk.memory, walk.schema.names
        value = walk.board.value
        for move, gain in nlargest(self.width, walk.board.moves(), key=lambda item: item[1]):
            parents = moved(walk.board.parents, move)
            if parents in seen:
                continue
            seen.add(parents)
            memory["seen"].append(parents)
            memory["count"] += 1
            how = (move.action, names[move.tail], names[move.head], gain, value + gain)
            heappush(memory["waiting"], [-(value + gain), memory["count"], parents, how])
        if len(memory["waiting"]) > 2 * self.frontier:
            memory["waiting"] = sorted(memory["waiting"])[: self.frontier]


def _parents(graph: Any) -> tuple[Parents, ...]:
    return tuple(tuple(map(int, parents)) for parents in graph)
