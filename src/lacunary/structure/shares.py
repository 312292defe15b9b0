"""How far rows belong to each of several networks: numbers that never leave the part their rows are in.

A mixture has as many such numbers as rows times components. They are worked out where the rows are, used
there, and kept there for as long as somebody may ask; what comes back are sums over rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.data.parts import Parts
from lacunary.data.source import Source, in_tree
from lacunary.maths.arrays import Array

__all__ = ["ByRow", "Owners", "Shares", "all_of", "counted", "cut", "everything", "summed", "weights_of"]


ByRow = Parts[NDArray[Any]]
"""An array with an entry, or a line, for each row, which stands in the parts where the rows are."""


@dataclass(frozen=True, eq=False)
class Shares:
    """How far the rows of one part belong to each network.

    Attributes
    ----------
    shares
        (rows, networks).
    weights
        How often each row counts; (rows,).
    told
        What was found on the way to them, and adds over parts.
    """

    shares: Array
    weights: Array
    told: Any = None

    def of(self, c: int) -> Array:
        """Return how often each row counts for one network; (rows,)."""
        return np.ascontiguousarray(self.shares[:, c] * self.weights)

    def weighed(self, many: int) -> Array:
        """Return how often each row counts for each of the first networks; (rows, networks)."""
        mine = self.shares[:, :many]
        return mine if np.all(self.weights == 1.0) else np.asarray(mine * self.weights[:, None])


class Owners(Protocol):
    """Rows of one part, as several networks see them; ``models`` are these networks."""

    def log_evidence(self, models: Any) -> Array:
        """Return log p(observed cells | network) for each row; (rows, networks)."""
        ...

    def statistics(self, models: Any, weights: Array) -> Array:
        """Return what all networks expect of rows that count so often, which adds over rows."""
        ...

    def expected(self, models: Any, log_weights: Array, weights: Array) -> tuple[Array, Array, Array] | None:
        """Return shares, rows' log-densities, and `statistics` for both, where one pass has all of it.

        Networks have weights whose logarithms are given; ``weights`` say how often each row counts. None
        where these are better asked for one after the other.
        """
        ...


def weights_of(source: Source) -> ByRow:
    """Return how often each row counts; (rows,)."""
    return source.laid(attrgetter("weights"), keep=False)


def cut(array: NDArray[Any], like: ByRow) -> list[NDArray[Any]]:
    """Return an array of all rows, cut as parts are."""
    return np.split(array, np.cumsum(like.each(len))[:-1])


def all_of(weights: ByRow, shares: ByRow | list[NDArray[Any]]) -> Parts[Shares]:
    """Return shares with the weights of their rows."""
    return weights.then(_shares, shares)


def everything(weights: ByRow, many: int = 1) -> Parts[Shares]:
    """Return shares of one: every row belongs to each network."""
    return weights.then(partial(_everything, many))


def counted(shares: Parts[Shares]) -> Array:
    """Return Σ over rows of weight · share; (networks,)."""
    return in_tree(shares.each(_counted))


def summed(parts: Parts[Owners], models: Any, shares: Parts[Shares]) -> Array:
    """Return what networks expect of their shares of the rows, summed over all parts."""
    return in_tree(parts.each(partial(_summed, models), shares))


def _shares(weights: Array, shares: Array) -> Shares:
    return Shares(shares, weights)


def _everything(many: int, weights: Array) -> Shares:
    return Shares(np.ones((len(weights), many)), weights)


def _counted(part: Shares) -> Array:
    return np.asarray(part.weights @ part.shares)


def _summed(models: Any, rows: Owners, part: Shares) -> Array:
    return rows.statistics(models, part.weighed(len(models.structures)))
