"""What ENT's experiments say: relative medians with their errors, rankings, and verdicts as registered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, rankdata, studentized_range

from lacunary import ParameterError
from lacunary.papers import Verdict


@dataclass(frozen=True, eq=False)
class Friedman:
    """The verdict on k methods that met in n experiments.

    Attributes
    ----------
    ranks
        Mean rank of each method, 1 for the lowest value; (methods,).
    statistic
        Friedman's χ², corrected for ties.
    p_value
        Chance of a statistic as high if the methods did not differ (χ² with k − 1 degrees of freedom).
    difference
        Tukey's honestly significant difference: how far mean ranks must lie apart to differ significantly.
    level
        The level of significance of both tests.
    """

    ranks: NDArray[np.float64]
    statistic: float
    p_value: float
    difference: float
    level: float

    @property
    def significant(self) -> bool:
        """Whether the methods differ at all."""
        return self.p_value < self.level

    def better(self, one: int, other: int) -> bool:
        """Tell whether a method's mean rank is significantly lower than another's."""
        return self.significant and bool(self.ranks[other] - self.ranks[one] > self.difference)

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """The methods from lowest to highest rank; neighbours that do not differ share a place."""
        order = [int(method) for method in np.argsort(self.ranks, kind="stable")]
        places = [[order[0]]]
        for before, method in pairwise(order):
            if self.better(before, method):
                places.append([method])
            else:
                places[-1].append(method)
        return tuple(map(tuple, places))


def friedman(values: ArrayLike, *, level: float = 0.01) -> Friedman:
    """Compare methods by their ranks within experiments; equal values share a rank.

    Parameters
    ----------
    values
        What each method scored in each experiment, lower being better; (experiments, methods).
        Infinite values are legal and rank last, together.
    level
        The level of significance; ENT takes 1 %.

    Notes
    -----
    With mean ranks R̄_j and the pooled variance s² = Σ (r_ij − (k + 1)/2)² / (n (k − 1)), which is
    k (k + 1)/12 without ties, χ² = n Σ (R̄_j − (k + 1)/2)² / s², and the honestly significant difference
    is q s/√n with the quantile q of the studentised range of k means and infinitely many degrees of freedom.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise ParameterError(f"values must be at least two experiments by two methods, not {table.shape}")
    if np.isnan(table).any():
        raise ParameterError("values hold a number that is not one (NaN); leave that experiment out")
    if not 0 < level < 1:
        raise ParameterError(f"level must lie between 0 and 1, not {level}")
    n, k = table.shape
    ranks = rankdata(table, axis=1)
    mean, middle = ranks.mean(axis=0), (k + 1) / 2
    variance = float(((ranks - middle) ** 2).sum() / (n * (k - 1)))
    # Where every experiment is one big tie nothing differs.
    statistic = n * float(((mean - middle) ** 2).sum()) / variance if variance else 0.0
    quantile = float(studentized_range.isf(level, k, np.inf))
    return Friedman(
        ranks=mean,
        statistic=statistic,
        p_value=float(chi2.sf(statistic, k - 1)),
        difference=quantile * float(np.sqrt(variance / n)),
        level=level,
    )


RESAMPLES = 500
LEVEL = 0.01
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
        return "not" if wrong else "undecided"
    return "near" if ordered else "not"


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the worst of several verdicts on parts of a claim."""
    order: tuple[Verdict, ...] = ("reproduced", "near", "undecided", "not")
    return max(verdicts, key=order.index)
