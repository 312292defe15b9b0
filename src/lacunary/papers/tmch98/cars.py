"""What the vehicles' mixtures come to (Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Results, error_of_mean, minus, stated
from lacunary.papers.tmch98.compare import chosen
from lacunary.papers.tmch98.images import vehicle_mixture
from lacunary.papers.tmch98.tables import KINDS, VEHICLES, vehicles

Scores = dict[str, dict[str, list[float]]]
"""By class of mixture and vehicle: the score of each split."""

COUNTS = {"bus": 218, "saab": 212, "opel": 217, "van": 199}
"""Rows of each vehicle as printed; saab and opel are the other way round in the table."""


def _lines(results: Results, vehicle: str, kind: str, about: str) -> list[dict[str, Any]]:
    records = results.of(vehicle_mixture, "schedule", vehicle=vehicle, kind=kind)
    return [chosen(record) for record in records if record.arguments.get("about", "64") == about]


def car_scores(results: Results, about: str = "64") -> Scores:
    """Return the scores of all splits."""
    return {
        name: {
            vehicle: [line["score"] for line in lines]
            for vehicle in VEHICLES
            if (lines := _lines(results, vehicle, kind, about))
        }
        for kind, name in KINDS.items()
    }


def car_listings(results: Results) -> list[Listing]:
    """Return Figure 5 in numbers, with either prior."""
    out = []
    for about, told in (
        ("64", "every mean expected at 64, as in print"),
        ("Opel", "means expected at the Opel's"),
    ):
        rows: list[list[Any]] = []
        for vehicle, (kind, name) in product(VEHICLES, KINDS.items()):
            if lines := _lines(results, vehicle, kind, about):
                scores = np.array([line["score"] for line in lines])
                error = f"{error_of_mean(scores):.2f}" if len(scores) > 1 else None
                means = [f"{np.mean([line[c] for line in lines]):.3g}" for c in ("k", "d", "noise")]
                rows.append([vehicle, name, len(lines), f"{scores.mean():.2f}", error, *means])
        columns = ("vehicle", "mixture", "splits", "score", "±", "k", "d", "noise")
        title = f"Figure 5 in numbers: log predictive scores of the vehicles; {told}"
        note = "± is the standard error over splits; k, d and the noise's weight are means."
        out.append(Listing(f"figure-5-{about.lower()}", title, columns, rows, note))
    return out


def car_found(results: Results, digit_gains: Mapping[str, float]) -> dict[str, Found]:
    """Return answers about Figure 5."""
    found = {f"rows-{name}": Found(sum(map(len, vehicles(name, 0)))) for name in COUNTS}
    scores = car_scores(results)
    if not all(len(scores[name]) == len(VEHICLES) for name in KINDS.values()):
        return found
    for about, claim in (("64", "cars"), ("Opel", "cars-opel")):
        if judged := _wins(car_scores(results, about)):
            found[claim] = judged
    gains = [_gain(scores, other) for other in ("MFULL/n", "MDIAG/n")]
    told = minus(f"{gains[0]:.1f} % over MFULL/n, {gains[1]:.1f} % over MDIAG/n")
    if digit_gains:
        less = [gain < digit for gain, digit in zip(gains, digit_gains.values(), strict=True)]
        told += f"; digits {' and '.join(f'{g:.1f} %' for g in digit_gains.values())}"
        found["cars-less"] = stated(told, all(less), any(less))
    return found


def _gain(scores: Scores, other: str) -> float:
    """Return the mean gain of MDAG/n over vehicles, in per cent of the other's score."""
    pairs = [(np.mean(scores["MDAG/n"][v]), np.mean(scores[other][v])) for v in VEHICLES]
    return float(np.mean([100 * (dag - theirs) / abs(theirs) for dag, theirs in pairs]))


def _wins(scores: Scores) -> Found | None:
    """Return for how many vehicles MDAG/n is ahead of both, and in how many splits."""
    if not all(scores[name].get(v) for name in KINDS.values() for v in VEHICLES):
        return None
    ahead, splits, won = [], 0, 0
    for vehicle in VEHICLES:
        ours = np.array(scores["MDAG/n"][vehicle])
        others = [np.array(scores[name][vehicle]) for name in ("MFULL/n", "MDIAG/n")]
        many = min(len(ours), *map(len, others))
        best = np.maximum(others[0][:many], others[1][:many])
        won, splits = won + int((ours[:many] > best).sum()), splits + many
        if ours.mean() > max(each.mean() for each in others):
            ahead.append(vehicle)
    told = f"{len(ahead)} of 3 ({', '.join(ahead) or 'none'})"
    return stated(told, len(ahead) == 3, len(ahead) == 2, f"in {won} of {splits} splits")
