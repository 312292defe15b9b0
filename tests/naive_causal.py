"""Interventions by their definition, and what a hedge is by its own: slow, and read beside the papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from lacunary.causal.identify import Hedge
from lacunary.causal.projection import Projection


def truncated(network: lac.Network, do: Mapping[str, int]) -> NDArray[np.float64]:
    """p(all | do): the product of all families but those of what is set, which is as it is set."""
    dag, tables = network.dag, network.tables
    out = np.zeros(dag.schema.sizes)
    for x in product(*map(range, dag.schema.sizes)):
        state = dict(zip(dag.names, x, strict=True))
        if any(state[name] != k for name, k in do.items()):
            continue
        out[x] = np.prod(
            [
                tables[name][(*(state[p] for p in dag.parents_of(name)), state[name])]
                for name in dag.names
                if name not in do
            ]
        )
    return out


def asked(
    network: lac.Network, targets: Sequence[str], do: Mapping[str, int], given: Mapping[str, int]
) -> NDArray[np.float64]:
    """p(targets | do, given), from the truncated product, by sums."""
    joint, names = truncated(network, do), network.dag.names
    at = tuple(slice(given[n], given[n] + 1) if n in given else slice(None) for n in names)
    left = joint[at]
    places = [names.index(name) for name in targets]
    out = left.sum(axis=tuple(k for k in range(len(names)) if k not in places))
    ordered = sorted(places)
    return np.asarray(np.transpose(out, [ordered.index(p) for p in places]) / left.sum())


def is_hedge(hedge: Hedge, graph: Projection, outcome: Sequence[str], do: Sequence[str]) -> bool:
    """Whether two sets are R-rooted c-forests as of Shpitser and Pearl (2006), definitions 5 and 6."""
    larger, smaller, roots = set(hedge.larger), set(hedge.smaller), set(hedge.roots)
    ends = graph.ancestors(outcome, cut=frozenset(do))
    return (
        smaller < larger
        and bool(larger & set(do))
        and not smaller & set(do)
        and roots <= ends
        and all(_joined(graph, names) and _ends_in(graph, names, roots) for names in (larger, smaller))
    )


def _joined(graph: Projection, names: set[str]) -> bool:
    """Whether hidden causes join all, by paths that stay inside."""
    reached, waiting = {min(names)}, [min(names)]
    while waiting:
        fresh = (graph.confounded[waiting.pop()] & names) - reached
        reached |= fresh
        waiting += fresh
    return reached == names


def _ends_in(graph: Projection, names: set[str], roots: set[str]) -> bool:
    """Whether each has a path of arcs inside to some root: arcs can be dropped until it is a forest."""
    inside = graph.within(names)
    return roots <= names and inside.ancestors(roots) == names
