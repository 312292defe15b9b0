"""What AIS gives against the length of annealing (BG03, Figure 2, right)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Record, Results, verdict_if
from lacunary.papers.bg03.plan import LENGTHS, ROWS
from lacunary.papers.bg03.summary import scored
from lacunary.papers.bg03.work import anneal

__all__ = ["MOVES", "annealed", "length_found", "length_listing", "lines_of"]

MOVES = {
    "metropolis": "AIS by Metropolis moves, as in print",
    "gibbs": "AIS by Gibbs moves, the library's own",
}


def annealed(results: Results, moves: str) -> dict[int, Record]:
    """Return the runs by length."""
    return {r.arguments["steps"]: r for r in results.of(anneal, moves=moves, rows=ROWS)}


def lines_of(results: Results) -> dict[str, float]:
    """Return BIC and the variational bound of the true structure, and the best estimate of its evidence."""
    here = scored(results, "apart", ROWS)
    runs = annealed(results, "gibbs")
    if here is None or not runs:
        return {}
    best = np.array(runs[max(runs)].value["log_weights"])
    evidence = float(np.logaddexp.reduce(best) - np.log(len(best)))
    return {
        "BIC": float(here.columns["bic"][here.true]),
        "VB lower bound": float(here.columns["vb"][here.true]),
        "evidence": evidence,
    }


def length_listing(results: Results) -> Listing:
    """Return mean and spread of the chains by length."""
    lines: list[list[Any]] = []
    for moves in MOVES:
        for steps, record in annealed(results, moves).items():
            weights = np.array(record.value["log_weights"])
            numbers = [weights.mean(), weights.std(ddof=1), weights.max(), record.value["started"]]
            numbers.append(record.value["acceptance"])
            seconds = f"{record.value['chain_seconds']:.2g}"
            lines.append([moves, steps, *(f"{n:.2f}" for n in numbers), seconds])
    columns = ("moves", "steps", "mean", "s.d.", "highest", "from the truth", "accepted", "seconds a chain")
    levels = ", ".join(f"{name} {value:.2f}" for name, value in lines_of(results).items())
    title = f"Figure 2, right, in numbers: log-weights of ten chains, {ROWS} rows"
    return Listing("annealing", title, columns, lines, levels)


def length_found(results: Results) -> dict[str, Found]:
    """Return how long AIS takes to reach BIC and the bound, and whether its chains agree in the end."""
    levels, runs = lines_of(results), annealed(results, "metropolis")
    own = annealed(results, "gibbs")
    if not levels or not runs:
        return {}
    found = {}
    for name, level in (("to-bic", levels["BIC"]), ("to-vb", levels["VB lower bound"])):
        steps, theirs = _first_above(runs, level), _first_above(own, level)
        note = f"Gibbs moves: {theirs or 'not within the lengths tried'}"
        if steps is None:
            found[name] = Found(f"more than {max(runs)}", verdict="not", note=note)
        else:
            found[name] = Found(steps, note=note)
    if max(runs) == LENGTHS[-1]:
        found["converge"] = _agreement(runs, own)
    return found


def _first_above(runs: dict[int, Record], level: float) -> int | None:
    """Return the least length from which on the mean of the chains is above a level."""
    above = {steps: float(np.mean(record.value["log_weights"])) > level for steps, record in runs.items()}
    below = [steps for steps, is_above in above.items() if not is_above]
    later = [steps for steps in sorted(above) if not below or steps > max(below)]
    return later[0] if later else None


def _agreement(runs: dict[int, Record], own: dict[int, Record]) -> Found:
    steps = max(runs)
    ranges = {
        name: float(np.ptp([*kind[max(kind)].value["log_weights"], kind[max(kind)].value["started"]]))
        for name, kind in (("Metropolis", runs), ("Gibbs", own))
        if kind
    }
    range_ = ranges["Metropolis"]
    note = "; ".join(f"{name} {value:.1f} nats from lowest to highest" for name, value in ranges.items())
    told = f"within {range_:.1f} nats at {steps} steps"
    return Found(told, verdict=verdict_if(range_ <= 3, range_ <= 6), note=note)
