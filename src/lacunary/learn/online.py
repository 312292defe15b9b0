"""Mini-batches: a first good answer before all rows have been seen twice, as a rule of the same loop.

What is climbed is a running mean s of the statistics that batches of rows expect. After batch t

    s ← s + γ_t (S_t − s),        γ_t = (offset + t)^−decay,

where S_t is what the batch expects, multiplied by the number of batches, and the parameters are those that
are best for s: online EM (Cappé & Moulines 2009). With the variational update the hyperparameters are α +
s, and the step is a natural gradient of the bound: stochastic variational inference (Hoffman, Blei, Wang &
Paisley 2013). With ½ < decay ≤ 1 the steps add up without end, and their squares do not (Robbins & Monro
1951): where S, expected of all rows, equals s, which is so at the fixed points of EM alone, s stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lacunary.errors import ParameterError
from lacunary.infer.batches import Batches
from lacunary.infer.rows import Rows, Sweep
from lacunary.learn.em import Maximize
from lacunary.learn.loop import Climb, Progress, Watch, climb
from lacunary.learn.standing import Standing
from lacunary.learn.stop import Stop
from lacunary.learn.vbem import Update
from lacunary.maths.arrays import Array

__all__ = ["Averaged", "Online", "climb_online", "online_of"]


@dataclass(frozen=True)
class Online:
    """Learn from batches of rows first.

    Attributes
    ----------
    batch_size
        Rows of a batch.
    learning_decay
        How fast steps become shorter: above ½, so that noise dies out, up to 1.
    learning_offset
        How many batches' worth the first steps are held back by.
    passes
        How often every row is seen in batches.
    finish
        Whether sweeps over all rows follow, until nothing is gained any more. Otherwise one follows, which
        says how good the parameters are.
    """

    batch_size: int = 4096
    learning_decay: float = 0.7
    learning_offset: float = 10.0
    passes: int = 1
    finish: bool = True

    def __post_init__(self) -> None:
        for name in ("batch_size", "passes"):
            if (value := getattr(self, name)) < 1:
                raise ParameterError(f"online: {name} must be at least 1, not {value}")
        if not 0.5 < self.learning_decay <= 1.0:
            raise ParameterError(
                f"online: learning_decay must be above 0.5, or noise never dies out, and at most 1, or steps "
                f"end too early; not {self.learning_decay}"
            )
        if not 0.0 <= self.learning_offset < np.inf:
            raise ParameterError(
                f"online: learning_offset must not be negative, but is {self.learning_offset}"
            )

    def step(self, batch: int) -> float:
        """Return how much of the way to what a batch expects is gone; batches count from one."""
        return float((self.learning_offset + batch) ** -self.learning_decay)


def online_of(online: Online | int | bool | None) -> Online | None:
    """Return the settings that an option stands for: True is the default, a number the rows of a batch."""
    if online is None or online is False:
        return None
    if isinstance(online, Online):
        return online
    if online is True:
        return Online()
    if isinstance(online, int | np.integer):
        return Online(batch_size=int(online))
    raise ParameterError(f"online must be True, the rows of a batch, or Online(...), not {online!r}")


@dataclass(frozen=True, eq=False)
class Averaged:
    """Steps by batches of what another rule does with all rows. Points are running statistics s."""

    rule: Maximize | Update
    batches: Batches
    online: Online

    def begin(self, prepared: Sweep, theta: Array) -> Array:
        """Return what the first batch expects at these parameters; (starts, statistics).

        Beside it every configuration of parents has one row, as the parameters have it: a state that the
        first batch does not show must not become impossible.
        """
        layout, points = self.rule.dag.layout, self.rule.begin(prepared, theta)
        self.batches.taken = 0
        expected = self.batches.expect(self.rule.potentials(points)).counts
        self.batches.taken = 0
        expected[..., : layout.tables] += self.rule.parameters(points)[..., : layout.tables]
        return np.asarray(expected)

    def parameters(self, points: Array) -> Array:
        """Return the best parameters for these statistics; (starts, size)."""
        return self.rule.parameters(self.rule.improve(points))

    def potentials(self, points: Array) -> Array:
        """Return what the sweep multiplies; (starts, potentials size)."""
        return self.rule.potentials(self.rule.improve(points))

    def objective(self, points: Array, log_likelihood: Array) -> Array:
        """Return the objective as the batch tells it, which may fall; (starts,)."""
        return self.rule.objective(self.rule.improve(points), log_likelihood)

    def step(self, points: Array, counts: Array) -> Array:
        """Return the statistics, a step nearer to what the batch expects; (starts, statistics)."""
        return points + self.online.step(self.batches.taken) * (counts - points)


def climb_online(
    prepared: Rows,
    averaged: Averaged,
    theta: Array,
    stop: Stop,
    *,
    accelerate: bool = False,
    watch: Watch | None = None,
    standing: Standing | None = None,
) -> tuple[list[Climb], bool]:
    """Climb by batches, then by sweeps over all rows; see `climb`."""
    rule, online, batches = averaged.rule, averaged.online, averaged.batches
    if standing is None or "online" in standing:
        points = averaged.begin(batches, theta)
        # One batch more than steps: a point is only accepted once it is swept.
        limit, earlier = Stop(iterations=online.passes * batches.many + 1), (standing or {}).get("online")
        batches.taken = (earlier or {}).get("iteration", 0)
        told = None if watch is None else _told(watch)
        first, interrupted = climb(batches, averaged, points, limit, watch=told, standing=earlier)
        points, standing = rule.improve(np.array([c.point for c in first])), None
        if interrupted or not online.finish:
            stop, watch = Stop(iterations=1), None
    else:
        points, interrupted = rule.begin(batches, theta), False
    climbs, again = climb(prepared, rule, points, stop, accelerate=accelerate, watch=watch, standing=standing)
    seen = [replace(c, iterations=c.iterations + online.passes) for c in climbs]
    return seen, interrupted or again


def _told(watch: Watch) -> Watch:
    """Return a ``watch`` whose checkpoints know that the climbs went by batches."""

    def told(progress: Progress) -> object:
        return watch(replace(progress, standing=lambda: {"online": progress.standing()}))

    return told
