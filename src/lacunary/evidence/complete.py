"""Rows without holes: their statistics, and how probable these are at given parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from lacunary.model.dag import Dag

__all__ = ["complete_log_likelihood", "complete_statistics", "configuration_of"]


def complete_statistics(
    dag: Dag,
    codes: NDArray[np.signedinteger],
    reals: NDArray[np.float64],
    weights: NDArray[np.float64],
    families: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """Return the counts N_ijk and other families' statistics of rows without holes; (statistics size,).

    ``codes`` and ``reals`` are (rows, variables), ``weights`` (rows,). With ``families`` only those of some
    variables are counted, and only in these must there be no holes. Holes of leaves count for nothing.
    """
    layout, out = dag.layout, np.zeros(dag.layout.statistics_size)
    seen: slice | NDArray[np.bool_]
    for i in range(len(dag.names)) if families is None else families:
        members, strides, start = layout.members[i], layout.strides[i], layout.start[i]
        if layout.sizes[i]:
            places = start + codes[:, members].astype(np.int64) @ np.array(strides)
            out[: layout.tables] += np.bincount(places, weights, minlength=layout.tables)
            continue
        values, seen = reals[:, [*layout.regressors[i], i]], slice(None)
        if dag.families[i].leaf:
            seen = ~np.isnan(reals[:, i])
        configuration = configuration_of(dag, codes[seen], i)
        dag.number(i).gather(values[seen], configuration, weights[seen], layout.statistics(out, i))
    return out


def configuration_of(dag: Dag, codes: NDArray[np.signedinteger], i: int) -> NDArray[np.int64]:
    """Return the configuration of variable i's discrete parents in each row; (rows,)."""
    parents, strides = list(dag.layout.members[i][1:]), dag.layout.strides[i][1:]
    return np.asarray(codes[:, parents].astype(np.int64) @ np.array(strides, dtype=np.int64))


def complete_log_likelihood(dag: Dag, theta: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Return log p(D′ | θ) of complete data with these statistics: Σ N_ijk log θ_ijk, and other families'."""
    layout = dag.layout
    total = float(xlogy(counts[: layout.tables], theta[: layout.tables]).sum())
    for i, family in dag.numeric:
        total += float(family.log_likelihood(layout.records(theta, i), layout.statistics(counts, i)))
    return total
