"""Where Laplace's approximation holds, and what is done elsewhere.

The formula needs an inner peak of the log posterior g, and a posterior that is near normal around it. What
is left of a slope at the point, ½ bᵀA⁻¹b, tells how far away the peak is; Stirling's formula at the
posterior counts how much the integral of a Dirichlet differs from that of a normal distribution: a sum of
remainders of about 1/(12 a). In the probability basis the normal density may reach beyond the simplex.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from lacunary.data.wording import counted
from lacunary.errors import NoEstimateError, ParameterError
from lacunary.evidence.charge import Charge
from lacunary.evidence.normal import Curvatures
from lacunary.evidence.problem import Point, Problem
from lacunary.infer.network import Network
from lacunary.learn.em import Basis
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array

__all__ = ["ENOUGH", "SLOPE", "Place", "check_inside", "in_domain", "remainders"]

SLOPE = 0.25
"""Nats that a slope may be worth; beyond, the peak is sought."""

ENOUGH = 0.5
"""Nats that Stirling's remainders may add up to before they are made a term."""

WIDE = 1.0
"""Standard deviation of a probability, in times of itself, beyond which a normal density leaves the simplex
by so much that the probability basis is off, by 2.7 nats (rms) on 26 random problems."""

SMALL = 0.5
"""Posterior counts below which Stirling's remainder says nothing about the integral."""

BORDER = 1e-12
"""A probability that is as good as zero: where EM had not yet stopped on its way to the border."""

STOPS = (Stop(relative=1e-11, iterations=5000), Stop(relative=1e-14, iterations=20000))
"""When to look again whether the peak is reached."""

LOG_2PI = float(np.log(2 * np.pi))


class Place(NamedTuple):
    """Where the formula holds: the point, in the problem's basis.

    ``missed`` is what Stirling's remainders add up to if that is much, ``charge`` "parameters" where the log
    posterior bends downwards in all directions: none is left out then.
    """

    point: Point
    problem: Problem
    missed: float
    charge: Charge


def in_domain(problem: Problem, point: Point, charge: Charge, curvatures: Curvatures) -> Place:
    """Return a point and a basis at which the formula holds; refuse where there is none."""
    check_inside(problem, point)
    if not _is_peak(problem, point, charge, curvatures):
        ready = partial(_is_peak, problem, charge=charge, curvatures=curvatures)
        point = climbed(problem, point, ready) or point
    missed, lost = remainders(problem, point.counts, problem.basis)
    if reason := _left(problem, point, missed, curvatures):
        softer = replace(problem, basis="softmax", given=None, _points={})
        where = f"map (softmax basis; in the probability basis {reason})"
        return in_domain(softer, replace(softer.point("map"), where=where), charge, curvatures)
    if lost > ENOUGH:
        raise NoEstimateError(
            f"posterior counts at the point ({point.where}) are so small that Laplace's approximation misses "
            f"about {missed:.2g} nats, and how much exactly is not known; use 'sampled', 'variational' or a "
            "prior such as Dirichlet(1)"
        )
    check_inside(problem, point)
    charge = _needed(problem, point, charge, curvatures)
    slope = curvatures.gauss(problem, point, charge)[1]
    if slope > SLOPE:
        raise NoEstimateError(
            f"Laplace's approximation needs a peak, and the point ({point.where}) is short of one by about "
            f"{slope:.2g} nats, from where EM did not climb to it; fit with more starts, or use 'sampled' or "
            "'variational'"
        )
    return Place(point, problem, missed if abs(missed) > ENOUGH else 0.0, charge)


def _left(problem: Problem, point: Point, missed: float, curvatures: Curvatures) -> str:
    """Return why the probability basis is left for the softmax basis; nothing if it is not."""
    if problem.basis == "softmax":
        return ""
    if abs(missed) > ENOUGH:
        return f"Stirling's remainders are {missed:.2g} nats"
    reach = curvatures.reach(problem, point)
    return f"one standard deviation is {reach:.2g} times a probability" if reach > WIDE else ""


def _is_peak(problem: Problem, point: Point, charge: Charge, curvatures: Curvatures) -> bool:
    """Tell whether a point is an inner peak to the accuracy that the formula needs."""
    try:
        needed = _needed(problem, point, charge, curvatures)
        return curvatures.gauss(problem, point, needed)[1] <= SLOPE
    except ParameterError:
        return False


def _needed(problem: Problem, point: Point, charge: Charge, curvatures: Curvatures) -> Charge:
    """Return "parameters" where the log posterior bends downwards in all directions."""
    if charge != "parameters":
        try:
            curvatures.gauss(problem, point, "parameters")
        except NoEstimateError:
            return charge
    return "parameters"


def check_inside(problem: Problem, point: Point) -> None:
    """Refuse a point at which a learned probability is zero, or as good as zero."""
    tables = slice(problem.dag.layout.tables)
    free = True if problem.known is None else np.isnan(problem.known[tables])
    zero = int(np.count_nonzero((point.theta[tables] < BORDER) & free))
    if zero:
        many = f"{counted(zero, 'probability')} of the point ({point.where})"
        other = "'sampled', 'variational'" if point.where.startswith("map") else "at='map'"
        raise NoEstimateError(
            f"{many} {'is' if zero == 1 else 'are'} zero; on the border of the parameter space Laplace's "
            f"approximation does not hold: use {other} or a prior such as Dirichlet(1), which leaves none"
        )


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
