"""Schedules, hidden variables inside, and discrete mixtures: what TMCH98 says in passing or asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Record, Results, error_of_mean, minus, verdict_if
from lacunary.papers.tmch98.compare import chosen
from lacunary.papers.tmch98.discrete import PRIORS, from_empty, votes
from lacunary.papers.tmch98.images import digit_mixture
from lacunary.papers.tmch98.plan import COMPARED, FEW, SCHEDULES
from lacunary.papers.tmch98.recovery import recovered
from lacunary.papers.tmch98.silhouettes import vehicle_mixture
from lacunary.papers.tmch98.tables import VEHICLES

__all__ = ["more_found", "more_listings", "vote_curves"]

Paired = dict[str, list[dict[str, float]]]
"""By data set: for each seed the score under every schedule."""


def paired(results: Results) -> Paired:
    """Return scores under all three schedules, where all three were run on the same data and start."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    names = {schedule: name for name, schedule in SCHEDULES.items()}

    def note(where: str, seed: int, record: Record, score: float) -> None:
        schedule = record.arguments.get("schedule", SCHEDULES["(EM)^10"])
        found.setdefault((where, seed), {})[names[schedule]] = score

    for record in results.of(digit_mixture, digit=7, kind="learn", components=FEW):
        if "train" not in record.arguments:
            note(f"digit “7”, k = {FEW}", record.arguments["seed"], record, chosen(record)["score"])
    for vehicle in VEHICLES:
        for record in results.of(vehicle_mixture, vehicle=vehicle, kind="learn"):
            if "about" not in record.arguments:
                note(vehicle, record.arguments["split"], record, chosen(record)["score"])
    for rows in COMPARED:
        for record in results.of(recovered, rows=rows):
            if not {"prior", "pair"} & set(record.arguments):
                note(f"section 7, {rows} rows", record.arguments["seed"], record, record.value["score"])
    out: Paired = {}
    for (where, _), scores in found.items():
        if len(scores) == len(SCHEDULES):
            out.setdefault(where, []).append(scores)
    return out


def more_listings(results: Results) -> list[Listing]:
    """Return scores by schedule, what was found of a hidden variable, and the votes."""
    return [_schedule_listing(results), _hidden_listing(results), _vote_listing(results)]


def _schedule_listing(results: Results) -> Listing:
    rows: list[list[Any]] = []
    for where, scores in paired(results).items():
        cells = [f"{np.mean([s[name] for s in scores]):.3f}" for name in SCHEDULES]
        gaps = [_gap(scores, other) for other in ("(EM)^1", "(EM)*")]
        rows.append([where, len(scores), *cells, *(f"{mean:+.3f} ± {error:.3f}" for mean, error in gaps)])
    columns = ("data", "seeds", *SCHEDULES, "(EM)^1 less (EM)^10", "(EM)* less (EM)^10")
    note = "Mean log predictive scores, paired by data and start; ± is a standard error over seeds."
    return Listing("schedules", "How long EM runs between two searches", columns, rows, note)


def _gap(scores: list[dict[str, float]], other: str) -> tuple[float, float]:
    gaps = np.array([s[other] - s["(EM)^10"] for s in scores])
    return float(gaps.mean()), error_of_mean(gaps)


def _hidden(results: Results, prior: str) -> list[dict[str, Any]]:
    return [record.value for record in results.of(from_empty, prior=prior) if "rows" not in record.arguments]


def _hidden_listing(results: Results) -> Listing:
    rows: list[list[Any]] = []
    for prior in PRIORS:
        runs = _hidden(results, prior)
        if runs:
            near = {start: np.mean([run[start]["near"] for run in runs]) for start in runs[0]}
            gain = np.mean([run["arcs from H"]["cs"] - run["empty"]["cs"] for run in runs])
            rows.append([prior, len(runs), *(f"{value:.1f}" for value in near.values()), f"{gain:+.1f}"])
    columns = ("prior", "seeds", "arcs at H from empty", "arcs at H from all", "Cheeseman–Stutz gained")
    title = "A hidden variable with six children, looked for from a graph without arcs and from one with all"
    return Listing("hidden", title, columns, rows, "Structural EM as published; means over seeds.")


def _vote_runs(results: Results, kind: str) -> list[Record]:
    return [r for r in results.of(votes, kind=kind) if r.arguments["most"] > 2 and "split" not in r.arguments]


def vote_curves(results: Results) -> dict[str, list[tuple[int, float]]]:
    """Return Cheeseman–Stutz of the votes' mixtures by number of components."""
    titles = {"learn": "mixtures of DAGs", "empty": "mixtures without arcs"}
    return {
        titles[kind]: [(line["asked"], line["cs"]) for line in runs[0].value["tried"]]
        for kind in titles
        if (runs := _vote_runs(results, kind))
    }


def _vote_listing(results: Results) -> Listing:
    rows: list[list[Any]] = []
    splits = [r.value["tried"] for r in results.of(votes, kind="learn") if "split" in r.arguments]
    for kind, title in (("learn", "DAGs"), ("empty", "no arcs")):
        for record in _vote_runs(results, kind)[:1]:
            for place, line in enumerate(record.value["tried"]):
                scores = [s[place]["score"] for s in splits if place < len(s)] if kind == "learn" else []
                cells = [line[name] for name in ("asked", "k", "d", "arcs")]
                rest = f"{np.mean(scores):.3f}" if scores else None
                rows.append([title, *cells, f"{line['cs']:.1f}", rest])
    columns = ("components", "asked", "k", "d", "arcs", "Cheeseman–Stutz", "score of the rest")
    note = f"Score of the rest: 40 % of the members, learned from 60 %; mean of {len(splits)} splits."
    return Listing("votes", "Mixtures for the House votes of 1984", columns, rows, note)


def more_found(results: Results) -> dict[str, Found]:
    """Return answers about schedules, hidden variables and votes."""
    return _schedule_found(results) | _hidden_found(results) | _vote_found(results)


def _schedule_found(results: Results) -> dict[str, Found]:
    data = {where: scores for where, scores in paired(results).items() if len(scores) > 1}
    if not data:
        return {}
    found = {}
    for claim, other, worse in (("one-step", "(EM)^1", True), ("ten-steps", "(EM)*", False)):
        gaps = {where: _gap(scores, other) for where, scores in data.items()}
        clear = [where for where, (mean, error) in gaps.items() if mean < -2 * error]
        ahead = [where for where, (mean, error) in gaps.items() if mean > 2 * error]
        told = f"clearly worse on {len(clear)}, better on {len(ahead)} of {len(gaps)}"
        note = "; ".join(f"{where}: {mean:+.2f} ± {error:.2f}" for where, (mean, error) in gaps.items())
        if worse:
            verdict = verdict_if(len(clear) > len(gaps) / 2, len(clear) > len(ahead))
        else:
            verdict = verdict_if(not ahead, len(ahead) <= len(gaps) / 3)
        found[claim] = Found(told, verdict=verdict, note=note)
    return found


def _hidden_found(results: Results) -> dict[str, Found]:
    runs = {prior: each for prior in PRIORS if (each := _hidden(results, prior))}
    if not runs:
        return {}
    many = sum(map(len, runs.values()))
    none = sum(run["empty"]["near"] == 0 for each in runs.values() for run in each)
    full = np.mean([run["arcs from H"]["near"] for each in runs.values() for run in each])
    verdict = verdict_if(none == many)
    note = f"with arcs from the hidden variable at the start {full:.1f} of 6 remain on average"
    return {"empty-start": Found(f"no arc in {none} of {many} runs", verdict=verdict, note=note)}


def _vote_found(results: Results) -> dict[str, Found]:
    curves = vote_curves(results)
    if "mixtures of DAGs" not in curves:
        return {}
    dags = dict(curves["mixtures of DAGs"])
    best = max(dags, key=lambda k: dags[k])
    told = f"{best} DAGs, {dags[best] - dags[1]:+.1f} nats over one network"
    note = ", ".join(f"k = {k}: {value:.0f}" for k, value in dags.items())
    if "mixtures without arcs" in curves:
        plain = max(value for _, value in curves["mixtures without arcs"])
        note += f"; best without arcs {plain:.0f}"
    return {"votes": Found(told, note=minus(note)), **_vote_splits(results)}


def _vote_splits(results: Results) -> dict[str, Found]:
    splits = [r.value["tried"] for r in results.of(votes, kind="learn") if "split" in r.arguments]
    if len(splits) < 2:
        return {}
    gains = []
    for lines in splits:
        best = max(lines, key=lambda line: line["cs"])
        gains.append(best["score"] - lines[0]["score"])
    told = minus(f"{np.mean(gains):+.3f} ± {error_of_mean(gains):.3f} nats a row")
    note = f"the mixture chosen by Cheeseman–Stutz over one network, {len(gains)} splits"
    return {"votes-predict": Found(told, note=note)}
