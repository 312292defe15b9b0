"""What a graph alone says: who is joined to whom, and which variables are independent given which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from lacunary.errors import GraphError
from lacunary.model.dag import Dag

__all__ = ["d_separated", "merged", "moral_graph", "skeleton"]


def skeleton(dag: Dag) -> Mapping[str, frozenset[str]]:
    """Return the neighbours of each variable, the arcs' directions forgotten.

    Examples
    --------
    >>> import lacunary as lac
    >>> sorted(lac.skeleton(lac.dag("rain -> wet <- sprinkler"))["rain"])
    ['wet']
    """
    return _adjacency(dag, dag.arcs)


def moral_graph(dag: Dag) -> Mapping[str, frozenset[str]]:
    """Return the neighbours of each variable once parents of a common child are joined as well.

    Examples
    --------
    >>> import lacunary as lac
    >>> sorted(lac.moral_graph(lac.dag("rain -> wet <- sprinkler"))["rain"])
    ['sprinkler', 'wet']
    """
    marriages = (pair for parents in dag.parents for pair in combinations(parents, 2))
    return _adjacency(dag, (*dag.arcs, *marriages))


def d_separated(
    dag: Dag, first: str | Iterable[str], second: str | Iterable[str], given: str | Iterable[str] = ()
) -> bool:
    """Whether the graph makes ``first`` and ``second`` independent given ``given``.

    Each is a name or several; no variable may be in two of them. True means that the independence
    holds whatever the parameters; False, that it fails for almost all of them. Time is linear in the
    variables and arcs.

    Examples
    --------
    >>> import lacunary as lac
    >>> collider = lac.dag("rain -> wet <- sprinkler")
    >>> lac.d_separated(collider, "rain", "sprinkler")
    True
    >>> lac.d_separated(collider, "rain", "sprinkler", given=["wet"])
    False
    """
    one, two, observed = (_positions(dag, names) for names in (first, second, given))
    shared = (one & two) | (one & observed) | (two & observed)
    if shared:
        name = dag.names[min(shared)]
        raise GraphError(f"{name} is named on two sides of the question; the three sets must be disjoint")
    return not _reachable(dag, one, observed) & two


def merged(sets: Iterable[set[int]]) -> list[set[int]]:
    """Return the unions of sets that overlap, directly or through others."""
    out: list[set[int]] = []
    for new in sets:
        apart = [old for old in out if not old & new]
        out = [*apart, set(new).union(*(old for old in out if old & new))]
    return out


def _reachable(dag: Dag, sources: set[int], observed: set[int]) -> set[int]:
    """Return the unobserved variables joined to ``sources`` by a trail that ``observed`` leaves active.

    The trail is followed one arc at a time; whether it may go on depends only on the variable and on
    whether it was entered from a child (upwards) or from a parent, so each is visited at most twice.
    """
    parents, children = dag.parent_indices, dag.child_indices
    opened = dag.ancestors(observed)  # as the middle of a collider these let the trail pass
    visits = {(source, True) for source in sources}
    waiting = list(visits)
    while waiting:
        node, upwards = waiting.pop()
        steps: list[tuple[int, bool]] = []
        if node not in observed:
            steps += ((child, False) for child in children[node])
        if (upwards and node not in observed) or (not upwards and node in opened):
            steps += ((parent, True) for parent in parents[node])
        fresh = [step for step in steps if step not in visits]
        visits.update(fresh)
        waiting += fresh
    return {node for node, _ in visits} - observed


def _positions(dag: Dag, names: str | Iterable[str]) -> set[int]:
    return {dag.schema.index(name) for name in ((names,) if isinstance(names, str) else names)}


def _adjacency(dag: Dag, pairs: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    neighbours: dict[str, set[str]] = {name: set() for name in dag.names}
    for one, two in pairs:
        neighbours[one].add(two)
        neighbours[two].add(one)
    return {name: frozenset(others) for name, others in neighbours.items()}
