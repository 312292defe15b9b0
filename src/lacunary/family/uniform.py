"""The family of a continuous variable that is uniform between bounds, given its discrete parents.

Bounds are declared, or learned from the rows with a Pareto prior (`lacunary.maths.pareto`; DeGroot 1970,
section 9.7), and then follow from the rows at once: a row has a share in a configuration only if it is within
its bounds, and a step makes bounds the narrowest that hold all rows with a share. So bounds that rows for
certain in their configuration reach, and that leave no row outside, stay as they are, and a climb takes them
as known.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError, TableError
from lacunary.family.distribution import NormalMixture
from lacunary.family.leaf import LeafFamily
from lacunary.family.numeric import Units
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.maths.pareto import Pareto

__all__ = ["SLACK", "Uniform", "UniformFamily", "UniformMixture"]

ROWS = 1.0
"""How many rows the default prior of bounds is worth."""

MIDDLE = 0.5
"""It says that a variable varies at least so many standard deviations around the mean of its column."""

SLACK = 1e-9
"""How far beyond its bounds, as a share of their distance, a value still counts as within: rounding."""

REACH = sqrt(3.0)
"""How far bounds are from their middle, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Uniform:
    """A continuous variable given its discrete parents: density 1 / (high − low) within bounds, else zero.

    Attributes
    ----------
    low, high
        For each configuration of the discrete parents; (..., discrete parents).

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("late -> wait", kinds={"wait": "continuous"}, family={"wait": "uniform"})
    >>> tables = {"late": [0.5, 0.5], "wait": lac.Uniform([0.0, 0.0], [10.0, 30.0])}
    >>> network = lac.Network.from_tables(graph, tables)
    >>> round(network.query("late", given={"wait": 5.0})[1], 9)      # (1/30) / (1/10 + 1/30)
    0.25
    """

    low: Array
    high: Array

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        ends = np.broadcast_arrays(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
        if not (np.all(np.isfinite(ends)) and np.all(ends[0] < ends[1])):
            raise ParameterError("the bounds of a uniform family must be finite, the lower below the upper")
        object.__setattr__(self, "low", ends[0])
        object.__setattr__(self, "high", ends[1])

    @classmethod
    def of(cls, records: ArrayLike) -> Uniform:
        """Return the family whose last axis holds low and high."""
        array = np.asarray(records, dtype=np.float64)
        return cls(array[..., 0], array[..., 1])

    @property
    def records(self) -> Array:
        """Low and high, in the last axis; (..., 2)."""
        return np.stack([self.low, self.high], axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class UniformMixture(NormalMixture):
    """A mixture of uniform densities, each from ``means − √3 sds`` to ``means + √3 sds``."""

    def _log_standard(self, x: Array) -> Array:
        return np.where(np.abs(x) <= REACH * (1.0 + 2.0 * SLACK), -np.log(2.0 * REACH), -np.inf)

    def _below_standard(self, x: Array) -> Array:
        return np.clip((x + REACH) / (2.0 * REACH), 0.0, 1.0)

    def _standard(self, probability: ArrayLike) -> Array:
        return np.asarray(REACH * (2.0 * np.asarray(probability) - 1.0))


@dataclass(frozen=True)
class UniformFamily(LeafFamily):
    """Bounds for every configuration of the discrete parents. Potentials are the bounds; no statistics."""

    name: ClassVar[str] = "uniform"
    phrase: ClassVar[str] = "uniform"
    conjugate: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    foregone: ClassVar[bool] = True
    words: ClassVar[tuple[str, ...]] = ("low", "high")
    values: ClassVar[type[Any]] = Uniform
    numbers: ClassVar[tuple[int, int]] = (0, 2)

    @property
    def declared(self) -> tuple[float, float] | None:
        """The bounds that the schema declares, which are then not learned."""
        bounds = self.variable.bounds
        return bounds if bounds is not None and all(map(isfinite, bounds)) else None

    @property
    def free(self) -> int:
        """Bounds that are declared are none."""
        return 0 if self.declared else 2 * self.configurations

    def check(self, places: Array) -> None:
        """Refuse bounds that are none."""
        try:
            Uniform.of(places.reshape(-1, 2))
        except ParameterError as problem:
            self.refuse(str(problem))

    def prior(self, moments: Array) -> Array:
        """Return nothing: the prior of bounds needs their column."""
        return np.empty(0)

    def believed(self, x: Array, weights: Array) -> Pareto:
        """Return what is believed of a column's bounds beforehand: its mean ± half a standard deviation."""
        seen = ~np.isnan(x) & (weights > 0)
        x, weights = x[seen], weights[seen]
        mean = float(np.average(x, weights=weights)) if len(x) else 0.0
        spread = float(np.sqrt(np.average((x - mean) ** 2, weights=weights))) if len(x) else 1.0
        half = MIDDLE * (spread if spread > 0 else 1.0)
        return Pareto(np.array(ROWS), np.array(mean - half), np.array(mean + half))

    def check_range(self, low: float, high: float, method: str) -> str:
        """Refuse a single value for maximum likelihood, unless bounds are declared."""
        if method != "ml" or low != high or self.declared:
            return ""
        return (
            "has fewer than two values where its parents are alike: the likelihood of bounds has no maximum; "
            "declare bounds in the schema, or use method='map'"
        )

    def learned(
        self, x: Array, weights: Array, certain: Booleans, possible: Booleans, method: str
    ) -> tuple[Array, float]:
        """Return the bounds that a fit gives, (q, 2), and their log prior density, which only "map" has.

        They are the declared ones, or the narrowest that hold the rows whose parents are observed: those of
        highest likelihood or, holding what is known beforehand as well, of highest posterior density. Of a
        configuration that no row shows for certain, all rows that allow it are held. A row that is then
        outside of all it allows widens the nearest bounds.
        """
        if self.declared:
            return np.tile(np.array(self.declared), (self.configurations, 1)), 0.0
        prior, out = self.believed(x, weights), np.empty((self.configurations, 2))
        for j, (sure, may) in enumerate(zip(certain, possible, strict=True)):
            mine = x[sure] if len(np.unique(x[sure])) > 1 else x[may]
            if method == "map":
                out[j] = np.ravel(prior.update(mine[:, None]).peak)
            elif len(np.unique(mine)) > 1:
                out[j] = mine.min(), mine.max()
            else:
                raise TableError(f"{self.variable.name} {self.check_range(0.0, 0.0, method)}")
        _widen(out, x, possible)
        density = float(prior.log_density(out[:, 0], out[:, 1]).sum()) if method == "map" else 0.0
        return out, density

    def log_evidence_of(self, x: Array, weights: Array, certain: Booleans) -> float:
        """Return log ∫∫ p(w₁, w₂) / (w₂ − w₁)^N dw₁ dw₂ in each configuration, added up."""
        prior, total = self.believed(x, weights), 0.0
        for rows in certain:
            if self.declared:
                log = self.log_values(x[rows], np.array(self.declared))
                total += float(log[weights[rows] > 0] @ weights[rows][weights[rows] > 0])
            elif rows.any():
                total += float(np.ravel(prior.log_evidence(x[rows][:, None], weights[rows]))[0])
        return total

    def drawn_prior(self, hyper: Array, surplus: float, rng: np.random.Generator) -> Array:
        """Return bounds drawn from the prior of a column of mean zero and variance one; (q, 2)."""
        if self.declared:
            return np.tile(np.array(self.declared), (self.configurations, 1))
        ends = np.full(self.configurations, MIDDLE)
        return np.stack(Pareto(np.full(self.configurations, ROWS), -ends, ends).draw(rng), axis=-1)

    def point(self, theta: Array) -> Array:
        """Return the bounds."""
        return theta

    def gather(self, values: Array, configuration: Integers, weights: Array, out: Array) -> None:
        """Add nothing."""

    def log_values(self, x: Array, potentials: NDArray[Any]) -> NDArray[Any]:
        """Return −log(high − low) within the bounds, −∞ outside."""
        low, high = potentials.real[..., :1], potentials.real[..., 1:]
        slack = SLACK * (high - low)
        inside = (x >= low - slack) & (x <= high + slack)
        return np.where(inside, -np.log(high - low), -np.inf)

    def mean_sd(self, potentials: Array) -> tuple[float, float]:
        """Return the middle, and (high − low)/√12."""
        low, high = potentials
        return float(low / 2 + high / 2), float((high - low) / np.sqrt(12.0))

    def drawn(self, potentials: Array, count: int, rng: np.random.Generator) -> Array:
        """Return values between the bounds."""
        low, high = potentials
        return np.asarray(low + (high - low) * rng.random(count))

    def sampled(self, records: Array, parents: Array, rng: np.random.Generator) -> Array:
        """Return values between each row's bounds."""
        return np.asarray(records[:, 0] + (records[:, 1] - records[:, 0]) * rng.random(len(records)))

    def mixture(self, weights: Array, means: Array, sds: Array) -> NormalMixture:
        """Return uniform densities, weighted."""
        return UniformMixture(self.variable, weights, means, sds)

    def inward(self, theta: Array, units: Units) -> Array:
        """Return the bounds of a standardised column."""
        return np.asarray((theta - units.centre[-1]) / units.spread[-1])

    def outward(self, theta: Array, units: Units) -> Array:
        """Return the bounds of the data's column."""
        return np.asarray(units.centre[-1] + theta * units.spread[-1])

    def normal(self, theta: Array) -> Array:
        """Return mean and variance."""
        low, high = theta[..., 0], theta[..., 1]
        return np.stack([low / 2 + high / 2, (high - low) ** 2 / 12], axis=-1)

    def entropy(self, theta: Array) -> Array:
        """Return log(high − low)."""
        return np.asarray(np.log(theta[..., 1] - theta[..., 0]))

    def kl(self, mine: Array, theirs: Array) -> Array:
        """Return the log of how much wider the other is; infinite where it does not hold the one."""
        width, wider = mine[:, 1] - mine[:, 0], theirs[:, 1] - theirs[:, 0]
        slack = SLACK * wider
        outside = (mine[:, 0] < theirs[:, 0] - slack) | (mine[:, 1] > theirs[:, 1] + slack)
        return np.where(outside, np.inf, np.log(wider / width))

    def around(
        self, statistics: Array, surplus: float, ess: float, count: int, rng: np.random.Generator
    ) -> Array:
        """Return any bounds: those that a climb has are known."""
        return self.begun(statistics)

    def begun(self, hyper: Array) -> Array:
        """Return any bounds: those that a climb has are known."""
        return np.broadcast_to([-1.0, 1.0], (*hyper.shape[:-1], 2))

    def start(self, known: Array, example: Array) -> Array:
        """Return the known bounds."""
        return known

    def told(self, record: Array) -> str:
        """Return the bounds."""
        return f"uniform from {record[0]:.5g} to {record[1]:.5g}"


def _widen(bounds: Array, x: Array, possible: Booleans) -> None:
    """Let every row be within the bounds of some configuration that it allows."""
    rows = np.flatnonzero(possible.any(axis=0))
    away = np.maximum(bounds[:, :1] - x[rows], x[rows] - bounds[:, 1:])
    outside = rows[np.where(possible[:, rows], away, np.inf).min(axis=0) > 0]
    for row in outside:  # each may widen bounds for the next
        away = np.maximum(np.maximum(bounds[:, 0] - x[row], x[row] - bounds[:, 1]), 0.0)
        j = int(np.where(possible[:, row], away, np.inf).argmin())
        bounds[j] = min(bounds[j, 0], x[row]), max(bounds[j, 1], x[row])
