"""How an answer depends on single parameters: p(state | given) as a function of one θ_ijk.

If one probability of a distribution moves to t and the others keep their proportions, p(state, given) and
p(given) are lines in t, so that the answer is a ratio of two lines (Castillo et al. 1997; Chan and Darwiche
2002), known from one look at the posteriors of the families.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.schema import Label
from lacunary.errors import SchemaError
from lacunary.infer.findings import Given
from lacunary.maths.arrays import Array

if TYPE_CHECKING:
    from lacunary.infer.network import Network

__all__ = ["ParameterEffect", "ParameterEffects", "parameter_sensitivity"]

SHOWN = 12


@dataclass(frozen=True)
class ParameterEffect:
    """How an answer depends on one probability of a network.

    Attributes
    ----------
    variable, state, parents
        The parameter: p(variable = state | parents).
    value
        What it is.
    answer
        What the answer is.
    derivative
        How fast the answer changes with it, the other states keeping their proportions.
    lines
        Slopes of p(answer and given) and p(given), both divided by p(given).
    """

    variable: str
    state: Label
    parents: dict[str, Label]
    value: float
    answer: float
    derivative: float
    lines: tuple[float, float]

    def at(self, value: float) -> float:
        """Return the answer if the parameter had another value."""
        step = value - self.value
        return (self.answer + self.lines[0] * step) / (1.0 + self.lines[1] * step)

    def needed(self, answer: float) -> float | None:
        """Return the value of the parameter with which the answer would be this; None if there is none."""
        slope = self.lines[0] - answer * self.lines[1]
        if slope == 0:
            return None
        value = self.value + (answer - self.answer) / slope
        return value if 0.0 <= value <= 1.0 else None

    def __str__(self) -> str:
        given = ", ".join(f"{name}={state}" for name, state in self.parents.items())
        return f"p({self.variable}={self.state}{' | ' + given if given else ''})"

    __repr__ = __str__


@dataclass(frozen=True)
class ParameterEffects:
    """How an answer depends on every probability of a network, the steepest first."""

    asked: str
    answer: float
    effects: tuple[ParameterEffect, ...]

    def __iter__(self) -> Iterator[ParameterEffect]:
        return iter(self.effects)

    def __str__(self) -> str:
        shown = self.effects[:SHOWN]
        names = [str(one) for one in shown]
        width = max([9, *map(len, names)])
        lines = [f"{self.asked} = {self.answer:.4f}"]
        lines += [f"  {'parameter':<{width}}   value  derivative"]
        lines += [
            f"  {name:<{width}}  {one.value:6.4f}  {one.derivative:+10.4f}"
            for name, one in zip(names, shown, strict=True)
        ]
        rest = len(self.effects) - len(shown)
        return "\n".join([*lines, f"  … and {rest} less steep"] if rest else lines)

    __repr__ = __str__


@budgeted
def parameter_sensitivity(
    network: Network, target: str, state: Label, given: Given | None = None
) -> ParameterEffects:
    """Return how p(target = state | given) depends on every probability of a network, the steepest first.

    When one probability moves, the others of its distribution keep their proportions. Those that are 0 or 1
    are left out. The network must be discrete, without tied families.

    >>> import lacunary as lac
    >>> lac.parameter_sensitivity(lac.asia(), "lung", "yes", {"xray": "yes"}).effects[0]
    p(xray=yes | either=no)
    """
    dag = network.dag
    if dag.continuous or dag.tied or dag.implied:
        raise SchemaError(
            "parameters are moved one by one in discrete networks, with a table for each family"
        )
    answer = network.query(target, given=given)[state]
    with_it = {**(given or {}), target: state}
    found: list[ParameterEffect] = []
    for name in dag.names:
        seen = network.query(*dag.parents_of(name), name, given=given).probabilities
        both = (
            network.query(*dag.parents_of(name), name, given=with_it).probabilities
            if answer > 0
            else np.zeros_like(seen)
        )
        table = network.table(name)
        lines = (answer * _slope(both, table), _slope(seen, table))
        for at in np.argwhere((table > 0) & (table < 1)):
            found.append(_effect(network, name, tuple(at), answer, lines))
    found.sort(key=lambda one: -abs(one.derivative))
    known = ", ".join(f"{name}={finding}" for name, finding in (given or {}).items())
    return ParameterEffects(f"p({target}={state}{' | ' + known if known else ''})", answer, tuple(found))


def _slope(posterior: Array, table: Array) -> Array:
    """Return the slope of the evidence's line in each parameter, relative to the evidence."""
    inside = (table > 0) & (table < 1)
    own = np.divide(posterior, table, out=np.zeros_like(table), where=inside)
    rest = posterior.sum(axis=-1, keepdims=True) - posterior
    return np.asarray(own - np.divide(rest, 1.0 - table, out=np.zeros_like(table), where=inside))


def _effect(
    network: Network, name: str, at: tuple[int, ...], answer: float, lines: tuple[Array, Array]
) -> ParameterEffect:
    schema, parents = network.dag.schema, network.dag.parents_of(name)
    above, below = float(lines[0][at]), float(lines[1][at])
    states = {parent: schema[parent].states[k] for parent, k in zip(parents, at, strict=False)}
    return ParameterEffect(
        name,
        schema[name].states[at[-1]],
        states,
        float(network.table(name)[at]),
        answer,
        above - answer * below,
        (above, below),
    )
