"""A network's distribution factored along another graph: each variable given its parents there.

If the graph is equivalent, or has arcs added to one that is, this is the same distribution; else it is, of
all networks with that graph, the nearest to it (of least divergence from it).
"""

from __future__ import annotations

import numpy as np

from lacunary.errors import SchemaError
from lacunary.infer.answers import Answers
from lacunary.infer.joint import Joint, joint
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["refactored"]


def refactored(network: Answers, dag: Dag) -> Network:
    """Return the network over ``dag``, whose variables are among the network's, with its conditionals.

    Families whose parents are the same are copied. Where a configuration of parents never occurs, the
    distribution is uniform, a regression that over all configurations.
    """
    theta, old = network.parameters(), network.dag
    out = np.empty(dag.layout.size)
    for k, name in enumerate(dag.names):
        i = old.schema.index(name)
        if old.parents_of(name) == dag.parents_of(name):
            out[dag.layout.slice(k)] = theta[old.layout.slice(i)]
        elif dag.schema[name].discrete:
            out[dag.layout.slice(k)] = dag.layout.flat(_table(network, dag, name))
        else:
            out[dag.layout.slice(k)] = _regression(network, dag, name).ravel()
    return Network(dag, out)


def _table(network: Answers, dag: Dag, name: str) -> Array:
    """Return p(variable | its parents in ``dag``)."""
    if name in dict(dag.family):  # which is not the one of its kind
        raise SchemaError(f"{name} has a {dag.family_of(name)} family, which takes no other parents")
    counts = network.query(*dag.parents_of(name), name).probabilities
    total = counts.sum(axis=-1, keepdims=True)
    even = np.full(counts.shape, 1.0 / counts.shape[-1])
    return np.asarray(np.divide(counts, total, out=even, where=total > 0))


def _regression(network: Answers, dag: Dag, name: str) -> Array:
    """Return the regressions of a continuous variable on its parents in ``dag``; (configurations, m + 2)."""
    if name in dict(dag.family):
        raise SchemaError(f"{name} has a {dag.family_of(name)} family, which takes no other parents")
    place, parents = network.dag.schema.index, dag.parents_of(name)
    states = [place(p) for p in parents if dag.schema[p].discrete]
    reals = [place(p) for p in parents if not dag.schema[p].discrete]
    known = joint(network, [place(name), *reals], states)
    sizes = [network.dag.schema.sizes[v] for v in states]
    at = np.ravel_multi_index(tuple(known.states[:, : len(states)].T), sizes) if states else None
    where = [known.continuous.index(v) for v in (*reals, place(name))]
    everywhere = _regressed(known, known.probability, where)
    found = []
    for j in range(int(np.prod(sizes, dtype=np.int64))):
        share = known.probability * (at == j) if at is not None else known.probability
        found.append(_regressed(known, share, where) if share.sum() > 0 else everywhere)
    return np.array(found)


def _regressed(known: Joint, share: Array, where: list[int]) -> Array:
    """Return intercept, coefficients and variance of the last of some variables on the others, pooled."""
    share = share / share.sum()
    means = known.mean[:, where]
    mean = share @ means
    apart = means - mean
    spread = (
        np.einsum("k,kij->ij", share, known.covariance[:, where][:, :, where]) + (apart.T * share) @ apart
    )
    slope = np.linalg.lstsq(spread[:-1, :-1], spread[:-1, -1], rcond=None)[0]
    variance = spread[-1, -1] - spread[-1, :-1] @ slope
    return np.array([mean[-1] - mean[:-1] @ slope, *slope, variance])
