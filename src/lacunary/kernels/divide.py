"""The kernel that divides the open variables of rows into islands, each of which it lists once.

Given a row's observed cells its open variables fall apart into *islands*: sets joined by the scopes that hold
two of them or more. There are far fewer islands than patterns of holes, and each is laid out once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import inlined, patient
from lacunary.kernels.hashing import LOW, MIX, grown, spare_slots

__all__ = ["Divided", "divide_rows"]


class Divided(NamedTuple):
    """Islands of rows, and their variables.

    The islands of row r are ``island`` from ``start[r]`` on; island i holds ``member`` from
    ``member_start[i]`` on.
    """

    island: NDArray[np.int32]
    start: NDArray[np.int64]
    member: NDArray[np.int32]
    member_start: NDArray[np.int64]


def divide_rows(
    codes: NDArray[np.signedinteger],
    columns: NDArray[np.int64],
    neighbour: NDArray[np.int32],
    neighbour_start: NDArray[np.int64],
) -> Divided:
    """Return the islands of rows.

    Parameters
    ----------
    codes
        States, negative for a hole; (rows, variables).
    columns
        The variables of which a hole is open; (columns,).
    neighbour, neighbour_start
        What variable v meets in a scope is ``neighbour`` from ``neighbour_start[v]`` on.
    """
    rows, variables = codes.shape
    most = int(np.count_nonzero(codes < 0))
    slots, key = spare_slots(most)
    out = Divided(
        np.empty(most, dtype=np.int32),
        np.zeros(rows + 1, dtype=np.int64),
        np.empty(most + 1, dtype=np.int32),  # one more: what is looked at is written first
        np.zeros(most + 1, dtype=np.int64),
    )
    is_open, opened = np.zeros(variables, dtype=np.bool_), np.empty(len(columns) + 1, dtype=np.int64)
    many = _divide(codes, columns, neighbour, neighbour_start, is_open, opened, slots, key, out)
    start = out.member_start[: many + 1].copy()
    return Divided(out.island[: out.start[-1]], out.start, out.member[: start[-1]].copy(), start)


@patient
def _divide(
    codes: Any,
    columns: Any,
    neighbour: Any,
    neighbour_start: Any,
    is_open: Any,
    opened: Any,
    slots: Any,
    key: Any,
    out: Any,
) -> int:
    """Do what `divide_rows` says, with its arrays; return how many islands there are.

    Parameters
    ----------
    is_open
        Room, false: which variables of the row at hand are open and in no island yet; (variables,).
    opened
        Room: the open variables of the row at hand; (columns + 1,).
    slots, key
        A hash table, empty, and room for the keys of islands.
    out
        Written; ``codes``, ``columns``, ``neighbour`` and ``neighbour_start`` are read.
    """
    islands, taken, mask = 0, 0, np.int64(15)  # ``mask`` is one less than the places in use
    # ``slots`` finds every island of the rows before r; no variable is marked open.
    for r in range(codes.shape[0]):
        many = 0
        for k in range(columns.size):
            opened[many] = columns[k]
            many += codes[r, columns[k]] < 0
        for k in range(many):
            is_open[opened[k]] = True
        for k in range(many):
            if not is_open[opened[k]]:
                continue
            # The island of this variable is written behind the others, and counts only if it is new. It is
            # met in one order whatever the row: from its first variable on, neighbours as they are listed.
            first = out.member_start[islands]
            at, end = first, first + 1
            out.member[first] = opened[k]
            is_open[opened[k]] = False
            h = np.uint64(1)
            # Members before ``at`` have been gone through and hashed; those up to ``end`` are met.
            while at < end:
                v = out.member[at]
                at += 1
                h = (h ^ np.uint64(v)) * MIX
                h ^= h >> np.uint64(29)
                for e in range(neighbour_start[v], neighbour_start[v + 1]):
                    out.member[end] = neighbour[e]
                    if is_open[neighbour[e]]:
                        is_open[neighbour[e]] = False
                        end += 1
            low = np.int64(h & LOW)
            slot = low & mask
            while slots[slot] >= 0 and not (
                key[slots[slot]] == low and _same(out.member, out.member_start, slots[slot], first, end)
            ):
                slot = (slot + 1) & mask
            out.island[taken] = islands if slots[slot] < 0 else slots[slot]
            taken += 1
            if slots[slot] < 0:
                slots[slot] = islands
                key[islands] = low
                islands += 1
                out.member_start[islands] = end
                if 2 * islands > mask:
                    mask = grown(slots, key, islands, mask)
        out.start[r + 1] = taken
    return islands


@inlined
def _same(member: Any, start: Any, island: Any, first: Any, end: Any) -> Any:
    """Whether an island holds what is listed from ``first`` to ``end``."""
    at = start[island]
    alike = start[island + 1] - at == end - first
    for k in range(end - first if alike else 0):
        alike = alike and member[at + k] == member[first + k]
    return alike
