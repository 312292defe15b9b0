"""Average effects: how much an outcome changes, on average, when something is set to one value or another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.schema import Label, Schema
from lacunary.errors import ParameterError
from lacunary.infer.answers import Answers
from lacunary.infer.belief import Belief
from lacunary.infer.ensemble import Ensemble
from lacunary.infer.findings import Given
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array

__all__ = ["Effect", "average_effect"]

Value = Label | float


@dataclass(frozen=True, eq=False)
class Effect:
    """The change of an outcome when a treatment is set to ``high`` instead of ``low``.

    Attributes
    ----------
    treatment, low, high
        What is set, and to what.
    outcome, state
        What changes: the probability of this state, or the mean of a continuous variable (state None).
    estimate
        The average over graphs and parameters, weighed by how probable they are.
    draws
        The effect under each drawn graph and its parameters; empty for a network, whose parameters are known.
    level
        How much of the draws the interval holds.
    """

    treatment: str
    low: Value
    high: Value
    outcome: str
    state: Label | None
    estimate: float
    draws: Array
    level: float

    @property
    def interval(self) -> tuple[float, float] | None:
        """The central interval that holds ``level`` of the draws; None if there are none."""
        if not len(self.draws):
            return None
        low, high = np.quantile(self.draws, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)

    @property
    def none(self) -> float | None:
        """How probable it is that there is no effect at all: the share of draws with no path of arcs."""
        return float(np.mean(self.draws == 0)) if len(self.draws) else None

    def __str__(self) -> str:
        what = f"P({self.outcome} = {self.state})" if self.state is not None else f"mean of {self.outcome}"
        way = f"when {self.treatment} is set to {self.high}, not {self.low}"
        text = f"{what} changes by {self.estimate:+.4g} {way}"
        if self.interval is None:
            return f"{text}\n  parameters are taken as known: no interval"
        low, high = self.interval
        return (
            f"{text}\n  {100 * self.level:g} % interval {low:+.4g} to {high:+.4g}, "
            f"no effect at all with probability {self.none:.2f}"
        )

    __repr__ = __str__


@budgeted
def average_effect(
    model: Answers | Ensemble,
    treatment: str,
    outcome: str,
    *,
    low: Value | None = None,
    high: Value | None = None,
    state: Label | None = None,
    given: Given | None = None,
    draws: int = 400,
    level: float = 0.95,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator = 0,
) -> Effect:
    """Return how much an outcome changes when a treatment is set to ``high`` instead of ``low``.

    Parameters
    ----------
    model
        A network answers with a number; a belief also with an interval, for its parameters; the networks of
        `average_graphs` with one for graphs and parameters both.
    treatment, low, high
        What is set, and to what; of a variable with two states from the first to the second by default.
    outcome, state
        The change is that of the probability of this state (of two, the second by default), or of the mean
        of a continuous variable.
    given
        What is seen of others, as of `Network.query`.
    draws, level, rng
        How many parameters (and graphs) are drawn for the interval, and how much of them it holds.
    watch
        Called with how many draws are done and how many there are.

    Examples
    --------
    >>> import lacunary as lac
    >>> average_effect(lac.asia(), "smoke", "lung", low="no", high="yes", state="yes")
    P(lung = yes) changes by +0.09 when smoke is set to yes, not no
      parameters are taken as known: no interval
    """
    schema = model.schema if isinstance(model, Ensemble) else model.dag.schema
    at = _values(schema, treatment, low, high)
    chosen = _state(schema, outcome, state)

    def change(one: Any) -> float:
        told = [one.query(outcome, do={treatment: value}, given=given) for value in at]
        low_high = [float(t.mean) if chosen is None else t[chosen] for t in told]
        return low_high[1] - low_high[0]

    found = np.array([])
    if not isinstance(model, Network) and draws:
        random = np.random.default_rng(rng)
        found = np.empty(draws)
        for k in range(draws):
            if watch is not None:
                watch(k, draws)
            found[k] = change(_drawn(model, random))
    return Effect(treatment, at[0], at[1], outcome, chosen, change(model), found, level)


def _drawn(model: Answers | Ensemble, random: np.random.Generator) -> Answers:
    """Return a network drawn from what a model believes of graphs and parameters."""
    if isinstance(model, Ensemble):
        return _drawn(model.models[random.choice(len(model.models), p=model.weights)], random)
    return Network(model.dag, model.draw(random)) if isinstance(model, Belief) else model


def _values(schema: Schema, name: str, low: Value | None, high: Value | None) -> tuple[Value, Value]:
    variable = schema[name]
    if low is None and high is None and variable.size == 2:
        low, high = variable.states
    if low is None or high is None:
        raise ParameterError(f"say from which value to which {name} is set: low=…, high=…")
    return low, high


def _state(schema: Schema, name: str, state: Label | None) -> Label | None:
    variable = schema[name]
    if not variable.discrete:
        if state is not None:
            raise ParameterError(f"{name} is continuous: the effect is that on its mean; leave state out")
        return None
    if state is None and variable.size != 2:
        raise ParameterError(
            f"{name} has {variable.size} states; name the one whose probability changes: state=…"
        )
    return variable.states[1] if state is None else variable.states[variable.encode(state)]
