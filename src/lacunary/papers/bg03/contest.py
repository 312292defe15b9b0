"""Which structures have more evidence than the true one, by certified estimates (Figure 2, left).

The variational score is a lower bound of the evidence, and how far below it lies differs little between
structures. So those whose bound is far below the true structure's need not be sampled: see `contest`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import lacunary as lac
from lacunary.papers import Found, Listing, Results, seed_of
from lacunary.papers.bg03.work import ERROR, STARTS, TRUE, data, graph, structures

REACH = 8.0
"""Nats by which a structure's bound may be below that of the true one if it is to be sampled."""

CONTESTS = (1120, 2560, 10240, 480, 160, 40, 5120, 320, 640, 10)
"""Sizes at which the evidence is certified; those at which the samplers of print disagree come first."""


def contest(parents: str, rows: int) -> dict[str, Any]:
    """Sample the evidence of the true structure and of all whose bound says that they may have more.

    They are taken from the highest bound down, at least two. It ends where the next bound is below that of
    the true structure by `REACH`, and by twice as much as any sampled structure's bound was found to be
    looser than the true one's.
    """
    table, true = data(parents, 1.0, 0, rows), TRUE[parents]
    prior = lac.Dirichlet(1.0)
    how: dict[str, Any] = {"prior": prior, "starts": STARTS, "accelerate": True}
    bounds = {
        code: lac.fit(graph(code), table, method="variational", **how).objective for code in structures()
    }
    rivals = sorted(bounds, key=lambda code: (code != true, -bounds[code]))
    sampled: list[dict[str, Any]] = []
    looser, slack = 0.0, 0.0
    for code in rivals:
        if len(sampled) > 2 and bounds[true] - bounds[code] > max(REACH, 2.0 * looser):
            break
        seed = seed_of("bg03", "contest", parents, rows, *code)
        found = lac.score(graph(code), table, "sampled", prior=prior, stderr=ERROR, rng=seed)
        line = {
            "structure": list(code),
            "vb": bounds[code],
            "evidence": found.value,
            "error": found.stderr or 0.0,
            "certain": bool(found.details["trustworthy"]),
        }
        sampled.append(line)
        slack = found.value - bounds[code] if code == true else slack
        looser = max(looser, found.value - bounds[code] - slack)
    before = sum(bound > bounds[true] for bound in bounds.values())
    return {"sampled": sampled, "looser": looser, "by_bound": 1 + before}


class Place(NamedTuple):
    """The rank of the true structure by its evidence, and between which ranks it lies for certain."""

    rank: int
    low: int
    high: int
    sampled: int
    looser: float
    by_bound: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


def place_of(value: Mapping[str, Any]) -> Place:
    """Return the rank that a contest gives; what is within two errors, or not certain, may be above."""
    true, *others = value["sampled"]
    above = open_ones = before = 0
    for other in others:
        lead = other["evidence"] - true["evidence"]
        blurred = abs(lead) <= 2.0 * math.hypot(other["error"], true["error"])
        before += lead > 0
        if blurred or not (other["certain"] and true["certain"]):
            open_ones += 1
        else:
            above += lead > 0
    high, many = 1 + above + open_ones, len(others) + 1
    return Place(1 + before, 1 + above, high, many, value["looser"], value["by_bound"])


def places(results: Results, parents: str) -> dict[int, Place]:
    """Return the ranks by size."""
    found = {r.arguments["rows"]: place_of(r.value) for r in results.of(contest, parents=parents)}
    return dict(sorted(found.items()))


def contest_listing(results: Results) -> Listing:
    """Return the ranks by evidence, with how many structures were sampled."""
    lines: list[list[str | int]] = [
        [rows, f"{found}", found.rank, found.by_bound, found.sampled, f"{found.looser:.1f}"]
        for rows, found in places(results, "apart").items()
    ]
    columns = ("rows", "rank for certain", "by the estimates", "by the bound", "sampled", "looser")
    note = (
        f"Sampled: structures whose variational bound is at most {REACH:g} nats, or twice the nats in the "
        "last column, below that of the true one, and two in any case; the others are taken to have less "
        "evidence. Looser: the most by which the bound of a sampled structure lies further below its "
        "evidence than the true one's."
    )
    title = "Rank of the true structure by certified evidence (single parents apart)"
    return Listing("contest", title, columns, lines, note)


def contest_found(results: Results) -> dict[str, Found]:
    """Return the ranks by evidence as an answer."""
    found = places(results, "apart")
    if not found:
        return {}
    told = "; ".join(f"{place} at {rows} rows" for rows, place in found.items())
    many = sum(place.sampled for place in found.values())
    behind = f"one true setting; {len(found)} sizes; {many} evidences, each to {ERROR:g} nats"
    return {"evidence-rank": Found(told, behind=behind)}
