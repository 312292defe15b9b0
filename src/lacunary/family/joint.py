"""What a query answers about several variables, some of them continuous: states, and normals together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lacunary.budget import reserve
from lacunary.data.schema import Label, Schema, Variable
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import ImpossibleRowError, SchemaError
from lacunary.family.distribution import COMPONENTS, Answer, Distribution, NormalMixture
from lacunary.maths import special
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.roots import triangular

__all__ = ["JointMixture"]

AT_ONCE = 2**22
"""Numbers in the roots of rows that are drawn at once."""


@dataclass(frozen=True, eq=False, repr=False)
class JointMixture(Answer):
    """The joint posterior of several variables, some of them continuous: a mixture of multivariate normals.

    A component belongs to one configuration of the discrete variables, and one such may have several. What
    is not normal, a count, a uniform density or a Student t, is independent of the others in a component.

    Attributes
    ----------
    variables
        The variables, in the order in which they were asked about.
    weights
        Of the components; (components,).
    states
        Codes of the discrete variables in each component; (components, discrete variables).
    margins
        For each continuous variable its `NormalMixture` (or one of counts, …) over the same components.
    roots
        L, lower triangular, with covariance LLᵀ, of the k continuous variables; (components, k, k).

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("state -> x; x -> y", kinds={"x": "continuous", "y": "continuous"})
    >>> tables = {"state": [0.5, 0.5], "x": lac.Regression([-1.0, 1.0]), "y": lac.Regression(0.0, [2.0])}
    >>> both = lac.Network.from_tables(graph, tables).query("x", "y")
    >>> both
    p(x, y)
      x  mean 0, sd 1.41421
      y  mean 0, sd 3; correlation with x 0.943
    >>> both.weights, both.means
    (array([0.5, 0.5]), array([[-1., -2.],
           [ 1.,  2.]]))
    >>> both.covariances[0]
    array([[1., 2.],
           [2., 5.]])
    >>> round(float(both.log_density({"x": 1.0, "y": 2.0})), 4)
    -2.4041
    """

    about: ClassVar[str] = "several variables"

    variables: tuple[Variable, ...]
    weights: Array
    states: Integers
    margins: tuple[NormalMixture, ...]
    roots: Array

    @property
    def discrete(self) -> tuple[Variable, ...]:
        """The discrete variables."""
        return tuple(v for v in self.variables if v.discrete)

    @property
    def continuous(self) -> tuple[Variable, ...]:
        """The continuous variables."""
        return tuple(v for v in self.variables if not v.discrete)

    @cached_property
    def means(self) -> Array:
        """The components' means; (components, k)."""
        return np.stack([margin.means for margin in self.margins], axis=-1)

    @cached_property
    def covariances(self) -> Array:
        """The components' covariances; (components, k, k)."""
        out = np.asarray(self.roots @ np.swapaxes(self.roots, -1, -2))
        for k, margin in enumerate(self.margins):
            out[:, k, k] = margin._variances()
        return out

    @property
    def mean(self) -> Array:
        """The mean of the continuous variables; (k,)."""
        first = self.means[0]  # a known value has no rounding of the weights in it
        return np.asarray(first + self.weights @ (self.means - first))

    @property
    def covariance(self) -> Array:
        """The covariance of the continuous variables, within components and between; (k, k)."""
        apart = self.means - self.mean
        between = (apart * self.weights[:, None]).T @ apart
        return np.asarray(np.tensordot(self.weights, self.covariances, 1) + between)

    @property
    def sd(self) -> Array:
        """The standard deviations of the continuous variables; (k,)."""
        return np.sqrt(np.diagonal(self.covariance))

    @property
    def correlation(self) -> Array:
        """The correlations of the continuous variables; NaN beside one that is known; (k, k)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.covariance / np.outer(self.sd, self.sd))

    @property
    def probabilities(self) -> Array:
        """Of the joint states of the discrete variables, an axis for each."""
        sizes, place = [v.size for v in self.discrete], np.zeros(len(self.weights), dtype=np.int64)
        for size, codes in zip(sizes, self.states.T, strict=True):
            place = place * size + codes
        found = np.asarray(np.bincount(place, self.weights, minlength=prod(sizes)), dtype=np.float64)
        return found.reshape(sizes)

    def __getitem__(self, states: Label | tuple[Label, ...]) -> float:
        """Return the probability of a state, or of a tuple of states, one for each discrete variable."""
        return Distribution(self.discrete, self.probabilities)[states]

    def marginal(self, *names: str) -> Answer:
        """Return the posterior of some of the variables, as a query about them alone would.

        >>> import lacunary as lac
        >>> graph = lac.dag("state -> x", kinds={"x": "continuous"})
        >>> tables = {"state": [0.5, 0.5], "x": lac.Regression([-1.0, 1.0])}
        >>> both = lac.Network.from_tables(graph, tables).query("state", "x")
        >>> print(both.marginal("state"))
        p(state)
          0  0.5000
          1  0.5000
        """
        variables = tuple(self.variables[self._place(name)] for name in names)
        if len(set(names)) < len(names) or not names:
            raise SchemaError("name variables of the answer, each once")
        states = [self.discrete.index(v) for v in variables if v.discrete]
        kept = [self.continuous.index(v) for v in variables if not v.discrete]
        if not kept:
            others = tuple(k for k in range(len(self.discrete)) if k not in states)
            found = self.probabilities.sum(axis=others)
            return Distribution(variables, found.transpose(np.argsort(np.argsort(states))))
        if len(variables) == 1:
            return self.margins[kept[0]].merged()
        margins = tuple(self.margins[k] for k in kept)
        roots = triangular(self.roots[:, kept])
        return JointMixture(variables, self.weights, self.states[:, states], margins, roots)

    def given(self, states: Mapping[str, Label]) -> Answer:
        """Return the posterior of the other variables, once some of the discrete ones are in these states.

        >>> import lacunary as lac
        >>> graph = lac.dag("state -> x", kinds={"x": "continuous"})
        >>> tables = {"state": [0.5, 0.5], "x": lac.Regression([-1.0, 1.0])}
        >>> both = lac.Network.from_tables(graph, tables).query("state", "x")
        >>> float(both.given({"state": 1}).mean)
        1.0
        """
        mine = self._in(states)
        weights = np.where(mine, self.weights, 0.0)
        if not weights.sum() > 0:
            raise ImpossibleRowError(f"{dict(states)} has probability zero in this answer")
        others = [v.name for v in self.variables if v.name not in states]
        kept = np.flatnonzero(weights)
        return self._taken(kept, weights[kept] / weights.sum()).marginal(*others)

    def settled(self, name: str, value: float) -> JointMixture:
        """Return the posterior once a variable on which no other depends is set to a value from outside."""
        k, roots = [v.name for v in self.continuous].index(name), self.roots.copy()
        roots[:, k], roots[:, :, k] = 0.0, 0.0
        margins = [m.settled(name, value) if i == k else m for i, m in enumerate(self.margins)]
        return replace(self, margins=tuple(margins), roots=roots)

    def log_density(self, at: Mapping[str, Any]) -> Array:
        """Return the log-density at states and values by name; values may be arrays, one a point.

        Variables that are not named are summed or integrated out. Where a variable is known, and so has no
        density, it is −∞ or ∞.
        """
        named = [self._place(name) for name in at]
        states = {v.name: at[v.name] for v in self.discrete if v.name in at}
        values = [at[v.name] for v in self.continuous if v.name in at]
        every: Answer = self
        if len(values) not in (0, len(self.continuous)):
            wanted = [v.name for k, v in enumerate(self.variables) if k in named]
            every = self.marginal(*wanted)
        with np.errstate(divide="ignore"):
            if not isinstance(every, JointMixture):
                return every.log_density(values[0])
            log = np.where(every._in(states), np.log(every.weights), -np.inf)
        if values:
            log = _together(log, every._log_components(np.stack(np.broadcast_arrays(*values), axis=-1)))
        return np.asarray(special.logsumexp(log, axis=-1))

    def sample(self, rows: int, rng: int | np.random.Generator | None = None) -> Table:
        """Return rows drawn from the joint posterior, as a table of these variables.

        >>> import lacunary as lac
        >>> graph = lac.dag("state -> x", kinds={"x": "continuous"})
        >>> tables = {"state": [0.5, 0.5], "x": lac.Regression([-1.0, 1.0])}
        >>> len(lac.Network.from_tables(graph, tables).query("state", "x").sample(3, rng=0))
        3
        """
        random = np.random.default_rng(rng)
        schema, k = Schema(self.variables).reveal(), len(self.margins)
        reserve(32.0 * rows * len(schema), f"{rows} rows of {len(schema)} variables", "draw fewer at a time")
        upto = np.cumsum(self.weights)
        chosen = np.searchsorted(upto[:-1], random.random(rows) * upto[-1], side="right")
        codes = np.full((rows, len(schema)), HOLE, dtype=code_dtype(schema.sizes))
        reals = np.full((rows, len(schema)), np.nan)
        codes[:, [self._place(v.name) for v in self.discrete]] = self.states[chosen]
        where, many = [self._place(v.name) for v in self.continuous], max(AT_ONCE // k**2, 1)
        for first in range(0, rows, many):
            some = chosen[first : first + many]
            reals[first : first + many, where] = self._taken(some, np.ones(len(some)))._drawn(random)
        return Table(schema, codes, reals)

    def to_dict(self) -> dict[str, Any]:
        """Return each configuration's probability, means and covariance as plain lists and numbers."""
        names = [v.name for v in self.continuous]
        whole = {"mean": self.mean.tolist(), "covariance": self.covariance.tolist()}
        configurations = []
        for states, probability, one in self._configurations():
            told = {"states": states, "probability": probability}
            parts = zip(one.weights, one.means, one.covariances, strict=True)
            components = [
                {"weight": float(w), "mean": m.tolist(), "covariance": c.tolist()} for w, m, c in parts
            ]
            mean, covariance = one.mean.tolist(), one.covariance.tolist()
            told |= {"mean": mean, "covariance": covariance, "components": components}
            configurations.append(told)
        return {"continuous": names, **whole, "configurations": configurations}

    def __str__(self) -> str:
        lines = [f"p({', '.join(v.name for v in self.variables)})"]
        if not self.discrete:
            return "\n".join([*lines, *_told(self)])
        found = self._configurations()
        likely = sorted(sorted(range(len(found)), key=lambda k: -found[k][1])[:COMPONENTS])
        for states, probability, one in (found[k] for k in likely):
            shown = ", ".join(f"{name}={state}" for name, state in states.items())
            lines += [f"  {shown}  {probability:.4f}", *(f"  {line}" for line in _told(one))]
        more = len(found) - len(likely)
        return "\n".join([*lines, *([f"  and {more} more configurations"] if more else [])])

    __repr__ = __str__

    @staticmethod
    def mixed(shares: Sequence[float], parts: Sequence[JointMixture]) -> JointMixture:
        """Return answers about the same variables as one, weighted."""
        one = parts[0]
        weights = np.concatenate([share * part.weights for share, part in zip(shares, parts, strict=True)])
        margins = [NormalMixture.mixed([part.margins[k] for part in parts]) for k in range(len(one.margins))]
        return JointMixture(
            one.variables,
            weights,
            np.concatenate([part.states for part in parts]),
            tuple(margin.reweighed(weights) for margin in margins),
            np.concatenate([part.roots for part in parts]),
        )

    @classmethod
    def independent(
        cls, variables: tuple[Variable, ...], probabilities: Array, margins: Sequence[NormalMixture]
    ) -> JointMixture:
        """Return states, and one component for each continuous variable that is independent of them."""
        states = np.argwhere(probabilities > 0)
        weights, same = probabilities[probabilities > 0], np.zeros(len(states), dtype=np.int64)
        whole = cls(
            variables, np.ones(1), states[:1], tuple(margins), np.diag([m.sds[0] for m in margins])[None]
        )
        return replace(whole._taken(same, weights), states=states)

    def _place(self, name: str) -> int:
        names = [v.name for v in self.variables]
        if name not in names:
            raise SchemaError(f"this answer is about {', '.join(names)}, not about {name!r}")
        return names.index(name)

    def _in(self, states: Mapping[str, Label]) -> Any:
        """Return which components are in these states; (components,)."""
        out = np.ones(len(self.weights), dtype=bool)
        for name, state in states.items():
            variable = self.variables[self._place(name)]
            if not variable.discrete:
                raise SchemaError(f"{name} is continuous: give it a value in the query")
            out &= self.states[:, self.discrete.index(variable)] == variable.encode(state)
        return out

    def _taken(self, which: Integers, weights: Array) -> JointMixture:
        """Return some components, again and again if wanted, with these weights."""
        margins = tuple(margin.reweighed(weights, which) for margin in self.margins)
        return JointMixture(self.variables, weights, self.states[which], margins, self.roots[which])

    def _configurations(self) -> list[tuple[dict[str, Label], float, JointMixture]]:
        """Return states by name, probability and what the others are given them, of each that is possible."""
        out, names = [], [v.name for v in self.discrete]
        for at in np.argwhere(self.probabilities > 0):
            states = [v.states[code] for v, code in zip(self.discrete, at, strict=True)]
            kept = np.flatnonzero((self.states == at).all(axis=1) & (self.weights > 0))
            total = float(self.weights[kept].sum())
            out.append(
                (dict(zip(names, states, strict=True)), total, self._taken(kept, self.weights[kept] / total))
            )
        return out

    def _log_components(self, values: ArrayLike) -> Array:
        """Return every component's log-density at points, (..., k), of the continuous variables alone.

        Each variable in turn is as the earlier ones leave it (the chain rule along L).
        """
        x = np.asarray(values, dtype=np.float64)
        numbers = float(x.size) * len(self.weights)
        reserve(
            24.0 * numbers,
            f"the densities of {len(self.weights)} components",
            "ask about fewer points at a time",
        )
        out = np.zeros((*x.shape[:-1], len(self.weights)))
        apart = np.zeros((*out.shape, x.shape[-1]))
        for k in range(x.shape[-1]):
            step, value = self._step(k, apart), x[..., k, None]
            out = _together(out, step.log_density(value))
            apart[..., k] = self._standardised(k, value, step)
        return out

    def _drawn(self, random: np.random.Generator) -> Array:
        """Return a value of each continuous variable drawn from each component; (components, k)."""
        apart, out = np.zeros(self.means.shape), np.empty(self.means.shape)
        for k in range(len(self.margins)):
            step = self._step(k, apart)
            out[:, k] = step._drawn(random)[:, 0]
            apart[:, k] = self._standardised(k, out[:, k], step)
        return out

    def _step(self, k: int, apart: Array) -> NormalMixture:
        """Return what variable k is in each component, given how far earlier ones lie from their means."""
        moved = (self.roots[:, k, :k] * apart[..., :k]).sum(axis=-1)
        arrays: dict[str, Any] = {
            name: np.expand_dims(array, -1) for name, array in self.margins[k].arrays.items()
        }
        arrays["means"] = arrays["means"] + moved[..., None]
        arrays["sds"] = self.roots[:, k, k, None]
        return replace(self.margins[k], **{**arrays, "weights": np.ones((len(self.weights), 1))})

    def _standardised(self, k: int, value: Array, step: NormalMixture) -> Array:
        """Return how many standard deviations it lies from that; what has none moves no other."""
        sds = self.roots[:, k, k]
        return np.asarray(np.where(sds > 0, (value - step.means[..., 0]) / np.where(sds > 0, sds, 1.0), 0.0))


def _told(one: JointMixture) -> list[str]:
    """Return a line for each continuous variable, with its correlations with those before it."""
    mean, sd, correlation = one.mean, one.sd, one.correlation
    names = [v.name for v in one.continuous]
    width, lines = max(map(len, names)), []
    for k, name in enumerate(names):
        line = f"  {name:<{width}}  mean {mean[k]:.6g}, sd {sd[k]:.6g}"
        before = [f"with {names[j]} {correlation[k, j]:.3f}" for j in range(k) if sd[j] > 0 and sd[k] > 0]
        lines.append(line + (f"; correlation {', '.join(before)}" if before else ""))
    return lines


def _together(log: Array, other: Array) -> Array:
    """Return the sum of log-densities; what is impossible stays so, be the other infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(log) | np.isneginf(other), -np.inf, log + other)
