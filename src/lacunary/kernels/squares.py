"""Matrices added up by configuration, where many ways to fill a row share one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import bare
from lacunary.kernels.lanes import U

__all__ = ["add_squares"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]


@bare
def add_squares(
    where: Index, entry: Index, group: Index, weight: Array, each: Array, mass: Array, met: Index, out: Array
) -> None:
    """Add weight · matrix of every way to ``out``, (sums, size), in the place of its entry.

    Each matrix is read once for each place that its ways have: what they weigh is added up before.

    Parameters
    ----------
    where
        The place of each entry among the sums; (entries,).
    entry, group, weight
        Of each way its entry, its matrix, and how often it counts, which is above zero; ways that share a
        matrix stand together; (ways,) each.
    each
        The matrices; (groups, size).
    mass, met
        Room, (sums,) each; ``mass`` is zero before and after.
    """
    size, way = each.shape[1], 0
    while way < len(entry):  # ``out`` has all matrices before this way's
        own, places = group[way], 0
        while way < len(entry) and group[way] == own:
            # The ways of this matrix so far weigh ``mass`` at the first ``places`` of ``met``.
            place = where[entry[way]]
            if mass[place] == 0.0:
                met[places] = place
                places += 1
            mass[place] += weight[way]
            way += 1
        for k in range(places):
            place = met[k]
            times, mass[place] = mass[place], 0.0
            for i in range(size):
                out[place, U(i)] += times * each[own, U(i)]
