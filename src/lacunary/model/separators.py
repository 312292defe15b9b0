"""Sets of variables that separate two others, the smallest first: of use for adjustment and independence.

What d-separates two sets in a graph separates them in the moral graph of their ancestors, and the other way
round (Lauritzen et al. 1990), so that sets are found where separation means no more than cut paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, islice

from lacunary.model.dag import Dag

__all__ = ["Independence", "independencies", "minimal_separators"]

Neighbours = dict[int, set[int]]

ONE, TWO = -1, -2
"""The two sets that are to be separated, each as one node."""


class Independence(tuple[str, str, tuple[str, ...]]):
    """Two variables and a smallest set given which a graph makes them independent."""

    __slots__ = ()

    def __str__(self) -> str:
        one, two, given = self
        return f"{one} ⊥ {two}" + (f" | {', '.join(given)}" if given else "")

    __repr__ = __str__


def independencies(dag: Dag) -> tuple[Independence, ...]:
    """Return for every pair of observed variables that can be separated a smallest set that does.

    Hidden variables are neither named nor conditioned on. If none is hidden, all independencies that a graph
    implies follow from these pairs' being joined by no arc.

    >>> import lacunary as lac
    >>> lac.independencies(lac.dag("rain -> wet <- sprinkler; wet -> slip"))
    (rain ⊥ sprinkler, rain ⊥ slip | wet, sprinkler ⊥ slip | wet)
    """
    seen = [v.name for v in dag.schema if not v.hidden]
    found = []
    for one, two in combinations(seen, 2):
        if one in dag.parents_of(two) or two in dag.parents_of(one):
            continue
        sets = minimal_separators(dag, [one], [two], set(seen) - {one, two})
        first = next(sets, None)
        if first is not None:
            best = min([first, *islice(sets, 20)], key=lambda names: (len(names), sorted(names)))
            found.append(Independence((one, two, tuple(sorted(best, key=dag.names.index)))))
    return tuple(found)


def minimal_separators(
    dag: Dag, first: Iterable[str], second: Iterable[str], allowed: Iterable[str]
) -> Iterator[frozenset[str]]:
    """Yield the sets among ``allowed`` that d-separate two sets and no part of which does.

    The one nearest to ``first`` comes first; none is yielded if nothing separates them. All are found, each
    from another by giving up one of its members (Shen and Liang 1997); each costs about as much as the graph
    is large for every member.
    """
    place = dag.schema.index
    graph = _joined(dag, set(map(place, first)), set(map(place, second)), set(map(place, allowed)))
    if TWO in graph[ONE]:
        return
    waiting = [_nearest(graph, graph[ONE])]
    known = set(waiting)
    while waiting:
        cut = waiting.pop(0)
        yield frozenset(dag.names[i] for i in cut)
        inside = _component(graph, ONE, cut)
        for node in sorted(cut - graph[TWO]):
            border = {n for member in inside | {node} for n in graph[member]} - inside - {node}
            further = _nearest(graph, border)
            if further not in known:
                known.add(further)
                waiting.append(further)


def _joined(dag: Dag, one: set[int], two: set[int], allowed: set[int]) -> Neighbours:
    """Return the moral graph of the ancestors, each set as one node, and only ``allowed`` beside them.

    A variable that may not be conditioned on is taken out, its neighbours joined: paths lead through it.
    """
    above = sorted(dag.ancestors(one | two))
    role = {i: ONE if i in one else TWO if i in two else i for i in above}
    graph: Neighbours = {role[i]: set() for i in above}
    for i in above:
        family = {role[i], *(role[parent] for parent in dag.parent_indices[i])}
        for member in family:
            graph[member] |= family - {member}
    for i in (i for i in above if role[i] == i and i not in allowed):
        around = graph.pop(i)
        for neighbour in around:
            graph[neighbour] = (graph[neighbour] | around) - {neighbour, i}
    return graph


def _component(graph: Neighbours, start: int, without: Iterable[int]) -> set[int]:
    """Return what can be reached from a node when some nodes are taken out."""
    gone, found, waiting = set(without), {start}, [start]
    while waiting:
        fresh = graph[waiting.pop()] - gone - found
        found |= fresh
        waiting += fresh
    return found


def _nearest(graph: Neighbours, border: Iterable[int]) -> frozenset[int]:
    """Return those of a separating border that touch what the second set can still reach."""
    nodes = set(border)
    beyond = _component(graph, TWO, nodes)
    return frozenset(node for node in nodes if graph[node] & beyond)
