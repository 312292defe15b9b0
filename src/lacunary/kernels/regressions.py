"""Many small regressions at once: each takes less time than a call of linear algebra.

Rows without holes are (n + 1, rows), first the ones of z = (1, x): what a family of few parents makes of them
are a few columns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import bare, called
from lacunary.kernels.lanes import U
from lacunary.kernels.panels import LARGE, PANEL, family_norms

__all__ = [
    "Families",
    "add_pairs",
    "log_densities",
    "log_normalizers",
    "put_inverses",
    "put_modes",
    "squared",
]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

EPSILON, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)

ROWS = 256
"""Rows that are gone over together: few enough to stay in the nearest cache."""

LOG_2PI = math.log(2.0 * math.pi)


class Families(NamedTuple):
    """Regressions of several networks, network by network.

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


@called
def _factor(moment: Array, families: Families, f: int, room: Array) -> bool:
    """Put the Cholesky factor L of family f's moments into ``room``, row by row; tell whether it is sound.

    Where a coordinate is redundant, which `lacunary.maths.moments.factor` decides in the same way, it is not.
    """
    c, begin = families.network[f], families.first[f]
    size = families.first[f + 1] - begin
    for i in range(size):  # rows before i of ``room`` are of L
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
    return True


@bare
def put_modes(moment: Array, divisor: Array, families: Families, room: Array, root: Array) -> bool:
    """Put (−coefficients, 1)/σ of every regression into the child's row of A; tell whether all are sound.

    As `lacunary.maths.regression.peak`: σ² is what the child has left over its network's divisor. Where a
    coordinate is redundant it ends at once.

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
        if not _factor(moment, families, f, room):
            return False
        c, begin = families.network[f], families.first[f]
        size = families.first[f + 1] - begin
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


@bare
def put_inverses(lower: Array, out: Array) -> None:
    """Put the inverses of triangular factors into ``out``, zero before; (networks, size, size) each."""
    size = lower.shape[1]
    for c in range(len(lower)):
        for i in range(size):  # rows before i are those of the inverse
            own, over = out[c, i], 1.0 / lower[c, i, i]
            for k in range(i):
                share, other = lower[c, i, k] * over, out[c, k]
                for j in range(k + 1):
                    own[U(j)] -= share * other[U(j)]
            own[i] = over


@bare
def log_normalizers(moment: Array, dof: Array, families: Families, room: Array, out: Array) -> bool:
    """Add log Z of every regression to its network's; tell whether all are sound.

    As `lacunary.maths.regression.log_normalizer`. ``dof`` are the degrees of freedom of a child without
    parents, each parent is one more; (networks,). ``out`` is (networks,), all else as for `put_modes`.
    """
    for f in range(len(families.network)):
        if not _factor(moment, families, f, room):
            return False
        size = families.first[f + 1] - families.first[f]
        half = 0.5 * (dof[families.network[f]] + size - 2)
        log = 0.5 * (size - 1) * LOG_2PI + math.lgamma(half)
        for i in range(size - 1):
            log -= math.log(room[i * size + i])
        out[families.network[f]] += log - half * math.log(0.5 * room[size * size - 1] ** 2)
    return True


@bare
def squared(moment: Array, root: Array, families: Families, out: Array) -> None:
    """Add tr(A T Aᵀ) of every network; T is its moments, or the one there is; ``out`` is (networks,)."""
    for f in range(len(families.network)):
        c, begin, end = families.network[f], families.first[f], families.first[f + 1]
        own, child = c if c < len(moment) else 0, families.members[end - 1] - 1
        for i in range(begin, end):
            along = 0.0
            for j in range(begin, end):
                place = families.members[j]
                along += moment[own, families.members[i], place] * root[c, child, place]
            out[c] += along * root[c, child, families.members[i]]


@bare
def log_densities(
    cells: Array,
    many: int,
    families: Families,
    root: Array,
    constant: Array,
    begin: int,
    end: int,
    room: Array,
    shares: Array,
    out: Array,
) -> None:
    """Put g − ½‖Az‖² of rows without holes, in the panels from ``begin`` to ``end``, into ``out``.

    Parameters
    ----------
    cells
        ``many`` rows in panels; flat.
    root, constant
        A and g of each network, of which the families tell where A is not zero.
    room, shares
        `PANEL` numbers, and as many as families have members.
    out
        (networks, rows).
    """
    networks, size = len(constant), root.shape[2] * PANEL
    for f in range(len(families.network)):
        own = root[families.network[f], families.members[families.first[f + 1] - 1] - 1]
        for k in range(families.first[f], families.first[f + 1]):
            shares[k] = own[families.members[k]]
    each = root.shape[1]
    for p in range(begin, end):  # ``out`` has the rows of all panels before
        rows = min(PANEL, many - p * PANEL)
        for c in range(networks):
            first = families.first[c * each :]
            family_norms(room, 0, cells, p * size, families.members, shares, first, each)
            own = out[c]
            for r in range(rows):
                own[U(p * PANEL + r)] = constant[c] - 0.5 * min(room[U(r)], LARGE)


@bare
def add_pairs(
    cells: Array,
    families: Families,
    weights: Array,
    least: Array,
    begin: int,
    end: int,
    met: Index,
    kept: Index,
    room: Array,
    out: Array,
) -> None:
    """Add Σ weight · z_i z_j over rows from ``begin`` to ``end`` where i and j are of one family.

    And where one is that of the one, or both are the same; all else stays as it is.

    Parameters
    ----------
    cells
        As for `log_densities`.
    weights
        (networks, rows).
    least
        Rows that weigh no more leave no trace; (networks,).
    met
        Zeros at first; for every two columns, in which turn they were multiplied last; (n + 1, n + 1).
    kept, room
        `ROWS`, and as many columns of them as ``cells`` has.
    out
        (networks, n + 1, n + 1).
    """
    turn, many = 0, 0
    for at in range(begin, end, ROWS):  # ``out`` has all rows before
        for f in range(len(families.network)):  # and of these the pairs of all families before
            c, first, last = families.network[f], families.first[f] + 1, families.first[f + 1]
            if f == 0 or families.network[f - 1] != c:
                turn += 1
                many = _gather(cells, weights[c], least[c], at, min(at + ROWS, end), kept, room, out[c])
            for i in range(first, last):
                for j in range(first, i):
                    one, two = families.members[i], families.members[j]
                    if met[one, two] != turn:
                        met[one, two] = met[two, one] = turn
                        total, left, right = 0.0, room[one], room[two]
                        for r in range(many):
                            total += left[U(r)] * right[U(r)]
                        out[c, one, two] += total
                        out[c, two, one] = out[c, one, two]


@called
def _gather(
    cells: Array, weights: Array, least: float, begin: int, end: int, kept: Index, room: Array, out: Array
) -> int:
    """Put √weight z of the rows that count into ``room``, and add up their sums and squares in ``out``.

    Where many rows count all are taken. Return how many.
    """
    many, rows, root = 0, end - begin, room[0]
    for r in range(rows):
        many += 1 if weights[U(begin + r)] > least else 0
    every = 6 * many > rows  # to gather one takes as long as to go over so many
    many = rows if every else 0
    for r in range(rows if every else 0):
        root[U(r)] = math.sqrt(weights[U(begin + r)])
    for r in range(begin, begin if every else end):
        if weights[r] > least:
            kept[many] = r
            root[many] = math.sqrt(weights[r])
            many += 1
    for i in range(len(cells)):
        total, square, own, cell = 0.0, 0.0, room[i], cells[i]
        for r in range(many if i and not every else 0):
            own[U(r)] = root[U(r)] * cell[U(kept[r])]
        for r in range(many if i and every else 0):
            own[U(r)] = root[U(r)] * cell[U(begin + r)]
        for r in range(many):
            total += root[U(r)] * own[U(r)]
        for r in range(many):
            square += own[U(r)] * own[U(r)]
        out[i, i] += square
        out[0, i] += total if i else 0.0
        out[i, 0] = out[0, i]
    return many
