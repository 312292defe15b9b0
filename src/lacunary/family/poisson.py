"""The family of counts: Poisson given the discrete parents, with a rate for every configuration.

A count x has probability λ^x e^−λ / x!. What N rows tell of λ is (N, Σ x), and that is what hyperparameters
are, too: Gamma(Σ x, N) is conjugate, and rows are learned by adding theirs. The evidence is

    Γ(a + Σ x) b^a / (Γ(a) (b + N)^(a + Σ x)) · Π 1/x!,

a product of negative binomials. The factor 1/x! is in no statistics but in the rows' base measure.
Coordinates are log λ: the peak of its density, a/b, is never on the border. By default λ is exponential with
the mean of its column: Gamma(1, 1) in units of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError
from lacunary.family.distribution import NormalMixture
from lacunary.family.leaf import LeafFamily
from lacunary.family.numeric import Units
from lacunary.maths import special
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.maths.coordinates import logs

__all__ = ["CountMixture", "Poisson", "PoissonFamily"]

LEAST = 0.1
"""What a rate begins at, as a share of what rows say, where the example of a configuration is zero."""


@dataclass(frozen=True, eq=False)
class Poisson:
    """A count given its discrete parents.

    Attributes
    ----------
    rate
        The mean, for each configuration of the discrete parents; (..., discrete parents).

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("busy -> calls", kinds={"calls": "continuous"}, family={"calls": "poisson"})
    >>> network = lac.Network.from_tables(graph, {"busy": [0.5, 0.5], "calls": lac.Poisson([2.0, 10.0])})
    >>> round(network.query("busy", given={"calls": 9})[1], 3)       # 10⁹e⁻¹⁰ / (10⁹e⁻¹⁰ + 2⁹e⁻²)
    0.998
    """

    rate: Array

    def __init__(self, rate: ArrayLike) -> None:
        object.__setattr__(self, "rate", np.asarray(rate, dtype=np.float64))
        if not (np.all(np.isfinite(self.rate)) and np.all(self.rate >= 0)):
            raise ParameterError("the rates of a Poisson family must be finite and not negative")

    @classmethod
    def of(cls, records: ArrayLike) -> Poisson:
        """Return the family whose last axis holds the rate."""
        return cls(np.asarray(records, dtype=np.float64)[..., 0])

    @property
    def records(self) -> Array:
        """The rate, in a last axis of its own; (..., 1)."""
        return self.rate[..., None]


@dataclass(frozen=True, eq=False, repr=False)
class CountMixture(NormalMixture):
    """A mixture of Poisson distributions, or of negative binomials where rates are not known.

    Attributes
    ----------
    shapes
        a of the Gamma(a, a/mean) that a component's rate has; infinite where it is known.
    """

    shapes: Array

    @property
    def mode(self) -> Array:
        """The most probable count of the most probable component; (...,)."""
        best = self.weights.argmax(axis=-1)[..., None]
        mean, sd, shape = (np.take_along_axis(x, best, axis=-1)[..., 0] for x in self._parts())
        with np.errstate(invalid="ignore"):
            top = np.where(np.isinf(shape), mean, mean - mean / shape)
        return np.asarray(np.where(sd > 0, np.floor(np.maximum(top, 0.0)), mean))

    def log_density(self, value: ArrayLike) -> Array:
        """Return the log-probability of a count, or of one for each row; −∞ of what is no count."""
        x = np.asarray(value, dtype=np.float64)[..., None]
        counted = np.where(_is_count(x), x, 0.0)
        mean, sd, shape = self._parts()
        known, finite = np.isinf(shape), np.where(np.isinf(shape), 1.0, shape)
        negative = _log_negative_binomial(counted, finite, finite / np.where(mean > 0, mean, 1.0))
        log = np.where(known, special.xlogy(counted, mean) - mean, negative) - special.gammaln(counted + 1)
        log = np.where(sd > 0, log, np.where(x == mean, 0.0, -np.inf))
        with np.errstate(divide="ignore"):
            log = np.where(_is_count(x), log + np.log(self.weights), -np.inf)
        return np.asarray(special.logsumexp(log, axis=-1))

    def probability_below(self, value: ArrayLike) -> Array:
        """Return the probability of counts up to this one, or up to one for each row; (...,)."""
        x = np.floor(np.asarray(value, dtype=np.float64))[..., None]
        mean, sd, shape = self._parts()
        finite, least = np.where(np.isinf(shape), 1.0, shape), np.maximum(x, 0.0)
        negative = special.betainc(finite, least + 1.0, finite / (finite + mean))
        below = np.where(np.isinf(shape), special.pdtr(least, mean), negative)
        below = np.where(sd > 0, np.where(x < 0, 0.0, below), x >= mean)
        return np.asarray((self.weights * below).sum(axis=-1))

    def quantile(self, probability: float) -> Array:
        """Return the least count up to which the variable lies with this probability; (...,)."""
        if not 0 < probability < 1:
            raise ParameterError(f"a quantile's probability lies between 0 and 1, not at {probability}")
        low, high = np.full(self.mean.shape, -1.0), np.ceil(self.mean + self.sd + 1.0)
        while np.any(short := self.probability_below(high) < probability):
            high = np.where(short, 2.0 * high, high)
        while np.any(high - low > 1.0):
            middle = np.floor(0.5 * (low + high))
            below = self.probability_below(middle) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(high)

    def _drawn(self, random: np.random.Generator) -> Array:
        mean, sd, shape = self._parts()
        known, finite = np.isinf(shape), np.where(np.isinf(shape), 1.0, shape)
        rate = np.where(known, mean, random.gamma(finite, mean / finite))
        return np.where(sd > 0, random.poisson(rate), mean)

    def _parts(self) -> tuple[Array, Array, Array]:
        return self.means, self.sds, self.shapes


@dataclass(frozen=True)
class PoissonFamily(LeafFamily):
    """A rate for every configuration of the discrete parents."""

    name: ClassVar[str] = "poisson"
    phrase: ClassVar[str] = "a Poisson count"
    scaled: ClassVar[bool] = False
    counts: ClassVar[bool] = True
    words: ClassVar[tuple[str, ...]] = ("rate",)
    values: ClassVar[type[Any]] = Poisson
    numbers: ClassVar[tuple[int, int]] = (2, 2)
    unsound: ClassVar[str] = "expected pairs of numbers above zero: rows, and what was counted in them"

    def check(self, places: Array) -> None:
        """Refuse rates that are none."""
        if not (np.all(np.isfinite(places)) and np.all(places >= 0)):
            self.refuse("the rates of a Poisson family must be finite and not negative")

    def is_value(self, x: Array) -> Booleans:
        """Tell which numbers are counts."""
        return _is_count(x)

    def no_value(self, x: float) -> str:
        """Return why a number is no count."""
        return f"holds {x:g}, and a Poisson family is for counts: whole numbers, 0 or more"

    def prior(self, moments: Array) -> Array:
        """Return one row in which one was counted, in units of the column's mean."""
        return np.ones(2)

    def check_hyper(self, hyper: Array, surplus: float) -> str:
        """Return why hyperparameters are none."""
        return "" if self.is_sound(hyper) else "every Poisson rate needs a Gamma of positive shape and rate"

    def is_sound(self, hyper: Array) -> bool:
        """Tell whether shapes and rates are positive."""
        return bool(np.all(np.isfinite(hyper)) and np.all(hyper > 0))

    def peak(self, hyper: Array, surplus: float) -> Array:
        """Return a/b, where the density of log λ is highest."""
        return np.asarray(hyper[..., 1:] / hyper[..., :1])

    def maximum_likelihood(self, statistics: Array) -> Array:
        """Return the mean count; one where nothing is seen."""
        rows = statistics[..., :1]
        return np.where(rows > 0, statistics[..., 1:] / np.where(rows > 0, rows, 1.0), 1.0)

    def mean(self, hyper: Array, surplus: float) -> Array:
        """Return E λ = a/b."""
        return self.peak(hyper, surplus)

    def draw(self, hyper: Array, surplus: float, rng: np.random.Generator) -> Array:
        """Return rates drawn from their Gamma distributions."""
        return np.asarray(rng.standard_gamma(hyper[..., 1:]) / hyper[..., :1])

    def around(
        self, statistics: Array, surplus: float, ess: float, count: int, rng: np.random.Generator
    ) -> Array:
        """Return draws about the mean counts, as if of ``ess`` rows."""
        rate = self.maximum_likelihood(statistics)
        return np.asarray(rng.standard_gamma(ess * rate, size=(count, *rate.shape)) / ess)

    def log_density(self, theta: Array, hyper: Array, surplus: float) -> Array:
        """Return the log-density of log λ: a log λ − bλ − log Z."""
        rate, (b, a) = theta[..., 0], _gamma(hyper)
        return np.asarray(special.xlogy(a, rate) - b * rate - self.log_normalizer(hyper, surplus))

    def log_normalizer(self, hyper: Array, surplus: float) -> Array:
        """Return log Z = log Γ(a) − a log b."""
        b, a = _gamma(hyper)
        return np.asarray(special.gammaln(a) - a * np.log(b))

    def log_evidence(self, hyper: Array, surplus: float, statistics: Array) -> Array:
        """Return log Z after the rows less log Z before."""
        (b, a), (rows, total) = _gamma(hyper), _gamma(statistics)
        return np.asarray(special.log_rising(a, total) - total * np.log(b + rows) - a * np.log1p(rows / b))

    def log_likelihood(self, theta: Array, statistics: Array) -> Array:
        """Return Σ over configurations of Σx · log λ − Nλ."""
        rate, (rows, total) = theta[..., 0], _gamma(statistics)
        return np.asarray((special.xlogy(total, rate) - rows * rate).sum(axis=-1))

    def divergence(self, after: Array, before: Array, surplus: float) -> Array:
        """Return KL between two Gamma distributions."""
        (d, c), (b, a) = _gamma(after), _gamma(before)
        gain = (c - a) * special.digamma(c) - special.gammaln(c) + special.gammaln(a)
        return np.asarray(gain + a * np.log(d / b) + c * (b - d) / d)

    def point(self, theta: NDArray[Any]) -> NDArray[Any]:
        """Return log λ and λ."""
        with np.errstate(divide="ignore"):
            return np.concatenate([np.log(theta), theta], axis=-1)

    def expected(self, hyper: Array, surplus: float) -> Array:
        """Return E log λ and E λ."""
        b, a = _gamma(hyper)
        return np.stack([special.digamma(a) - np.log(b), a / b], axis=-1)

    def gather(self, values: Array, configuration: Integers, weights: Array, out: Array) -> None:
        """Add how many rows there are, and what they count."""
        for j in np.unique(configuration):
            mine = weights * (configuration == j)
            out[..., j, 0] += mine.sum(axis=-1)
            out[..., j, 1] += (mine * values[..., 0]).sum(axis=-1)

    def unfold(self, theta: Array) -> tuple[Array, Array]:
        """Return log λ, which matters by λ."""
        return logs(theta), theta

    def fold(self, coordinates: Array, floor: bool) -> Array:
        """Return the rates with such logarithms."""
        return np.asarray(np.exp(coordinates))

    def unfold_hyper(self, hyper: Array) -> tuple[Array, Array]:
        """Return logarithms, weighted as those of a table's hyperparameters are."""
        return logs(hyper), hyper

    def fold_hyper(self, coordinates: Array) -> Array:
        """Return the hyperparameters with such logarithms."""
        return np.asarray(np.exp(coordinates))

    def project_hyper(self, hyper: Array, least: Array) -> None:
        """Let neither fall below the prior's."""
        hyper[:] = np.maximum(hyper, least)

    def step(self, theta: NDArray[Any], which: int, length: complex) -> None:
        """Move along log λ."""
        theta[0] *= 1.0 + length

    def slope(self, theta: NDArray[Any], statistics: NDArray[Any], extra: ArrayLike) -> NDArray[Any]:
        """Return Σx − Nλ."""
        return np.asarray(statistics[..., 1:] - statistics[..., :1] * theta)

    def believed_inside(self, hyper: Array, units: Units) -> Array:
        """Return hyperparameters of λ, given those of λ in units of its column's mean."""
        return np.asarray(hyper / np.array([units.typical, 1.0]))

    def log_base(self, x: Array) -> Array:
        """Return −log x!."""
        return np.asarray(-special.gammaln(np.nan_to_num(x) + 1.0))

    def log_values(self, x: Array, potentials: NDArray[Any]) -> NDArray[Any]:
        """Return x log λ − λ; −∞ of what is no count."""
        log, rate = potentials[..., :1], potentials[..., 1:]
        possible = _is_count(x)
        with np.errstate(invalid="ignore"):
            out = np.where(x > 0, x * log, 0.0) - rate
        return np.where(possible, out, -np.inf)

    def log_predictive(self, x: Array, hyper: Array, surplus: float) -> Array:
        """Return the negative binomial's log-probability, but for x!."""
        b, a = _gamma(hyper)
        return np.where(_is_count(x), _log_negative_binomial(np.maximum(x, 0.0), a, b), -np.inf)

    def mean_sd(self, potentials: Array) -> tuple[float, float]:
        """Return λ and √λ."""
        return float(potentials[1]), float(np.sqrt(potentials[1]))

    def mixture(self, weights: Array, means: Array, sds: Array) -> NormalMixture:
        """Return Poisson distributions, weighted."""
        return CountMixture(self.variable, weights, means, sds, np.full(means.shape, np.inf))

    def predictive_mixture(self, weights: Array, means: Array, sds: Array, hyper: Array) -> NormalMixture:
        """Return negative binomials, weighted."""
        shape = np.where(hyper[..., 1] > 0, hyper[..., 1], 1.0)
        wider = np.where(sds > 0, np.sqrt(means + means**2 / shape), 0.0)
        return CountMixture(self.variable, weights, means, wider, shape)

    def drawn(self, potentials: Array, count: int, rng: np.random.Generator) -> Array:
        """Return counts."""
        return rng.poisson(potentials[1], count).astype(np.float64)

    def sampled(self, records: Array, parents: Array, rng: np.random.Generator) -> Array:
        """Return a count for each row's rate."""
        return rng.poisson(records[:, 0]).astype(np.float64)

    def normal(self, theta: Array) -> Array:
        """Return mean and variance, which are both λ."""
        return np.concatenate([theta, theta], axis=-1)

    def entropy(self, theta: Array) -> Array:
        """Return λ (1 − log λ) + E log x!, summed over all counts that are not out of reach."""
        rate = theta[..., :1]
        x = np.arange(np.ceil(np.max(rate, initial=0.0) + 12.0 * np.sqrt(np.max(rate, initial=0.0)) + 30.0))
        log = special.xlogy(x, rate) - rate - special.gammaln(x + 1.0)
        return np.asarray(-(np.exp(log) * np.where(np.isinf(log), 0.0, log)).sum(axis=-1))

    def kl(self, mine: Array, theirs: Array) -> Array:
        """Return λ log(λ/μ) − λ + μ."""
        one, other = mine[:, 0], theirs[:, 0]
        return np.asarray(special.rel_entr(one, other) - one + other)

    def start(self, known: Array, example: Array) -> Array:
        """Return rates halfway from what rows say to the example's count."""
        there = np.where(np.isnan(example), known[:, 0], example)
        return np.maximum(0.5 * (known[:, 0] + there), LEAST * known[:, 0])[:, None]

    def told(self, record: Array) -> str:
        """Return the rate."""
        return f"rate {record[0]:.5g}"


def _gamma(hyper: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows b and what was counted a; (..., 2) → (...,) each."""
    return hyper[..., 0], hyper[..., 1]


def _is_count(x: Array) -> Booleans:
    return np.asarray((x >= 0) & (x == np.floor(x)) & np.isfinite(x))


def _log_negative_binomial(x: Array, a: Array, b: Array) -> Array:
    """Return log ∫ λ^x e^−λ Gamma(λ; a, b) dλ."""
    return np.asarray(special.log_rising(a, x) - a * np.log1p(1.0 / b) - x * np.log1p(b))
