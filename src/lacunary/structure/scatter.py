"""A search from many places: reinsertion from where one is, and from graphs drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lacunary.structure.board import Board
from lacunary.structure.climb import check_at_least
from lacunary.structure.constraints import Constraints
from lacunary.structure.reinsert import Reinsert
from lacunary.structure.score import Parents
from lacunary.structure.sketch import Sketch
from lacunary.structure.walk import Walk

__all__ = ["Scatter"]

DENSITY = 0.3
"""The chance that two variables are joined in a graph to begin from."""


@dataclass(frozen=True)
class Scatter:
    """`Reinsert` from the graph given, then from graphs drawn at random; the best of all is kept.

    Where variables are many for the rows, reinsertion ends some nats below the best graph, and elsewhere from
    every beginning. From dense graphs it ends no lower than from one without arcs, and each time elsewhere.

    Attributes
    ----------
    starts
        How many graphs are drawn.
    """

    starts: int = 5
    name = "scatter"

    def __post_init__(self) -> None:
        check_at_least(0, starts=self.starts)

    def run(self, walk: Walk) -> None:
        """Search."""
        Reinsert().run(walk)
        for _ in range(self.starts):
            board = walk.board
            first = _drawn(board.constraints, walk.rng)
            other = Walk(self.name, Board(board.score, board.constraints, first, board.prior), walk.rng)
            Reinsert().run(other)
            if other.top > walk.top + board.tie:
                walk.jump(other.best)
            walk.tell()


def _drawn(rules: Constraints, rng: np.random.Generator) -> list[Parents]:
    """Return a random graph that the constraints allow, with what they require."""
    sketch, n = Sketch(rules.start(None)), len(rules.schema)
    for place in rng.permutation(n * n):
        tail, head = divmod(int(place), n)
        room = rules.free[tail, head] and len(sketch.parents[head]) < rules.max_parents
        if rng.random() < DENSITY and room and sketch.may_add(tail, head):
            sketch.add(tail, head)
    return sketch.parents
