"""Variational optima as the base of a path to the posterior, in all their labellings.

What is hidden can be renamed, and a variational posterior sees one labelling of one mode. The base is
therefore a mixture of all distinct optima that were found, each in every labelling and somewhat widened; by
symmetry only one labelling need be followed, and a path sees its component's share of the posterior.
Nothing is added for labels that a chain could have changed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lacunary.evidence.chib import relabellings
from lacunary.evidence.movers import TableMover
from lacunary.evidence.problem import Problem
from lacunary.infer.walker import Walker
from lacunary.kernels.population import Bases
from lacunary.learn.loop import Climb, climb
from lacunary.learn.start import Draws, first_point
from lacunary.learn.stop import Stop
from lacunary.learn.vbem import Update, update_rule
from lacunary.maths.arrays import Array, Integers

__all__ = ["Optima", "distinct", "optima"]

WIDENED = 0.8
"""Share of what an optimum has learned that its base knows: variational posteriors are too narrow."""

LABELS = 1024
"""Labellings that are all gone through; with more there is no such base."""

STARTS = 16
"""Climbs to variational optima."""

MOST = 6
"""Optima that a base is made of."""

SAME = 1e-3
"""Nats within which two heights are those of one optimum."""

NEAR = 12.0
"""Nats below the best beyond which an optimum is left out."""


@dataclass(frozen=True, eq=False)
class Optima:
    """Distinct variational optima, best first, and the orders of parameters that rename what is hidden.

    Attributes
    ----------
    points, bounds
        Hyperparameters and lower bounds; (optima, size) and (optima,).
    orders
        All labellings, the identity first; (labellings, size). None where they are too many.
    """

    problem: Problem
    rule: Update
    points: Array
    bounds: Array
    orders: Integers | None

    def with_prior(self) -> Optima:
        """Return these with the prior as one more, for what lies beside them all."""
        points = np.vstack([self.points, self.problem.belief.alpha])
        return replace(self, points=points, bounds=np.append(self.bounds, -np.inf))

    def _wide(self, learned: float) -> tuple[Array, Array, Array]:
        """Return expected counts, tilt and log normaliser of each optimum, of which so much is known."""
        expected = learned * (self.points - self.problem.belief.alpha)
        potentials = self.rule.parameters(self.problem.belief.alpha + expected)
        log_z = self.problem.prepared.expect(potentials).log_likelihood
        return expected, np.log(np.maximum(potentials, 1e-300)), log_z

    @cached_property
    def weights(self) -> Array:
        """How much of each optimum a base is made of: half by their bounds, half alike; (optima,)."""
        weights = np.exp(self.bounds - self.bounds.max())
        return np.asarray(0.5 * weights / weights.sum() + 0.5 / len(weights))

    def _components(self, tilt: Array, log_z: Array) -> tuple[Array, Array]:
        """Return the tilt of every optimum in every labelling, the identity first, and its log level."""
        orders = np.arange(tilt.shape[1])[None] if self.orders is None else self.orders
        label = np.concatenate([tilt[:, order] for order in orders])
        return label, np.tile(np.log(self.weights) - log_z, len(orders))

    def mover(self, walker: Walker, learned: float = WIDENED) -> TableMover | None:
        """Return the path from the mixture of optima; None where there are too many labellings.

        The base knows so much of what an optimum has learned: it is the wider the less.
        """
        if self.orders is None:
            return None
        expected, tilt, log_z = self._wide(learned)
        bases = Bases(expected, tilt, *self._components(tilt, log_z))
        return TableMover(walker, bases, self.weights, log_z, float(np.log(len(self.orders))))

    def nearest(self, counts: Array) -> Integers:
        """Return which optimum each of some completions is most probable under, in any labelling."""
        label, level = self._components(*self._wide(WIDENED)[1:])
        return np.asarray((counts @ label.T + level).argmax(axis=1) % len(self.points))


def optima(problem: Problem, rng: np.random.Generator, starts: int = STARTS, most: int = MOST) -> Optima:
    """Climb to variational optima from random starts, fewer where nothing is hidden; the best are kept."""
    rule = update_rule(problem.belief, problem.held)
    count = starts if problem.dag.schema.hidden else starts // 4
    theta = Draws(count).points(problem.belief, problem.prior, problem.table, rng)
    first = first_point(problem.prepared, problem.belief, problem.table)
    points = rule.begin(problem.prepared, np.vstack([first[None], theta]))
    climbs, interrupted = climb(problem.prepared, rule, points, Stop(relative=1e-7), accelerate=True)
    if interrupted:
        raise KeyboardInterrupt
    kept = distinct(climbs, most)
    orders, everything = relabellings(problem, LABELS, rng)
    straight = np.arange(orders.shape[1])
    others = orders[(orders != straight).any(axis=1)]
    return Optima(
        problem,
        rule,
        np.array([c.point for c in kept]),
        np.array([c.objective for c in kept]),
        np.vstack([straight[None], others]) if everything else None,
    )


def distinct(climbs: list[Climb], most: int = MOST) -> list[Climb]:
    """Return the climbs that ended at different heights, best first, but for those that are far below."""
    kept: list[Climb] = []
    for found in sorted(climbs, key=lambda c: -c.objective):
        new = all(abs(found.objective - other.objective) > SAME for other in kept)
        if new and len(kept) < most:
            kept.append(found)
    return [c for c in kept if c.objective > kept[0].objective - NEAR]
