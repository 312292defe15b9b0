"""Rows without holes under Gaussian components of few arcs, family by family.

A component with few arcs has few numbers in A that are not zero, and its own families need few of the
products of two columns: columns stand side by side, and only those that are asked for are multiplied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.gaussian import NEGLIGIBLE, Forms
from lacunary.infer.parallel import in_runs
from lacunary.kernels.aligned import aligned
from lacunary.kernels.regressions import ROWS, Families, add_pairs, log_densities

__all__ = ["SparseRows", "is_sparse"]

Array = NDArray[np.float64]

FULL, FEW = 0.25, 8
"""Families are gone through one by one where their members are at most this part of the cells of A, or so
many times as many as variables: what is done for all cells together takes longer where there are few."""

RUN, RUNS = 4096, 16
"""Rows that one thread takes at a time, at least, and the most runs."""


def is_sparse(families: Families, networks: int, variables: int) -> bool:
    """Whether families are better gone through one by one than all cells of A together."""
    return len(families.members) <= networks * variables * max(FULL * variables, FEW)


class SparseRows:
    """Rows z = (1, x) without holes; (rows, n + 1)."""

    def __init__(self, z: Array) -> None:
        self._cells = aligned(z.size, np.dtype(np.float64)).reshape(z.shape[1], len(z))
        self._cells[:] = z.T
        self._reach = max(1.0, float(np.abs(self._cells).max(initial=1.0))) ** 2
        rows = len(z)
        step = max(RUN, -(-rows // RUNS))
        self._runs = [(begin, min(begin + step, rows)) for begin in range(0, rows, step)]

    def log_densities(self, forms: Forms, families: Families) -> Array:
        """Return g − ½‖Az‖²; (rows, components)."""
        out = np.empty((len(forms.root), self._cells.shape[1]))

        def some(runs: range) -> None:
            room = aligned(2 * ROWS, np.dtype(np.float64)).reshape(2, ROWS)
            for begin, end in self._runs[runs.start : runs.stop]:
                log_densities(self._cells, families, forms.root, forms.constant, begin, end, room, out)

        in_runs(some, len(self._runs))
        return out.T

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
