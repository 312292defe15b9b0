"""The verb `search`: find the graph as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal, Protocol

import numpy as np

from lacunary.data.read import read
from lacunary.errors import ParameterError, TableError
from lacunary.family.registry import with_families
from lacunary.learn.stop import Stop
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag
from lacunary.structure.anneal import Anneal
from lacunary.structure.best_first import BestFirst
from lacunary.structure.board import Board
from lacunary.structure.cache import Cache
from lacunary.structure.choose import rule_of, score_of
from lacunary.structure.climb import Greedy, Tabu
from lacunary.structure.discrete import BD
from lacunary.structure.exact import Exact
from lacunary.structure.reinsert import Reinsert
from lacunary.structure.result import SearchResult
from lacunary.structure.rules import ArcsGiven, Rules
from lacunary.structure.score import FamilyScore, Parents
from lacunary.structure.tree import Tree, best_forest
from lacunary.structure.walk import Halt, Trail, Walk, WatchSearch, dag_of

__all__ = ["METHODS", "SearchMethod", "method_of", "run", "search", "strengths"]


class SearchMethod(Protocol):
    """A way to search."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    def run(self, walk: Walk) -> None:
        """Walk over graphs until there is nothing more to do."""
        ...


METHODS: Mapping[str, Callable[[], SearchMethod]] = {
    "reinsert": Reinsert,
    "greedy": Greedy,
    "tabu": Tabu,
    "best-first": BestFirst,
    "anneal": Anneal,
    "exact": Exact,
    "tree": Tree,
}
"""The searches, by the names people call them."""


def search(
    table: Any,
    *,
    score: str | FamilyScore | None = None,
    prior: Any = None,
    method: str | SearchMethod | None = None,
    start: Dag | Trail | str | None = None,
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
) -> SearchResult:
    """Look for the graph that explains a table best.

    Every row counts. A table with missing values, or hidden variables, is searched by structural EM.
    The same call gives the same graph.

    Parameters
    ----------
    table
        The rows: a table, a frame, an array or a path.
    score
        "bdeu", "k2", "bd" (the evidence under any ``prior``) or "bic" for discrete variables; "bge" or
        "bic" for continuous ones; "conditional-gaussian" or "bic" where both occur; or a `FamilyScore`. By
        default the first of each. All are in nats, higher is better.
    prior
        The rule for hyperparameters, such as ``bdeu(10)``; given without a score, "bd" is meant. With
        continuous variables a `NormalWishart`, by default worth one row with their means and variances.
    method
        "reinsert", "greedy", "tabu", "best-first", "anneal", "exact" (to about 20 variables), "tree"; or one
        of `Reinsert`, `Greedy`, `Tabu`, `BestFirst`, `Anneal` with settings. By default "reinsert", and
        "greedy" between the steps of structural EM.
    start
        The graph to start from, by default without arcs; "tree" for the best tree; or a `Trail`, as a
        `Checkpoint` keeps it, to go on from.
    hidden, schedule, until, escapes, choose, stop, starts
        Hidden variables, and how structural EM goes about them and about missing values; as of
        `structural_em`. Any of them calls for structural EM, even where nothing is missing.
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
        Seed or generator of the searches that draw.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.asia().sample(2000, rng=0)
    >>> found = lac.search(rows, method="tabu", max_parents=3)
    >>> ("smoke", "bronc") in found.dag.arcs or ("bronc", "smoke") in found.dag.arcs
    True
    """
    rows = read(table)
    if family is not None:
        rows = replace(rows, schema=with_families(rows.schema, family))
    limits: dict[str, Any] = {
        "required": required,
        "forbidden": forbidden,
        "max_parents": max_parents,
        "tiers": tiers,
    }
    turns = {
        "hidden": hidden or None, "schedule": schedule, "until": until, "escapes": escapes,
        "choose": choose, "stop": stop, "starts": starts,
    }  # fmt: skip
    asked = {name: value for name, value in turns.items() if value is not None}
    if asked or rows.schema.hidden or rows.holes.any():
        module = import_module("lacunary.structure.structural_em")
        found: SearchResult = module.structural_em(
            rows, score=score, prior=prior, method="greedy" if method is None else method, start=start,
            watch=watch, rng=rng, **asked, **limits,
        )  # fmt: skip
        return found
    if not len(rows):
        raise TableError("the table has no rows; there is nothing to learn a graph from")
    way = method_of("reinsert" if method is None else method)
    family_score = score_of(rows, score, prior)
    rules = Rules.of(rows.schema, **limits)
    walk, interrupted = run(way, family_score, rules, start, watch=watch, rng=rng)
    return SearchResult(
        dag=dag_of(rows.schema, walk.best),
        score=walk.top,
        path=tuple(walk.path),
        strengths=strengths(walk),
        method=way.name,
        interrupted=interrupted,
        table=rows,
        prior=family_score.prior if isinstance(family_score, BD) else rule_of(rows, prior),
    )


def run(
    method: SearchMethod,
    score: FamilyScore,
    rules: Rules,
    start: Dag | Trail | str | None = None,
    *,
    watch: WatchSearch | None = None,
    rng: int | np.random.Generator = 0,
) -> tuple[Walk, bool]:
    """Search with any score; return the walk, and whether it was interrupted.

    An interrupt from the keyboard, or a true answer from ``watch``, ends the search with the best so far.
    """
    known = score if isinstance(score, Cache) else Cache(score)
    board = Board(known, rules, _first(known, rules, start))
    trail = start if isinstance(start, Trail) else None
    if trail is not None and trail.method != method.name:
        raise ParameterError(
            f"the search to go on from is {trail.method!r}, not {method.name!r}; name the same method"
        )
    walk = Walk(method.name, board, np.random.default_rng(rng), watch, trail)
    try:
        method.run(walk)
    except (KeyboardInterrupt, Halt):
        return walk, True
    return walk, False


def method_of(method: str | SearchMethod) -> SearchMethod:
    """Return the search that a name stands for."""
    if not isinstance(method, str):
        return method
    if method not in METHODS:
        raise ParameterError(f"method is one of {', '.join(map(repr, METHODS))}, not {method!r}")
    return METHODS[method]()


def strengths(walk: Walk) -> dict[Arc, float]:
    """Return what the score would lose without each arc of the best graph, in nats."""
    score, names = walk.board.score, walk.schema.names
    out: dict[Arc, float] = {}
    for child, parents in enumerate(walk.best):
        if parents:
            lost = score.family(child, parents) - score.toggled(child, parents)
            out |= {(names[parent], names[child]): float(lost[parent]) for parent in parents}
    return out


def _first(score: FamilyScore, rules: Rules, start: Dag | Trail | str | None) -> list[Parents]:
    if isinstance(start, str):
        if start not in ("empty", "tree"):
            raise ParameterError(f"start is a Dag, a Trail, 'empty' or 'tree', not {start!r}")
        return best_forest(score, rules) if start == "tree" else rules.start(None)
    if isinstance(start, Trail):
        return rules.start(start.dag)
    if start is not None and not isinstance(start, Dag):
        raise ParameterError(f"start is a Dag, a Trail, 'empty' or 'tree', not a {type(start).__name__}")
    return rules.start(start)
