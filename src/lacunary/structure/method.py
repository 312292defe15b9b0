"""The ways to search: by the names people call them, and one of them carried out with any score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Protocol

import numpy as np

from lacunary.data.fingerprint import same_run
from lacunary.errors import ParameterError
from lacunary.learn.standing import damage_named
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag
from lacunary.structure.anneal import Anneal
from lacunary.structure.best_first import BestFirst
from lacunary.structure.board import Board
from lacunary.structure.cache import Cache, Room
from lacunary.structure.climb import Greedy, Tabu
from lacunary.structure.constraints import Constraints
from lacunary.structure.exact import Exact
from lacunary.structure.prior import StructurePrior
from lacunary.structure.reinsert import Reinsert
from lacunary.structure.score import FamilyScore, Parents, Structure, announce
from lacunary.structure.tree import Tree, best_forest
from lacunary.structure.walk import Halt, Trail, Walk, WatchSearch

__all__ = ["METHODS", "SearchMethod", "check_start", "method_of", "run", "strengths"]


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


def run(
    method: SearchMethod,
    score: FamilyScore,
    constraints: Constraints,
    start: Dag | Trail | Structure | str | None = None,
    *,
    prior: StructurePrior | None = None,
    watch: WatchSearch | None = None,
    rng: int | np.random.Generator = 0,
    fingerprint: Callable[[], Mapping[str, str]] = dict,
) -> tuple[Walk, bool]:
    """Search with any score, and with a prior over graphs; return the walk, and whether it was interrupted.

    An interrupt from the keyboard, or a true answer from ``watch``, ends the search with the best so far. A
    search to go on from must have the same ``fingerprint``. A structure to start from is one that the
    constraints admit.
    """
    trail = start if isinstance(start, Trail) else None
    if trail is not None and trail.method != method.name:
        raise ParameterError(
            f"the search to go on from is {trail.method!r}, not {method.name!r}; name the same method"
        )
    if trail is not None:
        same_run(fingerprint(), trail.fingerprint)
    known = score if isinstance(score, Cache) else Cache(score, room=Room(constraints.schema))
    board = Board(known, constraints, _first(known, constraints, start, prior), prior)
    walk = Walk(method.name, board, np.random.default_rng(rng), watch, trail, fingerprint)
    try:
        with nullcontext() if trail is None else damage_named():
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


def strengths(score: FamilyScore, names: tuple[str, ...], structure: Structure) -> dict[Arc, float]:
    """Return what the score would lose without each arc of a graph, in nats."""
    out: dict[Arc, float] = {}
    announce(score, [family for family in enumerate(structure) if family[1]])
    for child, parents in enumerate(structure):
        if parents:
            lost = score.family(child, parents) - score.toggled(child, parents)
            out |= {(names[parent], names[child]): float(lost[parent]) for parent in parents}
    return out


def check_start(start: Dag | Trail | str | None) -> None:
    """Refuse what no search can start from."""
    known = start in ("empty", "tree") if isinstance(start, str) else isinstance(start, Dag | Trail | None)
    if not known:
        said = repr(start) if isinstance(start, str) else f"a {type(start).__name__}"
        raise ParameterError(f"start is a Dag, a Trail, 'empty' or 'tree', not {said}")


def _first(
    score: FamilyScore,
    constraints: Constraints,
    start: Dag | Trail | Structure | str | None,
    prior: StructurePrior | None,
) -> list[Parents]:
    if isinstance(start, tuple):
        return list(start)
    check_start(start)
    if isinstance(start, str):
        return best_forest(score, constraints, prior) if start == "tree" else constraints.start(None)
    return constraints.start(start.dag if isinstance(start, Trail) else start)
