"""Rows in parts: the sum of sources is a source, and the sum of rows is rows.

Parts are fixed runs of rows, cut by the data alone and numbered. What is asked of them is asked of each, and
added in their order, in a tree of fixed shape: who works on which part, and when, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import add, attrgetter, methodcaller
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lacunary.data.doubts import doubts
from lacunary.data.facts import Facts
from lacunary.data.parts import Here, Parts
from lacunary.data.schema import Schema
from lacunary.data.source import Source, in_tree
from lacunary.data.table import Table
from lacunary.errors import SchemaError, TableError
from lacunary.family.distribution import NormalMixture
from lacunary.infer.engine import Asked, Distinct, check_possible, prepare_discrete
from lacunary.infer.islands import IslandSum
from lacunary.infer.rows import Expected, Rows, Sweep
from lacunary.infer.walker import Walker
from lacunary.maths.drawn import joined
from lacunary.model.dag import Dag
from lacunary.model.stats import Batch

__all__ = ["Parted", "Partitioned", "PartitionedRows", "expect_together", "in_parts", "together"]

T = TypeVar("T")
Array = NDArray[np.float64]


class Parted:
    """Parts of rows that together are one source: a kind of `lacunary.data.source.Source`.

    Attributes
    ----------
    schema
        The variables, in the order of the columns.
    tables
        The parts: tables over these variables.
    """

    def __init__(self, schema: Schema, tables: Parts[Table]) -> None:
        self.schema, self.tables = schema, tables

    @property
    def size(self) -> float:
        """N: the sum of the rows' weights."""
        return self.facts.weight

    @cached_property
    def facts(self) -> Facts:
        """Sizes, ranges, means and variances of the columns."""
        return self.fold(Facts.of)

    @cached_property
    def doubts(self) -> str:
        """What is doubtful about the columns, in a line; see `Table.doubts`."""
        return doubts(cast(Source, self))

    def __len__(self) -> int:
        return self.facts.rows

    def __repr__(self) -> str:
        kind, many = type(self).__name__, len(self.tables)
        return f"<{kind}: {len(self)} rows in {many} parts, {len(self.schema)} variables>"

    def fold(self, function: Callable[[Table], T], merge: Callable[[T, T], T] = add) -> T:
        """Return what a function says of each part, merged in the order of the parts."""
        return in_tree(self.tables.each(function), merge)

    def laid(self, function: Callable[[Table], T], keep: bool = True) -> Parts[T]:
        """Return what a function makes of each part, which stays where the part is."""
        return self.tables.then(function, keep=keep)

    def prepare(self, dag: Dag, lay: Callable[[Dag, Table], Rows]) -> PartitionedRows:
        """Lay every part out for a graph, where it is."""
        return PartitionedRows(dag, self.laid(partial(lay, dag)))


class Partitioned(Parted):
    """Tables that together are one source of rows; takes every verb that a table takes.

    Attributes
    ----------
    parts
        Tables over the same variables, in order.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> halves = lac.Partitioned([votes.take(slice(0, 200)), votes.take(slice(200, None))])
    >>> len(halves)
    435
    """

    def __init__(self, parts: Iterable[Table]) -> None:
        self.parts = tuple(parts)
        if not self.parts:
            raise TableError("a partitioned source needs at least one part, which may be empty")
        super().__init__(self.parts[0].schema, Here(self.parts))
        for number, part in enumerate(self.parts):
            if part.schema != self.schema:
                raise SchemaError(
                    f"part {number + 1} does not have the variables and states of the first; read all parts "
                    "with one schema"
                )

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def align(self, schema: Schema) -> Partitioned:
        """Return the rows as a model over ``schema`` sees them; see `Table.align`."""
        return self.mapped(partial(_aligned, schema))

    def mapped(self, function: Callable[[Table], Table]) -> Partitioned:
        """Return the source whose rows are those of this one, changed part by part."""
        return Partitioned(map(function, self.parts))

    def whole(self, purpose: str) -> Table:
        """Return all rows as one table: these parts are in memory, whatever they are needed for."""
        return together(self.parts)


def together(parts: Sequence[Table]) -> Table:
    """Return the rows of tables over the same variables as one table."""
    codes, reals, weights = (
        np.concatenate([getattr(part, what) for part in parts]) for what in ("codes", "reals", "weights")
    )
    return Table(parts[0].schema, codes, reals, weights, library=parts[0].library)


def in_parts(rows: Rows) -> Parts[Rows]:
    """Return the parts of rows, wherever they are; rows that are no sum are one part."""
    return rows.parts if isinstance(rows, PartitionedRows) else Here((rows,))


def _can_be_finer(rows: Rows) -> bool:
    return rows.finer() is not None


def _finer(rows: Rows) -> Rows:
    return rows.finer() or rows


def _aligned(schema: Schema, table: Table) -> Table:
    return table.align(schema)


def expect_together(asked: Sequence[tuple[Sweep, NDArray[Any]]]) -> list[Batch]:
    """Return the E-steps of several rows, of the same parts laid out for different graphs, in one pass."""
    parts = [rows.parts for rows, _ in asked if isinstance(rows, PartitionedRows)]
    if len(parts) < max(len(asked), 1):
        return [rows.expect(vectors) for rows, vectors in asked]
    first, *others = parts
    found = first.each(partial(_expect_all, [vectors for _, vectors in asked]), *others)
    return [in_tree(batches) for batches in zip(*found, strict=True)]


def _expect_all(vectors: Sequence[NDArray[Any]], *rows: Rows) -> list[Batch]:
    return [each.expect(own) for each, own in zip(rows, vectors, strict=True)]


@dataclass(frozen=True, eq=False)
class PartitionedRows:
    """Rows that are the sum of others: a kind of `lacunary.infer.rows.Rows`.

    Attributes
    ----------
    dag
        The graph.
    parts
        The parts, laid out, wherever they are.
    """

    dag: Dag
    parts: Parts[Rows]

    @cached_property
    def _facts(self) -> tuple[_Part, ...]:
        """What is the same under all parameters, of each part."""
        return tuple(self.parts.each(_Part.of))

    def __len__(self) -> int:
        return sum(part.rows for part in self._facts)

    @property
    def weight(self) -> float:
        """N: Σ of the rows' weights."""
        return in_tree([part.weight for part in self._facts])

    @property
    def observed(self) -> Array:
        """Statistics of the families that rows show whole, which no parameter changes."""
        return in_tree([part.observed for part in self._facts])

    @property
    def open_columns(self) -> NDArray[np.bool_]:
        """Which variables are a hole in some row; (variables,)."""
        return np.asarray(np.any([part.open_columns for part in self._facts], axis=0))

    def expect(self, vectors: NDArray[Any]) -> Batch:
        """Return the E-step: the sum over parts."""
        found: Batch = in_tree(self.parts.each(methodcaller("expect", vectors)))
        return found

    def finer(self) -> PartitionedRows | None:
        """Return the same rows with a smaller Monte Carlo error; None where no part can be finer."""
        if not any(self.parts.each(_can_be_finer)):
            return None
        return PartitionedRows(self.dag, self.parts.then(_finer))

    def families(self, vector: Array) -> Expected:
        """Return what gives the expected statistics of any family, in the graph or not."""
        wanted = methodcaller("families", vector)
        if self.dag.continuous:
            triples: Expected = in_tree(self.parts.each(wanted))
            return triples
        return IslandSum(self.dag.schema, self.parts.then(wanted))

    def log_evidence(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return the log-density of each row's observed cells; (vectors, rows)."""
        return joined(self.parts.each(methodcaller("log_evidence", vectors)), axis=1)

    def marginals(self, vector: Array, targets: Sequence[Sequence[int]]) -> list[Array]:
        """Return the posterior of sets of discrete variables in each row."""
        found = self.parts.each(methodcaller("marginals", vector, targets))
        return [joined(of_parts) for of_parts in zip(*found, strict=True)]

    def ask(self, targets: Sequence[Sequence[int]]) -> Asked:
        """Return a question about sets of discrete variables that can be put under many vectors."""
        asked = self.parts.then(methodcaller("ask", targets))

        def posteriors(vector: Array) -> Array:
            return np.concatenate(asked.each(partial(_posteriors, vector)))

        return Asked(np.concatenate(asked.each(attrgetter("weights"))), posteriors)

    def normals(self, vector: Array, targets: Sequence[int]) -> list[NormalMixture]:
        """Return the posterior of continuous variables in each row."""
        found = self.parts.each(methodcaller("normals", vector, targets))
        return [of_parts[0].joined(of_parts[1:]) for of_parts in zip(*found, strict=True)]

    def completed(self, vector: Array, rng: np.random.Generator | None) -> tuple[NDArray[np.int32], Array]:
        """Return codes and reals with every hole filled: drawn, or without a generator most probable."""
        seeds = [None if rng is None else int(rng.integers(2**63)) for _ in range(len(self.parts))]
        codes, reals = zip(*self.parts.each(partial(_completed, vector), seeds), strict=True)
        return np.concatenate(codes), np.concatenate(reals)

    def score_covariance(self, vector: Array) -> tuple[Array, Array]:
        """Return expected counts, and the posterior covariance of the scores."""
        found = self.parts.each(methodcaller("score_covariance", vector))
        counts, covariances = zip(*found, strict=True)
        return in_tree(counts), in_tree(covariances)

    def weighed(self, weights: Array) -> PartitionedRows:
        """Return the same rows with other weights; (rows,)."""
        shares = np.split(weights, np.cumsum([part.rows for part in self._facts])[:-1])
        return PartitionedRows(self.dag, self.parts.then(_weighed, shares, keep=False))

    def shifted(self, units: Array) -> PartitionedRows:
        """Return the same rows with so much added to log-densities for every value seen; (variables,)."""
        return PartitionedRows(self.dag, self.parts.then(methodcaller("shifted", units), keep=False))

    def shown(self, row: int) -> str:
        """Return the observed states of one row in words."""
        ends = np.cumsum([part.rows for part in self._facts])
        if not 0 <= row < ends[-1]:
            raise IndexError(row)
        home = int(np.searchsorted(ends, row, side="right"))
        mine = [row - int(end - part.rows) if k == home else None for k, (end, part) in self._numbered(ends)]
        return "".join(self.parts.each(_shown, mine))

    def _numbered(self, ends: NDArray[np.int64]) -> Iterator[tuple[int, tuple[int, _Part]]]:
        return enumerate(zip(ends.tolist(), self._facts, strict=True))

    def check_possible(self, vector: Array) -> None:
        """Raise an error that names the first row to which these parameters give probability zero."""
        check_possible(self, vector)

    def gathered(self, purpose: str) -> Distinct:
        """Return the distinct rows in one place."""
        found = self.parts.each(methodcaller("gathered", purpose))
        codes, reals, weights = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        distinct = Table(self.dag.schema.reveal(), codes, reals, weights).distinct
        return Distinct(codes[distinct.first], reals[distinct.first], distinct.weights)

    def walker(self, purpose: str, alpha: Array) -> Walker:
        """Return what walks chains over completions of the rows, gathered in one place."""
        codes, reals, weights = self.gathered(purpose)
        table = Table(self.dag.schema.reveal(), codes, reals, weights)
        return prepare_discrete(self.dag, table).walker(purpose, alpha)


class _Part(NamedTuple):
    """What a part says whatever the parameters; see `lacunary.infer.rows.Rows`."""

    rows: int
    weight: float
    observed: Array
    open_columns: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Rows) -> _Part:
        return cls(len(rows), rows.weight, rows.observed, rows.open_columns)


def _weighed(rows: Rows, weights: Array) -> Rows:
    return rows.weighed(weights)


def _posteriors(vector: Array, asked: Asked) -> Array:
    return asked.posteriors(vector)


def _completed(vector: Array, rows: Rows, seed: int | None) -> tuple[NDArray[np.int32], Array]:
    return rows.completed(vector, None if seed is None else np.random.default_rng(seed))


def _shown(rows: Rows, row: int | None) -> str:
    return "" if row is None else rows.shown(row)
