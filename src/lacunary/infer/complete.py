"""Rows with every hole filled, of discrete and continuous variables alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import room
from lacunary.data.table import HOLE, Table
from lacunary.errors import TooWideError
from lacunary.infer.gaussian import Conditioned
from lacunary.infer.mixed import MixedRows, prepare_mixed
from lacunary.infer.posterior import filled
from lacunary.infer.rows import sampled_instead
from lacunary.infer.unit import LeafUnit, Unit, units_of
from lacunary.model.dag import Dag

__all__ = ["completed", "completed_mixed", "filled_numbers"]


def completed(
    dag: Dag, theta: NDArray[np.float64], table: Table, random: np.random.Generator | None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return codes and reals of the rows with every hole filled.

    Discrete holes take a draw from their joint posterior or, without a generator, their jointly most
    probable states, the continuous holes summed out. Given these, continuous holes take a draw or their mean.
    """
    plain = replace(table, weights=np.ones(len(table)))
    if not dag.discrete.names and not dag.leaves:  # no states to be found first
        if random is not None:
            random.integers(2**63)  # a seed for them, as elsewhere
        codes = np.full(table.codes.shape, HOLE, dtype=np.int32)
        return codes, filled_numbers(dag, theta, codes, table.reals, random)
    try:
        if dag.continuous:
            return completed_mixed(prepare_mixed(dag, plain), theta, random)
        seed = None if random is None else int(random.integers(2**63))
        return filled(dag, theta, table.codes, seed=seed), table.reals
    except TooWideError as why:
        return sampled_instead(dag, plain, why).completed(theta, random)


def completed_mixed(
    prepared: MixedRows, theta: NDArray[np.float64], random: np.random.Generator | None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return `completed` of rows that are laid out."""
    dag, seed = prepared.dag, None if random is None else int(random.integers(2**63))
    graph, inner, rows = prepared.discrete(theta)
    where = [dag.schema.index(name) for name in dag.discrete.names]
    codes = np.full((len(prepared.inverse), len(dag.schema)), HOLE, dtype=np.int32)
    codes[:, where] = filled(graph, inner, rows[prepared.inverse], seed=seed)[:, : len(where)]
    return codes, filled_numbers(dag, theta, codes, prepared.reals[prepared.inverse], random)


def filled_numbers(
    dag: Dag,
    theta: NDArray[np.float64],
    codes: NDArray[np.int32],
    seen: NDArray[np.float64],
    random: np.random.Generator | None,
) -> NDArray[np.float64]:
    """Return the reals of rows whose discrete cells are known, every hole drawn or at its mean."""
    # Of the rows as they now are, every configuration is known.
    distinct = Table(dag.schema.reveal(), codes.copy(), seen).distinct
    units = units_of(dag, codes[distinct.first], seen[distinct.first], room())
    reals = np.array(seen)
    for unit in units:
        conditioned = unit.rows.under(unit.forms(theta))
        if isinstance(unit, LeafUnit):
            reals[:, unit.families[0]] = conditioned.filled(distinct.inverse, random)
        else:
            _fill(unit, conditioned, distinct.inverse, reals, random)
    return reals


def _fill(
    unit: Unit,
    conditioned: Conditioned,
    inverse: NDArray[np.int64],
    reals: NDArray[np.float64],
    random: np.random.Generator | None,
) -> None:
    """Fill a unit's holes in place, given that every row allows one configuration alone."""
    rows = unit.rows
    mean, place = rows.sorted.copy(), np.empty(len(rows), dtype=np.int64)
    place[rows.order] = np.arange(len(rows))
    at = place[inverse]  # where each row of the table stands among the sorted distinct ones
    noise = np.zeros((len(inverse), rows.sorted.shape[1]))
    ends = [p.last for p in rows.patterns]
    pattern = np.searchsorted(ends, at, side="right")
    for c in range(len(unit.configurations)):
        for where, z, shares in conditioned.filled(c):
            mean[where] = z
            numbers = np.arange(len(rows))[where]
            for share in shares:
                holes = rows.patterns[share.pattern].holes
                if random is None or not len(holes):
                    continue
                mine = np.zeros(len(rows), dtype=bool)
                mine[numbers[share.first : share.last]] = True
                here = np.flatnonzero((pattern == share.pattern) & mine[at])
                spread = conditioned.given(share.pattern, c)[1]
                noise[np.ix_(here, holes)] = random.standard_normal((len(here), len(holes))) @ spread.T
    full = (mean[at] + noise)[:, 1:]
    columns = list(unit.variables)
    reals[:, columns] = np.where(np.isnan(reals[:, columns]), full, reals[:, columns])
