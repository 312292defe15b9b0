"""Structural EM: find the graph from a table with holes, by turns of EM and search (TMCH98 section 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lacunary.data.read import read
from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.evidence.score import METHODS
from lacunary.evidence.score import score as weigh
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.infer.network import Network
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag
from lacunary.structure.choose import SCORES, kind_of, rule_of
from lacunary.structure.gaussian import Normal
from lacunary.structure.hidden import Hidden, Trial, start_of, trials, with_hidden
from lacunary.structure.result import SearchResult
from lacunary.structure.rules import ArcsGiven, Rules
from lacunary.structure.schedule import parse_schedule
from lacunary.structure.search import SearchMethod, method_of
from lacunary.structure.structural_em_learner import Learner, learner_of
from lacunary.structure.structural_em_run import NAME, Run
from lacunary.structure.structural_em_state import Round, Turns
from lacunary.structure.walk import Trail, WatchSearch

__all__ = ["SCHEDULE", "StructuralResult", "structural_em"]

SCHEDULE = "((EM)^10 Ec S* M)*"
"""The schedule TMCH98 found to work well on a variety of problems."""


@dataclass(frozen=True, eq=False, repr=False)
class StructuralResult(SearchResult):
    """What structural EM found.

    Attributes
    ----------
    rounds
        The initial graph, and the graph after each search, with their scores.
    converged
        Whether the stopping rule was met.
    schedule
        The schedule, as text.
    theta
        Parameters of highest posterior density for the graph.
    trials
        Where numbers of hidden states were tried: the score of each choice, by the states of each hidden
        variable.
    """

    rounds: tuple[Round, ...] = ()
    converged: bool = True
    schedule: str = SCHEDULE
    theta: NDArray[np.float64] | None = None
    trials: Mapping[Trial, float] | None = None

    @property
    def chosen(self) -> dict[str, int]:
        """The states of each hidden variable that was tried in the choice of the highest score."""
        best: tuple[float, Trial] = max(((v, t) for t, v in (self.trials or {}).items()), default=(0.0, ()))
        return dict(best[1])

    @cached_property
    def network(self) -> Network:
        """The graph with the parameters that EM climbed to."""
        assert self.theta is not None
        return Network(self.dag, self.theta)


def structural_em(
    table: Any,
    *,
    score: str | None = None,
    prior: Normal | Prior | None = None,
    method: str | SearchMethod = "greedy",
    start: Dag | Trail | None = None,
    hidden: Hidden | None = None,
    schedule: str | None = None,
    until: Literal["score", "structure"] = "score",
    escapes: int = 3,
    choose: str = "cheeseman-stutz",
    required: ArcsGiven = (),
    forbidden: ArcsGiven = (),
    max_parents: int | None = None,
    tiers: Sequence[Sequence[str]] | None = None,
    stop: Stop | None = None,
    starts: int = 10,
    watch: WatchSearch | None = None,
    rng: int | np.random.Generator = 0,
) -> StructuralResult:
    """Look for the graph that explains a table with holes best, by turns of EM and search.

    EM fills the holes with what the present network expects; a search on the expected statistics finds a
    better graph; and again (TMCH98 section 5). Every row counts. Without holes it is a plain search.
    Variables may be discrete, continuous or both.

    Parameters
    ----------
    table, required, forbidden, max_parents, tiers
        As of `search`.
    score, prior
        "bdeu", "k2", "bd" or "bic" on expected counts, "bge" or "bic" on expected moments,
        "conditional-gaussian" or "bic" where both kinds occur; and the rule for hyperparameters.
    method
        The search behind ``S*``. With "reinsert" it climbs greedily, and only where that leaves the graph as
        it is are variables taken out and put back.
    start
        The initial graph; by default an arc from each hidden variable to every observable, and no other.
        Or the `Trail` of an earlier run, which then goes on as if it had never been left.
    hidden
        Hidden variables and their numbers of states, ``{"H": 3}``; several numbers, ``{"H": [1, 2, 3]}``,
        are all tried, where one state stands for no such variable.
    schedule
        How EM and search take turns, by default ``((EM)^10 Ec S* M)*``; see `parse_schedule`.
    until
        "score": until the Cheeseman–Stutz score does not rise, then the graph before is the result;
        "structure": until the graph does not change.
    escapes
        How often, at most, a run that has converged by its score is started again from a larger graph, as
        long as that leads to a higher score; 0 is the algorithm as published. See docs/structural-em.md.
    choose
        By which estimate a number of hidden states is chosen; any that `score` knows.
    stop, starts
        When EM has converged; from how many draws it begins where something is hidden.
    watch
        Called after every move and every round; a true answer ends the search.
    rng
        Seed or generator.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(1000, rng=0), 0.1, rng=0)
    >>> found = structural_em(rows, max_parents=3)
    >>> found.rounds[-1].cheeseman_stutz >= found.rounds[0].cheeseman_stutz
    True
    """
    rows = read(table)
    if not rows.size > 0:
        raise TableError("the table has no rows that count; there is nothing to learn a graph from")
    if until not in ("score", "structure"):
        raise ParameterError(f"until is 'score' or 'structure', not {until!r}")
    if isinstance(start, str):
        raise ParameterError("structural EM starts from a Dag or a Trail; leave start out for the usual one")
    turns = Turns(
        parse_schedule(SCHEDULE if schedule is None else schedule),
        until,
        method_of(method),
        _escapes(escapes, until),
    )
    criterion, belief = _criterion(rows, score, prior)
    limits: dict[str, Any] = {
        "required": required, "forbidden": forbidden, "max_parents": max_parents, "tiers": tiers
    }  # fmt: skip

    def one(trial: Trial) -> StructuralResult:
        full = with_hidden(rows, trial)
        _check(full)
        learner = learner_of(full, criterion, belief, starts)
        learner.stop = stop or learner.stop
        rules = Rules.of(full.schema, **limits)
        run = Run(turns, learner, rules, np.random.default_rng(rng), watch)
        return _run(run, learner, full, start, rule_of(full, belief))

    choices = trials(hidden)
    if len(choices) == 1:
        return one(choices[0])
    if isinstance(start, Trail):
        raise ParameterError("a run can only be taken up with one number of states for each hidden variable")
    return _best(one, choices, choose, rule_of(rows, belief), rows)


def _escapes(escapes: int, until: str) -> int:
    if isinstance(escapes, bool) or int(escapes) != escapes or escapes < 0:
        raise ParameterError(f"escapes must be a whole number, zero or more, not {escapes!r}")
    return int(escapes) if until == "score" else 0


def _criterion(table: Table, score: str | None, prior: Any) -> tuple[Literal["bd", "bic"], Any]:
    """Return how families are scored on expected statistics, and the prior, which EM needs in any case."""
    kind = kind_of(table)
    if score is None:
        score = "bd" if prior is not None and kind == "discrete" else SCORES[kind][0]
    if score not in SCORES[kind]:
        known = ", ".join(map(repr, SCORES[kind]))
        raise ParameterError(f"with holes the score of {kind} variables is one of {known}, not {score!r}")
    if score == "bdeu" and not isinstance(prior, BDeu | None):
        raise ParameterError("bdeu takes a prior such as bdeu(10); for any other prior use score='bd'")
    if score == "k2" and prior not in (None, Dirichlet(1.0)):
        raise ParameterError("k2 has its own prior; for any other use score='bd'")
    default = Dirichlet(1.0) if score == "k2" else BDeu(1.0)
    return ("bic" if score == "bic" else "bd"), default if prior is None else prior


def _check(table: Table) -> None:
    for place, variable in enumerate(table.schema):
        if not variable.hidden and table.holes[:, place].all():
            raise SchemaError(
                f"nothing is observed of {variable.name}; leave the column out, or name it as hidden"
            )


def _run(
    run: Run, learner: Learner, table: Table, start: Dag | Trail | None, prior: Prior
) -> StructuralResult:
    """Carry a run out, from a graph or from where another was left."""
    if isinstance(start, Trail):
        run.resume(start)
    else:
        run.begin(start_of(run.rules, start))
    run.go()
    state = run.state
    return StructuralResult(
        dag=state.best,
        score=max(r.cheeseman_stutz for r in state.rounds if r.arrows == str(state.best)),
        path=state.path,
        strengths=_strengths(learner, state.best, state.best_theta),
        method=NAME,
        interrupted=run.interrupted,
        table=table,
        prior=prior,
        rounds=state.rounds,
        converged=state.converged,
        schedule=str(run.turns.schedule),
        theta=learner.network(state.best, state.best_theta).theta,
    )


def _strengths(learner: Learner, dag: Dag, theta: NDArray[np.float64]) -> dict[Arc, float]:
    """Return what the score on expected statistics would lose without each arc, in nats."""
    score = learner.complete(dag, theta)
    out: dict[Arc, float] = {}
    for child, parents in enumerate(dag.parent_indices):
        here = score.family(child, parents)
        for position, parent in enumerate(parents):
            rest = parents[:position] + parents[position + 1 :]
            out[dag.names[parent], dag.names[child]] = here - score.family(child, rest)
    return out


def _best(
    one: Callable[[Trial], StructuralResult], choices: list[Trial], choose: str, prior: Prior, table: Table
) -> StructuralResult:
    """Try every number of hidden states, and keep the best by an estimate of the evidence."""
    if choose not in METHODS:
        raise ParameterError(f"choose is one of {', '.join(map(repr, METHODS))}, not {choose!r}")
    found: list[tuple[float, Trial, StructuralResult]] = []
    for trial in choices:
        result = one(trial)
        value = result.score
        if choose != "cheeseman-stutz":
            fitted = fit(result.dag, table, prior=prior, initial=result.network)
            value = weigh(fitted, table, choose, prior=prior).value
        found.append((value, trial, result))
        if result.interrupted:
            break
    _, _, best = max(found, key=lambda each: each[0])
    return replace(
        best, trials={trial: value for value, trial, _ in found}, interrupted=found[-1][2].interrupted
    )
