"""TMCH98: Figures 2 to 5, Tables 1 and 2, times, and what the paper asks for."""

from __future__ import annotations

from collections.abc import Iterator

from lacunary.papers import Outcome, Paper, Results, Size, Unit, sweep
from lacunary.papers.tmch98.cars import car_found, car_listings
from lacunary.papers.tmch98.compare import digit_found, digit_listings
from lacunary.papers.tmch98.discrete import PRIORS, from_empty, more_found, more_listings, votes
from lacunary.papers.tmch98.images import digit_mixture, search_trace, vehicle_mixture
from lacunary.papers.tmch98.recovery import recovered, structure_found, structure_listings, unmixed
from lacunary.papers.tmch98.seven import face_found, path_found, path_listing
from lacunary.papers.tmch98.tables import COMPARED, FEW, KINDS, SCHEDULES, SIZES, VEHICLES

OTHERS = tuple(schedule for name, schedule in SCHEDULES.items() if name != "(EM)^10")
"""Schedules that are not the default, with which mixtures are learned anyway."""

OWN = {"starts": "default"}
"""Mixtures that are begun as the library begins them; without it, from one random start, as in print."""

GAINS: tuple[str, ...] = ("gain-full", "gain-diag")


def units(size: Size) -> Iterator[Unit]:
    """Return the work."""
    return {"tiny": _tiny, "glance": _glance, "full": _full}[size]()


def _tiny() -> Iterator[Unit]:
    small = {"digit": 7, "seed": 0, "components": 1, "train": 150, "pixels": 12}
    yield from sweep(digit_mixture, {**small, "draws": 10}, kind=KINDS)
    yield Unit(search_trace, small)
    yield Unit(from_empty, {"seed": 0, "prior": "BDeu(1)", "rows": 200})
    yield Unit(votes, {"kind": "learn", "most": 2})
    yield Unit(vehicle_mixture, {"vehicle": "van", "kind": "complete", "split": 0, "draws": 10})
    yield from sweep(recovered, {"rows": 93}, seed=range(2))
    yield Unit(unmixed, {"seed": 0, "rows": 93})


def _glance() -> Iterator[Unit]:
    yield from _first_seven()
    yield from sweep(from_empty, seed=range(3), prior=PRIORS)
    yield from _votes(5, 2)
    yield from sweep(vehicle_mixture, OWN, split=range(1), vehicle=VEHICLES, kind=KINDS)
    yield from sweep(recovered, seed=range(3), rows=SIZES)
    yield from sweep(unmixed, seed=range(3), rows=SIZES)
    yield from sweep(recovered, {"pair": "trees"}, seed=range(1), rows=SIZES)
    yield from sweep(recovered, seed=range(2), schedule=OTHERS, rows=COMPARED)


def _full() -> Iterator[Unit]:
    yield from sweep(vehicle_mixture, OWN, split=range(5), vehicle=VEHICLES, kind=KINDS)
    yield from _first_seven()
    yield from sweep(digit_mixture, OWN, seed=[0], digit=[d for d in range(10) if d != 7], kind=KINDS)
    yield from sweep(digit_mixture, seed=[0], digit=range(10), kind=KINDS)
    yield from sweep(from_empty, seed=range(10), prior=PRIORS)
    yield from _votes(6, 5)
    yield from sweep(recovered, seed=range(10), rows=SIZES)
    yield from sweep(unmixed, seed=range(10), rows=SIZES)
    yield from sweep(recovered, {"pair": "trees"}, seed=range(5), rows=SIZES)
    yield from sweep(vehicle_mixture, split=range(5), vehicle=VEHICLES, kind=KINDS)
    yield from sweep(recovered, seed=range(10), schedule=OTHERS, rows=COMPARED)
    yield from sweep(vehicle_mixture, {"kind": "learn"}, split=range(5), schedule=OTHERS, vehicle=VEHICLES)
    few = {"digit": 7, "kind": "learn", "components": FEW}
    yield from sweep(digit_mixture, few, seed=range(1, 4), schedule=SCHEDULES.values())
    yield from sweep(vehicle_mixture, OWN | {"about": "Opel"}, split=range(5), vehicle=VEHICLES, kind=KINDS)
    yield from sweep(search_trace, {"components": 3}, seed=[1, 2], digit=[7])
    yield from sweep(search_trace, {"components": 3}, seed=range(3), digit=[3, 0])
    yield from sweep(recovered, {"prior": "default"}, seed=range(5), rows=SIZES)
    yield from sweep(digit_mixture, OWN, seed=[1, 2], digit=range(10), kind=KINDS)


def _first_seven() -> Iterator[Unit]:
    yield from sweep(digit_mixture, OWN, seed=[0], digit=[7], kind=KINDS)
    yield Unit(search_trace, {"components": 3, "seed": 0, "digit": 7})


def _votes(most: int, splits: int) -> Iterator[Unit]:
    yield Unit(votes, {"kind": "learn", "most": most})
    yield Unit(votes, {"kind": "empty", "most": 2 * most})
    yield from sweep(votes, {"kind": "learn", "most": most}, split=range(splits))


def outcome(results: Results) -> Outcome:
    """Return tables, figures and answers."""
    from lacunary.papers.tmch98.figures import drawings  # plotting takes a second to import

    found = digit_found(results)
    gains = {name: found[name] for name in GAINS if name in found}
    found |= path_found(results) | face_found(results) | car_found(results, gains)
    found |= structure_found(results) | more_found(results)
    listings = [*digit_listings(results), path_listing(results), *car_listings(results)]
    listings += [*structure_listings(results), *more_listings(results)]
    return Outcome(listings, list(drawings(results)), found)


PAPER = Paper(units, outcome, edition=2)
