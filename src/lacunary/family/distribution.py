"""What a query answers: probabilities of states, or the density of a continuous variable.

`lacunary.family.joint` has what it answers about several variables of which some are continuous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from lacunary.data.schema import Label, Variable
from lacunary.errors import ParameterError
from lacunary.maths import special
from lacunary.maths.arrays import Array, Integers
from lacunary.registry import borrow

__all__ = ["Answer", "Distribution", "NormalMixture", "StudentMixture"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Probabilities whose quantiles are shown."""

COMPONENTS = 8
"""How many components are printed, the most probable ones."""

BISECTIONS = 64
"""Halvings that close in on a quantile: more than the digits of a double."""


class Answer:
    """What a query answers: a `Distribution` over states, or a `NormalMixture` of a continuous variable.

    Of several variables, some of them continuous, it is a `JointMixture`. Which of them follows from the
    variables that were asked about. Type checkers know the names of all; the one that is asked for what only
    another has refuses by name.
    """

    about: ClassVar[str]

    if TYPE_CHECKING:

        @property
        def variables(self) -> tuple[Variable, ...]:
            """The variables, one for each axis of ``probabilities``."""

        @property
        def probabilities(self) -> Array:
            """Of states, or joint states."""

        @property
        def variable(self) -> Variable:
            """The continuous variable."""

        @property
        def weights(self) -> Array:
            """Of the components."""

        @property
        def means(self) -> Array:
            """Of the components."""

        @property
        def sds(self) -> Array:
            """Of the components."""

        @property
        def dofs(self) -> Array:
            """Degrees of freedom of the components, where these are Student's."""

        @property
        def mean(self) -> Array:
            """The mean."""

        @property
        def sd(self) -> Array:
            """The standard deviation."""

        @property
        def mode(self) -> Any:
            """The most probable state, or mean of a component."""

        def __getitem__(self, wanted: Any) -> Any: ...
        def to_dict(self) -> dict[Any, Any]:
            """Return it as plain words and numbers."""

        @property
        def covariance(self) -> Array:
            """The covariance of several continuous variables."""

        @property
        def correlation(self) -> Array:
            """The correlations of several continuous variables."""

        @property
        def covariances(self) -> Array:
            """The components' covariances of several continuous variables."""

        def marginal(self, *names: str) -> Answer:
            """Return the posterior of some of several variables."""

        def settled(self, name: str, value: float) -> Answer:
            """Return the posterior once a variable on which no other depends is set to a value."""

        def given(self, states: Any) -> Answer:
            """Return the posterior of the others of several variables, once some are in these states."""

        def sample(self, rows: int, rng: Any = None) -> Any:
            """Return rows drawn of several variables."""

        def log_density(self, value: Any) -> Array:
            """Return the log-density of values."""

        def probability_below(self, value: ArrayLike) -> Array:
            """Return the probability to lie below values."""

        def quantile(self, probability: float) -> Array:
            """Return the value below which it lies with a probability."""

    else:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"a {type(self).__name__} is about {self.about} and has no {name}")


@dataclass(frozen=True, eq=False)
class Distribution(Answer):
    """Probabilities of the joint states of some variables.

    Attributes
    ----------
    variables
        The variables, one for each axis of ``probabilities``.
    probabilities
        They sum to one.
    error
        The standard error of each where they are Monte Carlo estimates; None where they are exact.

    Examples
    --------
    >>> import lacunary as lac
    >>> both = lac.asia().query("lung", "bronc", given={"dysp": "yes"})
    >>> both.probabilities.shape, both.mode
    ((2, 2), ('no', 'yes'))
    """

    about: ClassVar[str] = "states"

    variables: tuple[Variable, ...]
    probabilities: Array
    error: Array | None = None

    @classmethod
    def of(cls, variables: Sequence[Variable], probabilities: Array) -> Self:
        """Return what is known from probabilities that may have been drawn, with an ``error``."""
        return cls(tuple(variables), np.asarray(probabilities), getattr(probabilities, "error", None))

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def __getitem__(self, states: Label | tuple[Label, ...]) -> float:
        """Return the probability of a state, or of a tuple of states, one for each variable."""
        chosen = states if isinstance(states, tuple) else (states,)
        where = tuple(v.encode(state) for v, state in zip(self.variables, chosen, strict=True))
        return float(self.probabilities[where])

    def to_dict(self) -> dict[Label | tuple[Label, ...], float]:
        """Return the probabilities by state, or by tuple of states where there are several variables."""
        items = {}
        for where, probability in np.ndenumerate(self.probabilities):
            states = tuple(v.states[i] for v, i in zip(self.variables, where, strict=True))
            items[states if len(states) > 1 else states[0]] = float(probability)
        return items

    @property
    def mode(self) -> Label | tuple[Label, ...]:
        """The most probable state, or tuple of states."""
        items = self.to_dict()
        return max(items, key=items.__getitem__)

    def __str__(self) -> str:
        names = ", ".join(v.name for v in self.variables)
        rows = [(str(states), f"{p:.4f}") for states, p in self.to_dict().items()]
        if self.error is not None:
            rows = [(label, f"{p} ± {e:.4f}") for (label, p), e in zip(rows, self.error.flat, strict=True)]
        width = max(len(label) for label, _ in rows)
        return "\n".join([f"p({names})", *(f"  {label:<{width}}  {p}" for label, p in rows)])

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class NormalMixture(Answer):
    """The density of a continuous variable: a mixture of normals, one for each open discrete configuration.

    Attributes
    ----------
    variable
        The variable.
    weights, means, sds
        The components, last; (..., components), with one leading axis for the rows of a table. Where the
        variable is observed its mean is the value and its standard deviation zero.

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("state -> x", kinds={"x": "continuous"})
    >>> tables = {"state": [0.5, 0.5], "x": lac.Regression([-1.0, 1.0])}
    >>> answer = lac.Network.from_tables(graph, tables).query("x")
    >>> float(answer.mean), round(float(answer.sd) ** 2, 6)              # variance within, and between
    (0.0, 2.0)
    """

    about: ClassVar[str] = "a continuous variable"

    variable: Variable
    weights: Array
    means: Array
    sds: Array

    def __getitem__(self, row: int | Integers | slice | None) -> Self:
        """Return the density in one row of a table; with None, as that of a table of one row."""
        return replace(self, **{name: array[row] for name, array in self.arrays.items()})

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays that describe the components, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "variable"}

    def reweighed(self, weights: Array, which: Integers | slice = slice(None)) -> Self:
        """Return some of the components, with these weights; (components,)."""
        return replace(self[which], weights=weights)

    def settled(self, name: str, value: float) -> Self:
        """Return the density of the variable once it is set to a value from outside."""
        return replace(self, means=np.full_like(self.means, value), sds=np.zeros_like(self.sds))

    def merged(self) -> Self:
        """Return the same density with components that are alike taken together; (components,)."""
        numbers = np.stack([array for name, array in self.arrays.items() if name != "weights"], axis=-1)
        _, first, inverse = np.unique(numbers, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        weights = np.asarray(np.bincount(inverse.ravel(), self.weights), dtype=np.float64)
        return self.reweighed(weights[order], first[order])

    def among(self, share: Array, where: Integers) -> Self:
        """Return the density in some rows as part of one in all rows, weighted by their shares; (rows,)."""
        parts: dict[str, Any] = {}
        for name, given in self.arrays.items():
            parts[name] = np.full((len(share), given.shape[-1]), _unused(name))
            parts[name][where] = given * share[where, None] if name == "weights" else given
        return replace(self, **parts)

    def joined(self, others: Sequence[NormalMixture]) -> Self:
        """Return the densities of these rows and of others behind them."""
        every: list[NormalMixture] = [self, *others]
        most = max(one.weights.shape[-1] for one in every)
        # What fills rows of fewer components up has weight zero.
        parts: dict[str, Any] = {
            name: np.concatenate([_filled_up(one.arrays[name], most, _unused(name)) for one in every])
            for name in self.arrays
        }
        return replace(self, **parts)

    @staticmethod
    def mixed(mixtures: Sequence[NormalMixture]) -> NormalMixture:
        """Return mixtures as one, with all their components; of different kinds, what is the same in all."""
        kinds = {type(one) for one in mixtures}
        if kinds == {NormalMixture, StudentMixture}:
            mixtures = [StudentMixture.of(one) for one in mixtures]
        elif len(kinds) > 1:
            mixtures = [NormalMixture(one.variable, one.weights, one.means, one.sds) for one in mixtures]
        parts = [one.arrays for one in mixtures]
        joined: dict[str, Any] = {
            name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]
        }
        return replace(mixtures[0], **joined)

    @property
    def mean(self) -> Array:
        """The mean; (...,)."""
        return np.asarray((self.weights * self.means).sum(axis=-1))

    @property
    def sd(self) -> Array:
        """The standard deviation; (...,)."""
        apart = (self.means - self.mean[..., None]) ** 2 + self._variances()
        # What has no weight adds nothing, be its variance infinite.
        return np.asarray(np.sqrt((self.weights * np.where(self.weights > 0, apart, 0.0)).sum(axis=-1)))

    @property
    def mode(self) -> Array:
        """The mean of the most probable component; (...,)."""
        best = self.weights.argmax(axis=-1)[..., None]
        return np.asarray(np.take_along_axis(self.means, best, axis=-1)[..., 0])

    def log_density(self, value: ArrayLike) -> Array:
        """Return the log-density at a value, or at one for each row; −∞ or ∞ where it is observed."""
        apart = np.asarray(value, dtype=np.float64)[..., None] - self.means
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.where(apart == 0, 0.0, apart / self.sds)
            log = np.log(self.weights) - np.log(self.sds) + self._log_standard(scaled)
        elsewhere = (self.sds == 0) & (apart != 0)
        # What is impossible may have no scale either.
        log = np.where((self.weights > 0) & ~elsewhere, log, -np.inf)
        return np.asarray(special.logsumexp(log, axis=-1))

    def probability_below(self, value: ArrayLike) -> Array:
        """Return the probability of values up to this one, or up to one for each row; (...,)."""
        apart = np.asarray(value, dtype=np.float64)[..., None] - self.means
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.where(self.sds > 0, apart / self.sds, np.where(apart < 0, -np.inf, np.inf))
        return np.asarray((self.weights * self._below_standard(scaled)).sum(axis=-1))

    def quantile(self, probability: float) -> Array:
        """Return the value below which the variable lies with this probability; (...,).

        It lies between the least and the greatest of the components' own quantiles, and is closed in on.
        """
        if not 0 < probability < 1:
            raise ParameterError(f"a quantile's probability lies between 0 and 1, not at {probability}")
        own, used = self.means + self.sds * self._standard(probability), self.weights > 0
        low = np.where(used, own, np.inf).min(axis=-1)
        high = np.where(used, own, -np.inf).max(axis=-1)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.probability_below(middle) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(high)

    def to_dict(self) -> dict[str, Any]:
        """Return mean, standard deviation, quantiles and components as plain dictionaries and numbers."""
        return {
            "mean": float(self.mean),
            "sd": float(self.sd),
            "quantiles": {f"{p:g}": float(self.quantile(p)) for p in QUANTILES},
            "components": [self._component(int(k)) for k in np.flatnonzero(self.weights > 0)],
        }

    def __str__(self) -> str:
        if self.weights.ndim > 1:
            return f"p({self.variable.name}) in {len(self.weights)} rows"
        lines = [f"p({self.variable.name})  mean {self.mean:.6g}, sd {self.sd:.6g}"]
        lines.append("  " + ", ".join(f"{p:.0%} below {self.quantile(p):.6g}" for p in QUANTILES))
        likely = [k for k in np.argsort(-self.weights, kind="stable") if self.weights[k] >= 0.00005]
        if len(likely) > 1:
            shown = sorted(likely[:COMPONENTS])
            lines += [
                f"  {self.weights[k]:.4f}  mean {self.means[k]:.6g}, sd {self.sds[k]:.6g}" for k in shown
            ]
            more = len(likely) - len(shown)
            lines += [f"  and {more} more components"] if more else []
        return "\n".join(lines)

    __repr__ = __str__

    def _component(self, k: int) -> dict[str, float]:
        """Return one component, its weight first."""
        return {"weight": float(self.weights[k]), "mean": float(self.means[k]), "sd": float(self.sds[k])}

    def _variances(self) -> Array:
        return np.asarray(self.sds**2)

    def _log_standard(self, x: Array) -> Array:
        """Return the log-density of a component of location zero and scale one."""
        return np.asarray(-0.5 * (x**2 + np.log(2 * np.pi)))

    def _below_standard(self, x: Array) -> Array:
        return np.asarray(special.ndtr(x))

    def _standard(self, probability: ArrayLike) -> Array:
        return np.asarray(special.ndtri(probability))

    def _drawn(self, random: np.random.Generator) -> Array:
        """Return a value drawn from each component; of the shape of these."""
        share = random.uniform(np.finfo(np.float64).tiny, 1.0, self.means.shape)
        return np.asarray(self.means + self.sds * self._standard(share))


@dataclass(frozen=True, eq=False, repr=False)
class StudentMixture(NormalMixture):
    """A mixture of Student t: what a belief says of a continuous variable, the parameters integrated out.

    Attributes
    ----------
    sds
        The components' scales; their standard deviations are √(dof / (dof − 2)) times as large.
    dofs
        Degrees of freedom; infinite where a component is normal.

    Examples
    --------
    >>> import lacunary as lac
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(30, 1))
    >>> answer = lac.fit("x1", rows).belief.query("x1")
    >>> type(answer).__name__, bool(abs(answer.mean) < 0.5)
    ('StudentMixture', True)
    """

    dofs: Array

    @classmethod
    def of(cls, mixture: NormalMixture) -> StudentMixture:
        """Return normals as Student t of infinitely many degrees of freedom."""
        if isinstance(mixture, StudentMixture):
            return mixture
        dofs = np.full(mixture.weights.shape, np.inf)
        return cls(mixture.variable, mixture.weights, mixture.means, mixture.sds, dofs)

    def _component(self, k: int) -> dict[str, float]:
        if np.isinf(self.dofs[k]):
            return super()._component(k)
        told = {"weight": self.weights[k], "mean": self.means[k], "scale": self.sds[k], "dof": self.dofs[k]}
        return {name: float(value) for name, value in told.items()}

    def _variances(self) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            wider = np.where(self.dofs > 2, 1 / (1 - 2 / self.dofs), np.inf)
        return np.where(self.sds > 0, self.sds**2 * wider, 0.0)

    def _log_standard(self, x: Array) -> Array:
        dof = np.where(np.isinf(self.dofs), 1.0, self.dofs)
        return np.where(np.isinf(self.dofs), super()._log_standard(x), special.log_student(x, dof))

    def _below_standard(self, x: Array) -> Array:
        known = np.isinf(self.dofs)
        return np.asarray(np.where(known, special.ndtr(x), special.stdtr(np.where(known, 1.0, self.dofs), x)))

    def _standard(self, probability: ArrayLike) -> Array:
        known = np.isinf(self.dofs)
        own = special.stdtrit(np.where(known, 1.0, self.dofs), probability)
        return np.asarray(np.where(known, special.ndtri(probability), own))


def _unused(name: str) -> float:
    """Return what an array of components holds where there is none: no weight, and a scale that is one."""
    return 0.0 if name in ("weights", "means") else 1.0


def _filled_up(array: Array, most: int, value: float) -> Array:
    """Return (rows, components) with as many components as ``most``."""
    return np.pad(array, [(0, 0), (0, most - array.shape[-1])], constant_values=value)
