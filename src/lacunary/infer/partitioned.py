"""Rows in parts: the sum of sources is a source, and the sum of rows is rows.

Parts are fixed runs of rows, cut by the data alone and numbered. What is asked of them is asked of each, and
added in their order, in a tree of fixed shape: who works on which part, and when, changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lacunary.data.doubts import doubts
from lacunary.data.facts import Facts
from lacunary.data.schema import Schema
from lacunary.data.source import in_tree
from lacunary.data.table import Table
from lacunary.errors import SchemaError, TableError
from lacunary.family.distribution import NormalMixture
from lacunary.infer.engine import Asked, Distinct, check_possible, prepare_discrete
from lacunary.infer.rows import Expected, Rows
from lacunary.infer.walker import Walker
from lacunary.model.dag import Dag
from lacunary.model.stats import Batch

__all__ = ["Partitioned", "PartitionedRows"]

T = TypeVar("T")
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Partitioned:
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

    parts: tuple[Table, ...]

    def __init__(self, parts: Iterable[Table]) -> None:
        object.__setattr__(self, "parts", tuple(parts))
        if not self.parts:
            raise TableError("a partitioned source needs at least one part, which may be empty")
        for number, part in enumerate(self.parts):
            if part.schema != self.schema:
                raise SchemaError(
                    f"part {number + 1} does not have the variables and states of the first; read all parts "
                    "with one schema"
                )

    @property
    def schema(self) -> Schema:
        """The variables, in the order of the columns."""
        return self.parts[0].schema

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
        return doubts(self)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __repr__(self) -> str:
        return f"<Partitioned: {len(self)} rows in {len(self.parts)} parts, {len(self.schema)} variables>"

    def align(self, schema: Schema) -> Partitioned:
        """Return the rows as a model over ``schema`` sees them; see `Table.align`."""
        return self.mapped(partial(_aligned, schema))

    def mapped(self, function: Callable[[Table], Table]) -> Partitioned:
        """Return the source whose rows are those of this one, changed part by part."""
        return Partitioned(map(function, self.parts))

    def fold(self, function: Callable[[Table], T], merge: Callable[[T, T], T] = add) -> T:
        """Return what a function says of each part, merged in the order of the parts."""
        return in_tree([function(part) for part in self.parts], merge)

    def whole(self, purpose: str) -> Table:
        """Return all rows as one table: these parts are in memory, whatever they are needed for."""
        codes, reals, weights = (
            np.concatenate([getattr(part, what) for part in self.parts])
            for what in ("codes", "reals", "weights")
        )
        return Table(self.schema, codes, reals, weights, library=self.parts[0].library)

    def prepare(self, dag: Dag, lay: Callable[[Dag, Table], Rows]) -> PartitionedRows:
        """Lay every part out for a graph."""
        return PartitionedRows(tuple(lay(dag, part) for part in self.parts))


def _aligned(schema: Schema, table: Table) -> Table:
    return table.align(schema)


@dataclass(frozen=True, eq=False)
class PartitionedRows:
    """Rows that are the sum of others: a kind of `lacunary.infer.rows.Rows`."""

    parts: tuple[Rows, ...]

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.parts[0].dag

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def weight(self) -> float:
        """N: Σ of the rows' weights."""
        return in_tree([part.weight for part in self.parts])

    @property
    def observed(self) -> Array:
        """Statistics of the families that rows show whole, which no parameter changes."""
        return in_tree([part.observed for part in self.parts])

    @property
    def open_columns(self) -> NDArray[np.bool_]:
        """Which variables are a hole in some row; (variables,)."""
        return np.asarray(np.any([part.open_columns for part in self.parts], axis=0))

    def expect(self, vectors: NDArray[Any]) -> Batch:
        """Return the E-step: the sum over parts."""
        return in_tree([part.expect(vectors) for part in self.parts])

    def families(self, vector: Array) -> Expected:
        """Return what gives the expected statistics of any family, in the graph or not."""
        return in_tree([part.families(vector) for part in self.parts])

    def log_evidence(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Return the log-density of each row's observed cells; (vectors, rows)."""
        return np.concatenate([part.log_evidence(vectors) for part in self.parts], axis=1)

    def marginals(self, vector: Array, targets: Sequence[Sequence[int]]) -> list[Array]:
        """Return the posterior of sets of discrete variables in each row."""
        found = [part.marginals(vector, targets) for part in self.parts]
        return [np.concatenate(of_parts) for of_parts in zip(*found, strict=True)]

    def ask(self, targets: Sequence[Sequence[int]]) -> Asked:
        """Return a question about sets of discrete variables that can be put under many vectors."""
        asked = [part.ask(targets) for part in self.parts]

        def posteriors(vector: Array) -> Array:
            return np.concatenate([one.posteriors(vector) for one in asked])

        return Asked(np.concatenate([one.weights for one in asked]), posteriors)

    def normals(self, vector: Array, targets: Sequence[int]) -> list[NormalMixture]:
        """Return the posterior of continuous variables in each row."""
        found = [part.normals(vector, targets) for part in self.parts]
        return [of_parts[0].joined(of_parts[1:]) for of_parts in zip(*found, strict=True)]

    def completed(self, vector: Array, rng: np.random.Generator | None) -> tuple[NDArray[np.int32], Array]:
        """Return codes and reals with every hole filled: drawn, or without a generator most probable."""
        codes, reals = zip(*(part.completed(vector, rng) for part in self.parts), strict=True)
        return np.concatenate(codes), np.concatenate(reals)

    def score_covariance(self, vector: Array) -> tuple[Array, Array]:
        """Return expected counts, and the posterior covariance of the scores."""
        counts, covariances = zip(*(part.score_covariance(vector) for part in self.parts), strict=True)
        return in_tree(counts), in_tree(covariances)

    def weighed(self, weights: Array) -> PartitionedRows:
        """Return the same rows with other weights; (rows,)."""
        shares = np.split(weights, np.cumsum([len(part) for part in self.parts])[:-1])
        return PartitionedRows(tuple(p.weighed(w) for p, w in zip(self.parts, shares, strict=True)))

    def shifted(self, units: Array) -> PartitionedRows:
        """Return the same rows with so much added to log-densities for every value seen; (variables,)."""
        return PartitionedRows(tuple(part.shifted(units) for part in self.parts))

    def shown(self, row: int) -> str:
        """Return the observed states of one row in words."""
        for part in self.parts:
            if row < len(part):
                return part.shown(row)
            row -= len(part)
        raise IndexError(row)

    def check_possible(self, vector: Array) -> None:
        """Raise an error that names the first row to which these parameters give probability zero."""
        check_possible(self, vector)

    def gathered(self, purpose: str) -> Distinct:
        """Return the distinct rows in one place."""
        found = [part.gathered(purpose) for part in self.parts]
        codes, reals, weights = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        distinct = Table(self.dag.schema.reveal(), codes, reals, weights).distinct
        return Distinct(codes[distinct.first], reals[distinct.first], distinct.weights)

    def walker(self, purpose: str, alpha: Array) -> Walker:
        """Return what walks chains over completions of the rows, gathered in one place."""
        codes, reals, weights = self.gathered(purpose)
        table = Table(self.dag.schema.reveal(), codes, reals, weights)
        return prepare_discrete(self.dag, table).walker(purpose, alpha)
