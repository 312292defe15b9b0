"""Where components with continuous variables begin: drawn around the fit of one to all rows.

TMCH98 section 5: the component without its hidden variables is fitted to all rows; each distribution of an
observed variable is drawn from the conjugate belief worth some rows that peaks at the fit, anew for every
configuration of its hidden parents. Hidden discrete variables begin uniform, hidden continuous ones at mean
zero and variance one; their coefficients are drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table
from lacunary.infer.belief import Prior
from lacunary.infer.rows import prepare
from lacunary.learn.em import maximize_rule
from lacunary.learn.loop import climb
from lacunary.learn.start import first_point
from lacunary.learn.stop import Stop
from lacunary.maths import regression
from lacunary.model.dag import Dag

__all__ = ["Scatter"]

Array = NDArray[np.float64]

LOADING = 0.5
"""Standard deviation of the coefficients of hidden parents, in standardised columns, all together."""


class Scatter:
    """Draws around one fit to the rows of one table, both for standardised columns."""

    def __init__(self, table: Table, prior: Prior) -> None:
        self.table, self.prior = table, prior
        self._known: dict[Dag, tuple[Array, Array]] = {}

    def draw(self, dag: Dag, ess: float, rng: np.random.Generator) -> Array:
        """Return parameters of a graph, drawn as if ``ess`` rows had been seen; (size,)."""
        seen = dag.without(dag.schema.hidden)
        theta, after = self._fitted(seen)
        out = np.empty(dag.layout.size)
        for i, variable in enumerate(dag.schema):
            place = dag.layout.table(out, i)
            if variable.hidden:
                width = place.shape[-1]
                place[...] = np.full(width, 1.0 / width) if variable.discrete else np.eye(width)[-1]
                continue
            own = seen.schema.index(variable.name)
            if variable.discrete:
                known = seen.layout.table(theta, own)
                full = np.broadcast_to(_opened(dag, i, known, 1), place.shape)
                draws = rng.standard_gamma(1.0 + ess * full)
                dag.layout.table(out, i)[...] = draws / draws.sum(axis=-1, keepdims=True)
            elif dag.families[i].leaf:
                family, rows = dag.number(i), seen.layout.statistics(after, own)
                full = _opened(dag, i, rows.reshape(*seen.families[own].sizes, -1), 1)
                known = np.broadcast_to(full, (*family.sizes, family.statistics)).reshape(
                    -1, family.statistics
                )
                place[...] = family.around(known, 0.0, ess, 1, rng).reshape(place.shape)
            else:
                place[...] = self._regression(dag, i, self._around(seen, after, own, ess), ess, rng)
        return out

    def _fitted(self, seen: Dag) -> tuple[Array, Array]:
        """Return the fit to all rows, and the prior's hyperparameters with its expected statistics added."""
        if seen not in self._known:
            belief, rows = self.prior(seen), self.table.align(seen.schema)
            prepared = prepare(seen, rows)
            rule = maximize_rule(belief, "map", "softmax", None)
            start = first_point(prepared, belief, rows)
            climbs, interrupted = climb(prepared, rule, start[None], Stop(relative=1e-6))
            if interrupted:
                raise KeyboardInterrupt
            theta = climbs[0].theta
            self._known[seen] = theta, belief.alpha + prepared.expect(theta[None]).counts[0]
        return self._known[seen]

    def _around(self, seen: Dag, after: Array, i: int, ess: float) -> Array:
        """Return pseudo-moments worth ``ess`` rows that peak at the fit; (discrete parents, m + 2, m + 2)."""
        belief = self.prior(seen)
        moments = seen.layout.moments(after, i)
        gained = moments[:, 0, 0] - seen.layout.moments(belief.alpha, i)[:, 0, 0]
        divisor = belief.dof(i) + gained - (moments.shape[-1] - 1)
        scaled = moments * (ess / divisor)[:, None, None]
        sizes = [seen.schema.sizes[p] for p in seen.layout.members[i][1:]]
        return np.asarray(scaled.reshape(*sizes, *moments.shape[1:]))

    def _regression(self, dag: Dag, i: int, around: Array, ess: float, rng: np.random.Generator) -> Array:
        """Return regressions drawn for each configuration; (discrete parents, m + 2)."""
        sizes = [dag.schema.sizes[p] for p in dag.layout.members[i][1:]]
        full = np.broadcast_to(_opened(dag, i, around, 2), (*sizes, *around.shape[-2:]))
        known = regression.draw(np.ascontiguousarray(full), ess + full.shape[-1] - 1, rng)
        hidden = np.array([dag.schema.variables[p].hidden for p in dag.layout.regressors[i]], dtype=bool)
        out = np.zeros((*sizes, len(hidden) + 2))
        out[..., np.concatenate([[True], ~hidden, [True]])] = known
        if hidden.any():
            many = int(hidden.sum())
            drawn = rng.normal(scale=LOADING / np.sqrt(many), size=(*sizes, many))
            out[..., np.flatnonzero(hidden) + 1] = drawn
        return out


def _opened(dag: Dag, i: int, known: Array, behind: int) -> Array:
    """Return what is known without hidden parents with an axis of length one for each of them."""
    parents = dag.layout.members[i][1:]
    spread = [1 if dag.schema.variables[p].hidden else dag.schema.sizes[p] for p in parents]
    return known.reshape(*spread, *known.shape[known.ndim - behind :])
