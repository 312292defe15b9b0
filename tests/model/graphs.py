"""All graphs of a few variables, all members of a class, all states of a network: by listing everything."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Schema, Variable
from lacunary.errors import GraphError
from lacunary.infer.network import Network
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag


def all_dags(variables: int) -> list[Dag]:
    """Every labelled graph: each pair apart or joined one way or the other, without the cyclic ones."""
    names = [chr(ord("A") + i) for i in range(variables)]
    schema = Schema(tuple(Variable(name, (0, 1)) for name in names))
    choices = [(None, (one, two), (two, one)) for one, two in combinations(names, 2)]
    graphs = (_acyclic(schema, [arc for arc in chosen if arc]) for chosen in product(*choices))
    return [graph for graph in graphs if graph is not None]


def members(graph: Dag) -> list[tuple[Arc, ...]]:
    """The arcs of every graph with the same neighbours and the same colliders (Verma and Pearl)."""
    choices = [((one, two), (two, one)) for one, two in graph.arcs]
    wanted = _colliders(graph.arcs)
    same = (arcs for arcs in product(*choices) if _colliders(arcs) == wanted)
    return [arcs for arcs in same if _acyclic(graph.schema, arcs) is not None]


def joint(network: Network) -> NDArray[np.float64]:
    """p(all variables), one axis each, in the schema's order."""
    dag = network.dag
    result = np.ones(dag.schema.sizes)
    for i, name in enumerate(dag.names):
        axes = (*dag.parent_indices[i], i)
        shape = [size if axis in axes else 1 for axis, size in enumerate(dag.schema.sizes)]
        result *= network.table(name).transpose(np.argsort(axes)).reshape(shape)
    return result


def _acyclic(schema: Schema, arcs: Iterable[Arc]) -> Dag | None:
    try:
        return Dag.from_arcs(schema, arcs)
    except GraphError:
        return None


def _colliders(arcs: Iterable[Arc]) -> set[tuple[frozenset[str], str]]:
    arcs = list(arcs)
    joined = {frozenset(arc) for arc in arcs}
    into = [(one[0], two[0], one[1]) for one, two in combinations(arcs, 2) if one[1] == two[1]]
    return {(frozenset((a, b)), child) for a, b, child in into if frozenset((a, b)) not in joined}
