"""The verb `search`: find the graph as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.fingerprint import fingerprint
from lacunary.data.source import Source, one_table
from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.evidence.score import METHODS as ESTIMATES
from lacunary.evidence.score import score as weigh
from lacunary.exactness import announced
from lacunary.family.registry import with_families
from lacunary.infer.answers import as_source
from lacunary.infer.belief import BDeu
from lacunary.infer.empirical import stated
from lacunary.infer.scale import check_squares
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.structure.choose import criterion_of, fit_prior, score_of
from lacunary.structure.constraints import ArcsGiven, Constraints
from lacunary.structure.default import default_method
from lacunary.structure.discrete import BD
from lacunary.structure.hidden import Trial, trials, with_hidden
from lacunary.structure.method import METHODS, SearchMethod, check_start, method_of, run, strengths
from lacunary.structure.network_run import CONVERGED, NAME, NetworkLearner, NetworkRun
from lacunary.structure.networks import Networks
from lacunary.structure.plan import Plan
from lacunary.structure.prior import DEFAULT, PriorGiven, StructurePrior
from lacunary.structure.reinsert import Reinsert
from lacunary.structure.result import SCHEDULE, StructuralResult
from lacunary.structure.resume import plan_settings
from lacunary.structure.schedule import Schedule, parse_schedule
from lacunary.structure.score import FamilyScore, total
from lacunary.structure.walk import Trail, WatchSearch, dag_of

__all__ = ["METHODS", "SearchMethod", "method_of", "run", "search"]

MOST_ROUNDS = 200
"""Rounds after which a run that has not converged is broken off; stopping by structures need not end."""


@budgeted
@announced
def search(
    table: Any,
    *,
    score: str | FamilyScore | None = None,
    prior: Any = None,
    method: str | SearchMethod | None = None,
    start: Dag | Trail | str | None = None,
    structure_prior: PriorGiven = DEFAULT,
    hidden: Any = None,
    schedule: str | None = None,
    until: Literal["score", "structure"] | None = None,
    escapes: int | None = None,
    choose: str | None = None,
    stop: Stop | None = None,
    starts: int | None = None,
    required: ArcsGiven = (),
    forbidden: ArcsGiven = (),
    max_parents: int | None = None,
    tiers: Sequence[Sequence[str]] | None = None,
    family: str | Mapping[str, str] | None = None,
    watch: WatchSearch | None = None,
    rng: int | np.random.Generator = 0,
    exact: bool = False,
    memory: str | float | None = None,
) -> StructuralResult:
    """Return the graph that explains a table best, as far as a search finds it.

    Every row counts. Where values are missing, or variables hidden, it takes turns with EM (structural EM,
    TMCH98 section 5): EM fills the holes with what the present network expects, a search on the expected
    statistics finds a better graph, and again. Without holes they are what was counted, and one search is
    all. Variables may be discrete, continuous or both. The same call gives the same graph.

    Parameters
    ----------
    table
        The rows: a table, a frame, an array or a path.
    score
        "bdeu", "k2", "bd" (the evidence under any ``prior``) or "bic" for discrete variables; "bge" or
        "bic" for continuous ones; "conditional-gaussian" or "bic" where both occur. By default the first of
        each. All are in nats, higher is better. Or a `FamilyScore`, which is asked as it is, holes or not.
    prior
        The prior of tables, such as ``bdeu(10)``; given without a score, "bd" is meant. With
        continuous variables a `NormalWishart`, by default the table's own (`empirical_prior`).
    method
        "exact" (to about 20 variables), "tree", "reinsert", "greedy", "tabu", "best-first", "anneal"; or one
        of `Reinsert`, `Greedy`, `Tabu`, `BestFirst`, `Anneal` with settings. By default the best graph there
        is: "tree" where variables may have one parent, "exact" where that takes seconds (to 12 to 15
        variables), by an estimate; else "reinsert", which between the steps of EM climbs, and takes variables
        out and puts them back only where that changes nothing.
    start
        The graph to start from, by default one without arcs but those from hidden variables to all others;
        "empty"; "tree" for the best tree; or a `Trail`, as a `Checkpoint` keeps it, to go on from.
    structure_prior
        How probable graphs are beforehand: "beta-binomial" (the default), every number of links as
        probable as any other; "links", each charged log(n − 1) nats; a number, the nats each link is charged;
        "uniform", or None, which says nothing. Links of hidden variables are free. The search maximises the
        score and the log prior together; the result has them apart.
    hidden
        Hidden variables and their numbers of states, ``{"H": 3}``; several numbers, ``{"H": [1, 2, 3]}``,
        are all tried, where one state stands for no such variable.
    schedule
        How EM and search take turns, by default ``((EM)^10 Ec S* M)*``; see `parse_schedule`.
    until
        "score" (the default): until the score of a round does not rise, then the graph before is the result;
        "structure": until the graph does not change.
    escapes
        How often, at most, a run that has converged by its score is started again from a larger graph, as
        long as that leads to a higher score; by default 3, and 0 is the algorithm as published.
    choose
        By which estimate a number of hidden states is chosen, any that `lacunary.score` knows; by default the
        search's own: "cheeseman-stutz", or "bic".
    stop, starts
        When EM has converged; from how many draws it begins where something is hidden, by default 10.
    required, forbidden
        Arcs that must and must not be: ``"A -> B"``, pairs, or several.
    max_parents
        How many parents a variable may have.
    tiers
        Groups of names from causes to effects: no arc goes back to an earlier group.
    family
        Families other than a table or a linear regression, by name, or one for every variable: "poisson"
        for counts.
    watch
        Called after every step with a `SearchProgress`; a true answer ends the search.
    rng
        Seed or generator of starts, and of the searches that draw.
    exact, memory
        As in `lacunary.fit`.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(2000, rng=0), 0.05, rng=0)
    >>> found = lac.search(rows, max_parents=3)
    >>> ("smoke", "bronc") in found.dag.arcs or ("bronc", "smoke") in found.dag.arcs
    True
    """
    rows = as_source(table)
    if family is not None:
        rows = rows.mapped(partial(with_family, family))
    if not rows.size > 0:
        raise TableError("the table has no rows that count; there is nothing to learn a graph from")
    check_start(start)
    if until not in (None, "score", "structure"):
        raise ParameterError(f"until is 'score' or 'structure', not {until!r}")
    limits: dict[str, Any] = {
        "required": required, "forbidden": forbidden, "max_parents": max_parents, "tiers": tiers
    }  # fmt: skip
    turns: dict[str, Any] = {
        "schedule": _as_published() if schedule is None else parse_schedule(schedule),
        "until": until or "score",
        "escapes": _escapes(escapes, until),
        "rounds": MOST_ROUNDS,
        "weigh": True,
        "late": True,
    }
    many = 10 if starts is None else starts
    way = None if method is None else method_of(method)
    asked = _Asked(
        score, prior, structure_prior, way, start, stop, many, watch, rng, limits, turns, bool(hidden)
    )
    choices = trials(hidden)
    if len(choices) == 1:
        return asked.answer(with_hidden(rows, choices[0]))
    if isinstance(start, Trail):
        raise ParameterError("a run can only be taken up with one number of states for each hidden variable")
    own = "bic" if score == "bic" else "cheeseman-stutz"
    return _best(asked.answer, choices, own if choose is None else choose, own, rows)


@cache
def _as_published() -> Schedule:
    return parse_schedule(SCHEDULE)


def with_family(family: str | Mapping[str, str], table: Table) -> Table:
    return replace(table, schema=with_families(table.schema, family))


def _escapes(escapes: int | None, until: str | None) -> int:
    if escapes is None:
        escapes = 3
    if isinstance(escapes, bool) or int(escapes) != escapes or escapes < 0:
        raise ParameterError(f"escapes must be a whole number, zero or more, not {escapes!r}")
    return 0 if until == "structure" else int(escapes)


@dataclass(frozen=True, eq=False)
class _Asked:
    """A question as `search` was asked it, for a table with the hidden variables of one trial."""

    score: str | FamilyScore | None
    prior: Any
    structure_prior: PriorGiven
    method: SearchMethod | None
    start: Dag | Trail | str | None
    stop: Stop | None
    starts: int
    watch: WatchSearch | None
    rng: int | np.random.Generator
    limits: dict[str, Any]
    turns: dict[str, Any]
    clusters: bool = False

    def answer(self, source: Source) -> StructuralResult:
        """Return the best graph met.

        What is expected of rows without holes does not depend on the network: one search is all there is
        to do, unless a schedule or a run to go on from says otherwise. A table is counted by its own score.
        """
        _check_columns(source)
        constraints = Constraints.of(source.schema, **self.limits)
        way = self.method or default_method(source, constraints)
        plan = Plan(
            constraints,
            StructurePrior.of(self.structure_prior, constraints),
            method=way,
            refine="always" if isinstance(way, Reinsert) else "never",
            stop=self.stop or CONVERGED,
            **self.turns,
        )
        if self.score is not None and not isinstance(self.score, str):
            kept = cache(partial(self._fingerprint, source, plan, type(self.score).__name__, self.prior))
            self._check_ready(self.score, source)
            prior = self.score.prior if isinstance(self.score, BD) else None
            return self._searched(plan, source, self.score, prior, kept)
        criterion, belief = criterion_of(source.schema, self.score, self.prior)
        kept = cache(partial(self._fingerprint, source, plan, criterion, belief))
        belief = stated(belief, source, default=BDeu(1.0), clusters=self.clusters)
        resumed = isinstance(self.start, Trail) and self.start.method == NAME
        complete = not (source.facts.holes.any() or resumed) and plan.schedule == _as_published()
        if complete and (table := one_table(source)) is not None:
            prior = None if criterion == "bic" else belief
            return self._searched(plan, source, score_of(table, self.score, prior), belief, kept)
        networks = Networks(source, belief, criterion, keep=2)
        learner = NetworkLearner(networks, self.starts, plan.stop)
        return NetworkRun(learner, plan, self.watch, kept).result(
            self.start, self.rng, source, fit_prior(source.schema, belief)
        )

    def _fingerprint(self, source: Source, plan: Plan, score: str, prior: Any) -> dict[str, str]:
        """Return what must stay the same for a search to go on, by name."""
        return fingerprint(source, score=score, prior=prior) | plan_settings(plan)

    def _searched(
        self, plan: Plan, table: Source, score: FamilyScore, belief: Any, kept: Callable[[], dict[str, str]]
    ) -> StructuralResult:
        """Return what one search finds with a score that stays the same."""
        walk, interrupted = run(
            plan.method,
            score,
            plan.constraints,
            self.start,
            prior=plan.prior,
            watch=self.watch,
            rng=self.rng,
            fingerprint=kept,
        )
        known = walk.board.score
        return StructuralResult(
            dag=dag_of(table.schema, walk.best),
            score=total(known, walk.best),
            path=tuple(walk.path),
            strengths=strengths(known, table.schema.names, walk.best),
            method=plan.method.name,
            interrupted=interrupted,
            table=table,
            prior=fit_prior(table.schema, belief),
            converged=not interrupted,
            structure_prior=plan.prior.name,
            log_structure_prior=plan.log_prior([walk.best]),
            first=(walk.first, total(known, walk.first)),
        )

    def _check_ready(self, score: FamilyScore, table: Source) -> None:
        if self.prior is not None:
            raise ParameterError("a score that is given ready-made has its own prior; leave prior out")
        if score.variables != len(table.schema):
            raise ParameterError(
                f"the score knows {score.variables} variables, and there are {len(table.schema)}"
            )


def _check_columns(source: Source) -> None:
    for variable, shown in zip(source.schema, source.facts.shown, strict=True):
        if not (shown or variable.hidden):
            raise SchemaError(
                f"nothing is observed of {variable.name}; leave the column out, or name it as hidden"
            )
    check_squares(source)


def _best(
    answer: Callable[[Source], StructuralResult], choices: list[Trial], choose: str, own: str, table: Source
) -> StructuralResult:
    """Try every number of hidden states, and keep the best by an estimate; ``own`` is the search's score."""
    if choose not in ESTIMATES:
        raise ParameterError(f"choose is one of {', '.join(map(repr, ESTIMATES))}, not {choose!r}")
    found: list[tuple[float, Trial, StructuralResult]] = []
    for trial in choices:
        result = answer(with_hidden(table, trial))
        value = result.score
        if choose != own:
            fitted = fit(result.dag, table, prior=result.prior, initial=result.network)
            value = weigh(fitted, table, choose, prior=result.prior).value
        found.append((value, trial, result))
        if result.interrupted:
            break
    _, _, best = max(found, key=lambda each: each[0] + each[2].log_structure_prior)
    return replace(
        best, trials={trial: value for value, trial, _ in found}, interrupted=found[-1][2].interrupted
    )
