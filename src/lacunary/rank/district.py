"""The factors into which hidden variables leave the observable distribution, each with its own parameters.

Two hidden variables of one family belong together; so do, with them, all families that mention them. Each
such *district* is a factor of the observable distribution that can be read off it again (Tian and Pearl
2002), so the ranks of the districts' Jacobians add up. The proof is in ``docs/derivations/dimension.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from lacunary.model.dag import Dag

__all__ = ["District", "ancestors", "blocks"]


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
    relevant = ancestors(dag, (i for i, v in enumerate(dag.schema) if not v.hidden))
    hidden = {i for i in relevant if dag.schema.variables[i].hidden and dag.schema.sizes[i] > 1}
    families = [i for i in dag.order_indices if i in relevant]
    joined = _Joined(len(dag.names))
    for i in families:
        members = [m for m in (i, *dag.parent_indices[i]) if m in hidden]
        joined.join(members)
    grouped: dict[int, list[int]] = {}
    for i in families:
        inside = [m for m in (i, *dag.parent_indices[i]) if m in hidden]
        grouped.setdefault(joined.find(inside[0]) if inside else i, []).append(i)
    return _tie(dag, [_district(dag, members, hidden) for members in grouped.values()])


def _district(dag: Dag, families: list[int], hidden: set[int]) -> District:
    made = tuple(i for i in families if i not in hidden)
    inputs = {p for i in families for p in dag.parent_indices[i]}
    given = tuple(sorted(p for p in inputs if p not in hidden and p not in made))
    return District(tuple(families), frozenset(hidden.intersection(families)), given, made)


def _tie(dag: Dag, districts: list[District]) -> list[tuple[District, ...]]:
    """Put districts together that use the same table."""
    leader = {dag.schema.index(name): dag.schema.index(group[0]) for group in dag.tied for name in group}
    joined = _Joined(len(dag.names))
    for district in districts:
        joined.join([leader.get(i, i) for i in district.families])
    grouped: dict[int, list[District]] = {}
    for district in districts:
        first = district.families[0]
        grouped.setdefault(joined.find(leader.get(first, first)), []).append(district)
    return [tuple(group) for group in grouped.values()]


def ancestors(dag: Dag, variables: Iterable[int]) -> set[int]:
    """Return the variables and all that is above them."""
    found = set(variables)
    for i in reversed(dag.order_indices):
        if i in found:
            found.update(dag.parent_indices[i])
    return found


class _Joined:
    """Sets of numbers, joined as it turns out that they belong together."""

    def __init__(self, size: int) -> None:
        self._above = list(range(size))

    def find(self, i: int) -> int:
        """Return the number that stands for the set of ``i``."""
        while self._above[i] != i:
            self._above[i] = self._above[self._above[i]]
            i = self._above[i]
        return i

    def join(self, members: list[int]) -> None:
        """Join the sets of all members."""
        for member in members[1:]:
            self._above[self.find(member)] = self.find(members[0])
