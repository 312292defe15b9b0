"""The highest maximum of all, with proof: branch and bound on boxes of parameters (ENT section 4.1)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lacunary.data.table import HOLE
from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief
from lacunary.infer.network import Network
from lacunary.infer.rows import Rows
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.learn.interval_bounds import SMALLEST, IntervalBounds
from lacunary.learn.monomials import CERTIFICATE, TERMS, LogSums, write_out
from lacunary.learn.select import Chosen
from lacunary.maths.arrays import Array, Booleans, Integers

if TYPE_CHECKING:
    from lacunary.learn.found import Fit

__all__ = ["global_map"]


BATCH = 128
"""Boxes that are worked on together, fewer where their second derivatives would take much memory."""

NUMBERS = 4_000_000
"""Floating-point numbers that the second derivatives of a batch may take."""

ROUNDING = 1e-12
"""What sums and logarithms may lose, relatively; it is added to the upper bound."""

INNER = 3
"""Steps of EM within a box, to find a point there that is worth trying."""


@dataclass(frozen=True)
class Budget:
    """How long to search: until the gap is below ``tolerance``, or so many boxes or seconds are used up."""

    tolerance: float
    nodes: int
    deadline: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """The best parameters found for one part, their value, and a proof that none is above ``upper``."""

    theta: Array
    value: float
    upper: float
    nodes: int


def global_map(
    fit: Fit,
    prepared: Rows,
    belief: Belief,
    *,
    fixed: Mapping[str, ArrayLike] | None = None,
    tolerance: float = 1e-6,
    nodes: int = 1_000_000,
    seconds: float = 60.0,
    terms: int = TERMS,
) -> Chosen:
    """Return the global maximum of the objective, with an upper bound that certifies it.

    For small networks: the likelihood is written out as sums of products of parameters, and boxes of
    parameters are split until none can hold anything higher. Where the budget ends earlier, the best point
    found is returned with the gap that is left.

    Parameters
    ----------
    fit, prepared, belief
        The starts, the rows and the prior; a fit by "variational" has no such maximum.
    fixed
        Tables that are known; they stay as they are.
    tolerance
        The gap, in nats, at which the maximum counts as certified.
    nodes, seconds
        The budget: boxes, and time.
    terms
        Ways to fill the holes of the different rows, beyond which the network is refused as too wide.

    Returns
    -------
    Chosen
        With details ``objective``, ``upper`` (no parameters have a higher objective), ``gap``,
        ``certified``, ``nodes``, ``seconds`` and ``parts`` (into how many problems it fell apart).
    """
    if fit.method == "variational":
        raise ParameterError("a variational fit has no global maximum to certify: use method='map'")
    if not tolerance > 0:
        raise ParameterError(f"tolerance must be positive, not {tolerance}")
    began = time.monotonic()
    rule = maximize_rule(belief, fit.method, fit.basis, fixed)  # type: ignore[arg-type]
    best = max(fit.starts, key=lambda start: start.objective).network.theta
    theta = rule.project(np.maximum(best, SMALLEST)[None])[0]
    sums = write_out(prepared, rule, terms)
    parts = list(sums.parts())
    hard = sum(len(part.weight) > 0 for part in parts)
    budget = Budget(tolerance / max(hard, 1), nodes // max(hard, 1), began + seconds)
    chains = _interchangeable(prepared, rule)
    gap, used = 0.0, 0
    for part in parts:
        found = _solve(part, theta[part.places], chains, budget)
        theta[part.places] = found.theta
        gap, used = gap + found.upper - found.value, used + found.nodes
    theta = rule.project(np.where(theta > SMALLEST, theta, 0.0)[None])[0]
    objective = float(rule.objective(theta[None], prepared.expect(theta[None]).log_likelihood)[0])
    details = {
        "objective": objective,
        "upper": objective + gap,
        "gap": gap,
        "certified": gap <= tolerance,
        "nodes": used,
        "seconds": time.monotonic() - began,
        "parts": hard,
    }
    return Chosen(Network(rule.dag, theta), details)


def _interchangeable(prepared: Rows, rule: Maximize) -> list[list[int]]:
    """Return places of probabilities that may be put in descending order without loss.

    The states of a hidden variable can be renamed if no known table and no pseudo-count tells them apart;
    then some order makes its first distribution descend. Parents come first: renaming a variable's states
    leaves the distributions of its ancestors as they are.
    """
    dag = prepared.dag
    hidden = np.flatnonzero((prepared.gathered(CERTIFICATE).codes == HOLE).all(axis=0))
    tied = {dag.schema.index(name) for group in dag.tied for name in group}
    chains = []
    for h in dag.order_indices:
        relatives = [h, *dag.child_indices[h]]
        if h in tied or h not in hidden or tied.intersection(relatives):
            continue
        if all(_blind(rule, vector, i, h) for i in relatives for vector in (rule.pseudo, rule.known)):
            first = dag.layout.start[h]
            chains.append([first + k * dag.layout.configurations[h] for k in range(dag.layout.states[h])])
    return chains


def _blind(rule: Maximize, vector: Array, i: int, h: int) -> bool:
    """Tell whether a table does not depend on the state of h, a member of family i."""
    layout = rule.dag.layout
    table = vector[layout.slice(i)].reshape([layout.sizes[m] for m in layout.members[i]])
    axis = layout.members[i].index(h)
    return bool(np.array_equal(table, np.broadcast_to(table.take([0], axis), table.shape), equal_nan=True))


def _solve(part: LogSums, start: Array, chains: Sequence[Sequence[int]], budget: Budget) -> Certificate:
    """Maximise one part; without sums the counts themselves say where."""
    if not len(part.weight):
        whole = np.bincount(part.group, weights=part.linear)[part.group]
        size = np.bincount(part.group)[part.group]
        theta = np.where(whole > 0, part.linear / np.where(whole > 0, whole, 1.0), 1.0 / size)
        return Certificate(theta, 0.0, 0.0, 0)
    at = {int(place): k for k, place in enumerate(part.places)}
    inside = [[at[p] for p in chain] for chain in chains if all(p in at for p in chain)]
    return BranchAndBound(IntervalBounds(part), inside, budget).run(start)


class BranchAndBound:
    """Best-first branch and bound, a batch of boxes at a time."""

    def __init__(self, bounder: IntervalBounds, chains: list[list[int]], budget: Budget) -> None:
        self.bounder, self.chains, self.budget = bounder, chains, budget
        sums, terms, parameters = bounder.sums.power.shape
        self.batch = int(np.clip(NUMBERS // (sums * terms * parameters**2), 1, BATCH))
        power = bounder.sums.power
        self.involved = (power.max(axis=1) > 0).astype(np.float64)
        self.theta, self.value = np.empty(parameters), -np.inf
        self.closed, self.nodes = -np.inf, 0

    def run(self, start: Array) -> Certificate:
        """Search until the gap is closed or the budget is used up."""
        self._offer(start[None])
        parameters = len(start)
        low, high = self._ordered(np.full((1, parameters), SMALLEST), np.ones((1, parameters)))
        boxes = self._visit(low, high, np.full(1, np.inf))
        while len(boxes.upper) and self.nodes < self.budget.nodes and time.monotonic() < self.budget.deadline:
            boxes, chosen = boxes.taken(self.batch)
            boxes = boxes.joined(self._visit(*chosen.split()))
            boxes = self._closed(boxes)
        upper = max(self.value, self.closed, boxes.upper.max(initial=-np.inf)) + ROUNDING * abs(self.value)
        return Certificate(self.theta, self.value, float(upper), self.nodes)

    def _visit(self, low: Array, high: Array, above: Array) -> Boxes:
        """Shrink and bound boxes, try a point in each, and drop those that cannot hold anything higher."""
        self.nodes += len(low)
        low, high, possible = self.bounder.contract(*self._ordered(low, high))
        low, high, above = low[possible], high[possible], above[possible]
        upper, theta, excess = self.bounder.roof(low, high)
        upper = np.minimum(upper, above)
        for _ in range(INNER):
            theta = self.bounder.fill(self.bounder.counts(theta), low, high)[0]
        self._offer(theta)
        boxes = self._closed(Boxes(low, high, upper, self._cut(low, high, excess), theta))
        tangent = self._under_tangents(boxes)
        return self._closed(boxes._replace(upper=np.minimum(boxes.upper, tangent)))

    def _ordered(self, low: Array, high: Array) -> tuple[Array, Array]:
        low, high = low.copy(), high.copy()
        for chain in self.chains:
            for rank, (one, two) in enumerate(pairwise(chain)):
                high[:, two] = np.minimum(high[:, two], np.minimum(high[:, one], 1.0 / (rank + 2)))
                low[:, one] = np.maximum(low[:, one], low[:, two])
        return low, high

    def _offer(self, theta: Array) -> None:
        """Keep the best of some points if it beats what is known, and climb from it."""
        theta = theta / self.bounder.total(theta)
        values = self.bounder.value(theta)
        k = int(values.argmax()) if len(values) else 0
        if len(values) and values[k] > self.value:
            self.theta = self.bounder.climb(theta[k])
            self.value = float(self.bounder.value(self.theta[None])[0])

    def _cut(self, low: Array, high: Array, excess: Array) -> Integers:
        """Return along which parameter to split: where sums exceed their logs, and the box is wide."""
        width = np.arcsin(np.sqrt(high)) - np.arcsin(np.sqrt(low))
        return np.asarray((np.maximum(excess, 1e-300) @ self.involved * width).argmax(axis=1))

    def _under_tangents(self, boxes: Boxes) -> Array:
        """Return the tangents' bound for boxes in which the objective is concave, infinity for others."""
        out = np.full(len(boxes.upper), np.inf)
        which = np.flatnonzero(self.bounder.concave(boxes.low, boxes.high))
        low, high, theta = boxes.low[which], boxes.high[which], boxes.theta[which]
        theta = theta / self.bounder.total(theta)
        home = ((low <= self.theta) & (self.theta <= high)).all(axis=1)
        theta[home] = self.theta
        out[which] = self.bounder.tangent(theta, low, high)
        return out

    def _closed(self, boxes: Boxes) -> Boxes:
        """Keep the boxes that may hold something higher; remember the highest bound of the others."""
        done = boxes.upper <= self.value + self.budget.tolerance
        self.closed = max(self.closed, boxes.upper[done].max(initial=-np.inf))
        return boxes.where(~done)


class Boxes(NamedTuple):
    """Open boxes: their ends, an upper bound in each, along which parameter to cut, and a good point."""

    low: Array
    high: Array
    upper: Array
    cut: Integers
    theta: Array

    def where(self, which: Booleans | Integers) -> Boxes:
        """Return some of them."""
        return Boxes(self.low[which], self.high[which], self.upper[which], self.cut[which], self.theta[which])

    def joined(self, other: Boxes) -> Boxes:
        """Return these and others."""
        return Boxes(*(np.concatenate(both) for both in zip(self, other, strict=True)))

    def taken(self, count: int) -> tuple[Boxes, Boxes]:
        """Return the others, and the ``count`` with the highest bounds."""
        order = np.argsort(-self.upper, kind="stable")
        return self.where(order[count:]), self.where(order[:count])

    def split(self) -> tuple[Array, Array, Array]:
        """Return the ends and bounds of both halves; halves of the angle arcsin √θ, fair near the ends."""
        each = np.arange(len(self.cut))
        ends = np.arcsin(np.sqrt(np.stack([self.low[each, self.cut], self.high[each, self.cut]])))
        middle = np.sin(ends.mean(axis=0)) ** 2
        below, above = self.high.copy(), self.low.copy()
        below[each, self.cut], above[each, self.cut] = middle, middle
        return (
            np.concatenate([self.low, above]),
            np.concatenate([below, self.high]),
            np.concatenate([self.upper, self.upper]),
        )
