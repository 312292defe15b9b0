"""The default family of a discrete variable: a table of probabilities, free in every configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lacunary.data.schema import Kind
from lacunary.errors import ParameterError
from lacunary.family.protocol import Family
from lacunary.family.sigmoid import Sigmoid
from lacunary.maths.arrays import Array

__all__ = ["SUM_TOLERANCE", "TableFamily", "flat", "read_table"]

SUM_TOLERANCE = 1e-6
"""Printed probabilities are rounded: a distribution may miss one by this much and is then scaled."""

ROUNDING = 1e-13
"""What double arithmetic may leave of a sum of one; scaling would only disturb the last bits."""


@dataclass(frozen=True)
class TableFamily(Family):
    """Probabilities of the states in every configuration of the parents, with a Dirichlet each.

    Their numbers are worked out by `lacunary.model.layout.Layout`, all tables at once.
    """

    name: ClassVar[str] = "table"
    phrase: ClassVar[str] = "a table"
    kind: ClassVar[Kind] = "discrete"

    @property
    def free(self) -> int:
        """All states but the last, in every configuration."""
        return (self.variable.size - 1) * self.configurations

    def read(self, given: Any, renormalize: bool = False) -> Array:
        """Return a table, or that of a `Sigmoid`, verified, as its places in a vector."""
        if isinstance(given, Sigmoid):
            if self.variable.size != 2:
                raise ParameterError(f"{self.variable.name} is not binary: it cannot have a sigmoid family")
            return flat(given.table(self.sizes))
        return flat(read_table(self, given, renormalize))

    def shown(self, places: Array) -> Array:
        """Return the table, parents first and the variable last."""
        return np.moveaxis(places.reshape(self.variable.size, *self.sizes), 0, -1)


def flat(table: Array) -> Array:
    """Return a table, parents first and the variable last, as its places in a vector."""
    return np.moveaxis(table, -1, 0).reshape(-1)


def read_table(family: Family, given: Any, renormalize: bool = False) -> Array:
    """Return one table with its shape, range and sums verified, scaled to sum to one."""
    name = family.variable.name
    if hasattr(given, "records"):
        raise ParameterError(f"{name} is discrete: it needs a table, not a regression")
    table, shape = np.asarray(given, dtype=np.float64), (*family.sizes, family.variable.size)
    if table.shape != shape:
        raise ParameterError(f"the table of {name} must have shape {shape}, not {table.shape}")
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        raise ParameterError(f"the table of {name} holds a value that is not a probability")
    sums = table.sum(axis=-1, keepdims=True)
    miss = np.abs(sums - 1.0)
    if sums.min() <= 0:
        raise ParameterError(f"a distribution in the table of {name} holds only zeros")
    if miss.max() > SUM_TOLERANCE and not renormalize:
        worst = np.unravel_index(int(miss.argmax()), miss.shape)[:-1]
        parents = ", ".join(f"{p.name}={p.states[w]!r}" for p, w in zip(family.parents, worst, strict=True))
        raise ParameterError(
            f"p({name}{' | ' + parents if parents else ''}) sums to {sums[worst].item():.9g}, "
            f"which misses one by {miss.max():.3g}; pass renormalize=True to scale it"
        )
    return np.where(miss > ROUNDING, table / sums, table)
