"""Gaussian rows with any pattern of holes: log-densities and moments, eight rows at a time.

A density is exp(g − ½‖Az‖²) with z = (1, x); see `lacunary.infer.gaussian`. With K = AᵀA the holes h of a row
have, given its observed cells, the precision K_hh = LLᵀ and the mean −K_hh⁻¹ K_ho z_o. Rows stand side by
side in lanes, each with a factor L of its own, so that as many patterns as rows cost little more than one;
where neighbours share a pattern its factor stands until another one comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.arena import Arena, blank, tuple_in
from lacunary.kernels.compile import bare, called, inlined
from lacunary.kernels.lanes import LANES, U, multiply_lanes
from lacunary.kernels.tile import HIGH, add_products, take_dot, take_dots

__all__ = ["BLOCK", "Forms", "Holes", "Tasks", "add_moments", "log_densities", "padded", "room_for"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

BLOCK = 64
"""Rows that are filled before they are multiplied: few enough for the nearest caches."""

SOUND = 1e-5
"""What a pivot must keep of its diagonal entry for a Cholesky factor to be trusted with eleven digits."""

LARGE = 1e300
"""Where squared residuals end, so that an outlier has a log-density however far it lies."""

LOG_2PI = float(np.log(2.0 * np.pi))


class Holes(NamedTuple):
    """Rows and their holes.

    Attributes
    ----------
    z
        (1, x) of the rows, zero where there is a hole; (rows, n + 1).
    pattern
        Which pattern of holes a row has; (rows,).
    first, holes
        The holes of pattern p, as places in z, are ``holes[first[p]:first[p + 1]]``.
    """

    z: Array
    pattern: Index
    first: Index
    holes: Index


class Tasks(NamedTuple):
    """What is asked: rows under densities.

    Attributes
    ----------
    density, first, last
        Task t takes density ``density[t]`` for the rows ``places[first[t]:last[t]]``; (tasks,) each.
    places
        Rows, task by task.
    """

    density: Index
    first: Index
    last: Index
    places: Index


class Forms(NamedTuple):
    """Densities.

    Attributes
    ----------
    turned
        The transposes of the roots A, their rows filled up with zeros to a multiple of `LANES`; flat.
    reach
        For each density and each `LANES` rows of A, the first column that is not zero, and one past the last.
    constant
        g; (densities,).
    square
        K = AᵀA; (densities, n + 1, n + 1), or none of them where no row has a hole.
    """

    turned: Array
    reach: NDArray[np.int64]
    constant: Array
    square: Array


class Work(NamedTuple):
    """Room for one thread.

    Attributes
    ----------
    z, weighted
        `BLOCK` rows with their holes filled, and times their weights; as wide as `padded` says; flat.
    sums
        A block of `HIGH` × `LANES` sums, and one of their squares; flat.
    lower, inverse
        In lanes: L, and the transpose of L⁻¹; flat, m × m × `LANES`.
    pivot, right
        In lanes: 1 / L_ii, and what is solved for; flat, m × `LANES`.
    standing, lost
        In lanes: the pattern whose factor stands, and whether it has lost too many digits.
    shift, waiting
        In lanes: ½|h| log 2π − log det L; and what those rows weigh whose covariance is still to be added.
    log, share
        Of each row of the block: its shift, NaN where that is lost; and its weight.
    held
        How many holes the factors that stand are for, 0 if none do; and whether they are all the same.
    """

    z: Array
    weighted: Array
    sums: Array
    lower: Array
    inverse: Array
    pivot: Array
    right: Array
    standing: Index
    lost: NDArray[np.bool_]
    shift: Array
    waiting: Array
    log: Array
    share: Array
    held: Index


DOUBLE, LONG, TRUTH = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)
WORK = (*(DOUBLE,) * 7, LONG, TRUTH, *(DOUBLE,) * 4, LONG)

work_in: Callable[[Any], Work] = tuple_in(Work, WORK)
"""Returns the `Work` in an arena, inside a kernel; its arrays are pointers there."""


@inlined
def padded(width: int) -> int:
    """Return so many numbers, filled up to a multiple of `LANES`."""
    return (width + LANES - 1) // LANES * LANES


@bare
def log_densities(
    known: Holes, forms: Forms, tasks: Tasks, begin: int, end: int, columns: Index, out: Array, room: Arena
) -> None:
    """Put the log-densities of observed cells into ``out``, (columns, rows); NaN where digits were lost.

    ``room`` is that of `room_for`.
    """
    work = work_in(room)
    width = known.z.shape[1]
    wide = padded(width)
    for t in range(begin, end):
        c = tasks.density[t]
        high = forms.reach.shape[1] * LANES
        work.held[0] = 0
        for at in range(tasks.first[t], tasks.last[t], BLOCK):
            rows = min(tasks.last[t] - at, BLOCK)
            _load(
                forms.square[c % len(forms.square)],
                known,
                tasks.places,
                at,
                rows,
                work,
                out[0],
                np.bool_(False),
            )
            for r in range(0, rows, HIGH):
                for i in range(HIGH * LANES, 2 * HIGH * LANES):
                    work.sums[U(i)] = 0.0
                for k in range(forms.reach.shape[1]):
                    low, top = forms.reach[c, k, 0], forms.reach[c, k, 1]
                    for i in range(HIGH * LANES):
                        work.sums[U(i)] = 0.0
                    start = (c * width + low) * high + k * LANES
                    add_products(
                        work.sums,
                        0,
                        LANES,
                        work.z,
                        r * wide + low,
                        wide,
                        1,
                        forms.turned,
                        start,
                        high,
                        top - low,
                    )
                    for i in range(HIGH * LANES):
                        work.sums[U(HIGH * LANES + i)] += work.sums[U(i)] ** 2
                for i in range(r, min(r + HIGH, rows)):
                    squared = 0.0
                    for lane in range(LANES):
                        squared += work.sums[(HIGH + i - r) * LANES + lane]
                    half = 0.5 * squared if squared < LARGE else 0.5 * LARGE
                    out[columns[c], tasks.places[at + i]] = forms.constant[c] + work.log[i] - half


@bare
def add_moments(
    known: Holes,
    forms: Forms,
    tasks: Tasks,
    begin: int,
    end: int,
    columns: Index,
    weights: Array,
    lost: NDArray[np.bool_],
    out: Array,
    room: Arena,
) -> None:
    """Add Σ weight · E[z zᵀ] of each task's rows to ``out[task]``, but for rows where digits were lost.

    ``weights`` is (columns, rows), ``lost`` stands beside ``tasks.places``; ``out`` is (tasks, w²) for
    w = `padded` (n + 1). ``room`` is that of `room_for`.
    """
    work = work_in(room)
    wide = padded(known.z.shape[1])
    for t in range(begin, end):
        work.held[0] = 0
        moments, column = out[t], columns[tasks.density[t]]
        square = forms.square[tasks.density[t] % len(forms.square)]
        for at in range(tasks.first[t], tasks.last[t], BLOCK):
            rows = min(tasks.last[t] - at, BLOCK)
            for r in range(rows):
                work.share[r] = weights[column, tasks.places[at + r]]
            _load(square, known, tasks.places, at, rows, work, moments, np.bool_(True))
            for r in range(rows):
                lost[at + r] = np.isnan(work.log[r])
                share = 0.0 if lost[at + r] else work.share[r]
                for k in range(r * wide, (r + 1) * wide):
                    work.weighted[U(k)] = share * work.z[U(k)]
            for i in range(0, wide, HIGH):
                for j in range(i // LANES * LANES, wide, LANES):
                    add_products(
                        moments, i * wide + j, wide, work.weighted, i, 1, wide, work.z, j, wide, rows
                    )
        if work.held[0]:
            _spread(known, moments, work)
        for i in range(wide):
            for j in range(i):
                moments[i * wide + j] = moments[j * wide + i]


def room_for(known: Holes) -> Arena:
    """Return room for these rows: an arena with a `Work`."""
    most = int(np.diff(known.first).max(initial=1))
    block, square = BLOCK * (-(-known.z.shape[1] // LANES) * LANES), most * most * LANES
    short, lanes = most * LANES, (LANES,) * 4
    return blank(
        (block, block, 2 * HIGH * LANES, square, square, short, short, *lanes, BLOCK, BLOCK, 2), WORK
    )


@called
def _load(
    square: Array, known: Holes, places: Index, at: int, rows: int, work: Work, moments: Array, weigh: Any
) -> None:
    """Fill a block with rows, their holes at their means; covariances wait, or are added, if ``weigh``."""
    width = known.z.shape[1]
    wide = padded(width)
    for r in range(padded(rows)):
        row = places[at + min(r, rows - 1)]
        for k in range(width):
            work.z[U(r * wide + k)] = known.z[U(row), U(k)]
    for r in range(0, rows, LANES):
        most, alike = _patterns(known, places, at + r, at + rows, work)
        if most == 0:
            for lane in range(LANES):
                work.log[r + lane] = 0.0
            continue
        if not (alike and work.held[1] and work.held[0] and work.standing[0] == _own(known, places, at + r)):
            if weigh and work.held[0]:
                _spread(known, moments, work)
            for lane in range(LANES):
                work.standing[lane] = _own(known, places, min(at + r + lane, at + rows - 1))
            work.held[0], work.held[1] = most, int(alike)
            _factor(square, known, work)
        _fill(square, known, r * wide, work)
        for lane in range(LANES):
            work.log[r + lane] = np.nan if work.lost[lane] else work.shift[lane]
            if r + lane < rows and not work.lost[lane]:
                work.waiting[lane] += work.share[r + lane]


@inlined
def _own(known: Holes, places: Index, at: int) -> int:
    return int(known.pattern[places[at]])


@called
def _patterns(known: Holes, places: Index, at: int, end: int, work: Work) -> tuple[int, bool]:
    """Return the most holes of the next rows, one a lane, and whether they share one pattern."""
    most, alike, own = 0, True, known.pattern[places[at]]
    for lane in range(min(LANES, end - at)):
        mine = known.pattern[places[at + lane]]
        alike = alike and mine == own
        most = max(most, known.first[mine + 1] - known.first[mine])
    return most, alike


@inlined
def _take(
    out: Array, at: int, pitch: int, one: Array, i: int, two: Array, j: int, row: int, n: int, many: int
) -> None:
    """Do `take_dot` for ``many`` rows of ``out`` and ``two``, four at a time."""
    for r in range(0, many - many % HIGH, HIGH):
        take_dots(out, at + r * pitch, pitch, one, i, two, j + r * row, row, n)
    for r in range(many - many % HIGH, many):
        take_dot(out, at + r * pitch, pitch, one, i, two, j + r * row, row, n)


@called
def _gather(square: Array, known: Holes, work: Work) -> None:
    """Fetch the lower halves of the standing patterns' K_hh; beyond a pattern's holes is the identity."""
    most, lower, holes = work.held[0], work.lower, known.holes
    for lane in range(LANES):
        begin = known.first[work.standing[lane]]
        count = known.first[work.standing[lane] + 1] - begin
        for i in range(most):
            place = i * most * LANES + lane
            if i < count:
                row = square[holes[U(begin + i)]]
                for j in range(i + 1):
                    lower[U(place + j * LANES)] = row[U(holes[U(begin + j)])]
            else:
                for j in range(i + 1):
                    lower[U(place + j * LANES)] = 1.0 if i == j else 0.0
        work.lost[lane] = False
        work.shift[lane] = 0.5 * LOG_2PI * count
        work.waiting[lane] = 0.0


@called
def _factor(square: Array, known: Holes, work: Work) -> None:
    """Make the factors of K_hh of the standing patterns, and note which have lost too many digits."""
    most, lower, pivot = work.held[0], work.lower, work.pivot
    _gather(square, known, work)
    step = most * LANES
    for j in range(most):
        row, place = j * step, j * step + j * LANES
        for lane in range(LANES):
            pivot[U(j * LANES + lane)] = SOUND * lower[U(place + lane)]
        _take(lower, place, step, lower, row, lower, row, step, j, most - j)
        for lane in range(LANES):
            sound = lower[U(place + lane)] > pivot[U(j * LANES + lane)]
            work.lost[U(lane)] |= not sound
            lower[U(place + lane)] = lower[U(place + lane)] if sound else 1.0
        for lane in range(LANES):
            pivot[U(j * LANES + lane)] = 1.0 / np.sqrt(lower[U(place + lane)])
        for i in range(j + 1, most):
            multiply_lanes(lower, i * step + j * LANES, pivot, j * LANES)
    _add_logs(most, work)


@called
def _add_logs(most: int, work: Work) -> None:
    """Add −log det L to the shifts: the logarithm of four pivots at a time, whose product cannot vanish."""
    for lane in range(LANES):
        for i in range(0, most, 4):
            product = 1.0
            for k in range(i, min(i + 4, most)):
                product *= work.pivot[k * LANES + lane]
            work.shift[lane] += np.log(product)


@called
def _fill(square: Array, known: Holes, start: int, work: Work) -> None:
    """Put the holes' means into the rows of the block from place ``start`` on, one a lane."""
    most, lower, pivot, right, z = work.held[0], work.lower, work.pivot, work.right, work.z
    width = len(square)
    for lane in range(LANES):
        begin, row = known.first[work.standing[lane]], start + lane * padded(width)
        count = known.first[work.standing[lane] + 1] - begin
        for i in range(most):
            total = 0.0
            if i < count:
                hole = known.holes[U(begin + i)]
                for k in range(width):
                    total -= square[U(hole), U(k)] * z[U(row + k)]
            right[U(i * LANES + lane)] = total
    for i in range(most):
        take_dot(right, i * LANES, 0, lower, i * most * LANES, right, 0, 0, i)
        multiply_lanes(right, i * LANES, pivot, i * LANES)
    for i in range(most - 1, -1, -1):
        multiply_lanes(right, i * LANES, pivot, i * LANES)
        _take(right, 0, LANES, right, i * LANES, lower, i * most * LANES, LANES, 1, i)
    for lane in range(LANES):
        begin, row = known.first[work.standing[lane]], start + lane * padded(width)
        count = 0 if work.lost[lane] else known.first[work.standing[lane] + 1] - begin
        for i in range(count):
            z[row + known.holes[begin + i]] = right[i * LANES + lane]


@called
def _invert(work: Work) -> None:
    """Make the transposes of the factors' inverses: upper halves, and zeros below."""
    most, lower, inverse, pivot = work.held[0], work.lower, work.inverse, work.pivot
    step = most * LANES
    for i in range(most * step):
        inverse[U(i)] = 0.0
    for i in range(most):
        place = i * LANES
        for j in range(0, i - i % HIGH, HIGH):
            at, first = j * step, j * LANES
            take_dots(inverse, at + place, step, lower, i * step + first, inverse, at + first, step, i - j)
        for j in range(i - i % HIGH, i):
            at, first = j * step, j * LANES
            take_dot(inverse, at + place, step, lower, i * step + first, inverse, at + first, step, i - j)
        for j in range(i):
            multiply_lanes(inverse, j * step + place, pivot, place)
        for lane in range(LANES):
            inverse[U(i * step + place + lane)] = pivot[U(place + lane)]


@called
def _spread(known: Holes, out: Array, work: Work) -> None:
    """Add the covariances of the standing patterns' holes, times what waits for them, to upper moments."""
    most, inverse, lower, lanes = work.held[0], work.inverse, work.lower, LANES
    if work.held[1]:
        lanes = 1
        for lane in range(1, LANES):
            work.waiting[0] += work.waiting[lane]
    _invert(work)
    step = most * LANES
    for i in range(most * step):
        lower[U(i)] = 0.0
    for i in range(most):
        start = i * step + i * LANES
        _take(lower, i * step, LANES, inverse, start, inverse, i * LANES, step, most - i, i + 1)
    wide = padded(known.z.shape[1])
    for lane in range(lanes):
        weight, begin = work.waiting[lane], known.first[work.standing[lane]]
        count = known.first[work.standing[lane] + 1] - begin if weight else 0
        for i in range(count):
            column, place = known.holes[U(begin + i)], i * step + lane
            for j in range(i + 1):
                at = known.holes[U(begin + j)] * wide + column
                out[U(at)] -= weight * lower[U(place + j * LANES)]
    work.held[0] = 0
