"""How probable complete data are at given parameters, from their statistics alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from lacunary.maths import regression
from lacunary.model.dag import Dag
from lacunary.model.layout import Layout

__all__ = ["complete_log_likelihood", "regression_log_likelihood"]


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
