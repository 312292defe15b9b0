"""How probable complete data are at given parameters, from their statistics alone."""

from __future__ import annotations

from scipy.special import xlogy

from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["complete_log_likelihood"]


def complete_log_likelihood(dag: Dag, theta: Array, counts: Array) -> float:
    """Return log p(D′ | θ) of complete data with these statistics: Σ N_ijk log θ_ijk, and other families'."""
    layout = dag.layout
    total = float(xlogy(counts[: layout.tables], theta[: layout.tables]).sum())
    for i, family in dag.numeric:
        total += float(family.log_likelihood(layout.records(theta, i), layout.statistics(counts, i)))
    return total
