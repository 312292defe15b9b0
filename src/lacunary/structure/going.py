"""Chains that go on side by side, and means of what they say: the same room however long they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from lacunary.budget import reserve
from lacunary.infer.parallel import in_parallel
from lacunary.maths.arrays import Array
from lacunary.structure.chain import BYTES, Walker

__all__ = ["Going"]

BLOCK, KEPT = 64, 512
"""Means of each chain between two looks at how exact they are, and how many it takes to pair them."""

LONG, DRAWS = 60.0, 2000
"""Seconds for which chains go on at most, by an estimate, and steps of each where there is none."""

PAUSE = 0.05
"""About how many seconds there are between two words to the one who watches."""


class Going:
    """Chains, and what they have said since their first steps.

    Parameters
    ----------
    walking
        The chains.
    most
        Steps of each, at most; by default as many as take a minute by an estimate.
    watch
        Called with how many steps are done and how many there are at most.

    Attributes
    ----------
    each
        Steps of which a mean is kept: one at first, and twice as many whenever means are paired.
    arcs, logs
        The means, of arcs and of log p(complete rows | G) + log p(G); (chains, means, n, n) and without n.
    """

    def __init__(
        self, walking: Sequence[Walker], most: int | None, watch: Callable[[int, int], object] | None
    ) -> None:
        self.walking, self.watch, self.seconds = walking, watch, walking[0].seconds
        known = DRAWS if self.seconds is None else int(LONG / (self.seconds * len(walking)))
        self.most = max(known, walking[0].least) if most is None else most
        self.each, self._done = 1, 0
        self.arcs, self.logs = np.empty((len(walking), 0, 0, 0)), np.empty((len(walking), 0))

    @property
    def steps(self) -> int:
        """How many steps of each chain count by now."""
        return self.logs.shape[1] * self.each

    @property
    def over(self) -> bool:
        """Whether no mean more is to be had."""
        return self.most - self.steps < self.each

    def begin(self) -> None:
        """Take the first steps, which do not count."""
        burn = self.walking[0].burn
        self._walk(burn // 2, climbing=True)
        self._walk(burn - burn // 2)

    def go_on(self) -> None:
        """Take a block of steps."""
        block = min(BLOCK, (self.most - self.steps) // self.each)
        reserve(
            BYTES * len(self.walking) * (self.logs.shape[1] + block), "draws of graphs", "take fewer chains"
        )
        arcs, logs = self._walk(block * self.each)
        self.arcs = np.concatenate([self.arcs, arcs], axis=1) if self.logs.size else arcs
        self.logs = np.concatenate([self.logs, logs], axis=1)
        while self.logs.shape[1] >= KEPT:
            self.each, self.arcs, self.logs = 2 * self.each, _means(self.arcs, 2), _means(self.logs, 2)

    def _walk(self, steps: int, climbing: bool = False) -> tuple[Array, Array]:
        """Let all chains take some steps; return means of each, (chains, means, n, n) and (chains, means)."""
        pace = self.each * max(int(PAUSE / self.seconds) // self.each if self.seconds else 1, 1)
        said = [self._piece(min(pace, steps - first), climbing) for first in range(0, steps, pace)]
        arcs, logs = zip(*said, strict=True)
        return np.concatenate(arcs, axis=1), np.concatenate(logs, axis=1)

    def _piece(self, steps: int, climbing: bool) -> tuple[Array, Array]:
        def go(walker: Walker) -> tuple[Array, Array]:
            if self.seconds is None:
                self._tell(steps)
            arcs, logs = walker.walk(steps, climbing)
            return _means(arcs[None], self.each), _means(logs[None], self.each)

        if self.seconds is None:  # such chains use all threads at every step
            said = [go(walker) for walker in self.walking]
        else:
            self._tell(steps * len(self.walking))
            said = in_parallel(go, self.walking)
        arcs, logs = zip(*said, strict=True)
        return np.concatenate(arcs), np.concatenate(logs)

    def _tell(self, steps: int) -> None:
        """Tell who watches how many steps were done before these."""
        if self.watch is not None:
            self.watch(self._done, len(self.walking) * (self.walking[0].burn + self.most))
        self._done += steps


def _means(draws: Array, many: int) -> Array:
    """Return the means of so many neighbours each; (chains, draws, …)."""
    return np.asarray(draws.reshape(len(draws), -1, many, *draws.shape[2:]).mean(axis=2))
