"""The one loop: sweep, improve, until nothing is gained any more.

Expectation–maximisation and variational Bayes differ only in the `Rule` that is plugged in. All starts
climb together as a batch, so that a sweep looks everything up once for all of them; a start that has
converged leaves the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import numpy as np

from lacunary.infer.network import Network
from lacunary.infer.rows import Sweep
from lacunary.learn.found import Climbs, Start
from lacunary.learn.standing import Standing, count, damage_named, flag, logarithm, matrix, plain_log, vector
from lacunary.learn.stop import Stop, is_enough
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.model.dag import Dag
from lacunary.model.stats import Batch

__all__ = ["Climb", "Progress", "Rule", "Watch", "climb", "climb_together", "climbing"]


FAR = 300.0
"""No leap is longer than so many steps or leads further in log coordinates, so that none overflows."""

GROW, SHRINK = 4.0, 2.0
"""By how much the reach of leaps changes after one that succeeded and one that failed."""


NOISE = 0.1
"""A climb on an estimate is over once a step gains less than this share of the estimate's error."""

NEAR = 3.0
"""Climbs so many errors below the best, when all are over, are not gone on with on a finer estimate."""


class Rule(Protocol):
    """What is done with expected counts."""

    def begin(self, prepared: Sweep, theta: Array) -> Array:
        """Return the points from which to climb, given starting parameters; (starts, size)."""
        ...

    def parameters(self, points: Array) -> Array:
        """Return the parameters that stand for these points; (starts, size)."""
        ...

    def potentials(self, points: Array) -> Array:
        """Return what the sweep multiplies at these points; (starts, size)."""
        ...

    def objective(self, points: Array, log_likelihood: Array) -> Array:
        """Return the value that must never fall; (starts,)."""
        ...

    def step(self, points: Array, counts: Array) -> Array:
        """Return the next points, given what is expected at these; (starts, size)."""
        ...


class Smooth(Rule, Protocol):
    """A rule whose steps can be prolonged."""

    def unfold(self, points: Array) -> tuple[Array, Array]:
        """Return coordinates in which a step may be prolonged, and how much each matters; (starts, size)."""
        ...

    def fold(self, coordinates: Array) -> Array:
        """Return the admissible points with such coordinates; (starts, size)."""
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
    error
        The standard error of ``log_likelihood`` where it is a Monte Carlo estimate; 0 where it is exact.
    """

    point: Array
    theta: Array
    objective: float
    log_likelihood: float
    trace: tuple[float, ...]
    iterations: int
    converged: bool
    error: float = 0.0

    def start(self, dag: Dag, log_likelihood: float) -> Start:
        """Return what is kept of it in a fit, with the likelihood of its parameters."""
        network = Network(dag, self.theta)
        return Start(
            network,
            self.objective,
            log_likelihood,
            self.trace,
            self.iterations,
            self.converged,
            error=self.error,
        )


@dataclass(frozen=True, eq=False)
class Progress:
    """What `watch` is told after every sweep: how far it is, and the climbs as they stand."""

    dag: Dag
    iteration: int
    most: int
    active: int
    best: float
    climbs: Callable[[], list[Climb]]
    standing: Callable[[], Standing] = dict
    fingerprint: Callable[[], Mapping[str, str]] = dict

    def trail(self) -> Any:
        """Return the climbs as they can be kept in a file, and gone on from."""
        starts = tuple(c.start(self.dag, c.log_likelihood) for c in self.climbs())
        return Climbs(self.dag, starts, self.standing(), self.fingerprint())


Watch = Callable[[Progress], object]


class _Start:
    """Where one start has got to, while it climbs; its numbers are plain, as a batch may be of one."""

    def __init__(self, number: int, point: Array) -> None:
        self.number = number
        self.point = point  # the last that was accepted, whose objective is known
        self.objective = self.first = self.log_likelihood = -math.inf  # first: the first that is finite
        self.trace: list[float] = []
        self.iterations = 0
        self.converged = False
        self.error = 0.0

    def accept(
        self, point: Array, objective: float, log_likelihood: float, error: float, stop: Stop, judged: bool
    ) -> bool:
        """Take a point as the new place; tell whether the climb is over."""
        # A start that has converged goes on with a finer estimate, not to be compared with the one before.
        before, self.error = -math.inf if self.converged else self.objective, error
        self.point, self.objective, self.log_likelihood = point, objective, log_likelihood
        self.trace.append(objective)
        if math.isfinite(before):
            noise = error > 0 and objective - before < NOISE * error
            met = noise or stop.met(self.first, before, objective)
            self.converged = judged and bool(met)
            return self.converged
        self.first, self.converged = objective, False
        # A row that is impossible after a step stays so: what has probability zero then is never counted.
        return self.iterations > 1 and before == objective == -math.inf

    def plain(self) -> Callable[[], list[Any]]:
        """Return what writes the start as it is now, whatever becomes of it, as plain numbers."""
        now = (self.point, self.objective, self.first, self.log_likelihood, self.iterations, self.converged)
        steps, error = len(self.trace), [self.error] if self.error else []

        def written() -> list[Any]:
            point, objective, first, log, iterations, converged = now
            logs = [plain_log(value) for value in (objective, first, log)]
            trace = list(map(plain_log, self.trace[:steps]))
            return [point.tolist(), *logs, iterations, converged, trace, *error]

        return written

    @classmethod
    def read(cls, number: int, plain: Any, size: int) -> _Start:
        """Return the start that `plain` wrote."""
        point, objective, first, log, iterations, converged, trace, *error = plain
        start = cls(number, vector(point, size))
        start.objective, start.first, start.log_likelihood = map(logarithm, (objective, first, log))
        start.iterations, start.converged = count(iterations), flag(converged)
        start.trace = list(map(logarithm, trace))
        start.error = vector(error, 1)[0] if error else 0.0
        return start


def _climbs(starts: list[_Start], rule: Rule) -> list[Climb]:
    """Return where every start has got to."""
    theta = rule.parameters(np.array([start.point for start in starts]))
    return [
        Climb(
            s.point.copy(),
            t.copy(),
            s.objective,
            s.log_likelihood,
            tuple(s.trace),
            s.iterations,
            s.converged,
            s.error,
        )
        for s, t in zip(starts, theta, strict=True)
    ]


def climb(
    prepared: Sweep,
    rule: Rule,
    points: Array,
    stop: Stop,
    *,
    accelerate: bool = False,
    watch: Watch | None = None,
    standing: Standing | None = None,
) -> tuple[list[Climb], bool]:
    """Climb from every point until the rule says stop; also tell whether it was interrupted.

    An interrupt from the keyboard, or a true answer from ``watch``, ends the climb with the best so far. With
    ``standing``, as `Progress` tells it, the climbs go on from there to the same end, bit for bit.

    Where the objective is a Monte Carlo estimate, a climb is over once it gains no more than noise; when all
    are, those near the best go on with more samples, as long as the rows can be `finer`.
    """
    work = climbing(prepared, rule, points, stop, accelerate=accelerate, watch=watch, standing=standing)
    swept: Any = None
    while True:
        try:
            rows, vectors = work.send(swept)
            swept = rows.expect(vectors)
        except StopIteration as end:
            found: tuple[list[Climb], bool] = end.value
            return found
        except KeyboardInterrupt as pressed:
            try:
                work.throw(pressed)
            except StopIteration as end:
                return cast("tuple[list[Climb], bool]", end.value)


Climbing = Generator[tuple[Sweep, Array], Batch, tuple[list[Climb], bool]]
"""A climb that says which sweep it needs, and is told what that found."""


def climbing(
    prepared: Sweep,
    rule: Rule,
    points: Array,
    stop: Stop,
    *,
    accelerate: bool = False,
    watch: Watch | None = None,
    standing: Standing | None = None,
) -> Climbing:
    """Climb as `climb` does, with sweeps that somebody else makes: of several climbs together, perhaps."""
    points = points.copy()  # a row of which is kept by its start; every step makes new ones
    starts = active = [_Start(number, point) for number, point in enumerate(points)]
    leap = _Leap(cast(Smooth, rule), points) if accelerate else None
    begun = grown = 0
    if standing is not None:
        with damage_named():
            begun, starts, active, points = _taken_up(standing, points, leap)
            for _ in range(grown := count(standing.get("grown", 0))):
                prepared = prepared.finer() or prepared
    try:
        for iteration in range(begun + 1, stop.iterations + 1 if active else 0):
            swept = yield prepared, rule.potentials(points)
            log = swept.log_likelihood
            objective = rule.objective(points, log)
            going, over = _accept(active, points, objective, log, _errors(swept), stop, leap)
            following = rule.step(_rows(points, going), _rows(swept.counts, going))
            if leap:
                leap.ahead([active[k].number for k in going], following)
            if over:
                active = _without(active, over)
            points = leap.points[[start.number for start in active]] if leap else following
            if not active and swept.log_error is not None and (finer := prepared.finer()) is not None:
                prepared, grown = finer, grown + 1
                active = _near_the_best(starts)
                points = np.array([start.point for start in active])
                leap = _Leap(cast(Smooth, rule), np.array([s.point for s in starts])) if leap else None
            if watch is not None:
                best = max(start.objective for start in starts)
                climbs = partial(_climbs, starts, rule)
                stand = _standing(iteration, starts, active, points, leap, grown)
                told = Progress(prepared.dag, iteration, stop.iterations, len(active), best, climbs, stand)
                if is_enough(watch(told)):
                    return _climbs(starts, rule), True
            if not active:
                break
    except KeyboardInterrupt:
        return _climbs(starts, rule), True
    return _climbs(starts, rule), False


def climb_together(
    work: Sequence[Climbing], sweep: Callable[[Sequence[tuple[Sweep, Array]]], Sequence[Batch]]
) -> list[list[Climb]]:
    """Return where climbs on different rows got to; ``sweep`` makes all their sweeps of one turn at once."""
    ends: dict[int, list[Climb]] = {}
    waiting = {k: next(each) for k, each in enumerate(work)}
    while waiting:
        for k, swept in zip(list(waiting), sweep(list(waiting.values())), strict=True):
            try:
                waiting[k] = work[k].send(swept)
            except StopIteration as end:
                ends[k], interrupted = end.value
                del waiting[k]
                if interrupted:
                    raise KeyboardInterrupt from None
    return [ends[k] for k in range(len(work))]


def _standing(
    iteration: int, starts: list[_Start], active: list[_Start], points: Array, leap: _Leap | None, grown: int
) -> Callable[[], Standing]:
    """Return what writes the climbs as they are now, between two sweeps."""
    written, numbers = [start.plain() for start in starts], [start.number for start in active]
    leaps = None if leap is None else leap.plain()

    def stand() -> Standing:
        return {
            "iteration": iteration,
            "starts": [write() for write in written],
            "active": numbers,
            "points": points.tolist(),
            "leap": None if leaps is None else leaps(),
            **({"grown": grown} if grown else {}),
        }

    return stand


def _taken_up(
    standing: Standing, points: Array, leap: _Leap | None
) -> tuple[int, list[_Start], list[_Start], Array]:
    """Return how many sweeps were done, all starts, those that climb on, and where they are to be swept."""
    many, size = points.shape
    if len(standing["starts"]) != many or (standing["leap"] is None) != (leap is None):
        raise ValueError("it does not fit the climbs")
    starts = [_Start.read(k, plain, size) for k, plain in enumerate(standing["starts"])]
    numbers = [count(number) for number in standing["active"]]
    active = [starts[k] for k in sorted(set(numbers))]
    if leap is not None:
        leap.read(standing["leap"], many, size)
    return count(standing["iteration"]), starts, active, matrix(standing["points"], len(active), size)


def _accept(
    active: list[_Start],
    points: Array,
    objective: Array,
    log_likelihood: Array,
    errors: list[float],
    stop: Stop,
    leap: _Leap | None,
) -> tuple[list[int], list[int]]:
    """Let starts take their points, but for leaps that lost ground; tell which go on and which are over."""
    plain, lost = leap.landed(active, objective) if leap else (None, None)
    going: list[int] = []
    over: list[int] = []
    for k, (start, value, log) in enumerate(
        zip(active, objective.tolist(), log_likelihood.tolist(), strict=True)
    ):
        start.iterations += 1
        if lost is None or not lost[k]:
            # What a leap gains says nothing of how far the top is: only plain steps are judged.
            done = start.accept(points[k], value, log, errors[k], stop, plain is None or bool(plain[k]))
            (over if done else going).append(k)
    return going, over


def _near_the_best(starts: list[_Start]) -> list[_Start]:
    """Return the starts that are worth a finer estimate."""
    level = max(start.objective - NEAR * start.error for start in starts)
    return [start for start in starts if start.objective >= level]


def _errors(swept: Batch) -> list[float]:
    """Return the standard errors of log-likelihoods: zeros where they are exact."""
    return [0.0] * len(swept) if swept.log_error is None else swept.log_error.tolist()


def _without(active: list[_Start], over: list[int]) -> list[_Start]:
    """Return the starts that go on; the others let go of the batch, of which their point was a row."""
    for k in over:
        active[k].point = active[k].point.copy()
    return [start for k, start in enumerate(active) if k not in over]


def _rows(array: Array, which: list[int]) -> Array:
    """Return these rows, which are different and in order: the array itself if they are all."""
    return array if len(which) == len(array) else array[which]


class _Leap:
    """Squared extrapolation of the last two steps (SQUAREM; Varadhan & Roland 2008), in free coordinates.

    After two plain steps x₀ → x₁ → x₂ with r = x₁ − x₀ and v = (x₂ − x₁) − r, the next point tried is
    x₀ + 2sr + s²v with s = ‖r‖/‖v‖. It is kept only if its objective is no lower than that of x₁;
    otherwise the start goes on from x₂ as if nothing had happened. Tables are taken by their
    logarithms, and the norm weighs each by its probability: logs of probabilities on their way to zero run
    off and would drown all others. Other families: see `lacunary.maths.coordinates`.
    How far s may reach grows while leaps succeed and shrinks when one fails.
    """

    MATRICES = ("points", "before", "fallback")
    VECTORS = ("steps", "trying", "length", "reach")

    def __init__(self, rule: Smooth, points: Array) -> None:
        starts = len(points)
        self.rule = rule
        self.points = points.copy()  # where each start is; arrays have one row a start
        self.before = points.copy()
        self.fallback = points.copy()
        self.steps = np.zeros(starts, dtype=np.int64)
        self.trying = np.zeros(starts, dtype=bool)
        self.length = np.ones(starts)  # s of the last leap
        self.reach = np.ones(starts)

    def plain(self) -> Callable[[], dict[str, Any]]:
        """Return what writes it as it is now as plain numbers."""
        now = {name: getattr(self, name).copy() for name in (*self.MATRICES, *self.VECTORS)}
        return lambda: {name: array.tolist() for name, array in now.items()}

    def read(self, plain: Any, many: int, size: int) -> None:
        """Be as what `plain` wrote."""
        for name in self.MATRICES:
            setattr(self, name, matrix(plain[name], many, size))
        self.steps = np.array([count(step) for step in plain["steps"]], dtype=np.int64)
        self.trying = np.array([flag(tries) for tries in plain["trying"]])
        self.length, self.reach = vector(plain["length"], many), vector(plain["reach"], many)
        if not len(self.steps) == len(self.trying) == many:
            raise ValueError("it does not fit the climbs")

    def landed(self, active: list[_Start], objective: Array) -> tuple[Booleans, Booleans]:
        """Tell which points a plain step led to, and which a leap that lost ground, which is taken back."""
        which = np.array([start.number for start in active])
        tried = self.trying[which]
        lost = tried & ~(objective >= np.array([start.objective for start in active]))
        back, won = which[lost], which[tried & ~lost]
        self.points[back] = self.fallback[back]
        self.reach[back] = np.maximum(self.length[back] / SHRINK, 1.0)
        full = won[self.length[won] >= self.reach[won]]
        self.reach[full] = np.minimum(self.reach[full] * GROW, FAR)
        self.trying[which] = False
        self.steps[back] = 0
        return ~tried, lost

    def ahead(self, going: list[int], following: Array) -> None:
        """Move these starts to the points to sweep next, given where a plain step leads."""
        which, out = np.array(going, dtype=np.int64), following.copy()
        ready = self.steps[which] == 1
        leaping = which[ready]
        if len(leaping):
            self.fallback[leaping] = following[ready]
            out[ready] = self._extrapolate(leaping, following[ready])
        self.trying[leaping] = True
        self.before[which] = self.points[which]
        self.steps[which] = np.where(ready, 0, 1)
        self.points[which] = out

    def _extrapolate(self, which: Integers, two: Array) -> Array:
        zero, one = self.before[which], self.points[which]
        (first, _), (middle, weight), (last, _) = (self.rule.unfold(x) for x in (zero, one, two))
        steady = np.isfinite(first + middle + last)  # a probability of zero stays zero
        a, b, c = (np.where(steady, x, 0.0) for x in (first, middle, last))
        r, v = b - a, (c - b) - (b - a)
        step, bend = (np.sqrt((weight * x * x).sum(axis=1)) for x in (r, v))
        ratio = np.divide(step, bend, out=np.ones_like(step), where=bend > 0)
        self.length[which] = np.clip(ratio, 1.0, self.reach[which])
        s = self.length[which, None]
        leap = np.clip(a + 2 * s * r + s * s * v, -FAR, FAR)
        return self.rule.fold(np.where(steady, leap, last))
