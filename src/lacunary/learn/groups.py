"""Starts from groups of rows: hidden classes begin as groups that k-means or hierarchical merging finds.

A hidden discrete variable is revealed as the group of each row, looked for in the columns that depend on it;
what is best for the rows so completed is where the climb begins. Draws take turns with groups, as nobody
knows beforehand which lead highest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lacunary.data.source import Source
from lacunary.data.table import Table, code_dtype
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.rows import prepare
from lacunary.learn.places import Places
from lacunary.learn.start import Draws, check_count, first_point
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.cluster import k_means, nearest, squares
from lacunary.model.dag import Dag

__all__ = ["Groups", "has_classes"]


@dataclass(frozen=True)
class Groups:
    """``count`` starts, by turns from groups of rows and from draws; the first is k-means.

    Groups are those of k-means++ on standardised columns, then those of hierarchical merging, both once more
    with columns made uncorrelated, and further draws of k-means++; holes are left out of distances. Networks
    without hidden classes, or with hidden factors, begin from draws alone.
    """

    count: int = 20

    def __post_init__(self) -> None:
        check_count(self.count)

    def points(self, belief: Belief, prior: Prior, table: Source, rng: np.random.Generator) -> Array:
        """Return the starting parameters; (count, size)."""
        dag = belief.dag
        if not has_classes(dag):
            return Draws(self.count).points(belief, prior, table, rng)
        many = self.count if self.count <= FIRST else FIRST + (self.count - FIRST) // 2
        groups = [self._grouped(belief, table, number, rng) for number in range(many)]
        if many == self.count:
            return np.array(groups)
        return np.concatenate([groups, Draws(self.count - many).points(belief, prior, table, rng)])

    def _grouped(self, belief: Belief, table: Source, number: int, rng: np.random.Generator) -> Array:
        """Return what is best for rows whose hidden classes are groups found in one of several ways."""
        dag = belief.dag
        hidden = [i for i, variable in enumerate(dag.schema) if variable.hidden]
        classes = [_Classes.of(dag, table, i, number, rng) for i in hidden]
        full = table.mapped(partial(_revealed, hidden, classes))
        shown = replace(dag, schema=dag.schema.reveal())
        return first_point(prepare(shown, full), replace(belief, dag=shown), full)


TRIES = 8
"""Draws of k-means++ for the first start."""

FIRST = 4
"""So many starts are groups found in different ways; later ones take turns with draws."""


@dataclass(frozen=True, eq=False)
class _Classes:
    """A hidden variable's states as centres of groups; (states, width)."""

    places: Places
    centres: Array

    @classmethod
    def of(cls, dag: Dag, table: Source, i: int, number: int, rng: np.random.Generator) -> _Classes:
        """Return groups in the columns below a hidden variable, found in the way of this number."""
        sphere = number in (2, 3) or (number >= FIRST and number % 2 == 1)
        places, states = Places(table, _below(dag, i), sphere), dag.schema.variables[i].size
        if number in (1, 3):
            return cls(places, places.merged_centres(states))
        return cls(
            places, _tightest(places, states, rng) if number == 0 else k_means(*places.drawn, states, rng)
        )

    def of_rows(self, table: Table) -> Integers:
        """Return the group of each row."""
        return nearest(self.places.points(table), self.centres)


def _tightest(places: Places, states: int, rng: np.random.Generator) -> Array:
    """Return the centres of several draws of k-means++ that leave the least, for whoever starts but once."""
    points, weights = places.drawn
    tried = [k_means(points, weights, states, rng) for _ in range(TRIES)]
    return min(tried, key=lambda centres: float(weights @ squares(points, centres).min(axis=1)))


def has_classes(dag: Dag) -> bool:
    """Whether all that is hidden are discrete variables above observed ones, with families of their own."""
    hidden = [i for i, variable in enumerate(dag.schema) if variable.hidden]
    plain = all(dag.schema.variables[i].discrete and _below(dag, i) for i in hidden)
    return bool(hidden and plain and not dag.tied and not dag.implied)


def _below(dag: Dag, i: int) -> tuple[int, ...]:
    """Return the observed variables that have a hidden one for a parent."""
    variables = dag.schema.variables
    return tuple(
        j for j, parents in enumerate(dag.parent_indices) if i in parents and not variables[j].hidden
    )


def _revealed(hidden: list[int], classes: list[_Classes], table: Table) -> Table:
    """Return rows in which hidden variables hold the group of each row."""
    schema = table.schema.reveal()
    codes = table.codes.astype(code_dtype(schema.sizes))
    for i, each in zip(hidden, classes, strict=True):
        codes[:, i] = each.of_rows(table)
    return replace(table, schema=schema, codes=codes)
