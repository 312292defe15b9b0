"""Kernels that put sums over states behind tables, and divide what was counted there; see `infer.places`.

Blocks are rows of whole numbers, one a table: where it starts in the layout, where among the places, its
states, its configurations, and whether a sum for each configuration follows it; (tables, 5). So are pairs,
one a table of products: where its two factors start among the places, the states of each, their
configurations, and where it starts itself, behind both; (pairs, 6).
"""

from __future__ import annotations

from typing import Any

from lacunary.kernels.compile import bare, inlined
from lacunary.kernels.lanes import U

__all__ = ["join", "narrow", "part", "widen"]

TINY = 1e-290
"""A product of two positive numbers below this has lost digits, or all of them."""


@bare
def widen(potential: Any, block: Any, wide: Any) -> None:
    """Write tables and sums.

    Parameters
    ----------
    potential
        (vectors, layout size).
    block
        The tables.
    wide
        Written; (vectors, places).
    """
    for b in range(potential.shape[0]):
        own, out = potential[b], wide[b]
        for t in range(block.shape[0]):
            start, place, states, many = block[t, 0], block[t, 1], block[t, 2], block[t, 3]
            for i in range(states * many):
                out[U(place + i)] = own[U(start + i)]
            for j in range(many if block[t, 4] else 0):
                total = own[U(start + j)]
                for k in range(1, states):
                    total += own[U(start + k * many + j)]
                out[U(place + states * many + j)] = total


@bare
def narrow(counts: Any, potential: Any, wide: Any, block: Any, out: Any) -> None:
    """Write counts without sums, which belong to the states in proportion to their potentials.

    Parameters
    ----------
    counts, wide
        Counts, and the potentials with their sums; (vectors, places).
    potential
        (vectors, layout size).
    block
        The tables.
    out
        Written; (vectors, layout size).
    """
    for b in range(potential.shape[0]):
        for t in range(block.shape[0]):
            start, place, states, many = block[t, 0], block[t, 1], block[t, 2], block[t, 3]
            for i in range(states * many):
                out[b, start + i] = counts[b, place + i]
            behind = place + states * many
            for j in range(many if block[t, 4] else 0):
                if wide[b, behind + j] != 0.0:
                    share = counts[b, behind + j] / wide[b, behind + j]
                    for k in range(states):
                        out[b, start + k * many + j] += share * potential[b, start + k * many + j]


@inlined
def _least(row: Any, first: Any, last: Any) -> float:
    """Return the least positive number of a stretch, at most one."""
    least = 1.0
    for i in range(first, last):
        x = row[U(i)].real
        least = min(least, x if x > 0.0 else 1.0)
    return least


@bare
def join(wide: Any, pair: Any) -> bool:
    """Write the tables of products, in (vectors, places); return whether none can have lost digits."""
    sound = True
    for b in range(wide.shape[0]):
        row = wide[b]
        for t in range(pair.shape[0]):
            one, two, first, second, many = pair[t, 0], pair[t, 1], pair[t, 2], pair[t, 3], pair[t, 4]
            at = pair[t, 5]
            if _least(row, one, one + first * many) * _least(row, two, two + second * many) < TINY:
                sound = False
            for i in range(first):
                for k in range(second):
                    for j in range(many):
                        row[U(at + j)] = row[U(one + i * many + j)] * row[U(two + k * many + j)]
                    at += many
    return sound


@bare
def part(counts: Any, pair: Any) -> None:
    """Add what was counted of products, in (vectors, places), to their factors, the last products first."""
    for b in range(counts.shape[0]):
        row = counts[b]
        for t in range(pair.shape[0] - 1, -1, -1):
            one, two, first, second, many = pair[t, 0], pair[t, 1], pair[t, 2], pair[t, 3], pair[t, 4]
            at = pair[t, 5]
            for i in range(first):
                for k in range(second):
                    for j in range(many):
                        row[U(one + i * many + j)] += row[U(at + j)]
                    for j in range(many):
                        row[U(two + k * many + j)] += row[U(at + j)]
                    at += many
