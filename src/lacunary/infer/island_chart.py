"""Where the islands of each pattern of holes are, and where their tables lie."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import said
from lacunary.errors import TooWideError
from lacunary.infer.shape import flat, list_sums, starts
from lacunary.kernels.islands import Chart, Graph, chart_islands
from lacunary.model.dag import Dag

__all__ = ["Laid", "find_islands", "lay_tables"]


def find_islands(
    dag: Dag, patterns: NDArray[np.bool_], cap: int, limit: int
) -> tuple[tuple[NDArray[np.int64], ...], NDArray[np.float64], NDArray[np.int64]]:
    """Return where islands, parts and members start, the members; the parts' log-sizes; islands' trees."""
    near: list[set[int]] = [set() for _ in dag.names]
    for family in dag.layout.members:
        for v in family:
            near[v].update(family)
    around = [sorted(others - {v}) for v, others in enumerate(near)]
    graph = Graph(
        neighbour=flat(around).astype(np.int64),
        neighbour_start=starts(around),
        log_size=np.log(np.array(dag.schema.sizes, dtype=np.float64)),
    )
    cells = int(patterns.sum())
    island_start = np.empty(len(patterns) + 1, dtype=np.int64)
    part_start, member_start = np.empty(cells + 1, dtype=np.int64), np.empty(2 * cells + 1, dtype=np.int64)
    member, log_size = np.empty(cells, dtype=np.int64), np.empty(2 * cells)
    tree = np.empty(cells, dtype=np.int64)
    chart_islands(
        graph,
        patterns,
        math.log(cap),
        math.log(limit),
        island_start,
        part_start,
        member_start,
        member,
        log_size,
        tree,
    )
    parts = int(part_start[island_start[-1]])
    found = island_start, part_start[: island_start[-1] + 1], member_start[: parts + 1], member
    return found, log_size[:parts], tree[: island_start[-1]]


@dataclass(frozen=True, eq=False)
class Laid:
    """A chart, and for each pattern how long its rows' tables and marginals are."""

    chart: Chart
    tables: NDArray[np.int64]
    shares: NDArray[np.int64]
    room: tuple[int, int]


def lay_tables(
    dag: Dag,
    found: tuple[NDArray[np.int64], ...],
    log_size: NDArray[np.float64],
    tree: NDArray[np.int64],
    pattern: NDArray[np.int64],
    budget: int,
) -> Laid:
    """Give every table its place, once it is known that they fit."""
    island_start, part_start, member_start, member = found
    size = np.exp(np.minimum(log_size, 300.0))  # whatever is larger is refused
    size[part_start[:-1][tree >= 0] + 1] = 0.0  # the one part that has no table
    cut, is_cut = part_start[:-1], np.zeros(len(size), dtype=bool)
    is_cut[cut] = True
    block = list_sums(np.where(is_cut, 0.0, size), part_start)
    _check(dag, found, size[cut] * (1.0 + block), pattern, budget)
    whole = np.rint(size).astype(np.int64)
    block = list_sums(np.where(is_cut, 0, whole), part_start)
    length = whole[cut] * (1 + block)
    states = np.array(dag.schema.sizes, dtype=np.int64)[member]
    of_island = np.concatenate([[0], np.cumsum(length)])
    of_member = np.concatenate([[0], np.cumsum(states)])
    owner = np.repeat(np.arange(len(island_start) - 1), np.diff(island_start))
    first_member = member_start[part_start[island_start]]
    member_owner = np.repeat(np.arange(len(island_start) - 1), np.diff(first_member))
    chart = Chart(
        island_start,
        part_start,
        member_start,
        member,
        whole,
        block,
        of_island[:-1] - of_island[island_start[owner]],
        of_member[:-1] - of_member[first_member[member_owner]],
        tree,
    )
    near = np.where(is_cut, 0, whole)
    parts_of = part_start[island_start]
    room = [
        int(list_sums(numbers, parts_of).max(initial=0))
        for numbers in (near, near * list_sums(states, member_start))
    ]
    shares = np.diff(of_member[first_member])
    return Laid(chart, np.diff(of_island[island_start]), shares, (room[0] + 1, room[1] + 1))


def _check(
    dag: Dag,
    found: tuple[NDArray[np.int64], ...],
    length: NDArray[np.float64],
    pattern: NDArray[np.int64],
    budget: int,
) -> None:
    """Refuse tables that would take more memory than allowed, and name the cut of the largest."""
    island_start, part_start, member_start, member = found
    needed = float(list_sums(length, island_start)[pattern].sum()) * 8
    if needed <= budget:
        return
    cut = part_start[int(length.argmax())]
    names = [dag.names[v] for v in member[member_start[cut] : member_start[cut + 1]]]
    raise TooWideError(
        f"the islands of all rows would take about {said(needed)}, more than the "
        f"{said(budget)} allowed; the largest has to be cut at {', '.join(names[:12])}"
        f"{', …' if len(names) > 12 else ''}. Start from a graph with fewer arcs, or limit the parents."
    )
