"""Dependency networks (Heckerman et al. 2000): every column's distribution given all others.

Each column is regressed on all others, linearly and by a forest; the holes are drawn by turns. The columns'
distributions are learned one by one, and need not be those of one joint model; in return each may be what
predicts its column best, and states may depend on numbers. Several chains, with completed tables and
forests of their own, are asked together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.dependency.chain import Chain, cells_of, check_room
from lacunary.dependency.columns import Column, columns
from lacunary.dependency.conditional import Effort, Number, noise, student
from lacunary.dependency.linear import line
from lacunary.dependency.posterior import TransformedMixture
from lacunary.dependency.start import Joint, joint
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.infer.answers import as_source, as_table
from lacunary.infer.scale import check_squares
from lacunary.maths.arrays import Array, Integers

__all__ = ["DependencyNetwork", "learn_dependencies"]

WARM, FULL, READS = 2, 2, 4
"""Sweeps with regressions alone, sweeps with forests, and sweeps in which the holes are read."""

PROPER = 10
"""Sweeps of a chain whose end is a draw of parameters and holes."""

SURE = 2.5
"""Standard errors by which a forest must help before draws follow it: what it is unsure of it shrinks."""

Watch = Callable[[int, int], object]


@dataclass(frozen=True, eq=False)
class DependencyNetwork:
    """Every column's distribution given all others, learned several times, to be asked together.

    Attributes
    ----------
    schema
        The variables.
    columns
        How each becomes features; which of them go through normal scores.
    chains
        Completed tables, each with its distributions.
    """

    schema: Schema
    columns: tuple[Column, ...]
    chains: tuple[Chain, ...]
    start: Joint
    rows: Table
    seed: int

    def __repr__(self) -> str:
        many, chains = len(self.columns), len(self.chains)
        return f"<DependencyNetwork: {many} columns, {chains} chains, learned from {len(self.rows)} rows>"

    @property
    def transformed(self) -> tuple[str, ...]:
        """The names of the continuous columns that go through normal scores, and back."""
        return tuple(c.variable.name for c in self.columns if c.shape is not None and c.shape.curved)

    @property
    def skewed(self) -> tuple[str, ...]:
        """The names of skewed columns that are predicted on their own scale all the same."""
        return tuple(c.variable.name for c in self.columns if c.other is not None and c.other.curved)

    def posterior(self, table: Any, targets: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the posterior of variables in every row, given the row's observed cells.

        Of a discrete variable probabilities, (rows, states); of a continuous one a mixture of Student t on
        its transformed scale, with the names of a `NormalMixture`.
        """
        rows = as_table(table, self.schema)
        wanted = [self.schema.index(str(name)) for name in (targets or self.schema.names)]
        read = _Reading(self, rows, wanted)
        for number, chain in enumerate(self._going(rows)):
            chain.rng = np.random.default_rng([self.seed, 1, number])
            for _ in range(READS):
                read.add(chain)
        return {self.schema.names[i]: read.told(i) for i in wanted}

    def drawn(self, rows: Table, random: np.random.Generator) -> tuple[Integers, Array]:
        """Return codes and reals with every hole drawn, each row's by a chain drawn for it."""
        owner = random.integers(len(self.chains), size=len(rows))
        codes, reals = rows.codes.astype(np.int64), np.array(rows.reals)
        for number, chain in enumerate(self._going(rows)):
            chain.rng = random
            for _ in range(READS):
                chain.sweep()
            where = np.flatnonzero(owner == number)
            codes[where], reals[where] = (part[where] for part in _uncoded(rows, self.columns, chain.cells))
        return codes, reals

    def completions(self) -> list[tuple[Integers, Array]]:
        """Return codes and reals of the rows it was learned from, filled, one for each chain."""
        return [_uncoded(self.rows, self.columns, chain.cells) for chain in self.chains]

    def _going(self, rows: Table) -> list[Chain]:
        """Return chains over some rows that know what these know; over the rows learned from they go on."""
        cells = cells_of(rows, self.columns)
        same = self._learned_from(rows)
        out = []
        for number, chain in enumerate(self.chains):
            rng = np.random.default_rng([self.seed, 2, number])
            filled = chain.cells if same else self.start.drawn(cells, rng)
            for i in np.flatnonzero(np.isnan(cells).any(axis=0)):
                if i not in chain.known:  # there were no holes in it when the others were learned
                    chain.rng = np.random.default_rng([self.seed, 3, number, int(i)])  # whoever asks first
                    chain.learn(int(i), Effort(_TREES))
            out.append(
                Chain(self.columns, filled.copy(), np.isnan(cells), rng, rows.weights, chain.known).coded()
            )
            for _ in range(0 if same else READS):
                out[-1].sweep()
        return out

    def _learned_from(self, rows: Table) -> bool:
        """Tell whether these rows hold what it was learned from, be they the same object or a copy."""
        if rows is self.rows:
            return True
        pairs = [(getattr(rows, what), getattr(self.rows, what)) for what in ("codes", "weights")]
        same = all(np.array_equal(one, other) for one, other in pairs)
        return same and np.array_equal(rows.reals, self.rows.reals, equal_nan=True)


_TREES = 30
"""Trees of a forest; every chain has its own."""


class _Reading:
    """What chains say of holes, sweep by sweep."""

    def __init__(self, network: DependencyNetwork, rows: Table, wanted: Sequence[int]) -> None:
        self.network, self.rows, self.wanted = network, rows, set(wanted)
        self.said: dict[int, list[Any]] = {i: [] for i in wanted}

    def add(self, chain: Chain) -> None:
        """Read every column's holes given what the chain's others hold, and draw them anew."""
        for i in np.flatnonzero(chain.holes.any(axis=0)).tolist():
            if i in self.wanted:
                empty, (features, bins) = chain.holes[:, i], chain.beside(i)
                features, bins, known = features[empty], bins[empty], chain.known[i]
                if isinstance(known, Number):
                    location = known.location(features, bins)
                    scale, dof = np.full(len(location), known.scale), np.full(len(location), known.dof)
                    self.said[i].append((location, scale, dof, known.mean(features, location)))
                else:
                    self.said[i].append(known.probabilities(features, bins))
            chain.draw(i)

    def told(self, i: int) -> Any:
        """Return what was said of a column, in all rows."""
        empty, said = self.rows.holes[:, i], self.said[i]
        variable, column = self.network.schema.variables[i], self.network.columns[i]
        if column.shape is None:
            chance = np.eye(variable.size)[np.maximum(self.rows.codes[:, i], 0)]
            if said:
                chance[empty] = np.mean(said, axis=0)
            return chance
        number = max(len(said), 1)
        z = column.shape.forward(self.rows.reals[:, i])
        shape = (len(self.rows), number)
        means, sds, dofs = np.repeat(z[:, None], number, axis=1), np.zeros(shape), np.full(shape, np.inf)
        mean = np.array(self.rows.reals[:, i])
        for k, (location, scale, dof, told) in enumerate(said):
            means[empty, k], sds[empty, k], dofs[empty, k] = location, scale, dof
            mean[empty] = (0.0 if k == 0 else mean[empty]) + told / number
        weights = np.full(shape, 1.0 / number)
        return TransformedMixture(variable, weights, means, sds, dofs, column.shape, mean)


@budgeted
def learn_dependencies(
    table: Any,
    *,
    chains: int = 5,
    trees: int = _TREES,
    proper: bool = False,
    watch: Watch | None = None,
    rng: int | np.random.Generator | None = 0,
) -> DependencyNetwork:
    """Return every column's distribution given all others, learned from a table with holes, to fill them.

    It is what `lacunary.impute` fills with where no model is given. Columns that are skewed or bounded go
    through normal scores where that tells rows left out better; how much a column follows a linear
    regression and how much a forest is decided by rows left out, too.

    Parameters
    ----------
    table
        The rows: a table, a frame, an array or a path. No variable may be hidden, and every one needs an
        observed cell.
    chains
        How many completed tables, each with distributions of its own, are asked together.
    trees
        In each forest; with none there are regressions alone.
    proper
        Whether each chain's parameters are drawn under priors that shrink nothing to speak of, so that its
        completed table is a draw as multiple imputation needs it; else they are those that predict best.
        Proper draws are made on the columns' own scale: what is drawn on a bent one bends slopes along. So a
        skewed column's may lie outside what was observed, though never outside declared bounds.
    watch
        Called with how many sweeps are done and how many there are.
    rng
        Seed or generator; with None every call draws anew.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(60, rng=0), 0.2, rng=0)
    >>> known = learn_dependencies(rows, chains=2, trees=10)
    >>> known.posterior(rows, ["smoke"])["smoke"].shape
    (60, 2)
    """
    if chains < 1 or trees < 0:
        raise ParameterError(f"chains must be at least 1 and trees not negative, not {chains} and {trees}")
    rows, random = _checked(as_source(table).whole("a dependency network")), np.random.default_rng(rng)
    seed = int(random.integers(2**31))
    known = columns(rows)
    check_room(rows, chains)
    cells = cells_of(rows, known)
    start = joint(known, cells)
    if proper:
        known = [c.turned() if c.shape is not None and c.shape.curved else c for c in known]
    else:
        known = _turned(rows, known, Chain.begun(known, cells, start, rows.weights, seed))
    start.columns = known
    cells = cells_of(rows, known)
    start.learn(cells)
    run = _Run(known, cells, start, rows.weights, trees, seed, watch)
    made = run.proper(chains) if proper else [run.predicting(number, chains) for number in range(chains)]
    return DependencyNetwork(rows.schema, tuple(known), tuple(made), start, rows, seed)


@dataclass(frozen=True, eq=False)
class _Run:
    """What all chains of a table have in common."""

    columns: Sequence[Column]
    cells: Array
    start: Joint
    weights: Array
    trees: int
    seed: int
    watch: Watch | None

    def predicting(self, number: int, chains: int) -> Chain:
        """Return a chain whose distributions are those that predict best."""
        chain = self._begun(number)
        for step in range(WARM + FULL):
            self._say(number * (WARM + FULL) + step, chains * (WARM + FULL))
            chain.sweep(Effort(0 if step < WARM else self.trees))
        return chain

    def proper(self, chains: int) -> list[Chain]:
        """Return chains that end in draws; forests are grown where one chain finds that they help."""
        total = PROPER * chains + WARM + 1
        probe = self._begun(-1 % 2**31)
        for step in range(WARM + 1):
            self._say(step, total)
            probe.sweep(Effort(0 if step < WARM else self.trees))
        wooded = {i for i, known in probe.known.items() if known.gain > SURE}
        made = []
        for number in range(chains):
            chain = self._begun(number)
            for step in range(PROPER):
                self._say(WARM + 1 + number * PROPER + step, total)
                chain.sweep(Effort(self.trees, proper=True), wooded if step >= PROPER // 2 else ())
            made.append(chain)
        return made

    def _begun(self, number: int) -> Chain:
        return Chain.begun(self.columns, self.cells, self.start, self.weights, [self.seed, 0, number])

    def _say(self, done: int, total: int) -> None:
        if self.watch is not None:
            self.watch(done, total)


def _turned(rows: Table, known: list[Column], chain: Chain) -> list[Column]:
    """Return the columns, those that are skewed on the scale on which regressions tell rows left out best."""
    out = list(known)
    for i, column in enumerate(known):
        if column.shape is None or column.other is None:
            continue
        seen = ~rows.holes[:, i]
        features, x = chain.beside(i)[0][seen], rows.reals[seen, i]
        fits = []
        for shape in (column.shape, column.other):
            z = shape.forward(x)
            fits.append(float((_log_left(z, line(features, z).left_out) + shape.log_slope(x)).sum()))
        if fits[1] > fits[0]:
            out[i] = column.turned()
    return out


def _log_left(z: Array, told: Array) -> Array:
    return student(z - told, *noise(z - told))


def _uncoded(rows: Table, columns: Sequence[Column], cells: Array) -> tuple[Integers, Array]:
    """Return codes and reals of filled cells; what was observed stays as it is, to the last bit."""
    codes, reals = rows.codes.astype(np.int64), np.array(rows.reals)
    for i, column in enumerate(columns):
        empty = rows.holes[:, i]
        if column.shape is None:
            codes[empty, i] = cells[empty, i].astype(np.int64)
        else:
            low, high = column.variable.bounds or (-np.inf, np.inf)
            reals[empty, i] = np.clip(column.shape.back(cells[empty, i]), low, high)
    return codes, reals


def _checked(table: Table) -> Table:
    """Return the table if it can be learned from."""
    hidden = [variable.name for variable in table.schema if variable.hidden]
    if hidden:
        raise SchemaError(
            f"{hidden[0]} is hidden; it has no cells to learn from: leave it out, or give a model"
        )
    if not table.size > 0:
        raise TableError("the table has no rows that count; there is nothing to learn from")
    counted = table.holes[table.weights > 0]
    empty = [name for name, holes in zip(table.schema.names, counted.T, strict=True) if holes.all()]
    if empty:
        raise TableError(f"{empty[0]} has no observed cell to learn from; leave it out with drop={empty!r}")
    check_squares(table)
    return table
