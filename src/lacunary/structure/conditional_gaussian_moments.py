"""Moments of continuous variables for each configuration of some discrete ones (TMCH98 appendix).

They are sums over the configurations of all discrete variables that a family does not tell apart.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table, unique_rows
from lacunary.structure.gaussian import Standard
from lacunary.structure.score import Parents

__all__ = ["Cases", "Statistics", "Triples"]

Array = NDArray[np.float64]

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
    """Moments read off the rows of a table."""

    def __init__(self, standard: Standard, counted: Table) -> None:
        self._standard, self._counted = standard, counted

    @property
    def size(self) -> int:
        """How many continuous variables there are."""
        return len(self._standard.columns)

    def moments(self, discrete: Parents) -> Array | None:
        """Return the moments for each configuration that has rows."""
        if not discrete:
            return self._standard.moments()[None]
        rows = np.flatnonzero(self._standard.weights > 0)
        many, which = _told_apart(self._counted, rows, discrete)
        if many * (self.size + 1) ** 2 > LARGEST:
            return None
        order = np.argsort(which, kind="stable")
        groups = np.split(rows[order], np.cumsum(np.bincount(which, minlength=many))[:-1])
        return np.stack([self._standard.moments(group) for group in groups])


class Triples:
    """Moments given for some configurations of all discrete variables, observed or expected (TMCH98 eq. 14).

    Parameters
    ----------
    counted
        The configurations as rows.
    moment
        Σ w z zᵀ of z = (1, continuous variables) in each: N, R and S of TMCH98; (k, n + 1, n + 1).
    """

    def __init__(self, counted: Table, moment: Array) -> None:
        self._counted, self._moment = counted, moment

    @property
    def size(self) -> int:
        """How many continuous variables there are."""
        return int(self._moment.shape[-1]) - 1

    def moments(self, discrete: Parents) -> Array | None:
        """Return the moments for each configuration that has rows."""
        if not discrete:
            return np.asarray(self._moment.sum(axis=0, keepdims=True))
        rows = np.flatnonzero(self._counted.weights > 0)
        many, which = _told_apart(self._counted, rows, discrete)
        if many * (self.size + 1) ** 2 > LARGEST:
            return None
        out = np.zeros((many, *self._moment.shape[1:]))
        np.add.at(out, which, self._moment[rows])
        return out


def _told_apart(counted: Table, rows: NDArray[np.int64], discrete: Parents) -> tuple[int, NDArray[np.int64]]:
    """Return how many configurations of these variables some rows have, and which one each row has."""
    sizes = [counted.schema.sizes[d] for d in discrete]
    first, which = unique_rows(counted.codes[np.ix_(rows, np.array(discrete))], sizes, counted.reals)
    return len(first), which
