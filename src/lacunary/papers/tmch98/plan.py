"""What is to be done for TMCH98, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lacunary.papers import Size, Unit, sweep
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

OTHERS = tuple(schedule for name, schedule in SCHEDULES.items() if name != "(EM)^10")
"""Those that are not the default, with which mixtures are learned anyway."""

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
        *_vehicles(range(5), about="Opel"),
        *_traces([7], [1, 2]),
        *_traces([3, 0], range(3)),
        *_recoveries(range(5), prior="default"),
        *_digits(range(10), [1, 2]),
    ]


def _tiny() -> Iterator[Unit]:
    small = {"digit": 7, "seed": 0, "components": 1, "train": 150, "pixels": 12}
    yield from sweep(digit_mixture, {**small, "draws": 10}, kind=KINDS)
    yield Unit(search_trace, small)
    yield Unit(from_empty, {"seed": 0, "prior": "BDeu(1)", "rows": 200})
    yield Unit(votes, {"kind": "learn", "most": 2})
    yield Unit(vehicle_mixture, {"vehicle": "van", "kind": "complete", "split": 0, "draws": 10})
    yield from sweep(recovered, {"rows": 93}, seed=range(2))
    yield Unit(unmixed, {"seed": 0, "rows": 93})


def _digits(digits: Iterable[int], seeds: Iterable[int]) -> Iterator[Unit]:
    return sweep(digit_mixture, seed=seeds, digit=digits, kind=KINDS)


def _traces(digits: Iterable[int], seeds: Iterable[int]) -> Iterator[Unit]:
    return sweep(search_trace, {"components": 3}, seed=seeds, digit=digits)


def _hidden(seeds: Iterable[int]) -> Iterator[Unit]:
    return sweep(from_empty, seed=seeds, prior=PRIORS)


def _votes(most: int, splits: Iterable[int]) -> Iterator[Unit]:
    for kind in ("learn", "empty"):
        yield Unit(votes, {"kind": kind, "most": most if kind == "learn" else 2 * most})
    yield from sweep(votes, {"kind": "learn", "most": most}, split=splits)


def _vehicles(splits: Iterable[int], **extra: str) -> Iterator[Unit]:
    return sweep(vehicle_mixture, extra, split=splits, vehicle=VEHICLES, kind=KINDS)


def _recoveries(seeds: Iterable[int], **extra: str) -> Iterator[Unit]:
    return sweep(recovered, extra, seed=seeds, rows=SIZES)


def _unmixed(seeds: Iterable[int]) -> Iterator[Unit]:
    return sweep(unmixed, seed=seeds, rows=SIZES)


def _gold_schedules(seeds: Iterable[int]) -> Iterator[Unit]:
    return sweep(recovered, seed=seeds, schedule=OTHERS, rows=COMPARED)


def _vehicle_schedules(splits: Iterable[int]) -> Iterator[Unit]:
    return sweep(vehicle_mixture, {"kind": "learn"}, split=splits, schedule=OTHERS, vehicle=VEHICLES)


def _digit_schedules(seeds: Iterable[int]) -> Iterator[Unit]:
    same = {"digit": 7, "kind": "learn", "components": FEW}
    return sweep(digit_mixture, same, seed=seeds, schedule=SCHEDULES.values())
