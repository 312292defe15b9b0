"""Where Laplace's approximation holds, and what is done elsewhere.

The formula needs an inner peak of the log posterior g, and a posterior that is near normal around it. What
is left of a slope at the point, ½ bᵀA⁻¹b, tells how far away the peak is; Stirling's formula at the
posterior counts how much the integral of a Dirichlet differs from that of a normal distribution: a sum of
remainders of about 1/(12 a).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from lacunary.evidence.problem import Point, Problem
from lacunary.infer.network import Network
from lacunary.learn.em import Basis
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array

__all__ = ["ENOUGH", "SLOPE", "climbed", "remainders"]

SLOPE = 0.25
"""Nats that a slope may be worth; beyond, the peak is sought."""

ENOUGH = 0.5
"""Nats that Stirling's remainders may add up to before they are made a term."""

SMALL = 0.5
"""Posterior counts below which Stirling's remainder says nothing about the integral."""

STOPS = (Stop(relative=1e-11, iterations=5000), Stop(relative=1e-14, iterations=20000))
"""When to look again whether the peak is reached."""

LOG_2PI = float(np.log(2 * np.pi))


def climbed(problem: Problem, point: Point, ready: Callable[[Point], bool]) -> Point | None:
    """Return where accelerated EM gets to from a point, once that is a peak; None if it never is."""
    for stop in STOPS:
        problem.say("Laplace's approximation: climbing on to the peak")
        network = Network(problem.dag, problem.scale.outward(problem.dag, _inside(problem, point)))
        found = problem.fitted(
            method="map",
            basis=problem.basis,
            initial=network,
            stop=stop,
            accelerate=True,
            watch=lambda p: problem.say(f"climbing on to the peak, sweep {p.iteration}: {p.best:.6f}"),
        )
        theta = problem.scale.inward(problem.dag, found.network.theta)
        (stats,) = problem.prepared.expect(theta[None])
        where = f"{point.where.split(', climbed')[0]}, climbed on to the peak ({problem.basis} basis)"
        point = Point(theta, stats.counts, stats.log_likelihood, where)
        if ready(point):
            return point
    return None


def _inside(problem: Problem, point: Point) -> Array:
    """Return the parameters that expected counts and the prior speak for: none of them is zero."""
    layout = problem.dag.layout
    theta = np.array(point.theta)
    held = problem.belief.alpha[: layout.tables] + point.counts[: layout.tables]
    theta[: layout.tables] = layout.normalize(held)
    for i, _ in problem.dag.implied:  # whose weights stay what they are
        layout.states_first(theta[None], i)[:] = layout.states_first(point.theta[None], i)
    return problem.with_known(theta)


def remainders(problem: Problem, counts: Array, basis: Basis) -> tuple[float, float]:
    """Return what Laplace's formula misses of the Dirichlets' integrals at posterior counts, in nats.

    The sum over all learned tables, and that over cells of counts so small that it says nothing.
    """
    layout = problem.dag.layout
    held = problem.belief.alpha[: layout.tables] + counts[: layout.tables]
    free = np.array(layout.states)[layout.variable] > 1
    if problem.known is not None:
        free &= np.isnan(problem.known[: layout.tables])
    for i, _ in problem.dag.implied:
        free[layout.slice(i)] = False
    groups = np.unique(layout.group[free])
    if basis == "softmax":
        cells, sums = _stirling(held), _stirling(layout.total(held))[groups]
        small = float(cells[free & (held < SMALL)].sum())
        return float(cells[free].sum() - sums.sum()), small
    less = np.maximum(held - 1.0, 1e-300)
    total, sizes = (
        layout.total(np.where(free, less, 0.0))[groups],
        layout.total(free.astype(np.float64))[groups],
    )
    true = gammaln(held[free]).sum() - gammaln(total + sizes).sum()
    formula = (less * np.log(less))[free].sum() - (total * np.log(total)).sum()
    formula += ((sizes - 1) / 2 * LOG_2PI - (2 * sizes - 1) / 2 * np.log(total)).sum()
    return float(true - formula - 0.5 * np.log(less[free]).sum()), 0.0


def _stirling(a: Array) -> Array:
    """Return log Γ(a) − [(a − ½) log a − a + ½ log 2π]."""
    return np.asarray(gammaln(a) - ((a - 0.5) * np.log(a) - a + 0.5 * LOG_2PI))
