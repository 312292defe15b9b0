"""What a row's holes are to Gibbs chains: which families see them, and into which islands they fall.

Given a row's observed cells its holes fall apart into islands, whose variables share families.
`lacunary.kernels.blocks` says how likely states are there, and `lacunary.kernels.gibbs` what is done.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import called, patient

__all__ = [
    "LEAF",
    "LINEAR",
    "NEVER",
    "TABLE",
    "Chart",
    "Families",
    "Found",
    "Plan",
    "Seen",
    "Workspace",
    "any_wide",
    "chart_row",
    "configuration",
    "listed_in",
    "place_of",
    "ways_of",
]

TABLE, LINEAR, LEAF = 0, 1, 2
"""Kinds of families."""

NEVER = -1000.0
"""Stands for the log of zero, so that a chain can leave a state that is impossible."""


class Families(NamedTuple):
    """The graph. Lists of a variable v stand from ``x_start[v]`` to ``x_start[v + 1]``.

    ``kind``, ``size`` and ``many`` are the family's kind, its child's states and its configurations;
    ``member`` with ``stride`` are the discrete variables that say which numbers of a family count, of a
    table itself first; ``column`` are a regression's continuous variables, the child last; ``touch`` are the
    families that a variable is in, and ``touch_step`` how far apart its states are there, of tables and
    leaves. A family's numbers start at ``start``, its constants at ``base``.
    ``order`` has parents before children.
    """

    kind: NDArray[np.int64]
    size: NDArray[np.int64]
    many: NDArray[np.int64]
    member: NDArray[np.int64]
    stride: NDArray[np.int64]
    member_start: NDArray[np.int64]
    column: NDArray[np.int64]
    column_start: NDArray[np.int64]
    touch: NDArray[np.int64]
    touch_start: NDArray[np.int64]
    touch_step: NDArray[np.int64]
    start: NDArray[np.int64]
    base: NDArray[np.int64]
    order: NDArray[np.int64]


class Seen(NamedTuple):
    """Rows under one vector.

    ``codes``, ``reals`` and ``weight`` are the rows, HOLE (−1) and NaN for holes. ``value`` has the numbers
    of families: log-probabilities of tables, each summing to one, with log sums ``total`` beside them;
    quadratic forms Q of regressions, log f = g − ½ zᵀQz with g in ``constant``; and, row by row,
    log-densities of leaves.
    """

    codes: NDArray[np.int32]
    reals: NDArray[np.float64]
    weight: NDArray[np.float64]
    value: NDArray[np.float64]
    total: NDArray[np.float64]
    constant: NDArray[np.float64]


class Plan(NamedTuple):
    """How hard to try: ways of an island gone through one by one, chains, steps, sweeps kept, and a seed.

    Steps are multiplied by four, at most ``again`` times, while the chains' weights are too uneven. Families
    from ``first`` on are counted; if that is not all, they are counted only, and weigh nothing.
    """

    ways: int
    chains: int
    steps: int
    again: int
    sweeps: int
    first: int
    seed: Any


class Found(NamedTuple):
    """What is written: statistics, each row's log-evidence, and draws of completed rows.

    ``counts`` are statistics, exact ones and the chains'. The square of their error is ``spread``, which the
    chains tell, and ``floor``, the greatest square of what one draw of a row counts, where that is possible.
    ``square`` is the square of the error of ``log``. Statistics and draws without entries are not written.
    Shapes (places,) three times, (rows,) twice, and (rows, draws, variables).
    """

    counts: NDArray[np.float64]
    spread: NDArray[np.float64]
    floor: NDArray[np.float64]
    log: NDArray[np.float64]
    square: NDArray[np.float64]
    drawn: NDArray[np.int32]


class Workspace(NamedTuple):
    """Working memory of one row.

    ``code`` is the row as it is being filled; ``island`` joins variables; ``alone`` marks private holes;
    ``live`` marks families that count, and ``home`` is the island of their holes, −1 without; ``spot`` is a
    continuous hole's number in its island; ``state`` and ``family`` list an island's discrete holes and its
    families. ``place`` is where a family's numbers are at the present states, of tables and leaves.
    ``block`` lists holes that are drawn together, ``digit`` their states, ``lone`` has sums of logs for each
    of them, and ``factor`` lists the factors that they are in, each with ``base``, ``only`` and ``step``
    (`_factors_of`); of others ``stamp`` is −1. ``record`` are the ways or draws, ``share`` their weights, and
    ``end`` where the chains ended that ``weight`` is of. ``part`` holds statistics and
    ``moment`` those of chains, at the ``listed[0]`` places of ``hit``, which are those that are ``met``.
    There are ``n`` variables, and as many numbers in each line of ``matrix``, ``record`` and ``end``.
    """

    n: int
    code: NDArray[np.int64]
    island: NDArray[np.int64]
    alone: NDArray[np.bool_]
    live: NDArray[np.bool_]
    home: NDArray[np.int64]
    spot: NDArray[np.int64]
    state: NDArray[np.int64]
    family: NDArray[np.int64]
    stamp: NDArray[np.int64]
    place: NDArray[np.int64]
    block: NDArray[np.int64]
    digit: NDArray[np.int64]
    factor: NDArray[np.int64]
    base: NDArray[np.int64]
    only: NDArray[np.int64]
    step: NDArray[np.int64]
    lone: NDArray[np.float64]
    matrix: NDArray[np.float64]
    vector: NDArray[np.float64]
    z: NDArray[np.float64]
    at: NDArray[np.int64]
    choice: NDArray[np.float64]
    record: NDArray[np.int32]
    share: NDArray[np.float64]
    end: NDArray[np.int32]
    weight: NDArray[np.float64]
    part: NDArray[np.float64]
    moment: NDArray[np.float64]
    met: NDArray[np.bool_]
    hit: NDArray[np.int64]
    listed: NDArray[np.int64]
    stream: NDArray[np.uint64]


class Chart(NamedTuple):
    """What of a `Workspace` says into which islands a row's holes fall."""

    n: int
    code: NDArray[np.int64]
    island: NDArray[np.int64]
    alone: NDArray[np.bool_]
    live: NDArray[np.bool_]
    home: NDArray[np.int64]
    spot: NDArray[np.int64]
    state: NDArray[np.int64]
    family: NDArray[np.int64]


@called
def _root(island: Any, v: int) -> int:
    while island[v] != v:
        island[v] = island[island[v]]
        v = island[v]
    return v


@called
def _is_hole(families: Families, seen: Seen, r: int, work: Workspace | Chart, v: int) -> Any:
    """Tell whether a cell is a hole that counts: not of one state, not of a leaf."""
    if families.kind[v] == TABLE:
        return seen.codes[r * work.n + v] < 0 and families.size[v] > 1
    return families.kind[v] == LINEAR and math.isnan(seen.reals[r * work.n + v])


@called
def chart_row(families: Families, seen: Seen, r: int, work: Workspace | Chart) -> None:
    """Join a row's holes into islands, and mark private holes and families that count."""
    n = work.n
    for v in range(n):
        work.island[v] = v if _is_hole(families, seen, r, work, v) else -1
        work.live[v] = families.kind[v] != LEAF or not math.isnan(seen.reals[r * work.n + v])
        work.code[v] = seen.codes[r * work.n + v] if seen.codes[r * work.n + v] >= 0 else 0
    for i in range(n):
        first: Any = np.int64(-1)  # a bare −1 has a type of its own, for which all would be compiled again
        for k in range(families.member_start[i], families.member_start[i + 1] if work.live[i] else 0):
            first = _join(work.island, first, families.member[k])
        for k in range(families.column_start[i], families.column_start[i + 1]):
            first = _join(work.island, first, families.column[k])
    for v in range(n):
        work.alone[v] = families.kind[v] == TABLE and work.island[v] >= 0
        for k in range(families.touch_start[v], families.touch_start[v + 1]):
            if families.touch[k] != v and work.live[families.touch[k]]:
                work.alone[v] = False
        work.home[v] = _home(families, work, v)


@called
def _join(island: Any, first: int, v: int) -> int:
    """Put a variable into the island of another, if both are holes; return one of them."""
    if island[v] < 0:
        return first
    if first >= 0:
        a, b = _root(island, first), _root(island, v)
        island[max(a, b)] = min(a, b)
    return v


@called
def _home(families: Families, work: Workspace | Chart, i: int) -> int:
    """Return the island in which a family has holes; −1: none."""
    for k in range(families.member_start[i], families.member_start[i + 1]):
        if work.island[families.member[k]] >= 0:
            return _root(work.island, families.member[k])
    for k in range(families.column_start[i], families.column_start[i + 1]):
        if work.island[families.column[k]] >= 0:
            return _root(work.island, families.column[k])
    return -1


@called
def configuration(families: Families, i: int, code: Any) -> int:
    """Return which numbers of a family count for these states, of a table's own its place."""
    j = 0
    for k in range(families.member_start[i], families.member_start[i + 1]):
        j += code[families.member[k]] * families.stride[k]
    return j


@called
def place_of(families: Families, i: int, r: int, code: Any) -> Any:
    """Return where the numbers of a family begin that count for these states."""
    j = configuration(families, i, code)
    if families.kind[i] == TABLE:
        return families.start[i] + j
    if families.kind[i] == LEAF:
        return families.start[i] + r * families.many[i] + j
    width = families.column_start[i + 1] - families.column_start[i] + 1
    return families.start[i] + j * width * width


@called
def listed_in(families: Families, work: Workspace | Chart, root: int) -> tuple[int, int, int]:
    """List an island's discrete and continuous holes and its families; −1: families without holes."""
    states = holes = many = 0
    for k in range(work.n):
        v = families.order[k]
        if work.home[v] != root:
            continue
        if work.live[v]:
            work.family[many] = v
            many += 1
        if work.island[v] >= 0:
            if families.kind[v] == LINEAR:
                work.spot[v] = holes
                holes += 1
            elif not work.alone[v]:
                work.state[states] = v
                states += 1
    return states, holes, many


@called
def ways_of(families: Families, work: Workspace | Chart, states: int) -> float:
    """Return how many ways there are to fill an island's discrete holes, which are listed."""
    ways = 1.0
    for s in range(states):
        ways *= families.size[work.state[s]]
    return ways


@patient
def any_wide(families: Families, seen: Seen, chart: Chart, most: int) -> bool:
    """Tell whether a row that counts has an island with more ways than ``most``; (rows, n) are flat here."""
    for r in range(len(seen.weight)):
        if seen.weight[r] > 0.0:
            chart_row(families, seen, r, chart)
            for root in range(chart.n):
                if chart.island[root] == root:
                    states, _, _ = listed_in(families, chart, root)
                    if ways_of(families, chart, states) > most:
                        return True
    return False
