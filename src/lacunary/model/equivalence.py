"""Markov equivalence: graphs that say the same about independence, and what they have in common.

Two graphs are equivalent when they have the same neighbours and the same *colliders* (A -> C <- B with A
and B not joined). All members of an equivalence class agree on the *compelled* arcs; every other arc is
*reversible*. The graph of both is the class's CPDAG.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from lacunary.data.schema import Schema
from lacunary.errors import GraphError
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag

__all__ = ["Cpdag", "Orientation", "cpdag", "equivalent", "pattern_of"]


@dataclass(frozen=True)
class Cpdag:
    """What the members of an equivalence class have in common; equal for equivalent graphs.

    Attributes
    ----------
    names
        The variables.
    compelled
        The arcs (from, to) that every member has.
    reversible
        The pairs of variables that every member joins, some this way and some that way.
    """

    names: frozenset[str]
    compelled: frozenset[Arc]
    reversible: frozenset[frozenset[str]]


def cpdag(dag: Dag) -> Cpdag:
    """Return the compelled and reversible arcs of a graph's equivalence class.

    A discrete variable has no continuous parent, so that an arc from a state to a number is compelled, and so
    is what follows from it.

    Examples
    --------
    >>> import lacunary as lac
    >>> sorted(lac.cpdag(lac.dag("A -> C <- B; C -> D; E -> A")).compelled)
    [('A', 'C'), ('B', 'C'), ('C', 'D')]
    """
    names, pattern = dag.names, pattern_of(dag.parent_indices, dag.schema)
    arcs = ((names[p], names[child]) for child, ps in enumerate(pattern.parents) for p in ps)
    pairs = (frozenset((names[i], names[j])) for i, js in enumerate(pattern.open) for j in js)
    return Cpdag(frozenset(names), frozenset(arcs), frozenset(pairs))


def pattern_of(parents: Sequence[Sequence[int]], schema: Schema) -> Orientation:
    """Return the compelled and open arcs of a graph's class over the variables of a schema, by number."""
    pattern = Orientation(parents)
    states = {i for i, variable in enumerate(schema) if variable.discrete}
    if 0 < len(states) < len(schema):
        pattern.direct((p, i) for i, ps in enumerate(parents) if i not in states for p in ps if p in states)
    return pattern


def equivalent(first: Dag, second: Dag) -> bool:
    """Whether two graphs over the same variables allow the same distributions.

    (For the default families; tied ones restrict the distributions further.)

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.equivalent(lac.dag("A -> B -> C"), lac.dag("A <- B -> C"))
    True
    """
    check_same_variables(first, second)
    return cpdag(first) == cpdag(second)


def check_same_variables(first: Dag, second: Dag) -> None:
    """Refuse two graphs whose variables differ in name."""
    odd = set(first.names) ^ set(second.names)
    if odd:
        name = min(odd)
        where = "first" if name in first.schema else "second"
        raise GraphError(f"only graphs over the same variables compare; only the {where} has {name!r}")


class Orientation:
    """A graph some of whose joined pairs have a direction; directing one directs all that follow from it.

    It starts as the CPDAG of a graph: the directions that follow from the colliders by Meek's rules
    (Meek 1995) are the compelled arcs.

    Attributes
    ----------
    adjacent
        The neighbours of each variable, directed or not; never changes.
    parents, children, open
        Those at the tail, at the head, and at the other end of a pair without direction.
    """

    def __init__(self, parents: Sequence[Sequence[int]]) -> None:
        """Start from the compelled and reversible arcs of the graph in which node i has ``parents[i]``."""
        neighbours = [set(nodes) for nodes in parents]
        for child, nodes in enumerate(parents):
            for parent in nodes:
                neighbours[parent].add(child)
        self.adjacent = [frozenset(nodes) for nodes in neighbours]
        self.parents: list[set[int]] = [set() for _ in parents]
        self.children: list[set[int]] = [set() for _ in parents]
        self.open = neighbours
        self.direct(_collider_arcs(parents, self.adjacent))

    def direct(self, arcs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Give open pairs a direction, and all others whose direction follows; return what was open.

        All arcs are set before any consequence is drawn, as rule 1 is about the absence of colliders
        other than those given.
        """
        done = [arc for arc in arcs if self._set(*arc)]
        for arc in done:
            done += [further for further in self._consequences(*arc) if self._set(*further)]
        return done

    def release(self, arcs: Iterable[tuple[int, int]]) -> None:
        """Take back what `direct` did."""
        for tail, head in arcs:
            self.children[tail].remove(head)
            self.parents[head].remove(tail)
            self.open[tail].add(head)
            self.open[head].add(tail)

    def _set(self, tail: int, head: int) -> bool:
        """Direct one pair; False if it has a direction already."""
        if head not in self.open[tail]:
            return False
        self.open[tail].remove(head)
        self.open[head].remove(tail)
        self.children[tail].add(head)
        self.parents[head].add(tail)
        return True

    def _consequences(self, tail: int, head: int) -> Iterator[tuple[int, int]]:
        """Yield what follows from tail -> head and what is known (Meek 1995, rules 1 to 3)."""
        # 1: tail -> head — node with tail and node apart: the other way would be a new collider.
        yield from [(head, node) for node in self.open[head] if node not in self.adjacent[tail]]
        # 2: a chain of two arcs beside an open pair: the other way would close a cycle.
        yield from [(tail, node) for node in self.open[tail] & self.children[head]]
        yield from [(node, head) for node in self.open[head] & self.parents[tail]]
        # 3: node — tail -> head <- other — node, tail and other apart: head -> node would, by rule 2,
        # direct both tail -> node and other -> node, a new collider.
        for node in self.open[tail] & self.open[head]:
            others = self.parents[head] & self.open[node]
            if any(other not in self.adjacent[tail] for other in others - {tail}):
                yield node, head


def _collider_arcs(
    parents: Sequence[Sequence[int]], adjacent: Sequence[frozenset[int]]
) -> Iterator[tuple[int, int]]:
    """Yield the arcs that meet in a collider: into the same child, from parents that are not joined."""
    for child, nodes in enumerate(parents):
        for one, two in combinations(nodes, 2):
            if one not in adjacent[two]:
                yield from ((one, child), (two, child))
