"""What is to be done for TMCH98, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lacunary.papers import Size, Unit
from lacunary.papers.tmch98.discrete import PRIORS, from_empty, votes
from lacunary.papers.tmch98.images import digit_mixture, search_trace
from lacunary.papers.tmch98.recovery import recovered, unmixed
from lacunary.papers.tmch98.silhouettes import vehicle_mixture
from lacunary.papers.tmch98.tables import KINDS, SIZES, VEHICLES

__all__ = ["FEW", "SCHEDULES", "units"]

SCHEDULES = {
    "(EM)^1": "((EM)^1 Ec S* M)*",
    "(EM)^10": "((EM)^10 Ec S* M)*",
    "(EM)*": "((EM)* Ec S* M)*",
}
"""Section 5: EM between two searches for one step, for ten, or to convergence."""

FEW = 4
"""Components of digit 7's mixtures where schedules are compared."""

COMPARED = (375, 1500)
"""Rows of section 7's tables where schedules are compared."""


def units(size: Size) -> list[Unit]:
    """Return the work."""
    if size == "tiny":
        return list(_tiny())
    if size == "glance":
        return [
            *_digits([7], [0]),
            *_traces([7], [0]),
            *_hidden(range(3)),
            *_votes(5, range(2)),
            *_vehicles(range(1)),
            *_recoveries(range(3)),
            *_unmixed(range(3)),
            *_recoveries(range(1), pair="trees"),
            *_gold_schedules(range(2)),
        ]
    others = [d for d in range(10) if d != 7]
    return [
        *_digits([7], [0]),
        *_traces([7], [0]),
        *_digits(others, [0]),
        *_hidden(range(10)),
        *_votes(6, range(5)),
        *_recoveries(range(10)),
        *_unmixed(range(10)),
        *_recoveries(range(5), pair="trees"),
        *_vehicles(range(5)),
        *_gold_schedules(range(10)),
        *_vehicle_schedules(range(5)),
        *_digit_schedules(range(1, 4)),
        *_vehicles(range(5), "Opel"),
        *_traces([7], [1, 2]),
        *_traces([3, 0], range(3)),
        *_recoveries(range(5), prior="default"),
        *_digits(range(10), [1, 2]),
    ]


def _tiny() -> Iterator[Unit]:
    for kind in KINDS:
        same = {"kind": kind, "components": 1, "draws": 10, "train": 150, "pixels": 12}
        yield Unit(digit_mixture, {"digit": 7, "seed": 0, **same})
    yield Unit(search_trace, {"digit": 7, "components": 1, "seed": 0, "train": 150, "pixels": 12})
    yield Unit(from_empty, {"seed": 0, "prior": "BDeu(1)", "rows": 200})
    yield Unit(votes, {"kind": "learn", "most": 2})
    yield Unit(vehicle_mixture, {"vehicle": "van", "kind": "complete", "split": 0, "draws": 10})
    yield from (Unit(recovered, {"seed": seed, "rows": 93}) for seed in range(2))
    yield Unit(unmixed, {"seed": 0, "rows": 93})


def _digits(digits: Iterable[int], seeds: Iterable[int]) -> Iterator[Unit]:
    for seed in seeds:
        for digit in digits:
            yield from (Unit(digit_mixture, {"digit": digit, "kind": kind, "seed": seed}) for kind in KINDS)


def _traces(digits: Iterable[int], seeds: Iterable[int]) -> Iterator[Unit]:
    for seed in seeds:
        for digit in digits:
            yield Unit(search_trace, {"digit": digit, "components": 3, "seed": seed})


def _hidden(seeds: Iterable[int]) -> Iterator[Unit]:
    for seed in seeds:
        yield from (Unit(from_empty, {"seed": seed, "prior": prior}) for prior in PRIORS)


def _votes(most: int, splits: Iterable[int]) -> Iterator[Unit]:
    for kind in ("learn", "empty"):
        yield Unit(votes, {"kind": kind, "most": most if kind == "learn" else 2 * most})
    yield from (Unit(votes, {"kind": "learn", "most": most, "split": split}) for split in splits)


def _vehicles(splits: Iterable[int], about: str | None = None) -> Iterator[Unit]:
    extra = {} if about is None else {"about": about}
    for split in splits:
        for vehicle in VEHICLES:
            for kind in KINDS:
                yield Unit(vehicle_mixture, {"vehicle": vehicle, "kind": kind, "split": split, **extra})


def _recoveries(seeds: Iterable[int], **extra: str) -> Iterator[Unit]:
    for seed in seeds:
        yield from (Unit(recovered, {"seed": seed, "rows": rows, **extra}) for rows in SIZES)


def _unmixed(seeds: Iterable[int]) -> Iterator[Unit]:
    for seed in seeds:
        yield from (Unit(unmixed, {"seed": seed, "rows": rows}) for rows in SIZES)


def _other_schedules() -> Iterator[str]:
    """Yield those that are not the default's, whose mixtures are learned anyway."""
    yield from (schedule for name, schedule in SCHEDULES.items() if name != "(EM)^10")


def _gold_schedules(seeds: Iterable[int]) -> Iterator[Unit]:
    for seed in seeds:
        for schedule in _other_schedules():
            for rows in COMPARED:
                yield Unit(recovered, {"seed": seed, "rows": rows, "schedule": schedule})


def _vehicle_schedules(splits: Iterable[int]) -> Iterator[Unit]:
    for split in splits:
        for schedule in _other_schedules():
            for vehicle in VEHICLES:
                same = {"vehicle": vehicle, "kind": "learn", "split": split}
                yield Unit(vehicle_mixture, {**same, "schedule": schedule})


def _digit_schedules(seeds: Iterable[int]) -> Iterator[Unit]:
    for seed in seeds:
        for schedule in SCHEDULES.values():
            same = {"digit": 7, "kind": "learn", "seed": seed, "components": FEW}
            yield Unit(digit_mixture, {**same, "schedule": schedule})
