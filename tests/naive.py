"""Slow and obvious: inference as it is defined, by writing down every way to fill the holes.

Nothing here knows of cliques, cells or lanes. A network is asked for its tables by name, a row is its
states with ``HOLE`` where a cell is empty, and every sum runs over all completions. The tables need not
sum to one: whatever is called a probability here is then a product of potentials.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.infer.network import Network

States = tuple[int, ...]
"""One state for each variable, in the schema's order."""


def completions(network: Network, row: Sequence[int]) -> Iterator[States]:
    """Every way to fill the holes of a row."""
    sizes = network.dag.schema.sizes
    return product(*(range(size) if code == HOLE else (code,) for size, code in zip(sizes, row, strict=True)))


def probability(network: Network, states: States) -> float:
    """p(x) = Π over variables of p(x_i | the states of its parents)."""
    p = 1.0
    for (table, parents), state in zip(_families(network), states, strict=True):
        for parent in parents:
            table = table[states[parent]]
        p *= table[state]
    return p


def evidence(network: Network, row: Sequence[int]) -> float:
    """p(observed cells) = Σ over completions of p(x)."""
    return math.fsum(probability(network, x) for x in completions(network, row))


def log_evidence(network: Network, row: Sequence[int]) -> float:
    """log p(observed cells), −∞ for an impossible row."""
    p = evidence(network, row)
    return math.log(p) if p > 0 else -math.inf


def log_likelihood(network: Network, table: Table) -> float:
    """Σ over rows of weight · log p(observed cells); a row of no weight does not count."""
    return math.fsum(w * log_evidence(network, row) for row, w in weighted_rows(table) if w > 0)


def expected_counts(network: Network, table: Table) -> dict[str, NDArray[np.float64]]:
    """E[N_ijk] = Σ over rows of weight · p(x_i = k, parents in j | observed cells), parents first, k last."""
    counts = {name: np.zeros(network.table(name).shape) for name in network.dag.names}
    for row, weight in weighted_rows(table):
        whole = evidence(network, row)
        for x in completions(network, row):
            share = weight * probability(network, x) / whole
            for i, parents in enumerate(network.dag.parent_indices):
                counts[network.dag.names[i]][(*(x[p] for p in parents), x[i])] += share
    return counts


def joint_counts(network: Network, table: Table, members: Sequence[int]) -> NDArray[np.float64]:
    """E[N] of each joint state of any variables, a family of the graph or not; one axis for each."""
    counts = np.zeros([network.dag.schema.sizes[v] for v in members])
    for row, weight in weighted_rows(table):
        whole = evidence(network, row)
        for x in completions(network, row):
            counts[tuple(x[v] for v in members)] += weight * probability(network, x) / whole
    return counts


def posterior(network: Network, row: Sequence[int], names: Sequence[str]) -> NDArray[np.float64]:
    """p(named variables | observed cells), one axis for each name."""
    where = [network.dag.schema.index(name) for name in names]
    p = np.zeros([network.dag.schema.sizes[v] for v in where])
    for x in completions(network, row):
        p[tuple(x[v] for v in where)] += probability(network, x)
    return p / evidence(network, row)


def best_probability(network: Network, row: Sequence[int]) -> float:
    """The probability of the most probable completion."""
    return max(probability(network, x) for x in completions(network, row))


def log_dirichlet(theta: Sequence[float], alpha: Sequence[float]) -> float:
    """Log-density of a Dirichlet: log Γ(Σα) − Σ log Γ(α_k) + Σ (α_k − 1) log θ_k."""
    normalizer = math.lgamma(math.fsum(alpha)) - math.fsum(map(math.lgamma, alpha))
    return normalizer + math.fsum((a - 1) * math.log(t) for a, t in zip(alpha, theta, strict=True))


def log_sum(logs: Sequence[float]) -> float:
    """Log Σ exp, for numbers too small to be written down."""
    top = max(logs)
    return top if top == -math.inf else top + math.log(math.fsum(math.exp(x - top) for x in logs))


def weighted_rows(table: Table) -> list[tuple[list[int], float]]:
    """The rows as plain lists of states, each with its weight."""
    return list(zip(table.codes.tolist(), table.weights.tolist(), strict=True))


@lru_cache(maxsize=4)
def _families(network: Network) -> list[tuple[Any, States]]:
    """Every variable's table as nested lists, and where its parents stand: arrays are slow one by one."""
    tables = [network.table(name).tolist() for name in network.dag.names]
    return list(zip(tables, network.dag.parent_indices, strict=True))
