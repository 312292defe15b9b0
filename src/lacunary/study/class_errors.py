"""Standard errors of a network's parameters: from the exact curvature, and robust to how rows were drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.evidence.hessian import curvature, moved
from lacunary.infer.covariance import STEP
from lacunary.infer.network import Network
from lacunary.infer.rows import prepare
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = [
    "BORDER",
    "curvature_covariance",
    "derivatives",
    "inverse_of",
    "meat_of",
    "numbered",
    "resampled_places",
    "robust_covariance",
    "row_scores",
]

BORDER = 1e-6
"""A probability nearer to 0 or 1 than this lies on the border, where curvature gives no standard error."""

FLOOR = 1e-12
COMPLEX_STEP = 1e-30

SINGULAR = 1e-11
"""Directions whose scaled curvature is below this are flat: parameters on the border, or not identified."""


def curvature_covariance(network: Network, table: Table) -> Array:
    """Return the covariance of a network's parameters from the curvature of the likelihood; (size, size)."""
    theta = _inside(network)
    inverse, out = _inverse_information(network.dag, theta, table), directions(network.dag, theta)
    return np.asarray(out @ inverse @ out.T)


def robust_covariance(
    network: Network, table: Table, clusters: Sequence[Any] | None = None, strata: Sequence[Any] | None = None
) -> Array:
    """Return the sandwich covariance of parameters fitted to rows with sampling weights; (size, size).

    Rows of one cluster count as one draw, and clusters vary around the mean of their stratum (Binder 1983).
    """
    theta = _inside(network)
    scores = row_scores(network.dag, theta, table) * table.weights[:, None]
    named = (
        None if given is None else numbered(given, len(table), what)
        for given, what in ((clusters, "clusters"), (strata, "strata"))
    )
    meat = meat_of(scores, *named)
    out = directions(network.dag, theta) @ _inverse_information(network.dag, theta, table)
    return np.asarray(out @ meat @ out.T)


def meat_of(scores: Array, clusters: Any = None, strata: Any = None) -> Array:
    """Return the covariance of the sum of weighted scores; rows of a cluster are one draw; (free, free)."""
    cluster = np.arange(len(scores)) if clusters is None else clusters
    stratum = np.zeros(len(scores), np.int64) if strata is None else strata
    meat = np.zeros((scores.shape[1], scores.shape[1]))
    for s in np.unique(stratum):
        mine = stratum == s
        names, at = np.unique(cluster[mine], return_inverse=True)
        if len(names) < 2:
            raise ParameterError(
                f"stratum {s + 1} has one cluster; its variance cannot be told: merge strata"
            )
        totals = np.zeros((len(names), scores.shape[1]))
        np.add.at(totals, at, scores[mine])
        apart = totals - totals.mean(axis=0)
        meat += len(names) / (len(names) - 1) * apart.T @ apart
    return meat


def row_scores(dag: Dag, theta: Array, table: Table) -> Array:
    """Return the slopes of each row's log-likelihood along the free coordinates; (rows, free)."""
    rows, free = prepare(dag, table.align(dag.schema)), dag.layout.free
    parts = []
    for first in range(0, free, 64):
        some = np.arange(first, min(first + 64, free))
        parts.append(rows.log_evidence(moved(dag, theta, some)).imag / STEP)
    return np.concatenate(parts).T


def directions(dag: Dag, theta: Array) -> Array:
    """Return how parameters move along the free coordinates; (size, free)."""
    return np.asarray(moved(dag, theta, np.arange(dag.layout.free)).imag.T / STEP)


def _inverse_information(dag: Dag, theta: Array, table: Table) -> Array:
    bent = curvature(prepare(dag, table.align(dag.schema)), theta).softmax_information(
        np.zeros(dag.layout.tables), "softmax"
    )
    return inverse_of(bent)


def inverse_of(information: Array) -> Array:
    """Return the inverse of a symmetric matrix, zero along directions that are flat."""
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-300))
    scaled = information * scale * scale[:, None]
    return np.asarray(scale[:, None] * np.linalg.pinv(scaled, SINGULAR, True) * scale)


def derivatives(function: Callable[[NDArray[Any]], NDArray[Any]], at: Array) -> Array:
    """Return how the values of a function move with each number, by complex steps; (values, numbers)."""
    steps = at + 1j * COMPLEX_STEP * np.eye(at.size).reshape(-1, *at.shape)
    columns = [np.ravel(function(moved)).imag / COMPLEX_STEP for moved in steps]
    return np.ascontiguousarray(np.array(columns).T)


def _inside(network: Network) -> Array:
    """Return the parameters with probabilities of zero moved off the border by next to nothing."""
    theta = np.array(network.theta)
    tables = network.dag.layout.tables
    theta[:tables] = np.maximum(theta[:tables], FLOOR)
    return network.dag.layout.normalize(theta)


def numbered(labels: Sequence[Any], rows: int, what: str) -> Any:
    """Return labels of rows as numbers from 0 on."""
    if len(labels) != rows:
        raise ParameterError(f"{what} has {len(labels)} labels for {rows} rows")
    return np.unique(np.asarray(labels), return_inverse=True)[1]


def resampled_places(rows: int, random: np.random.Generator, clusters: Any) -> Any:
    """Return the places of rows drawn with replacement, whole clusters if there are any."""
    if clusters is None:
        return random.integers(rows, size=rows)
    at = numbered(clusters, rows, "clusters")
    many = int(at.max()) + 1
    return np.concatenate([np.flatnonzero(at == c) for c in random.integers(many, size=many)])
