"""The default family of a continuous variable: linear regression with Gaussian noise.

With z = (1, continuous parents, child) and m continuous parents its parameters are intercept, coefficients
and variance, its statistics Σ weight · z zᵀ, and its potentials a quadratic form Q over z and a constant g,
for the log-density g − ½ zᵀQz. What is believed of it is in `lacunary.maths.regression`: pseudo-moments T
with T₀₀ + surplus + m + 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.errors import ParameterError, TableError
from lacunary.family.numeric import NumericFamily, Units
from lacunary.maths import regression as maths
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.coordinates import logs, moment_coordinates, moments_at
from lacunary.maths.moments import are_moments, move

__all__ = ["VARIANCE_FLOOR", "Regression", "RegressionFamily", "no_square"]

DIGITS = 1e-9
"""Share of a prior's second moments that must be variance: what is less has lost nine of sixteen digits."""

VARIANCE_FLOOR = 1e-8
"""The least variance that maximum likelihood gives a regression, in variances of its column: without it the
likelihood of a class with a single row, or of a relation without noise, has no end."""


@dataclass(frozen=True, eq=False)
class Regression:
    """A continuous variable given its parents: N(intercept + coefficients · continuous parents, variance).

    There is one regression for each configuration of the discrete parents, which index the first axes.

    Attributes
    ----------
    intercept, variance
        (..., discrete parents).
    coefficients
        One for each continuous parent, last; (..., discrete parents, continuous parents).

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("x -> y", kinds="continuous")
    >>> tables = {"x": lac.Regression(0.0), "y": lac.Regression(1.0, [2.0], 0.25)}
    >>> answer = lac.Network.from_tables(graph, tables).query("y", given={"x": 3.0})
    >>> float(answer.mean), float(answer.sd)                         # 1 + 2 · 3, and the root of the variance
    (7.0, 0.5)
    """

    intercept: Array
    coefficients: Array
    variance: Array

    def __init__(
        self, intercept: ArrayLike, coefficients: ArrayLike | None = None, variance: ArrayLike = 1.0
    ) -> None:
        start = np.asarray(intercept, dtype=np.float64)
        slope = np.zeros((*start.shape, 0)) if coefficients is None else coefficients
        slope, noise = np.asarray(slope, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        try:
            object.__setattr__(self, "coefficients", np.broadcast_to(slope, (*start.shape, slope.shape[-1])))
            object.__setattr__(self, "variance", np.broadcast_to(noise, start.shape))
        except (ValueError, IndexError):
            raise ParameterError(
                f"a regression's intercepts {start.shape}, coefficients {slope.shape} and variances "
                f"{noise.shape} do not fit together; discrete parents come first, one coefficient for "
                "each continuous parent last"
            ) from None
        object.__setattr__(self, "intercept", start)

    @classmethod
    def of(cls, records: ArrayLike) -> Regression:
        """Return the regression whose last axis holds intercept, coefficients and variance."""
        array = np.asarray(records, dtype=np.float64)
        return cls(array[..., 0], array[..., 1:-1], array[..., -1])

    @property
    def records(self) -> Array:
        """Intercept, coefficients and variance, in the last axis; (..., m + 2)."""
        return np.concatenate(
            [self.intercept[..., None], self.coefficients, self.variance[..., None]], axis=-1
        )

    @property
    def sd(self) -> Array:
        """The standard deviation of the noise."""
        return np.sqrt(self.variance)


@dataclass(frozen=True)
class RegressionFamily(NumericFamily):
    """Linear regression on the continuous parents, one in every configuration of the discrete ones."""

    name: ClassVar[str] = "regression"
    phrase: ClassVar[str] = "a regression"
    linear: ClassVar[bool] = True
    words: ClassVar[tuple[str, ...]] = ("intercept", "variance")
    values: ClassVar[type[Any]] = Regression

    @property
    def statistics(self) -> int:
        """Σ weight · z zᵀ."""
        return self.parameters**2

    @property
    def potentials(self) -> int:
        """Q and g."""
        return self.parameters**2 + 1

    @property
    def _last(self) -> str:
        return "intercept, a coefficient for each continuous parent, and the variance"

    def check(self, places: Array) -> None:
        """Refuse numbers that are not finite, and variances that are not positive."""
        variance = places.reshape(-1, self.parameters)[:, -1]
        if not np.all(np.isfinite(places)):
            raise ParameterError(f"the regression of {self.variable.name} holds a number that is not finite")
        if np.any(variance <= 0):
            raise ParameterError(
                f"the regression of {self.variable.name} has a variance that is not positive: "
                f"{variance.min():.6g}; give even a nearly exact relation a small variance"
            )

    def square(self, statistics: NDArray[Any]) -> NDArray[Any]:
        """Return statistics as matrices; (..., (m + 2)²) → (..., m + 2, m + 2), a view."""
        return statistics.reshape(*statistics.shape[:-1], self.parameters, self.parameters)

    def dof(self, hyper: Array, surplus: float) -> Array:
        """Return the degrees of freedom; (..., q)."""
        return np.asarray(hyper[..., 0] + surplus + self.parameters - 1)

    def prior(self, moments: Array) -> Array:
        """Return the pseudo-moments of a Normal–Wishart's part for this family."""
        return moments.reshape(-1)

    def check_hyper(self, hyper: Array, surplus: float) -> str:
        """Return why pseudo-moments are none."""
        sound = np.all(self.dof(hyper, surplus) > 0)
        return "" if sound else "every regression needs a positive pseudo-count and degrees of freedom"

    unsound: ClassVar[str] = "expected symmetric matrices that are positive semi-definite"

    def is_sound(self, hyper: Array) -> bool:
        """Tell whether matrices are symmetric and positive semi-definite, both to rounding."""
        return are_moments(self.square(hyper))

    def best_in_turn(self, before: Sequence[Array], own: Array, surplus: float | None) -> list[Array] | None:
        """Return the `peak`, or `maximum_likelihood`, of regressions each on all that come before it.

        They have one factor where their statistics are the leading parts of this one's; None where not.
        """
        whole = self.square(own)
        for part in before:
            width = isqrt(part.shape[-1])
            if not np.array_equal(part, whole[..., :width, :width].reshape(part.shape)):
                return None
        divisor = own[..., 0] + (surplus or 0.0)  # the same for all of them
        solved = maths.solved_in_turn(whole, len(before) + 1) if np.all(divisor > 0) else None
        if solved is None:
            return None
        variance = np.stack([one.pivot for one in solved], axis=-1) ** 2 / divisor[..., None]
        if surplus is None:
            variance = np.maximum(variance, VARIANCE_FLOOR)
        return [
            np.concatenate([one.coefficients, variance[..., k : k + 1]], axis=-1)
            for k, one in enumerate(solved)
        ]

    def peak(self, hyper: Array, surplus: float) -> Array:
        """Return the regression's coefficients, and the variance at the mode."""
        return maths.peak(self.square(hyper), self.dof(hyper, surplus))

    def maximum_likelihood(self, statistics: Array) -> Array:
        """Return least squares, with variances of at least `VARIANCE_FLOOR`."""
        best = maths.maximum_likelihood(self.square(statistics), VARIANCE_FLOOR)
        best[..., -1] = np.where(statistics[..., 0] > 0, best[..., -1], 1.0)  # of nothing, nothing is known
        return best

    def mean(self, hyper: Array, surplus: float) -> Array:
        """Return expected coefficients, and the scale s/dof of the predictive Student t for a variance."""
        return maths.mean(self.square(hyper), self.dof(hyper, surplus) + 2.0)

    def draw(self, hyper: Array, surplus: float, rng: np.random.Generator) -> Array:
        """Return regressions drawn from the belief."""
        return maths.draw(self.square(hyper), self.dof(hyper, surplus), rng)

    def around(
        self, statistics: Array, surplus: float, ess: float, count: int, rng: np.random.Generator
    ) -> Array:
        """Return draws about the least-squares regression, whose peak has the fitted variance."""
        rows, width = statistics[:, 0], self.parameters
        if not rows.any():
            return np.append(np.zeros(width - 1), 1.0)
        worth = self.square(statistics * (ess / rows)[:, None])
        dof = ess * (1.0 + surplus / rows) + width - 1
        return maths.draw(np.broadcast_to(worth, (count, *worth.shape)), dof, rng)

    def log_density(self, theta: Array, hyper: Array, surplus: float) -> Array:
        """Return the log-density of (intercept, coefficients/variance, 1/variance)."""
        return maths.log_density(theta, self.square(hyper), self.dof(hyper, surplus))

    def log_normalizer(self, hyper: Array, surplus: float) -> Array:
        """Return log Z."""
        return maths.log_normalizer(self.square(hyper), self.dof(hyper, surplus))

    def log_evidence(self, hyper: Array, surplus: float, statistics: Array) -> Array:
        """Return log Z(T + moments) − log Z(T) − N/2 log 2π."""
        return maths.log_evidence(self.square(hyper), self.dof(hyper, surplus), self.square(statistics))

    def log_likelihood(self, theta: Array, statistics: Array) -> Array:
        """Return Σ over configurations of N g − ½ tr(Q Σ z zᵀ)."""
        form, constant = maths.point_form(theta)
        weighed = (form * self.square(statistics)).sum(axis=(-3, -2, -1))
        return np.asarray((statistics[..., 0] * constant).sum(axis=-1) - 0.5 * weighed)

    def divergence(self, after: Array, before: Array, surplus: float) -> Array:
        """Return KL between two beliefs."""
        dofs = self.dof(after, surplus), self.dof(before, surplus)
        return maths.divergence(self.square(after), dofs[0], self.square(before), dofs[1])

    def point(self, theta: Array) -> Array:
        """Return Q = vvᵀ/σ² and g = −½ log 2πσ²."""
        return _flat(*maths.point_form(theta))

    def expected(self, hyper: Array, surplus: float) -> Array:
        """Return Q = E[vvᵀ/σ²] and g = −½ E[log 2πσ²]."""
        return _flat(*maths.expected_form(self.square(hyper), self.dof(hyper, surplus)))

    def form(self, potentials: Array) -> tuple[Array, Array]:
        """Return Q, (..., m + 2, m + 2), and g, (...,)."""
        return self.square(potentials[..., :-1]), potentials[..., -1]

    def gather(self, values: Array, configuration: Integers, weights: Array, out: Array) -> None:
        """Add Σ weight · z zᵀ of complete rows in each configuration."""
        z = np.concatenate([np.ones((*values.shape[:-1], 1)), values], axis=-1)
        moments = self.square(out)
        for j in np.unique(configuration):
            mine = configuration == j
            if z.ndim == 2:
                moments[j] += (z[mine] * weights[mine, None]).T @ z[mine]
            else:
                moments[..., j, :, :] += np.swapaxes(z * (mine * weights)[..., None], -1, -2) @ z

    def unfold(self, theta: Array) -> tuple[Array, Array]:
        """Return intercept, coefficients and log σ², weighted as the divergence from one nearby is.

        The weights are 1/σ², and ½ for log σ².
        """
        variance = theta[..., -1:]
        weights = np.broadcast_to(1.0 / variance, theta.shape).copy()
        weights[..., -1] = 0.5
        return np.concatenate([theta[..., :-1], logs(variance)], axis=-1), weights

    def fold(self, coordinates: Array, floor: bool) -> Array:
        """Return the regressions with such coordinates."""
        variance = np.maximum(np.exp(coordinates[..., -1:]), VARIANCE_FLOOR if floor else 0.0)
        return np.concatenate([coordinates[..., :-1], variance], axis=-1)

    def unfold_hyper(self, hyper: Array) -> tuple[Array, Array]:
        """Return T = L D Lᵀ by L and log D."""
        coordinates, weights = moment_coordinates(self.square(hyper))
        return coordinates.reshape(hyper.shape), weights.reshape(hyper.shape)

    def fold_hyper(self, coordinates: Array) -> Array:
        """Return T = L D Lᵀ."""
        return moments_at(self.square(coordinates)).reshape(coordinates.shape)

    def project_hyper(self, hyper: Array, least: Array) -> None:
        """Let no pseudo-count fall below the prior's."""
        hyper[..., 0] = np.maximum(hyper[..., 0], least[..., 0])

    def step(self, theta: NDArray[Any], which: int, length: complex) -> None:
        """Move along (intercept, coefficients/σ², 1/σ²)."""
        if which == 0:
            theta[0] += length
        elif which < self.parameters - 1:
            theta[which] += length * theta[-1]
        else:
            theta[1:] = theta[1:] / (1.0 + length * theta[-1])  # w grows: B stays, so B/w and 1/w fall

    def slope(self, theta: NDArray[Any], statistics: NDArray[Any], extra: ArrayLike) -> NDArray[Any]:
        """Return ∂a = w (Mv)₀, ∂B = (Mv)_x and ∂w = N/(2w) − ½ vᵀMv − (B/w)ᵀ(Mv)_x."""
        contrast = np.concatenate([-theta[..., :-1], np.ones_like(theta[..., -1:])], axis=-1)
        pushed = np.einsum("...ij,...j->...i", self.square(statistics), contrast)
        variance = theta[..., -1]
        part = np.empty(theta.shape, dtype=pushed.dtype)
        part[..., 0] = pushed[..., 0] / variance
        part[..., 1:-1] = pushed[..., 1:-1]
        part[..., -1] = 0.5 * ((statistics[..., 0] + extra) * variance - (contrast * pushed).sum(axis=-1))
        part[..., -1] -= (theta[..., 1:-1] * pushed[..., 1:-1]).sum(axis=-1)
        return part

    def extra(self, hyper: Array, surplus: float) -> Array | float:
        """Return dof − m − 1 − T₀₀: the prior's density is w^((dof − m − 1)/2) exp(−½ w vᵀTv)."""
        return np.asarray(self.dof(hyper, surplus) - (self.parameters - 1) - hyper[..., 0])

    def inward(self, theta: Array, units: Units) -> Array:
        """Return the regression of standardised columns."""
        out, (*_, c), (*_, y) = np.array(theta), units.centre, units.spread
        x, s = units.centre[:-1], units.spread[:-1]
        out[..., 0] = (theta[..., 0] + theta[..., 1:-1] @ x - c) / y
        out[..., 1:-1] = theta[..., 1:-1] * s / y
        out[..., -1] = theta[..., -1] / y / y
        return out

    def outward(self, theta: Array, units: Units) -> Array:
        """Return the regression of the data's columns."""
        out, (*_, c), (*_, y) = np.array(theta), units.centre, units.spread
        x, s = units.centre[:-1], units.spread[:-1]
        out[..., 1:-1] = theta[..., 1:-1] * y / s
        out[..., 0] = c + theta[..., 0] * y - out[..., 1:-1] @ x
        with np.errstate(over="ignore", under="ignore"):
            out[..., -1] = theta[..., -1] * y**2
        held = (out[..., -1] >= np.finfo(np.float64).tiny) & np.isfinite(out[..., -1])
        if np.any((theta[..., -1] > 0) & ~held):
            raise no_square(self.variable.name, float(y))
        return out

    def believed_inside(self, hyper: Array, units: Units) -> Array:
        """Return pseudo-moments of standardised columns."""
        moved = move(self.square(hyper), -units.centre / units.spread, 1 / units.spread)
        for moment in (self.square(hyper), moved):
            self._check_digits(moment)
        return moved.reshape(hyper.shape)

    def _check_digits(self, moment: Array) -> None:
        """Refuse pseudo-moments whose means are so far from zero that their variances are rounded off."""
        squares = np.einsum("...ii->...i", moment)[..., 1:] * moment[..., :1, 0]
        if np.any(moment[..., 0, 1:] ** 2 > (1.0 - DIGITS) * squares):
            raise ParameterError(
                f"the prior of {self.variable.name} has means so far from zero or the columns' own that no "
                "digits are left for its variances; give a prior without means, or shift the columns"
            )

    def believed_outside(self, hyper: Array, units: Units) -> Array:
        """Return pseudo-moments of the data's columns."""
        return move(self.square(hyper), units.centre, units.spread).reshape(hyper.shape)

    def log_stretch(self, units: Units) -> float:
        """Return Σ of log spreads: y for the intercept, x·y for a coefficient/σ², and y² less y for 1/σ²."""
        log = np.log(units.spread)
        return self.configurations * float(log[-1] + (log[:-1] + log[-1]).sum())

    def check_range(self, low: float, high: float, method: str) -> str:
        """Refuse constants for maximum likelihood."""
        if method != "ml" or low != high:
            return ""
        return (
            f"is constant ({low:g} in every row): no variance has highest likelihood; "
            "leave the column out, or use method='map', whose prior gives it a small one"
        )

    def sampled(self, records: Array, parents: Array, rng: np.random.Generator) -> Array:
        """Return intercept + coefficients · parents + noise."""
        middle = records[:, 0] + (records[:, 1:-1] * parents).sum(axis=1)
        return np.asarray(middle + np.sqrt(records[:, -1]) * rng.standard_normal(len(records)))

    def entropy(self, theta: Array) -> Array:
        """Return ½ log(2πe σ²)."""
        return np.asarray(0.5 * np.log(2 * np.pi * np.e * theta[..., -1]))

    def named(self, record: Array) -> dict[str, float]:
        """Return intercept, coefficients and standard deviation."""
        slopes = {
            f"\N{MULTIPLICATION SIGN} {p.name}": b
            for p, b in zip(self.slopes, record[1:-1].tolist(), strict=True)
        }
        return {"intercept": float(record[0]), **slopes, "sd": float(np.sqrt(record[-1]))}

    def told(self, record: Array) -> str:
        """Return the equation."""
        terms = "".join(
            f" {'-' if slope < 0 else '+'} {abs(slope):.4g} {parent.name}"
            for parent, slope in zip(self.slopes, record[1:-1].tolist(), strict=True)
        )
        return f"{record[0]:.5g}{terms}, sd {np.sqrt(record[-1]):.4g}"


def no_square(name: str, size: float) -> TableError:
    """Return the refusal of a column whose squares no number can hold."""
    return TableError(
        f"{name} varies by about {size:.3g}, and no number can hold the square of that, its variance; "
        "measure the column in other units"
    )


def _flat(form: Array, constant: Array) -> Array:
    return np.concatenate([form.reshape(*constant.shape, -1), constant[..., None]], axis=-1)
