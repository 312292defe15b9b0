"""Digit 7: what its components look like (Figure 3), and the score along its search (Figure 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import mannwhitneyu

from lacunary.papers import Found, Listing, Record, Results, minus, stated, tail
from lacunary.papers.tmch98.compare import grown
from lacunary.papers.tmch98.images import search_trace
from lacunary.papers.tmch98.tables import HOURS, KINDS, PIXELS, YEARS, digits


def faces_of(results: Results) -> dict[str, list[dict[str, Any]]]:
    """Return digit 7's components by class of mixture: weight, mean and samples."""
    records = {name: grown(results, kind).get(7) for kind, name in KINDS.items()}
    return {name: r.value["faces"] for name, r in records.items() if r and "faces" in r.value}


def roughness(images: ArrayLike) -> float:
    """Return the mean squared difference of neighbouring pixels; images are (images, 64)."""
    grid = np.asarray(images, dtype=np.float64).reshape(-1, 8, 8)
    return float(np.concatenate([np.diff(grid, axis=a).ravel() ** 2 for a in (1, 2)]).mean())


def _apart(face: dict[str, Any]) -> float:
    """Return the mean square distance of samples from their component's mean, a pixel."""
    return float(np.mean((np.array(face["samples"], dtype=np.float64) - np.array(face["mean"])) ** 2))


def _weighed(found: list[dict[str, Any]], values: list[float]) -> float:
    """Return the mean over components, each by its weight."""
    weights = np.array([face["weight"] for face in found])
    return float(weights @ values / weights.sum())


def face_found(results: Results) -> dict[str, Found]:
    """Return how mottled samples are, and how like the mean."""
    faces = faces_of(results)
    if len(faces) < len(KINDS):
        return {}
    real = roughness(digits(7)[1].reals)
    rough = {n: _weighed(own, [roughness(f["samples"]) for f in own]) / real for n, own in faces.items()}
    away = {n: float(np.sqrt(_weighed(own, [_apart(f) for f in own]))) for n, own in faces.items()}
    told = ", ".join(f"{name} {value:.2f}" for name, value in rough.items())
    mottled = rough["MDIAG/n"] > 1.25 * max(rough["MDAG/n"], rough["MFULL/n"])
    below = [away["MDAG/n"] < away[name] for name in ("MFULL/n", "MDIAG/n")]
    like = ", ".join(f"{n} {v:.0f}" for n, v in away.items())
    note = "roughness over that of real sevens"
    behind = f"{sum(map(len, faces.values()))} components of one digit, four samples each"
    found = {
        "mottled": stated(told, mottled, note=note, chance=_apart_by_chance(faces, roughness), behind=behind),
        "like-mean": stated(
            like,
            all(below),
            note="grey values a pixel, root mean square",
            chance=_nearer_by_chance(faces),
            behind=behind,
        ),
    }
    for name, components in faces.items():
        weights = [face["weight"] for face in components]
        note = f"weights {', '.join(f'{w:.2f}' for w in weights)}; noise {1 - sum(weights):.3f}"
        found[f"weight-{name.split('/')[0].lower()}"] = Found(round(max(weights), 3), note=note)
    return found


def _apart_by_chance(faces: dict[str, list[dict[str, Any]]], measure: Any) -> float:
    """Return how often MDIAG/n's components would be rougher than the others' by so much by chance."""
    rough = {name: [measure(face["samples"]) for face in own] for name, own in faces.items()}
    others = [value for name, own in rough.items() if name != "MDIAG/n" for value in own]
    return float(mannwhitneyu(rough["MDIAG/n"], others, alternative="greater").pvalue)


def _nearer_by_chance(faces: dict[str, list[dict[str, Any]]]) -> float:
    """Return how often MDAG/n's components would be nearer their means than the others' by chance."""
    away = {name: [_apart(face) for face in own] for name, own in faces.items()}
    others = [value for name, own in away.items() if name != "MDAG/n" for value in own]
    return float(mannwhitneyu(away["MDAG/n"], others, alternative="less").pvalue)


LEAP = 100.0
"""A climb's last gains are fractions of a nat, its first ones hundreds: so many times more is a new climb."""

YEAR = 365.25 * 24 * 3600


@dataclass(frozen=True)
class Journey:
    """Arc changes of one mixture's search.

    Attributes
    ----------
    values
        Cheeseman–Stutz after each.
    searches
        Those that are the first of a search.
    climbs
        Those of the first search at which it turns to the next component.
    falls
        After how many the score was lower than before; not counted where EM came between.
    steps
        EM steps taken in all.
    """

    values: tuple[float, ...]
    searches: tuple[int, ...]
    climbs: tuple[int, ...]
    falls: int
    steps: int

    @property
    def falling(self) -> float:
        """Arc changes after which the score was lower, in per cent."""
        return 100 * self.falls / len(self.values)


def journey(record: Record) -> Journey:
    """Return what a trace says."""
    values: list[float] = []
    gains: list[float] = []
    searches: list[int] = []
    falls, before = 0, None
    steps: list[Any] = record.value["steps"]
    for phase, criterion, score, _ in steps:
        if phase != "move":
            before = None
            continue
        if before is None:
            searches.append(len(values))
        else:
            falls += score < values[-1]
        gains.append(0.0 if before is None else criterion - before)
        values.append(score)
        before = criterion
    end = searches[1] if len(searches) > 1 else len(values)
    climbs = [i for i in range(2, end) if gains[i] > LEAP * max(gains[i - 1], 0.0) and gains[i] > LEAP]
    em = sum(step[0] == "em" for step in steps)
    return Journey(tuple(values), tuple(searches), tuple(climbs), falls, em)


def journeys(results: Results, components: int = 3) -> dict[tuple[int, int], Journey]:
    """Return all traces at full size, by digit and seed."""
    return {
        (record.arguments["digit"], record.arguments["seed"]): journey(record)
        for record in results.of(search_trace, "train", components=components)
    }


def path_listing(results: Results) -> Listing:
    """Return how many arc changes lowered the score, by digit and start."""
    rows: list[list[Any]] = [
        [digit, seed, len(j.values), j.falls, f"{j.falling:.1f}", len(j.searches), j.steps]
        for (digit, seed), j in journeys(results).items()
    ]
    columns = ("digit", "start", "arc changes", "score falls", "%", "searches", "EM steps")
    title = "Figure 4 in numbers: arc changes on the way to a mixture of three"
    return Listing("figure-4", title, columns, rows, "Printed, for “7”: 964 arc changes, 149 falls (15.5 %).")


def path_found(results: Results) -> dict[str, Found]:
    """Return answers about Figure 4."""
    found: dict[str, Found] = {}
    every = journeys(results)
    sevens = [j for (digit, _), j in every.items() if digit == 7]
    if (7, 0) in every:
        first = every[7, 0]
        shares = [j.falling for j in sevens]
        note = f"{first.falls} of {len(first.values)}; over {len(sevens)} starts {_range(shares)} %"
        found["falls"] = Found(round(shares[0], 1), note=note, behind=f"{len(sevens)} starts of one digit")
        found["transitions"] = Found(
            len(first.values), note=f"over {len(sevens)} starts {_range([len(j.values) for j in sevens])}"
        )
        found["upward"] = _upward(first)
        found["abrupt"] = _abrupt(first)
        found |= _simple(results, first)
    others = [j.falling for (digit, _), j in every.items() if digit != 7]
    if others:
        told = f"{_range(others)} % fall, digits 0 and 3"
        many = f"{len(others)} searches"
        found["others"] = stated(told, max(others) < 50, chance=0.5 ** len(others), behind=many)
    return found


def _range(values: Any) -> str:
    low, high = min(values), max(values)
    form = "{:.0f}" if high >= 100 else "{:.1f}"
    return form.format(low) if low == high else f"{form.format(low)} to {form.format(high)}"


def _upward(first: Journey) -> Found:
    """Return whether the score rises overall and settles."""
    values = np.array(first.values)
    rise = values[-1] - values[0]
    late = (values[-1] - values[int(0.9 * len(values))]) / rise
    told = minus(f"from {values[0]:.0f} to {values[-1]:.0f} nats")
    note = f"the last tenth of the arc changes adds {100 * late:.1f} % of the rise"
    ups, high = int((np.diff(values) > 0).sum()), values.argmax() >= 0.98 * len(values)
    behind = f"{len(values)} arc changes of one search"
    return stated(told, rise > 0 and high, note=note, chance=tail(ups, len(values) - 1), behind=behind)


def _abrupt(first: Journey) -> Found:
    """Return where the steepest rises are, against where the search turns to another component."""
    begins = sorted({*first.searches, *first.climbs})
    rises = np.diff(first.values)
    steep = np.argsort(-rises)[:30] + 1
    near = sum(any(0 <= i - b <= 30 for b in begins) for i in steep)
    told = f"turns at changes {', '.join(str(b + 1) for b in (0, *first.climbs))}"
    note = (
        f"{near} of the 30 steepest rises are among the first 30 changes of a climb; "
        f"searches begin at {', '.join(str(b + 1) for b in first.searches)}"
    )
    by = float(np.mean([any(0 <= i - b <= 30 for b in begins) for i in range(1, len(first.values))]))
    chance = tail(27 if near >= 27 else 20, 30, by)
    return stated(told, near >= 27, near >= 20, note, chance=chance, behind="thirty rises of one search")


def _simple(results: Results, first: Journey) -> dict[str, Found]:
    """Return how long simple search-and-score would take: EM for every neighbour of every graph on the way.

    A graph of n variables has about n (n − 1) neighbours: each ordered pair can be joined, or the arc there
    is can be removed or reversed. No component's can be kept, as the score does not factor.
    """
    record = results.of(search_trace, digit=7, components=3, seed=0)[0]
    neighbours = 3 * PIXELS * (PIXELS - 1)
    models = len(first.values) * neighbours
    each = 10 * float(record.value["em_seconds"])
    seconds = models * each
    mdag = grown(results, "learn").get(7)
    note = f"{len(first.values)} changes × {neighbours} neighbours × {each:.2g} s (ten EM steps)"
    told = f"{seconds / YEAR:.2g} years" if seconds > 0.1 * YEAR else f"{seconds / 86400:.0f} days"
    if mdag is None:
        return {}
    ratio, theirs = seconds / mdag.value["seconds"], YEARS * YEAR / (3600 * HOURS["learn"])
    note += f"; {ratio:.0f} times what interleaving takes to learn the digit, in print {theirs:.0f} times"
    if ratio > theirs:
        note += ", so that by our reckoning it is further out of reach than by theirs"
    return {"simple": Found(told, note=note, seconds=seconds)}
