"""Greedy climbs over graphs whose scores are read off one matrix, all moves in one call.

Each step is what `lacunary.structure.board` and `lacunary.structure.sketch` say: the best move is made, and
taken back if the families' own scores, which depend on the graph alone, do not rise by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels import hooks
from lacunary.kernels.compile import COMPILES, called, compact
from lacunary.kernels.graph import choose, link, unlink
from lacunary.kernels.swept import charged_terms, integrated_terms

__all__ = ["Law", "Places", "Room", "Rules", "ascend", "is_due", "room_for"]

Bools = NDArray[np.bool_]
Array = NDArray[np.float64]
Index = NDArray[np.int64]

EASY = 3000
"""Variables of all boards together from which on the kernel is compiled: without it they take about a quarter
of a second, and compiling takes two."""

_met = [0]


class Law(NamedTuple):
    """How families are scored: see `lacunary.kernels.swept`.

    Attributes
    ----------
    charged
        Whether by BIC; else by their evidence.
    scales, counts
        The matrix, and the number of rows; (1, n, n) and (1,).
    prior, nu, dof
        Of the evidence.
    floor, charge
        Of BIC; (n,) and a number.
    units
        What is taken off every term of a child; (n,).
    """

    charged: bool
    scales: Array
    counts: Array
    prior: Array
    nu: float
    dof: float
    floor: Array
    charge: float
    units: Array


class Places(NamedTuple):
    """A graph, and what its families score: the arrays of a board and its sketch."""

    arcs: Bools
    above: Bools
    many: Index
    gain: Array
    terms: Array


class Rules(NamedTuple):
    """Which moves there are, and what a number of links is worth beforehand, as of `best_move`."""

    free: Bools
    required: Bools
    most: int
    counted: Bools
    logs: Array


class Room(NamedTuple):
    """Room to work in."""

    rows: Array
    swept: Array
    fresh: Array
    parents: Index
    waiting: Index


def is_due(variables: int) -> bool:
    """Whether a board of so many variables is for the kernel: it is on disk, or pays."""
    _met[0] += variables
    return COMPILES and (_met[0] > EASY or hooks.is_stored(ascend))


def room_for(size: int) -> Room:
    """Return room for graphs of so many variables."""
    rows, places = np.empty((size + 3, max(size + 1, 3))), np.empty(size, dtype=np.int64)
    return Room(rows, np.empty((2, 2, size + 1)), np.empty((2, size + 1)), places, places.copy())


@called
def _score(law: Law, arcs: Bools, child: int, room: Room, out: Array) -> None:
    """Write the child's terms for each toggle of its parents and, last, for none; (n + 1,)."""
    n, many = len(arcs), 0
    for parent in range(n):
        if arcs[parent, child]:
            room.parents[many] = parent
            many += 1
    parents = room.parents[:many]
    if law.charged:
        charged_terms(
            law.scales, law.counts, law.floor[child], law.charge, 0.0,
            child, parents, room.rows, room.swept, out,
        )  # fmt: skip
    else:
        integrated_terms(
            law.scales, law.counts, law.prior, law.nu, law.dof, child, parents, room.rows, room.swept, out
        )
    for j in range(n + 1):
        out[j] -= law.units[child]
    out[child] = -np.inf


@called
def _put(child: int, fresh: Array, places: Places) -> None:
    """Put a child's terms, (n + 1,), where they belong."""
    n = len(places.terms)
    own = places.terms[child] = fresh[n]
    for j in range(n):
        if own != -np.inf:
            places.gain[j, child] = fresh[j] - own
        else:  # from one family without a score to another nothing is gained
            places.gain[j, child] = np.inf if fresh[j] > -np.inf else -np.inf


@called
def _toggle(places: Places, tail: int, head: int, room: Room) -> int:
    """Put an arc in, or take it out; return by how much the arcs are more."""
    if places.arcs[tail, head]:
        places.arcs[tail, head] = False
        places.many[head] -= 1
        unlink(places.arcs, places.above, head, room.waiting)
        return -1
    places.arcs[tail, head] = True
    places.many[head] += 1
    link(places.above, tail, head)
    return 1


@called
def _tie(terms: Array, rounding: float) -> float:
    total = 0.0
    for term in terms:
        if np.isfinite(term):
            total += abs(term)
    return rounding * max(total, 1.0)


@compact
def ascend(
    law: Law,
    places: Places,
    children: Index,
    rules: Rules,
    barred: Bools,
    links: int,
    rounding: float,
    room: Room,
    moves: Index,
    gains: Array,
) -> tuple[int, int]:
    """Score the families of some children; then make the best move until none gains, or ``moves`` are full.

    Returns how many were made, and how many links count then.

    Parameters
    ----------
    law, places, rules
        The score, the graph and the moves.
    children
        Variables whose parents have changed since they were scored.
    barred
        Which arcs are to be left as they are; (n, n).
    links
        How many links of the graph count.
    rounding
        By what part of the families' scores a gain must differ from another, or from zero.
    room
        That of `room_for`.
    moves, gains
        Written for each move: its kind as of `best_move`, tail and head; and what it added, and the new terms
        of head and, where it is turned round, of tail; (most, 3) each.
    """
    logs, taken = rules.logs, 0
    for child in children:
        _score(law, places.arcs, child, room, room.fresh[0])
        _put(child, room.fresh[0], places)
    while taken < len(moves):
        more = logs[links + 1] - logs[links] if links + 1 < len(logs) else 0.0
        less = logs[links - 1] - logs[links] if links else 0.0
        tie = _tie(places.terms, rounding)
        kind, tail, head, gain = choose(
            places.arcs, places.above, rules.free, rules.required, places.many, rules.most, barred,
            places.gain, rules.counted, more, less, tie,
        )  # fmt: skip
        if kind == 0 or gain <= tie:
            break
        change = _toggle(places, tail, head, room)
        _score(law, places.arcs, head, room, room.fresh[0])
        added = room.fresh[0, -1] - places.terms[head]
        if kind == 2:
            _toggle(places, head, tail, room)
            _score(law, places.arcs, tail, room, room.fresh[1])
            added += room.fresh[1, -1] - places.terms[tail]
        elif rules.counted[tail, head]:
            added += more if change > 0 else less
        if not added > tie:  # the gains were worked out for many moves at once, to rounding
            if kind == 2:
                _toggle(places, head, tail, room)
            _toggle(places, tail, head, room)
            break
        _put(head, room.fresh[0], places)
        if kind == 2:
            _put(tail, room.fresh[1], places)
        elif rules.counted[tail, head]:
            links += change
        moves[taken, 0], moves[taken, 1], moves[taken, 2] = kind * change if kind == 1 else kind, tail, head
        gains[taken, 0], gains[taken, 1], gains[taken, 2] = added, places.terms[head], places.terms[tail]
        taken += 1
    return taken, links
