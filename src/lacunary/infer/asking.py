"""`Engine`: a network that keeps being asked, while what is given is set, changed and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lacunary.data.schema import Label
from lacunary.errors import ImpossibleRowError, TooWideError
from lacunary.family.distribution import Answer, Distribution
from lacunary.infer.elimination import Families, Plan, Run, Tables, families_of, interpreted
from lacunary.infer.findings import Findings, Given
from lacunary.kernels import buckets
from lacunary.maths.arrays import Array

if TYPE_CHECKING:
    from lacunary.infer.answers import Answers

__all__ = ["Eliminator", "Engine", "impossible"]

CHEAP = 50_000
"""Cells up to which it is checked that evidence which does not bear on a question is possible."""


class Eliminator:
    """A discrete network's tables, ready to be asked by elimination."""

    def __init__(self, model: Answers) -> None:
        self.families: Families = families_of(model.dag)
        theta = model.parameters()
        held: tuple[Any, Tables] | None = model.__dict__.get("_tables_as_arrays")
        if held is None or held[0] is not theta:
            held = (theta, Tables.of(self.families, theta))
            model.__dict__["_tables_as_arrays"] = held
        self.tables = held[1]

    def joint(self, where: list[int], findings: Findings) -> Array | None:
        """Return the joint posterior of variables; zeros if impossible, None if digits were lost."""
        codes, seen, soft = self.pattern(findings)
        tables = self.tables.believing(self.families, findings.likelihoods)
        plan = self.families.plan([v for v in where if not seen[v]], seen, soft)
        run = plan.run(codes, tables)
        found = run.joint(codes, tables)
        if run.lost or (found.sum() == 0 and self._was_positive(plan)):
            return None
        possible = self._rest_is_possible(plan, codes, seen, soft, tables)
        if possible is None:
            return None
        found = found * possible
        return self._with_seen(where, findings, found)

    def _with_seen(self, where: list[int], findings: Findings, found: Array) -> Array:
        """Put targets that are given themselves back as axes."""
        sizes = self.families.sizes
        out = np.zeros([sizes[v] for v in where])
        at = tuple(findings.states.get(v, slice(None)) for v in where)
        out[at] = found.reshape([sizes[v] for v in where if v not in findings.states])
        return out

    def _was_positive(self, plan: Plan) -> bool:
        """Whether no family of a plan has a zero, so that a zero came of rounding."""
        used = np.flatnonzero(plan.home[: len(self.families.sizes)] != -1)
        return not self.tables.zero[used].any()

    def pattern(self, findings: Findings) -> tuple[Any, Any, Any]:
        """Return states (−1 if not given), and which variables are seen or have a likelihood."""
        many = len(self.families.sizes)
        codes, soft = np.full(many, -1, np.int64), np.zeros(many, np.bool_)
        for v, state in findings.states.items():
            codes[v] = state
        soft[list(findings.likelihoods)] = True
        return codes, codes >= 0, soft

    def _rest_is_possible(self, plan: Plan, codes: Any, seen: Any, soft: Any, tables: Tables) -> bool | None:
        """Whether evidence outside a plan is possible, if that is cheap to say; None if numbers were lost."""
        if not (seen | soft).any():
            return True
        used = plan.home[: len(seen)] != -1
        behind = self.families.ancestors(seen | soft)
        if not (self.tables.zero & behind & ~used).any():
            return True
        rest = self.families.plan([], seen, soft, behind=behind)
        if rest.cells > CHEAP:
            return True
        run = rest.run(codes, tables)
        return None if run.lost else run.log_evidence > -np.inf

    def log_evidence(self, findings: Findings) -> float | None:
        """Return the logarithm of the probability of what is given; None if numbers were lost."""
        codes, seen, soft = self.pattern(findings)
        tables = self.tables.believing(self.families, findings.likelihoods)
        plan = self.families.plan([], seen, soft, behind=self.families.ancestors(seen | soft))
        run = plan.run(codes, tables)
        return None if run.lost or run.log_evidence == -np.inf else run.log_evidence

    def explanation(self, findings: Findings) -> Any:
        """Return the jointly most probable state of every variable; None if numbers were lost or none is."""
        codes, seen, soft = self.pattern(findings)
        tables = self.tables.believing(self.families, findings.likelihoods)
        plan = self.families.plan([], seen, soft, every=True)
        run = Run(plan, tables, most=True)
        run.collect(codes, tables)
        if run.lost or run.log_evidence == -np.inf:
            return None
        buckets.explain(self.families.sizes, plan.axis_at, plan.axis, plan.message_at, run.choice, codes)
        return codes


class Engine:
    """Questions to one model while what is given is set, changed and taken back.

    Made by `Network.engine`. What is given may be a state, several states of which it is one, or a likelihood
    of each state (soft evidence). Only what a change touches is worked out again. Where exact inference does
    not fit, answers are drawn and have an ``error``, which an `ApproximationWarning` announces.

    >>> import lacunary as lac
    >>> engine = lac.asia().engine({"smoke": "yes"})
    >>> round(engine.marginal("lung")["yes"], 3)
    0.1
    >>> engine.set("xray", {"yes": 0.9, "no": 0.2})
    >>> engine.retract("smoke")
    >>> round(engine.marginals()["lung"]["yes"], 4)
    0.1758
    """

    _run: Run | None
    _posteriors: dict[str, Answer] | None

    def __init__(self, model: Answers, given: Given | None = None) -> None:
        self.model = model
        self._findings = Findings.of(model.dag.schema, given)
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "_findings": self._findings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __repr__(self) -> str:
        return f"<Engine: {self.model!r}, given {self.given or 'nothing'}>"

    @property
    def given(self) -> dict[str, Any]:
        """What is given, by name."""
        return self._findings.shown(self.model.dag.schema)

    def set(self, name: str | Given, finding: Any = None) -> None:
        """Let something be known: ``set("smoke", "yes")``, or several findings as a mapping.

        A finding is a state (a value, of a continuous variable), a set or list of states, or a mapping from
        states to likelihoods; it takes the place of what was known of its variable.
        """
        schema = self.model.dag.schema
        every: Given = name if not isinstance(name, str) else {name: finding}
        Findings.of(schema, every)  # all of them are checked before any is taken
        for one, found in every.items():
            v = schema.index(one)
            before = self._kind(v)
            self._findings.add(schema, one, found)
            self._touch(v, before == self._kind(v))

    def retract(self, *names: str) -> None:
        """Take back what is known of some variables; of all, if none is named."""
        schema = self.model.dag.schema
        for v in [schema.index(name) for name in names] if names else range(len(schema)):
            before = self._kind(v)
            self._findings.drop(v)
            self._touch(v, before == self._kind(v))

    def query(self, *targets: str) -> Answer:
        """Return the joint posterior of some variables; see `Network.query`."""
        if len(targets) == 1 and self._posteriors is not None and self.model.dag.schema[targets[0]].discrete:
            return self.marginal(targets[0])
        return self.model._answered(targets, self._findings)

    def marginal(self, name: str) -> Answer:
        """Return the posterior of one variable."""
        if self._posteriors is None:
            return self.query(name)
        return self.marginals()[name]

    def marginals(self) -> dict[str, Answer]:
        """Return the posterior of every variable, by name."""
        if self._posteriors is None:
            self._posteriors = self._worked_out()
        return dict(self._posteriors)

    @property
    def log_probability(self) -> float:
        """The logarithm of the probability of what is given, of its density if values are; −∞ if none."""
        return self.model._log_given(self._findings)

    @property
    def probability(self) -> float:
        """The probability of what is given."""
        return float(np.exp(self.log_probability))

    def explain(self) -> dict[str, Label]:
        """Return the jointly most probable states of all variables."""
        return self.model._explained(self._findings)

    def _kind(self, v: int) -> int:
        known = self._findings
        return 1 if v in known.states else 2 if v in known.likelihoods else 3 if v in known.values else 0

    def _forget(self) -> None:
        self._run = self._posteriors = None

    def _touch(self, v: int, same: bool) -> None:
        """Mark what a change in a variable's finding concerns; another pattern needs another plan."""
        if not same:
            return self._forget()
        self._posteriors = None
        if self._run is not None:
            home = self._run.plan.home
            touched = home[[v, *self.model.dag.child_indices[v], len(home) // 2 + v]]
            self._run.stale[touched[touched >= 0]] = True
        return None

    def _worked_out(self) -> dict[str, Answer]:
        dag = self.model.dag
        if dag.continuous:
            return {name: self.model._answered((name,), self._findings) for name in dag.names}
        try:
            with interpreted():
                found = self._propagated()
        except TooWideError as why:
            every = self.model._sampled([[v] for v in range(len(dag.schema))], self._findings, why)
            return dict(zip(dag.names, every, strict=True))
        if found is None:
            return {name: self.model._answered((name,), self._findings) for name in dag.names}
        for v, state in self._findings.states.items():
            found[v] = np.eye(dag.schema.sizes[v])[state]
        pairs = zip(dag.schema, found, strict=True)
        return {variable.name: Distribution((variable,), p) for variable, p in pairs}

    def _propagated(self) -> list[Array] | None:
        """Return all posteriors; None if numbers were lost, or nothing is possible."""
        asked = Eliminator(self.model)
        codes, seen, soft = asked.pattern(self._findings)
        tables = asked.tables.believing(asked.families, self._findings.likelihoods)
        if self._run is None:
            plan = asked.families.plan([], seen, soft, every=True)
            self._run = Run(plan, tables, keep=True)
        self._run.collect(codes, tables)
        if self._run.lost or self._run.log_evidence == -np.inf:
            return None
        return self._run.marginals()


def impossible(findings: Findings, model: Answers) -> ImpossibleRowError:
    """Return the error that what is given cannot be."""
    return ImpossibleRowError(f"what is given has probability zero: {findings.shown(model.dag.schema)}")
