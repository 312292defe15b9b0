"""What CH96 could not afford: its scores against the evidence itself."""

from __future__ import annotations

from collections import defaultdict
from math import lgamma
from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Record, Results, minus
from lacunary.papers.ch96.curves import Curve, chosen, curves
from lacunary.papers.ch96.settings import SCORES, Setting
from lacunary.papers.ch96.work import reference

__all__ = ["Reference", "beyond", "closeness", "references"]

NAMES = (*SCORES, "variational")


class Reference:
    """The evidence of one model on one data set, and the scores there."""

    def __init__(self, record: Record) -> None:
        a = record.arguments
        self.setting, self.k = Setting(a["n"], a["c"], a["rows"]), int(a["k"])
        self.value: dict[str, Any] = record.value
        self.copies = lgamma(self.k + 1)

    @property
    def evidence(self) -> float:
        """The larger of annealing and the variational bound with its copies."""
        return float(max(self.value["ais"], self.value["variational"] + self.copies))

    @property
    def annealed(self) -> bool:
        """Whether annealing is the larger of the two."""
        return bool(self.evidence == self.value["ais"])

    def score(self, name: str) -> float | None:
        """Return a score at the best of 64 climbs; log k! added where a score sees one of k! peaks."""
        if name == "variational":
            return float(self.value["variational"]) + self.copies
        value = self.value["scores"][name]
        return None if value is None else float(value) + (self.copies if name in SCORES[:2] else 0.0)


def references(results: Results) -> dict[Setting, list[Reference]]:
    """Return all references by setting, in the order of hidden states."""
    found: dict[Setting, list[Reference]] = defaultdict(list)
    for record in results.of(reference):
        one = Reference(record)
        found[one.setting].append(one)
    return {setting: sorted(own, key=lambda r: r.k) for setting, own in found.items()}


def closeness(results: Results) -> Listing:
    """Return the errors of all scores against the evidence."""
    rows = []
    for setting, own in references(results).items():
        for one in own:
            scores = [one.score(name) for name in NAMES]
            errors = [None if s is None else round(s - one.evidence, 2) for s in scores]
            by = "annealing" if one.annealed else "variational"
            ess = round(one.value["ess"], 1)
            rows.append((*setting, one.k, round(one.evidence, 2), by, ess, *errors))
    heads = ("n", "c", "N", "k", "log p(D)", "by", "chains that count")
    note = "Scores at the best of 64 climbs; log k! is added to Laplace, CS and the variational bound."
    return Listing("closeness", "Scores less log evidence, in nats", (*heads, *NAMES), rows, note)


def beyond(results: Results) -> dict[str, Found]:
    """Return the answers to our own questions."""
    known = references(results)
    if not known:
        return {}
    return _close(known) | _choices(known) | _second(known) | _thorough(known, curves(results))


def _close(known: dict[Setting, list[Reference]]) -> dict[str, Found]:
    errors: dict[str, list[float]] = defaultdict(list)
    shapes: dict[str, list[float]] = defaultdict(list)
    for own in known.values():
        for name in NAMES:
            gaps = [s - one.evidence for one in own if (s := one.score(name)) is not None]
            errors[name] += gaps
            shapes[name] += [gap - float(np.mean(gaps)) for gap in gaps]
    told = "; ".join(f"{name} {minus(f'{np.median(e):+.0f}')}" for name, e in errors.items())
    scatter = "; ".join(f"{name} {np.sqrt(np.mean(np.square(s))):.0f}" for name, s in shapes.items())
    note = f"Root mean square error of the curves' shape (less each curve's mean error): {scatter}."
    return {"closeness": Found(f"median error in nats: {told}", note=note)}


def _choices(known: dict[Setting, list[Reference]]) -> dict[str, Found]:
    moves: dict[str, list[int]] = {name: [] for name in NAMES}
    for own in known.values():
        truth = chosen({one.k: one.evidence for one in own})
        for name in NAMES:
            values = {one.k: s for one in own if (s := one.score(name)) is not None}
            moves[name].append(chosen(values) - truth)
    told = "; ".join(f"{name} {np.mean(np.abs(m)):.1f}" for name, m in moves.items())
    listed = "; ".join(f"{name}: {', '.join(f'{d:+d}' for d in m)}" for name, m in moves.items())
    note = f"One data set a setting, {len(known)} settings. Each: {listed}.".replace("-", "−")
    return {"choices": Found(f"mean distance from the evidence's choice, in states: {told}", note=note)}


def _second(known: dict[Setting, list[Reference]]) -> dict[str, Found]:
    told, real = [], []
    for setting, own in known.items():
        if setting.c < 16 or len(own) < 4:
            continue
        best = chosen({one.k: one.evidence for one in own})
        peak = max(own, key=lambda one: one.evidence).evidence
        half = min(own, key=lambda one: abs(one.k - setting.c / 2))
        real.append(abs(best - setting.c) <= setting.c / 8)
        told.append(f"c = {setting.c}: best at {best}, {peak - half.evidence:.0f} nats above {half.k} states")
    if not told:
        return {}
    answer = "yes: it is the only one" if all(real) else "in part" if any(real) else "no"
    return {
        "real-peak": Found(answer, note="; ".join(told) + ". By annealing, which does not stand on one peak.")
    }


def _thorough(known: dict[Setting, list[Reference]], found: list[Curve]) -> dict[str, Found]:
    gains = []
    for curve in found:
        if (curve.model, curve.data) == (0, 0):
            for one in known.get(curve.setting, ()):
                if one.k in curve.values:
                    gains.append(one.value["log_likelihood"] - curve.values[one.k]["log_likelihood"])
    if not gains:
        return {}
    short = float(np.mean([gain > 1 for gain in gains]))
    note = (
        f"Log-likelihood of the best of 64 climbs to the end less that of the tournament's winner: median "
        f"{np.median(gains):.1f}, most {max(gains):.0f} nats, of {len(gains)}."
    )
    return {"thorough": Found(f"not in {short:.0%} of the cases", note=note)}
