"""What a query answers: probabilities of states, or the density of a continuous variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Label, Variable
from lacunary.family.mixtures import NormalMixture, StudentMixture

__all__ = ["Distribution", "NormalMixture", "StudentMixture"]


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

    __repr__ = __str__
