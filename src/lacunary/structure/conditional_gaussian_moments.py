"""Moments of continuous variables for each configuration of some discrete ones (TMCH98 appendix).

They are sums over the configurations of all discrete variables that a family does not tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table, unique_rows
from lacunary.infer.squares import Squares
from lacunary.maths.arrays import Array, Integers
from lacunary.structure.gaussian import Standard
from lacunary.structure.score import Parents

__all__ = ["Cases", "Statistics", "Triples"]


LARGEST = 2**23
"""Numbers in the matrices of one family beyond which it is too large to be scored: 64 MiB."""


class Statistics(Protocol):
    """Moments of the continuous variables, for each configuration of discrete ones."""

    @property
    def size(self) -> int:
        """How many continuous variables there are: n."""
        ...

    def moments(self, discrete: Parents) -> Array | None:
        """Return the moments for each configuration of these variables that has rows; (q, n + 1, n + 1).

        None where they are too many. Discrete variables are counted among themselves.
        """
        ...


class Cases:
    """Moments read off the rows of a table.

    Rows of one configuration are brought side by side, so that each matrix is one product.
    """

    def __init__(self, standard: Standard, counted: Table) -> None:
        rows = np.flatnonzero(standard.weights > 0)
        self._all = standard.moments()
        self._rows = standard.rows(rows)
        self._codes = np.asfortranarray(counted.codes[rows])
        self._sizes = counted.schema.sizes

    @property
    def size(self) -> int:
        """How many continuous variables there are."""
        return len(self._all) - 1

    def moments(self, discrete: Parents) -> Array | None:
        """Return the moments for each configuration that has rows."""
        if not discrete:
            return self._all[None]
        many, which = _told_apart(self._codes, self._sizes, discrete)
        if many * (self.size + 1) ** 2 > LARGEST:
            return None
        short = which.astype(np.uint16) if many < 2**16 else which  # short numbers are sorted by their digits
        rows = self._rows[np.argsort(short, kind="stable")]
        ends = np.cumsum(np.bincount(which, minlength=many))
        out = np.empty((many, self.size + 1, self.size + 1))
        first = 0
        for place, end in enumerate(ends):
            group = rows[first:end]
            np.matmul(group.T, group, out=out[place])
            first = end
        return out


class Triples:
    """Moments given for some configurations of all discrete variables, observed or expected (TMCH98 eq. 14).

    Parameters
    ----------
    counted
        The configurations as rows.
    squares
        Σ w z zᵀ of z = (1, continuous variables) in each: N, R and S of TMCH98.
    """

    def __init__(self, counted: Table, squares: Squares) -> None:
        rows = np.flatnonzero(counted.weights > 0)
        self._codes, self._sizes = np.asfortranarray(counted.codes[rows]), counted.schema.sizes
        self._squares = squares.taken(rows)

    @property
    def size(self) -> int:
        """How many continuous variables there are."""
        return self._squares.size - 1

    def moments(self, discrete: Parents) -> Array | None:
        """Return the moments for each configuration that has rows."""
        if not discrete:
            return self._squares.sums(np.zeros(len(self._codes), dtype=np.int64), 1)
        many, which = _told_apart(self._codes, self._sizes, discrete)
        if many * (self.size + 1) ** 2 > LARGEST:
            return None
        return self._squares.sums(which, many)


def _told_apart(
    codes: NDArray[np.signedinteger], sizes: Sequence[int], discrete: Parents
) -> tuple[int, Integers]:
    """Return how many configurations of these variables the rows have, and which one each row has."""
    first, which = unique_rows(codes[:, list(discrete)], [sizes[d] for d in discrete], np.empty((0, 0)))
    return len(first), which
