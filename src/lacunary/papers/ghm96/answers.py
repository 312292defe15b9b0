"""What the ranks and the growing samples of GHM96 say to its claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from lacunary.papers import Found, Record, Results, least_squares, verdict_if
from lacunary.papers.ghm96.plan import CASES
from lacunary.papers.ghm96.structures import STRUCTURES
from lacunary.papers.ghm96.work import column, grow, rank
from lacunary.papers.sample import Slope

__all__ = ["ERRORS", "KINDS", "Cell", "answers", "cells", "slope_of"]

KINDS = (
    "rank = parameters",
    "rank = all that the features can do, fewer than parameters",
    "rank below both",
)

ERRORS = (
    ("plain", "plain CS"),
    ("corrected", "CS with d and d′"),
    ("bic", "BIC with d′"),
    ("bic-rank", "BIC with the rank"),
)
"""Scores whose errors are followed, and what they are called."""

DECADE = 10
"""Slopes are fitted to samples of at least the largest size over this: smaller ones are no asymptotics."""

LEARNING = {("independent", 4, 2): 2.5, ("pair", 4, 2): 3.5, ("regular", 4, 2): 4.5, ("regular", 4, 3): 6.5}
"""What log p(D) loses with log N, by theory: d/2 at regular truths; (n + 1)/2 and (2n − 1)/2 at the two kinds
of singular ones (Rusakov and Geiger 2005, for n > 2 binary features and two classes)."""


@dataclass(frozen=True)
class Cell:
    """One naive Bayes model on the map."""

    b: int
    n: int
    k: int
    rank: int
    parameters: int

    @property
    def room(self) -> int:
        """Dimension of all distributions of the features."""
        return int(self.b**self.n - 1)

    @property
    def kind(self) -> int:
        """0: every parameter counts; 1: they fill all there is; 2: fewer than either."""
        if self.rank == self.parameters:
            return 0
        return 1 if self.rank == self.room else 2


Slopes = dict[tuple[str, int, int], dict[str, Slope]]


def cells(results: Results) -> list[Cell]:
    """Return every model on the map."""
    return [
        Cell(record.arguments["b"], record.arguments["n"], row["k"], row["rank"], row["parameters"])
        for record in results.of(column)
        for row in record.value
    ]


def slope_of(results: Results, case: tuple[str, int, int], name: str, against: str = "ais") -> Slope | None:
    """Return the slope of (name − against) in log N at a kind of truth."""
    kind, n, k = case
    records = [r for r in results.of(grow, kind=kind, n=n, k=k) if r.value[against] is not None]
    least = max((r.arguments["rows"] for r in records), default=0) / DECADE
    points = [
        (np.log(r.arguments["rows"]), r.value[name] - r.value[against])
        for r in records
        if r.arguments["rows"] >= least
    ]
    if len({x for x, _ in points}) < 2 or len(points) < 4:
        return None
    return least_squares(*np.array(points).T)


def answers(results: Results) -> dict[str, Found]:
    """Return what was found, by claim."""
    ranks = {record.arguments["name"]: record for record in results.of(rank)}
    return _printed(ranks) | _mapped(cells(results)) | _grown(results)


def _printed(ranks: dict[str, Record]) -> dict[str, Found]:
    asked = {name: (name, "rank") for name in STRUCTURES if name not in ("w-20", "sigmoid-arc", "w-without")}
    asked |= {
        f"{name}-parameters": (name, "parameters")
        for name in ("gaussian-fan", "gaussian-w", "sigmoid-2", "sigmoid-3")
    }
    asked |= {name: (name, "parameters") for name in ("w-without", "sigmoid-arc")}
    asked |= {
        "w-parameters": ("w-2", "parameters"),
        "w-observable": ("w-2", "observable"),
        "autoclass-parameters": ("autoclass-3-4", "parameters"),
        "gaussian-fan-observable": ("gaussian-fan", "observable"),
    }
    found = {
        claim: Found(ranks[name].value[what], seconds=ranks[name].seconds)
        for claim, (name, what) in asked.items()
        if name in ranks
    }
    if len(ranks) == len(STRUCTURES):
        most = max(ranks[f"w-{k}"].value["rank"] for k in (2, 3, 4, 5, 20))
        found["w-bound"] = Found(most, verdict=verdict_if(most <= 12))
        found["ten-points"] = _ten(ranks.values())
    return found


def _ten(records: Iterable[Record]) -> Found:
    trials = [trial == r.value["rank"] for r in records for trial in r.value["trials"]]
    off = len(trials) - sum(trials)
    return Found(f"{off} of {len(trials)}", verdict=verdict_if(not off))


def _mapped(found: list[Cell]) -> dict[str, Found]:
    line = [cell for cell in found if cell.b == 2 and cell.k == 2 and cell.n > 2]
    if not line:
        return {}
    several = [cell for cell in found if cell.k > 1]
    short = [cell for cell in several if cell.kind > 0]
    defects = [cell for cell in several if cell.kind == 2 and cell.n > 2]
    named = ", ".join(f"({c.b}, {c.k}, {c.n}) with {c.rank} of {c.parameters}" for c in defects) or "none"
    isolated = f"Below both counts, with more than two features: {named}."
    twos = f"n = 3 … {max(cell.n for cell in line)}, {len(line)} values"
    holds = verdict_if(all(cell.rank == 1 + 2 * cell.n for cell in line))
    share = len(short) / len(several)
    rare = verdict_if(share <= 0.1, len(defects) < 0.05 * len(several))
    counted = all(c.parameters == c.n * c.k * (c.b - 1) + c.k - 1 for c in found)
    return {
        "conjecture-1-2n": Found(twos, verdict=holds),
        "theorem-2": Found(twos, verdict=holds),
        "formula": Found(f"{len(found)} models", verdict=verdict_if(counted)),
        "only-one": Found(
            f"{len(short)} of {len(several)}", verdict=verdict_if(len(short) == 1), note=isolated
        ),
        "rare": Found(f"{share:.0%}", verdict=rare, note=isolated),
        "map": Found(f"{len(found)} models", note=f"Isolated defects: {named}."),
    }


def _grown(results: Results) -> dict[str, Found]:
    slopes: Slopes = {case: {} for case in CASES}
    for case in CASES:
        for name in ("plain", "corrected", "bic-rank", "log_likelihood"):
            slope = slope_of(results, case, name)
            if slope is None:
                return {}
            slopes[case][name] = slope
    two, three = slopes["regular", 4, 2], slopes["regular", 4, 3]
    calm = abs(two["plain"].value) <= 2 * two["plain"].error + 0.05
    alike = slopes["independent", 4, 2]["plain"]
    return {
        "cs-two-classes": Found(
            two["plain"].value,
            two["plain"].error,
            verdict=verdict_if(calm),
            note=f"At a regular truth; at independent features, a singular one, it is {alike}.",
        ),
        "cs-fails": replace(_number(three["plain"]), note=_without_annealing(results)),
        "cs-corrected": _number(three["corrected"]),
        **_singular(slopes),
    }


def _without_annealing(results: Results) -> str:
    """Tell how plain CS parts from BIC with the rank, which needs no annealing and so reaches further."""
    far = slope_of(results, ("regular", 4, 3), "plain", against="bic-rank")
    return "" if far is None else f"Against BIC with the rank, at the largest samples, it is {far}."


def _singular(slopes: Slopes) -> dict[str, Found]:
    errors = {case[0]: found["bic-rank"] for case, found in slopes.items() if case[2] == 2}
    off = any(abs(slope.value) > 4 * slope.error for kind, slope in errors.items() if kind != "regular")
    told = "; ".join(f"{kind}: {slope}" for kind, slope in errors.items())
    lost = "; ".join(
        f"{case[0]} truth, {case[2]} classes: {found['log_likelihood']} (theory {LEARNING[case]:g})"
        for case, found in slopes.items()
    )
    return {
        "flat": Found(told, verdict=verdict_if(not off)),
        "learning-coefficient": Found(
            "less than d/2: (n + 1)/2 when the features are independent", note=f"{lost}."
        ),
    }


def _number(slope: Slope) -> Found:
    return Found(slope.value, slope.error, note=f"{slope.samples} samples.")
