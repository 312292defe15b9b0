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
            behind, within = place + states * many, states * EPSILON
            for k in range(states if block[t, 4] else 0):
                for j in range(many):
                    before = wide[b, behind + j] if k else 0.0
                    wide[b, behind + j] = before + potential[b, start + k * many + j]
            for j in range(many if block[t, 5] >= 0 else 0):
                off += abs(wide[b, behind + j] - 1.0) > within
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
            # The first state's place holds what each sum has for one of potential, until it is divided.
            for j in range(many):
                out[b, start + j] = 0.0
            if brief and parent >= 0:
                for j in range(many):
                    for i in range(others):
                        out[b, start + j] += counts[b, parent + j * others + i]
                for k in range(states):
                    for j in range(many):
                        out[b, start + j] -= counts[b, place + k * many + j]
                for j in range(many):
                    out[b, start + j] *= out[b, start + j].real > 0.0
            elif block[t, 4]:
                for j in range(many):
                    if wide[b, behind + j] != 0.0:
                        out[b, start + j] = counts[b, behind + j] / wide[b, behind + j]
            for k in range(states - 1, -1, -1):
                for j in range(many):
                    at = k * many + j
                    out[b, start + at] = counts[b, place + at] + out[b, start + j] * potential[b, start + at]
