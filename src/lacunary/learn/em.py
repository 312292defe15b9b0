"""Expectation–maximisation: the M-step, and the objective it climbs.

One iteration replaces the parameters by those that would be best if the expected counts had been
observed: θ_ijk ∝ E[N_ijk] + c_ijk, where c are the pseudo-counts of the prior (CH96 section 3.1,
Lauritzen 1995). The objective g(θ) = log p(observed cells | θ) + log p(θ) never falls.

Other families say for themselves what is best for expected statistics (`lacunary.family.protocol`): a
regression becomes the least-squares one of its expected moments E[Σ z zᵀ], to which the prior's
pseudo-moments are added (TMCH98 section 6), a sigmoid the logistic regression of its expected counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lacunary.errors import ParameterError
from lacunary.family.numeric import NumericFamily
from lacunary.family.protocol import ImpliedTable
from lacunary.infer.belief import Belief
from lacunary.infer.rows import Sweep
from lacunary.kernels.normalize import normalize
from lacunary.maths import special
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.coordinates import logs
from lacunary.model.dag import Dag

__all__ = ["Basis", "Maximize", "known_parameters", "learned", "maximize_rule"]

Basis = Literal["softmax", "probability"]

TOGETHER = 4
"""Regressions in a chain from which on they are solved together."""

HEAVY = 1e6
"""Rows that a prior is worth above which log p(θ) is measured from its peak: large sums lose digits."""


@dataclass(frozen=True, eq=False)
class Maximize:
    """The maximum-likelihood or maximum-a-posteriori step.

    Attributes
    ----------
    dag
        The graph.
    pseudo
        Pseudo-counts c: zero for maximum likelihood, α in the softmax basis, α − 1 in the
        probability basis; (tables,).
    log_constant
        The part of log p(θ) that does not depend on θ.
    known
        Parameters that are given and not learned, NaN elsewhere; (size,).
    belief
        The prior of families that are no tables; none for maximum likelihood.
    peak
        Where the tables' prior peaks, if it is worth so many rows that log p(θ) has to be measured from
        there: the constant is then log p there, and Σ c log θ/peak = Σ c (log(1 + x) − x), as Σ c x = 0;
        (tables,).
    """

    dag: Dag
    pseudo: Array
    log_constant: float
    known: Array
    belief: Belief | None = None
    peak: Array | None = None

    def begin(self, prepared: Sweep, theta: Array) -> Array:
        """Return the points from which to climb, given starting parameters; (starts, size)."""
        points, layout = self.project(theta), self.dag.layout
        for i, family in (each for alike in self._alike for each in alike):
            place = layout.states_first(points, i)
            place[:] = family.table(family.weights(place))
        return points

    def parameters(self, points: Array) -> Array:
        """Return the parameters at these points: the points themselves; (starts, size)."""
        return points

    def potentials(self, points: Array) -> Array:
        """Return what the sweep multiplies: the parameters themselves; (starts, size)."""
        return points

    def objective(self, points: Array, log_likelihood: Array) -> Array:
        """Return g(θ) for each start, with every constant; (starts,)."""
        return np.asarray(log_likelihood + self.log_prior(points))

    def log_prior(self, points: Array) -> Array:
        """Return log p(θ) in the chosen basis, zero for maximum likelihood; (starts,)."""
        out, counted = np.empty(points.shape[:-1]), self._counted
        out[...] = self.log_constant
        if self.peak is not None:
            away = (points[..., counted] - self.peak[counted]) / self.peak[counted]
            with np.errstate(divide="ignore"):
                out += (np.log1p(away) - away) @ self.pseudo[counted]
        elif len(counted):
            with np.errstate(divide="ignore"):
                out += np.log(points[..., counted]) @ self.pseudo[counted]
        belief, layout = self.belief, self.dag.layout
        if belief is None:
            return out
        for i, implied in (each for alike in self._alike for each in alike):
            out += implied.log_prior(layout.states_first(points, i), belief.weight_sd)
        for family, members in self._kinds:
            theta = _joined(layout.records(points, i) for i in members)
            hyper = _joined(belief.hyper(i) for i in members)
            out += family.log_density(theta, hyper, belief.surplus).sum(axis=-1)
        return out

    def step(self, points: Array, counts: Array) -> Array:
        """Return the next points: they depend on what is expected alone; (starts, size)."""
        return self.improve(counts)

    def improve(self, counts: Array) -> Array:
        """Return the best parameters for these expected counts; (starts, statistics) → (starts, size)."""
        layout = self.dag.layout
        if not layout.numeric:
            counted = counts + self.pseudo if len(self._counted) else counts
            return self._with_implied(counts, self.project(counted))
        out = np.empty((*counts.shape[:-1], layout.size))
        out[..., : layout.tables] = counts[..., : layout.tables] + self.pseudo
        done = set[int]().union(*(chain for chain in self._chains if self._solve(chain, counts, out)))
        for family, alike in self._kinds:
            members = [i for i in alike if i not in done]
            if not members:
                continue
            best = self._best(family, _joined(self._updated(counts, i) for i in members))
            ends = np.cumsum([layout.configurations[i] for i in members])
            for i, mine in zip(members, np.split(best, ends[:-1], axis=-2), strict=True):
                layout.records(out, i)[:] = mine
        return self._with_implied(counts, self.project(out))

    def _updated(self, counts: Array, i: int) -> Array:
        """Return a continuous variable's statistics with the prior's; (starts, configurations, own)."""
        own = self.dag.layout.statistics(counts, i)
        return own if self.belief is None else self.belief.hyper(i) + own

    def _best(self, family: NumericFamily, updated: Array) -> Array:
        """Return a family's best parameters for updated statistics."""
        if self.belief is None:
            return family.maximum_likelihood(updated)
        return family.peak(updated, self.belief.surplus)

    def _solve(self, chain: list[int], counts: Array, out: Array) -> bool:
        """Put the best parameters of a chain's regressions in their places, if one factor has them all."""
        last, updated = self.dag.number(chain[-1]), [self._updated(counts, i) for i in chain]
        surplus = None if self.belief is None else self.belief.surplus
        best = last.best_in_turn(updated[:-1], updated[-1], surplus)
        for i, own in zip(chain, best or (), strict=False):
            self.dag.layout.records(out, i)[:] = own
        return best is not None

    def _with_implied(self, counts: Array, points: Array) -> Array:
        """Return the points with the best implied tables for these counts; (starts, size)."""
        layout, precision = self.dag.layout, self.belief.weight_sd**-2 if self.belief else 0.0
        for alike in self._alike:
            mine = np.stack([layout.states_first(counts, i) for i, _ in alike])
            for (i, family), weights in zip(alike, alike[0][1].best(mine, precision), strict=True):
                layout.states_first(points, i)[:] = family.table(weights)
        return points

    def project(self, points: Array) -> Array:
        """Return the projection onto admissible parameters: tables sum to one, known ones are as given."""
        layout, learned = self.dag.layout, np.empty(points.shape)
        tables, room = self._tables
        if layout.numeric or not normalize(points, tables, np.empty(room), learned):
            learned = layout.normalize(points)
        return learned if self._learns_all else np.where(np.isnan(self.known), learned, self.known)

    def unfold(self, points: Array) -> tuple[Array, Array]:
        """Return free coordinates, and how much each matters; (starts, size) each."""
        layout, coordinates, weights = self.dag.layout, points.copy(), points.copy()
        coordinates[..., : layout.tables] = logs(points[..., : layout.tables])
        weights[..., layout.tables :] = 0.0
        for i in learned(self.dag, self.known):
            each = self.dag.number(i).unfold(layout.records(points, i))
            layout.records(coordinates, i)[:], layout.records(weights, i)[:] = each
        return coordinates, weights

    def fold(self, coordinates: Array) -> Array:
        """Return the admissible parameters with such coordinates; (starts, size)."""
        layout, points = self.dag.layout, coordinates.copy()
        points[..., : layout.tables] = np.exp(coordinates[..., : layout.tables])
        for i in learned(self.dag, self.known):
            at = layout.records(coordinates, i)
            layout.records(points, i)[:] = self.dag.number(i).fold(at, self.belief is None)
        return self.project(points)

    @cached_property
    def _chains(self) -> list[list[int]]:
        """Chains of at least `TOGETHER` regressions that are learned.

        In a chain each is regressed on the one before it and on all that one is, as in a full covariance.
        """
        layout, chains = self.dag.layout, dict[Any, list[int]]()
        linear = [i for i in learned(self.dag, self.known) if self.dag.number(i).linear]
        for i in sorted(linear, key=lambda i: len(layout.regressors[i])):
            given, slopes = layout.members[i][1:], layout.regressors[i]
            chains[given, (*slopes, i)] = [*chains.pop((given, slopes), []), i]
        return [chain for chain in chains.values() if len(chain) >= TOGETHER]

    @cached_property
    def _kinds(self) -> list[tuple[NumericFamily, list[int]]]:
        """The families of numbers that are learned; regressions on as many parents are worked on together."""
        out: dict[object, list[int]] = {}
        for i in learned(self.dag, self.known):
            family = self.dag.number(i)
            out.setdefault((type(family), family.parameters) if family.linear else i, []).append(i)
        return [(self.dag.number(members[0]), members) for members in out.values()]

    @cached_property
    def _alike(self) -> list[list[tuple[int, ImpliedTable]]]:
        """The implied tables that are learned; those of one shape are worked on together."""
        out: dict[object, list[tuple[int, ImpliedTable]]] = {}
        for i, family in self.dag.implied:
            if np.isnan(self.known[self.dag.layout.start[i]]):
                out.setdefault((type(family), family.variable.size, family.sizes), []).append((i, family))
        return list(out.values())

    @cached_property
    def _counted(self) -> Integers:
        """Where the prior has something to say."""
        return np.flatnonzero(self.pseudo)

    @cached_property
    def _tables(self) -> tuple[Integers, int]:
        """Start, states and configurations of each table, and the most configurations; (tables, 3)."""
        layout = self.dag.layout
        tables = [(layout.start[i], layout.states[i], layout.configurations[i]) for i in layout.blocks]
        found = np.array(tables, dtype=np.int64).reshape(-1, 3)
        return found, int(found[:, 2].max(initial=0))

    @cached_property
    def _learns_all(self) -> bool:
        return bool(np.isnan(self.known).all())


def maximize_rule(
    belief: Belief, method: Literal["ml", "map"], basis: Basis, fixed: Mapping[str, ArrayLike] | None
) -> Maximize:
    """Return the step for this method, prior belief and basis.

    In the softmax basis the density of θ carries the Jacobian Π θ of the map from free coordinates,
    which turns the exponent α − 1 of the Dirichlet into α. The coordinates of sigmoid families are their
    weights in either basis. Families in ``fixed`` have no prior.
    """
    if basis not in ("softmax", "probability"):
        raise ParameterError(f"basis must be 'softmax' or 'probability', not {basis!r}")
    dag = belief.dag
    known = known_parameters(dag, fixed)
    if method == "ml":
        return Maximize(dag, np.zeros(dag.layout.tables), 0.0, known)
    alpha, free = belief.alpha[: dag.layout.tables], np.isnan(known)[: dag.layout.tables]
    for i, _ in dag.implied:
        free[dag.layout.slice(i)] = False
    if basis == "probability" and np.any(alpha[free] < 1.0):
        raise ParameterError(
            "in the probability basis a Dirichlet with a hyperparameter below one peaks on the border, "
            "where the density is infinite; use basis='softmax', or a prior with every alpha at least 1"
        )
    pseudo = np.where(free, alpha - (basis == "probability"), 0.0)
    summed = dag.layout.total(alpha)[np.unique(dag.layout.group[free])]
    if pseudo.max(initial=0.0) > HEAVY and pseudo[free].min() > 0.0:
        group = np.unique(dag.layout.group[free], return_inverse=True)[1]
        constant = special.log_peak(alpha[free], group, float(basis == "probability"))
        peak = pseudo / np.where(free, dag.layout.total(pseudo)[dag.layout.group], 1.0)
        return Maximize(dag, pseudo, constant, known, belief, peak)
    constant = special.sum_log_gamma(summed) - special.sum_log_gamma(alpha[free])
    return Maximize(dag, pseudo, constant, known, belief)


def learned(dag: Dag, known: Array) -> list[int]:
    """Return the continuous variables whose parameters are not given, one for each block."""
    return [i for i in dag.layout.numeric if np.isnan(known[dag.layout.start[i]])]


def _joined(blocks: Iterable[Array]) -> Array:
    """Return configurations of several families one after the other; (..., q, own) each."""
    first, *others = blocks
    return np.concatenate([first, *others], axis=-2) if others else first


def known_parameters(dag: Dag, fixed: Mapping[str, ArrayLike] | None) -> Array:
    """Return the parameters of the families that are given, NaN for those that are learned; (size,)."""
    known = np.full(dag.layout.size, np.nan)
    for name, table in (fixed or {}).items():
        i = dag.schema.index(name)
        given, place = dag.families[i].read(table), dag.layout.slice(i)
        if not np.all(np.isnan(known[place]) | (known[place] == given)):
            raise ParameterError(f"{name} is tied to a family for which fixed gives another table")
        known[place] = given
    return known
