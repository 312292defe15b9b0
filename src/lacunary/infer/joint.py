"""The joint distribution of some variables: a normal for each configuration of the discrete ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, code_dtype
from lacunary.errors import TooWideError
from lacunary.infer.answers import Answers
from lacunary.infer.posterior import marginals_of
from lacunary.model.dag import Dag

__all__ = ["NUMBERS", "Joint", "ancestors", "beforehand", "joint"]

NUMBERS = 2**27
"""The most numbers that are written down for the covariances of all configurations."""

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Joint:
    """Mean and covariance of continuous variables in each configuration of discrete ones.

    Attributes
    ----------
    discrete
        The discrete variables; the last moves fastest in a configuration.
    states
        Their states in each configuration that is possible; (k, discrete).
    probability
        How probable each is; (k,).
    continuous
        The continuous variables, parents before children.
    mean, covariance
        Given the configuration; (k, n) and (k, n, n). A family that is not normal has those of its own.
    """

    discrete: tuple[int, ...]
    states: NDArray[np.int64]
    probability: Array
    continuous: tuple[int, ...]
    mean: Array
    covariance: Array

    def records(self, dag: Dag, theta: Array, i: int, place: dict[str, int]) -> Array:
        """Return the regression of a graph's variable i in each configuration; (k, m + 2).

        ``place`` has the column in ``states`` of each discrete variable, by name.
        """
        layout = dag.layout
        columns = [place[dag.names[p]] for p in layout.members[i][1:]]
        steps = np.array(layout.strides[i][1:], dtype=np.int64)
        return np.asarray(layout.records(theta, i)[self.states[:, columns] @ steps])


def joint(model: Answers, reals: Sequence[int], discrete: Sequence[int]) -> Joint:
    """Return the joint distribution of these continuous variables and their continuous ancestors.

    It is given for each configuration of ``discrete`` and of the discrete parents of all of them, so that
    it is normal in each.
    """
    dag, theta = model.dag, model.parameters()
    continuous = ancestors(dag, reals)
    parents = {p for i in continuous for p in dag.layout.members[i][1:]}
    among = (*discrete, *sorted(parents - set(discrete)))
    _check_size(dag, among, len(continuous))
    states, probability = _configurations(model, among)
    place = {dag.names[v]: k for k, v in enumerate(among)}
    n = len(continuous)
    found = Joint(
        among, states, probability, continuous, np.zeros((len(states), n)), np.zeros((len(states), n, n))
    )
    for k, i in enumerate(continuous):
        record = dag.number(i).normal(found.records(dag, theta, i, place))
        above = [continuous.index(p) for p in dag.layout.regressors[i]]
        slope = record[:, None, 1:-1]
        across = (slope @ found.covariance[:, above])[:, 0]
        found.mean[:, k] = record[:, 0] + (record[:, 1:-1] * found.mean[:, above]).sum(axis=1)
        found.covariance[:, k], found.covariance[:, :, k] = across, across
        found.covariance[:, k, k] = (record[:, 1:-1] * across[:, above]).sum(axis=1) + record[:, -1]
    return found


def ancestors(dag: Dag, reals: Sequence[int]) -> tuple[int, ...]:
    """Return these continuous variables and all continuous ones above them, parents before children."""
    found = set(reals)
    for i in reversed(dag.order_indices):
        if i in found:
            found.update(dag.layout.regressors[i])
    return tuple(i for i in dag.order_indices if i in found)


def beforehand(model: Answers, sets: Sequence[tuple[str, ...]]) -> list[Array]:
    """Return the joint probabilities of sets of discrete variables, of which nothing is observed.

    None of them depends on a continuous variable, so those are left out.
    """
    graph = model.dag.discrete
    where = [[graph.schema.index(name) for name in names] for names in sets]
    codes = np.full((1, len(graph.schema)), HOLE, dtype=code_dtype(graph.schema.sizes))
    theta = np.ascontiguousarray(model.parameters()[: graph.layout.size])
    return [found[0] for found in marginals_of(graph, theta, codes, where)]


def _configurations(model: Answers, among: Sequence[int]) -> tuple[NDArray[np.int64], Array]:
    """Return the possible configurations of discrete variables, and their probabilities."""
    if not among:
        return np.zeros((1, 0), dtype=np.int64), np.ones(1)
    whole = beforehand(model, [tuple(model.dag.names[v] for v in among)])[0]
    states = np.argwhere(whole > 0)
    return states, whole[tuple(states.T)]


def _check_size(dag: Dag, among: Sequence[int], n: int) -> None:
    count = prod(dag.schema.sizes[v] for v in among)
    if count * max(n, 1) ** 2 > NUMBERS:
        raise TooWideError(
            f"{', '.join(dag.names[v] for v in among)} have {count:,} configurations together, each with a "
            f"normal distribution of {n} variables: too many to go through one by one; "
            "estimate the divergence by the mean of p.log_probability(rows) - q.log_probability(rows), "
            "where rows = p.sample(…)"
        )
