"""Starts around the fit of a network without its hidden variables (TMCH98 section 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lacunary.data.source import Source
from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.rows import prepare
from lacunary.learn.em import maximize_rule
from lacunary.learn.loop import climb
from lacunary.learn.start import check_count, first_point
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["Around", "Fitted"]


@dataclass(frozen=True)
class Around:
    """``count`` draws around the fit of the network without its hidden variables (TMCH98 section 5).

    Each distribution of an observed variable is drawn, anew for every configuration of its hidden
    parents, from a belief worth ``ess`` rows whose peak is the fitted distribution given the observed
    parents alone: a Dirichlet for a table, a normal–inverse-gamma distribution for a regression, in which a
    hidden continuous parent has mean zero, variance one, and nothing to say. Tables of hidden variables start
    uniform, their regressions with mean zero and variance one. With a ``loading`` the coefficients of hidden
    continuous parents are drawn on their own, about zero with this standard deviation all together, in
    standardised columns: near zero, where a factor says nothing, climbs are slow.
    """

    count: int = 20
    ess: float = 200.0
    loading: float | None = None

    def __post_init__(self) -> None:
        check_count(self.count)
        if not 0 < self.ess < np.inf:
            raise ParameterError(f"ess must be positive and finite, not {self.ess}")

    def points(self, belief: Belief, prior: Prior, table: Source, rng: np.random.Generator) -> Array:
        """Return the draws; (count, size)."""
        return self.drawn(belief, Fitted.to(belief, prior, table), rng)

    def drawn(self, belief: Belief, fitted: Fitted, rng: np.random.Generator) -> Array:
        """Return draws around a fit that is known already; (count, size)."""
        layout = belief.dag.layout
        known = fitted.tables(belief.dag)
        center = layout.normalize(known)
        alpha = 1.0 + self.ess * center
        draws = layout.drawn(np.tile(alpha, (self.count, 1)), rng)
        out = np.zeros((self.count, layout.size))
        out[:, : layout.tables] = np.where(known > 0, draws, center)
        for i, family in belief.dag.numeric:
            if family.linear:
                known = fitted.moments(belief.dag, i).reshape(-1, family.statistics)
            else:
                known = fitted.leaf(belief.dag, i)
            drawn = family.around(known, belief.surplus, self.ess, self.count, rng)
            layout.records(out, i)[:] = self._loaded(belief.dag, i, drawn, rng)
        return out

    def _loaded(self, dag: Dag, i: int, drawn: Array, rng: np.random.Generator) -> Array:
        """Return regressions with the coefficients of hidden parents drawn, where a loading is given."""
        above = [dag.schema.variables[p].hidden for p in dag.layout.regressors[i]]
        if self.loading is not None and any(above):
            hidden = np.flatnonzero(above) + 1
            size = (*drawn.shape[:-1], len(hidden))
            drawn[..., hidden] = rng.normal(scale=self.loading / np.sqrt(len(hidden)), size=size)
        return drawn


@dataclass(frozen=True, eq=False)
class Fitted:
    """The network without hidden variables, fitted.

    Attributes
    ----------
    dag, theta
        Its graph and parameters. Families are left out whose parameters are known before any climb.
    statistics
        Expected statistics of the rows, and the prior's.
    """

    dag: Dag
    theta: Array
    statistics: Array

    @classmethod
    def to(cls, belief: Belief, prior: Prior, table: Source) -> Fitted:
        """Return the fit to a table; both belief and table are of standardised columns."""
        dag = belief.dag
        seen = dag.without([*dag.schema.hidden, *(dag.names[i] for i, leaf in dag.leaves if leaf.foregone)])
        known, rows = _believed(belief, prior, seen), table.align(seen.schema)
        prepared = prepare(seen, rows)
        rule = maximize_rule(known, "map", "softmax", None)
        start = first_point(prepared, known, rows)
        climbs, interrupted = climb(prepared, rule, start[None], Stop(relative=1e-6))
        if interrupted:
            raise KeyboardInterrupt
        theta, statistics = climbs[0].theta, known.alpha
        if seen.continuous:
            statistics = statistics + prepared.expect(theta[None]).counts[0]
        return cls(seen, theta, statistics)

    def tables(self, dag: Dag) -> Array:
        """Return the tables, added up where families are tied, zeros where all are hidden; (tables,)."""
        out = np.zeros(dag.layout.tables)
        for i, variable in enumerate(dag.schema):
            if variable.hidden or not variable.discrete:
                continue
            known = self.dag.layout.table(self.theta, self.dag.schema.index(variable.name))
            full = _repeated(dag, i, known, 1)
            out[dag.layout.slice(i)] += dag.layout.flat(full)
        return out

    def leaf(self, dag: Dag, i: int) -> Array:
        """Return a leaf's statistics; (q, statistics); zeros where it is left out or hidden."""
        family = dag.number(i)
        if dag.names[i] not in self.dag.schema:
            return np.zeros((family.configurations, family.statistics))
        k = self.dag.schema.index(dag.names[i])
        own = self.dag.layout.statistics(self.statistics, k)
        return _repeated(dag, i, own.reshape(*self.dag.families[k].sizes, -1), 1).reshape(
            -1, family.statistics
        )

    def moments(self, dag: Dag, i: int) -> Array:
        """Return a regression's moments, added up where families are tied; (q, m + 2, m + 2).

        They are zeros where all of the families are hidden, and uncorrelated where a parent is.
        """
        layout = dag.layout
        width = len(layout.regressors[i]) + 2
        out = np.zeros((layout.configurations[i], width, width))
        for j in (j for j in dag.continuous if layout.start[j] == layout.start[i]):
            if dag.names[j] not in self.dag.schema:
                continue
            hidden = np.array([dag.schema.variables[p].hidden for p in layout.regressors[j]], dtype=bool)
            keep = np.flatnonzero(np.concatenate([[True], ~hidden, [True]]))
            own = self.dag.layout.moments(self.statistics, self.dag.schema.index(dag.names[j]))
            sizes = self.dag.families[self.dag.schema.index(dag.names[j])].sizes
            full = _repeated(dag, j, own.reshape(*sizes, *own.shape[1:]), 2).reshape(-1, *own.shape[1:])
            out[:, keep[:, None], keep] += full
            alone = np.flatnonzero(hidden) + 1
            out[:, alone, alone] += full[:, :1, 0]
        return out


def _repeated(dag: Dag, i: int, known: Array, last: int) -> Array:
    """Return what is known for configurations of observed discrete parents for hidden ones' as well.

    ``known`` has one axis for each observed discrete parent, and then so many of its own.
    """
    parents = [dag.schema.variables[p] for p in dag.layout.members[i][1:]]
    own = known.shape[known.ndim - last :]
    narrow = known.reshape(*(1 if p.hidden else p.size for p in parents), *own)
    return np.broadcast_to(narrow, (*(p.size for p in parents), *own))


def _believed(belief: Belief, prior: Prior, seen: Dag) -> Belief:
    """Return what is believed of the network without hidden variables.

    Its regressions follow from the same Normal–Wishart, so that their pseudo-moments are parts of those
    with the hidden variables, and what its degrees of freedom exceed the pseudo-count by is the same.
    """
    if not belief.dag.continuous:
        return prior(seen)
    alpha, dag = np.zeros(seen.layout.statistics_size), belief.dag
    plain = prior(seen.discrete) if seen.discrete.names else None
    if plain is not None:
        alpha[: seen.layout.tables] = plain.alpha
    for i in seen.continuous:
        j = dag.schema.index(seen.names[i])
        if not seen.families[i].linear:
            seen.layout.statistics(alpha, i)[:] = belief.hyper(j)[0]
            continue
        kept = [dag.names[p] in seen.schema for p in dag.layout.regressors[j]]
        keep = np.flatnonzero([True, *kept, True])
        seen.layout.moments(alpha, i)[:] = dag.layout.moments(belief.alpha, j)[0][np.ix_(keep, keep)]
    return Belief(seen, alpha, belief.surplus, weight_sd=belief.weight_sd)
