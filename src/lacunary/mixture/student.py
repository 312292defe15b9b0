"""The predictive density of rows under a belief: tables by their means, regressions as Student t's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.belief import Belief
from lacunary.maths import regression
from lacunary.model.dag import Dag
from lacunary.structure.networks import Networks
from lacunary.structure.score import Structure

__all__ = ["log_predictive"]

Array = NDArray[np.float64]


def log_predictive(rows: Networks, structure: Structure, belief: Belief) -> Array:
    """Return log E[p(observed cells)] over the belief, of standardised columns; (rows,).

    Families are independent, so that the expectation of their product is the product of their predictive
    densities, summed over discrete holes. A continuous hole is left out where no observed value depends on
    it; in rows where one does, the regressions are normals at the belief's `mean`.
    """
    dag, spread = rows.dag(structure), rows.spread
    mean = belief.mean()
    out = rows.rows(structure).log_evidence(mean[None])[0]
    needed, place = _needed(rows, dag), {int(v): k for k, v in enumerate(spread.continuous)}
    logs = np.zeros(len(spread.owner))
    for i in range(len(dag.schema)):
        where = spread.places(dag, i)
        if dag.layout.sizes[i]:
            logs += np.log(mean[where])
            continue
        if i in spread.leaves:
            logs += _leaf(dag, i, spread.leaves[i][0], where, belief)
            continue
        columns = [place[p] for p in (*dag.layout.regressors[i], i)]
        moments, dof = dag.layout.moments(belief.alpha, i), belief.dof(i)
        z = spread.values[:, columns]
        whole = ~np.isnan(z).any(axis=1)
        for j in np.unique(where[whole]):
            mine = np.flatnonzero(whole & (where == j))
            logs[mine] += regression.log_predictive(moments[j], dof[j], z[mine, :-1], z[mine, -1])
    told = spread.summed(logs) + rows.units
    bad = np.zeros(len(told), dtype=bool)
    np.logical_or.at(bad, spread.owner, needed)
    return np.where(bad[spread.inverse], out, told[spread.inverse])


def _leaf(dag: Dag, i: int, x: Array, where: NDArray[np.int64], belief: Belief) -> Array:
    """Return a leaf's log-predictive density in each row of the spread, zero where it is a hole."""
    family, out = dict(dag.leaves)[i], np.zeros(len(x))
    for j in np.unique(where):
        mine = (where == j) & ~np.isnan(x)
        out[mine] = family.log_predictive(x[mine], belief.hyper(i)[j], belief.surplus)
    return out + family.log_base(x)


def _needed(rows: Networks, dag: Dag) -> NDArray[np.bool_]:
    """Tell in which rows a hole is the parent of something observed, or of such a hole; (rows,)."""
    place, holes = {int(v): k for k, v in enumerate(rows.spread.continuous)}, np.isnan(rows.spread.values)
    counts = ~holes  # whether a variable, or one that depends on it, is observed
    out = np.zeros(len(holes), dtype=bool)
    for i in reversed(dag.order_indices):
        if i not in place:
            continue
        out |= holes[:, place[i]] & counts[:, place[i]]
        for p in dag.layout.regressors[i]:
            counts[:, place[p]] |= counts[:, place[i]]
    return out
