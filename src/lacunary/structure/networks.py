"""Networks over one table while they are learned: what they expect of its rows, and what is best given that.

This is the only module of `structure` and `mixture` that lays rows out for networks: whoever learns a graph
asks `Networks` for log-densities of rows, for `Expected` statistics of any family, for the best parameters
given these, and for starts. Columns are standardised inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import methodcaller
from typing import Any, Literal, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lacunary.data.parts import Parts, itself
from lacunary.data.source import Source, in_tree, row_weights
from lacunary.data.table import Table
from lacunary.errors import TableError, TooWideError
from lacunary.evidence.exact import complete_log_evidence, complete_log_likelihood
from lacunary.exactness import exact_only
from lacunary.family.regression import VARIANCE_FLOOR
from lacunary.infer.belief import BDeu, Belief
from lacunary.infer.complete import completed
from lacunary.infer.completions import complete_statistics
from lacunary.infer.empirical import stated
from lacunary.infer.filled import FilledRows
from lacunary.infer.islands import Islands, IslandSum
from lacunary.infer.network import Network
from lacunary.infer.parallel import in_parallel, threads
from lacunary.infer.partitioned import in_parts
from lacunary.infer.posterior import filled
from lacunary.infer.prior import standardised
from lacunary.infer.rows import Rows
from lacunary.infer.scale import Scale
from lacunary.infer.spread import Spread, Triples
from lacunary.learn.around import Around, Fitted
from lacunary.learn.em import Maximize, maximize_rule
from lacunary.learn.seed import LOADING
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.model.dag import Dag
from lacunary.structure.expected import ExpectedCounts
from lacunary.structure.expected_moments import moment_score
from lacunary.structure.score import FamilyScore, Structure, total
from lacunary.structure.shares import ByRow, Owners, Shares, everything, summed, weights_of
from lacunary.structure.walk import dag_of, read_structure

__all__ = ["Criterion", "Expected", "NetworkRows", "Networks", "Statistics", "Vectors", "standard"]

Key = TypeVar("Key")
Value = TypeVar("Value")
CELL = 1e-9
"""Seconds that a cell of a row takes under a network, at least."""

Criterion = Literal["bd", "bic"]
"""How families are scored on expected statistics: by their evidence under the prior, or by BIC."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """Networks: the graph of each, and the flat vector of its parameters, in standardised columns."""

    structures: tuple[Structure, ...]
    thetas: tuple[Array, ...]


class Statistics(Protocol):
    """Statistics of one network's rows, expected or of rows without holes."""

    def of(self, structure: Structure) -> Array:
        """Return those of a graph's families, in the places of its layout."""
        ...


@dataclass(frozen=True, eq=False)
class Expected:
    """What one network expects rows to hold: statistics of any family, and their scores.

    Attributes
    ----------
    networks, structure, theta
        The network.
    shares, column
        How far rows belong to it, and which of the networks there it is; by default rows count as the table
        says.
    swept
        Expected statistics of its own families, if they are known.
    """

    networks: Networks
    structure: Structure
    theta: Array
    shares: Parts[Shares] | None = None
    column: int = 0
    swept: Array | None = None
    _ahead: dict[Structure, Array] = field(default_factory=dict, repr=False)

    @cached_property
    def own(self) -> Array:
        """Expected statistics of the network's own families, in the places of its layout."""
        if self.swept is not None:
            return self.swept
        rows = self.networks.rows(self.structure)
        if self.shares is None:
            return np.asarray(rows.expect(self.theta[None]).counts[0])
        return in_tree(in_parts(rows).each(partial(_swept, self.theta, self.column), self.shares))

    @cached_property
    def families(self) -> Triples | Islands | IslandSum:
        """What the expected statistics of any family are read off."""
        return self.networks.families(self.structure, self.theta, self.shares, self.column)

    @cached_property
    def score(self) -> FamilyScore:
        """The score of any family on expected statistics (TMCH98 eq. 12–14)."""
        criterion, prior = self.networks.criterion, self.networks.prior
        if isinstance(self.families, Triples):
            return moment_score(self.networks.schema, self.families, criterion, prior)
        return ExpectedCounts(self.families, criterion, prior)

    def of(self, structure: Structure) -> Array:
        """Return the expected statistics of a graph's families; those of its own graph are swept."""
        if structure == self.structure:
            return self.own
        if structure in self._ahead:
            return self._ahead[structure]
        return self.families.statistics(self.networks.dag(structure))

    def announce(self, structures: Sequence[Structure]) -> None:
        """Say which graphs' statistics will be asked for; of rows in parts they come in one pass."""
        if isinstance(self.families, IslandSum):
            self._ahead.clear()
            found = self.families.statistics_of([self.networks.dag(each) for each in structures])
            self._ahead.update(zip(structures, found, strict=True))

    def log_evidence(self, structure: Structure) -> float:
        """Return the score of a whole graph on the expected statistics."""
        if structure == self.structure and self.networks.criterion == "bd":
            return complete_log_evidence(self.networks.belief(structure), self.own)
        return total(self.score, structure)


@dataclass(frozen=True, eq=False)
class _Complete:
    """Rows without holes, as one network owns them."""

    networks: Networks
    codes: NDArray[np.signedinteger]
    reals: Array
    weights: Array

    def of(self, structure: Structure) -> Array:
        return complete_statistics(self.networks.dag(structure), self.codes, self.reals, self.weights)


class Networks:
    """Networks with variables of any kind on the rows of one table.

    Parameters
    ----------
    source
        Rows, aligned with the networks' schema; holes and hidden variables allowed.
    prior
        A `NormalWishart` or a prior of tables; by default worth one row, tables by ``bdeu(1)``.
    criterion
        How families are scored on expected statistics.
    scale
        How columns are standardised, by default by their means and deviations; with it the prior is.
    keep
        For how many graphs the rows stay laid out.
    """

    def __init__(
        self,
        source: Source,
        prior: Any = None,
        criterion: Criterion = "bd",
        scale: Scale | None = None,
        keep: int = 32,
    ) -> None:
        if scale is None:
            scale, prior = standard(source, prior)
        self.source, self.schema, self.scale = scale.source(source), source.schema, scale
        self.prior, self.criterion, self.keep_rows = prior, criterion, keep
        self.discrete = all(variable.discrete for variable in source.schema)
        self._dags: dict[Structure, Dag] = {}
        self._m_steps: dict[Structure, Maximize] = {}
        self._rows: dict[Structure, Rows] = {}
        self._parts: dict[tuple[Structure, ...], Parts[Owners]] = {}
        self._fitted: dict[Structure, Fitted] = {}

    @property
    def threaded(self) -> bool:
        """Whether several threads may ask at once: rows with continuous cells keep what was asked last."""
        return self.discrete

    def __getstate__(self) -> dict[str, Any]:
        # The rows are copied and pickled once; what they are laid out as can be worked out again.
        made: dict[str, Any] = {"_rows": {}, "_parts": {}, "_m_steps": {}, "_fitted": {}}
        return {
            name: held for name, held in self.__dict__.items() if name not in ("spread", "_filled_rows")
        } | made

    def draw(self, structures: Sequence[Structure], ess: float, rng: np.random.Generator) -> Vectors:
        """Return networks drawn around the fit of one without hidden variables to all rows."""
        around, thetas = Around(1, ess, LOADING), []
        for structure in structures:
            belief = self.belief(structure)
            make = partial(Fitted.to, belief, self.prior, self.source)
            thetas.append(around.drawn(belief, _kept(self._fitted, structure, 32, make), rng)[0])
        return Vectors(tuple(structures), tuple(thetas))

    def parts(self, structures: Sequence[Structure]) -> Parts[Owners]:
        """Return the rows, as networks with these graphs see them, part by part."""
        return _kept(self._parts, tuple(structures), 2 * threads(), partial(self._together, structures))

    def _together(self, structures: Sequence[Structure]) -> Parts[Owners]:
        first, *others = [in_parts(self.rows(structure)) for structure in structures]
        return first.then(NetworkRows, *others, keep=False)

    def log_evidence(self, models: Vectors) -> Array:
        """Return log p(observed cells | network) for each row, in the data's units; (rows, networks)."""
        return np.concatenate(self.parts(models.structures).each(methodcaller("log_evidence", models)))

    def statistics(self, models: Vectors, shares: Parts[Shares]) -> list[Expected]:
        """Return what each network expects its share of the rows to hold."""
        return self.expected(models, summed(self.parts(models.structures), models, shares), shares)

    def expected(self, models: Vectors, sums: Array, shares: Parts[Shares]) -> list[Expected]:
        """Return the same, given what networks expect of their own families, one after the other."""
        each = zip(models.structures, models.thetas, self.split(models.structures, sums), strict=True)
        return [Expected(self, s, t, shares, c, mine) for c, (s, t, mine) in enumerate(each)]

    def scaled(self, statistics: Sequence[Expected], part: float, shares: Parts[Shares]) -> list[Expected]:
        """Return this part of what networks expect, of rows without holes; ``shares`` are as large a part."""
        return [
            replace(one, swept=part * one.own, shares=shares, column=c, _ahead={})
            for c, one in enumerate(statistics)
        ]

    def narrowed(self, models: Vectors) -> Vectors:
        """Return the models: what they expect of other families than their own is worked out when asked."""
        return models

    def split(self, structures: Sequence[Structure], sums: Array) -> list[Array]:
        """Return the statistics of each network, given those of all one after the other."""
        sizes = [self.dag(structure).layout.statistics_size for structure in structures]
        return np.split(sums, np.cumsum(sizes)[:-1])

    def maximize(self, statistics: Sequence[Statistics], structures: Sequence[Structure]) -> Vectors:
        """Return the networks of highest posterior density given statistics, in the softmax basis."""
        thetas = [
            self.m_step(structure).improve(counts.of(structure)[None])[0]
            for counts, structure in zip(statistics, structures, strict=True)
        ]
        return Vectors(tuple(structures), tuple(thetas))

    def sample(
        self, statistics: Sequence[Statistics], structures: Sequence[Structure], rng: np.random.Generator
    ) -> Vectors:
        """Return parameters drawn from their posterior given the statistics of complete rows."""
        thetas = []
        for counts, structure in zip(statistics, structures, strict=True):
            belief, layout = self.belief(structure), self.dag(structure).layout
            after, theta = belief.alpha + counts.of(structure), np.empty(layout.size)
            theta[: layout.tables] = layout.drawn(after[: layout.tables], rng)
            for i, family in belief.dag.numeric:
                layout.records(theta, i)[:] = family.draw(layout.statistics(after, i), belief.surplus, rng)
            thetas.append(theta)
        return Vectors(tuple(structures), tuple(thetas))

    def completed(self, models: Vectors, owner: Integers, rng: np.random.Generator) -> list[Statistics]:
        """Return the statistics of rows with holes drawn, each from the network that owns it; −1: none."""
        out: list[Statistics] = []
        for c, (structure, theta) in enumerate(zip(models.structures, models.thetas, strict=True)):
            mine = np.flatnonzero(owner == c)
            codes, reals = self._filled(self.dag(structure), theta, mine, rng)
            out.append(_Complete(self, codes, reals, row_weights(self.source)[mine]))
        return out

    def _filled(
        self, dag: Dag, theta: Array, rows: Integers, rng: np.random.Generator
    ) -> tuple[NDArray[np.signedinteger], Array]:
        """Return codes and values of some rows with every hole drawn."""
        if not self.discrete:
            try:
                return self.spread.under(dag, theta).draw(rows, rng)
            except TooWideError:  # a junction tree draws as well, and chains where it is too wide
                mine = self.source.whole("drawing what holes hold").take(rows)
                return completed(dag, theta, mine, rng)
        mine = self.source.whole("drawing what holes hold").take(rows)
        return filled(dag, theta, mine.codes, seed=int(rng.integers(2**63))), mine.reals

    def others(self, table: Table) -> Networks:
        """Return other rows, as these networks see them."""
        return Networks(table, self.prior, self.criterion, self.scale, self.keep_rows)

    def log_prior(self, models: Vectors) -> float:
        """Return the log prior density of all parameters, in the softmax basis."""
        pairs = zip(models.structures, models.thetas, strict=True)
        return sum(float(self.m_step(s).log_prior(t[None])[0]) for s, t in pairs)

    def scores(self, statistics: Sequence[Expected]) -> list[FamilyScore]:
        """Return, for each network, the score of any family on what it expects."""
        return [expected.score for expected in statistics]

    def log_complete_evidence(self, statistics: Sequence[Expected], structures: Sequence[Structure]) -> float:
        """Return the score of graphs on expected statistics, all networks together."""
        return sum(e.log_evidence(s) for e, s in zip(statistics, structures, strict=True))

    def fit(self, statistics: Sequence[Statistics], models: Vectors) -> Array:
        """Return log p(expected data | parameters), in standardised units; (networks,)."""
        triples = zip(statistics, models.structures, models.thetas, strict=True)
        return np.array([complete_log_likelihood(self.dag(s), t, counts.of(s)) for counts, s, t in triples])

    def flat(self, models: Vectors) -> bool:
        """Whether some regression's variance is at most the smallest that maximum likelihood may take."""
        return any(
            family.linear and bool(np.any(self.dag(s).layout.records(t, i)[..., -1] <= VARIANCE_FLOOR))
            for s, t in zip(models.structures, models.thetas, strict=True)
            for i, family in self.dag(s).numeric
        )

    def dimension(self, structures: Sequence[Structure]) -> int:
        """Return the number of free parameters of all networks."""
        return sum(self.dag(structure).layout.free for structure in structures)

    def keep(self, models: Vectors, which: Booleans) -> Vectors:
        """Return some of the networks."""
        kept = np.flatnonzero(which)
        return Vectors(tuple(models.structures[c] for c in kept), tuple(models.thetas[c] for c in kept))

    def encode(self, models: Vectors) -> list[Any]:
        """Return graphs and parameters as lists."""
        pairs = zip(models.structures, models.thetas, strict=True)
        return [[list(map(list, s)), t.tolist()] for s, t in pairs]

    def decode(self, plain: Any) -> Vectors:
        """Return the networks that `encode` wrote."""
        structures = tuple(read_structure(self.schema, graph) for graph, _ in plain)
        thetas = tuple(np.array(theta, dtype=np.float64) for _, theta in plain)
        for structure, theta in zip(structures, thetas, strict=True):
            Network(self.dag(structure), theta.copy())  # refuses vectors of another size
        return Vectors(structures, thetas)

    def networks(self, models: Vectors) -> tuple[Network, ...]:
        """Return the networks in the data's units."""
        pairs = zip(models.structures, models.thetas, strict=True)
        return tuple(Network(self.dag(s), self.scale.outward(self.dag(s), theta)) for s, theta in pairs)

    def dag(self, structure: Structure) -> Dag:
        """Return a structure as a graph."""
        if structure not in self._dags:
            self._dags[structure] = dag_of(self.schema, structure)
        return self._dags[structure]

    def belief(self, structure: Structure) -> Belief:
        """Return what is believed of a graph's parameters beforehand."""
        belief: Belief = self.prior(self.dag(structure))
        return belief

    def m_step(self, structure: Structure) -> Maximize:
        """Return the M-step of a graph."""
        make = lambda: maximize_rule(self.belief(structure), "map", "softmax", None)  # noqa: E731
        return _kept(self._m_steps, structure, 32, make)

    def rows(self, structure: Structure) -> Rows:
        """Return the table laid out for a graph; few are kept."""
        make = partial(self.scale.prepare, self.dag(structure), self.source)
        return _kept(self._rows, structure, self.keep_rows, make)

    def far(self, structure: Structure) -> bool:
        """Whether rows stand in parts that are not all in memory here, so that every pass is a long way."""
        return not in_parts(self.rows(structure)).near

    @cached_property
    def row_weights(self) -> ByRow:
        """How often each row counts; (rows,)."""
        return weights_of(self.source)

    @cached_property
    def spread(self) -> Spread:
        """The rows with every discrete configuration they allow, all in one place."""
        return Spread(self.source.whole("drawing or predicting rows beside continuous variables"))

    @cached_property
    def _filled_rows(self) -> Parts[FilledRows]:
        """The rows, spread or drawn where that is too many, for each part of them."""
        return self.source.laid(partial(FilledRows, exact=exact_only()))

    @cached_property
    def units(self) -> Array:
        """What the units of the observed cells add to a distinct row's log-density; (distinct rows,)."""
        table = self.source.whole("predicting rows")
        seen = ~np.isnan(table.reals[table.distinct.first])
        return np.asarray(-(seen @ np.log(self.scale.spread[: seen.shape[1]])))

    def families(
        self, structure: Structure, theta: Array, shares: Parts[Shares] | None = None, column: int = 0
    ) -> Triples | Islands | IslandSum:
        """Return what a network expects of any family, where rows belong to it so far."""
        if not self.discrete:
            owned = everything(self.row_weights) if shares is None else shares
            each = self._filled_rows.each(partial(_triples, self.dag(structure), theta, column), owned)
            return in_tree(each).around(self.source.facts)
        rows = self.rows(structure)
        if shares is None:
            return cast(Islands | IslandSum, rows.families(theta))
        islands = in_parts(rows).then(partial(_islands, theta, column), shares)
        if islands.near and len(islands) == 1:
            [only] = islands.each(itself)
            return cast(Islands, only)
        return IslandSum(self.schema, islands)


class NetworkRows:
    """Rows of one part, laid out for several networks; see `lacunary.structure.shares.Owners`."""

    def __init__(self, *rows: Rows) -> None:
        self.rows = rows
        # Rows with continuous cells keep what was asked last.
        apart = all(variable.discrete for one in rows for variable in one.dag.schema)
        cells = sum(len(one) * len(one.dag.names) for one in rows) if apart else 0
        #: About how long a question to all networks takes, if threads may share it.
        self._seconds = CELL * cells

    def log_evidence(self, models: Vectors) -> Array:
        """Return log p(observed cells | network) for each row; (rows, networks)."""
        pairs = list(zip(self.rows, models.thetas, strict=True))
        logs = in_parallel(lambda one: one[0].log_evidence(one[1][None])[0], pairs, self._seconds)
        return np.stack(logs).T  # network by network in memory, as sums over networks are taken fastest

    def statistics(self, models: Vectors, weights: Array) -> Array:
        """Return the expected statistics of each network's own families, one after the other."""
        each = list(zip(self.rows, models.thetas, weights.T, strict=True))
        return np.concatenate(in_parallel(lambda one: _expected(*one), each, self._seconds))

    def expected(self, models: Vectors, log_weights: Array, weights: Array) -> None:
        """Return nothing: networks are swept one by one."""


def _expected(rows: Rows, theta: Array, weights: Array) -> Array:
    weighed = rows.weighed(np.ascontiguousarray(weights))
    return np.asarray(weighed.expect(theta[None]).counts[0])


def _swept(theta: Array, column: int, rows: Rows, shares: Shares) -> Array:
    return _expected(rows, theta, shares.of(column))


def _islands(theta: Array, column: int, rows: Rows, shares: Shares) -> Islands:
    return cast(Islands, rows.weighed(shares.of(column)).families(theta))


def _triples(dag: Dag, theta: Array, column: int, rows: FilledRows, shares: Shares) -> Triples:
    return rows.triples(dag, theta, shares.of(column))


def standard(source: Source, prior: Any) -> tuple[Scale, Any]:
    """Return how columns are standardised, and the prior about them."""
    scale, schema = Scale.of(source), source.schema
    where = [i for i, variable in enumerate(schema) if not variable.discrete]
    if not where:
        return scale, BDeu(1.0) if prior is None else prior
    for variable, shown in zip(schema, source.facts.shown, strict=True):
        if not (shown or variable.hidden):
            raise TableError(f"nothing is observed of {variable.name}; leave the column out")
    names = [schema.names[i] for i in where]
    known = stated(prior, source, scale, BDeu(1.0))
    return scale, standardised(known, names, *scale.of_columns(where))


def _kept(store: dict[Key, Value], structure: Key, most: int, make: Callable[[], Value]) -> Value:
    """Return what belongs to a structure, made if it is not kept; the oldest makes room.

    Threads may ask at once: two may make the same, and take out the same.
    """
    found = store.get(structure)
    if found is None:
        found = make()
        for oldest in list(store)[: max(len(store) - most + 1, 0)]:  # a list: others may change the store
            store.pop(oldest, None)
        store[structure] = found
    return found
