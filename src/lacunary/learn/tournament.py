"""The halving tournament: many starts begin, one climbs to the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lacunary.infer.rows import Rows
from lacunary.learn.loop import Climb, Progress, Rule, Watch, climb
from lacunary.learn.standing import Standing, count, damage_named, flag, logarithm, plain_log, vector
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array

__all__ = ["tournament"]

MOST = 10**7
"""More starts than any tournament has."""


def tournament(
    prepared: Rows,
    rule: Rule,
    points: Array,
    stop: Stop,
    accelerate: bool,
    watch: Watch | None,
    standing: Standing | None = None,
) -> tuple[list[Climb], bool]:
    """Let the better half go on for twice as long until one is left; that one climbs to the end.

    With ``standing`` it goes on from the round that was under way.
    """
    ended: dict[int, Climb] = {}
    alive, steps = list(range(len(points))), 1
    if standing is not None:
        with damage_named():
            ended, alive, steps = _taken_up(standing, points.shape[1])
            points, standing = _enlarged(points, alive), standing["climb"]
    while len(alive) > 1:
        # One sweep more than steps: the objective of the last point is only known once it is swept.
        told, limit = _told(watch, ended, alive, steps), Stop(iterations=steps + 1)
        climbs, interrupted = climb(prepared, rule, points[alive], limit, watch=told, standing=standing)
        standing = None
        ended |= {start: _joined(ended.get(start), c) for start, c in zip(alive, climbs, strict=True)}
        if interrupted:
            return [ended[s] for s in sorted(ended)], True
        points[alive] = [ended[s].point for s in alive]
        alive = sorted(alive, key=lambda s: -ended[s].objective)[: (len(alive) + 1) // 2]
        steps *= 2
    told = _told(watch, ended, alive, steps)
    last, interrupted = climb(
        prepared, rule, points[alive], stop, accelerate=accelerate, watch=told, standing=standing
    )
    ended[alive[0]] = _joined(ended.get(alive[0]), last[0])
    return [ended[s] for s in sorted(ended)], interrupted


def _told(watch: Watch | None, ended: dict[int, Climb], alive: list[int], steps: int) -> Watch | None:
    """Return a ``watch`` that is told of a round with what the rounds before it left."""
    if watch is None:
        return None
    before, here = list(ended.items()), {"alive": list(alive), "steps": steps}

    def told(progress: Progress) -> object:
        def standing() -> Standing:
            rest = [[number, *_plain(one)] for number, one in before]
            return {**here, "ended": rest, "climb": progress.standing()}

        return watch(replace(progress, standing=standing))

    return told


def _plain(one: Climb) -> list[Any]:
    logs = [plain_log(one.objective), plain_log(one.log_likelihood), list(map(plain_log, one.trace))]
    return [one.point.tolist(), one.theta.tolist(), *logs, one.iterations, one.converged]


def _taken_up(standing: Standing, size: int) -> tuple[dict[int, Climb], list[int], int]:
    """Return what the rounds before left, who is in the one under way, and of how many steps it is."""
    ended = {}
    for number, point, theta, objective, log, trace, iterations, converged in standing["ended"]:
        ended[count(number)] = Climb(
            vector(point, size),
            vector(theta, len(theta)),
            logarithm(objective),
            logarithm(log),
            tuple(map(logarithm, trace)),
            count(iterations),
            flag(converged),
        )
    alive = [count(number) for number in standing["alive"]]
    if not alive or len(set(alive)) < len(alive) or (ended and not set(alive) <= set(ended)):
        raise ValueError("it does not fit the tournament")
    return ended, alive, count(standing["steps"])


def _enlarged(points: Array, alive: list[int]) -> Array:
    """Return room for the points of all starts, of which those in the round are known."""
    if max(alive) > MOST:
        raise ValueError("it does not fit the tournament")
    out = np.zeros((max(alive) + 1, points.shape[1]))
    out[alive] = points
    return out


def _joined(earlier: Climb | None, later: Climb) -> Climb:
    """Return two climbs of one start as one; the later begins where the earlier ended."""
    if earlier is None:
        return later
    if not later.trace:  # interrupted before its first sweep was done
        return earlier
    iterations = earlier.iterations + later.iterations
    return replace(later, trace=earlier.trace + later.trace[1:], iterations=iterations)
