"""The one loop: sweep, improve, until nothing is gained any more.

Expectation–maximisation and variational Bayes differ only in the `Rule` that is plugged in. All starts
climb together as a batch, so that a sweep looks everything up once for all of them; a start that has
converged leaves the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.engine import Prepared
from lacunary.learn.stop import Stop

__all__ = ["Climb", "Progress", "Rule", "Watch", "climb"]


FAR = 300.0
"""No leap is longer than so many steps or leads further in log coordinates, so that none overflows."""

GROW, SHRINK = 4.0, 2.0
"""By how much the reach of leaps changes after one that succeeded and one that failed."""


class Rule(Protocol):
    """What is done with expected counts."""

    def begin(self, prepared: Prepared, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points from which to climb, given starting parameters; (starts, size)."""
        ...

    def parameters(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the parameters that stand for these points; (starts, size)."""
        ...

    def potentials(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what the sweep multiplies at these points; (starts, size)."""
        ...

    def objective(
        self, points: NDArray[np.float64], log_likelihood: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the value that must never fall; (starts,)."""
        ...

    def improve(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the next points; (starts, size)."""
        ...

    def settle(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the nearest admissible points to positive vectors; (starts, size)."""
        ...


@dataclass(frozen=True, eq=False)
class Climb:
    """Where one start has got to.

    Attributes
    ----------
    point
        Where ``objective`` and ``log_likelihood`` were worked out; (size,).
    theta
        The parameters that stand for the point; (size,).
    trace
        The objective after each accepted step, the first at the start itself.
    iterations
        Sweeps over the data.
    """

    point: NDArray[np.float64]
    theta: NDArray[np.float64]
    objective: float
    log_likelihood: float
    trace: tuple[float, ...]
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Progress:
    """What `watch` is told after every sweep: how far it is, and the climbs as they stand."""

    iteration: int
    most: int
    active: int
    best: float
    climbs: Callable[[], list[Climb]]


Watch = Callable[[Progress], object]


class _Batch:
    """The state of all starts; arrays have one row a start."""

    def __init__(self, points: NDArray[np.float64], rule: Rule) -> None:
        starts = len(points)
        self.rule = rule
        self.points = points.copy()
        self.kept = points.copy()  # the last accepted point of each start, whose objective is known
        self.objective = np.full(starts, -np.inf)
        self.first = np.full(starts, -np.inf)  # the first objective that is finite
        self.log_likelihood = np.full(starts, -np.inf)
        self.traces: list[list[float]] = [[] for _ in range(starts)]
        self.iterations = np.zeros(starts, dtype=np.int64)
        self.converged = np.zeros(starts, dtype=bool)

    def accept(
        self,
        which: NDArray[np.int64],
        objective: NDArray[np.float64],
        log: NDArray[np.float64],
        stop: Stop,
        judged: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Take the current points of these starts as their new places; tell which climbs are over."""
        before = self.objective[which]
        self.kept[which] = self.points[which]
        self.objective[which], self.log_likelihood[which] = objective, log
        known = np.isfinite(before)
        if not known.all():
            self.first[which[~known]] = objective[~known]
        for start, value in zip(which, objective, strict=True):
            self.traces[start].append(float(value))
        judged = judged & known
        done = np.zeros(len(which), dtype=bool)
        done[judged] = stop.met(self.first[which[judged]], before[judged], objective[judged])
        self.converged[which[done]] = True
        if not known.all():
            # A row that is impossible after a step stays so: what has probability zero then is never counted.
            done |= (self.iterations[which] > 1) & np.isneginf(before) & np.isneginf(objective)
        return done

    def climbs(self) -> list[Climb]:
        """Return where every start has got to."""
        theta = self.rule.parameters(self.kept)
        return [
            Climb(
                self.kept[s].copy(),
                theta[s].copy(),
                float(self.objective[s]),
                float(self.log_likelihood[s]),
                tuple(self.traces[s]),
                int(self.iterations[s]),
                bool(self.converged[s]),
            )
            for s in range(len(self.points))
        ]


def climb(
    prepared: Prepared,
    rule: Rule,
    points: NDArray[np.float64],
    stop: Stop,
    *,
    accelerate: bool = False,
    watch: Watch | None = None,
) -> tuple[list[Climb], bool]:
    """Climb from every point until the rule says stop; also tell whether it was interrupted.

    An interrupt from the keyboard, or a true answer from ``watch``, ends the climb with the best so far.
    """
    batch = _Batch(points, rule)
    leap = _Leap(rule, batch) if accelerate else None
    active = np.arange(len(points))
    try:
        for iteration in range(1, stop.iterations + 1):
            points = _rows(batch.points, active)
            counts, log = prepared.expect(rule.potentials(points))
            objective = rule.objective(points, log)
            batch.iterations[active] += 1
            # What a leap gains says nothing of how far the top is: only plain steps are judged.
            judged = ~leap.trying[active] if leap else np.ones(len(active), dtype=bool)
            good = np.flatnonzero(leap.landed(active, objective)) if leap else np.arange(len(active))
            here = active[good]
            over = batch.accept(here, objective[good], log[good], stop, judged[good])
            going = here[~over]
            following = rule.improve(_rows(counts, good[~over]))
            batch.points[going] = leap.ahead(going, following) if leap else following
            active = np.delete(active, good[over]) if over.any() else active
            if watch is not None:
                told = Progress(
                    iteration, stop.iterations, len(active), float(batch.objective.max()), batch.climbs
                )
                # Not any true answer: what a print or a write returns must not end the fit.
                if isinstance(answer := watch(told), bool | np.bool_) and answer:
                    return batch.climbs(), True
            if not len(active):
                break
    except KeyboardInterrupt:
        return batch.climbs(), True
    return batch.climbs(), False


def _rows(array: NDArray[np.float64], which: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return these rows, which are different and in order: the array itself if they are all."""
    return array if len(which) == len(array) else array[which]


class _Leap:
    """Squared extrapolation of the last two steps (SQUAREM; Varadhan & Roland 2008), in log coordinates.

    After two plain steps x₀ → x₁ → x₂ with r = x₁ − x₀ and v = (x₂ − x₁) − r, the next point tried is
    x₀ + 2sr + s²v with s = ‖r‖/‖v‖. It is kept only if its objective is no lower than that of x₁;
    otherwise the start goes on from x₂ as if nothing had happened. The norm weighs each coordinate by
    its probability: logs of probabilities on their way to zero run off and would drown all others.
    How far s may reach grows while leaps succeed and shrinks when one fails.
    """

    def __init__(self, rule: Rule, batch: _Batch) -> None:
        starts = len(batch.points)
        self.rule, self.batch = rule, batch
        self.before = batch.points.copy()
        self.fallback = batch.points.copy()
        self.steps = np.zeros(starts, dtype=np.int64)
        self.trying = np.zeros(starts, dtype=bool)
        self.length = np.ones(starts)  # s of the last leap
        self.reach = np.ones(starts)

    def landed(self, active: NDArray[np.int64], objective: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which points are kept; a leap that lost ground is taken back."""
        tried = self.trying[active]
        lost = tried & ~(objective >= self.batch.objective[active])
        back, won = active[lost], active[tried & ~lost]
        self.batch.points[back] = self.fallback[back]
        self.reach[back] = np.maximum(self.length[back] / SHRINK, 1.0)
        full = won[self.length[won] >= self.reach[won]]
        self.reach[full] = np.minimum(self.reach[full] * GROW, FAR)
        self.trying[active] = False
        self.steps[back] = 0
        return ~lost

    def ahead(self, which: NDArray[np.int64], following: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points to sweep next, given where a plain step leads."""
        out = following.copy()
        ready = self.steps[which] == 1
        leaping = which[ready]
        if len(leaping):
            self.fallback[leaping] = following[ready]
            out[ready] = self._extrapolate(leaping, following[ready])
        self.trying[leaping] = True
        self.before[which] = self.batch.points[which]
        self.steps[which] = np.where(ready, 0, 1)
        return out

    def _extrapolate(self, which: NDArray[np.int64], two: NDArray[np.float64]) -> NDArray[np.float64]:
        zero, one = self.before[which], self.batch.points[which]
        positive = (zero > 0) & (one > 0) & (two > 0)
        a, b, c = (np.log(np.where(positive, x, 1.0)) for x in (zero, one, two))
        r, v = b - a, (c - b) - (b - a)
        step, bend = (np.sqrt((one * x * x).sum(axis=1)) for x in (r, v))
        ratio = np.divide(step, bend, out=np.ones_like(step), where=bend > 0)
        self.length[which] = np.clip(ratio, 1.0, self.reach[which])
        s = self.length[which, None]
        leap = np.exp(np.clip(a + 2 * s * r + s * s * v, -FAR, FAR))
        return self.rule.settle(np.where(positive, leap, two))
