"""What ENT's experiments say: relative medians with their errors, rankings, and verdicts as registered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lacunary.papers import Verdict
from lacunary.papers.ent.friedman import Friedman, friedman

__all__ = ["Cell", "number_verdict", "rank_verdict", "worst"]

RESAMPLES = 500
LEVEL = 0.01
ROUNDING, NEAR = 0.005, 0.05
"""Of printed medians: half of the last digit, and what still counts as near."""

VAGUE = 0.05
"""Standard error of a relative median above which agreement with print means nothing."""

MANY = 100
"""Experiments below which a difference that is not significant means nothing."""

ENOUGH = 10
"""Experiments below which a cell says nothing."""

Places = tuple[tuple[str, ...], ...]
"""Methods from best to worst; those that share a place stand together."""


@dataclass(frozen=True, eq=False)
class Cell:
    """What a setting gave: KL from the truth, (experiments, methods), and the names of the methods."""

    values: NDArray[np.float64]
    methods: tuple[str, ...]

    @classmethod
    def of(cls, lines: Sequence[Sequence[float]], methods: tuple[str, ...]) -> Cell | None:
        """Return the cell of these experiments; None if they are too few."""
        return cls(np.array(lines), methods) if len(lines) >= ENOUGH else None

    @property
    def base(self) -> float:
        """Median KL of the best start."""
        return float(np.median(self.values[:, self.methods.index("best")]))

    def ratio(self, method: str) -> float:
        """Return the median of a method over that of the best start."""
        return float(np.median(self.values[:, self.methods.index(method)]) / self.base)

    def relative(self, method: str) -> tuple[float, float]:
        """Return the same with its bootstrap standard error."""
        rng = np.random.default_rng(0)
        picks = rng.integers(len(self.values), size=(RESAMPLES, len(self.values)))
        one, base = (self.values[:, self.methods.index(m)] for m in (method, "best"))
        ratios = np.median(one[picks], axis=1) / np.median(base[picks], axis=1)
        return self.ratio(method), float(ratios.std(ddof=1))

    @cached_property
    def test(self) -> Friedman:
        """Friedman's test with Tukey's difference."""
        return friedman(self.values, level=LEVEL)

    @property
    def places(self) -> Places:
        """The methods by mean rank; neighbours that do not differ significantly share a place."""
        return tuple(tuple(self.methods[m] for m in place) for place in self.test.places)

    @property
    def told(self) -> str:
        """The places in words, and pairs that differ although they share one."""
        shared = [
            f"{self.methods[one]} < {self.methods[other]}"
            for place in self.test.places
            for one in place
            for other in place
            if self.test.better(one, other)
        ]
        more = f" (but {', '.join(shared)})" if shared else ""
        return " < ".join(" & ".join(place) for place in self.places) + more


def number_verdict(ours: float, error: float, printed: float) -> Verdict:
    """Judge a relative median: chance in both numbers, and rounding, are allowed for.

    Agreement within an error that would agree with nearly anything leaves the claim open.
    """
    gap = abs(ours - printed) - 1e-9  # printed numbers are decimal
    if gap <= 1.96 * np.sqrt(2) * error + ROUNDING:
        return "reproduced" if error <= VAGUE else "open"
    return "near" if gap <= NEAR else "not"


def rank_verdict(cell: Cell, printed: Places) -> Verdict:
    """Judge a ranking: the same places; or else mean ranks in the printed order.

    With few experiments only a pair that differs significantly the wrong way round speaks against it.
    """
    if [set(place) for place in cell.places] == [set(place) for place in printed]:
        return "reproduced"
    rank = dict(zip(cell.methods, cell.test.ranks, strict=True))
    ordered = all(
        rank[one] < rank[other] for place, later in pairwise(printed) for one in place for other in later
    )
    if len(cell.values) < MANY:
        order = {method: place for place, methods in enumerate(printed) for method in methods}
        wrong = any(
            cell.test.better(i, j) and order[one] > order[other]
            for i, one in enumerate(cell.methods)
            for j, other in enumerate(cell.methods)
        )
        return "not" if wrong else "open"
    return "near" if ordered else "not"


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the worst of several verdicts on parts of a claim."""
    order: tuple[Verdict, ...] = ("reproduced", "near", "open", "not")
    return max(verdicts, key=order.index)
