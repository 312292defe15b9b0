"""Factors that rows show whole: their logs added up for each row, and the rows' weights counted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import patient

__all__ = ["Shown", "add_shown", "count_shown"]


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
            own[shown.row[i]] += log[shown.place[i]]


@patient
def count_shown(shown: Shown, weights: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Add the weights of rows to the places they show; (rows,) and (places,)."""
    for i in range(len(shown.row)):
        out[shown.place[i]] += weights[shown.row[i]]
