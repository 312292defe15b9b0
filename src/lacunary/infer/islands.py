"""Expected counts of any family, also of one that is not in the graph, given a table with holes.

Given a row's observed cells its holes fall apart into *islands*: sets joined in the moral graph. Islands
are independent of each other, so the joint posterior of any set of variables is a product of marginals of
islands (docs/structural-em.md). One pass over the rows counts a set together with each other variable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table, unique_rows
from lacunary.errors import ImpossibleRowError, TooWideError
from lacunary.infer.island_trees import Answer, Trees
from lacunary.infer.parallel import in_parallel
from lacunary.infer.shape import flat, list_sums, starts
from lacunary.kernels.island_counts import Desk, Given, count_families
from lacunary.kernels.island_tables import fill_tables
from lacunary.kernels.islands import Chart, Families, Graph, Query, Rows, chart_islands
from lacunary.model.dag import Dag

__all__ = ["ISLAND_BUDGET", "Charted", "Islands", "chart"]

CAP = 128
"""Configurations of an island beyond which it is cut: smaller parts are faster to read, more cuts slower."""

LIMIT = 2**14
"""Numbers beyond which the tables of one island are not written down: a junction tree is faster then."""

ISLAND_BUDGET = 2**31
"""Bytes that the tables of all rows' islands may take together before a network is refused as too wide."""

ROWS_AT_ONCE = 4096
"""Rows that one thread counts together; the cut depends on the rows alone, so sums do not on threads."""


@dataclass(frozen=True, eq=False)
class Charted:
    """The islands of a graph and a table: all that does not depend on parameters.

    Attributes
    ----------
    dag
        The graph.
    chart
        The islands of each pattern of holes.
    rows
        The distinct rows.
    """

    dag: Dag
    chart: Chart
    rows: Rows
    families: Families
    sizes: NDArray[np.int64]
    room: tuple[int, int]
    places: tuple[int, int]

    def under(self, theta: NDArray[np.float64]) -> Islands:
        """Return the islands' tables under these parameters."""
        table, share = np.empty(self.places[0]), np.zeros(self.places[1])
        with np.errstate(divide="ignore"):
            log_theta = np.log(theta)

        def fill(part: slice) -> int:
            return fill_tables(
                self.families,
                self.chart,
                self.rows,
                self.sizes,
                log_theta,
                part.start,
                part.stop,
                table,
                share,
            )

        bad = [row for row in in_parallel(fill, self.chunks) if row >= 0]
        if bad:
            seen = [
                f"{variable.name}={variable.states[code]}"
                for variable, code in zip(self.dag.schema, self.rows.codes[bad[0]], strict=True)
                if code != HOLE and variable.size > 1
            ]
            raise ImpossibleRowError(
                f"a row has probability zero under the model: {', '.join(seen[:8])}"
                f"{', …' if len(seen) > 8 else ''}. Give every state that can occur a positive probability."
            )
        islands = Islands(self, table, share, self._trees(theta))
        islands.trees.fill_shares(islands.column, share)
        return islands

    def _trees(self, theta: NDArray[np.float64]) -> Trees:
        """Return the islands that have no tables."""
        start = self.chart.island_start
        large = [np.arange(a, b)[self.chart.tree[a:b] >= 0] for a, b in pairwise(start)]
        many = np.diff(np.append(self.rows.tree_start, sum(len(large[p]) for p in self.rows.pattern)))
        some = [large[p] for p in self.rows.pattern[many > 0]]
        island = np.concatenate(some) if some else np.empty(0, dtype=np.int64)
        row = np.repeat(np.arange(len(many)), many)
        return Trees(self.dag, theta, self.chart, self.rows, row, island)

    @property
    def chunks(self) -> list[slice]:
        """The rows in parts that are worked on apart."""
        rows = len(self.rows.codes)
        return [slice(a, min(a + ROWS_AT_ONCE, rows)) for a in range(0, rows, ROWS_AT_ONCE)]


@dataclass(frozen=True, eq=False)
class Islands:
    """What a network says about the holes of all rows, from which any family's expected counts are read."""

    charted: Charted
    table: NDArray[np.float64]
    share: NDArray[np.float64]
    trees: Trees

    def counts(self, members: Sequence[int]) -> NDArray[np.float64]:
        """Return E[N] of each joint state of some variables; one axis for each, in the order given."""
        sizes = self.charted.dag.schema.sizes
        return self._count(members, wide=False).reshape([sizes[v] for v in members])

    def counts_with_others(self, members: Sequence[int]) -> NDArray[np.float64]:
        """Return E[N] of each joint state of some variables together with each state of each other one.

        Returns
        -------
        array
            (configurations of the set, Σ states + 1), in the configurations the last variable moves
            fastest. Variable j has the columns from `column` [j] on, which are zero for members of the
            set; the last column is the set by itself.
        """
        return self._count(members, wide=True)

    @property
    def column(self) -> NDArray[np.int64]:
        """Where each variable's columns begin; (variables,)."""
        return np.concatenate([[0], np.cumsum(self.charted.sizes)])[:-1]

    def _count(self, members: Sequence[int], wide: bool) -> NDArray[np.float64]:
        charted = self.charted
        sizes, columns = charted.sizes, int(charted.sizes.sum()) + 1 if wide else 1
        stride = np.full(len(sizes), -1, dtype=np.int64)
        below = 1
        for v in reversed(members):
            stride[v] = below
            below *= int(sizes[v])
        query = Query(np.array(members, dtype=np.int64), stride, self.column, columns)
        answer = self.trees.ask(members, stride, self.column)
        room = charted.room
        given = Given(answer.given.near + room[0], answer.given.many, answer.given.rest + room[1])

        def count(part: slice) -> NDArray[np.float64]:
            out = np.zeros(below * columns)
            desk = _desk(len(sizes), room, below, answer)
            count_families(
                charted.chart,
                charted.rows,
                sizes,
                query,
                self.table,
                self.share,
                given,
                desk,
                part.start,
                part.stop,
                out,
            )
            return out

        parts = in_parallel(count, charted.chunks)
        return sum(parts, start=np.zeros(below * columns)).reshape(below, columns)


def _desk(n: int, room: tuple[int, int], places: int, answer: Answer) -> Desk:
    """Return room for counting; what junction trees say stands behind what is worked out on the way."""
    return Desk(
        near=np.concatenate([np.empty(room[0]), answer.near]),
        off=np.concatenate([np.empty(room[0], dtype=np.int64), answer.off]),
        rest=np.concatenate([np.empty(room[1]), answer.rest]),
        mass=np.zeros(places),
        hit=np.empty(places, dtype=np.int64),
        island=np.empty(n + 1, dtype=np.int64),
        turn=np.empty(n + 1, dtype=np.int64),
        part=np.empty(n + 1, dtype=np.int64),
        near_at=np.empty(n + 1, dtype=np.int64),
        many=np.empty(n + 1, dtype=np.int64),
        rest_at=np.empty(n + 1, dtype=np.int64),
        width=np.empty(n + 1, dtype=np.int64),
        pick=np.empty(n + 1, dtype=np.int64),
        digit=np.empty(n + 1, dtype=np.int64),
        state=np.empty(n + 1, dtype=np.int64),
    )


def chart(
    dag: Dag, table: Table, *, cap: int = CAP, limit: int = LIMIT, budget: int = ISLAND_BUDGET
) -> Charted:
    """Find the islands of a table whose columns are the graph's variables; see `Table.align`.

    Raises `TooWideError` if the tables of all rows would take more than ``budget`` bytes.
    """
    distinct, sizes = table.distinct, np.array(dag.schema.sizes, dtype=np.int64)
    codes = np.array(table.codes[distinct.first], dtype=np.int32, order="C")
    codes[:, sizes == 1] = 0  # known without looking
    is_open = codes == HOLE
    ones = np.ones(len(sizes), dtype=np.int64)
    first, pattern = unique_rows(np.where(is_open, HOLE, 0), ones, np.empty((0, 0)))
    found, log_size, tree = _find(dag, is_open[first], cap, limit)
    layout = _lay(dag, found, log_size, tree, pattern, budget)
    children = dag.child_indices
    families = Families(
        member=flat(dag.layout.members).astype(np.int64),
        stride=flat(dag.layout.strides).astype(np.int64),
        member_start=starts(dag.layout.members).astype(np.int64),
        start=np.array(dag.layout.start, dtype=np.int64),
        child=flat(children).astype(np.int64),
        child_start=starts(children).astype(np.int64),
    )
    tables, shares = layout.tables[pattern], layout.shares[pattern]
    trees = list_sums(tree >= 0, found[0])[pattern]
    rows = Rows(
        codes,
        distinct.weights.copy(),
        pattern,
        np.cumsum(tables) - tables,
        np.cumsum(shares) - shares,
        np.cumsum(trees) - trees,
    )
    places = int(tables.sum()), int(shares.sum())
    return Charted(dag, layout.chart, rows, families, sizes, layout.room, places)


def _find(
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
class _Laid:
    """A chart, and for each pattern how long its rows' tables and marginals are."""

    chart: Chart
    tables: NDArray[np.int64]
    shares: NDArray[np.int64]
    room: tuple[int, int]


def _lay(
    dag: Dag,
    found: tuple[NDArray[np.int64], ...],
    log_size: NDArray[np.float64],
    tree: NDArray[np.int64],
    pattern: NDArray[np.int64],
    budget: int,
) -> _Laid:
    """Give every table its place, once it is known that they fit."""
    island_start, part_start, member_start, member = found
    size = np.exp(np.minimum(log_size, 300.0))  # whatever is larger is refused
    size[part_start[:-1][tree >= 0] + 1] = 0.0  # the one part that has no table
    cut, is_cut = part_start[:-1], np.zeros(len(size), dtype=bool)
    is_cut[cut] = True
    block = list_sums(np.where(is_cut, 0.0, size), part_start)
    _check(dag, found, size, size[cut] * (1.0 + block), pattern, budget)
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
    return _Laid(chart, np.diff(of_island[island_start]), shares, (room[0] + 1, room[1] + 1))


def _check(
    dag: Dag,
    found: tuple[NDArray[np.int64], ...],
    size: NDArray[np.float64],
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
        f"the islands of all rows would take about {needed / 2**30:.3g} GiB, more than the "
        f"{budget / 2**30:.3g} GiB allowed; the largest has to be cut at {', '.join(names[:12])}"
        f"{', …' if len(names) > 12 else ''}. Start from a graph with fewer arcs, or limit the parents."
    )
