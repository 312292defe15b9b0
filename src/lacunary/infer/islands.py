"""Expected counts of any family, also of one that is not in the graph, given a table with holes.

Given a row's observed cells its holes fall apart into *islands*: sets joined in the moral graph. Islands
are independent of each other, so the joint posterior of any set of variables is a product of marginals of
islands (docs/structural-em.md). One pass over the rows counts a set together with each other variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from math import prod
from operator import attrgetter, methodcaller

import numpy as np
from numpy.typing import NDArray

from lacunary.data.parts import Parts
from lacunary.data.schema import Schema
from lacunary.data.source import in_tree
from lacunary.data.table import HOLE, unique_rows
from lacunary.errors import ImpossibleRowError
from lacunary.infer.engine import observed_in
from lacunary.infer.island_chart import find_islands, lay_tables
from lacunary.infer.island_trees import Answer, Trees
from lacunary.infer.parallel import in_parallel, in_runs
from lacunary.infer.shape import flat, list_sums, starts
from lacunary.kernels.island_counts import Given, Workspace, count_families
from lacunary.kernels.island_tables import fill_tables
from lacunary.kernels.islands import Chart, Families, Query, Rows
from lacunary.model.dag import Dag

__all__ = ["CHUNKS", "COUNTS", "ISLAND_BUDGET", "Charted", "IslandSum", "Islands", "Members", "chart"]

CAP = 128
"""Configurations of an island beyond which it is cut: smaller parts are faster to read, more cuts slower."""

LIMIT = 2**14
"""Numbers beyond which the tables of one island are not written down: a junction tree is faster then."""

ISLAND_BUDGET = 2**31
"""Bytes that the tables of all rows' islands may take together before a network is refused as too wide."""

Members = tuple[int, ...]
"""A set of variables, in the order in which their counts are asked for."""

ROOM = 2**21
"""Expected counts that come from parts in one go, and about as many that are remembered (16 MiB each)."""

ROWS_AT_ONCE, CHUNKS = 2048, 32
"""Rows that one thread counts together, at least, and the most chunks of rows; the cut depends on rows and
on how many counts there are, and so sums do not on threads."""

CELL, OPEN, ALONE = 5e-10, 8e-9, 0.25
"""Seconds that counting a set with each other variable takes for a cell and, beyond that, for a hole; and how
much of that is needed for the set alone."""

COUNTS = 2**24
"""Expected counts of all chunks together (128 MiB)."""


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

    def under(self, theta: NDArray[np.float64], weights: NDArray[np.float64]) -> Islands:
        """Return the islands' tables under these parameters, the rows weighted; (rows,)."""
        table, share = np.empty(self.places[0]), np.zeros(self.places[1])
        with np.errstate(divide="ignore"):
            log_theta = np.log(theta)

        rows, step = len(self.rows.codes), self.step(1)

        def fill(first: int) -> int:
            return fill_tables(
                self.families,
                self.chart,
                self.rows,
                self.sizes,
                log_theta,
                first,
                min(first + step, rows),
                table,
                share,
            )

        bad = [row for row in in_parallel(fill, range(0, rows, step)) if row >= 0]
        if bad:
            seen = observed_in(self.dag.schema, self.rows.codes[bad[0]])
            raise ImpossibleRowError(
                f"a row has probability zero under the model: {seen}. "
                "Give every state that can occur a positive probability."
            )
        weighed = replace(self, rows=self.rows._replace(weight=weights))
        islands = Islands(weighed, table, share, self._trees(theta))
        islands.trees.fill_shares(islands.column, share)
        return islands

    def _trees(self, theta: NDArray[np.float64]) -> Trees:
        """Return the islands that have no tables."""
        start, none = self.chart.island_start, np.empty(0, dtype=np.int64)
        if not np.any(self.chart.tree >= 0):
            return Trees(self.dag, theta, self.chart, self.rows, none, none)
        large = [np.arange(a, b)[self.chart.tree[a:b] >= 0] for a, b in pairwise(start)]
        many = np.diff(np.append(self.rows.tree_start, sum(len(large[p]) for p in self.rows.pattern)))
        island = np.concatenate([large[p] for p in self.rows.pattern[many > 0]])
        row = np.repeat(np.arange(len(many)), many)
        return Trees(self.dag, theta, self.chart, self.rows, row, island)

    def step(self, counts: int) -> int:
        """Return how many rows are in a chunk where there are so many counts: chunks are worked on apart."""
        return max(ROWS_AT_ONCE, -(-len(self.rows.codes) // max(min(CHUNKS, COUNTS // counts), 1)))


@dataclass(frozen=True, eq=False)
class Islands:
    """What a network says about the holes of all rows, from which any family's expected counts are read."""

    charted: Charted
    table: NDArray[np.float64]
    share: NDArray[np.float64]
    trees: Trees
    _known: dict[Members, NDArray[np.float64]] = field(default_factory=dict, repr=False)

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

    def statistics(self, dag: Dag) -> NDArray[np.float64]:
        """Return the expected counts of one graph's families, in the places of its layout; (size,).

        Graphs that are asked for one after the other have most families in common: their counts are kept.
        """
        layout, out = dag.layout, np.zeros(dag.layout.size)
        missing = [members for members in dict.fromkeys(layout.members) if members not in self._known]
        found = in_parallel(self.counts, missing, self.seconds * ALONE * len(missing))
        if sum(counts.size for counts in (*self._known.values(), *found)) > ROOM:
            self._known.clear()
            missing = list(layout.members)
            found = [self.counts(members) for members in missing]
        self._known.update(zip(missing, found, strict=True))
        for i, members in enumerate(layout.members):
            out[layout.slice(i)] += self._known[members].ravel()  # tied families share their places
        return out

    @property
    def schema(self) -> Schema:
        """The variables."""
        return self.charted.dag.schema

    @property
    def distinct(self) -> int:
        """How many distinct rows there are."""
        return len(self.charted.rows.codes)

    @property
    def size(self) -> float:
        """N: the sum of the rows' weights."""
        return float(self.charted.rows.weight.sum())

    @cached_property
    def seconds(self) -> float:
        """About how long it takes to count a set of variables together with each other one."""
        rows, holes = self.charted.rows.codes, len(self.share) / max(self.charted.sizes.mean(), 1.0)
        return float(CELL * rows.size + OPEN * holes)

    @cached_property
    def column(self) -> NDArray[np.int64]:
        """Where each variable's columns begin; (variables,)."""
        return np.concatenate([[0], np.cumsum(self.charted.sizes)])[:-1]

    def _count(self, members: Sequence[int], wide: bool) -> NDArray[np.float64]:
        charted = self.charted
        sizes, every = charted.sizes, int(charted.sizes.sum()) + 1
        columns = every if wide else 1
        stride = np.full(len(sizes), -1, dtype=np.int64)
        below = 1
        for v in reversed(members):
            stride[v] = below
            below *= int(sizes[v])
        query = Query(np.array(members, dtype=np.int64), stride, self.column, columns, len(sizes))
        answer = self.trees.ask(members, stride, self.column)
        # Alone or with others, rows are cut alike: the set's own counts are the same, to the last bit.
        step = charted.step(below * every)
        chunks = -(-len(charted.rows.codes) // step)
        own, beside = np.zeros((chunks, below)), np.zeros((chunks, below * columns if wide else 0))

        def count(run: range) -> None:
            given, workspace = self.workspace(below, answer)
            count_families(
                charted.chart,
                charted.rows,
                sizes,
                query,
                self.table,
                self.share,
                given,
                workspace,
                run.start,
                run.stop,
                step,
                own,
                beside,
            )

        in_runs(count, chunks, 1, self.seconds * (1.0 if wide else ALONE))
        alone = sum(own, start=np.zeros(below))
        if not wide:
            return np.asarray(alone).reshape(-1, 1)
        counts: NDArray[np.float64] = beside.sum(axis=0).reshape(below, columns)
        for v in members:
            counts[:, self.column[v] : self.column[v] + sizes[v]] = 0.0
        counts[:, -1] = alone
        return counts

    def workspace(self, places: int, answer: Answer) -> tuple[Given, Workspace]:
        """Return room for counting; what junction trees say stands behind what is worked out on the way."""
        n, room = len(self.charted.sizes), self.charted.room
        given = Given(answer.given.near + room[0], answer.given.many, answer.given.rest + room[1])
        return given, Workspace(
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


class IslandSum:
    """Islands of several parts of the rows, wherever they are; counts are added when they are asked for.

    A question costs a way to all parts and back. Who knows what will be asked next says so by `announce`:
    once the first of it is asked, as much of the rest as there is room for comes with it.
    """

    def __init__(self, schema: Schema, parts: Parts[Islands]) -> None:
        self.schema, self.parts = schema, parts
        self._announced: dict[Members, bool] = {}
        self._known: dict[Members, tuple[bool, NDArray[np.float64]]] = {}

    def announce(self, sets: Iterable[Members], others: bool) -> None:
        """Say what will be asked for: counts of these sets of variables, alone or with each other one."""
        self._announced = dict.fromkeys((s for s in sets if not self._has(s, others)), others)

    def counts(self, members: Sequence[int]) -> NDArray[np.float64]:
        """Return `Islands.counts` of all parts."""
        key = tuple(members)
        if not self._has(key, False):
            self._ask(key, False)
        wide, known = self._known[key]
        own = known[:, -1] if wide else known[:, 0]  # the same numbers, to the last bit
        return own.reshape([self.schema.sizes[v] for v in key]).copy()

    def counts_with_others(self, members: Sequence[int]) -> NDArray[np.float64]:
        """Return `Islands.counts_with_others` of all parts."""
        key = tuple(members)
        if not self._has(key, True):
            self._ask(key, True)
        return self._known[key][1]

    def _has(self, key: Members, others: bool) -> bool:
        return key in self._known and (self._known[key][0] or not others)

    def _ask(self, key: Members, others: bool) -> None:
        """Ask all parts for a set, and for those announced behind it, in one go."""
        asked, cells = {key: others or self._announced.get(key, False)}, self._cells(key, True)
        for other, wide in self._announced.items() if key in self._announced else ():
            cells += self._cells(other, wide)
            if cells > ROOM:
                break
            asked.setdefault(other, wide)
        found = in_tree(self.parts.each(partial(_several, asked)), _added)
        if sum(known.size for _, known in self._known.values()) > ROOM:
            self._known.clear()
        self._known |= {one: (asked[one], counts) for one, counts in zip(asked, found, strict=True)}
        self._announced = {one: wide for one, wide in self._announced.items() if one not in asked}

    def _cells(self, key: Members, wide: bool) -> int:
        return prod(self.schema.sizes[v] for v in key) * (sum(self.schema.sizes) + 1 if wide else 1)

    def statistics(self, dag: Dag) -> NDArray[np.float64]:
        """Return the expected counts of one graph's families, in the places of its layout; (size,)."""
        return in_tree(self.parts.each(methodcaller("statistics", dag)))

    def statistics_of(self, dags: Sequence[Dag]) -> list[NDArray[np.float64]]:
        """Return the same for several graphs, in one pass."""
        found = self.parts.each(partial(_statistics_of, dags))
        return [in_tree(of_parts) for of_parts in zip(*found, strict=True)]

    @cached_property
    def size(self) -> float:
        """N: the sum of the rows' weights."""
        return float(in_tree(self.parts.each(attrgetter("size"))))


def _statistics_of(dags: Sequence[Dag], islands: Islands) -> list[NDArray[np.float64]]:
    return [islands.statistics(dag) for dag in dags]


def _several(asked: Mapping[Members, bool], islands: Islands) -> list[NDArray[np.float64]]:
    """Return the counts of several sets, each alone or with others; one line a configuration of the set."""
    return [
        islands.counts_with_others(members) if wide else islands.counts(members).reshape(-1, 1)
        for members, wide in asked.items()
    ]


def _added(a: list[NDArray[np.float64]], b: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    return [one + two for one, two in zip(a, b, strict=True)]


def chart(
    dag: Dag,
    codes: NDArray[np.signedinteger],
    *,
    cap: int = CAP,
    limit: int = LIMIT,
    budget: int = ISLAND_BUDGET,
) -> Charted:
    """Find the islands of rows over the graph's variables; (rows, variables).

    Raises `TooWideError` if the tables of all rows would take more than ``budget`` bytes.
    """
    sizes = np.array(dag.schema.sizes, dtype=np.int64)
    codes = np.array(codes, dtype=np.int32, order="C")
    codes[:, sizes == 1] = 0  # known without looking
    is_open = codes == HOLE
    ones = np.ones(len(sizes), dtype=np.int64)
    examples, pattern = unique_rows(np.where(is_open, HOLE, 0), ones, np.empty((0, 0)))
    found, log_size, tree = find_islands(dag, is_open[examples], cap, limit)
    layout = lay_tables(dag, found, log_size, tree, pattern, budget)
    children = dag.child_indices
    families = Families(
        member=flat(dag.layout.members).astype(np.int64),
        stride=flat(dag.layout.strides).astype(np.int64),
        member_start=starts(dag.layout.members).astype(np.int64),
        start=np.array(dag.layout.start, dtype=np.int64),
        child=flat(children).astype(np.int64),
        child_start=starts(children).astype(np.int64),
    )
    tables = layout.tables[pattern]
    trees = list_sums(tree >= 0, found[0])[pattern]
    first = np.cumsum(sizes) - sizes
    rows = Rows(
        codes,
        np.where(is_open, sizes.sum(), codes + first).astype(np.int32),
        np.ones(len(codes)),
        pattern,
        np.cumsum(tables) - tables,
        *_shares(found[3], layout.shares, pattern, sizes),
        np.cumsum(trees) - trees,
    )
    places = int(tables.sum()), int(rows.share_start[-1])
    return Charted(dag, layout.chart, rows, families, sizes, layout.room, places)


def _shares(
    member: NDArray[np.int64], shares: NDArray[np.int64], pattern: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where each row's marginals begin, and which column each of their numbers belongs to.

    ``member`` are the holes of all patterns, one after the other, and ``shares`` how many numbers each has.
    """
    states, many = sizes[member], shares[pattern]
    of_patterns = _ranges((np.cumsum(sizes) - sizes)[member], states)
    start = np.concatenate([[0], np.cumsum(many)])
    return start, of_patterns[_ranges((np.cumsum(shares) - shares)[pattern], many)].astype(np.int32)


def _ranges(first: NDArray[np.int64], many: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return so many numbers from each first one on, one run after the other."""
    ends = np.cumsum(many)
    return np.asarray(np.arange(many.sum()) + np.repeat(first - ends + many, many))
