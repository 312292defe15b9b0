"""What can be asked of a model with known parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.read import read
from lacunary.data.schema import Label, Schema
from lacunary.data.source import Source
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import ImpossibleRowError, SchemaError, StateError
from lacunary.family.distribution import Answer, Distribution, NormalMixture
from lacunary.infer.posterior import marginals_of
from lacunary.infer.rows import Rows, prepare
from lacunary.model.dag import Dag

__all__ = ["Answers", "Target", "as_source", "as_table"]

Target = str | tuple[str, ...]


class Answers:
    """Queries, predictions, likelihoods and samples, for anything with a graph and parameters.

    A table may be given as anything `lacunary.read` takes: a table, a frame, an array or a path.
    """

    dag: Dag

    def parameters(self) -> NDArray[np.float64]:
        """Return p(variable | parents) for the next row, in the places given by ``dag.layout``."""
        raise NotImplementedError

    def prepared(self, table: Source) -> Rows:
        """Return a table, aligned with the graph's schema, laid out for the model's `parameters`."""
        return prepare(self.dag, table)

    def query(self, *targets: str, given: Mapping[str, Label] | None = None) -> Answer:
        """Return the joint `Distribution` of some discrete variables given the states or values of others.

        Of a continuous variable, asked about alone, it is a `NormalMixture`.

        >>> import lacunary as lac
        >>> network = lac.asia()
        >>> round(network.query("lung", given={"smoke": "yes"})["yes"], 3)
        0.1
        """
        where, case = self._asked(targets), self._case(given)
        for i, family in self.dag.leaves:
            if i == where[0] and family.asked():
                raise SchemaError(family.asked())
        if not self.dag.schema.sizes[where[0]]:
            found = self._normals(case, where)[0]
            if not found.weights.sum() > 0:
                raise ImpossibleRowError(f"what is given has probability zero: {dict(given or {})}")
            return found[0]
        probabilities = self._marginals(case, [where])[0][0]
        if not probabilities.sum() > 0:
            raise ImpossibleRowError(f"what is given has probability zero: {dict(given or {})}")
        return Distribution(tuple(self.dag.schema.variables[v] for v in where), probabilities)

    def posterior(
        self, table: Any, targets: Sequence[Target] | None = None
    ) -> dict[Target, NDArray[np.float64]]:
        """Return the posterior of variables, or of sets of variables, in every row of a table.

        Parameters
        ----------
        table
            Rows with holes.
        targets
            Names, or tuples of names for joint posteriors; by default every variable.

        Returns
        -------
        dict
            For each target (rows, states), or (rows, states of the first, states of the second, …); for a
            continuous variable a `NormalMixture` with one axis for the rows.
        """
        chosen: Sequence[Target] = self.dag.names if targets is None else targets
        sets = [self._asked([t] if isinstance(t, str) else t) for t in chosen]
        rows = as_source(table, self.dag.schema)
        theta, sizes = self.parameters(), self.dag.schema.sizes
        states = self._marginals(rows, [where for where in sets if sizes[where[0]]])
        numbers = [where[0] for where in sets if not sizes[where[0]]]
        values = self._normals(rows, numbers) if numbers else []
        mass = [p.sum(axis=tuple(range(1, p.ndim))) for p in states[:1]]
        mass += [mixture.weights.sum(axis=1) for mixture in values[:1]]
        if mass and np.any(mass[0] == 0):
            prepare(self.dag, rows).check_possible(theta)
        parts: tuple[Any, Any] = iter(states), iter(values)
        return {target: next(parts[not sizes[w[0]]]) for target, w in zip(chosen, sets, strict=True)}

    def log_probability(self, table: Any) -> NDArray[np.float64]:
        """Return the log-probability of each row's observed cells, in nats; −∞ for an impossible row.

        With continuous variables it is a log-density.
        """
        prepared = self.prepared(as_source(table, self.dag.schema))
        return np.asarray(prepared.log_evidence(self.parameters()[None])[0])

    def log_likelihood(self, table: Any) -> float:
        """Return Σ over rows of weight · log-probability of the observed cells, in nats."""
        prepared = self.prepared(as_source(table, self.dag.schema))
        return float(prepared.expect(self.parameters()[None]).log_likelihood[0])

    def probability(self, given: Mapping[str, Label]) -> float:
        """Return the probability of these states together; with continuous values, the density."""
        return float(np.exp(self.log_density(given)))

    def log_density(self, given: Mapping[str, Label]) -> float:
        """Return the logarithm of `probability`, in nats, which is known where that is too small a number."""
        return float(self.prepared(self._case(given)).log_evidence(self.parameters()[None])[0, 0])

    def explain(self, given: Mapping[str, Label] | None = None) -> dict[str, Label]:
        """Return the jointly most probable states of all variables given those of some.

        Continuous variables take their means given these states.
        """
        codes, reals = self._completed(self._case(given), None)
        return {
            v.name: v.states[codes[0, i]] if v.discrete else float(reals[0, i])
            for i, v in enumerate(self.dag.schema)
        }

    def sample(
        self,
        rows: int,
        rng: int | np.random.Generator | None = None,
        given: Mapping[str, Label] | None = None,
    ) -> Table:
        """Return rows drawn from the model, or from the model given the states of some variables.

        Hidden variables are drawn as well and shown; the table calls no variable hidden.
        """
        random = np.random.default_rng(rng)
        schema = self.dag.schema.reveal()
        if given:
            case = self._case(given).take(np.zeros(rows, dtype=np.int64))
            codes, reals = self._completed(case, random)
        else:
            codes, reals = _forward(self.dag, self.parameters(), rows, random)
        return Table(schema, codes.astype(code_dtype(schema.sizes)), reals)

    def _completed(
        self, table: Table, random: np.random.Generator | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        from lacunary.infer.complete import completed

        return completed(self.dag, self.parameters(), table, random)

    def _normals(self, rows: Source, variables: Sequence[int]) -> list[NormalMixture]:
        """Return the posterior of each continuous variable in each row."""
        return self.prepared(rows).normals(self.parameters(), variables)

    def _marginals(self, rows: Source, sets: Sequence[Sequence[int]]) -> list[NDArray[np.float64]]:
        """Return the posterior of sets of discrete variables in each row."""
        if not sets:
            return []
        if self.dag.continuous or not isinstance(rows, Table):
            return self.prepared(rows).marginals(self.parameters(), sets)
        # Rows that are asked once need not be laid out for sweeping first.
        distinct = rows.distinct
        found = marginals_of(self.dag, self.parameters(), rows.codes[distinct.first], sets)
        return [posterior[distinct.inverse] for posterior in found]

    def _asked(self, names: Sequence[str]) -> list[int]:
        """Return where the variables stand that are asked about together."""
        if not names:
            raise SchemaError("name at least one variable to ask about")
        if len(set(names)) < len(names):
            raise SchemaError(f"a variable is asked about twice: {', '.join(names)}")
        real = [name for name in names if not self.dag.schema[name].discrete]
        if real and len(names) > 1:
            raise SchemaError(f"{real[0]} is continuous: ask about it alone, or draw rows with sample")
        return [self.dag.schema.index(name) for name in names]

    def _case(self, given: Mapping[str, Label] | None) -> Table:
        """Return the table of one row with these states observed; hidden variables may be given too."""
        schema = self.dag.schema.reveal()
        codes = np.full((1, len(schema)), HOLE, dtype=code_dtype(schema.sizes))
        reals = np.full((1, len(schema) if self.dag.continuous else 0), np.nan)
        for name, state in (given or {}).items():
            place = schema.index(name)
            if schema[name].discrete:
                codes[0, place] = schema[name].encode(state)
            else:
                reals[0, place] = _number(name, state)
        return Table(schema, codes, reals)


def as_table(source: Any, schema: Schema) -> Table:
    """Return anything that holds rows as a table that a model over ``schema`` can use."""
    return read(source, schema=schema)


def as_source(given: Any, schema: Schema | None = None) -> Source:
    """Return anything that holds rows as a source, which a model over ``schema`` can use.

    A source stays where it is; a table, a frame, an array or a path becomes a table.
    """
    if hasattr(given, "fold") and hasattr(given, "prepare"):
        source: Source = given if schema is None else given.align(schema)
        return source
    return read(given, schema=schema)


def _number(name: str, value: Label) -> float:
    """Return the value given for a continuous variable."""
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not np.isfinite(number):
        raise StateError(f"{name} is continuous: what is given must be a finite number, not {value!r}")
    return number


def _forward(
    dag: Dag, theta: NDArray[np.float64], rows: int, random: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Draw rows, parents before children: codes and reals."""
    layout = dag.layout
    codes = np.zeros((rows, len(dag.schema)), dtype=np.int32)
    reals = np.full((rows, len(dag.schema) if dag.continuous else 0), np.nan)
    for i in dag.order_indices:
        parents, strides = list(layout.members[i][1:]), np.array(layout.strides[i][1:], dtype=np.int64)
        configuration = codes[:, parents] @ strides if parents else np.zeros(rows, dtype=np.int64)
        if not layout.sizes[i]:
            record = layout.records(theta, i)[configuration]
            reals[:, i] = dag.number(i).sampled(record, reals[:, list(layout.regressors[i])], random)
            codes[:, i] = HOLE
            continue
        table = theta[layout.slice(i)].reshape(layout.states[i], layout.configurations[i])
        edges = np.cumsum(table, axis=0)[:-1]
        # The last state takes what rounding leaves; a state of probability zero is never drawn.
        codes[:, i] = (random.random(rows) * table.sum(axis=0)[configuration] >= edges[:, configuration]).sum(
            axis=0
        )
    return codes, reals
