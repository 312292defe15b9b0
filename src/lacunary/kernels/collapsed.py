"""A chain over graphs of a few discrete variables and what holes hold, with parameters integrated out.

By turns each row's holes are drawn together given the graph and all other rows, from the predictive
probabilities of their counts, and a graph given the rows as they are filled, from all graphs at once
(`lacunary.kernels.layers`). The counts of all sets of variables come from one table of joint counts: with a
state more for each variable, "any", one pass of sums fills it. Sets are numbers whose bits are their members.
"""

from __future__ import annotations

from math import exp, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import bare, called
from lacunary.kernels.layers import add_layers, arc_chances, draw_layers
from lacunary.kernels.variate import log_gamma_variate, uniform

__all__ = ["Fixed", "Moving", "Room", "walk_collapsed"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

NONE = -np.inf


class Fixed(NamedTuple):
    """What stays the same, of n variables, rows with holes, and a table of cells with states "any".

    ``sizes`` and ``stride`` are the variables' states and places in that table, in which ``sets`` says which
    variables a cell names. ``hole_start`` and ``hole`` list each row's holes. ``gain[a, N]`` is
    log Γ(α + N) − log Γ(α) of the a-th of the ``alpha`` there are; ``cells`` and ``above`` say which α a
    set's cells have as a family, and as the parents of each child; (2ⁿ,) and (n, 2ⁿ). ``may`` says which sets
    may be a child's parents, and ``links`` how many links of it count. ``three`` is as in `layers`. ``many``
    is how many links there may be, where their charge is drawn, else 0; ``logs`` is the log prior of each
    number.
    """

    sizes: Integers
    stride: Integers
    sets: Integers
    hole_start: Integers
    hole: Integers
    alpha: Array
    gain: Array
    cells: Integers
    above: Integers
    may: NDArray[np.bool_]
    links: Integers
    three: Integers
    many: int
    charge: float
    logs: Array


class Moving(NamedTuple):
    """Where the chain stands: rows filled, counts of cells, each variable's parents as a set, and chance.

    ``joint`` has room for states "any", and counts all rows, those without holes, too. ``filled`` is 0 while
    holes hold nothing yet.
    """

    codes: Integers
    joint: Array
    parents: Integers
    filled: Integers
    stream: NDArray[np.uint64]


class Room(NamedTuple):
    """Working memory.

    ``sums`` has the counts of all sets; ``score`` what they add to terms, above each child and, last, as
    cells; ``terms`` those terms, and ``zeta`` their sums over sets of parents; (n, 2ⁿ). ``family`` and
    ``parent`` are the counts of the graph's families, (n, cells), at ``place`` and ``up`` of each variable's
    states. ``choice`` has room for all ways to fill a row. All else is as in `layers`.
    """

    sums: Array
    score: Array
    terms: Array
    zeta: Array
    family: Array
    parent: Array
    place: Integers
    up: Integers
    choice: Array
    masks: Integers
    logs: Array
    who: Integers
    steps: Array
    below: Array
    passed: Array
    chances: Array
    layers: Integers


@called
def _lay_families(fixed: Fixed, moving: Moving, room: Room) -> None:
    """Count the graph's families in the joint table."""
    n = len(fixed.sizes)
    for i in range(n):
        size = 1
        for v in range(n):
            inside = (moving.parents[i] >> v) & 1
            room.up[i, v] = size if inside else 0
            size *= fixed.sizes[v] if inside else 1
        for v in range(n):
            room.place[i, v] = room.up[i, v]
        room.place[i, i] = size
        for c in range(size * fixed.sizes[i]):
            room.family[i, c] = 0.0
        for c in range(size):
            room.parent[i, c] = 0.0
    full = (1 << n) - 1
    for c in range(len(moving.joint)):
        count = moving.joint[c]
        if count > 0.0 and fixed.sets[c] == full:  # the families have all rows in the cells before c
            for i in range(n):
                up = 0
                for v in range(n):
                    up += room.up[i, v] * ((c // fixed.stride[v]) % (fixed.sizes[v] + 1))
                room.parent[i, up] += count
                own = (c // fixed.stride[i]) % (fixed.sizes[i] + 1)
                room.family[i, up + room.place[i, i] * own] += count


@called
def _add_row(fixed: Fixed, moving: Moving, room: Room, r: int, sign: float) -> None:
    """Add a row to all counts, or take it away."""
    n, cell = len(fixed.sizes), 0
    for i in range(n):
        up = 0
        for v in range(n):
            up += room.up[i, v] * moving.codes[r, v]
        room.parent[i, up] += sign
        room.family[i, up + room.place[i, i] * moving.codes[r, i]] += sign
        cell += fixed.stride[i] * moving.codes[r, i]
    moving.joint[cell] += sign


@called
def _chance(fixed: Fixed, moving: Moving, room: Room, r: int, holes: int) -> float:
    """Return how probable the row is as it stands, given all others, up to what no hole touches."""
    n, chance = len(fixed.sizes), 1.0
    for i in range(n):
        if (moving.parents[i] | (1 << i)) & holes:
            up = 0
            for v in range(n):
                up += room.up[i, v] * moving.codes[r, v]
            many = room.parent[i, up] + fixed.alpha[fixed.above[i, moving.parents[i]]]
            here = room.family[i, up + room.place[i, i] * moving.codes[r, i]]
            chance *= (here + fixed.alpha[fixed.cells[moving.parents[i] | (1 << i)]]) / many
    return chance


@called
def _next(fixed: Fixed, moving: Moving, r: int) -> None:
    """Put the next joint state into a row's holes."""
    for h in range(fixed.hole_start[r], fixed.hole_start[r + 1]):
        v = fixed.hole[h]
        moving.codes[r, v] += 1
        if moving.codes[r, v] < fixed.sizes[v]:
            break
        moving.codes[r, v] = 0


@called
def _fill(fixed: Fixed, moving: Moving, room: Room) -> None:
    """Draw every row's holes, given the graph and all other rows."""
    for r in range(
        len(moving.codes)
    ):  # rows before r are drawn, and all counts are of the rows as they stand
        if moving.filled[0]:
            _add_row(fixed, moving, room, r, -1.0)
        holes, ways = 0, 1
        for h in range(fixed.hole_start[r], fixed.hole_start[r + 1]):
            v = fixed.hole[h]
            holes |= 1 << v
            ways *= fixed.sizes[v]
            moving.codes[r, v] = 0
        total = 0.0
        for way in range(ways):
            total += _chance(fixed, moving, room, r, holes)
            room.choice[way] = total
            _next(fixed, moving, r)
        left, chosen = uniform(moving.stream) * total, 0
        while chosen < ways - 1 and room.choice[chosen] <= left:
            chosen += 1
        for h in range(fixed.hole_start[r], fixed.hole_start[r + 1]):
            v = fixed.hole[h]
            moving.codes[r, v] = chosen % fixed.sizes[v]
            chosen //= fixed.sizes[v]
        _add_row(fixed, moving, room, r, 1.0)
    moving.filled[0] = 1


@called
def _score_families(fixed: Fixed, moving: Moving, room: Room) -> None:
    """Write the term of every variable with every set of parents; (n, 2ⁿ)."""
    n, width = len(fixed.sizes), len(moving.joint)
    for c in range(width):
        room.sums[c] = moving.joint[c]
    for v in range(n):
        step, size = fixed.stride[v], fixed.sizes[v]
        for high in range(0, width, step * (size + 1)):
            for low in range(high, high + step):
                total = 0.0
                for k in range(size):
                    total += room.sums[low + k * step]
                room.sums[low + size * step] = total
    room.score[:] = 0.0
    for c in range(width):
        count = int(room.sums[c])
        if count:  # ``score`` has what the cells before c add
            here = fixed.sets[c]
            room.score[n, here] += fixed.gain[fixed.cells[here], count]
            for i in range(n):
                if fixed.above[i, here] != fixed.cells[here]:
                    room.score[i, here] += fixed.gain[fixed.above[i, here], count]
    for i in range(n):
        for s in range(1 << n):
            if fixed.may[i, s]:
                above = room.score[n, s] if fixed.above[i, s] == fixed.cells[s] else room.score[i, s]
                room.terms[i, s] = room.score[n, s | (1 << i)] - above
            else:
                room.terms[i, s] = NONE


@called
def _charged(fixed: Fixed, moving: Moving) -> float:
    """Return the charge of a link: of the beta-binomial, log odds of a density drawn given the graph."""
    if fixed.many == 0:
        return fixed.charge
    links = 0
    for i in range(len(fixed.sizes)):
        links += fixed.links[i, moving.parents[i]]
    one = log_gamma_variate(links + 1.0, moving.stream)
    return one - log_gamma_variate(fixed.many - links + 1.0, moving.stream)


@called
def _sum_graphs(fixed: Fixed, room: Room, charge: float) -> None:
    """Charge links, and write the sums over sets of parents and over all graphs."""
    n = len(fixed.sizes)
    for i in range(n):
        for s in range(1 << n):
            room.terms[i, s] += charge * fixed.links[i, s]
            room.zeta[i, s] = room.terms[i, s]
        for v in range(n):  # ``zeta[i, s]`` sums over sets that differ from s in variables before v alone
            for s in range(1 << n):
                if (s >> v) & 1:
                    one, other = room.zeta[i, s], room.zeta[i, s ^ (1 << v)]
                    high = max(one, other)
                    if high > NONE:
                        room.zeta[i, s] = high + log1p(exp(min(one, other) - high))
    known = room.zeta, fixed.three, room.masks, room.logs, room.who, room.steps
    add_layers(*known, room.below)


@called
def _parents(room: Room, child: int, whole: int, last: int, u: float) -> int:
    """Return a child's parents, drawn from the sets within ``whole``, which touch ``last`` if there is one.

    ``room.terms`` has what they weigh.
    """
    top = NONE
    for s in range(room.terms.shape[1]):
        if s & ~whole == 0 and (last == 0 or s & last):
            top = max(top, room.terms[child, s])
    total = 0.0
    for s in range(room.terms.shape[1]):
        if s & ~whole == 0 and (last == 0 or s & last):
            total += exp(room.terms[child, s] - top)
    left, chosen = u * total, 0
    # ``left`` is what the sets before s have not used up, ``chosen`` the last of them that weighs anything.
    for s in range(room.terms.shape[1]):
        if s & ~whole == 0 and (last == 0 or s & last):
            one = exp(room.terms[child, s] - top)
            if one > 0.0:
                chosen = s
                left -= one
                if left < 0.0:
                    break
    return chosen


@called
def _draw_graph(fixed: Fixed, moving: Moving, room: Room) -> None:
    """Draw a graph as often as it weighs: its layers, then each variable's parents."""
    n = len(fixed.sizes)
    for i in range(n):
        room.chances[i] = uniform(moving.stream)
    known = room.zeta, fixed.three, room.masks, room.logs, room.who, room.steps
    many = draw_layers(*known, room.below, room.chances, room.layers)
    whole, last = 0, 0
    for k in range(many):
        for i in range(n):
            if (room.layers[k] >> i) & 1:
                moving.parents[i] = _parents(room, i, whole, last, uniform(moving.stream))
        last = room.layers[k]
        whole |= last


@bare
def walk_collapsed(fixed: Fixed, moving: Moving, room: Room, arcs: Array, heights: Array) -> None:
    """Take steps of the chain: fill the rows, and draw a graph.

    Written is, for each step, the log probability of the rows as they are filled and of the graph that was
    drawn, (steps,), and added how probable every arc is given these rows; (steps, n, n), zeros.
    """
    n = len(fixed.sizes)
    for step in range(len(heights)):
        _lay_families(fixed, moving, room)
        _fill(fixed, moving, room)
        _score_families(fixed, moving, room)
        charge = _charged(fixed, moving)
        _sum_graphs(fixed, room, charge)
        room.passed[:] = 0.0
        known = room.zeta, fixed.three, room.masks, room.logs, room.who, room.steps
        arc_chances(*known, room.below, room.passed, arcs[step])
        _draw_graph(fixed, moving, room)
        links, height = 0, 0.0
        for i in range(n):  # ``height`` is what the first families say, their links not charged
            links += fixed.links[i, moving.parents[i]]
            height += room.terms[i, moving.parents[i]] - charge * fixed.links[i, moving.parents[i]]
        heights[step] = height + fixed.logs[links]
