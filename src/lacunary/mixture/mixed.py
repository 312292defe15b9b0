"""Components with discrete and continuous variables, and with hidden variables of either kind.

Columns are standardised inside. Rows are swept by the engine of mixed networks (`lacunary.infer.mixed`) with
shares as row weights; statistics of families outside a component's graph are read off triples, the moments in
each discrete configuration that the rows allow (TMCH98 appendix).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table
from lacunary.errors import TableError
from lacunary.evidence.complete import complete_log_likelihood
from lacunary.evidence.exact import family_log_evidence
from lacunary.infer.completions import complete_statistics
from lacunary.infer.network import Network
from lacunary.infer.prior import Standardised, standardised
from lacunary.infer.rows import Rows
from lacunary.infer.scale import Scale
from lacunary.infer.spread import Spread
from lacunary.mixture.component import Structure
from lacunary.mixture.discrete import Discrete, Expected, Tables, kept
from lacunary.mixture.scatter import Scatter
from lacunary.structure.expected_moments import ExpectedMoments
from lacunary.structure.score import Parents, allowed_arcs

__all__ = ["Mixed", "Moments"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """What one component expects its share of the rows to hold; families of its own graph are swept.

    It is the score of these families as well, in standardised units: what is asked of the component's own
    graph needs no triples, which many missing states would make too many.

    Attributes
    ----------
    engine, structure, theta
        The component.
    weights
        Its share in each row, times the row's weight; (rows,).
    """

    engine: Mixed
    structure: Structure
    theta: Array
    weights: Array

    @cached_property
    def own(self) -> Array:
        """Expected statistics of the component's own families, in the places of its layout."""
        prepared = self.engine.laid(self.structure).weighed(self.weights)
        return np.asarray(prepared.expect(self.theta[None]).counts[0])

    @cached_property
    def all(self) -> ExpectedMoments:
        """The evidence of expected moments, for any family."""
        seen = self.engine.spread.under(self.engine.dag(self.structure), self.theta)
        return ExpectedMoments(self.engine.schema, seen.triples(self.weights), "bd", self.engine.normal)

    @property
    def score(self) -> Moments:
        """The evidence of families."""
        return self

    def of(self, structure: Structure) -> Array:
        """Return the expected statistics of a structure's families, in the places of its layout."""
        if structure == self.structure:
            return self.own
        return self.all.statistics(self.engine.dag(structure))

    @property
    def variables(self) -> int:
        """How many variables there are."""
        return len(self.structure)

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Which arcs can be, ``[parent, child]``; (n, n)."""
        return allowed_arcs(self.engine.schema)

    @cached_property
    def _families(self) -> Array:
        dag = self.engine.dag(self.structure)
        return family_log_evidence(self.engine.prior(dag), self.own)

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        if parents == self.structure[child]:
            return float(self._families[child])
        return self.all.family(child, parents)

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        return self.all.toggled(child, parents)


@dataclass(frozen=True, eq=False)
class _Whole:
    """Rows without holes, as one component owns them."""

    engine: Mixed
    codes: NDArray[np.int64]
    reals: Array
    weights: Array

    def of(self, structure: Structure) -> Array:
        return complete_statistics(self.engine.dag(structure), self.codes, self.reals, self.weights)


class Mixed(Discrete):
    """The engine of components with variables of any kind on one table.

    Parameters
    ----------
    table
        Rows, aligned with the components' schema; holes and hidden variables allowed.
    prior
        A `NormalWishart` or a rule for tables; by default worth one row, tables by ``bdeu(1)``.
    scale
        How columns are standardised, by default as they are in the table; the prior is then standardised.
    """

    def __init__(self, table: Table, prior: Any = None, scale: Scale | None = None) -> None:
        if scale is None:
            scale, prior = _standard(table, prior)
        super().__init__(scale.table(table), prior)
        self.scale, self.normal = scale, prior

    @cached_property
    def spread(self) -> Spread:
        """The rows with every discrete configuration they allow."""
        return Spread(self.table)

    @cached_property
    def units(self) -> Array:
        """What the units of the observed cells add to a distinct row's log-density; (distinct rows,)."""
        seen = ~np.isnan(self.table.reals[self.table.distinct.first])
        return np.asarray(-(seen @ np.log(self.scale.spread[: seen.shape[1]])))

    @cached_property
    def _scatter(self) -> Scatter:
        return Scatter(self.table, self.normal)

    @property
    def start(self) -> Structure:
        """An arc from each hidden variable to every other that may have it (TMCH98 section 5)."""
        hidden = np.array([variable.hidden for variable in self.schema])
        arcs = allowed_arcs(self.schema) & hidden[:, None] & ~hidden[None, :]
        return tuple(tuple(map(int, np.flatnonzero(column))) for column in arcs.T)

    def draw(self, structures: Sequence[Structure], ess: float, rng: np.random.Generator) -> Tables:
        """Return components drawn around the fit of one without hidden variables to all rows."""
        thetas = [self._scatter.draw(self.dag(structure), ess, rng) for structure in structures]
        return Tables(tuple(structures), tuple(thetas))

    def statistics(self, models: Tables, shares: Array) -> list[Moments]:
        """Return what each component expects its rows to hold."""
        weights = (shares * self.table.weights[:, None]).T
        return [
            Moments(self, s, t, np.ascontiguousarray(w))
            for s, t, w in zip(models.structures, models.thetas, weights, strict=True)
        ]

    def sample(
        self, statistics: Sequence[Expected], structures: Sequence[Structure], rng: np.random.Generator
    ) -> Tables:
        """Return parameters drawn from their posterior given the statistics of complete rows."""
        thetas = []
        for counts, structure in zip(statistics, structures, strict=True):
            belief, layout = self.prior(self.dag(structure)), self.dag(structure).layout
            after, theta = belief.alpha + counts.of(structure), np.empty(layout.size)
            theta[: layout.tables] = rng.standard_gamma(after[: layout.tables])
            for i, family in belief.dag.numeric:
                layout.records(theta, i)[:] = family.draw(layout.statistics(after, i), belief.surplus, rng)
            thetas.append(layout.normalize(theta))
        return Tables(tuple(structures), tuple(thetas))

    def completed(self, models: Tables, owner: NDArray[np.int64], rng: np.random.Generator) -> list[Any]:
        """Return the statistics of rows with holes drawn, each from the component that owns it."""
        out = []
        for c, (structure, theta) in enumerate(zip(models.structures, models.thetas, strict=True)):
            mine = np.flatnonzero(owner == c)
            codes, reals = self.spread.under(self.dag(structure), theta).draw(mine, rng)
            out.append(_Whole(self, codes, reals, self.table.weights[mine]))
        return out

    def others(self, table: Table) -> Mixed:
        """Return other rows, as these components see them."""
        return Mixed(table, self.prior, self.scale)

    def fit(self, statistics: Sequence[Expected], models: Tables) -> Array:
        """Return log p(expected data | parameters), in standardised units; (components,)."""
        triples = zip(statistics, models.structures, models.thetas, strict=True)
        return np.array([complete_log_likelihood(self.dag(s), t, counts.of(s)) for counts, s, t in triples])

    def networks(self, models: Tables) -> tuple[Network, ...]:
        """Return the components as networks, in the data's units."""
        pairs = zip(models.structures, models.thetas, strict=True)
        return tuple(Network(self.dag(s), self.scale.outward(self.dag(s), theta)) for s, theta in pairs)

    def laid(self, structure: Structure) -> Rows:
        """Return the table laid out for a structure; few are kept."""
        return kept(self._laid, structure, lambda: self.scale.prepare(self.dag(structure), self.table))


def _standard(table: Table, prior: Any) -> tuple[Scale, Standardised]:
    """Return how a table's columns are standardised, and the prior about them."""
    for place, variable in enumerate(table.schema):
        if not variable.hidden and table.holes[:, place].all():
            raise TableError(f"nothing is observed of {variable.name}; leave the column out")
    scale = Scale.of(table)
    where = [i for i, variable in enumerate(table.schema) if not variable.discrete]
    names = [table.schema.names[i] for i in where]
    return scale, standardised(prior, names, *scale.of_columns(where))
