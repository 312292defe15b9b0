"""The factors into which hidden variables leave the observable distribution, each with its own parameters.

Two hidden variables of one family belong together; so do, with them, all families that mention them. Each
such *district* is a factor of the observable distribution that can be read off it again (Tian and Pearl
2002), so the ranks of the districts' Jacobians add up. The proof is in ``docs/derivations/dimension.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from lacunary.model.dag import Dag
from lacunary.model.graph import merged

__all__ = ["District", "blocks"]

T = TypeVar("T")


@dataclass(frozen=True)
class District:
    """Families (named by their child) whose product, summed over ``hidden``, is one factor.

    Attributes
    ----------
    families
        The variables whose tables are multiplied, parents before children.
    hidden
        The variables summed over.
    given
        Observed variables the factor is conditional on: parents here, children elsewhere.
    made
        Observed variables the factor is a distribution of.
    """

    families: tuple[int, ...]
    hidden: frozenset[int]
    given: tuple[int, ...]
    made: tuple[int, ...]

    @property
    def observed(self) -> tuple[int, ...]:
        """The variables the factor is a function of."""
        return (*self.given, *self.made)

    def bound(self, sizes: tuple[int, ...]) -> int:
        """Return how many free values a table of the factor has: each distribution in it sums to one."""
        given = math.prod(sizes[i] for i in self.given)
        return given * (math.prod(sizes[i] for i in self.made) - 1)


def blocks(dag: Dag) -> list[tuple[District, ...]]:
    """Return the districts, those that share a table together.

    A hidden variable without observed descendants sums to one: its family is in no district.
    """
    relevant = dag.ancestors(i for i, v in enumerate(dag.schema) if not v.hidden)
    hidden = {i for i in relevant if dag.schema.variables[i].hidden and dag.schema.sizes[i] > 1}
    families = [i for i in dag.order_indices if i in relevant]
    inside = [hidden.intersection((i, *dag.parent_indices[i])) for i in families]
    grouped = _grouped(families, [members or {i} for i, members in zip(families, inside, strict=True)])
    return _tie(dag, [_district(dag, list(members), hidden) for members in grouped])


def _district(dag: Dag, families: list[int], hidden: set[int]) -> District:
    made = tuple(i for i in families if i not in hidden)
    inputs = {p for i in families for p in dag.parent_indices[i]}
    given = tuple(sorted(p for p in inputs if p not in hidden and p not in made))
    return District(tuple(families), frozenset(hidden.intersection(families)), given, made)


def _tie(dag: Dag, districts: list[District]) -> list[tuple[District, ...]]:
    """Put districts together that use the same table."""
    leader = {dag.schema.index(name): dag.schema.index(group[0]) for group in dag.tied for name in group}
    return _grouped(districts, [{leader.get(i, i) for i in district.families} for district in districts])


def _grouped(things: Sequence[T], marks: Sequence[set[int]]) -> list[tuple[T, ...]]:
    """Put things together whose marks overlap, directly or through others; in the order of the first."""
    home = {mark: k for k, group in enumerate(merged(marks)) for mark in group}
    found: dict[int, list[T]] = {}
    for thing, mine in zip(things, marks, strict=True):
        found.setdefault(home[next(iter(mine))], []).append(thing)
    return [tuple(group) for group in found.values()]
