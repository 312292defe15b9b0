"""Kernels that put sums over states behind tables, and divide what was counted there; see `infer.places`.

Blocks are rows of whole numbers, one a table: where it starts in the layout, where among the places, its
states, its configurations, and whether a sum for each configuration follows it; (tables, 5).
"""

from __future__ import annotations

from typing import Any

from lacunary.kernels.compile import bare

__all__ = ["narrow", "widen"]


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
        for t in range(block.shape[0]):
            start, place, states, many = block[t, 0], block[t, 1], block[t, 2], block[t, 3]
            for i in range(states * many):
                wide[b, place + i] = potential[b, start + i]
            for j in range(many if block[t, 4] else 0):
                total = potential[b, start + j]
                for k in range(1, states):
                    total += potential[b, start + k * many + j]
                wide[b, place + states * many + j] = total


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
