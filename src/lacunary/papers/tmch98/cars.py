"""What the vehicles' mixtures come to (Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Results, compared, error_of_mean
from lacunary.papers.tmch98.compare import chosen
from lacunary.papers.tmch98.images import vehicle_mixture
from lacunary.papers.tmch98.tables import KINDS, VEHICLES, vehicles

Scores = dict[str, dict[str, list[float]]]
"""By class of mixture and vehicle: the score of each split."""

COUNTS = {"bus": 218, "saab": 212, "opel": 217, "van": 199}
"""Rows of each vehicle as printed; saab and opel are the other way round in the table."""


VARIANTS = {
    "64": ("64", "default", "every mean expected at 64, as in print"),
    "print": (
        "64",
        "print",
        "every mean expected at 64, one random start a number of components, as in print",
    ),
    "opel": ("Opel", "default", "means expected at the Opel's"),
}
"""By listing: where means are expected, which starts, and how it is told; verdicts are of the first."""


def _lines(results: Results, vehicle: str, kind: str, variant: str) -> list[dict[str, Any]]:
    records = results.of(vehicle_mixture, "schedule", vehicle=vehicle, kind=kind)
    return [
        chosen(r)
        for r in records
        if (r.arguments.get("about", "64"), r.arguments.get("starts", "print")) == VARIANTS[variant][:2]
    ]


def car_scores(results: Results, variant: str = "64") -> Scores:
    """Return the scores of all splits."""
    return {
        name: {
            vehicle: [line["score"] for line in lines]
            for vehicle in VEHICLES
            if (lines := _lines(results, vehicle, kind, variant))
        }
        for kind, name in KINDS.items()
    }


def car_listings(results: Results) -> list[Listing]:
    """Return Figure 5 in numbers, with either prior and either kind of starts."""
    out = []
    for variant, (_, _, told) in VARIANTS.items():
        rows: list[list[Any]] = []
        for vehicle, (kind, name) in product(VEHICLES, KINDS.items()):
            if lines := _lines(results, vehicle, kind, variant):
                scores = np.array([line["score"] for line in lines])
                error = f"{error_of_mean(scores):.2f}" if len(scores) > 1 else None
                means = [f"{np.mean([line[c] for line in lines]):.3g}" for c in ("k", "d", "noise")]
                rows.append([vehicle, name, len(lines), f"{scores.mean():.2f}", error, *means])
        columns = ("vehicle", "mixture", "splits", "score", "±", "k", "d", "noise")
        title = f"Figure 5 in numbers: log predictive scores of the vehicles; {told}"
        note = "± is the standard error over splits; k, d and the noise's weight are means."
        out.append(Listing(f"figure-5-{variant}", title, columns, rows, note))
    return out


def car_found(results: Results, digit_gains: Mapping[str, Found]) -> dict[str, Found]:
    """Return answers about Figure 5."""
    found = {f"rows-{name}": Found(sum(map(len, vehicles(name, 0)))) for name in COUNTS}
    scores = car_scores(results)
    if not all(len(scores[name]) == len(VEHICLES) for name in KINDS.values()):
        return found
    for variant, claim in (("64", "cars"), ("print", "cars-print"), ("opel", "cars-opel")):
        if judged := _wins(car_scores(results, variant)):
            found[claim] = judged
    if digit_gains:
        found["cars-less"] = _less(scores, digit_gains)
    return found


def _less(scores: Scores, digits: Mapping[str, Found]) -> Found:
    """Return by how much the gains on the digits exceed those on the vehicles, in per cent."""
    leads, told = [], []
    for other, digit in zip(("MFULL/n", "MDIAG/n"), digits.values(), strict=True):
        gains = [_gain(scores, other, vehicle) for vehicle in VEHICLES]
        mean, error = float(np.mean(gains)), error_of_mean(gains)
        leads.append((f"over {other}", float(digit.value) - mean, float(np.hypot(error, digit.error or 0.0))))
        told.append(f"{mean:.1f} ± {error:.1f} % over {other}, digits {digit.value} %")
    return compared(leads, "; ".join(told), behind=f"{len(VEHICLES)} vehicles, {_splits(scores)} splits")


def _splits(scores: Scores) -> int:
    return min(len(own[v]) for own in scores.values() for v in VEHICLES)


def _gain(scores: Scores, other: str, vehicle: str) -> float:
    """Return the mean gain of MDAG/n on a vehicle, in per cent of the other's score."""
    dag, theirs = np.mean(scores["MDAG/n"][vehicle]), np.mean(scores[other][vehicle])
    return float(100 * (dag - theirs) / abs(theirs))


def _wins(scores: Scores) -> Found | None:
    """Return by how much MDAG/n is ahead of the better of the two others on each vehicle, over splits."""
    if not all(len(scores[name].get(v, ())) > 1 for name in KINDS.values() for v in VEHICLES):
        return None
    leads = []
    for vehicle in VEHICLES:
        ours, *others = (np.array(scores[name][vehicle]) for name in ("MDAG/n", "MFULL/n", "MDIAG/n"))
        best = max(others, key=np.mean)
        many = min(len(ours), len(best))
        gaps = ours[:many] - best[:many]
        leads.append((vehicle, float(gaps.mean()), error_of_mean(gaps)))
    note = "Nats a row over the better of the two others; errors over splits, whose rows overlap."
    return compared(leads, note, behind=f"{_splits(scores)} splits of about 215 rows a vehicle")
