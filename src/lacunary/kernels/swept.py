"""Scale matrices with a family's parents swept out, and what one parent more or less would leave.

For parents P of a child c and a positive definite matrix A, sweeping P out leaves r = A − A_·P A_PP⁻¹ A_P·.
Then adding j to P multiplies |A_PP| by r_jj and lowers the child's rest r_cc by r_cj²/r_jj, and removing j
divides by what j has left given the others, 1/(A_PP⁻¹)_jj, and raises the rest by β_j²/(A_PP⁻¹)_jj. Only
the diagonal and the child's row of r are needed: the rows of L⁻¹A_P· (L the Cholesky factor of A_PP) give
them in m²n operations, fresh from A each time. A matrix kept swept from move to move would take n² a move,
which is more where families are small, and it drifts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import called, compact, inlined

__all__ = ["charged_terms", "integrated_terms", "room_for", "swept_terms"]

EPSILON = 2.0**-52

Array = NDArray[np.float64]


def room_for(matrices: int, size: int, parents: int) -> tuple[Array, Array]:
    """Return room for terms of so many matrices of a size, and one more, with a family's parents swept out.

    First the rows of L⁻¹A_P· and four more to work in, (m + 4, n + 1), or 3 for n + 1; then log|A_PP| and the
    child's rest of each matrix, (2, matrices + 1, n + 1).
    """
    return np.empty((parents + 4, max(size + 1, 3))), np.empty((2, matrices + 1, size + 1))


@inlined
def _clear(row: Any) -> None:
    for j in range(len(row)):
        row[j] = 0.0


@called
def _sweep(matrix: Any, child: int, parents: Any, skip: Any, rows: Any) -> Any:
    """Sweep all parents out but the one at position ``skip``; return log|A_PP| and whether all were sound.

    Writes the rows of L⁻¹A_P· , then the diagonal of r and the child's row of r; into ``rows``, of which each
    is n long or more. A parent that is a linear combination of those before, to rounding, is unsound: nothing
    is regressed on it. ``matrix`` is A, (n, n), and ``parents`` are (m,).
    """
    size = len(matrix)
    left, partial = rows[len(parents)], rows[len(parents) + 1]
    log_det, sound = 0.0, True
    for j in range(size):
        left[j] = matrix[j, j]
        partial[j] = matrix[child, j]
    # ``left`` and ``partial`` are those of r with the parents before i swept out.
    for i in range(len(parents)):
        row, p = rows[i], parents[i]
        if i == skip:
            _clear(row)
            continue
        for j in range(size):  # as a slice it would take seconds to compile: it could fail, with a message
            row[j] = matrix[p, j]
        for k in range(i):
            share, other = rows[k, p], rows[k]
            if share != 0.0:
                for j in range(size):
                    row[j] -= share * other[j]
        floor = size * EPSILON * matrix[p, p]
        if row[p] <= floor:
            sound = False
            _clear(row)
            row[p] = math.sqrt(floor)
            log_det += math.log(floor)
            continue
        pivot = math.sqrt(row[p])
        log_det += math.log(row[p])
        share = row[child] / pivot
        for j in range(size):
            row[j] /= pivot
            left[j] -= row[j] * row[j]
            partial[j] -= share * row[j]
    return log_det, sound


@inlined
def _removed(rows: Any, child: int, parents: Any, position: int, column: Any) -> Any:
    """Return (A_PP⁻¹)_jj and β_j of the parent at this position, by solving L x = e_j; xᵀx and xᵀL⁻¹A_Pc."""
    square, slope = 0.0, 0.0
    for i in range(position, len(parents)):
        value = 1.0 if i == position else 0.0
        for k in range(position, i):
            value -= rows[k, parents[i]] * column[k]
        value /= rows[i, parents[i]]
        column[i] = value
        square += value * value
        slope += value * rows[i, child]
    return square, slope


@called
def swept_terms(matrix: Any, child: int, parents: Any, rows: Any, dets: Any, rests: Any) -> None:
    """Write log|A_PP| and the child's rest for the parents with each variable put in or taken out.

    Parameters
    ----------
    matrix
        A positive definite matrix A; (n, n).
    child, parents
        Positions; parents are (m,) and do not hold the child.
    rows
        Room to work in: the first of `room_for`.
    dets, rests
        Written: entry j for the parents with j put in or taken out, entry n, and the child's own, for the
        parents as they are; (n + 1,).
    """
    size, m = len(matrix), len(parents)
    left, partial, column = rows[m], rows[m + 1], rows[m + 2]
    least = size * EPSILON * matrix[child, child]
    whole, sound = _sweep(matrix, child, parents, np.int64(-1), rows)
    kept = left[child] if left[child] > least else least
    dets[size], rests[size] = whole, kept
    for j in range(size):  # entries before j are for one more parent
        floor = size * EPSILON * matrix[j, j]
        if left[j] > floor and j != child:
            rest = kept - partial[j] * partial[j] / left[j]
            dets[j] = whole + math.log(left[j])
            rests[j] = rest if rest > least else least
        else:
            dets[j] = whole + (math.log(floor) if j != child else 0.0)
            rests[j] = kept
    for i in range(m):  # those of the first i parents are for one fewer
        if sound:
            square, slope = _removed(rows, child, parents, i, column)
            dets[parents[i]] = whole + math.log(square)
            rests[parents[i]] = kept + slope * slope / square
        else:  # what was redundant may not be so any more
            without, _ = _sweep(matrix, child, parents, i, rows)
            dets[parents[i]] = without
            rests[parents[i]] = left[child] if left[child] > least else least


@inlined
def _members(parents: Any, child: int, size: int, members: Any) -> None:
    """Write how many parents there are after each toggle, and without one; (n + 1,) for n variables."""
    m = len(parents)
    for j in range(size):
        members[j] = m + 1
    for i in range(m):
        members[parents[i]] = m - 1
    members[child] = members[size] = m


@compact
def integrated_terms(
    scales: Any,
    counts: Any,
    prior: Any,
    nu: float,
    dof: float,
    child: int,
    parents: Any,
    rows: Any,
    terms: Any,
    out: Any,
) -> None:
    """Write the log evidence of a child's regressions for each toggle of its parents, and for none.

    Adds up, over configurations with N rows, with a = dof + number of parents, a* = a + N, ν* = ν + N and s
    what the parents P leave of the child: ½ log(ν/ν*) + log Γ(a*/2)/Γ(a/2) − N/2 log π − ½ log |τ*_P|/|τ_P|
    − a*/2 log s* + a/2 log s (docs/derivations/gaussian.md).

    Parameters
    ----------
    scales, counts
        Posterior scale matrices τ* and numbers of rows N of each configuration; (q, n, n) and (q,).
    prior, nu, dof
        Prior scale matrix τ, (n, n); ν; degrees of freedom of a family without parents.
    child, parents
        Positions; parents are (m,).
    rows, terms
        Room to work in: that of `room_for`.
    out
        Written; (n + 1,).
    """
    many, size, m = len(counts), len(prior), len(parents)
    members, gains = rows[m + 3], rows[m]
    for q in range(many + 1):
        swept_terms(scales[q] if q < many else prior, child, parents, rows, terms[0, q], terms[1, q])
    _members(parents, child, size, members)
    for j in range(size + 1):
        out[j] = 0.0
    for q in range(many):  # ``out`` is the sum over configurations before q
        count = counts[q]
        constant = 0.5 * math.log(nu / (nu + count)) - 0.5 * count * math.log(math.pi)
        for k in range(3):
            half = 0.5 * (dof + m - 1 + k)  # not positive where there is no parent to take out: not used
            if half > 0.0:
                gains[k] = constant + math.lgamma(half + 0.5 * count) - math.lgamma(half)
        for j in range(size + 1):
            half = 0.5 * (dof + members[j])
            value = gains[np.int64(members[j]) - m + 1] - 0.5 * (terms[0, q, j] - terms[0, many, j])
            value -= (half + 0.5 * count) * math.log(terms[1, q, j])
            out[j] += value + half * math.log(terms[1, many, j])


@compact
def charged_terms(
    scales: Any,
    counts: Any,
    floor: float,
    charge: float,
    blank: float,
    child: int,
    parents: Any,
    rows: Any,
    terms: Any,
    out: Any,
) -> None:
    """Write the charged log-likelihood of a child's regressions for each toggle of its parents, and for none.

    Adds up, over configurations with N rows, −N/2 log 2πσ² − s/2σ² with σ² = s/N but no less than ``floor``,
    and takes ``charge`` off for each of m + 2 parameters, also those of ``blank`` configurations without
    rows. −inf where a configuration has no more rows than a regression has coefficients.

    Parameters
    ----------
    scales, counts
        Scatter matrices and numbers of rows N of each configuration; (q, n, n) and (q,).
    child, parents
        Positions; parents are (m,).
    rows, terms
        Room to work in: that of `room_for`.
    out
        Written; (n + 1,).
    """
    many, size = len(counts), scales.shape[1]
    members = rows[len(parents) + 3]
    for q in range(many):
        swept_terms(scales[q], child, parents, rows, terms[0, q], terms[1, q])
    _members(parents, child, size, members)
    for j in range(size + 1):
        out[j] = -charge * (members[j] + 2) * (many + blank)
        for q in range(many):  # ``out[j]`` is what parameters cost and the sum over configurations before q
            count, rest = counts[q], terms[1, q, j]
            if count <= members[j] + 1:
                out[j] = -np.inf
                break
            variance = rest / count if rest / count > floor else floor
            out[j] -= 0.5 * (count * math.log(2.0 * math.pi * variance) + rest / variance)
