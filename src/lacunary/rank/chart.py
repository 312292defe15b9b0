"""The free parameters of one family, and the table they make: any table, or a sigmoid (GHM96 section 8)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.maths.arrays import Array, Integers
from lacunary.maths.prime import Field, PrimeField

__all__ = ["Chart", "LogOddsChart", "TableChart"]


class Chart(Protocol):
    """How parameters make a table θ of r states and q parent configurations, (r, q).

    ``degree`` and ``log_height`` bound θ as a polynomial, once denominators are cleared: its degree, and
    log₂ of the sum of its coefficients' sizes.
    """

    @property
    def size(self) -> int:
        """Number of free parameters."""
        ...

    @property
    def degree(self) -> int:
        """Degree in the parameters."""
        ...

    @property
    def log_height(self) -> float:
        """Log₂ of the sum of the coefficients' sizes."""
        ...

    def draw(self, field: PrimeField, rng: np.random.Generator) -> Integers:
        """Return the table at random parameters; (r, q)."""
        ...

    def pull(self, field: Field, table: NDArray[Any], slope: NDArray[Any]) -> NDArray[Any]:
        """Turn derivatives by the entries of the table into derivatives by parameters.

        ``slope`` is (r, q, rows); the result is (size, rows), up to nonzero factors of a parameter each.
        """
        ...


@dataclass(frozen=True)
class TableChart:
    """Every distribution free: its last entry is one minus the others."""

    states: int
    configurations: int

    @property
    def size(self) -> int:
        """(r − 1) · q."""
        return (self.states - 1) * self.configurations

    @property
    def degree(self) -> int:
        """One: entries are parameters, or one minus a sum of them."""
        return 1

    @property
    def log_height(self) -> float:
        """1 − θ₁ − … has r terms."""
        return math.log2(self.states)

    def draw(self, field: PrimeField, rng: np.random.Generator) -> Integers:
        """Return a table of random residues whose distributions sum to one."""
        free = field.draw((self.states - 1, self.configurations), rng)
        return np.concatenate([free, field.reduce(1 - free.sum(axis=0, keepdims=True))])

    def pull(self, field: Field, table: NDArray[Any], slope: NDArray[Any]) -> NDArray[Any]:
        """∂/∂θ_k minus ∂/∂θ_last."""
        return field.reduce(slope[:-1] - slope[-1:]).reshape(self.size, slope.shape[-1])


@dataclass(frozen=True, eq=False)
class LogOddsChart:
    """A binary child whose log-odds are sums of parameters, as a sigmoid's are: p(1 | j) = Sig(Σ b over X_j).

    With t = e^b the odds are products of parameters, and everything is rational in t. As
    ∂/∂b = t · ∂/∂t, the change of parameters scales columns and leaves ranks as they are.

    Attributes
    ----------
    jacobian
        Minus X, zeros and ones: which parameters enter the odds of each configuration; (q, size).
    """

    jacobian: Array

    @property
    def size(self) -> int:
        """The number of parameters."""
        return int(self.jacobian.shape[1])

    @property
    def degree(self) -> int:
        """Each configuration's denominator, 1 + odds, is cleared twice: for the table and its slope."""
        return 2 * int(self.design.sum(axis=0).max()) * len(self.jacobian)

    @property
    def log_height(self) -> float:
        """1 + odds has two terms, so clearing a denominator doubles the sum at most."""
        return 2.0 * len(self.jacobian)

    @property
    def design(self) -> Integers:
        """Which parameters enter the odds of each parent configuration; (size, q), zeros and ones."""
        return -self.jacobian.T.astype(np.int64)

    def draw(self, field: PrimeField, rng: np.random.Generator) -> Integers:
        """Return the table at random t; drawn again where some 1 + odds is zero."""
        while True:
            powers = np.where(self.design == 1, rng.integers(1, field.order, size=(self.size, 1)), 1)
            odds = powers[0]
            for power in powers[1:]:
                odds = field.reduce(odds * power)
            total = field.reduce(1 + odds)
            if total.all():
                zero = field.inverse(total)
                return np.stack([zero, field.reduce(odds * zero)])

    def pull(self, field: Field, table: NDArray[Any], slope: NDArray[Any]) -> NDArray[Any]:
        """dθ₁/db = θ₀ θ₁ x, and θ₀ = 1 − θ₁."""
        spread = field.reduce(table[0] * table[1])[:, None]
        local = field.reduce(field.reduce(slope[1] - slope[0]) * spread)
        return field.reduce(self.design @ local)
