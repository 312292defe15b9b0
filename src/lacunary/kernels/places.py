"""Kernels that put sums over states behind tables, and divide what was counted there; see `infer.places`.

Blocks are rows of whole numbers, one a table: where it starts in the layout, where among the places, its
states, its configurations, whether a sum for each configuration follows it, and where its only parent's table
begins and what configurations that has, or −1; (tables, 7).
"""

from __future__ import annotations

from typing import Any

from lacunary.kernels.compile import bare

__all__ = ["narrow", "widen"]

EPSILON = 2.0**-52
"""The distance of doubles from one."""


@bare
def widen(potential: Any, block: Any, wide: Any) -> bool:
    """Write tables and sums; return whether all sums with a parent's table are one, but for rounding.

    Parameters
    ----------
    potential
        (vectors, layout size).
    block
        The tables.
    wide
        Written; (vectors, places).
    """
    off = 0
    for b in range(potential.shape[0]):
        for t in range(block.shape[0]):
            start, place, states, many = block[t, 0], block[t, 1], block[t, 2], block[t, 3]
            for i in range(states * many):
                wide[b, place + i] = potential[b, start + i]
            for j in range(many if block[t, 4] else 0):
                total = potential[b, start + j]
                for k in range(1, states):
                    total += potential[b, start + k * many + j]
                wide[b, place + states * many + j] = total
                off += block[t, 5] >= 0 and abs(total - 1.0) > states * EPSILON
    return off == 0


@bare
def narrow(counts: Any, potential: Any, wide: Any, block: Any, brief: Any, out: Any) -> None:
    """Write counts without sums, which belong to the states in proportion to their potentials.

    Parameters
    ----------
    counts, wide
        Counts, and the potentials with their sums; (vectors, places).
    potential
        (vectors, layout size).
    block
        The tables.
    brief
        Whether sums with a parent's table were not counted: what they would have is what the parent has in
        its state, less what was seen of the child there.
    out
        Written; (vectors, layout size).
    """
    for b in range(potential.shape[0]):
        for t in range(block.shape[0]):
            start, place, states, many = block[t, 0], block[t, 1], block[t, 2], block[t, 3]
            behind, parent, others = place + states * many, block[t, 5], block[t, 6]
            for i in range(states * many):
                out[b, start + i] = counts[b, place + i]
            for j in range(many if block[t, 4] else 0):
                held = counts[b, behind + j]
                if brief and parent >= 0:
                    held *= 0.0
                    for i in range(others):
                        held += counts[b, parent + j * others + i]
                    for k in range(states):
                        held -= counts[b, place + k * many + j]
                    held *= held.real > 0.0
                if wide[b, behind + j] != 0.0:
                    share = held / wide[b, behind + j]
                    for k in range(states):
                        out[b, start + k * many + j] += share * potential[b, start + k * many + j]
