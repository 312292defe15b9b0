"""Rows under a belief: the parameters integrated out.

One row meets each regression once, so its density is a product of Student t, one for each family whose cells
are observed, and of expected probabilities: the ratio of two evidences, with the row and without. A hole that
no observed cell depends on integrates to one. Where an observed cell depends on a continuous hole there is no
closed form in general; such rows take normals with each t's location and scale in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table
from lacunary.family.distribution import NormalMixture, StudentMixture
from lacunary.infer.gaussian import Conditioned
from lacunary.infer.mixed import MixedRows, prepare_mixed
from lacunary.infer.unit import LeafUnit, Unit
from lacunary.maths import regression
from lacunary.model.dag import Dag

if TYPE_CHECKING:
    from lacunary.infer.belief import Belief

__all__ = ["Predictive", "prepare_predictive"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Predictive(MixedRows):
    """A table laid out for a belief; the vectors it is asked with are the belief's expected parameters.

    Attributes
    ----------
    belief
        The belief.
    """

    belief: Belief

    def log_densities(self, unit: Unit, conditioned: Any) -> Array:
        """Return the log-density of what a unit's rows show in each configuration; (rows, columns)."""
        out: Array = conditioned.log_evidence()
        if isinstance(unit, LeafUnit):
            hyper, surplus = self.belief.hyper(unit.families[0])[unit.chosen[0]], self.belief.surplus
            for c, seen in enumerate(unit.rows.seen):
                log = unit.family.log_predictive(unit.rows.x[seen], hyper[c], surplus)
                out[seen, unit.rows.columns[c]] = log
            return out
        for c, pattern, rows, z in _parts(unit, conditioned):
            if not _is_closed(unit, pattern):
                continue
            log = np.zeros(len(rows))
            for family in _seen(unit, pattern):
                columns = unit.columns[family]
                known = self._known(unit, family, c)
                log += regression.log_predictive(*known, z[:, columns[1:-1]], z[:, columns[-1]])
            out[rows, conditioned.columns[c]] = log
        return out

    def mixtures(
        self, unit: Unit, vector: Array, targets: Sequence[int], weights: Array
    ) -> dict[int, NormalMixture]:
        """Return the posterior of some of a unit's variables, configurations weighted; (rows, columns)."""
        conditioned, back = unit.rows.under(unit.forms(vector)), self.inverse
        means, scales = conditioned.normals()
        if isinstance(unit, LeafUnit):
            hyper = np.zeros((len(unit.rows), unit.rows.width, unit.family.statistics))
            mine = self.belief.hyper(unit.families[0])[unit.chosen[0]]
            for c, rows in enumerate(unit.rows.allowed):
                hyper[rows, unit.rows.columns[c]] = mine[c]
            parts = weights[back], means[back, :, 1], scales[back, :, 1], hyper[back]
            return {unit.families[0]: unit.family.predictive_mixture(*parts)}
        dofs = np.full(means.shape, np.inf)
        for c, pattern, rows, z in _parts(unit, conditioned):
            for family in _last(unit, pattern) if _is_closed(unit, pattern) else ():
                columns, (moment, dof) = unit.columns[family], self._known(unit, family, c)
                at = rows, conditioned.columns[c], columns[-1]
                means[at], scales[at] = regression.predictive(moment, dof, z[:, columns[1:-1]])
                dofs[at] = dof
        found: dict[int, NormalMixture] = {}
        for v in targets:
            k = unit.variables.index(v) + 1
            parts = (weights[back], means[back, :, k], scales[back, :, k], dofs[back, :, k])
            found[v] = StudentMixture(self.dag.schema.variables[v], *parts)
        return found

    def _known(self, unit: Unit, family: int, c: int) -> tuple[Array, float]:
        """Return pseudo-moments and degrees of freedom of a family in a configuration of the unit's core."""
        moments = self.dag.layout.moments(self.belief.alpha, unit.families[family])
        moment = moments[unit.chosen[family][c]]
        return moment, float(moment[0, 0] + self.belief.surplus + len(moment) - 1)


def prepare_predictive(belief: Belief, dag: Dag, table: Table) -> Predictive:
    """Lay out a table for a belief about a graph with continuous variables."""
    plain = prepare_mixed(dag, table)
    known = {field.name: getattr(plain, field.name) for field in fields(plain)}
    return Predictive(**known, belief=belief)


def _parts(
    unit: Unit, conditioned: Conditioned
) -> Iterator[tuple[int, frozenset[int], NDArray[np.int64], Array]]:
    """Yield configuration, holes (columns of z), rows and z, whose holes hold their means."""
    everywhere = np.arange(len(unit.rows))
    for c in range(len(unit.configurations)):
        for where, z, shares in conditioned.filled(c):
            rows = unit.rows.order[everywhere[where]]
            for share in shares:
                part = slice(share.first, share.last)
                holes = unit.rows.patterns[share.pattern].holes
                yield c, frozenset(holes.tolist()), rows[part], z[part]


def _seen(unit: Unit, holes: frozenset[int]) -> list[int]:
    """Return the families whose own variable is observed."""
    return [family for family, columns in enumerate(unit.columns) if int(columns[-1]) not in holes]


def _is_closed(unit: Unit, holes: frozenset[int]) -> bool:
    """Tell whether no observed variable depends on a continuous hole."""
    return not any(holes.intersection(unit.columns[family][1:-1].tolist()) for family in _seen(unit, holes))


def _last(unit: Unit, holes: frozenset[int]) -> list[int]:
    """Return the families whose own variable is a hole and whose parents are observed."""
    return [
        family
        for family, columns in enumerate(unit.columns)
        if int(columns[-1]) in holes and not holes.intersection(columns[1:-1].tolist())
    ]
