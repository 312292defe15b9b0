"""Factors that rows show whole: their logs added up for each row, and the rows' weights counted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import patient

__all__ = ["Shown", "add_shown", "count_shown"]

N = np.uint32
"""Unsigned indices spare the check for negative ones."""


class Shown(NamedTuple):
    """Pairs of a row and a factor that it shows whole, factor by factor, rows in their order.

    Attributes
    ----------
    row
        Which row; (pairs,).
    place
        Where its states lead among all places; (pairs,).
    """

    row: NDArray[np.int32]
    place: NDArray[np.int32]


@patient
def add_shown(shown: Shown, logs: Any, out: Any) -> None:
    """Add to each row, (vectors, rows), the logs of what it shows, (vectors, places)."""
    for b in range(len(out)):
        own, log = out[b], logs[b]
        for i in range(len(shown.row)):  # each row gets its factors in order
            own[N(shown.row[i])] += log[N(shown.place[i])]


@patient
def count_shown(shown: Shown, weights: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Add the weights of rows to the places they show; (rows,) and (places,).

    Four quarters are gone through by turns: rows of one factor lead to few places, where an addition would
    wait for the one before.
    """
    some = len(shown.row) // 4
    for i in range(some):  # of each quarter the pairs before the i-th are counted
        j, k, m = i + some, i + 2 * some, i + 3 * some
        out[N(shown.place[i])] += weights[N(shown.row[i])]
        out[N(shown.place[j])] += weights[N(shown.row[j])]
        out[N(shown.place[k])] += weights[N(shown.row[k])]
        out[N(shown.place[m])] += weights[N(shown.row[m])]
    for i in range(4 * some, len(shown.row)):
        out[N(shown.place[i])] += weights[N(shown.row[i])]
