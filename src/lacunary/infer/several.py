"""Several variables asked about together, some of them continuous, in one row.

Given the states of the discrete targets and of the discrete variables that the continuous ones depend on, the
continuous ones are normal, and independent where no hole ties them together. One sweep tells how probable
each such configuration is; what units say in it is put side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import reserve
from lacunary.data.schema import Variable
from lacunary.data.table import Table
from lacunary.errors import SchemaError, TooWideError
from lacunary.exactness import approximate
from lacunary.family.distribution import NormalMixture
from lacunary.family.joint import JointMixture
from lacunary.infer.mixed import MixedRows, prepare_mixed
from lacunary.infer.sampled import SampledRows
from lacunary.infer.unit import LeafUnit, Unit
from lacunary.maths.roots import triangular

if TYPE_CHECKING:
    from lacunary.infer.answers import Answers

__all__ = ["several"]

Array = NDArray[np.float64]

DRAWS = 512
"""Completions that are drawn of the row where exact inference does not fit."""


def several(model: Answers, case: Table, where: Sequence[int]) -> JointMixture | None:
    """Return the joint posterior of variables, some continuous, in a table's row; None of what cannot be."""
    rows: Any = model.prepared(case)
    theta = model.parameters()
    return _drawn(rows, theta, where) if isinstance(rows, SampledRows) else _exact(rows, theta, where)


def _exact(rows: MixedRows, vector: Array, where: Sequence[int]) -> JointMixture | None:
    """Return it from rows laid out: one component for each possible configuration."""
    variables = rows.dag.schema.variables
    numbers = [v for v in where if not variables[v].discrete]
    states = [v for v in where if variables[v].discrete]
    units = [unit for s in rows.stand_ins for unit in s.units if set(unit.families) & set(numbers)]
    among = [*states, *sorted({v for unit in units for v in unit.open_core} - set(states))]
    _check_size([variables[v] for v in among], len(numbers))
    if rows.log_evidence(vector[None])[0, 0] == -np.inf:
        return None
    whole = rows.marginals(vector, [among])[0][0] if among else np.ones(())
    found = np.argwhere(whole > 0)
    weights = whole[whole > 0]
    margins: dict[int, NormalMixture] = {}
    roots = np.zeros((len(found), len(numbers), len(numbers)))
    for unit in units:
        mine = [v for v in numbers if v in unit.families]
        columns, width = np.zeros(len(found), dtype=np.int64), 1
        for v in unit.open_core:
            columns = columns * variables[v].size + found[:, among.index(v)]
            width *= variables[v].size
        told = rows.mixtures(unit, vector, mine, np.ones((1, width)))
        margins |= {v: told[v][0].reweighed(weights, columns) for v in mine}
        places = np.array([numbers.index(v) for v in mine])
        roots[:, places[:, None], places] = _roots(rows, unit, vector, [margins[v] for v in mine], columns)
    asked = tuple(variables[v] for v in where)
    return JointMixture(asked, weights, found[:, : len(states)], tuple(margins[v] for v in numbers), roots)


def _roots(
    rows: MixedRows, unit: Unit, vector: Array, margins: Sequence[NormalMixture], columns: NDArray[np.int64]
) -> Array:
    """Return L, lower triangular, of some of a unit's variables in the row, for each component's column."""
    names = [margin.variable.name for margin in margins]
    lone = [k for k, margin in enumerate(margins) if isinstance(unit, LeafUnit) or _is_student(margin)]
    out = np.zeros((len(columns), len(names), len(names)))
    if not isinstance(unit, LeafUnit):
        used, back = np.unique(columns, return_inverse=True)
        conditioned = unit.rows.under(unit.forms(vector))
        holes = unit.rows.patterns[0].holes.tolist()
        _check_apart(rows, unit, [names[k] for k in lone], names, holes)
        where = [unit.variables.index(rows.dag.schema.index(name)) + 1 for name in names]
        spread = np.zeros((len(used), len(names), len(holes)))
        shown = [k for k, place in enumerate(where) if place in holes]
        rows_shown = [holes.index(where[k]) for k in shown]
        at = {int(column): c for c, column in enumerate(conditioned.columns)}
        for u, column in enumerate(used):
            spread[u, shown] = conditioned.given(0, at[int(column)])[1][rows_shown]
        spread[:, lone] = 0.0
        out = triangular(spread)[back.ravel()]
    for k in lone:
        out[:, k, k] = margins[k].sds
    return out


def _is_student(margin: NormalMixture) -> bool:
    return bool(np.isfinite(margin.arrays.get("dofs", np.array(np.inf))).any())


def _check_apart(
    rows: MixedRows, unit: Unit, lone: Sequence[str], names: Sequence[str], holes: Sequence[int]
) -> None:
    """Refuse a belief's Student t that another of the variables depends on: both have no known density."""
    dag = rows.dag
    is_open = {unit.variables[place - 1] for place in holes}
    for name in names:
        above: set[int] = set()
        todo = [dag.schema.index(name)]
        while todo:
            parents = set(dag.layout.regressors[todo.pop()]) & is_open
            todo += parents - above
            above |= parents
        for other in lone:
            if dag.schema.index(other) in above:
                raise SchemaError(
                    f"{name} depends on {other}, and a belief about parameters has no joint density of "
                    "both in closed form; ask the network of the fit, or draw rows with sample"
                )


def _drawn(rows: SampledRows, vector: Array, where: Sequence[int]) -> JointMixture | None:
    """Return it from draws of the row's states where exact inference does not fit."""
    approximate(f"the joint posterior is that of {DRAWS} draws of the states", TooWideError(rows.why))
    codes, shares = rows.completions(vector, DRAWS)
    if not len(codes):
        return None
    reals = rows.rows.reals[:1]
    schema = rows.dag.schema.reveal()
    parts = [
        _exact(prepare_mixed(rows.dag, Table(schema, code[None], reals)), vector, where) for code in codes
    ]
    return JointMixture.mixed(shares.tolist(), [part for part in parts if part is not None])


def _check_size(among: Sequence[Variable], numbers: int) -> None:
    """Refuse more configurations than memory holds, before they are gone through."""
    many = prod(float(v.size) for v in among)
    names = ", ".join(v.name for v in among) or "none"
    reserve(
        8.0 * many * (len(among) + 4 * numbers + 3 * numbers**2),
        f"a joint posterior of {numbers} continuous variables in {many:.4g} configurations of {names}",
        "ask about fewer variables together, give states of some of these, or draw rows with sample",
        TooWideError,
    )
