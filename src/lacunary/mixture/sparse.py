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
from lacunary.kernels.alone import expect_alone, put_sums, room_for
from lacunary.kernels.lanes import LANES
from lacunary.kernels.panels import PANEL
from lacunary.kernels.regressions import ROWS, Families, add_pairs, log_densities

__all__ = ["SparseRows", "is_sparse"]

Array = NDArray[np.float64]

FULL, FEW = 0.25, 8
"""Families are gone through one by one where their members are at most this part of the cells of A, or so
many times as many as variables: what is done for all cells together takes longer where there are few."""

RUN, RUNS = 4096, 16
"""Rows that one thread takes at a time, at least, and the most runs."""


SECONDS, BESIDE = 1e-10, 20
"""What it takes to go over a number that is not zero, and to add it up; and what to share a row out takes
beside them."""


def is_sparse(families: Families, networks: int, variables: int) -> bool:
    """Whether families are better gone through one by one than all cells of A together."""
    return len(families.members) <= networks * variables * max(FULL * variables, FEW)


class SparseRows:
    """Rows z = (1, x) without holes; (rows, n + 1)."""

    def __init__(self, normal: GaussianRows) -> None:
        self._normal, self._z = normal, normal.sorted
        self._reach = max(1.0, float(np.abs(self._z).max(initial=1.0))) ** 2
        rows = len(self._z)
        step = -(-max(RUN, -(-rows // RUNS)) // PANEL) * PANEL
        self._runs = [(begin, min(begin + step, rows)) for begin in range(0, rows, step)]

    @cached_property
    def _cells(self) -> Array:
        """Columns one after the other; (n + 1, rows)."""
        return laid(self._z.T)

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

    def expected(self, forms: Forms, log_weights: Array, weights: Array) -> tuple[Array, Array, Array]:
        """Return shares, (rows, components), log-densities, (rows,), and moments of components without arcs.

        ``weights`` say how often each row counts; (rows,).
        """
        (rows, width), many, cells = self._z.shape, len(log_weights), self._normal.panels
        every, size = np.arange(width), many * width * 2 * LANES
        pairs = np.stack([forms.root[:, :, 0], forms.root[:, every[:-1], every[1:]]], axis=-1).ravel()
        added = np.asarray(forms.constant + log_weights)
        shares, told = np.empty((many, rows)), np.empty(rows)
        parts = aligned(len(self._runs) * size, told.dtype).reshape(-1, size)
        parts[:] = 0.0

        def some(runs: range) -> None:
            room = room_for(many)
            for run in runs:
                begin, end = self._runs[run]
                expect_alone(cells, width, weights, pairs, added, begin, end, room, shares, told, parts[run])

        in_runs(some, len(self._runs), seconds=rows * many * (width + BESIDE) * SECONDS)
        out = np.zeros((many, width, width))
        put_sums(parts, out)
        return shares.T, told, out

    def moments(self, weights: Array, families: Families) -> Array:
        """Return Σ weight · z zᵀ where both columns are of one family, zeros elsewhere.

        ``weights`` is (rows, components), the matrices are (components, n + 1, n + 1).
        """
        own, places = np.ascontiguousarray(weights.T), len(self._cells)
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
