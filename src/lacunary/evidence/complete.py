"""Rows without holes: their statistics, and how probable these are at given parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from lacunary.maths import regression
from lacunary.model.dag import Dag
from lacunary.model.layout import Layout

__all__ = ["complete_log_likelihood", "complete_statistics", "design", "regression_log_likelihood"]


def complete_statistics(
    dag: Dag,
    codes: NDArray[np.signedinteger],
    reals: NDArray[np.float64],
    weights: NDArray[np.float64],
    families: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """Return the counts N_ijk and moments Σ z zᵀ of rows without holes; (statistics size,).

    ``codes`` and ``reals`` are (rows, variables), ``weights`` (rows,). With ``families`` only those of some
    variables are counted, and only in these must there be no holes.
    """
    layout, out = dag.layout, np.zeros(dag.layout.statistics_size)
    for i in range(len(dag.names)) if families is None else families:
        members, strides, start = layout.members[i], layout.strides[i], layout.start[i]
        if layout.sizes[i]:
            places = start + codes[:, members].astype(np.int64) @ np.array(strides)
            out[: layout.tables] += np.bincount(places, weights, minlength=layout.tables)
            continue
        configuration = codes[:, members[1:]].astype(np.int64) @ np.array(strides[1:], dtype=np.int64)
        z, moments = design(dag, reals, i), layout.moments(out, i)
        for j in np.unique(configuration):
            mine = configuration == j
            moments[j] += (z[mine] * weights[mine, None]).T @ z[mine]
    return out


def design(dag: Dag, reals: NDArray[np.float64], i: int) -> NDArray[np.float64]:
    """Return z = (1, continuous parents, child) of a continuous variable; (..., variables) → (..., m + 2)."""
    columns = [*dag.layout.regressors[i], i]
    return np.concatenate([np.ones((*reals.shape[:-1], 1)), reals[..., columns]], axis=-1)


def complete_log_likelihood(dag: Dag, theta: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Return log p(D′ | θ) of complete data with these statistics.

    Σ N_ijk log θ_ijk, and for regressions Σ_ij [N g − ½ tr(Q Σ z zᵀ)] with log-density g − ½ zᵀQz.
    """
    layout = dag.layout
    total = float(xlogy(counts[: layout.tables], theta[: layout.tables]).sum())
    for i in layout.regressions:
        total += float(regression_log_likelihood(layout, theta, counts, i))
    return total


def regression_log_likelihood(
    layout: Layout, theta: NDArray[np.float64], counts: NDArray[np.float64], i: int
) -> NDArray[np.float64]:
    """Return a continuous variable's part of `complete_log_likelihood`; (..., statistics size) → (...)."""
    form, constant = regression.point_form(layout.records(theta, i))
    moments = layout.moments(counts, i)
    return np.asarray(moments[..., 0, 0] @ constant - 0.5 * (form * moments).sum(axis=(-3, -2, -1)))
