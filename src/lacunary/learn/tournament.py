"""The halving tournament: many starts begin, one climbs to the end."""

from __future__ import annotations

from dataclasses import replace

from lacunary.infer.rows import Rows
from lacunary.learn.loop import Climb, Rule, Watch, climb
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array

__all__ = ["tournament"]


def tournament(
    prepared: Rows,
    rule: Rule,
    points: Array,
    stop: Stop,
    accelerate: bool,
    watch: Watch | None,
) -> tuple[list[Climb], bool]:
    """Let the better half go on for twice as long until one is left; that one climbs to the end."""
    ended: dict[int, Climb] = {}
    alive = list(range(len(points)))
    steps = 1
    while len(alive) > 1:
        # One sweep more than steps: the objective of the last point is only known once it is swept.
        climbs, interrupted = climb(prepared, rule, points[alive], Stop(iterations=steps + 1), watch=watch)
        ended |= {start: _joined(ended.get(start), c) for start, c in zip(alive, climbs, strict=True)}
        if interrupted:
            return [ended[s] for s in sorted(ended)], True
        points[alive] = [ended[s].point for s in alive]
        alive = sorted(alive, key=lambda s: -ended[s].objective)[: (len(alive) + 1) // 2]
        steps *= 2
    last, interrupted = climb(prepared, rule, points[alive], stop, accelerate=accelerate, watch=watch)
    ended[alive[0]] = _joined(ended.get(alive[0]), last[0])
    return [ended[s] for s in sorted(ended)], interrupted


def _joined(earlier: Climb | None, later: Climb) -> Climb:
    """Return two climbs of one start as one; the later begins where the earlier ended."""
    if earlier is None:
        return later
    if not later.trace:  # interrupted before its first sweep was done
        return earlier
    iterations = earlier.iterations + later.iterations
    return replace(later, trace=earlier.trace + later.trace[1:], iterations=iterations)
