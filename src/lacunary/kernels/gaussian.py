"""Gaussian rows with any pattern of holes: log-densities and moments.

A density is exp(g − ½‖Az‖²) with z = (1, x); see `lacunary.infer.gaussian`. Rows are filled some at a time
(`lacunary.kernels.filling`), and then multiplied as complete ones are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.arena import Arena, pointed
from lacunary.kernels.compile import bare, called, compact
from lacunary.kernels.filling import (
    BLOCK,
    HEAD,
    Block,
    Holes,
    Means,
    Work,
    height_of,
    load,
    padded,
    spread,
    work_in,
)
from lacunary.kernels.lanes import LANES, U
from lacunary.kernels.panels import LARGE, PANEL, squared_norms
from lacunary.kernels.tile import HIGH, add_products, add_twice

__all__ = [
    "Forms",
    "Tasks",
    "add_moments",
    "add_plain_moments",
    "add_up",
    "log_densities",
    "log_densities_of_panels",
]

Array = NDArray[np.float64]
Index = NDArray[np.int64]

NOTHING_LOST = np.zeros((0, 0), dtype=np.bool_)


class Tasks(NamedTuple):
    """What is asked: rows under densities.

    Attributes
    ----------
    density, many
        Task t takes ``many[t]`` densities from ``density[t]`` on: 1, 2, 4 or 8; (tasks,) each.
    first, last
        They are taken for the rows ``places[first[t]:last[t]]``; (tasks,) each.
    square, slot
        Where the K of these densities begin in ``Forms.square``, and their sums among those of all tasks;
        (tasks,) each.
    places
        Rows, task by task.
    """

    density: Index
    many: Index
    first: Index
    last: Index
    square: Index
    slot: Index
    places: Index


class Forms(NamedTuple):
    """Densities.

    Attributes
    ----------
    turned
        The roots A in tiles, as `lacunary.kernels.panels` has them; flat.
    reach
        For each density and tile, the first column that is not zero, and one past the last; flat.
    tiles
        How many tiles a density has; (1,).
    constant
        g; (densities,).
    square
        K = AᵀA of densities that are taken together, as (n + 1, n + 1, many), one after the other; flat, and
        empty where no row has a hole. For rows that are taken the other way, Σ bordered by μ; and their
        ``constant`` is what is added to a normal log-density.
    """

    turned: Array
    reach: Index
    tiles: Index
    constant: Array
    square: Array


def log_densities(
    known: Holes,
    kept: Means,
    forms: Forms,
    tasks: Tasks,
    begin: int,
    end: int,
    columns: Index,
    out: Array,
    room: Arena,
    seen: bool,
) -> None:
    """Put the log-densities of observed cells into ``out``, (columns, rows); NaN where digits were lost.

    ``room`` is that of `room_for`; ``seen``: rows are taken the other way, and means are not ``kept``.
    """
    visit(known, kept, forms, tasks, begin, end, columns, out, NOTHING_LOST, out, room, False, seen)


def add_moments(
    known: Holes,
    kept: Means,
    forms: Forms,
    tasks: Tasks,
    begin: int,
    end: int,
    columns: Index,
    weights: Array,
    lost: NDArray[np.bool_],
    out: Array,
    room: Arena,
    seen: bool,
) -> None:
    """Add Σ weight · E[z zᵀ] of each task's rows to ``out``, but for rows where digits were lost.

    ``weights`` is (columns, rows); ``lost`` is (most densities of a task, places); ``out`` is (densities of
    all tasks, w²) for w = `wide_for` (n + 1), from place `HEAD` on. ``room`` is that of `room_for`.
    ``seen``: rows are taken the other way, and added is Σ weight · ((1, u)(1, u)ᵀ − S⁻¹).
    """
    visit(known, kept, forms, tasks, begin, end, columns, weights, lost, out, room, True, seen)


@compact
def visit(
    known: Holes,
    kept: Means,
    forms: Forms,
    tasks: Tasks,
    begin: int,
    end: int,
    columns: Index,
    weights: Array,
    lost: NDArray[np.bool_],
    out: Array,
    room: Arena,
    weigh: bool,
    seen: bool,
) -> None:
    """Do `add_moments` if ``weigh``, else `log_densities`: most of either is compiled once then.

    ``kept``, ``columns``, ``weights``, ``lost``, ``out`` and ``room`` are theirs.
    """
    work = work_in(room)
    width, tiles, holes = known.z.shape[1], forms.tiles[0], len(known.holes) > 0
    known, kept, forms, tasks = pointed(known), pointed(kept), pointed(forms), pointed(tasks)
    for t in range(begin, end):  # ``out`` has all of the tasks before t
        many = tasks.many[t]
        work.held[0] = 0
        for i in range(width * width * many if weigh and holes else 0):
            work.covariance[U(i)] = 0.0
        # Rows before ``at`` are in ``out``, or their covariances in ``work``.
        for at in range(tasks.first[t], tasks.last[t], height_of(many)):
            rows = min(tasks.last[t] - at, height_of(many))
            pitch = padded(rows) if weigh else (rows + PANEL - 1) // PANEL * PANEL
            block = Block(at, rows, tasks.density[t], many, pitch, tasks.square[t], width)
            for own in range(many if weigh else 0):
                weight = weights[columns[tasks.density[t] + own]]
                for r in range(rows):
                    work.share[own * block.pitch + r] = weight[tasks.places[at + r]]
            load(forms.square, known, kept, tasks.places, block, work, weigh, seen)
            for own in range(many):
                c = tasks.density[t] + own
                if weigh:
                    _add_squares(own, block, lost[own], out[tasks.slot[t] + own], work)
                elif seen:
                    for r in range(rows):
                        log = work.log[own * block.pitch + r]
                        out[columns[c], tasks.places[at + r]] = forms.constant[c] + log
                else:
                    _residuals(forms, c, tiles, own * pitch, block, tasks.places, out[columns[c]], work)
        if weigh and work.held[0]:
            spread(known, width, many, work)
        for own in range(many if weigh else 0):
            sign = -1.0 if seen else 1.0
            _finish(width, own, many if holes else 0, sign, out[tasks.slot[t] + own], work)


@bare
def log_densities_of_panels(
    rows: Array,
    many: int,
    width: int,
    forms: Forms,
    first: int,
    last: int,
    columns: Index,
    room: Array,
    out: Array,
) -> None:
    """Put the log-densities of rows without holes, in the panels from ``first`` to ``last``, into ``out``.

    ``rows`` are in panels, ``many`` of them in all, z ``width`` numbers long; ``room`` has `PANEL` numbers,
    and ``out`` is (columns, rows).
    """
    forms = pointed(forms)
    for p in range(first, last):  # ``out`` has the rows of all panels before
        end = min(PANEL, many - p * PANEL)
        for c in range(len(columns)):
            squared_norms(forms.turned, forms.reach, c, forms.tiles[0], width, rows, p * width * PANEL, room)
            own = out[columns[c]]
            for i in range(end):
                half = 0.5 * room[U(i)] if room[U(i)] < LARGE else 0.5 * LARGE
                own[U(p * PANEL + i)] = forms.constant[c] - half


@called
def _residuals(
    forms: Forms, c: int, tiles: int, first: int, block: Block, places: Index, out: Array, work: Work
) -> None:
    """Put the log-densities of the block's rows under density c, which stand from row ``first`` on."""
    for r in range(0, block.rows, PANEL):
        squared_norms(
            forms.turned, forms.reach, c, tiles, block.width, work.z, (first + r) * block.width, work.sums
        )
        for i in range(r, min(r + PANEL, block.rows)):
            squared = work.sums[U(i - r)]
            half = 0.5 * squared if squared < LARGE else 0.5 * LARGE
            out[places[block.at + i]] = forms.constant[c] + work.log[first + i] - half


@called
def _add_squares(own: int, block: Block, lost: NDArray[np.bool_], out: Array, work: Work) -> None:
    """Add Σ weight z zᵀ of the block's rows under one density to the upper half of its moments."""
    first, wide = own * block.pitch, padded(HEAD + block.width)
    kept, base = 0, own * block.pitch * wide
    for r in range(block.rows):  # those before r that count for anything stand first
        lost[block.at + r] = np.isnan(work.log[first + r])
        share = 0.0 if lost[block.at + r] else work.share[first + r]
        if share == 0.0:
            continue
        start, to, put = base + r * wide, base + kept * wide, kept * wide
        for k in range(HEAD, wide):
            value = work.z[U(start + k)]
            work.z[U(to + k)], work.weighted[U(put + k)] = value, share * value
        for k in range(HEAD, wide):
            out[U(HEAD * wide + k)] += work.weighted[U(put + k)]
        kept += 1
    _multiply(work.weighted, work.z, base, kept, wide, out)


@called
def _multiply(weighted: Array, z: Array, base: int, rows: int, wide: int, out: Array) -> None:
    """Add Σ weight z zᵀ of so many rows, which stand from ``base`` on, to the upper half of moments."""
    for i in range(LANES, wide if rows else 0, HIGH):
        for j in range(i, wide - LANES, 2 * LANES):
            add_twice(out, i * wide + j, wide, weighted, i, 1, wide, z, base + j, wide, rows)
        if (wide - i) // LANES % 2:
            j = wide - LANES
            add_products(out, i * wide + j, wide, weighted, i, 1, wide, z, base + j, wide, rows)


@bare
def add_plain_moments(
    z: Array, weights: Array, least: Array, begin: int, end: int, counted: Index, room: Array, out: Array
) -> None:
    """Add Σ weight · z zᵀ over rows without holes, from ``begin`` to ``end``, to each density's moments.

    Parameters
    ----------
    z
        (1, x); (rows, n + 1).
    weights, least
        (densities, rows); and what a row must weigh more than to leave a trace, (densities,).
    counted
        As many places as rows, at least.
    room
        2 × `BLOCK` rows as long as w = `wide_for` (n + 1); zeros, flat.
    out
        (densities, w²), from place `HEAD` on.
    """
    width = z.shape[1]
    wide = padded(HEAD + width)
    rows, weighted = room[: BLOCK * wide], room[BLOCK * wide :]
    for c in range(len(weights)):  # ``out`` has all rows of the densities before
        own, kept = out[c], 0
        for r in range(begin, end):  # without a branch: nobody can guess which rows count
            counted[kept] = r
            kept += 1 if weights[c, U(r)] > least[c] else 0
        for first in range(0, kept, BLOCK):  # rows before ``first`` are in ``out``
            some = min(BLOCK, kept - first)
            for r in range(some):
                row, at = counted[first + r], r * wide + HEAD
                share, line = weights[c, row], z[row]
                for k in range(width):
                    value = line[U(k)]
                    rows[U(at + k)], weighted[U(at + k)] = value, share * value
                    own[U(HEAD * wide + HEAD + k)] += share * value
            _multiply(weighted, rows, 0, some, wide, own)


@bare
def add_up(parts: Array, out: Array) -> None:
    """Add up the upper halves of moments, (parts, densities, w²), and put them whole into ``out``.

    That holds zeros; (densities, n + 1, n + 1).
    """
    width = out.shape[1]
    wide = padded(HEAD + width)
    for c in range(len(out)):
        for i in range(width):
            at, own = (HEAD + i) * wide + HEAD, out[c, i]
            for part in range(len(parts)):  # ``own`` has the parts before
                some = parts[part, c]
                for j in range(i, width):
                    own[U(j)] += some[U(at + j)]
            for j in range(i):
                own[j] = out[c, j, i]


@called
def _finish(width: int, own: int, many: int, sign: float, out: Array, work: Work) -> None:
    """Add, or subtract, the covariances, if there are any, and fill the lower half of a density's moments."""
    wide = padded(HEAD + width)
    for i in range(width if many else 0):
        for j in range(i + 1):
            out[(HEAD + j) * wide + HEAD + i] += sign * work.covariance[(i * width + j) * many + own]
    for i in range(HEAD, wide):
        for j in range(HEAD, i):
            out[i * wide + j] = out[j * wide + i]
