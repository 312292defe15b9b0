"""Rows without holes under Gaussian components of few arcs, family by family.

A component with few arcs has few numbers in A that are not zero, and its own families need few of the
products of two columns: columns stand side by side, and only those that are asked for are multiplied.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.gaussian import NEGLIGIBLE, Forms, GaussianRows
from lacunary.infer.parallel import in_runs
from lacunary.kernels.aligned import aligned
from lacunary.kernels.lanes import LANES
from lacunary.kernels.panels import BATCH, PANEL
from lacunary.kernels.regressions import ROWS, Families, add_pairs, add_squares, log_densities

__all__ = ["SparseRows", "is_sparse"]

Array = NDArray[np.float64]

FULL, FEW = 0.25, 8
"""Families are gone through one by one where their members are at most this part of the cells of A, or so
many times as many as variables: what is done for all cells together takes longer where there are few."""

RUN, RUNS = 4096, 16
"""Rows that one thread takes at a time, at least, and the most runs."""


SECONDS = 5e-11
"""What it takes to go over a number that is not zero, or to add one up."""


def is_sparse(families: Families, networks: int, variables: int) -> bool:
    """Whether families are better gone through one by one than all cells of A together."""
    return len(families.members) <= networks * variables * max(FULL * variables, FEW)


class SparseRows:
    """Rows z = (1, x) without holes; (rows, n + 1)."""

    def __init__(self, normal: GaussianRows) -> None:
        self._normal, self._z = normal, normal.sorted
        self._reach = max(1.0, float(np.abs(self._z).max(initial=1.0))) ** 2
        rows = len(self._z)
        step = max(RUN, -(-rows // RUNS))
        self._runs = [(begin, min(begin + step, rows)) for begin in range(0, rows, step)]

    @cached_property
    def _cells(self) -> Array:
        """Columns one after the other; (n + 1, rows)."""
        return laid(self._z.T)

    @cached_property
    def _wide(self) -> Array:
        """Rows filled up with zeros to whole vectors; (rows, a multiple of `LANES`)."""
        rows, width = self._z.shape
        return laid(np.pad(self._z, ((0, 0), (0, -width % LANES))))

    def log_densities(self, forms: Forms, families: Families) -> Array:
        """Return g − ½‖Az‖²; (rows, components)."""
        rows, cells = len(self._z), self._normal.panels
        out = np.empty((len(forms.root), rows))

        def some(run: range) -> None:
            room, shares = aligned(PANEL, out.dtype), np.empty(len(families.members))
            log_densities(
                cells, rows, families, forms.root, forms.constant, run.start, run.stop, room, shares, out
            )

        in_runs(some, -(-rows // PANEL), seconds=rows * len(families.members) * SECONDS)
        return out.T

    def moments(self, weights: Array, families: Families) -> Array:
        """Return Σ weight · z zᵀ where both columns are of one family, zeros elsewhere.

        ``weights`` is (rows, components), the matrices are (components, n + 1, n + 1).
        """
        own = np.ascontiguousarray(weights.T)
        alone = len(families.members) == 2 * len(families.network)
        return self._squares(own) if alone else self._pairs(own, families)

    def _squares(self, own: Array) -> Array:
        """Return the moments of components without arcs."""
        rows, places = self._z.shape
        wide, groups = self._wide, -(-len(own) // LANES)
        blocks = wide.shape[1] // LANES
        parts = [laid(np.zeros(groups * blocks * 2 * LANES**2)) for _ in self._runs]

        def some(runs: range) -> None:
            room = aligned(LANES * BATCH, wide.dtype)
            for run in runs:
                add_squares(wide.ravel(), wide.shape[1], own, *self._runs[run], room, parts[run])

        in_runs(some, len(self._runs), seconds=rows * groups * blocks * LANES**2 * SECONDS)
        sums = sum(parts[1:], start=parts[0]).reshape(groups, blocks, 2, LANES, LANES)
        sums = np.moveaxis(sums, 2, 0).swapaxes(2, 3).reshape(2, groups * LANES, -1)[:, : len(own), :places]
        out, every = np.zeros((len(own), places, places)), np.arange(places)
        out[:, every, every], out[:, 0, 1:], out[:, 1:, 0] = sums[1], sums[0, :, 1:], sums[0, :, 1:]
        return out

    def _pairs(self, own: Array, families: Families) -> Array:
        places = len(self._cells)
        parts = np.zeros((len(self._runs), len(own), places, places))
        least = NEGLIGIBLE / self._reach * own.max(axis=1, initial=0.0)

        def some(runs: range) -> None:
            kept = np.empty(ROWS, dtype=np.int64)
            room = aligned(places * ROWS, np.dtype(np.float64)).reshape(places, ROWS)
            for run in runs:
                begin, end = self._runs[run]
                met = np.zeros((places, places), dtype=np.int64)
                add_pairs(self._cells, families, own, least, begin, end, met, kept, room, parts[run])

        in_runs(some, len(self._runs))
        return np.asarray(parts[0] if len(parts) == 1 else parts.sum(axis=0))


def laid(array: Array) -> Array:
    """Return a copy that begins on the border of a cache line."""
    out = aligned(array.size, array.dtype).reshape(array.shape)
    out[:] = array
    return out
