"""Counting what families need, for a child, its parents and every further parent in one pass.

Every state of every variable has a column: variable j's states are columns ``first[j]`` to
``first[j + 1]``. A row of the table adds its weight in the columns of its states, at the height of its
child's state and its parents' configuration; what results is a count table for the child, its parents and
variable j, for all j at once.
"""

from __future__ import annotations

from math import log, log1p
from typing import Any

import numpy as np
from numba import extending, types
from numpy.typing import NDArray

from lacunary.kernels.compile import COMPILES, bare, called

__all__ = [
    "add_digit",
    "count_alone",
    "count_beside",
    "count_bits",
    "count_masks",
    "log_gamma",
    "log_rising",
]

HALF_LOG_TAU = 0.91893853320467274178
"""log √(2π)"""

LARGE = 1000.0
"""From here on a difference of log Γ's is worked out as one, as in `lacunary.maths.special.log_rising`."""


U = np.uint64
"""Unsigned indices spare the check for negative ones."""

intrinsic: Any = extending.intrinsic


def _population(typing: Any, word: Any) -> Any:
    """Return how many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _plain_population(word: np.uint64) -> np.uint64:
    """Do as `_population` where nothing is compiled."""
    return U(int(word).bit_count())


_ones: Any = intrinsic(_population) if COMPILES else _plain_population


@bare
def add_digit(place: NDArray[np.int64], codes: NDArray[np.int32], size: int) -> None:
    """Append a digit to each row's number in mixed radix; (rows,)."""
    for row in range(len(place)):
        place[row] = place[row] * size + codes[row]


@bare
def count_beside(
    columns: NDArray[np.int32],
    place: NDArray[np.int64],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
    shift: int,
    width: int,
    out: NDArray[np.float64],
) -> None:
    """Add each row's weight in the columns of its states of variables ``begin`` to ``end``.

    (rows, n), (rows,), (rows,) → (places · columns,); ``shift`` is the first column counted. Along a row
    the columns differ, so that no addition waits for the one before.
    """
    for row in range(len(place)):
        height, weight = place[row] * width - shift, weights[row]
        for j in range(begin, end):
            out[U(height + columns[U(row), U(j)])] += weight


@bare
def count_bits(
    masks: NDArray[np.uint64], bits: NDArray[np.uint64], first: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """Count the rows that are in each mask and have each state; (places, words), (states, words).

    A bit stands for a row. A variable's last state is had by the rows that have none of the others.
    """
    for height in range(len(masks)):
        mask = masks[height]
        all_rows = U(0)
        for word in range(len(mask)):
            all_rows += _ones(mask[word])
        if all_rows == 0:
            continue
        for j in range(len(first) - 1):
            rest = all_rows
            for state in range(first[j], first[j + 1] - 1):
                found = U(0)
                for word in range(len(mask)):
                    found += _ones(mask[word] & bits[state, word])
                out[height, state] = found
                rest -= found
            out[height, first[j + 1] - 1] = rest


@bare
def count_masks(masks: NDArray[np.uint64], out: NDArray[np.float64]) -> None:
    """Count the rows that are in each mask; (places, words) → (places,)."""
    for height in range(len(masks)):
        found = U(0)
        for word in range(masks.shape[1]):
            found += _ones(masks[height, word])
        out[height] = found


@bare
def count_alone(place: NDArray[np.int64], weights: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Add each row's weight in its place; (rows,), (rows,) → (places,)."""
    for row in range(len(place)):
        out[place[row]] += weights[row]


@called
def log_gamma(x: float) -> float:
    """Return log Γ(x) for x > 0, to about 1e-15: Stirling's series beyond 10, below it by steps up."""
    steps = 1.0
    while x < 10.0:
        steps *= x
        x += 1.0
    y = 1.0 / (x * x)
    series = (
        1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * 691 / 360360))))
    ) / x
    return (x - 0.5) * log(x) - x + HALF_LOG_TAU + series - (log(steps) if steps != 1.0 else 0.0)


@called
def log_rising(a: float, n: float, base: float) -> float:
    """Return log Γ(a + n) − log Γ(a) to the last digits, also where a is huge; ``base`` is log Γ(a)."""
    if a < LARGE:
        return log_gamma(a + n) - base
    b = a + n
    tail = (1 / 12 - 1 / 360 / b / b) / b - (1 / 12 - 1 / 360 / a / a) / a
    return (a - 0.5) * log1p(n / a) + n * log(b) - n + tail
