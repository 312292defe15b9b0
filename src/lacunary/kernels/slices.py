"""What evidence leaves of a family's table: how small its numbers are, and whether there are zeros.

Plain functions, as in `lacunary.kernels.buckets`, which explains the words. A question looks at the slice of
a large table that it sums, not at all of it. What holds for the whole table is kept once as many numbers
were looked at, in slices, as it has; what is decided depends on the slice alone, so that an answer does not
depend, in its last digit, on questions before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ENTRIES", "cells", "look"]

ENTRIES = ()
"""What Python calls; see `lacunary.kernels.promote`."""

INFINITE = 0x7FF0000000000000
"""The bits of infinity, taken as a whole number; those of smaller numbers above zero are in their order."""


def look(
    i: int, member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, codes: Any, tables: Any,
    least: Any, zero: Any,
) -> Any:  # fmt: skip
    """Return the logarithm of the smallest number above zero in a family's slice, and whether it has a zero.

    ``least`` and ``zero`` are as in `buckets.collect`; what is not known in them may become known.
    """
    bits = tables.view(np.int64)
    low, zeros = _slice(i, member_at, member, stride, start, sizes, codes, bits)
    if np.isnan(least[i]):
        seen, size = cells(i, member_at, member, sizes, codes), 1.0
        for s in range(member_at[i], member_at[i + 1]):
            size *= sizes[member[s]]
        zero[i] -= seen
        if -zero[i] > size:
            lowest, some = low, zeros
            if seen < size:
                lowest, some = _among(bits[start[i] : start[i] + int(size)], INFINITE)
            zero[i] = 1.0 if some else 0.0
            least[i] = _log(lowest)
    return _log(low), zeros


def cells(i: int, member_at: Any, member: Any, sizes: Any, codes: Any) -> float:
    """Return how many numbers a family's slice has."""
    many = 1.0
    for s in range(member_at[i], member_at[i + 1]):
        if codes[member[s]] < 0:
            many *= sizes[member[s]]
    return many


def _slice(
    i: int, member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, codes: Any, bits: Any
) -> Any:
    """Return the bits of the smallest number above zero in a slice, and whether there is a zero.

    The innermost members that are open, next to each other, make a run: numbers that lie equally far apart.
    """
    first, high, at, runs = member_at[i], member_at[i + 1], start[i], 1
    for s in range(first, high):
        if codes[member[s]] >= 0:
            at += codes[member[s]] * stride[s]
    while high > first and codes[member[high - 1]] >= 0:
        high -= 1
    step, many = stride[high - 1] if high > first else 1, 1
    while high > first and codes[member[high - 1]] < 0:
        high -= 1
        many *= sizes[member[high]]
    for s in range(first, high):
        if codes[member[s]] < 0:
            runs *= sizes[member[s]]
    low, zeros = INFINITE, False
    for run in range(runs):  # ``low`` and ``zeros`` are right for the runs before this
        place, rest = at, run
        for s in range(high - 1, first - 1, -1):
            if codes[member[s]] < 0:
                place += rest % sizes[member[s]] * stride[s]
                rest //= sizes[member[s]]
        part = bits[place : place + (many - 1) * step + 1]
        low, some = _among(part, low) if step == 1 else _apart(part, step, low)
        zeros = zeros or some
    return low, zeros


def _among(part: Any, low: int) -> Any:
    """Return the least of some numbers above zero, and of ``low``, and whether there is a zero."""
    zeros = 0
    for k in range(len(part)):
        zeros += part[k] <= 0
        low = min(low, part[k] if part[k] > 0 else INFINITE)
    return low, zeros > 0


def _apart(part: Any, step: int, low: int) -> Any:
    """Do what `_among` does, for every number that is ``step`` after one before."""
    zeros = 0
    for k in range(0, len(part), step):
        zeros += part[k] <= 0
        low = min(low, part[k] if part[k] > 0 else INFINITE)
    return low, zeros > 0


def _log(low: int) -> float:
    """Return the logarithm of the number of these bits; zero if there was none."""
    return np.log(np.array([low]).view(np.float64)[0]) if low < INFINITE else 0.0
