"""GHM96, reproduced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lacunary as lac
from lacunary.papers import Found, Listing, Outcome, Paper, Results, Size, Unit

__all__ = ["PAPER"]


def rank(arrows: str, states: int) -> dict[str, Any]:
    """Return rank and parameters of a graph."""
    found = lac.dimension(lac.dag(arrows, hidden={"H": states}))
    return {"rank": found.rank, "parameters": found.parameters, "doubt": found.doubt}


def units(size: Size) -> Sequence[Unit]:
    """Return the work."""
    return [Unit(rank, {"arrows": "A -> C <- H -> D <- B", "states": k}) for k in (2, 3, 4, 5)]


def outcome(results: Results) -> Outcome:
    """Return what it shows."""
    rows = [[r.arguments["states"], r.value["rank"], r.value["parameters"]] for r in results.of(rank)]
    found = {}
    for record in results.of(rank, states=2):
        found["w-2"] = Found(record.value["rank"], seconds=record.seconds)
    return Outcome([Listing("ranks", "Ranks", ("states", "rank", "parameters"), rows)], found=found)


PAPER = Paper(units, outcome)
