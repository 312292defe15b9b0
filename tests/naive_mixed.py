"""Slow and obvious: mixed networks as they are defined.

Every configuration of all discrete variables is written down. Given it, the continuous variables are one
multivariate normal, whose mean and covariance follow from the regressions, parents before children; its
observed part is a density, and its holes are conditioned on that by the textbook's formula.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.stats import nbinom, poisson

from lacunary.data.table import HOLE, Table
from lacunary.infer.network import Network
from tests.naive import log_sum

States = dict[str, int]


@dataclass(frozen=True)
class Way:
    """One way to fill a row's discrete holes: log p(it and all observed cells), and the continuous cells.

    Continuous variables have ``mean`` and ``covariance`` given all that; observed ones have no variance.
    """

    states: States
    log: float
    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]


def joint(network: Network, states: States) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and covariance of all continuous variables, in the schema's order, given all discrete ones."""
    dag = network.dag
    names = [v.name for v in dag.schema if not v.discrete]
    mean, covariance = np.zeros(len(names)), np.zeros((len(names), len(names)))
    for name in dag.order:
        if name not in names:
            continue
        record = network.table(name)[tuple(states[p] for p in dag.parents_of(name) if p in states)]
        i = names.index(name)
        slope = np.zeros(len(names))
        for p, b in zip((p for p in dag.parents_of(name) if p not in states), record[1:-1], strict=True):
            slope[names.index(p)] = b
        mean[i] = record[0] + slope @ mean
        covariance[i, :] = covariance[:, i] = slope @ covariance
        covariance[i, i] = slope @ covariance @ slope + record[-1]
    return mean, covariance


def ways(network: Network, codes: NDArray[np.integer], reals: NDArray[np.float64]) -> Iterator[Way]:
    """Every way to fill the discrete holes of a row that is not impossible."""
    schema = network.dag.schema
    discrete = [v.name for v in schema if v.discrete]
    x = np.array([reals[i] for i, v in enumerate(schema) if not v.discrete])
    choices = [
        range(v.size) if codes[i] == HOLE else (int(codes[i]),) for i, v in enumerate(schema) if v.discrete
    ]
    for chosen in product(*choices):
        states = dict(zip(discrete, chosen, strict=True))
        p = math.prod(
            float(network.table(name)[(*(states[q] for q in network.dag.parents_of(name)), states[name])])
            for name in discrete
        )
        if p > 0:
            mean, covariance = joint(network, states)
            yield conditioned(states, math.log(p), mean, covariance, x)


def conditioned(
    states: States,
    log: float,
    mean: NDArray[np.float64],
    covariance: NDArray[np.float64],
    x: NDArray[np.float64],
) -> Way:
    """Condition a multivariate normal on the cells of x that are not NaN."""
    seen = ~np.isnan(x)
    a, b = np.flatnonzero(seen), np.flatnonzero(~seen)
    if seen.any():
        log += log_normal(x[a] - mean[a], covariance[np.ix_(a, a)])
    gain = covariance[np.ix_(b, a)] @ np.linalg.inv(covariance[np.ix_(a, a)])
    full, left = x.copy(), np.zeros_like(covariance)
    full[b] = mean[b] + gain @ (x[a] - mean[a])
    left[np.ix_(b, b)] = covariance[np.ix_(b, b)] - gain @ covariance[np.ix_(a, b)]
    return Way(states, log, full, left)


def log_normal(residual: NDArray[np.float64], covariance: NDArray[np.float64]) -> float:
    """Return the log-density of a multivariate normal, however small some of its variances."""
    root = np.linalg.cholesky(covariance)
    white = solve_triangular(root, residual, lower=True)
    return float(
        -0.5 * white @ white - np.log(np.diagonal(root)).sum() - 0.5 * len(white) * math.log(math.tau)
    )


def log_evidence(network: Network, codes: NDArray[np.integer], reals: NDArray[np.float64]) -> float:
    """Return log p(observed cells)."""
    logs = [way.log for way in ways(network, codes, reals)]
    return log_sum(logs) if logs else -math.inf


def shares(
    network: Network, codes: NDArray[np.integer], reals: NDArray[np.float64]
) -> list[tuple[float, Way]]:
    """Return the posterior probability of every way to fill the discrete holes."""
    found = list(ways(network, codes, reals))
    whole = log_sum([way.log for way in found])
    return [(math.exp(way.log - whole), way) for way in found]


def statistics(network: Network, table: Table) -> dict[str, NDArray[np.float64]]:
    """Return E[N_ijk] of discrete and E[Σ z zᵀ] of continuous families, parents first."""
    dag = network.dag
    names = [v.name for v in dag.schema if not v.discrete]
    out: dict[str, NDArray[np.float64]] = {}
    for name in dag.names:
        sizes = [dag.schema[p].size for p in dag.parents_of(name) if dag.schema[p].discrete]
        width = sum(not dag.schema[p].discrete for p in dag.parents_of(name)) + 2
        own = [dag.schema[name].size] if dag.schema[name].discrete else [width, width]
        out[name] = np.zeros([*sizes, *own])
    for codes, reals, weight in zip(table.codes, table.reals, table.weights, strict=True):
        for share, way in shares(network, codes, reals):
            for name in dag.names:
                where = tuple(way.states[p] for p in dag.parents_of(name) if p in way.states)
                if name in way.states:
                    out[name][(*where, way.states[name])] += weight * share
                    continue
                family = [names.index(p) for p in (*dag.parents_of(name), name) if p in names]
                moment = np.ones((len(family) + 1, len(family) + 1))
                moment[0, 1:] = moment[1:, 0] = way.mean[family]
                moment[1:, 1:] = way.covariance[np.ix_(family, family)] + np.outer(
                    way.mean[family], way.mean[family]
                )
                out[name][where] += weight * share * moment
    return out


def leaf_log_evidence(network: Network, codes: NDArray[np.integer], reals: NDArray[np.float64]) -> float:
    """Log-probability of a row of tables and Poisson counts: every filling of discrete holes, by scipy."""
    dag = network.dag
    choices = [
        range(v.size) if v.discrete and code == HOLE else (int(code),)
        for v, code in zip(dag.schema, codes, strict=True)
    ]
    logs = []
    for row in product(*choices):
        states = {v.name: s for v, s in zip(dag.schema, row, strict=True) if v.discrete}
        log = 0.0
        for i, v in enumerate(dag.schema):
            own = network.table(v.name)[tuple(states[p] for p in dag.parents_of(v.name))]
            if v.discrete:
                log += float(np.log(own[states[v.name]]))
            elif not np.isnan(reals[i]):
                log += float(poisson.logpmf(reals[i], own[0]))
        logs.append(log)
    return log_sum(logs)


def gamma_poisson(counts: NDArray[np.float64], shape: float, rate: float) -> float:
    """Log evidence of counts whose rate is Gamma(shape, rate): one negative binomial after the other."""
    total = 0.0
    for x in counts:
        total += float(nbinom.logpmf(x, shape, rate / (rate + 1.0)))
        shape, rate = shape + float(x), rate + 1.0
    return total
