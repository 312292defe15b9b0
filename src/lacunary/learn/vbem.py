"""Variational Bayesian EM: the update of the parameters' posterior, and the bound it raises (BG03).

The posterior over holes x and parameters θ is approximated by q(x) q(θ). Given q(θ), a Dirichlet with
hyperparameters α̂ for each distribution, the best q(x) is the posterior of a network with the
unnormalised potentials exp E[log θ_ijk] = exp(ψ(α̂_ijk) − ψ(α̂_ij)); given q(x), the best q(θ) has
α̂ = α + E[N]. The bound, after the first of these two steps, is

    F = Σ over rows of log Z(row) − KL(q(θ) ‖ p(θ)),

where Z sums the potentials over the holes. It never falls, and never exceeds log p(observed cells).

Other conjugate families' q is of their prior's kind, with hyperparameters plus expected statistics, and their
potentials are what `expected` says (`lacunary.family.protocol`): of a regression the quadratic form E[vvᵀ/σ²]
with the constant −½ E[log 2πσ²].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief
from lacunary.infer.rows import Sweep
from lacunary.learn.em import known_parameters, learned
from lacunary.maths import special
from lacunary.maths.arrays import Array
from lacunary.maths.coordinates import logs
from lacunary.model.dag import Dag

__all__ = ["Update", "update_rule"]


@dataclass(frozen=True, eq=False)
class Update:
    """The variational step. Points are hyperparameters α̂ of the approximate posterior.

    Attributes
    ----------
    belief
        The prior.
    known
        Parameters that are given and not learned, NaN elsewhere; (size,).
    """

    belief: Belief
    known: Array

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.belief.dag

    @property
    def alpha(self) -> Array:
        """Hyperparameters of the prior; (statistics size,)."""
        return self.belief.alpha

    @cached_property
    def _known_tables(self) -> Array:
        return self.known[: self.dag.layout.tables]

    def begin(self, prepared: Sweep, theta: Array) -> Array:
        """Return the posteriors that follow from the responsibilities at these parameters; (starts, size)."""
        counts = prepared.expect(np.where(np.isnan(self.known), theta, self.known)).counts
        return self.improve(counts)

    def potentials(self, points: Array) -> Array:
        """Return exp E[log θ], which sums to less than one, and forms; (starts, potentials size)."""
        known, layout = self._known_tables, self.dag.layout
        out, free = np.empty((*points.shape[:-1], layout.potentials_size)), learned(self.dag, self.known)
        out[..., : layout.tables] = np.where(np.isnan(known), np.exp(self._expected_log(points)), known)
        for i, family in self.dag.numeric:
            if i in free:
                made = family.expected(layout.statistics(points, i), self.belief.surplus)
            else:
                made = family.point(layout.records(self.known, i))
            layout.potentials(out, i)[:] = made
        return out

    def objective(self, points: Array, log_likelihood: Array) -> Array:
        """Return the bound F for each start, with every constant; (starts,)."""
        return np.asarray(log_likelihood - self.divergence(points))

    def divergence(self, points: Array) -> Array:
        """Return KL(q(θ) ‖ p(θ)), summed over all distributions that are learned; (starts,)."""
        layout, free = self.dag.layout, np.isnan(self._known_tables)
        groups = np.unique(layout.group[free])
        alpha, tables = self.alpha[: layout.tables], points[..., : layout.tables]
        gained = tables - alpha
        totals = special.log_rising(layout.total(alpha), layout.total(gained))
        cells = gained * self._expected_log(points) - special.log_rising(alpha, gained)
        out = totals[..., groups].sum(axis=-1) + cells[..., free].sum(axis=-1)
        for i in learned(self.dag, self.known):
            after, before = layout.statistics(points, i), self.belief.hyper(i)
            out = out + self.dag.number(i).divergence(after, before, self.belief.surplus).sum(axis=-1)
        return np.asarray(out)

    def step(self, points: Array, counts: Array) -> Array:
        """Return the next points: they depend on what is expected alone; (starts, size)."""
        return self.improve(counts)

    def improve(self, counts: Array) -> Array:
        """Return α + E[N]; (starts, statistics size)."""
        return self.alpha + counts

    def project(self, points: Array) -> Array:
        """Return the projection onto admissible hyperparameters: none is worth less than the prior."""
        layout, out, tables = self.dag.layout, points.copy(), slice(self.dag.layout.tables)
        out[..., tables] = np.maximum(points[..., tables], self.alpha[tables])
        for i, family in self.dag.numeric:
            family.project_hyper(layout.statistics(out, i), self.belief.hyper(i))
        return out

    def unfold(self, points: Array) -> tuple[Array, Array]:
        """Return free coordinates, and how much each matters; (starts, statistics size) each."""
        layout, coordinates, weights = self.dag.layout, np.empty_like(points), points.copy()
        coordinates[..., : layout.tables] = logs(points[..., : layout.tables])
        for i, family in self.dag.numeric:
            each = family.unfold_hyper(layout.statistics(points, i))
            layout.statistics(coordinates, i)[:], layout.statistics(weights, i)[:] = each
        return coordinates, weights

    def fold(self, coordinates: Array) -> Array:
        """Return the admissible hyperparameters with such coordinates; (starts, statistics size)."""
        layout, points = self.dag.layout, np.empty_like(coordinates)
        points[..., : layout.tables] = np.exp(coordinates[..., : layout.tables])
        for i, family in self.dag.numeric:
            layout.statistics(points, i)[:] = family.fold_hyper(layout.statistics(coordinates, i))
        return self.project(points)

    def parameters(self, points: Array) -> Array:
        """Return E[θ], as in `Belief.mean`; (starts, size)."""
        layout = self.dag.layout
        out = np.empty((*points.shape[:-1], layout.size))
        out[..., : layout.tables] = layout.normalize(points[..., : layout.tables])
        for i, family in self.dag.numeric:
            layout.records(out, i)[:] = family.mean(layout.statistics(points, i), self.belief.surplus)
        return np.where(np.isnan(self.known), out, self.known)

    def _expected_log(self, points: Array) -> Array:
        """Return E[log θ] of the tables; (starts, tables)."""
        layout = self.dag.layout
        tables = points[..., : layout.tables]
        return np.asarray(special.digamma(tables) - special.digamma(layout.total(tables))[..., layout.group])


def update_rule(belief: Belief, fixed: Mapping[str, ArrayLike] | None) -> Update:
    """Return the step for this prior belief; families in ``fixed`` are known and have no posterior."""
    for family in belief.dag.families if belief.dag.family else ():
        if not family.conjugate:
            raise ParameterError(
                f"'variational' needs conjugate families, and that of {family.variable.name} is "
                f"{family.phrase}; use 'map' or 'ml'"
            )
    return Update(belief, known_parameters(belief.dag, fixed))
