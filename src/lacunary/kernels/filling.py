"""Rows with holes, made ready to be multiplied: eight factors at a time.

With K = AᵀA the holes h of a row have, given its observed cells, the precision K_hh = LLᵀ and the mean
−K_hh⁻¹ K_ho z_o. Eight factors L stand side by side in lanes: those of a row under eight densities, whose K
lie interleaved, or of two rows under four, of four under two, of eight under one. So as many patterns as rows
cost little more than a few; where neighbours share a pattern its factors stand until another one comes.

Rows with more holes than observed cells are taken the other way (``seen``): with the mean μ and the
covariance Σ of a density, S = Σ_oo = LLᵀ has all that is asked. Their log-density is that of x_o; and with
u = S⁻¹(x_o − μ_o), zero at the holes, E[x] = μ + Σu and E[(x − μ)(x − μ)ᵀ] = Σ + Σ(uuᵀ − S⁻¹)Σ, so that u and
S⁻¹ are all that is added up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.arena import Arena, blank, tuple_in
from lacunary.kernels.compile import called, inlined
from lacunary.kernels.factors import (
    add_product,
    add_square,
    below,
    below_led,
    diagonal,
    diagonal_led,
    inverse,
    product,
    solve_down,
    solve_up,
)
from lacunary.kernels.lanes import LANES, U
from lacunary.kernels.panels import LARGE, PANEL
from lacunary.kernels.tile import HIGH
from lacunary.kernels.tiled_rows import add_row, copy_row, dots, folded
from lacunary.kernels.writer import AREA, TILE

__all__ = [
    "BLOCK",
    "HEAD",
    "Block",
    "Holes",
    "Means",
    "Work",
    "height_of",
    "load",
    "padded",
    "room_for",
    "spread",
    "wide_for",
    "work_in",
]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

BLOCK = 64
"""Rows that are filled before they are multiplied, half as many under four densities or more: few enough for
the nearest caches."""

HEAD = LANES - 1
"""Places before z in a row of a block, so that x begins a vector: the one before it would take another."""

LOG_2, LOG_2PI = float(np.log(2.0)), float(np.log(2.0 * np.pi))


class Holes(NamedTuple):
    """Rows and their holes.

    Attributes
    ----------
    z
        (1, x) of the rows, zero where there is a hole; (rows, n + 1).
    pattern
        Which pattern of holes a row has; (rows,).
    first, holes
        The holes of pattern p, as places in z, are ``holes[first[p]:first[p + 1]]``, ascending; of rows that
        are taken the other way, the observed cells.
    """

    z: Array
    pattern: Index
    first: Index
    holes: Index


class Work(NamedTuple):
    """Room for one thread.

    Attributes
    ----------
    z, weighted
        Rows of a block with their holes filled, density by density: in panels where log-densities are asked
        for, else z stands at place `HEAD` of each row, `wide_for` numbers long. And those of one density
        times their weights; flat.
    sums
        A block of `HIGH` × `LANES` sums, and one of their squares; flat.
    lower
        In lanes: the factors L, then the covariances of the holes; in tiles.
    right
        In lanes: what is solved for, then the means; flat, m × `LANES`.
    covariance
        What the holes' covariances add up to, (n + 1, n + 1, many), below the diagonal; flat.
    state, shift, waiting
        In lanes: what `diagonal` keeps, first of all whether a factor has lost too many digits, and last
        ½‖L⁻¹(x_o − μ_o)‖² of rows that are taken the other way; ±½|h| log 2π − log det L; and what those rows
        weigh whose covariance is still to be added.
    weight
        What a row's covariance weighs under each of its densities.
    values, places, base
        Values of a row; where they, or its holes, stand in a row of K; and where rows of K begin, four of
        them or those of all holes.
    standing
        In groups of lanes, one group a row: the pattern whose factors stand.
    log, share
        Of each row of the block and density: its shift, NaN where that is lost; and its weight.
    held
        How many holes the factors that stand are for, 0 if none do; and whether all rows have the same.
    """

    z: Array
    weighted: Array
    sums: Array
    lower: Array
    right: Array
    covariance: Array
    state: Array
    shift: Array
    waiting: Array
    weight: Array
    values: Array
    places: Index
    base: Index
    standing: Index
    log: Array
    share: Array
    held: Index


class Means(NamedTuple):
    """What holes probably hold, kept from one question for the next.

    Attributes
    ----------
    means
        Row by row, and of a row density by density; flat.
    first
        Where those of a row begin, (rows,); −1 alone if none are kept.
    """

    means: Array
    first: Index


class Block(NamedTuple):
    """Rows that are worked on together: ``rows`` of them from ``at`` on among a task's places.

    ``many`` densities from ``density`` on take each; the rows of one lie ``pitch`` rows after those of the
    one before. Their K begin at ``square``. z is ``width`` numbers long.
    """

    at: int
    rows: int
    density: int
    many: int
    pitch: int
    square: int
    width: int


DOUBLE, LONG = np.dtype(np.float64), np.dtype(np.int64)
WORK = (*(DOUBLE,) * 11, *(LONG,) * 3, DOUBLE, DOUBLE, LONG)

work_in: Callable[[Any], Work] = tuple_in(Work, WORK)
"""Returns the `Work` in an arena, inside a kernel; its arrays are pointers there."""


def wide_for(width: int) -> int:
    """Return how long a row of a block is for z of this width."""
    return -(-(HEAD + width) // LANES) * LANES


def room_for(known: Holes, many: int) -> Arena:
    """Return room for these rows under so many densities at a time: an arena with a `Work`."""
    width = known.z.shape[1]
    wide, most = wide_for(width), int(np.diff(known.first).max(initial=0))
    tiles, slots = -(-most // TILE), many * BLOCK
    covariance = width * width * many if most else 0
    rows, lanes = (slots * wide, BLOCK * wide, 2 * HIGH * LANES), (4 * LANES, LANES, LANES, LANES)
    factors = tiles * tiles * AREA, tiles * TILE * LANES, covariance
    each = wide * many, wide + TILE, wide + TILE, LANES, slots, slots, 2
    return blank((*rows, *factors, *lanes, *each), WORK)


@inlined
def padded(width: int) -> int:
    """Return so many numbers, filled up to a multiple of `LANES`."""
    return (width + LANES - 1) // LANES * LANES


@inlined
def height_of(many: int) -> int:
    """Return how many rows make a block."""
    return BLOCK if many <= 2 else BLOCK // 2


@called
def load(
    square: Array,
    known: Holes,
    kept: Means,
    places: Index,
    block: Block,
    work: Work,
    weigh: bool,
    seen: bool,
) -> None:
    """Fill a block with rows, their holes at their means; covariances wait, or are added, if ``weigh``.

    ``seen``: with (1, u), if ``weigh``. ``square`` are the K, or the covariances, of all densities, those of
    this block's from ``block.square`` on, interleaved; ``places`` are rows of ``known``. Means are ``kept``,
    or taken from there if ``weigh``.
    """
    width, many = block.width, block.many
    group = LANES // block.many
    if weigh:
        _lay_rows(known, places, block, seen, work)
    elif not seen:
        _lay_panels(known, places, block, work)
    # Rows before r are filled; those whose covariances wait share the holes of ``standing``.
    for r in range(0, block.rows, group):
        at, end = block.at + r, block.at + block.rows
        most, alike = _patterns(known, places, at, min(at + group, end))
        if most == 0:
            for lane in range(LANES):
                work.log[(lane % many) * block.pitch + r + lane // many] = 0.0
            continue
        if not (alike and work.held[1] and work.held[0] and work.standing[0] == _own(known, places, at)):
            if weigh and work.held[0]:
                spread(known, width, many, work)
            for k in range(group):
                work.standing[k] = _own(known, places, min(at + k, end - 1))
            work.held[0], work.held[1] = most, int(alike)
            _factor(square, known, block, -0.5 if seen else 0.5, work)
        if weigh and kept.first[0] >= 0:
            _recall(known, kept, places, block, r, work)
        else:
            _fill(square, known, kept, places, block, r, work, weigh, seen)
        for lane in range(LANES):
            row, slot = r + lane // many, (lane % many) * block.pitch + r + lane // many
            sound = work.state[lane] == 0.0
            work.log[slot] = work.shift[lane] - work.state[3 * LANES + lane] if sound else np.nan
            if weigh and row < block.rows and sound:
                work.waiting[lane] += work.share[slot]


@called
def _lay_rows(known: Holes, places: Index, block: Block, seen: bool, work: Work) -> None:
    """Put the rows of a block for each of its densities, as they are; (1, 0), if ``seen``.

    Rows that count for nothing are left out.
    """
    width = block.width
    wide = padded(HEAD + width)
    for r in range(block.rows):
        row = places[block.at + r]
        for own in range(block.many):
            start = (own * block.pitch + r) * wide + HEAD
            if work.share[own * block.pitch + r] == 0.0:
                continue
            if seen:
                for k in range(width):
                    work.z[U(start + k)] = 1.0 if k == 0 else 0.0
            else:
                for k in range(width):
                    work.z[U(start + k)] = known.z[U(row * width + k)]


@called
def _lay_panels(known: Holes, places: Index, block: Block, work: Work) -> None:
    """Put the rows of a block, in panels, for each of its densities."""
    width, size = block.width, block.pitch * block.width
    for r in range(block.pitch):
        row = places[block.at + min(r, block.rows - 1)] * width
        start = r // PANEL * width * PANEL + r % PANEL
        for k in range(width):
            work.z[U(start + k * PANEL)] = known.z[U(row + k)]
    for own in range(1, block.many):
        for k in range(size):
            work.z[U(own * size + k)] = work.z[U(k)]


@inlined
def _own(known: Holes, places: Index, at: int) -> int:
    return int(known.pattern[places[at]])


@called
def _patterns(known: Holes, places: Index, at: int, end: int) -> tuple[int, bool]:
    """Return the most holes of some rows, and whether they share one pattern."""
    most, alike, own = 0, True, known.pattern[places[at]]
    for k in range(at, end):
        mine = known.pattern[places[k]]
        alike = alike and mine == own
        most = max(most, known.first[mine + 1] - known.first[mine])
    return most, alike


@inlined
def _tiles(holes: int) -> int:
    return (holes + TILE - 1) // TILE


@inlined
def _row(i: int, tiles: int) -> int:
    """Return where row i of the matrices in lanes begins."""
    return (i // TILE) * tiles * AREA + (i % TILE) * TILE * LANES


@inlined
def _list_holes(known: Holes, pattern: int, many: int, work: Work) -> int:
    """Put where a pattern's holes stand in a row of K, and return how many there are."""
    begin, end = known.first[pattern], known.first[pattern + 1]
    for i in range(end - begin):
        work.places[U(i)] = known.holes[U(begin + i)] * many
    for i in range(end - begin, end - begin + TILE):
        work.places[U(i)] = 0
    return int(end - begin)


@inlined
def _lead(known: Holes, pattern: int, first: int, many: int, width: int, work: Work) -> int:
    """Put where a pattern's holes stand in a row of K, and where their rows begin; return how many there are.

    K begins at ``first``. Beyond the holes stands a place above the diagonal, where nothing is looked for.
    """
    count = _list_holes(known, pattern, many, work)
    for i in range(count):
        work.base[U(i)] = first + work.places[U(i)] * width
    for i in range(count, count + TILE):
        work.places[U(i)], work.base[U(i)] = (width - 1) * many, first
    return count


@called
def _gather(square: Array, known: Holes, block: Block, half: float, work: Work) -> None:
    """Fetch the lower halves of the standing patterns' K_hh; beyond a pattern's holes is the identity.

    Rows of whole tiles that all lanes share are left where they are, for `_factor` to fetch.
    """
    tiles, many, width = _tiles(work.held[0]), block.many, block.width
    for k in range(LANES // many):
        count, lane = _lead(known, work.standing[k], block.square, many, width, work), k * many
        for i in range(_whole(count, many) * TILE, count):
            row = block.square + work.places[U(i)] * width
            copy_row(work.lower, _row(i, tiles) + lane, square, row, work.places, i // TILE + 1, many)
        for i in range(count, tiles * TILE):
            for j in range(i + 1):
                at = _row(i, tiles) + (j // TILE) * AREA + (j % TILE) * LANES
                for own in range(lane, lane + many):
                    work.lower[U(at + own)] = 1.0 if i == j else 0.0
        for own in range(lane, lane + many):
            work.waiting[own], work.shift[own] = 0.0, half * LOG_2PI * count
            work.state[own], work.state[LANES + own], work.state[2 * LANES + own] = 0.0, 1.0, 0.0
            work.state[3 * LANES + own] = 0.0


@inlined
def _whole(count: int, many: int) -> int:
    """Return how many rows of tiles are fetched when they are worked on: those without an identity's rows."""
    return count // TILE if many == LANES else 0


@called
def _factor(square: Array, known: Holes, block: Block, half: float, work: Work) -> None:
    """Make the factors of K_hh of the standing patterns, and note which have lost too many digits."""
    _gather(square, known, block, half, work)
    tiles, whole = _tiles(work.held[0]), _whole(work.held[0], block.many)
    for j in range(0, tiles, 2):  # columns of tiles before j are those of L
        both = j + 1 < tiles
        _pivot(square, j, tiles, whole, work)
        if both:
            _under(square, j + 1, j, tiles, whole, work)
            _pivot(square, j + 1, tiles, whole, work)
        for i in range(j + 2, tiles):  # a row of tiles is fetched once for two columns
            _under(square, i, j, tiles, whole, work)
            _under(square, i, j + 1, tiles, whole, work)
    for lane in range(LANES):
        log = np.log(work.state[LANES + lane])
        work.shift[lane] += log + LOG_2 * work.state[2 * LANES + lane]


@inlined
def _pivot(square: Array, j: int, tiles: int, whole: int, work: Work) -> None:
    """Make the j-th tile of L on the diagonal."""
    row = j * tiles * AREA
    if j < whole:
        diagonal_led(work.lower, row + j * AREA, row, j, work.state, square, work.base, work.places, j * TILE)
    else:
        diagonal(work.lower, row + j * AREA, row, j, work.state)


@called
def _under(square: Array, i: int, j: int, tiles: int, whole: int, work: Work) -> None:
    """Make tile (i, j) of L, below the diagonal."""
    row, other = j * tiles * AREA, i * tiles * AREA
    inner, at = row + j * AREA, other + j * AREA
    if i < whole:
        base, places = work.base, work.places
        below_led(work.lower, at, other, row, j, inner, square, base, i * TILE, places, j * TILE)
    else:
        below(work.lower, at, other, row, j, inner)


@called
def _recall(known: Holes, kept: Means, places: Index, block: Block, r: int, work: Work) -> None:
    """Put the holes' means that are kept into the next rows of the block, from row ``r`` on."""
    many, wide = block.many, padded(HEAD + block.width)
    for lane in range(LANES):
        own, k = lane % many, lane // many
        row = places[min(block.at + r + k, block.at + block.rows - 1)]
        begin, end = known.first[work.standing[k]], known.first[work.standing[k] + 1]
        at, start = kept.first[row] + (block.density + own) * (end - begin), own * block.pitch + r + k
        for i in range(end - begin if work.state[lane] == 0.0 else 0):
            work.z[U(start * wide + HEAD + known.holes[U(begin + i)])] = kept.means[U(at + i)]


@called
def _fill(
    square: Array,
    known: Holes,
    kept: Means,
    places: Index,
    block: Block,
    r: int,
    work: Work,
    weigh: bool,
    seen: bool,
) -> None:
    """Put the holes' means into the next rows of the block, from row ``r`` on; u, if ``seen``.

    ``square``, ``kept`` and ``places`` are those of `load`.
    """
    many, width = block.many, block.width
    tiles, wide = _tiles(work.held[0]), padded(HEAD + width)
    step = 1 if weigh else PANEL
    for k in range(LANES // many):
        row = places[min(block.at + r + k, block.at + block.rows - 1)]
        if seen:
            _centre(square, known, block, row, k, work)
        else:
            _multiply(square, known, block, row, k, work)
    for i in range(tiles):  # of each lane, the first i tiles of ``right`` hold L⁻¹ of what was put there
        row = i * tiles * AREA
        solve_down(work.right, i * TILE * LANES, work.lower, row, i, row + i * AREA)
    if seen:
        _halve_squares(tiles, work)
        if not weigh:
            return
    for i in range(tiles - 1, -1, -1):
        inner = (i * tiles + i) * AREA
        below_it, left = inner + tiles * AREA, tiles - 1 - i
        solve_up(work.right, i * TILE * LANES, work.lower, below_it, tiles * AREA, left, inner)
    for lane in range(LANES):
        begin = known.first[work.standing[lane // many]]
        end = known.first[work.standing[lane // many] + 1] if work.state[lane] == 0.0 else begin
        slot = (lane % many) * block.pitch + r + lane // many
        start = slot * wide + HEAD if weigh else slot // PANEL * width * PANEL + slot % PANEL
        for i in range(end - begin):
            work.z[U(start + known.holes[U(begin + i)] * step)] = work.right[U(i * LANES + lane)]
        if kept.first[0] >= 0 and not weigh:
            row = places[min(block.at + r + lane // many, block.at + block.rows - 1)]
            at = kept.first[row] + (block.density + lane % many) * (end - begin)
            for i in range(end - begin):
                kept.means[U(at + i)] = work.right[U(i * LANES + lane)]


@called
def _centre(square: Array, known: Holes, block: Block, row: int, k: int, work: Work) -> None:
    """Put x_o − μ_o of one row into its group of lanes, the k-th, and zeros beyond its observed cells."""
    many, lane = block.many, k * block.many
    begin, end = known.first[work.standing[k]], known.first[work.standing[k] + 1]
    for i in range(end - begin):
        place = known.holes[U(begin + i)]
        value, mean = known.z[U(row * block.width + place)], block.square + place * many
        for own in range(many):
            work.right[U(i * LANES + lane + own)] = value - square[U(mean + own)]
    for i in range(end - begin, _tiles(work.held[0]) * TILE):
        for own in range(many):
            work.right[U(i * LANES + lane + own)] = 0.0


@called
def _halve_squares(tiles: int, work: Work) -> None:
    """Put ½‖L⁻¹(x_o − μ_o)‖² of every lane."""
    for lane in range(LANES):
        squared = 0.0
        for i in range(tiles * TILE):
            squared += work.right[U(i * LANES + lane)] ** 2
        work.state[3 * LANES + lane] = 0.5 * squared if squared < LARGE else 0.5 * LARGE


@called
def _repeat(row: Array, at: int, width: int, many: int, out: Array) -> None:
    """Put each value of a row once for each of 1, 2 or 4 densities."""
    if many == 4:
        for k in range(width):
            value = row[U(at + k)]
            out[U(4 * k)], out[U(4 * k + 1)], out[U(4 * k + 2)], out[U(4 * k + 3)] = (
                value,
                value,
                value,
                value,
            )
    elif many == 2:
        for k in range(width):
            out[U(2 * k)], out[U(2 * k + 1)] = row[U(at + k)], row[U(at + k)]
    else:
        for k in range(width):
            out[U(k)] = row[U(at + k)]


@called
def _multiply(square: Array, known: Holes, block: Block, row: int, k: int, work: Work) -> None:
    """Put −K_ho z_o of one row into its group of lanes, the k-th, and zeros beyond its holes.

    ``square`` is that of `load`.
    """
    many, width = block.many, block.width
    begin, end = known.first[work.standing[k]], known.first[work.standing[k] + 1]
    seen = 0
    if many == LANES:  # the fewest places
        for place in range(width):
            work.base[U(place)] = 1
        for i in range(begin, end):
            work.base[known.holes[U(i)]] = 0
        for place in range(width):  # without a branch: nobody can guess where holes are
            work.places[U(seen)], work.values[U(seen)] = place * many, known.z[U(row * width + place)]
            seen += work.base[U(place)]
    else:
        _repeat(known.z, row * width, width, many, work.values)
        seen = (width * many + LANES - 1) // LANES
        for place in range(width * many, seen * LANES):
            work.values[U(place)] = 0.0
    for i in range(0, _tiles(work.held[0]) * TILE, TILE):  # the holes before i have their right-hand sides
        at = i * LANES + k * many
        for r in range(TILE if begin + i < end else 0):
            work.base[r] = block.square + known.holes[min(begin + i + r, end - 1)] * width * many
        if begin + i < end and many == LANES:
            dots(work.right, at, square, work.base, work.places, work.values, seen)
        elif begin + i < end:
            folded(work.right, at, square, work.base, work.values, seen, many)
        for r in range(max(end - begin - i, 0), TILE):
            for own in range(many):
                work.right[at + r * LANES + own] = 0.0


@called
def spread(known: Holes, width: int, many: int, work: Work) -> None:
    """Add the covariances of the standing patterns' holes, times what waits for them."""
    tiles, groups = _tiles(work.held[0]), LANES // many
    waiting = 0.0
    for lane in range(LANES):
        waiting += work.waiting[lane]
    if not waiting:
        work.held[0] = 0
        return
    if work.held[1]:
        for lane in range(many, LANES):
            work.waiting[lane % many] += work.waiting[lane]
        groups = 1
    _invert(tiles, work)
    if many == LANES:
        _add_covariances(known, width, tiles, work)
        return
    _square(tiles, work)
    for k in range(groups):  # what the patterns before k have is added
        lane, total = k * many, 0.0
        for own in range(many):
            work.weight[own] = work.waiting[lane + own]
            total += work.weight[own]
        count = _list_holes(known, work.standing[k], many, work) if total else 0
        for i in range(count):
            row, at = work.places[U(i)] * width, _row(i, tiles) + lane
            add_row(work.covariance, row, work.places, work.lower, at, work.weight, i // TILE + 1, many)
    work.held[0] = 0


@called
def _invert(tiles: int, work: Work) -> None:
    """Make the inverses of factors, zero where those are lost."""
    step = tiles * AREA
    for first in range(1, tiles, 2):
        for j in range(first + 1):  # a column of tiles is fetched once for two rows
            for i in range(max(first, j + 1), min(first + 2, tiles)):
                out, inner = i * step + j * AREA, i * step + i * AREA
                inverse(work.lower, out, out, j * step + j * AREA, step, i - j, inner)
    for lane in range(LANES):
        if work.state[lane] != 0.0:
            for at in range(lane, tiles * step, LANES):
                work.lower[at] = 0.0


@called
def _square(tiles: int, work: Work) -> None:
    """Make covariances of the inverses of factors."""
    step = tiles * AREA
    for first in range(0, tiles, 2):
        for j in range(first + 2):  # a column of tiles is fetched once for two others
            for i in range(max(first, j), min(first + 2, tiles)):
                column, at = i * step + i * AREA, i * step + j * AREA
                product(work.lower, at, column, at, step, tiles - i)


@called
def _add_covariances(known: Holes, width: int, tiles: int, work: Work) -> None:
    """Add the covariances of the holes that all lanes share, times what waits for them, tile by tile."""
    step, lower, out = tiles * AREA, work.lower, work.covariance
    base, places, weight = work.base, work.places, work.waiting
    _lead(known, work.standing[0], 0, LANES, width, work)
    for first in range(0, tiles, 2):  # what rows of tiles before have of them is added
        for j in range(first + 2):  # a column of tiles is fetched once for two others
            for i in range(max(first, j), min(first + 2, tiles)):
                column, n, at = i * step + i * AREA, tiles - i, i * TILE
                other = i * step + j * AREA
                if i == j:
                    add_square(lower, out, column, step, n, weight, base, places, at)
                else:
                    add_product(lower, out, column, other, step, n, weight, base, at, places, j * TILE)
    work.held[0] = 0
