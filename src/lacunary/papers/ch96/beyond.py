"""What CH96 could not afford: its scores against the evidence itself; and its Table 2 and growth of times."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from lacunary.papers import Found, Listing, Record, Results, least_squares, minus, most_of, stated
from lacunary.papers.ch96.curves import SCORES, SETTINGS, TABLE_2, Curve, Setting, chosen, curves
from lacunary.papers.ch96.work import reference, weigh

NAMES = (*SCORES, "variational")
ONE_PEAK = ("laplace", "cheeseman-stutz")
"""Scores that see one of several equal peaks; the variational bound counts them itself."""

FEWEST = 4
"""Numbers of hidden states of which the evidence must be known for it to choose among them."""

CERTAIN = 1.0
"""Standard error of log p(D), in nats, up to which it is a reference; beyond it nothing is decided."""


class Drawn(NamedTuple):
    """A data set: its setting, and which model drew it as which of its data sets."""

    setting: Setting
    model: int
    data: int

    def __str__(self) -> str:
        first = (self.model, self.data) == (0, 0)
        return str(self.setting) + ("" if first else f", model {self.model + 1}, data {self.data + 1}")


class Reference:
    """The evidence of one model on one data set, and the scores there that are known.

    Scores are those at the best of 64 climbs; where one sees one of several peaks, the log of the number of
    ways to name the classes that rows are in is added. The evidence is sampled, and ``certain`` tells
    whether it may serve as a reference.
    """

    def __init__(self, record: Record) -> None:
        a = record.arguments
        self.drawn, self.k = Drawn(Setting(a["n"], a["c"], a["rows"]), a["model"], a["data"]), int(a["k"])
        self.value: dict[str, Any] = record.value
        known = record.value["scores"] | {"variational": record.value["variational"]}
        self.scores: dict[str, float] = {
            name: known[name] + (record.value["labellings"] if name in ONE_PEAK else 0.0)
            for name in NAMES
            if known[name] is not None
        }
        self.evidence, self.error = float(self.value["evidence"]), float(self.value["stderr"] or 0.0)
        self.certain = bool(self.value["trustworthy"]) and self.error <= CERTAIN

    @property
    def errors(self) -> dict[str, float]:
        """The scores less the evidence, where that is certain to the size of the difference."""
        gaps = {name: score - self.evidence for name, score in self.scores.items()}
        return {name: gap for name, gap in gaps.items() if self.certain and abs(gap) > 2 * self.error}


Known = dict[Drawn, list[Reference]]


def references(results: Results) -> Known:
    """Return all references by data set, in the order of hidden states."""
    found: Known = defaultdict(list)
    for record in results.of(reference):
        one = Reference(record)
        found[one.drawn].append(one)
    return {drawn: sorted(own, key=lambda r: r.k) for drawn, own in sorted(found.items())}


def closeness(results: Results) -> Listing:
    """Return the errors of all scores against the evidence."""
    rows = []
    for (setting, model, data), own in references(results).items():
        for one in own:
            errors = {name: round(error, 2) for name, error in one.errors.items()}
            found = (round(one.evidence, 2), round(one.error, 2), "yes" if one.certain else "no")
            rows.append(
                (*setting, model, data, one.k, one.value["occupied"], *found, *map(errors.get, NAMES))
            )
    heads = ("n", "c", "N", "model", "data", "k", "occupied", "log p(D)", "± s.e.", "certain")
    note = (
        "Scores at the best of 64 climbs; the number of ways to name occupied classes is counted in for "
        "Laplace, CS and the variational bound. Empty: not decided, as the evidence is not certain to the "
        "size of the difference."
    )
    return Listing("closeness", "Scores less log evidence, in nats", (*heads, *NAMES), rows, note)


def beyond(results: Results) -> dict[str, Found]:
    """Return the answers to our own questions."""
    known = references(results)
    if not known:
        return {}
    return _close(known) | _choices(known) | _second(known) | _thorough(known, curves(results))


def _close(known: Known) -> dict[str, Found]:
    errors: dict[str, list[float]] = defaultdict(list)
    shapes: dict[str, list[float]] = defaultdict(list)
    for own in known.values():
        for name in NAMES:
            gaps = [one.errors[name] for one in own if name in one.errors]
            if not gaps:
                continue
            errors[name] += gaps
            shapes[name] += [gap - float(np.mean(gaps)) for gap in gaps]
    told = "; ".join(f"{name} {minus(f'{np.median(e):+.0f}')}" for name, e in errors.items())
    scatter = "; ".join(f"{name} {np.sqrt(np.mean(np.square(s))):.0f}" for name, s in shapes.items())
    every = [one for own in known.values() for one in own]
    sure = f"{sum(one.certain for one in every)} of {len(every)} references are certain to a nat"
    if not any(errors.values()):
        return {"closeness": Found("not decided", note=f"{sure}.")}
    note = f"Root mean square error of the curves' shape (less each curve's mean error): {scatter}. {sure}."
    used = [str(drawn) for drawn, own in known.items() if any(one.errors for one in own)]
    behind = f"{len(used)} data set{'s' if len(used) > 1 else ''}: {'; '.join(used)}"
    return {"closeness": Found(f"median error in nats: {told}", note=note, behind=behind)}


def _choices(known: Known) -> dict[str, Found]:
    moves: dict[str, list[int]] = {name: [] for name in NAMES}
    decided = [own for own in known.values() if _decided(own)]
    for own in decided:
        truth = chosen({one.k: one.evidence for one in own})
        for name in NAMES:
            values = {one.k: one.scores[name] for one in own if name in one.scores}
            moves[name].append(chosen(values) - truth)
    sure = f"The evidence's own choice is certain in {len(decided)} of {len(known)} data sets."
    if not decided:
        return {"choices": Found("not decided", note=sure)}
    told = "; ".join(f"{name} {np.mean(np.abs(m)):.1f}" for name, m in moves.items())
    listed = "; ".join(f"{name}: {minus(', '.join(f'{d:+d}' for d in m))}" for name, m in moves.items())
    note = f"{sure} Each: {listed}."
    return {"choices": Found(f"mean distance from the evidence's choice, in states: {told}", note=note)}


def _decided(own: list[Reference]) -> bool:
    """Tell whether the highest evidence is certain, and above all others by more than two standard errors."""
    best = max(own, key=lambda one: one.evidence)
    enough = len(own) >= FEWEST and all(one.certain for one in own)
    return enough and all(
        best.evidence - one.evidence > 2 * float(np.hypot(best.error, one.error))
        for one in own
        if one is not best
    )


def _second(known: Known) -> dict[str, Found]:
    told, real, unsure = [], [], 0
    for (setting, *_), own in known.items():
        if setting.c < 16 or (len(own) < FEWEST and all(one.certain for one in own)):
            continue
        if not _decided(own):
            unsure += 1
            told.append(
                f"c = {setting.c}: {sum(one.certain for one in own)} of {len(own)} points are certain"
            )
            continue
        best = chosen({one.k: one.evidence for one in own})
        peak = max(own, key=lambda one: one.evidence).evidence
        half = min(own, key=lambda one: abs(one.k - setting.c / 2))
        real.append(abs(best - setting.c) <= setting.c / 8)
        told.append(f"c = {setting.c}: best at {best}, {peak - half.evidence:.0f} nats above {half.k} states")
    if not told:
        return {}
    answer = "yes: it is the only one" if all(real) else "in part" if any(real) else "no"
    answer = "not decided" if unsure else answer
    note = "; ".join(told) + ". By samplers that do not stand on one peak."
    return {"real-peak": Found(answer, note=note)}


def _thorough(known: Known, found: list[Curve]) -> dict[str, Found]:
    gains = [
        one.value["log_likelihood"] - curve.values[one.k]["log_likelihood"]
        for curve in found
        for one in known.get(Drawn(curve.setting, curve.model, curve.data), ())
        if one.k in curve.values
    ]
    if not gains:
        return {}
    short = float(np.mean([gain > 1 for gain in gains]))
    note = (
        f"Log-likelihood of the best of 64 climbs to the end less that of the tournament's winner: median "
        f"{np.median(gains):.1f}, most {max(gains):.0f} nats, of {len(gains)}."
    )
    return {"thorough": Found(f"not in {short:.0%} of the cases", note=note)}


Medians = dict[int, dict[str, float]]


def _medians(results: Results, **wanted: Any) -> Medians:
    """Return the median seconds of EM and of each score, by number of hidden states."""
    seconds: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in results.of(weigh, **wanted):
        own = seconds[record.arguments["k"]]
        spent = record.value["seconds"] | {"em": record.value["em_seconds"]}
        for name in ("em", *SCORES):
            if spent[name] is not None:
                own[name].append(spent[name])
    return {k: {name: float(np.median(s)) for name, s in own.items()} for k, own in sorted(seconds.items())}


def table_2(results: Results) -> Listing:
    """Return the printed times beside ours, in seconds."""
    own = _medians(results, n=64, c=32)
    rows = []
    for d, *then in TABLE_2 if own else ():
        mine = {name: float(f"{s:.2g}") for name, s in own.get((int(d) + 1) // 65, {}).items()}
        pairs = zip(then, map(mine.get, ("em", *SCORES)), strict=True)
        rows.append((int(d), *(value for pair in pairs for value in pair)))
    heads = ("EM", "Laplace", "CS", "MLED", "Draper", "BIC")
    columns = ("d", *(f"{head}, {when}" for head in heads for when in ("1996", "now")))
    note = "Median seconds of the processor over data sets, on one thread; EM stopped by their rule."
    return Listing("table-2", "Table 2: run times in seconds, n = 64, c = 32, N = 400", columns, rows, note)


def times(results: Results) -> dict[str, Found]:
    """Return what the times say to the claims."""
    own = _medians(results, n=64, c=32)
    all_d = {record.value["d"] for record in results.of(weigh, n=64, c=32)}
    found: dict[str, Found] = {}
    if {int(row[0]) for row in TABLE_2} <= all_d:
        found["table-2-d"] = stated("the same", True, chance=0.0, behind="eleven models")
        rows = [own[k] for k in range(26, 37)]
        longer = sum(row["laplace"] > row["em"] for row in rows if "laplace" in row)
        most = max(row[score] / row["em"] for row in rows for score in SCORES[1:])
        faster = {
            name: np.median([then[place] / row[name] for then, row in zip(TABLE_2, rows, strict=True)])
            for place, name in ((1, "em"), (2, "laplace"))
        }
        note = f"EM is {faster['em']:,.0f} and Laplace {faster['laplace']:,.0f} times as fast as then."
        told = f"longer in {longer} of 11; the others at most {most:.0%} of EM's time"
        total = float(np.median([row["em"] for row in rows]))
        found["table-2-order"] = Found(told, note=note, seconds=total)
        ratio = float(np.median([row["laplace"] / row["em"] for row in rows]))
        found["table-2-ratio"] = Found(ratio, note="Median over the eleven models.")
    wide = _medians(results, n=64, rows=400)
    for name in ("laplace", "em") if len(wide) > 5 else ():
        found[f"growth-{name}"] = _power(wide, name)
    return found | _typical(results)


def _power(medians: Medians, name: str) -> Found:
    """Return the exponent of d in a power law through the median times."""
    points = [(65 * k - 1, own[name]) for k, own in medians.items() if name in own]
    slope = least_squares(*np.log(np.array(points)).T)
    behind = f"{slope.samples} numbers of hidden states, d = {points[0][0]} to {points[-1][0]}"
    return Found(slope.value, slope.error, behind=behind)


def _typical(results: Results) -> dict[str, Found]:
    """Tell in which settings e < d and d < N hold at the true number of states."""
    told = []
    for setting in SETTINGS:
        of = [record.value for record in results.of(weigh, **setting._asdict(), k=setting.c)]
        if of:
            e, d = float(np.median([value["iterations"] for value in of])), of[0]["d"]
            told.append((e < d, d < setting.rows))
    if len(told) < len(SETTINGS):
        return {}
    steps, parameters = (sum(column) for column in zip(*told, strict=True))
    both = sum(a and b for a, b in told)
    value = f"e < d in {steps}, d < N in {parameters} of {len(told)} settings"
    return {"typically": most_of(both, len(told), "settings", value, behind=f"{len(told)} settings")}
