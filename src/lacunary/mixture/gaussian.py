"""Gaussian components: all of them as one batch of matrices.

Columns are standardised inside. A component is the root A of its density, log f = g − ½‖Az‖² with z = (1, x),
one row of A for each regression divided by its standard deviation; see `lacunary.infer.gaussian`. Expected
statistics are moment matrices Σ share · E[z zᵀ], from which the statistics of any structure are read off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from operator import methodcaller
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.data.parts import Parts
from lacunary.data.schema import Schema
from lacunary.data.source import Source, in_tree
from lacunary.data.table import Table
from lacunary.family.regression import VARIANCE_FLOOR
from lacunary.infer.gaussian import Forms, GaussianRows
from lacunary.infer.network import Network
from lacunary.infer.scale import Scale, check_squares
from lacunary.kernels.regressions import Families, log_normalizers, put_inverses, put_modes, squared
from lacunary.maths import regression
from lacunary.maths.moments import factor
from lacunary.mixture.sparse import SparseRows, is_sparse
from lacunary.model.dag import Dag
from lacunary.structure.cache import Cache, Room
from lacunary.structure.gaussian import BGe, GaussianBIC, MarginalRegressions, Normal
from lacunary.structure.networks import standard
from lacunary.structure.score import FamilyScore, Structure, total
from lacunary.structure.shares import Owners, Shares, cut, everything, summed, weights_of
from lacunary.structure.walk import read_structure

__all__ = ["Gaussian", "Gaussians", "is_complete"]

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Solve = Callable[[Array, Array], Array]
"""From moments (..., m + 2, m + 2) and degrees of freedom (...,) to parameters (..., m + 2)."""

LOG_2PI = float(np.log(2.0 * np.pi))

KEPT = 8
"""Structures for which the fit to all rows is kept."""

RECENT = 8
"""Structures of all components that are kept as kernels take them."""

FAMILIES = 50_000
"""Families whose scores are kept, of all components together."""

POOLED, TOLERANCE = 200, 1e-6
"""The fit to all rows, around which starts are drawn: most steps, and the change at which it ends."""


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Components with their structures.

    Attributes
    ----------
    structures
        One for each component.
    root
        A, in standardised columns; (components, n, n + 1).
    narrow
        Whether statistics are asked of them for the families of these structures alone.
    """

    structures: tuple[Structure, ...]
    root: Array
    narrow: bool = False

    @cached_property
    def precision(self) -> Array:
        """Root of the precision of each regression's noise, the diagonal of A; (components, n)."""
        return np.diagonal(self.root[:, :, 1:], axis1=1, axis2=2)

    @property
    def families(self) -> Families:
        """All regressions as kernels take them."""
        return _drawn_up(self.structures).families

    @cached_property
    def sparse(self) -> bool:
        """Whether there are few arcs."""
        return is_sparse(self.families, *self.root.shape[:2])

    @cached_property
    def forms(self) -> Forms:
        """The densities as the rows' engine takes them."""
        constant = np.log(self.precision).sum(axis=1) - 0.5 * self.root.shape[1] * LOG_2PI
        return Forms(self.root, constant)


class Seen:
    """Rows in standardised columns, whose log-densities are those of the data's units."""

    def __init__(self, scale: Scale, table: Table) -> None:
        standard = scale.table(table).reals
        self.rows = GaussianRows(standard)
        whole = self.rows.complete and len(standard)
        self.sparse = SparseRows(self.rows) if whole else None
        #: What the units of the observed cells add to a row's log-density; (rows,).
        self.units = -(~np.isnan(standard) @ np.log(scale.spread))

    def log_evidence(self, models: Gaussians) -> Array:
        """Return the log-density of each row's observed cells; (rows, components)."""
        if self.sparse and models.sparse:
            logs = self.sparse.log_densities(models.forms, models.families)
        else:
            logs = self.rows.log_evidence(models.forms)
        logs += self.units[:, None]
        return logs

    def statistics(self, models: Gaussians, weights: Array) -> Array:
        """Return Σ over rows of weight · E[z zᵀ | observed cells]; (components, n + 1, n + 1).

        Narrow models of few arcs have zeros for products of two variables that are not of one family.
        """
        if self.sparse and models.narrow and models.sparse:
            return self.sparse.moments(weights, models.families)
        return self.rows.moments(models.forms, weights)

    def expected(
        self, models: Gaussians, log_weights: Array, weights: Array
    ) -> tuple[Array, Array, Array] | None:
        """Return shares, rows' log-densities, and `statistics` for both, where one pass has them."""
        if not (self.sparse and models.narrow and _drawn_up(models.structures).alone):
            return None
        shares, logs, sums = self.sparse.expected(models.forms, log_weights, weights)
        return shares, logs + self.units, sums

    def completed(self, models: Gaussians, owner: Index, rng: np.random.Generator) -> Array:
        """Return the moments of rows whose holes are drawn, each row from the component that owns it."""
        rows, conditioned = self.rows, self.rows.under(models.forms)
        mine = owner[rows.order]
        out = np.zeros((len(models.root), models.root.shape[2], models.root.shape[2]))
        for c in range(len(out)):
            for number, pattern in enumerate(rows.patterns):
                where = pattern.first + np.flatnonzero(mine[pattern.first : pattern.last] == c)
                z = rows.sorted[where].copy()
                if len(pattern.holes) and len(where):
                    slope, spread, _ = conditioned.given(number, c)
                    z[:, pattern.holes] = z @ slope.T + rng.standard_normal((len(z), len(spread))) @ spread.T
                out[c] += z.T @ z
        return out


def _completed(models: Gaussians, seen: Seen, owner: Index, seed: Any) -> Array:
    return seen.completed(models, owner, np.random.default_rng(seed))


class Gaussian:
    """The engine of Gaussian components on the rows of one source.

    Parameters
    ----------
    source
        Rows, aligned with the components' schema: continuous variables, holes allowed.
    prior
        The belief over the complete model, or the prior that gives it; its regressions are those of every
        structure (parameter modularity). Default: worth one row, about the columns' means and variances.
    criterion
        How families are scored on expected statistics: by their evidence, or by BIC.
    """

    def __init__(
        self, source: Source, prior: Normal | None = None, criterion: Literal["bd", "bic"] = "bd"
    ) -> None:
        self.source, self.schema, self.criterion = source, source.schema, criterion
        #: How often each row counts; (rows,).
        self.row_weights = weights_of(source)
        check_squares(source)
        self.scale, inside = standard(source, prior)
        self.belief = inside.about
        self._prior = self.belief.moments
        self._regressed = MarginalRegressions(self.belief)
        self.seen: Parts[Seen] = source.laid(partial(Seen, self.scale))
        self._scored: tuple[Array | None, list[Cache]] = (None, [])
        self._room = Room(self.schema)
        self._normalized: tuple[tuple[Structure, ...], float] = ((), 0.0)
        self._moments: dict[Structure, Array] = {}

    @property
    def threaded(self) -> bool:
        """Whether several threads may ask at once: rows that are made when asked for are made once."""
        return self.seen.near

    def draw(self, structures: Sequence[Structure], ess: float, rng: np.random.Generator) -> Gaussians:
        """Return components drawn around the fit of one to all rows (TMCH98 section 5).

        Each regression is drawn from the conjugate belief worth ``ess`` rows that peaks at the fit.
        """
        moment = self._pooled(structures[0]) + self.belief.moments
        divisor = moment[0, 0] - self.belief.nu + self.belief.alpha - self.belief.size
        around = np.repeat(moment[None] * (ess / divisor), len(structures), axis=0)
        return self._regressions(around, structures, lambda part, dof: regression.draw(part, dof, rng), ess)

    def parts(self, structures: Sequence[Structure]) -> Parts[Owners]:
        """Return the rows, as components see them, part by part."""
        return self.seen

    def log_evidence(self, models: Gaussians) -> Array:
        """Return the log-density of each row's observed cells, in the data's units; (rows, components)."""
        return np.concatenate(self.seen.each(methodcaller("log_evidence", models)))

    def others(self, table: Table) -> Seen:
        """Return other rows, as these components see them."""
        return Seen(self.scale, table)

    def statistics(self, models: Gaussians, shares: Parts[Shares]) -> Array:
        """Return expected moments of the complete model; (components, n + 1, n + 1)."""
        return summed(self.seen, models, shares)

    def expected(self, models: Gaussians, sums: Array, shares: Parts[Shares]) -> Array:
        """Return expected moments, which are sums over rows."""
        return sums

    def scaled(self, statistics: Array, part: float, shares: Parts[Shares]) -> Array:
        """Return this part of moments."""
        return part * statistics

    def narrowed(self, models: Gaussians) -> Gaussians:
        """Return the same models, of which only their own families' statistics are wanted."""
        return replace(models, narrow=True)

    def maximize(self, statistics: Array, structures: Sequence[Structure]) -> Gaussians:
        """Return the regressions at the mode; with α = ν + n their divisor is N + ν."""
        dof = statistics[:, 0, 0] + self.belief.alpha - self.belief.size
        moment = statistics + self._prior
        shape = _drawn_up(tuple(structures))
        if shape.complete and np.all(dof > 0):
            return self._complete(moment, structures, dof)
        root = np.zeros((len(structures), len(self.schema), len(self.schema) + 1))
        if np.all(dof > 0) and put_modes(moment, dof, shape.families, np.empty(shape.most**2), root):
            return Gaussians(tuple(structures), root)
        return self._regressions(moment, structures, regression.peak, dof)

    def _complete(self, moment: Array, structures: Sequence[Structure], dof: Array) -> Gaussians:
        """Return the mode where every variable has all before it as parents: one factor has all regressions.

        Row i of the inverse of the Cholesky factor is 1/s times regression i's contrast; σ² = s²/dof.
        """
        lower = factor(moment)
        inverse = np.zeros_like(lower)
        put_inverses(lower, inverse)
        root = inverse[:, 1:] * np.sqrt(dof)[:, None, None]
        return Gaussians(tuple(structures), root)

    def sample(
        self, statistics: Array, structures: Sequence[Structure], rng: np.random.Generator
    ) -> Gaussians:
        """Return regressions drawn from their posterior given the statistics of complete rows."""
        dof = statistics[:, 0, 0] + self.belief.alpha - self.belief.size
        moment = statistics + self.belief.moments
        return self._regressions(moment, structures, lambda part, dofs: regression.draw(part, dofs, rng), dof)

    def completed(self, models: Gaussians, owner: Index, rng: np.random.Generator) -> Array:
        """Return the moments of rows whose holes are drawn, each row from the component that owns it.

        ``owner`` is −1 for rows that no component owns; (rows,). The moments are (components, n + 1, n + 1).
        """
        many = len(self.seen)
        seeds = [rng] if many == 1 else [int(rng.integers(2**63)) for _ in range(many)]
        return in_tree(self.seen.each(partial(_completed, models), cut(owner, self.row_weights), seeds))

    def log_prior(self, models: Gaussians) -> float:
        """Return the log prior density, in the coordinates (intercept, coefficients/σ², 1/σ²)."""
        fit = self.fit(self._prior[None], models)
        flat = (self.belief.alpha - self.belief.size - self.belief.nu) * np.log(models.precision).sum()
        volume = 0.5 * self.belief.nu * models.precision.size * LOG_2PI
        return float(fit.sum() + flat + volume - self._log_normalizers(models.structures))

    def scores(self, statistics: Array) -> Sequence[FamilyScore]:
        """Return BGe, or BIC, of each component's expected data, in standardised units.

        The last ones are kept, with what they said: a search is followed by a finer one, and by the sum.
        """
        kept = self._scored  # another thread may ask for others meanwhile
        if kept[0] is not statistics:
            bic, most = self.criterion == "bic", FAMILIES // len(statistics)
            each = [*map(GaussianBIC, statistics)] if bic else BGe.each(statistics, self.belief)
            self._scored = kept = statistics, [Cache(score, most, self._room) for score in each]
        return kept[1]

    def flat(self, models: Gaussians) -> bool:
        """Whether some regression's variance is at most the smallest that maximum likelihood may take."""
        return bool(np.any(models.precision**2 * VARIANCE_FLOOR >= 1.0))

    def log_complete_evidence(self, statistics: Array, structures: Sequence[Structure]) -> float:
        """Return the evidence of all components' expected data, in standardised units."""
        own = tuple(structures)
        count, known = statistics[:, 0, 0], None
        if self.criterion == "bd":
            self._regressed.check(statistics)
            known = _normalized(statistics + self._prior, self.belief.dof(0) + count, own)
        if known is None:
            return sum(total(score, s) for score, s in zip(self.scores(statistics), own, strict=True))
        return known - self._log_normalizers(own) - 0.5 * len(self.schema) * float(count.sum()) * LOG_2PI

    def fit(self, statistics: Array, models: Gaussians) -> Array:
        """Return N g − ½ tr(A T Aᵀ), T the expected moments: in standardised units; (components,)."""
        squares = np.zeros(len(models.root))
        if models.sparse:
            squared(statistics, models.root, models.families, squares)
        else:
            squares += ((models.root @ statistics) * models.root).sum(axis=(1, 2))
        return np.asarray(statistics[:, 0, 0] * models.forms.constant - 0.5 * squares)

    def dimension(self, structures: Sequence[Structure]) -> int:
        """Return how many intercepts, coefficients and variances there are."""
        return sum(len(parents) + 2 for structure in structures for parents in structure)

    def keep(self, models: Gaussians, which: NDArray[np.bool_]) -> Gaussians:
        """Return some of the components."""
        return Gaussians(
            tuple(s for s, k in zip(models.structures, which, strict=True) if k), models.root[which]
        )

    def encode(self, models: Gaussians) -> list[Any]:
        """Return, for each component and variable, its parents and its row of A where that is not zero."""
        return [
            [
                [list(parents), row[_members(child, parents)].tolist()]
                for child, (parents, row) in enumerate(pairs)
            ]
            for pairs in map(zip, models.structures, models.root)
        ]

    def decode(self, plain: Any) -> Gaussians:
        """Return the models that `encode` wrote."""
        n = len(self.schema)
        structures = tuple(read_structure(self.schema, [ps for ps, _ in families]) for families in plain)
        root = np.zeros((len(structures), n, n + 1))
        for c, families in enumerate(plain):
            for child, (parents, row) in enumerate(families):
                root[c, child, _members(child, parents)] = row
        models = Gaussians(structures, root)
        if not np.all(np.isfinite(root)) or not np.all(models.precision > 0):
            raise ValueError("a regression is none: its variance is not positive, or not finite")
        return models

    def networks(self, models: Gaussians) -> tuple[Network, ...]:
        """Return the components as networks, in the data's units."""
        return tuple(
            _network(self.schema, structure, self._in_units(root))
            for structure, root in zip(models.structures, models.root, strict=True)
        )

    def _pooled(self, structure: Structure) -> Array:
        """Return the moments of all rows, holes filled by the fit of one component; (n + 1, n + 1)."""
        if structure not in self._moments:
            while len(self._moments) >= KEPT:
                self._moments.pop(next(iter(self._moments)), None)  # another thread may take it out, too
            self._moments[structure] = self._worked_out(structure)
        return self._moments[structure]

    def _worked_out(self, structure: Structure) -> Array:
        rows = everything(self.row_weights)
        model = self.maximize(np.zeros((1, *self.belief.moments.shape)), [structure])
        moment = self.statistics(model, rows)
        for _ in range(POOLED if self.source.facts.holes.any() else 0):
            before, model = model, self.maximize(moment, [structure])
            moment = self.statistics(model, rows)
            if np.abs(model.root - before.root).max() < TOLERANCE * np.abs(model.root).max():
                break
        return np.asarray(moment[0])

    def _regressions(
        self, moment: Array, structures: Sequence[Structure], solve: Solve, divisor: Array | float
    ) -> Gaussians:
        """Return the components whose regressions ``solve`` gives; families of one size are solved together.

        ``divisor`` is what the mode's variance is divided by, one for each component: dof − m − 1.
        """
        n = len(self.schema)
        root = np.zeros((len(structures), n, n + 1))
        divisors = np.broadcast_to(divisor, (len(structures),))
        for component, child, members in _by_size(tuple(structures)):
            part = moment[component[:, None, None], members[:, :, None], members[:, None, :]]
            theta = solve(part, divisors[component] + members.shape[1] - 1)
            contrast = np.concatenate([-theta[:, :-1], np.ones((len(theta), 1))], axis=1)
            root[component[:, None], child[:, None], members] = contrast / np.sqrt(theta[:, -1:])
        return Gaussians(tuple(structures), root)

    def _log_normalizers(self, structures: tuple[Structure, ...]) -> float:
        """Return log Z of the prior of all regressions of all structures; kept for the last ones.

        Every step of EM asks for the same.
        """
        kept = self._normalized
        if kept[0] is not structures:
            moments, dof = np.repeat(self._prior[None], len(structures), axis=0), self.belief.dof(0)
            found = _normalized(moments, np.full(len(structures), dof), structures)
            if found is None:
                families = [(child, ps) for own in structures for child, ps in enumerate(own)]
                found = sum(float(regression.log_normalizer(*self.belief.family(*one))) for one in families)
            self._normalized = kept = structures, found
        return kept[1]

    def _in_units(self, root: Array) -> Array:
        """Return A for columns in the data's units; (n, n + 1)."""
        out = root.copy()
        out[:, 1:] /= self.scale.spread
        out[:, 0] -= out[:, 1:] @ self.scale.centre
        return out


def _normalized(moments: Array, dof: Array, structures: tuple[Structure, ...]) -> float | None:
    """Return log Z of all regressions under moments; none where a parent is redundant."""
    shape, out = _drawn_up(structures), np.zeros(len(structures))
    sound = log_normalizers(moments, dof, shape.families, np.empty(shape.most**2), out)
    return float(out.sum()) if sound else None


class _Shape(NamedTuple):
    """Structures as kernels take them.

    Attributes
    ----------
    families, most
        All families, and how many members the largest has.
    complete, alone
        Whether all structures have all arcs, and whether they have none.
    """

    families: Families
    most: int
    complete: bool
    alone: bool


_recent: tuple[tuple[tuple[Structure, ...], _Shape], ...] = ()
"""The last structures that were asked for, as they are the same ones for many steps: to compare long ones
takes longer than a step of few rows."""


def _drawn_up(structures: tuple[Structure, ...]) -> _Shape:
    """Return structures as kernels take them; the last ones are kept."""
    global _recent  # replaced as a whole: several threads may ask
    kept = _recent
    for known, shape in kept:
        if known is structures:
            return shape
    each = [(c, _members(child, ps)) for c, own in enumerate(structures) for child, ps in enumerate(own)]
    sizes = [len(members) for _, members in each]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.array([place for _, members in each for place in members], dtype=np.int64)
    families = Families(np.array([c for c, _ in each], dtype=np.int64), first, places)
    shape = _Shape(families, max(sizes), all(map(is_complete, structures)), max(sizes) == 2)
    _recent = ((structures, shape), *kept[: RECENT - 1])
    return shape


@lru_cache(maxsize=8)
def _by_size(structures: tuple[Structure, ...]) -> list[tuple[Index, Index, Index]]:
    """Return families with equally many parents: component, child, and places of (1, parents, child) in z.

    Kept, as every step of EM asks for the same.
    """
    families: dict[int, list[tuple[int, int, list[int]]]] = {}
    for component, structure in enumerate(structures):
        for child, parents in enumerate(structure):
            families.setdefault(len(parents), []).append((component, child, _members(child, parents)))
    split = [zip(*families[size], strict=True) for size in sorted(families)]
    return [(np.array(cs), np.array(children), np.array(places)) for cs, children, places in split]


def is_complete(structure: Structure) -> bool:
    """Whether every variable has all before it as parents."""
    return len(structure[-1]) == len(structure) - 1 > 0 and all(
        parents == tuple(range(child)) for child, parents in enumerate(structure)
    )


def _members(child: int, parents: Sequence[int]) -> list[int]:
    """Return the places of (1, parents, child) in z."""
    return [0, *(p + 1 for p in parents), child + 1]


def _network(schema: Schema, structure: Structure, root: Array) -> Network:
    """Return one component as a network, given A in the data's units."""
    names = schema.names
    dag = Dag(schema, tuple(tuple(names[p] for p in parents) for parents in structure))
    theta = np.empty(dag.layout.size)
    for child, parents in enumerate(structure):
        precision = root[child, child + 1]
        slopes = -root[child, [0, *(p + 1 for p in parents)]] / precision
        theta[dag.layout.slice(child)] = [*slopes, precision**-2]
    return Network(dag, theta)
