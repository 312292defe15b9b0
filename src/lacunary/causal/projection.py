"""A graph's latent projection: its observed variables, and which of them hidden variables join."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from lacunary.errors import GraphError
from lacunary.model.dag import Dag

__all__ = ["Projection", "hidden_in", "latent_projection"]

Names = frozenset[str]


@dataclass(frozen=True)
class Projection:
    """Observed variables, arcs between them, and pairs that have a hidden cause in common.

    Attributes
    ----------
    order
        The variables, parents before their children.
    parents
        The parents of each.
    confounded
        For each, those with which it has a hidden common cause (bidirected arcs).
    """

    order: tuple[str, ...]
    parents: dict[str, Names]
    confounded: dict[str, Names]

    @property
    def nodes(self) -> Names:
        """All variables."""
        return frozenset(self.order)

    def within(self, names: Iterable[str]) -> Projection:
        """Return the part of the graph over some variables."""
        kept = frozenset(names)
        order = tuple(name for name in self.order if name in kept)
        parents = {name: self.parents[name] & kept for name in order}
        return Projection(order, parents, {name: self.confounded[name] & kept for name in order})

    def ancestors(self, names: Iterable[str], cut: Names = frozenset()) -> Names:
        """Return variables and all above them, the arcs into ``cut`` taken away."""
        found = set(names)
        for name in reversed(self.order):
            if name in found and name not in cut:
                found |= self.parents[name]
        return frozenset(found)

    def districts(self) -> list[Names]:
        """Return the sets of variables that hidden causes join, directly or through others (c-components)."""
        found, seen = [], set[str]()
        for name in self.order:
            if name not in seen:
                found.append(self.district(name))
                seen |= found[-1]
        return found

    def district(self, name: str) -> Names:
        """Return the variables that hidden causes join to this one, itself among them."""
        found, waiting = {name}, [name]
        while waiting:
            fresh = self.confounded[waiting.pop()] - found
            found |= fresh
            waiting += sorted(fresh)
        return frozenset(found)

    def tells(self, name: str, before: Iterable[str]) -> tuple[str, ...]:
        """Return those among the variables before one that tell of it: given them the others do not.

        They are its district among these and itself, and the district's parents.
        """
        part = self.within({*before, name})
        district = part.district(name)
        found = district.union(*(part.parents[member] for member in district)) - {name}
        return tuple(member for member in self.order if member in found)


def latent_projection(dag: Dag, hidden: Names) -> Projection:
    """Return the graph over what is observed that says the same of causes and independencies (Verma 1993).

    An arc stands for every path of arcs through hidden variables alone; two variables are confounded where a
    hidden one reaches both so.
    """
    reached: dict[str, set[str]] = {}
    for name in reversed(dag.order):  # what a variable causes directly or through hidden ones
        reached[name] = set()
        for child in dag.children_of(name):
            reached[name] |= reached[child] if child in hidden else {child}
    order = tuple(name for name in dag.order if name not in hidden)
    parents = {name: frozenset(p for p in order if name in reached[p]) for name in order}
    confounded: dict[str, set[str]] = {name: set() for name in order}
    for cause in hidden:
        for one, two in combinations(sorted(reached[cause]), 2):
            confounded[one].add(two)
            confounded[two].add(one)
    return Projection(order, parents, {name: frozenset(others) for name, others in confounded.items()})


def hidden_in(dag: Dag, further: Iterable[str], asked: Iterable[str]) -> Names:
    """Return the hidden variables: those of the schema, and others named; none of what is asked about."""
    hidden = frozenset(v.name for v in dag.schema if v.hidden) | {dag.schema[name].name for name in further}
    for name in asked:
        if dag.schema[name].name in hidden:
            raise GraphError(f"{name} is hidden; an effect is identified between observed variables")
    return hidden
