"""Scale distributions to sum to one: the M-step of every network of tables."""

from __future__ import annotations

from typing import Any

from lacunary.kernels.compile import bare

__all__ = ["normalize"]


@bare
def normalize(points: Any, tables: Any, total: Any, out: Any) -> bool:
    """Divide each number by the sum of its distribution; False if one is not positive: nothing is promised.

    ``points`` and ``out`` are (vectors, size). ``tables`` has for each table where it starts, its states r
    and its configurations q: state k under configuration j is k·q + j further; (tables, 3). ``total`` has
    room for the largest q.
    """
    for row in range(points.shape[0]):
        for t in range(tables.shape[0]):
            start, states, q = tables[t, 0], tables[t, 1], tables[t, 2]
            for j in range(q):
                total[j] = 0.0
            for k in range(states):
                for j in range(q):
                    total[j] += points[row, start + k * q + j]
            for j in range(q):
                if not total[j] > 0.0:
                    return False
            for k in range(states):
                for j in range(q):
                    out[row, start + k * q + j] = points[row, start + k * q + j] / total[j]
    return True
