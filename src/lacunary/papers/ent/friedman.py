"""Which of several methods is better, judged by their ranks in many experiments.

The Friedman test asks whether the methods differ at all; Tukey's honestly significant difference, on
the mean ranks, says which pairs do (Friedman 1937; Hollander & Wolfe, *Nonparametric Statistical
Methods*, 1999, sections 7.1 and 7.3; without ties the difference is that of Nemenyi, Demšar 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, rankdata, studentized_range

from lacunary import ParameterError

__all__ = ["Friedman", "friedman"]


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
