"""What a query answers: probabilities of states, or the density of a continuous variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from lacunary.data.schema import Label, Variable

__all__ = ["Distribution", "NormalMixture"]


@dataclass(frozen=True, eq=False)
class Distribution:
    """Probabilities of the joint states of some variables.

    Attributes
    ----------
    variables
        The variables, one for each axis of ``probabilities``.
    probabilities
        They sum to one.
    """

    variables: tuple[Variable, ...]
    probabilities: NDArray[np.float64]

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
        width = max(len(label) for label, _ in rows)
        return "\n".join([f"p({names})", *(f"  {label:<{width}}  {p}" for label, p in rows)])


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """The density of a continuous variable: a mixture of normals, one for each open discrete configuration.

    Attributes
    ----------
    variable
        The variable.
    weights, means, sds
        The components, last; (..., components), with one leading axis for the rows of a table. Where the
        variable is observed its mean is the value and its standard deviation zero.
    """

    variable: Variable
    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    sds: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean; (...,)."""
        return np.asarray((self.weights * self.means).sum(axis=-1))

    @property
    def sd(self) -> NDArray[np.float64]:
        """The standard deviation; (...,)."""
        apart = (self.means - self.mean[..., None]) ** 2 + self.sds**2
        return np.asarray(np.sqrt((self.weights * apart).sum(axis=-1)))

    @property
    def mode(self) -> NDArray[np.float64]:
        """The mean of the most probable component; (...,)."""
        best = self.weights.argmax(axis=-1)[..., None]
        return np.asarray(np.take_along_axis(self.means, best, axis=-1)[..., 0])

    def log_density(self, value: ArrayLike) -> NDArray[np.float64]:
        """Return the log-density at a value, or at one for each row; −∞ or ∞ where it is observed."""
        apart = np.asarray(value, dtype=np.float64)[..., None] - self.means
        with np.errstate(divide="ignore", invalid="ignore"):
            squared = np.where(apart == 0, 0.0, (apart / self.sds) ** 2)
            log = np.log(self.weights) - np.log(self.sds) - 0.5 * (squared + np.log(2 * np.pi))
        return np.asarray(logsumexp(log, axis=-1))

    def __str__(self) -> str:
        if self.weights.ndim > 1:
            return f"p({self.variable.name}) in {len(self.weights)} rows"
        rows = zip(self.weights, self.means, self.sds, strict=True)
        lines = [f"  {w:.4f}  mean {m:.6g}, sd {s:.6g}" for w, m, s in rows]
        return "\n".join([f"p({self.variable.name})  mean {self.mean:.6g}, sd {self.sd:.6g}", *lines])
