"""How much of the work on CH96 is done at each size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lacunary.papers import Size, Unit, sweep
from lacunary.papers.ch96.settings import ROWS, Setting, states
from lacunary.papers.ch96.work import free, reality, reference, weigh

__all__ = ["units"]

EPSILONS = (0.1, 0.001)
"""Beside 0.01, at which everything is done."""

SETTINGS = tuple(dict.fromkeys(ROWS))
TINY = (Setting(8, 4, 100),)


@dataclass(frozen=True)
class Plan:
    """Sizes of everything.

    Attributes
    ----------
    settings, few
        Which experiments, and whether with few of the numbers of hidden states.
    models, sets
        Random models of each setting with up to eight classes and with more, and data sets of each model; the
        paper has one and five.
    spread
        Data sets on which other ε are tried: for up to eight classes, and for more.
    steps
        Annealing steps of the reference, by c; nothing is annealed for a c that is not there.
    reality
        Sizes (n, c) of section 5, and how often each is repeated.
    """

    settings: Sequence[Setting]
    few: bool
    models: tuple[int, int]
    sets: int
    spread: tuple[int, int]
    steps: dict[int, int]
    reality: Sequence[tuple[int, int]]
    repeats: int


PLANS: dict[Size, Plan] = {
    "tiny": Plan(TINY, True, (1, 1), 2, (1, 1), {4: 64}, ((6, 2),), 1),
    "glance": Plan(SETTINGS, True, (1, 1), 2, (1, 0), {4: 256}, ((12, 3), (18, 4)), 2),
    "full": Plan(
        SETTINGS,
        False,
        (4, 2),
        5,
        (5, 2),
        {4: 2048, 8: 2048, 16: 1024, 32: 1024},
        ((12, 3), (18, 4), (24, 5), (32, 6)),
        5,
    ),
}
"""What is done at each size; the units that matter most come first."""

ANNEALED = {
    4: range(2, 9),
    8: (2, 4, 6, 7, 8, 9, 10),
    16: (6, 8, 12, 14, 16, 20, 24),
    32: (8, 16, 24, 32, 40),
}
"""Numbers of hidden states at which the evidence is annealed."""


def units(size: Size) -> Sequence[Unit]:
    """Return the work."""
    plan = PLANS[size]
    every, rest = range(plan.sets), range(1, plan.sets)
    return [
        *_weighing(plan, 0, range(1)),
        *_realities(plan),
        *_equals(plan),
        *_weighing(plan, 0, rest, most=8),
        *_references(plan, size),
        *_weighing(plan, 0, rest, least=9),
        *_epsilons(plan),
        *_ranks(plan),
        *(unit for model in range(1, plan.models[0]) for unit in _weighing(plan, model, every, most=8)),
        *(unit for model in range(1, plan.models[1]) for unit in _weighing(plan, model, every, least=9)),
    ]


def _weighing(plan: Plan, model: int, sets: range, least: int = 0, most: int = 99) -> Iterator[Unit]:
    """Weigh test models on data sets, in settings with at least and at most so many classes."""
    extra = {"ml": True} if model == 0 else {}
    for data in sets:
        for setting in (s for s in plan.settings if least <= s.c <= most):
            yield from _weighed(plan, setting, model=model, data=data, **extra)


def _weighed(plan: Plan, setting: Setting, **more: Any) -> Iterator[Unit]:
    """Weigh a test model of every number of hidden states."""
    return sweep(weigh, setting._asdict() | {"model": 0, "data": 0} | more, k=states(setting, few=plan.few))


def _equals(plan: Plan) -> Iterator[Unit]:
    for setting in plan.settings:
        if setting.c > 8:
            yield from _weighed(plan, setting, equal=True)


def _epsilons(plan: Plan) -> Iterator[Unit]:
    for setting in plan.settings:
        for data in range(plan.spread[setting.c > 8]):
            for epsilon in EPSILONS:
                yield from _weighed(plan, setting, data=data, epsilon=epsilon)


def _references(plan: Plan, size: Size) -> Iterator[Unit]:
    # the most classes first: there the question of the second peak is decided
    chosen = sorted(plan.settings, key=lambda s: -s.c) if size == "full" else plan.settings[:1]
    for setting in chosen:
        how = {"model": 0, "data": 0, "steps": plan.steps[setting.c]}
        some = ANNEALED[setting.c] if size == "full" else (2, 4, 6)[: 2 + (size == "glance")]
        yield from sweep(reference, setting._asdict() | how, k=some)


def _ranks(plan: Plan) -> Iterator[Unit]:
    wanted = {(s.n, k) for s in plan.settings for k in states(s, few=plan.few)}
    yield from (Unit(free, {"n": n, "k": k}) for n, k in sorted(wanted))


def _realities(plan: Plan) -> Iterator[Unit]:
    for n, c in plan.reality:
        yield from sweep(reality, {"n": n, "c": c, "rows": 800, "most": c + 3}, repeat=range(plan.repeats))
