"""Table 2 and the growth of times of CH96."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Results, least_squares, verdict_if
from lacunary.papers.ch96.settings import ROWS, SCORES, TABLE_2
from lacunary.papers.ch96.work import weigh

__all__ = ["table_2", "times"]

Medians = dict[int, dict[str, float]]


def _medians(results: Results, **wanted: Any) -> Medians:
    """Return the median seconds of EM and of each score, by number of hidden states."""
    seconds: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in results.of(weigh, **wanted):
        own = seconds[record.arguments["k"]]
        own["em"].append(record.value["em_seconds"])
        for score in SCORES:
            if record.value["seconds"][score] is not None:
                own[score].append(record.value["seconds"][score])
    return {k: {name: float(np.median(s)) for name, s in own.items()} for k, own in sorted(seconds.items())}


def table_2(results: Results) -> Listing:
    """Return the printed times beside ours, in seconds."""
    own = _medians(results, n=64, c=32)
    names = ("em", *SCORES)
    rows = []
    for d, *then in TABLE_2:
        mine = own.get((int(d) + 1) // 65)
        pairs = [(old, _rounded(mine, name)) for old, name in zip(then, names, strict=True)]
        rows.append((int(d), *(value for pair in pairs for value in pair)))
    heads = ("EM", "Laplace", "CS", "MLED", "Draper", "BIC")
    columns = ("d", *(f"{head}, {when}" for head in heads for when in ("1996", "now")))
    note = "Median seconds over data sets, on a machine with other work on it; EM stopped by their rule."
    return Listing("table-2", "Table 2: run times in seconds, n = 64, c = 32, N = 400", columns, rows, note)


def _rounded(own: dict[str, float] | None, name: str) -> float | None:
    return None if own is None or name not in own else float(f"{own[name]:.2g}")


def times(results: Results) -> dict[str, Found]:
    """Return what the times say to the claims."""
    own = _medians(results, n=64, c=32)
    all_d = [record.value["d"] for record in results.of(weigh, n=64, c=32)]
    printed = {int(row[0]) for row in TABLE_2}
    found: dict[str, Found] = {}
    if printed <= set(all_d):
        found["table-2-d"] = Found("the same", verdict="reproduced")
        rows = [own[k] for k in range(26, 37)]
        ordered = [
            row["laplace"] > row["em"] > 100 * max(row[s] for s in SCORES[1:])
            for row in rows
            if "laplace" in row
        ]
        ratio = float(np.median([row["laplace"] / row["em"] for row in rows]))
        verdict = verdict_if(all(ordered), bool(np.mean(ordered) > 0.5))
        speed = [then[1] / row["em"] for then, row in zip(TABLE_2, rows, strict=True)]
        curved = [then[2] / row["laplace"] for then, row in zip(TABLE_2, rows, strict=True)]
        note = f"EM is {np.median(speed):,.0f} and Laplace {np.median(curved):,.0f} times as fast as then."
        total = float(np.median([row["em"] for row in rows]))
        found["table-2-order"] = Found(f"{sum(ordered)} of 11", verdict=verdict, note=note, seconds=total)
        found["table-2-ratio"] = Found(ratio, note="Median over the eleven models.")
    wide = _medians(results, n=64, rows=400)
    if len(wide) > 5:
        found["growth-laplace"] = _power(wide, "laplace")
        found["growth-em"] = _power(wide, "em")
    return found | _typical(results)


def _power(medians: Medians, name: str) -> Found:
    """Return the exponent of d in a power law through the median times."""
    points = [(65 * k - 1, own[name]) for k, own in medians.items() if name in own]
    slope = least_squares(*np.log(np.array(points)).T)
    note = f"{slope.samples} numbers of hidden states, d = {points[0][0]} to {points[-1][0]}."
    return Found(slope.value, slope.error, note=note)


def _typical(results: Results) -> dict[str, Found]:
    """Tell in which settings e < d and d < N hold at the true number of states."""
    told = []
    for setting in dict.fromkeys(ROWS):
        of = [r.value for r in results.of(weigh, n=setting.n, c=setting.c, rows=setting.rows, k=setting.c)]
        if of:
            e, d = float(np.median([value["iterations"] for value in of])), of[0]["d"]
            told.append((e < d, d < setting.rows))
    if len(told) < len(set(ROWS)):
        return {}
    steps, parameters = (sum(column) for column in zip(*told, strict=True))
    both = sum(a and b for a, b in told)
    value = f"e < d in {steps}, d < N in {parameters} of {len(told)} settings"
    return {"typically": Found(value, verdict=verdict_if(both == len(told), both > len(told) / 2))}
