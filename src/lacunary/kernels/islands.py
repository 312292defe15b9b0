"""Islands: the holes of a row that depend on each other given what is observed, and counts read off them.

Given the observed cells, the holes of a row fall apart into *islands* that are independent of each other.
An island with many configurations is cut: given a state of its few *cut* variables it falls apart again,
into parts small enough to write down. A row is thus a product, over islands, of mixtures, over states of the
cut, of products of tables, and the joint posterior of any set of variables is read off these.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.arena import pointed
from lacunary.kernels.compile import called, kernel

__all__ = ["Chart", "Families", "Graph", "Query", "Rows", "chart_islands", "digits"]


class Graph(NamedTuple):
    """Neighbours of each variable in the moral graph, and the logs of numbers of states."""

    neighbour: NDArray[np.int64]
    neighbour_start: NDArray[np.int64]
    log_size: NDArray[np.float64]


class Families(NamedTuple):
    """Each variable's family: members and strides, where its table starts, and the children of each."""

    member: NDArray[np.int64]
    stride: NDArray[np.int64]
    member_start: NDArray[np.int64]
    start: NDArray[np.int64]
    child: NDArray[np.int64]
    child_start: NDArray[np.int64]


class Chart(NamedTuple):
    """The islands of each pattern of holes: pattern → islands → parts → members, each a range of the next.

    The first part of an island is its cut, which may be empty. ``size`` is the number of a part's
    configurations, in which the last member moves fastest; ``block`` the sum of the sizes of an island's
    parts but the cut. Tables and marginals lie at ``table_at`` and ``share_at`` from the row's own start.
    ``tree`` is −1, but for islands that would take too long to write down even when cut: these have one part
    and no table, and are numbered within their pattern; what is asked of them comes from a junction tree.
    """

    island_start: NDArray[np.int64]
    part_start: NDArray[np.int64]
    member_start: NDArray[np.int64]
    member: NDArray[np.int64]
    size: NDArray[np.int64]
    block: NDArray[np.int64]
    table_at: NDArray[np.int64]
    share_at: NDArray[np.int64]
    tree: NDArray[np.int64]


class Rows(NamedTuple):
    """Distinct rows: states with −1 for a hole, weights, patterns, and where their numbers start.

    ``column`` is where each cell's state stands among the states of all variables, for a hole behind them
    all. ``share_start``, (rows + 1,), is where the marginals of a row's holes begin, and ``share_column``
    which column each of these numbers belongs to; ``tree_start`` the number of islands without tables in the
    rows before.
    """

    codes: NDArray[np.int32]
    column: NDArray[np.int32]
    weight: NDArray[np.float64]
    pattern: NDArray[np.int64]
    table_start: NDArray[np.int64]
    share_start: NDArray[np.int64]
    share_column: NDArray[np.int32]
    tree_start: NDArray[np.int64]


class Query(NamedTuple):
    """A set of variables to count, with their strides; and where each variable's columns begin.

    ``stride[v]`` is −1 for variables that are not in the set. ``columns`` is the number of columns: one if
    only the set itself is counted, else one for each state of all ``variables``, and a last one.
    """

    member: NDArray[np.int64]
    stride: NDArray[np.int64]
    column: NDArray[np.int64]
    columns: int
    variables: int


CLOSED, OPEN, SEEN, TRIED, WAITING = map(np.int64, range(5))
"""Labels of variables while islands are looked for; what is observed, cut or done with is closed."""


@called
def _component(graph: Graph, first: int, label: Any, old: Any, new: Any, found: Any) -> int:
    """Relabel what is joined to ``first`` within a label, and list it; return how many there are."""
    label[first] = new
    found[0] = first
    at, end = 0, 1
    while at < end:
        v = found[at]
        at += 1
        for e in range(graph.neighbour_start[v], graph.neighbour_start[v + 1]):
            other = graph.neighbour[e]
            if label[other] == old:
                label[other] = new
                found[end] = other
                end += 1
    return end


@called
def _log_size(graph: Graph, found: Any, many: int) -> float:
    """Return the log of the number of configurations of the first of these variables."""
    log = 0.0
    for k in range(many):
        log += graph.log_size[found[k]]
    return log


@called
def _best_cut(graph: Graph, piece: Any, many: int, label: Any, found: Any) -> Any:
    """Return the variable of a piece that, times its states, leaves the smallest largest rest."""
    best, chosen = np.inf, piece[0]
    for k in range(many):
        v, rest = piece[k], 0.0
        label[v] = CLOSED
        for m in range(many):
            if label[piece[m]] == SEEN:
                end = _component(graph, piece[m], label, SEEN, TRIED, found)
                rest = max(rest, _log_size(graph, found, end))
        for m in range(many):
            label[piece[m]] = SEEN
        cost = graph.log_size[v] + rest
        if cost < best - 1e-9 or (cost < best + 1e-9 and v < chosen):
            best, chosen = cost, v
    return chosen


@called
def _cut_island(
    graph: Graph, lot: Any, stop: int, log_cap: float, label: Any, found: Any, piece: Any, cut: Any
) -> int:
    """Cut variables out of an island until no piece exceeds the cap; return how many were cut."""
    cuts = 0
    while True:
        for k in range(stop):
            if label[lot[k]] == SEEN:
                label[lot[k]] = OPEN
        many, widest = 0, log_cap
        for k in range(stop):
            if label[lot[k]] != OPEN:
                continue
            end = _component(graph, lot[k], label, OPEN, SEEN, found)
            log = _log_size(graph, found, end)
            if end > 1 and log > widest + 1e-9:
                many, widest = end, log
                for q in range(end):
                    piece[q] = found[q]
        if many == 0:
            return cuts
        cut[cuts] = _best_cut(graph, piece, many, label, found)
        label[cut[cuts]] = CLOSED
        cuts += 1


@called
def _log_tables(graph: Graph, lot: Any, stop: int, label: Any, found: Any, log_cut: float) -> float:
    """Return the log of the length of the tables of an island that has been cut."""
    block = 1.0
    for k in range(stop):
        if label[lot[k]] == SEEN:
            end = _component(graph, lot[k], label, SEEN, TRIED, found)
            block += math.exp(_log_size(graph, found, end))
    for k in range(stop):
        if label[lot[k]] == TRIED:
            label[lot[k]] = SEEN
    return log_cut + math.log(block)


@kernel
def chart_islands(
    graph: Graph,
    patterns: Any,
    log_cap: float,
    log_limit: float,
    island_start: Any,
    part_start: Any,
    member_start: Any,
    member: Any,
    log_size: Any,
    tree: Any,
) -> None:
    """Find the islands of each pattern, cut until no part of several variables exceeds the cap.

    An island whose tables would then be longer than the limit is left in one part, and numbered in ``tree``.

    Parameters
    ----------
    graph
        Who must not be separated, and logs of numbers of states.
    patterns
        Whether each variable is a hole; (patterns, variables).
    log_cap, log_limit
        Logs of the most configurations of a part of several variables, and of the length of tables.
    island_start, part_start, member_start, member, log_size, tree
        Written: the arrays of a `Chart`, with the log-size of each part. All must be long enough: an open
        cell is one member, and gives rise to at most one island and two parts.
    """
    graph, n = pointed(graph), patterns.shape[1]
    label, lot, found = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    piece, cut = np.empty(n, np.int64), np.empty(n, np.int64)
    islands, parts, members = 0, 0, 0
    for p in range(patterns.shape[0]):
        island_start[p] = islands
        trees = 0
        for v in range(n):
            label[v] = OPEN if patterns[p, v] else CLOSED
        for v in range(n):  # holes of islands found before are closed, all others are open
            if label[v] != OPEN:
                continue
            stop = _component(graph, v, label, OPEN, SEEN, lot)
            part_start[islands] = parts
            tree[islands] = -1
            islands += 1
            for k in range(n):  # other islands wait
                if label[k] == OPEN:
                    label[k] = WAITING
            cuts = _cut_island(graph, lot, stop, log_cap, label, found, piece, cut)
            if (
                cuts > 0
                and _log_tables(graph, lot, stop, label, found, _log_size(graph, cut, cuts)) > log_limit
            ):
                for k in range(cuts):
                    label[cut[k]] = SEEN
                cuts = 0
                tree[islands - 1] = trees
                trees += 1
            # The island's pieces are SEEN and its cut is CLOSED; the pieces are closed as they are listed.
            member_start[parts] = members
            log_size[parts] = _log_size(graph, cut, cuts)
            parts += 1
            for k in range(cuts):
                member[members] = cut[k]
                members += 1
            for k in range(stop):
                if label[lot[k]] == SEEN:
                    end = _component(graph, lot[k], label, SEEN, CLOSED, found)
                    member_start[parts] = members
                    log_size[parts] = _log_size(graph, found, end)
                    parts += 1
                    for q in range(end):
                        member[members] = found[q]
                        members += 1
            for k in range(n):
                if label[k] == WAITING:
                    label[k] = OPEN
    island_start[patterns.shape[0]] = islands
    part_start[islands] = parts
    member_start[parts] = members


@called
def digits(member: Any, begin: int, end: int, sizes: Any, number: int, state: Any) -> None:
    """Set the states of a part's members to those of its configuration of that number."""
    for m in range(end - 1, begin - 1, -1):
        size = sizes[member[m]]
        state[member[m]] = number % size
        number //= size
