"""Scale distributions to sum to one: the M-step of every network of tables."""

from __future__ import annotations

from typing import Any

from lacunary.kernels.compile import bare
from lacunary.kernels.lanes import U

__all__ = ["normalize"]


@bare
def normalize(points: Any, tables: Any, total: Any, out: Any) -> bool:
    """Divide each number by the sum of its distribution; False if one is not positive: nothing is promised.

    ``points`` and ``out`` are (vectors, size). ``tables`` has for each table where it starts, its states r
    and its configurations q: state k under configuration j is k·q + j further; (tables, 3). ``total`` has
    room for the largest q.
    """
    for b in range(points.shape[0]):
        own, new = points[b], out[b]
        for t in range(tables.shape[0]):
            start, states, q = tables[t, 0], tables[t, 1], tables[t, 2]
            for j in range(q):
                total[U(j)] = own[U(start + j)]
            for k in range(1, states):  # ``total`` has the states before k
                state = own[start + k * q : start + (k + 1) * q]
                for j in range(q):
                    total[U(j)] += state[U(j)]
            positive = True
            for j in range(q):
                positive &= total[U(j)] > 0.0
            if not positive:
                return False
            for k in range(states):
                state, share = (
                    own[start + k * q : start + (k + 1) * q],
                    new[start + k * q : start + (k + 1) * q],
                )
                for j in range(q):
                    share[U(j)] = state[U(j)] / total[U(j)]
    return True
