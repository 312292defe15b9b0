"""What can be asked of a model with known parameters."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import budgeted, reserve
from lacunary.data.schema import Label, Schema
from lacunary.data.source import Source
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import ImpossibleRowError, SchemaError, TooWideError
from lacunary.exactness import announced
from lacunary.family.distribution import Answer, Distribution, NormalMixture
from lacunary.infer.asking import Eliminator, Engine, impossible
from lacunary.infer.elimination import interpreted
from lacunary.infer.findings import Findings, Given
from lacunary.infer.intervene import intervened
from lacunary.infer.virtual import hardened
from lacunary.maths.drawn import exponential, less, with_error
from lacunary.model.dag import Dag

if TYPE_CHECKING:
    from lacunary.infer.rows import Rows

__all__ = ["Answers", "Target", "as_source", "as_table", "check_rows_drawn"]

Target = str | tuple[str, ...]

CELL = 24
"""Bytes that a cell takes while it is drawn: codes twice, a real number, a configuration."""


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
        from lacunary.infer.rows import prepare  # not needed for single questions, and slow to load

        return prepare(self.dag, table)

    @budgeted
    @announced
    def query(
        self, *targets: str, given: Given | None = None, do: Given | None = None, exact: bool = False
    ) -> Answer:
        """Return the joint `Distribution` of some discrete variables given what is known of others.

        Of a continuous variable, asked about alone, it is a `NormalMixture`, or one of uniform densities or
        counts; of several variables, some of them continuous, a `JointMixture`. What is given is a state or a
        value; of a discrete variable also a set of states, one of which it is, or a mapping from states to
        likelihoods (soft evidence). `engine` is for one who keeps asking. In wide networks, given states that
        have no bearing on the targets are not checked to be possible; `probability` tells.

        ``do`` sets variables to states or values from outside: nothing that would have caused them does, and
        what is given is seen afterwards. This is what would happen only if arcs lead from causes to effects.

        Where exact inference does not fit the answer is drawn by Gibbs chains and has an ``error``, which an
        `ApproximationWarning` announces; with ``exact=True`` it is refused with a `TooWideError`.

        >>> import lacunary as lac
        >>> network = lac.asia()
        >>> round(network.query("lung", given={"smoke": "yes"})["yes"], 3)
        0.1
        >>> round(network.query("lung", given={"xray": {"yes": 0.9, "no": 0.2}})["yes"], 4)
        0.1758
        >>> round(network.query("smoke", do={"lung": "yes"})["yes"], 3)  # to set it tells nothing of causes
        0.5
        """
        if do:
            model, known = self._with_causes_cut(do, given)
            answer = model.query(*targets, given=known)
            for _, leaf in self.dag.leaves:  # which are not among what is known
                if (name := leaf.variable.name) in do and name in targets:
                    answer = answer.settled(name, float(do[name]))
            return answer
        return self._answered(targets, Findings.of(self.dag.schema, given))

    def _with_causes_cut(self, do: Given, given: Given | None) -> tuple[Answers, dict[str, Any]]:
        """Return the model in which variables are set, and what is known in it; refuse what cannot be."""
        model, known = intervened(self, do, given)
        if given and model.log_density(known) == -np.inf:
            raise ImpossibleRowError(f"given {dict(given)} has probability zero once {dict(do)} is set by do")
        return model, known

    def engine(self, given: Given | None = None, *, exact: bool = False) -> Engine:
        """Return an `Engine`, which keeps what is given: set, change and retract it, and ask in between.

        With ``exact=True`` it refuses what does not fit exact inference, with a `TooWideError`.
        """
        return Engine(self, given, exact)

    def _answered(self, targets: Sequence[str], findings: Findings) -> Answer:
        """Return the answer to a question, by elimination where all variables are discrete."""
        where = self._asked(targets)
        found: Any = None
        if self.dag.continuous:
            from lacunary.infer import numbers  # discrete networks need not wait for what this needs

            with interpreted(), suppress(TooWideError):  # the rows' engine says then what can be said
                answer = numbers.answered(self, where, findings)
                if answer is not None:
                    return answer
        else:
            try:
                with interpreted():
                    found = Eliminator(self).joint(where, findings)
            except TooWideError as why:
                return self._sampled([where], findings, why)[0]
        if found is None:
            return self._swept(where, findings)
        variables = self.dag.schema.variables
        return Distribution(tuple([variables[v] for v in where]), found)

    def _sampled(self, sets: list[list[int]], findings: Findings, why: TooWideError) -> list[Distribution]:
        """Return the joint posteriors of some sets from chains, with errors, where no tables fit."""
        from lacunary.infer.rows import sampled_instead

        model, case = hardened(self, findings)
        rows = sampled_instead(model.dag, case, why)
        out = []
        for where, found in zip(sets, rows.marginals(model.parameters(), sets), strict=True):
            if not found.sum() > 0:
                raise impossible(findings, self)
            out.append(Distribution.of([self.dag.schema.variables[v] for v in where], found[0]))
        return out

    def _swept(self, where: list[int], findings: Findings) -> Answer:
        """Return the answer to a question from the rows' own engine, as that of a table of one row."""
        model, case = hardened(self, findings)
        sizes = [self.dag.schema.sizes[v] for v in where]
        if len(where) > 1 and not all(sizes):
            from lacunary.infer.several import several

            both = several(model, case, where)
            if both is None:
                raise impossible(findings, self)
            return both
        if not sizes[0]:
            found = model._normals(case, where)[0]
            if not found.weights.sum() > 0:
                raise impossible(findings, self)
            return found[0]
        probabilities = model._marginals(case, [where])[0][0]
        if not probabilities.sum() > 0:
            raise impossible(findings, self)
        return Distribution.of([self.dag.schema.variables[v] for v in where], probabilities)

    @budgeted
    @announced
    def posterior(
        self, table: Any, targets: Sequence[Target] | None = None, *, exact: bool = False
    ) -> dict[Target, NDArray[np.float64]]:
        """Return the posterior of variables, or of sets of variables, in every row of a table.

        Parameters
        ----------
        table
            Rows with holes.
        targets
            Names, or tuples of names for joint posteriors; by default every variable.
        exact
            Refuse, with a `TooWideError`, what does not fit exact inference, instead of drawing it by Gibbs
            chains with a stated error, which an `ApproximationWarning` announces.

        Returns
        -------
        dict
            For each target (rows, states), or (rows, states of the first, states of the second, …), which has
            an ``error`` of the same shape where it was drawn; for a continuous variable a `NormalMixture`
            with one axis for the rows.
        """
        chosen: Sequence[Target] = self.dag.names if targets is None else targets
        sets = [self._asked_by_row([t] if isinstance(t, str) else t) for t in chosen]
        rows = as_source(table, self.dag.schema)
        theta, sizes = self.parameters(), self.dag.schema.sizes
        states = self._marginals(rows, [where for where in sets if sizes[where[0]]])
        numbers = [where[0] for where in sets if not sizes[where[0]]]
        values = self._normals(rows, numbers) if numbers else []
        mass = [p.sum(axis=tuple(range(1, p.ndim))) for p in states[:1]]
        mass += [mixture.weights.sum(axis=1) for mixture in values[:1]]
        if mass and np.any(mass[0] == 0):
            self.prepared(rows).check_possible(theta)
        parts: tuple[Any, Any] = iter(states), iter(values)
        return {target: next(parts[not sizes[w[0]]]) for target, w in zip(chosen, sets, strict=True)}

    @budgeted
    @announced
    def log_probability(self, table: Any, *, exact: bool = False) -> NDArray[np.float64]:
        """Return the log-probability of each row's observed cells, in nats; −∞ for an impossible row.

        With continuous variables it is a log-density.

        Where exact inference does not fit it is estimated by Gibbs chains and has an ``error``, which an
        `ApproximationWarning` announces; with ``exact=True`` it is refused with a `TooWideError`.
        """
        prepared = self.prepared(as_source(table, self.dag.schema))
        return np.asanyarray(prepared.log_evidence(self.parameters()[None])[0])

    @budgeted
    @announced
    def log_likelihood(self, table: Any, *, exact: bool = False) -> float:
        """Return Σ over rows of weight · log-probability of the observed cells, in nats.

        Where exact inference does not fit it is estimated by Gibbs chains and has an ``error``, which an
        `ApproximationWarning` announces; with ``exact=True`` it is refused with a `TooWideError`.
        """
        prepared = self.prepared(as_source(table, self.dag.schema))
        found = prepared.expect(self.parameters()[None])[0]
        return cast(float, with_error(found.log_likelihood, found.log_error))

    @announced
    def probability(self, given: Given, do: Given | None = None, *, exact: bool = False) -> float:
        """Return the probability of these states together; with continuous values, the density.

        With ``do``: once these variables are set from outside; see `query`.

        Where exact inference does not fit it is estimated by Gibbs chains and has an ``error``, which an
        `ApproximationWarning` announces; with ``exact=True`` it is refused with a `TooWideError`.
        """
        return exponential(self.log_density(given, do))

    @announced
    def log_density(self, given: Given, do: Given | None = None, *, exact: bool = False) -> float:
        """Return the logarithm of `probability`, in nats, which is known where that is too small a number.

        It may have an ``error``, as `probability` may.
        """
        if do:
            model, known = intervened(self, do, given)
            return less(model.log_density(known), model.log_density({n: known[n] for n in do if n in known}))
        return self._log_given(Findings.of(self.dag.schema, given))

    def _log_given(self, findings: Findings) -> float:
        with interpreted(), suppress(TooWideError):  # the rows' engine says then what can be said
            if self.dag.continuous:
                from lacunary.infer import numbers

                found = numbers.log_density(self, findings)
            else:
                found = Eliminator(self).log_evidence(findings)
            if found is not None:
                return found
        model, case = hardened(self, findings)
        log = model.prepared(case).log_evidence(model.parameters()[None])[0]
        error = getattr(log, "error", None)
        return cast(float, with_error(float(log[0]), None if error is None else error[0]))

    @budgeted
    @announced
    def explain(
        self, given: Given | None = None, do: Given | None = None, *, exact: bool = False
    ) -> dict[str, Label]:
        """Return the jointly most probable states of all variables given what is known of some.

        Continuous variables take their means given these states. ``do`` sets variables; see `query`. Where
        exact inference does not fit these are the most probable states that Gibbs chains met, which an
        `ApproximationWarning` announces; with ``exact=True`` it is refused with a `TooWideError`.
        """
        if do:
            model, known = self._with_causes_cut(do, given)
            return {**model.explain(known), **do}
        return self._explained(Findings.of(self.dag.schema, given))

    def _explained(self, findings: Findings) -> dict[str, Label]:
        found = None
        if not self.dag.continuous:
            with interpreted(), suppress(TooWideError):
                found = Eliminator(self).explanation(findings)
        if found is not None:
            return {v.name: v.states[code] for v, code in zip(self.dag.schema, found, strict=True)}
        model, case = hardened(self, findings)
        codes, reals = model._completed(case, None)
        return {
            v.name: v.states[codes[0, i]] if v.discrete else float(reals[0, i])
            for i, v in enumerate(self.dag.schema)
        }

    @budgeted
    @announced
    def sample(
        self,
        rows: int,
        rng: int | np.random.Generator | None = None,
        given: Given | None = None,
        do: Given | None = None,
        *,
        exact: bool = False,
    ) -> Table:
        """Return rows drawn from the model, or from the model given the states of some variables.

        Hidden variables are drawn as well and shown; the table calls no variable hidden. ``do`` sets
        variables, and ``exact=True`` refuses what does not fit exact inference; see `query`.
        """
        if do:
            self._refuse_leaves(do)
            model, known = self._with_causes_cut(do, given)
            return model.sample(rows, rng, given=known)
        random = np.random.default_rng(rng)
        schema = self.dag.schema.reveal()
        check_rows_drawn(rows, len(schema))
        if given:
            model, case = hardened(self, Findings.of(self.dag.schema, given))
            codes, reals = model._completed(case.take(np.zeros(rows, dtype=np.int64)), random)
            codes, reals = codes[:, : len(schema)], reals[:, : len(schema)]
        else:
            codes, reals = _forward(self.dag, self.parameters(), rows, random)
        return Table(schema, codes.astype(code_dtype(schema.sizes)), reals)

    def _refuse_leaves(self, do: Given) -> None:
        """Refuse to draw rows in which a leaf family is set, as its column would not show that."""
        for _, family in self.dag.leaves:
            if family.variable.name in do:
                name = family.variable.name
                raise SchemaError(f"{name} has no effects; leave it out of do and set the column afterwards")

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
        from lacunary.infer.posterior import marginals_of

        # Rows that are asked once need not be laid out for sweeping first.
        distinct = rows.distinct
        try:
            found = marginals_of(self.dag, self.parameters(), rows.codes[distinct.first], sets)
        except TooWideError as why:
            from lacunary.infer.rows import sampled_instead

            return sampled_instead(self.dag, rows, why).marginals(self.parameters(), sets)
        return [posterior[distinct.inverse] for posterior in found]

    def _asked(self, names: Sequence[str]) -> list[int]:
        """Return where the variables stand that are asked about together in one row."""
        if len(names) == 1:
            return [self.dag.schema.index(names[0])]
        if not names:
            raise SchemaError("name at least one variable to ask about")
        if len(set(names)) < len(names):
            raise SchemaError(f"a variable is asked about twice: {', '.join(names)}")
        return [self.dag.schema.index(name) for name in names]

    def _asked_by_row(self, names: Sequence[str]) -> list[int]:
        """Return the same for every row of a table, in which continuous variables are asked about alone."""
        real = [name for name in names if len(names) > 1 and not self.dag.schema[name].discrete]
        if real:
            raise SchemaError(
                f"{real[0]} is continuous: in every row of a table ask about it alone; query answers about "
                "several in one row"
            )
        return self._asked(names)


def as_table(source: Any, schema: Schema) -> Table:
    """Return anything that holds rows as a table that a model over ``schema`` can use."""
    return _read(source, schema)


def as_source(given: Any, schema: Schema | None = None) -> Source:
    """Return anything that holds rows as a source, which a model over ``schema`` can use.

    A source stays where it is; a table, a frame, an array or a path becomes a table.
    """
    if hasattr(given, "fold") and hasattr(given, "prepare"):
        source: Source = given if schema is None else given.align(schema)
        return source
    return _read(given, schema)


def _read(given: Any, schema: Schema | None) -> Table:
    from lacunary.data.read import read  # questions about one row must not wait for what this needs

    return read(given, schema=schema)


def check_rows_drawn(rows: int, columns: int) -> None:
    """Refuse to draw more rows than fit into memory."""
    reserve(float(CELL) * rows * columns, f"{rows} rows of {columns} variables", "draw fewer at a time")


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
