"""Scale distributions to sum to one: the M-step of every network of tables."""

from __future__ import annotations

from typing import Any

from lacunary.kernels.compile import bare

__all__ = ["normalize"]


@bare
def normalize(points: Any, group: Any, total: Any, out: Any) -> bool:
    """Divide each number by the sum of its group; False if a sum is not positive, and nothing is promised.

    ``points`` and ``out`` are (vectors, size); ``group`` says to which distribution each place belongs, and
    ``total`` has room for their sums.
    """
    for row in range(points.shape[0]):
        for g in range(total.size):
            total[g] = 0.0
        for i in range(group.size):
            total[group[i]] += points[row, i]
        for g in range(total.size):
            if not total[g] > 0.0:
                return False
        for i in range(group.size):
            out[row, i] = points[row, i] / total[group[i]]
    return True
