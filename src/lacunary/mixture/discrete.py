"""Discrete components: exact inference by junction trees, statistics of any family by islands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from lacunary.data.table import Table
from lacunary.infer.belief import BDeu, Prior
from lacunary.infer.islands import Islands
from lacunary.infer.network import Network
from lacunary.infer.posterior import filled
from lacunary.infer.rows import Rows, prepare
from lacunary.learn.around import Around
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.mixture.component import Structure, read_structure
from lacunary.model.dag import Dag
from lacunary.structure.expected import ExpectedCounts
from lacunary.structure.score import FamilyScore

__all__ = ["Counts", "Discrete", "Expected", "Tables", "kept"]

Array = NDArray[np.float64]
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Tables:
    """Components with their structures and the flat vectors of their parameters."""

    structures: tuple[Structure, ...]
    thetas: tuple[Array, ...]


class Expected(Protocol):
    """Statistics of one component's rows, expected or of rows without holes."""

    def of(self, structure: Structure) -> Array:
        """Return those of a structure's families, in the places of its layout."""
        ...


@dataclass(frozen=True, eq=False)
class Counts:
    """What one component expects its share of the rows to hold, from which any family can be counted.

    Attributes
    ----------
    engine, structure, theta
        The component.
    weights
        Its share in each row, times the row's weight; (rows,).
    """

    engine: Discrete
    structure: Structure
    theta: Array
    weights: Array

    @cached_property
    def own(self) -> Array:
        """Expected counts of the component's own families, in the places of its layout."""
        prepared = self.engine.laid(self.structure).weighed(self.weights)
        return np.asarray(prepared.expect(self.theta[None]).counts[0])

    @cached_property
    def score(self) -> ExpectedCounts:
        """The evidence of expected counts, for any family."""
        rows = self.engine.laid(self.structure).weighed(self.weights)
        return ExpectedCounts(cast(Islands, rows.families(self.theta)), "bd", self.engine.prior)

    def of(self, structure: Structure) -> Array:
        """Return the expected counts of a structure's families, in the places of its layout."""
        if structure == self.structure:
            return self.own
        layout = self.engine.dag(structure).layout
        counts = np.zeros(layout.size)
        for child, parents in enumerate(structure):
            counts[layout.slice(child)] = layout.flat(self.score.counts(child, parents))
        return counts


class Discrete:
    """The engine of discrete components on one table.

    Parameters
    ----------
    table
        Rows, aligned with the components' schema; holes and hidden variables allowed.
    prior
        The rule for the components' hyperparameters, by default ``bdeu(1)``.
    """

    def __init__(self, table: Table, prior: Prior | None = None) -> None:
        self.table, self.schema = table, table.schema
        self.prior: Prior = BDeu(1.0) if prior is None else prior
        self._dags: dict[Structure, Dag] = {}
        self._rules: dict[Structure, Maximize] = {}
        self._laid: dict[Structure, Rows] = {}

    def __getstate__(self) -> dict[str, Any]:
        # The table is copied and pickled once; what it is laid out as can be worked out again.
        return {**self.__dict__, "_laid": {}, "_charted": {}}

    @property
    def start(self) -> Structure:
        """An arc from each hidden variable to every other (TMCH98 section 5)."""
        hidden = tuple(i for i, variable in enumerate(self.schema) if variable.hidden)
        return tuple(() if variable.hidden else hidden for variable in self.schema)

    def draw(self, structures: Sequence[Structure], ess: float, rng: np.random.Generator) -> Tables:
        """Return components drawn around the fit of one without hidden variables to all rows."""
        thetas = [
            Around(1, ess).points(self.prior(self.dag(s)), self.prior, self.table, rng)[0] for s in structures
        ]
        return Tables(tuple(structures), tuple(thetas))

    def log_evidence(self, models: Tables) -> Array:
        """Return log p(observed cells | component) for each row; (rows, components)."""
        return np.column_stack(
            [
                self.laid(s).log_evidence(t[None])[0]
                for s, t in zip(models.structures, models.thetas, strict=True)
            ]
        )

    def statistics(self, models: Tables, shares: Array) -> Sequence[Expected]:
        """Return what each component expects its rows to hold."""
        weights = (shares * self.table.weights[:, None]).T
        return [
            Counts(self, s, t, np.ascontiguousarray(w))
            for s, t, w in zip(models.structures, models.thetas, weights, strict=True)
        ]

    def maximize(self, statistics: Sequence[Expected], structures: Sequence[Structure]) -> Tables:
        """Return the mode in the softmax basis: θ ∝ expected count + α."""
        thetas = [
            self._rule(structure).improve(counts.of(structure)[None])[0]
            for counts, structure in zip(statistics, structures, strict=True)
        ]
        return Tables(tuple(structures), tuple(thetas))

    def sample(
        self, statistics: Sequence[Expected], structures: Sequence[Structure], rng: np.random.Generator
    ) -> Tables:
        """Return tables drawn from their Dirichlet posterior given the counts of complete rows."""
        thetas = []
        for counts, structure in zip(statistics, structures, strict=True):
            dag = self.dag(structure)
            draws = rng.standard_gamma(self.prior(dag).alpha + counts.of(structure))
            thetas.append(dag.layout.normalize(draws))
        return Tables(tuple(structures), tuple(thetas))

    def completed(self, models: Tables, owner: NDArray[np.int64], rng: np.random.Generator) -> list[Any]:
        """Return the statistics of rows with holes drawn, each from the component that owns it."""
        out = []
        for c, (structure, theta) in enumerate(zip(models.structures, models.thetas, strict=True)):
            mine = self.table.take(np.flatnonzero(owner == c))
            codes = filled(self.dag(structure), theta, mine.codes, seed=int(rng.integers(2**63)))
            whole = Discrete(replace(mine, codes=codes), self.prior)
            out.append(Counts(whole, structure, theta, mine.weights))
        return out

    def others(self, table: Table) -> Discrete:
        """Return other rows, as these components see them."""
        return Discrete(table, self.prior)

    def log_prior(self, models: Tables) -> float:
        """Return the log prior density in the softmax basis."""
        return sum(
            float(self._rule(s).log_prior(t[None])[0])
            for s, t in zip(models.structures, models.thetas, strict=True)
        )

    def scores(self, statistics: Sequence[Any]) -> list[FamilyScore]:
        """Return the evidence of each component's expected counts."""
        return [counts.score for counts in statistics]

    def fit(self, statistics: Sequence[Expected], models: Tables) -> Array:
        """Return Σ expected count · log θ of each component; (components,)."""
        return np.array(
            [
                xlogy(counts.of(structure), theta).sum()
                for counts, structure, theta in zip(statistics, models.structures, models.thetas, strict=True)
            ]
        )

    def dimension(self, structures: Sequence[Structure]) -> int:
        """Return the number of free parameters of all components."""
        return sum(self.dag(structure).layout.free for structure in structures)

    def keep(self, models: Tables, which: NDArray[np.bool_]) -> Tables:
        """Return some of the components."""
        kept = np.flatnonzero(which)
        return Tables(tuple(models.structures[c] for c in kept), tuple(models.thetas[c] for c in kept))

    def encode(self, models: Tables) -> list[Any]:
        """Return structures and parameters as lists."""
        return [
            [list(map(list, s)), t.tolist()] for s, t in zip(models.structures, models.thetas, strict=True)
        ]

    def decode(self, plain: Any) -> Tables:
        """Return the models that `encode` wrote."""
        structures = tuple(read_structure(self.schema, graph) for graph, _ in plain)
        thetas = tuple(np.array(theta, dtype=np.float64) for _, theta in plain)
        for structure, theta in zip(structures, thetas, strict=True):
            Network(self.dag(structure), theta.copy())  # refuses vectors of another size
        return Tables(structures, thetas)

    def networks(self, models: Tables) -> tuple[Network, ...]:
        """Return the components as networks."""
        pairs = zip(models.structures, models.thetas, strict=True)
        return tuple(Network(self.dag(structure), theta.copy()) for structure, theta in pairs)

    def dag(self, structure: Structure) -> Dag:
        """Return a structure as a graph."""
        if structure not in self._dags:
            names = self.schema.names
            self._dags[structure] = Dag(self.schema, tuple(tuple(names[p] for p in ps) for ps in structure))
        return self._dags[structure]

    def laid(self, structure: Structure) -> Rows:
        """Return the table laid out for a structure; few are kept."""
        return kept(self._laid, structure, lambda: prepare(self.dag(structure), self.table))

    def _rule(self, structure: Structure) -> Maximize:
        return kept(
            self._rules,
            structure,
            lambda: maximize_rule(self.prior(self.dag(structure)), "map", "softmax", None),
        )


KEPT = 32
"""Structures whose layouts are kept: more than components, as a search changes them one after the other."""


def kept(store: dict[Structure, Value], structure: Structure, make: Callable[[], Value]) -> Value:
    """Return what belongs to a structure, made if it is not kept; the oldest makes room."""
    if structure not in store:
        while len(store) >= KEPT:
            del store[next(iter(store))]
        store[structure] = make()
    return store[structure]
