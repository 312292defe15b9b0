"""Herding: an order of rows in which those that have come in resemble all of them at any time.

After Chen, Welling & Smola (2010): what is wanted of each row grows by what it resembles all rows on average,
and shrinks by what it resembles the row that has just been taken; the most wanted row is the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.kernels.compile import kernel
from lacunary.kernels.lanes import U

__all__ = ["herd"]


@kernel
def herd(codes: Any, often: Any, usual: Any, alike: Any, wanted: Any, many: int) -> Any:
    """Return the first rows, by the number of the distinct row each is; (many,).

    Parameters
    ----------
    codes
        The distinct rows; cells below zero are open, and like no others; (variables, distinct rows).
    often
        How many rows each stands for; (distinct rows,).
    usual
        How much each resembles a row on average; (distinct rows,).
    alike
        How much two rows resemble each other that share so many cells; (variables + 1,).
    wanted
        How much each is wanted at first; overwritten; (distinct rows,).
    """
    out, left, variables = np.empty(many, dtype=np.int64), often.copy(), len(codes)
    shared = np.empty(len(left), dtype=codes.dtype)
    for t in range(many):
        # ``left`` and ``wanted`` are as the first t rows leave them; of rows wanted alike the first is taken.
        best = -1
        for d in range(len(left)):
            if left[U(d)] > 0 and (best < 0 or wanted[U(d)] > wanted[U(best)]):
                best = d
        out[U(t)] = best
        left[U(best)] -= 1
        shared[:] = 0
        for v in range(variables):
            own = codes[U(v), U(best)]
            if own >= 0:
                for d in range(len(left)):  # open cells of d are below zero, and like none
                    shared[U(d)] += codes[U(v), U(d)] == own
        for d in range(len(left)):
            wanted[U(d)] += usual[U(d)] - alike[shared[U(d)]]
    return out
