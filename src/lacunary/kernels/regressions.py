"""The modes of many small regressions at once: each takes less time than a call of linear algebra."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import bare

__all__ = ["Families", "put_modes"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

EPSILON, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)


class Families(NamedTuple):
    """Regressions of several networks.

    Attributes
    ----------
    network, first
        The network of each, and where its ``members`` begin; (families,) and (families + 1,).
    members
        Places in z = (1, x), family by family: that of the one, those of the parents, that of the child.
    """

    network: Index
    first: Index
    members: Index


@bare
def put_modes(moment: Array, divisor: Array, families: Families, room: Array, root: Array) -> bool:
    """Put (−coefficients, 1)/σ of every regression into the child's row of A; tell whether all are sound.

    As `lacunary.maths.regression.peak`: σ² is what the child has left over its network's divisor. Where a
    coordinate is redundant, which `lacunary.maths.moments.factor` decides in the same way, it ends at once.

    Parameters
    ----------
    moment, divisor
        Of each network; (networks, n + 1, n + 1) and (networks,), positive.
    room
        As large as a family's members, squared.
    root
        A, zero where nothing is put; (networks, n, n + 1).
    """
    for f in range(len(families.network)):  # the rows of A of the families before f are put
        c, begin = families.network[f], families.first[f]
        size = families.first[f + 1] - begin
        for i in range(size):  # rows before i of ``room`` are of L, where LLᵀ are the family's moments
            row = families.members[begin + i]
            for j in range(i + 1):
                left = moment[c, row, families.members[begin + j]]
                for k in range(j):
                    left -= room[i * size + k] * room[j * size + k]
                if j < i:
                    room[i * size + j] = left / room[j * size + j]
                elif left > max(size * EPSILON * moment[c, row, row], TINY):
                    room[i * size + i] = math.sqrt(left)
                else:
                    return False
        last = size - 1
        child = families.members[begin + last]
        over = math.sqrt(divisor[c]) / room[last * size + last]
        root[c, child - 1, child] = over
        for i in range(last - 1, -1, -1):  # slopes after i stand in the last row of ``room``
            slope = room[last * size + i]
            for k in range(i + 1, last):
                slope -= room[k * size + i] * room[last * size + k]
            room[last * size + i] = slope / room[i * size + i]
            root[c, child - 1, families.members[begin + i]] = -over * room[last * size + i]
    return True
