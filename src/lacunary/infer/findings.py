"""What is given in a question: states, sets of states, likelihoods of states, and values of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lacunary.data.schema import Label, Schema, Variable
from lacunary.errors import StateError
from lacunary.maths.arrays import Array

__all__ = ["Finding", "Findings", "Given"]

Finding = Label | Set[Label] | list[Label] | Mapping[Any, float] | Array
"""A state or value; or several states, one of which it is; or a likelihood of each state (soft evidence)."""

Given = Mapping[str, Any]
"""Findings by the names of their variables."""

PLAIN = frozenset((str, int, bool))
"""Types of findings that can only be states; all others are looked at more closely."""

FARTHEST = 1e150
"""The largest value that may be given: the square of a larger one has no place among doubles, and where that
is missed all states of a discrete variable would seem equally probable."""


@dataclass
class Findings:
    """What is known of each variable, by position: its state, a likelihood of its states, or its value."""

    states: dict[int, int] = field(default_factory=dict)
    likelihoods: dict[int, Array] = field(default_factory=dict)
    values: dict[int, float] = field(default_factory=dict)
    _in_order: dict[int, None] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema, given: Given | None) -> Findings:
        """Return what is given, checked against the variables."""
        found = cls()
        if given:
            for name, finding in given.items():
                found.add(schema, name, finding)
        return found

    def add(self, schema: Schema, name: str, finding: Any) -> None:
        """Take in what is found of one variable, in the place of what was known of it."""
        v = schema.index(name)
        variable = schema.variables[v]
        state = variable.code.get(finding) if type(finding) in PLAIN else None
        likelihood = value = None
        if state is None:
            state, likelihood, value = _read(variable, finding)
        if v in self._in_order:
            self.drop(v)
        self._in_order[v] = None
        if value is not None:
            self.values[v] = value
        elif likelihood is not None:
            self.likelihoods[v] = likelihood
        elif state is not None:
            self.states[v] = state

    def take(self, other: Findings) -> None:
        """Take in all that others found, in the place of what was known of their variables."""
        for v in other._in_order:
            self.drop(v)
        self.states |= other.states
        self.likelihoods |= other.likelihoods
        self.values |= other.values
        self._in_order |= other._in_order

    @property
    def known(self) -> list[int]:
        """The variables of which something is known, in the order in which it was given."""
        return list(self._in_order)

    def kind(self, v: int) -> int:
        """Return what is known of a variable: 0 nothing, 1 its state, 2 likelihoods, 3 its value."""
        return 1 if v in self.states else 2 if v in self.likelihoods else 3 if v in self.values else 0

    def drop(self, v: int) -> None:
        """Forget what is known of one variable."""
        for known in (self.states, self.likelihoods, self.values, self._in_order):
            known.pop(v, None)

    def shown(self, schema: Schema) -> dict[str, Any]:
        """Return them by name, in the order given: states, values, and likelihoods by state."""
        out: dict[str, Any] = {}
        for v in self._in_order:
            variable = schema.variables[v]
            if v in self.states:
                out[variable.name] = variable.states[self.states[v]]
            elif v in self.values:
                out[variable.name] = self.values[v]
            elif v in self.likelihoods:
                out[variable.name] = dict(zip(variable.states, self.likelihoods[v].tolist(), strict=True))
        return out


def _read(variable: Variable, finding: Any) -> tuple[int | None, Array | None, float | None]:
    """Return the state, the likelihood of the states, or the value that a finding says."""
    if not variable.discrete:
        return None, None, _number(variable.name, finding)
    if isinstance(finding, Mapping):
        likelihood = np.zeros(variable.size)
        for state, one in finding.items():
            likelihood[variable.encode(state)] = _float(one)
        return None, _checked(variable, likelihood), None
    if isinstance(finding, Set | list):
        likelihood = np.zeros(variable.size)
        for state in finding:
            likelihood[variable.encode(state)] = 1.0
        return None, _checked(variable, likelihood), None
    if isinstance(finding, np.ndarray) and finding.ndim:
        if finding.shape != (variable.size,):
            raise StateError(
                f"{variable.name} has {variable.size} states; a likelihood needs as many numbers, not "
                f"{finding.shape}"
            )
        return None, _checked(variable, finding.astype(np.float64)), None
    return variable.encode(finding), None, None


def _checked(variable: Variable, likelihood: Array) -> Array:
    """Return a likelihood whose largest number is one."""
    if not (np.isfinite(likelihood).all() and (likelihood >= 0).all() and likelihood.any()):
        raise StateError(
            f"the likelihood of {variable.name}'s states must be finite numbers, none below zero and one "
            "above it at least; a set of states must name one"
        )
    return np.asarray(likelihood / likelihood.max())


def _number(name: str, value: Any) -> float:
    """Return the value given for a continuous variable."""
    number = _float(value)
    if not np.isfinite(number):
        shown = number if isinstance(value, int) else repr(value)  # Python writes no endless whole number
        raise StateError(f"{name} is continuous: what is given must be a finite number, not {shown}")
    if abs(number) > FARTHEST:
        raise StateError(f"{name}: {number} lies beyond ±{FARTHEST:g}, where squares exceed all numbers")
    return number


def _float(value: Any) -> float:
    """Return a number; NaN for what is none, and infinity for what is larger than all."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")
    except (TypeError, ValueError):
        return float("nan")
