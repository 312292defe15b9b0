"""Gaussian rows with holes of which each belongs to one configuration, where configurations are many.

`lacunary.infer.gaussian` goes through configurations one by one, and within each through the patterns of
holes. That pays where each such block has many rows. Where a table's discrete holes are spread out there may
be more blocks than rows in any of them; then rows fetch the numbers of their own configuration, and all rows
of a pattern are worked on together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.gaussian import Forms, GaussianRows
from lacunary.infer.given import given_of
from lacunary.kernels.panels import LARGE

__all__ = ["ScatteredRows"]

Array = NDArray[np.float64]

AT_ONCE = 2**18
"""Numbers that rows fetch at once, about: more would leave the cache before they are used."""


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows with the same holes, sorted by configuration.

    Attributes
    ----------
    rows
        Their places in the table; (k,).
    z
        (1, x), zero where there is a hole; (k, n + 1).
    holes
        Columns of z.
    configurations, starts, which
        Those that occur, the first row of each, and the one of each row, counted among those that occur.
    """

    rows: NDArray[np.int64]
    z: Array
    holes: NDArray[np.int64]
    configurations: NDArray[np.int64]
    starts: NDArray[np.int64]
    which: NDArray[np.int64]


class ScatteredRows:
    """Rows of real numbers with holes, and the configuration that each belongs to.

    Parameters
    ----------
    known
        The rows, sorted by their pattern of holes.
    which
        The configuration of each; (rows,).
    """

    def __init__(self, known: GaussianRows, which: NDArray[np.int64]) -> None:
        self.count, self.width = known.sorted.shape
        self.parts = [part for p in known.patterns for part in self._parts(known, which, p.first, p.last)]

    def _parts(self, known: GaussianRows, which: NDArray[np.int64], first: int, last: int) -> Iterator[_Part]:
        """Yield the rows of a pattern, so many at once."""
        mine = which[known.order[first:last]]
        order = np.argsort(mine, kind="stable")
        step = max(1, AT_ONCE // self.width**2)
        holes = next(p.holes for p in known.patterns if p.first == first)
        for begin in range(0, len(order), step):
            some = order[begin : begin + step]
            present, starts, inverse = np.unique(mine[some], return_index=True, return_inverse=True)
            yield _Part(
                known.order[first + some], known.sorted[first + some], holes, present, starts, inverse
            )

    def log_evidence(self, forms: Forms) -> Array:
        """Return the log-density of each row's observed cells under its own configuration; (rows,)."""
        out = np.empty(self.count)
        forms = forms.reduced()
        for part in self.parts:
            root, constant = forms.root[part.configurations], forms.constant[part.configurations]
            z, _, log = _filled(part, root)
            with np.errstate(over="ignore", invalid="ignore"):
                residual = np.einsum("rkn,rn->rk", root[part.which], z)
                squared = np.einsum("rk,rk->r", residual, residual)
            out[part.rows] = (constant + log)[part.which] - 0.5 * np.fmin(squared, LARGE)
        return out

    def moments(self, forms: Forms, weights: Array) -> Array:
        """Return Σ over rows of weight · E[z zᵀ | observed cells] by configuration, given (rows,) weights."""
        forms = forms.reduced()
        out = np.zeros((len(forms.root), self.width, self.width))
        for part in self.parts:
            z, spread, _ = _filled(part, forms.root[part.configurations])
            weight = weights[part.rows]
            squares = (z * weight[:, None])[:, :, None] * z[:, None, :]
            total = np.add.reduceat(squares, part.starts)
            if len(part.holes):
                mass = np.add.reduceat(weight, part.starts)[:, None, None]
                where = part.holes[:, None], part.holes
                total[:, *where] += mass * (spread @ np.swapaxes(spread, -1, -2))
            out[part.configurations] += total
        return out

    def squares(self, forms: Forms) -> Array:
        """Return E[z zᵀ | observed cells] of each row; (rows, n + 1, n + 1)."""
        forms = forms.reduced()
        out = np.empty((self.count, self.width, self.width))
        for part in self.parts:
            z, spread, _ = _filled(part, forms.root[part.configurations])
            out[part.rows] = z[:, :, None] * z[:, None, :]
            if len(part.holes):
                covariance = spread @ np.swapaxes(spread, -1, -2)
                out[part.rows[:, None, None], part.holes[:, None], part.holes] += covariance[part.which]
        return out


def _filled(part: _Part, root: Array) -> tuple[Array, Array, Array]:
    """Return z with holes at their means, the roots of their covariances, and what they add to log f."""
    slope, spread, log = given_of(root, part.holes)
    if not len(part.holes):
        return part.z, spread, log
    z = part.z.copy()
    z[:, part.holes] = np.einsum("rhn,rn->rh", slope[part.which], part.z)
    return z, spread, log
