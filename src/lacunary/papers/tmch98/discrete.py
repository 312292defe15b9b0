"""Schedules, hidden variables inside, and discrete mixtures: what TMCH98 says in passing or asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import lacunary as lac
from lacunary.papers import (
    Found,
    Listing,
    Record,
    Results,
    Verdict,
    all_of,
    error_of_mean,
    minus,
    seed_of,
    stated,
    tail,
)
from lacunary.papers.tmch98.compare import chosen
from lacunary.papers.tmch98.images import digit_mixture, timed_mixture, vehicle_mixture
from lacunary.papers.tmch98.recovery import recovered
from lacunary.papers.tmch98.tables import COMPARED, FEW, SCHEDULES, VEHICLES, Kind

PRIORS: dict[str, lac.BDeu | lac.Dirichlet] = {
    "BDeu(1)": lac.bdeu(1),
    "BDeu(10)": lac.bdeu(10),
    "Dirichlet(1)": lac.Dirichlet(1.0),
}

CHILDREN = 6


def from_empty(seed: int, prior: str, rows: int = 1000) -> dict[str, Any]:
    """Look for the arcs from a hidden variable to its six children, from a graph without arcs and with all.

    The truth is a hidden binary variable with six binary children, tables drawn with Dirichlet(½).
    """
    random = np.random.default_rng(seed_of("tmch98", "hidden", seed))
    observed = lac.Schema(tuple(lac.Variable(f"y{i}", ("a", "b")) for i in range(CHILDREN)))
    truth = lac.random_network(lac.naive_bayes(observed, hidden="H", states=2), lac.Dirichlet(0.5), random)
    table = lac.hide(truth.sample(rows, random), "H")
    found: dict[str, Any] = {}
    for start in ("empty", "arcs from H"):
        arcs = [("H", f"y{i}") for i in range(CHILDREN)] if start != "empty" else []
        result = lac.structural_em(
            table,
            prior=PRIORS[prior],
            structure_prior=None,
            method="greedy",
            start=lac.Dag.from_arcs(table.schema, arcs),
            escapes=0,
            until="structure",
            rng=seed_of("tmch98", "hidden", seed),
        )
        near = sum("H" in arc for arc in result.dag.arcs)
        found[start] = {"near": near, "arcs": len(result.dag.arcs), "cs": result.rounds[-1].cheeseman_stutz}
    return found


def votes(kind: Kind, most: int, split: int | None = None) -> dict[str, Any]:
    """Learn mixtures of 1 to ``most`` networks from the votes, all of them or 60 %, and score them."""
    table = lac.house_votes()
    seed = seed_of("tmch98", "votes", -1 if split is None else split)
    order = np.random.default_rng(seed).permutation(len(table))
    many = len(table) if split is None else round(0.6 * len(table))
    numbers = range(1, most + 1)
    fit, seconds = timed_mixture(
        table.take(order[:many]), components=numbers, structure=kind, starts=lac.Around(1), rng=seed
    )
    lines = [
        {
            "k": trial.components,
            "asked": trial.asked,
            "d": trial.estimate.dimension,
            "arcs": sum(len(c.dag.arcs) for c in trial.mixture.components),
            "cs": trial.estimate.value,
        }
        for trial in fit.path
    ]
    if split is not None:
        rest = table.take(order[many:])
        for line, trial in zip(lines, fit.path, strict=True):
            line["score"] = float(trial.mixture.log_probability(rest).mean())
    return {"seconds": seconds, "tried": lines}


Paired = dict[str, list[dict[str, float]]]
"""By data set: for each seed the score under every schedule."""


def paired(results: Results) -> Paired:
    """Return scores under all three schedules, where all three were run on the same data and start."""
    runs = [
        (f"digit “7”, k = {FEW}", record.arguments["seed"], record, chosen(record)["score"])
        for record in results.of(digit_mixture, "train", "starts", digit=7, kind="learn", components=FEW)
    ]
    for vehicle in VEHICLES:
        for record in results.of(vehicle_mixture, "about", "starts", vehicle=vehicle, kind="learn"):
            runs.append((vehicle, record.arguments["split"], record, chosen(record)["score"]))
    for rows in COMPARED:
        for record in results.of(recovered, "prior", "pair", rows=rows):
            where = f"section 7, {rows} rows"
            runs.append((where, record.arguments["seed"], record, record.value["score"]))
    names = {schedule: name for name, schedule in SCHEDULES.items()}
    found: dict[tuple[str, int], dict[str, float]] = {}
    for where, seed, record, score in runs:
        schedule = record.arguments.get("schedule", SCHEDULES["(EM)^10"])
        found.setdefault((where, seed), {})[names[schedule]] = score
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
    return [record.value for record in results.of(from_empty, "rows", prior=prior)]


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
    return [r for r in results.of(votes, "split", kind=kind) if r.arguments["most"] > 2]


def _vote_splits(results: Results) -> list[list[dict[str, Any]]]:
    return [r.value["tried"] for r in results.of(votes, kind="learn") if "split" in r.arguments]


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
    splits = _vote_splits(results)
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
    found = {}
    for claim, other in (("one-step", "(EM)^1"), ("ten-steps", "(EM)*")) if data else ():
        gaps = {where: _gap(scores, other) for where, scores in data.items()}
        worse = sum(mean < -2 * error for mean, error in gaps.values())
        better = sum(mean > 2 * error for mean, error in gaps.values())
        which = "one step" if claim == "one-step" else "convergence"
        told = f"{which} is clearly worse on {worse}, better on {better} of {len(gaps)}"
        note = "; ".join(f"{where}: {mean:+.2f} ± {error:.2f}" for where, (mean, error) in gaps.items())
        behind = "; ".join(f"{where}: {len(scores)} seeds" for where, scores in data.items())
        one = stated(
            told, 2 * worse > len(gaps), note=note, chance=tail(worse, len(gaps), 0.023), behind=behind
        )
        if claim == "one-step":
            found[claim] = one if worse or better else replace(one, verdict="undecided")
        else:
            found[claim] = _enough(one, data, gaps, better)
    return found


ENOUGH = 0.005
"""What convergence may bring, as a share of the score, for ten steps to be called enough."""


def _enough(
    one: Found, data: dict[str, list[dict[str, float]]], gaps: dict[str, tuple[float, float]], better: int
) -> Found:
    """Return whether ten steps are as good as convergence: never clearly worse, and the intervals narrow."""
    narrow = all(
        mean + 2 * error <= ENOUGH * abs(np.mean([s["(EM)^10"] for s in data[where]]))
        for where, (mean, error) in gaps.items()
    )
    verdict: Verdict = "not" if better else "reproduced" if narrow else "undecided"
    return replace(one, verdict=verdict, chance=0.0)


def _hidden_found(results: Results) -> dict[str, Found]:
    runs = [run for prior in PRIORS for run in _hidden(results, prior)]
    if not runs:
        return {}
    none = sum(run["empty"]["near"] == 0 for run in runs)
    full = np.mean([run["arcs from H"]["near"] for run in runs])
    note = f"with arcs from the hidden variable at the start {full:.1f} of 6 remain on average"
    return {"empty-start": all_of(none, len(runs), "runs without an arc", note, behind=f"{len(runs)} tables")}


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
    found = {"votes": Found(told, note=minus(note))}
    splits = _vote_splits(results)
    if len(splits) > 1:
        gains = [max(lines, key=lambda x: x["cs"])["score"] - lines[0]["score"] for lines in splits]
        told = minus(f"{np.mean(gains):+.3f} ± {error_of_mean(gains):.3f} nats a row")
        note = f"the mixture chosen by Cheeseman–Stutz over one network, {len(gains)} splits"
        found["votes-predict"] = Found(told, note=note)
    return found
