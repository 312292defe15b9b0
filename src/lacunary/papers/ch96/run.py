"""CH96, reproduced: five approximations of the evidence of naive Bayes models with a hidden root."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lacunary.papers import Listing, Outcome, Paper, Results, Size, Unit, minus, sweep
from lacunary.papers.ch96.answers import answers
from lacunary.papers.ch96.beyond import beyond, closeness, table_2, times
from lacunary.papers.ch96.curves import (
    LABELS,
    PRINTED,
    ROWS,
    SCORES,
    SETTINGS,
    Curve,
    Setting,
    curves,
    mean_delta,
    states,
)
from lacunary.papers.ch96.work import free, reality, reference, weigh

EPSILONS = (0.1, 0.001)
"""Beside 0.01, at which everything is done."""


@dataclass(frozen=True)
class Plan:
    """Sizes of everything.

    Attributes
    ----------
    settings, few
        Which experiments, and whether with few of the numbers of hidden states.
    models, sets
        Random models of each setting with up to eight classes and with more; and data sets of each model, but
        of models with more than eight classes after the first a single one. The paper has one and five.
    spread
        Data sets on which other ε are tried: for up to eight classes, and for more.
    starts
        Climbs at the reference, from which the best is taken.
    reality
        Sizes (n, c) of section 5, and how often each is repeated.
    """

    settings: Sequence[Setting]
    few: bool
    models: tuple[int, int]
    sets: int
    spread: tuple[int, int]
    starts: int
    reality: Sequence[tuple[int, int]]
    repeats: int

    def weighed(self, setting: Setting, **more: Any) -> Iterator[Unit]:
        """Weigh a test model of every number of hidden states."""
        same = setting._asdict() | {"model": 0, "data": 0} | more
        return sweep(weigh, same, k=states(setting, few=self.few))

    def weighing(self, model: int, sets: range, least: int = 0, most: int = 99) -> Iterator[Unit]:
        """Weigh test models on data sets, in settings with at least and at most so many classes."""
        extra = {"ml": True} if model == 0 else {}
        for data in sets:
            for setting in (s for s in self.settings if least <= s.c <= most):
                yield from self.weighed(setting, model=model, data=data, **extra)


PLANS: dict[Size, Plan] = {
    "tiny": Plan((Setting(8, 4, 100),), True, (1, 1), 2, (1, 1), 4, ((6, 2),), 1),
    "glance": Plan(SETTINGS, True, (1, 1), 2, (1, 0), 8, ((12, 3), (18, 4)), 2),
    "full": Plan(
        SETTINGS,
        False,
        (4, 20),
        5,
        (5, 2),
        64,
        ((12, 3), (18, 4), (24, 5), (32, 6)),
        5,
    ),
}

ANNEALED = {
    4: range(2, 9),
    8: (2, 4, 6, 7, 8, 9, 10),
    16: (6, 8, 12, 14, 16, 20, 24),
    32: (8, 16, 24, 32, 40),
}
"""Numbers of hidden states at which the evidence is annealed."""

OTHERS = ((1, 0), (2, 0), (3, 0), (0, 1))
"""Models and data sets beside the first in the first setting, where the evidence becomes certain."""


def units(size: Size) -> Iterator[Unit]:
    """Return the work; the units that matter most come first."""
    plan = PLANS[size]
    every, rest = range(plan.sets), range(1, plan.sets)
    yield from plan.weighing(0, range(1))
    for n, c in plan.reality:
        yield from sweep(reality, {"n": n, "c": c, "rows": 800, "most": c + 3}, repeat=range(plan.repeats))
    for setting in (s for s in plan.settings if s.c > 8):
        yield from plan.weighed(setting, equal=True)
    yield from plan.weighing(0, rest, most=8)
    yield from _references(plan, size)
    yield from plan.weighing(0, rest, least=9)
    for setting in plan.settings:
        for data in range(plan.spread[setting.c > 8]):
            for epsilon in EPSILONS:
                yield from plan.weighed(setting, data=data, epsilon=epsilon)
    wanted = {(s.n, k) for s in plan.settings for k in states(s, few=plan.few)}
    yield from (Unit(free, {"n": n, "k": k}) for n, k in sorted(wanted))
    for model in range(1, plan.models[0]):
        yield from plan.weighing(model, every, most=8)
    for model in range(1, plan.models[1]):
        yield from plan.weighing(model, range(1), least=9)


def _references(plan: Plan, size: Size) -> Iterator[Unit]:
    # the most classes first: there the question of the second peak is decided
    chosen = sorted(plan.settings, key=lambda s: -s.c) if size == "full" else plan.settings[:1]
    for setting in chosen:
        how = {"model": 0, "data": 0} | ({} if size == "full" else {"starts": plan.starts})
        some = ANNEALED[setting.c] if size == "full" else (2, 4, 6)[: 2 + (size == "glance")]
        yield from sweep(reference, setting._asdict() | how, k=some)
    for model, data in OTHERS if size == "full" else ():
        same = plan.settings[0]._asdict() | {"model": model, "data": data}
        yield from sweep(reference, same, k=ANNEALED[plan.settings[0].c])


def outcome(results: Results) -> Outcome:
    """Return what the work shows."""
    from lacunary.papers.ch96.figures import drawings  # plotting takes a second to import

    known = curves(results)
    listings = [_table_1(known), table_2(results), _curves(known), closeness(results), _realities(results)]
    found = answers(results) | times(results) | beyond(results)
    return Outcome(listings, list(drawings(results, known)), found)


def _table_1(known: list[Curve]) -> Listing:
    rows: list[tuple[str | int, ...]] = []
    for setting, printed in zip(ROWS, PRINTED, strict=True) if known else ():
        own = [curve for curve in known if curve.setting == setting]
        cells: list[str] = []
        for score, (mean, spread) in zip(SCORES[1:], printed, strict=True):
            ours = mean_delta(own, score) if own else None
            cells += [f"{mean:g} ± {spread:g}", "" if ours is None else f"{ours[0]:.1f} ± {ours[1]:.1f}"]
        rows.append((*setting, len({c.model for c in own}), len(own), *map(minus, cells)))
    scores = (f"{LABELS[s]}, {whose}" for s in SCORES[1:] for whose in ("printed", "ours"))
    title = "Table 1: errors in model selection, Δc (mean ± s.d. over data sets)"
    return Listing("table-1", title, ("n", "c", "N", "models", "data sets", *scores), rows)


def _curves(known: list[Curve]) -> Listing:
    rows = [
        (*curve.setting, curve.model, curve.data, k, value["d"], *(value["scores"][s] for s in SCORES))
        for curve in known
        for k, value in sorted(curve.values.items())
    ]
    columns = ("n", "c", "N", "model", "data", "k", "d", *SCORES)
    return Listing("curves", "Figures 1 to 3: log evidence by five scores", columns, rows)


def _realities(results: Results) -> Listing:
    rows = [
        (
            *(r.arguments[name] for name in ("n", "c", "repeat")),
            *(r.value["best"][score] for score in SCORES),
            *(r.value[name] for name in ("arcs", "without", "delta")),
        )
        for r in results.of(reality)
    ]
    columns = ("n", "c", "model", *(f"states by {LABELS[s]}" for s in SCORES), "arcs", "nothing hidden", "Δm")
    return Listing("section-5", "Section 5: a hidden class against a graph without, N = 800", columns, rows)


PAPER = Paper(units, outcome, edition=2)
