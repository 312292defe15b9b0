"""Parameters that follow from the rows before any climb, which then takes them as known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from lacunary.data.source import Source
from lacunary.data.table import HOLE, Table
from lacunary.maths.arrays import Booleans
from lacunary.model.dag import Dag

__all__ = ["showing", "with_foregone"]

Fixed = Mapping[str, ArrayLike] | None


def with_foregone(dag: Dag, source: Source, method: str, fixed: Fixed) -> tuple[Fixed, float]:
    """Return what is fixed and what follows from the rows, and the log prior density of the latter."""
    known, log_density = dict(fixed or {}), 0.0
    for i, family in dag.leaves:
        name = dag.names[i]
        if family.foregone and name not in known:
            table = source.whole(f"parameters of {family.name} families")
            rows = table.reals[:, i], table.weights, *showing(dag, table, i)
            found, density = family.learned(*rows, method)
            known[name] = found.reshape(family.shape)
            log_density += density
    return known or fixed, log_density


def showing(dag: Dag, table: Table, i: int) -> tuple[Booleans, Booleans]:
    """Tell which rows show a variable with its parents in each configuration, for certain and possibly.

    (configurations, rows) each.
    """
    parents, sizes = list(dag.layout.members[i][1:]), dag.families[i].sizes
    seen = ~np.isnan(table.reals[:, i]) & (table.weights > 0)
    codes = table.codes[:, parents]
    states = np.indices(sizes).reshape(len(sizes), dag.layout.configurations[i]).T
    single = np.array(sizes) == 1  # a hole there hides nothing
    same = (codes == states[:, None, :]) | single
    return seen & same.all(axis=-1), seen & (same | (codes == HOLE)).all(axis=-1)
