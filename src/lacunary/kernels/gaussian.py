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
    HEAD,
    Block,
    Holes,
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

__all__ = ["Forms", "Tasks", "add_moments", "log_densities", "log_densities_of_panels"]

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

    ``room`` is that of `room_for`; ``seen``: rows are taken the other way.
    """
    visit(known, forms, tasks, begin, end, columns, out, NOTHING_LOST, out, room, False, seen)


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
    seen: bool,
) -> None:
    """Add Σ weight · E[z zᵀ] of each task's rows to ``out``, but for rows where digits were lost.

    ``weights`` is (columns, rows); ``lost`` is (most densities of a task, places); ``out`` is (densities of
    all tasks, w²) for w = `wide_for` (n + 1), from place `HEAD` on. ``room`` is that of `room_for`.
    ``seen``: rows are taken the other way, and added is Σ weight · ((1, u)(1, u)ᵀ − S⁻¹).
    """
    visit(known, forms, tasks, begin, end, columns, weights, lost, out, room, True, seen)


@compact
def visit(
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
    weigh: bool,
    seen: bool,
) -> None:
    """Do `add_moments` if ``weigh``, else `log_densities`: most of either is compiled once then.

    ``columns``, ``weights``, ``lost``, ``out`` and ``room`` are theirs.
    """
    work = work_in(room)
    width, tiles, holes = known.z.shape[1], forms.tiles[0], len(known.holes) > 0
    known, forms, tasks = pointed(known), pointed(forms), pointed(tasks)
    for t in range(begin, end):  # ``out`` has all of the tasks before t
        many = tasks.many[t]
        work.held[0] = 0
        for i in range(width * width * many if weigh and holes else 0):
            work.covariance[U(i)] = 0.0
        # Rows before ``at`` are in ``out``, or their covariances in ``work``.
        for at in range(tasks.first[t], tasks.last[t], height_of(many)):
            rows = min(tasks.last[t] - at, height_of(many))
            pitch = padded(rows) if weigh else (rows + PANEL - 1) // PANEL * PANEL
            block = Block(at, rows, many, pitch, tasks.square[t], width)
            for own in range(many if weigh else 0):
                weight = weights[columns[tasks.density[t] + own]]
                for r in range(rows):
                    work.share[own * block.pitch + r] = weight[tasks.places[at + r]]
            load(forms.square, known, tasks.places, block, work, weigh, seen)
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
            squared_norms(
                forms.turned, forms.reach, c, forms.tiles[0], width, rows, p * width * PANEL, room
            )
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
    for i in range(LANES, wide if kept else 0, HIGH):
        for j in range(i, wide - LANES, 2 * LANES):
            add_twice(out, i * wide + j, wide, work.weighted, i, 1, wide, work.z, base + j, wide, kept)
        if (wide - i) // LANES % 2:
            j = wide - LANES
            add_products(out, i * wide + j, wide, work.weighted, i, 1, wide, work.z, base + j, wide, kept)


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
