"""What the ranks and the growing samples of GHM96 say to its claims."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lacunary.papers import Found, Record, Results, Verdict, least_squares, stated
from lacunary.papers.ghm96.work import CASES, STRUCTURES, column, grow, rank
from lacunary.papers.sample import Slope

KINDS = (
    "rank = parameters",
    "rank = all that the features can do, fewer than parameters",
    "rank below both",
)

ERRORS = {
    "plain": "plain CS",
    "corrected": "CS with d and d′",
    "bic": "BIC with d′",
    "bic-rank": "BIC with the rank",
    "sbic": "sBIC",
    "wbic": "WBIC",
}
"""Scores whose errors are followed, and what they are called."""

DECADE = 10
"""Slopes are fitted to samples of at least the largest size over this: smaller ones are no asymptotics."""

COUNTER, REGULAR, ALIKE, _ = CASES
"""Section 6's counterexample, its like with two classes, and independent features."""

LEARNING = {("independent", 4, 2): 2.5, ("pair", 4, 2): 3.5, ("regular", 4, 2): 4.5, ("regular", 4, 3): 6.5}
"""What log p(D) loses with log N, by theory: d/2 at regular truths; (n + 1)/2 and (2n − 1)/2 at the two kinds
of singular ones (Rusakov and Geiger 2005, for n > 2 binary features and two classes)."""


class Cell(NamedTuple):
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


def cells(results: Results) -> list[Cell]:
    """Return every model on the map."""
    return [
        Cell(record.arguments["b"], record.arguments["n"], row["k"], row["rank"], row["parameters"])
        for record in results.of(column)
        for row in record.value
    ]


def certain(results: Results, case: tuple[str, int, int]) -> list[Record]:
    """Return the samples of a kind of truth whose evidence is certain."""
    kind, n, k = case
    return [r for r in results.of(grow, kind=kind, n=n, k=k) if r.value["certain"]]


def error_of(record: Record, name: str) -> float | None:
    """Return score minus log p(D); nothing where there is no score."""
    value = record.value[name]
    return None if value is None else float(value - record.value["evidence"])


def slope_of(results: Results, case: tuple[str, int, int], name: str) -> Slope | None:
    """Return the slope of (name − log p(D)) in log N at a kind of truth, where evidence is certain."""
    records = certain(results, case)
    least = max((r.arguments["rows"] for r in records), default=0) / DECADE
    gaps = [(r.arguments["rows"], error_of(r, name)) for r in records]
    points = [(np.log(rows), gap) for rows, gap in gaps if rows >= least and gap is not None]
    if len({x for x, _ in points}) < 2 or len(points) < 4:
        return None
    return least_squares(*np.array(points).T)


def answers(results: Results) -> dict[str, Found]:
    """Return what was found, by claim."""
    ranks = {record.arguments["name"]: record for record in results.of(rank)}
    return _printed(ranks) | _mapped(cells(results)) | _grown(results)


def _printed(ranks: dict[str, Record]) -> dict[str, Found]:
    """Return what section 6 and the examples print: ranks, and numbers of parameters."""
    asked = {name: (name, "rank") for name in STRUCTURES if name != "w-20"}
    asked |= {name: (name, "parameters") for name in ("w-without", "sigmoid-arc")}
    asked |= {
        "w-parameters": ("w-2", "parameters"),
        "w-observable": ("w-2", "observable"),
        "autoclass-parameters": ("autoclass-3-4", "parameters"),
        "gaussian-fan-observable": ("gaussian-fan", "observable"),
    }
    for name in ("gaussian-fan", "gaussian-w", "sigmoid-2", "sigmoid-3"):
        asked[f"{name}-parameters"] = (name, "parameters")
    found = {
        claim: Found(ranks[name].value[what], seconds=ranks[name].seconds, behind="exact arithmetic")
        for claim, (name, what) in asked.items()
        if name in ranks
    }
    if len(ranks) == len(STRUCTURES):
        most = max(ranks[f"w-{k}"].value["rank"] for k in (2, 3, 4, 5, 20))
        found["w-bound"] = stated(most, most <= 12, chance=0.0, behind="five numbers of hidden states")
        trials = [trial == r.value["rank"] for r in ranks.values() for trial in r.value["trials"]]
        found["ten-points"] = stated(
            f"{trials.count(False)} of {len(trials)}",
            all(trials),
            chance=0.0,
            behind=f"{len(ranks)} networks",
        )
    return found


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
    holds = all(cell.rank == 1 + 2 * cell.n for cell in line)
    share, models = len(short) / len(several), f"{len(found)} models"
    counted = all(c.parameters == c.n * c.k * (c.b - 1) + c.k - 1 for c in found)
    return {
        "conjecture-1-2n": stated(twos, holds, chance=0.0, behind=twos),
        "theorem-2": stated(twos, holds, chance=0.0, behind=twos),
        "formula": stated(models, counted, chance=0.0, behind=models),
        "only-one": Found(f"{len(short)} of {len(several)}", note=isolated),
        "rare": Found(f"{share:.0%}", note=isolated),
        "map": Found(models, note=f"Isolated defects: {named}."),
    }


def _grown(results: Results) -> dict[str, Found]:
    names = ("plain", "corrected", "bic-rank", "sbic", "wbic", "log_likelihood")
    known = {(case, name): slope_of(results, case, name) for case in CASES for name in names}
    slopes = {place: slope for place, slope in known.items() if slope is not None}
    if len(slopes) < len(known):
        return {}
    two, three, alike = (slopes[case, "plain"] for case in (REGULAR, COUNTER, ALIKE))
    note = f"At a regular truth; at independent features, a singular one, it is {alike}."
    right = slopes[COUNTER, "corrected"]
    errors = {case[0]: slopes[case, "bic-rank"] for case in CASES if case[2] == 2}
    lost = "; ".join(
        f"{case[0]} truth, {case[2]} classes: {slopes[case, 'log_likelihood']} (theory {LEARNING[case]:g})"
        for case in CASES
    )
    return {
        "cs-two-classes": Found(two.value, two.error, note=note, behind=_behind(two)),
        "cs-fails": Found(three.value, three.error, behind=_behind(three)),
        "cs-corrected": Found(right.value, right.error, behind=_behind(right)),
        "flat": _level(errors),
        "learning-coefficient": Found(
            "less than d/2: (n + 1)/2 when the features are independent", note=f"{lost}."
        ),
        "repair": Found(
            _repair(slopes), note="Slope of (score − log p(D)) in log N; zero where it is right."
        ),
    }


def _repair(slopes: dict[tuple[tuple[str, int, int], str], Slope]) -> str:
    """Return the slopes of sBIC and WBIC at every kind of truth."""
    return "; ".join(
        f"{ERRORS[name]}: "
        + ", ".join(f"{case[0]} truth, {case[2]} classes {slopes[case, name]}" for case in CASES)
        for name in ("sbic", "wbic")
    )


OFF = 0.1
"""A slope that lower-order terms may leave at the samples in reach."""


def _behind(slope: Slope) -> str:
    return f"{slope.samples} samples of one network, within a factor of {DECADE} of the largest"


def _level(errors: dict[str, Slope]) -> Found:
    """Return whether all slopes are zero: not if one is clearly off, undecided if it may be."""
    far = {s: any(abs(e.value) > OFF + s * e.error for e in errors.values()) for s in (2, 4)}
    verdict: Verdict = "not" if far[4] else "undecided" if far[2] else "reproduced"
    told = "; ".join(f"{kind}: {slope}" for kind, slope in errors.items())
    behind = "; ".join(f"{kind}: {slope.samples} samples" for kind, slope in errors.items())
    return Found(told, verdict=verdict, chance=0.0, behind=behind)
