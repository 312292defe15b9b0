"""Cheeseman–Stutz of every graph of a small discrete table with holes, without the library's engine.

The joint table of all variables is small, so that EM is run on it for thousands of graphs at once: with an
entry more for each variable, "any state", one pass of sums gives the probabilities of all patterns of holes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

import lacunary as lac
from lacunary.structure.score import Structure

__all__ = ["cheeseman_stutz_of", "every_graph"]

Array = NDArray[np.float64]

CHUNK, STEPS, NEAR = 512, 20_000, 1e-13
"""Graphs at once, steps of EM at most, and the rise of the objective, over itself, at which EM ends."""

ESS = 1.0
"""Rows that the prior is worth: BDeu(1), the default of searches."""


def every_graph(n: int) -> list[Structure]:
    """Return every graph over so many variables, once."""
    found: dict[Structure, None] = {}
    for order in permutations(range(n)):
        pairs = [(order[i], order[j]) for i in range(n) for j in range(i + 1, n)]
        for bits in product((False, True), repeat=len(pairs)):
            parents: list[list[int]] = [[] for _ in range(n)]
            for (tail, head), there in zip(pairs, bits, strict=True):
                if there:
                    parents[head].append(tail)
            found[tuple(tuple(sorted(ps)) for ps in parents)] = None
    return list(found)


def cheeseman_stutz_of(structures: Sequence[Structure], table: lac.Table, near: float = NEAR) -> Array:
    """Return log p(D′) − log p(D′ | θ) + log p(D | θ) of each graph at a mode, under BDeu(1)."""
    order = np.argsort([hash(s) for s in structures], kind="stable")
    out = np.empty(len(structures))
    for start in range(0, len(order), CHUNK):
        some = order[start : start + CHUNK]
        out[some] = _Climb([structures[k] for k in some], table, near).run()
    return out


class _Climb:
    """EM of some graphs at once; arrays are (graphs, states of the first variable, of the second, …)."""

    def __init__(self, structures: Sequence[Structure], table: lac.Table, near: float) -> None:
        self.structures, self.near = list(structures), near
        self.sizes = tuple(len(variable.states) for variable in table.schema)
        n, codes = len(self.sizes), np.asarray(table.codes, dtype=np.int64)
        whole = tuple(size + 1 for size in self.sizes)
        place = np.ravel_multi_index(tuple(np.where(codes < 0, self.sizes, codes).T), whole)
        self.rows = np.bincount(place, weights=table.weights, minlength=int(np.prod(whole))).reshape(whole)
        self.axes = tuple(range(1, n + 1))

    def run(self) -> Array:
        """Climb to modes and return the estimates there."""
        out, left = np.empty(len(self.structures)), np.arange(len(self.structures))
        joint = np.full((len(left), *self.sizes), 1.0 / np.prod(self.sizes))
        before = np.full(len(left), -np.inf)
        for step in range(STEPS):
            counts, likelihood = self._expected(joint)
            estimate, penalty = self._weighed(left, joint, counts)
            height = likelihood + penalty
            done = (height - before <= self.near * np.abs(height)) & (step > 1)
            out[left[done]] = (estimate + likelihood)[done]
            if step == STEPS - 1 or done.all():
                out[left[~done]] = (estimate + likelihood)[~done]
                break
            left, counts, before = left[~done], counts[~done], height[~done]
            joint = self._joint(left, counts)
        return out

    def _expected(self, joint: Array) -> tuple[Array, Array]:
        """Return the expected counts of the joint table's cells, and the log-likelihood of the rows."""
        sums = joint
        for axis in self.axes:
            sums = np.concatenate([sums, sums.sum(axis=axis, keepdims=True)], axis=axis)
        seen = self.rows > 0
        logs = np.where(seen, np.log(sums, where=seen, out=np.zeros_like(sums)), 0.0)
        share = np.where(seen, self.rows / sums, 0.0)
        for axis, size in zip(self.axes, self.sizes, strict=True):
            share = np.take(share, range(size), axis) + np.take(share, [size], axis)
        return joint * share, np.asarray((logs * self.rows).sum(axis=self.axes))

    def _families(
        self, left: NDArray[np.int64]
    ) -> Iterator[tuple[int, NDArray[np.int64], tuple[int, ...], float]]:
        """Go over families: child, graphs that have it, axes summed out, pseudo-counts of a cell."""
        for child in range(len(self.sizes)):
            having: dict[tuple[int, ...], list[int]] = {}
            for place, graph in enumerate(left):
                having.setdefault(self.structures[graph][child], []).append(place)
            for parents, places in having.items():
                inside = {child, *parents}
                out = tuple(axis for axis in self.axes if axis - 1 not in inside)
                alpha = ESS / float(np.prod([self.sizes[i] for i in inside]))
                yield child, np.array(places), out, alpha

    def _joint(self, left: NDArray[np.int64], counts: Array) -> Array:
        """Return the joint tables of the best parameters for expected counts."""
        joint = np.ones_like(counts)
        for child, places, out, alpha in self._families(left):
            family = counts[places].sum(axis=out, keepdims=True) + alpha
            joint[places] *= family / family.sum(axis=child + 1, keepdims=True)
        return joint

    def _weighed(self, left: NDArray[np.int64], joint: Array, counts: Array) -> tuple[Array, Array]:
        """Return log p(D′) − log p(D′ | θ), and α · log θ, for parameters and their expected counts."""
        estimate, penalty = np.zeros(len(left)), np.zeros(len(left))
        for child, places, out, alpha in self._families(left):
            expected = counts[places].sum(axis=out, keepdims=True)
            family = joint[places].sum(axis=out, keepdims=True)
            theta = np.log(family / family.sum(axis=child + 1, keepdims=True))
            above = alpha * self.sizes[child]
            cells = gammaln(expected + alpha) - gammaln(alpha) - expected * theta
            whole = gammaln(above) - gammaln(expected.sum(axis=child + 1, keepdims=True) + above)
            estimate[places] += cells.sum(axis=self.axes) + whole.sum(axis=self.axes)
            penalty[places] += alpha * theta.sum(axis=self.axes)
        return estimate, penalty
