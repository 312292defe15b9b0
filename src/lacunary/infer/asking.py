"""`Engine`: a network that keeps being asked, while what is given is set, changed and taken back."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunary.data.schema import Label
from lacunary.errors import ImpossibleRowError, TooWideError
from lacunary.exactness import exactly
from lacunary.family.distribution import Answer, Distribution
from lacunary.infer.elimination import Run, Tables, families_of, interpreted
from lacunary.infer.findings import Findings, Given
from lacunary.kernels import buckets
from lacunary.kernels.orders import OPEN, SOFT
from lacunary.kernels.promote import in_use
from lacunary.kernels.questions import IMPOSSIBLE, LOST
from lacunary.maths.arrays import Array
from lacunary.maths.drawn import exponential

if TYPE_CHECKING:
    from lacunary.infer.answers import Answers

__all__ = ["Eliminator", "Engine", "impossible"]


class Eliminator:
    """A discrete network's tables, ready to be asked by elimination."""

    def __init__(self, model: Answers) -> None:
        self.model, self.families = model, families_of(model.dag)
        theta = model.parameters()
        held: tuple[Any, Tables] | None = model.__dict__.get("_tables_as_arrays")
        if held is None or held[0] is not theta:
            held = (theta, Tables.of(self.families, theta))
            model.__dict__["_tables_as_arrays"] = held
        self.tables = held[1]

    def joint(self, where: list[int], findings: Findings) -> Array | None:
        """Return the joint posterior of variables; None if digits were lost. Refuse what cannot be."""
        states, sizes = findings.states, self.families.layout.sizes
        codes, pattern, tables = self.known(findings)
        targets = [v for v in where if v not in states]
        status, found = self.families.ask(targets, codes, pattern, tables)
        if status == LOST:
            return None
        if status == IMPOSSIBLE:
            raise impossible(findings, self.model)
        if len(where) == len(targets):
            return found if len(where) == 1 else found.reshape([sizes[v] for v in where])
        out = np.zeros([sizes[v] for v in where])  # targets that are given themselves are axes, too
        at = tuple(states.get(v, slice(None)) for v in where)
        out[at] = found.reshape([sizes[v] for v in targets])
        return out

    def known(self, findings: Findings) -> tuple[Any, Any, Tables]:
        """Return what is given, as elimination takes it: codes, their pattern, and the tables."""
        codes = np.full(len(self.families.sizes), OPEN, np.int64)
        for v, state in findings.states.items():
            codes[v] = state
        if not findings.likelihoods:
            return codes, frozenset(findings.states), self.tables
        for v in findings.likelihoods:
            codes[v] = SOFT
        pattern = (frozenset(findings.states), frozenset(findings.likelihoods))
        return codes, pattern, self.tables.believing(self.families, findings.likelihoods)

    def log_evidence(self, findings: Findings) -> float | None:
        """Return the logarithm of the probability of what is given; None if numbers were lost."""
        codes, pattern, tables = self.known(findings)
        run = Run(self.families.plan(codes, pattern))
        run.collect(codes, tables)
        return None if run.lost or run.log_evidence == -np.inf else run.log_evidence

    def explanation(self, findings: Findings) -> Any:
        """Return the jointly most probable state of every variable; None if numbers were lost or none is."""
        codes, pattern, tables = self.known(findings)
        plan = self.families.plan(codes, pattern, every=True)
        run = Run(plan, most=True)
        run.collect(codes, tables)
        if run.lost or run.log_evidence == -np.inf:
            return None
        in_use(buckets).explain(self.families.sizes, plan.packed, run.choice, codes)
        return codes


class Engine:
    """Questions to one model while what is given is set, changed and taken back.

    Made by `Network.engine`. What is given may be a state, several states of which it is one, or a likelihood
    of each state (soft evidence). Only what a change touches is worked out again. Where exact inference does
    not fit, answers are drawn and have an ``error``, which an `ApproximationWarning` announces; with
    ``exact`` they are refused with a `TooWideError`.

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

    def __init__(self, model: Answers, given: Given | None = None, exact: bool = False) -> None:
        self.model, self.exact = model, exact
        self._findings = Findings.of(model.dag.schema, given)
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "exact": self.exact, "_findings": self._findings}

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
        every: Given = name if not isinstance(name, str) else {name: finding}
        new = Findings.of(self.model.dag.schema, every)  # all of them are checked before any is taken
        same = [(v, new.kind(v) == self._findings.kind(v)) for v in new.known]
        self._findings.take(new)
        for v, alike in same:
            self._touch(v, alike)

    def retract(self, *names: str) -> None:
        """Take back what is known of some variables; of all, if none is named."""
        schema, known = self.model.dag.schema, self._findings
        for v in [schema.index(name) for name in names] if names else known.known:
            if known.kind(v):
                known.drop(v)
                self._touch(v, False)

    def query(self, *targets: str) -> Answer:
        """Return the joint posterior of some variables; see `Network.query`."""
        if len(targets) == 1 and self._posteriors is not None and self.model.dag.schema[targets[0]].discrete:
            return self.marginal(targets[0])
        with exactly(self.exact):
            return self.model._answered(targets, self._findings)

    def marginal(self, name: str) -> Answer:
        """Return the posterior of one variable."""
        if self._posteriors is None:
            return self.query(name)
        return self.marginals()[name]

    def marginals(self) -> dict[str, Answer]:
        """Return the posterior of every variable, by name."""
        if self._posteriors is None:
            with exactly(self.exact):
                self._posteriors = self._worked_out()
        return dict(self._posteriors)

    @property
    def log_probability(self) -> float:
        """The logarithm of the probability of what is given, of its density if values are; −∞ if none."""
        with exactly(self.exact):
            return self.model._log_given(self._findings)

    @property
    def probability(self) -> float:
        """The probability of what is given."""
        return exponential(self.log_probability)

    def explain(self) -> dict[str, Label]:
        """Return the jointly most probable states of all variables."""
        with exactly(self.exact):
            return self.model._explained(self._findings)

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
            from lacunary.infer import numbers  # discrete networks need not wait for what this needs

            with interpreted(), suppress(TooWideError):
                together = numbers.every_answer(self.model, self._findings)
                if together is not None:
                    return {name: together[v] for v, name in enumerate(dag.names)}
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
        codes, pattern, tables = asked.known(self._findings)
        if self._run is None:
            self._run = Run(asked.families.plan(codes, pattern, every=True), keep=True)
        self._run.collect(codes, tables)
        if self._run.lost or self._run.log_evidence == -np.inf:
            return None
        return self._run.marginals()


def impossible(findings: Findings, model: Answers) -> ImpossibleRowError:
    """Return the error that what is given cannot be."""
    return ImpossibleRowError(f"what is given has probability zero: {findings.shown(model.dag.schema)}")
