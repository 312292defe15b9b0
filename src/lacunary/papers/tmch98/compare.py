"""What the digits' mixtures come to: Figure 2, Table 1, times, and whether the two scores peak together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.papers import Found, Listing, Record, Results, all_of, error_of_mean, most_of, stated
from lacunary.papers.tmch98.images import digit_mixture
from lacunary.papers.tmch98.tables import HOURS, KINDS, TABLE_1, TRAIN

SHOWN = ("score", "spread")

PARAMETERS = {"complete": 2145, "empty": 129}
"""Of a component, as in print."""

ENOUGH = 3
"""Digits from which averages over digits are spoken of."""

SEEDS = range(3)
"""Seeds with which the digits are learned as the library begins."""

Digits = dict[int, dict[str, Any]]
"""The mixtures that were chosen, by digit and class."""


def grown(results: Results, kind: str, seed: int = 0, starts: str = "default") -> dict[int, Record]:
    """Return the records of the digits' mixtures that were grown at full size, by digit."""
    every = results.of(digit_mixture, "components", "schedule", "train", kind=kind, seed=seed)
    records = [record for record in every if record.arguments.get("starts", "print") == starts]
    return {digit: r for digit in range(10) for r in records if r.arguments["digit"] == digit}


def chosen(record: Record) -> dict[str, Any]:
    """Return the mixture that was chosen."""
    found: dict[str, Any] = next(line for line in record.value["tried"] if line["chosen"])
    return found


def _best(results: Results, starts: str = "default", seed: int = 0) -> Digits:
    """Return what was chosen for each digit and class, None where that is not done."""
    lines = {kind: {d: chosen(r) for d, r in grown(results, kind, seed, starts).items()} for kind in KINDS}
    digits = sorted({digit for own in lines.values() for digit in own})
    return {digit: {kind: own.get(digit) for kind, own in lines.items()} for digit in digits}


STARTS = {
    "default": ("", "the library's starts"),
    "print": ("-print", "one random start a number, as in print"),
}
"""Ways to begin: what their tables' names end with, and what they are."""


def digit_listings(results: Results) -> list[Listing]:
    """Return Figure 2 in numbers and Table 1, as the library begins and as print does."""
    return [listing for starts in STARTS for listing in _listings(results, starts)]


def _listings(results: Results, starts: str) -> list[Listing]:
    behind, how = STARTS[starts]
    scores: list[list[Any]] = []
    sizes: list[list[Any]] = []
    for digit, best in _best(results, starts).items():
        cells = [f"{found[name]:.2f}" if found else None for found in best.values() for name in SHOWN]
        pairs = [
            best["learn"] and best[other] and 100 * _gain(best, other) for other in ("complete", "empty")
        ]
        scores.append([digit, *cells, *(None if gain is None else f"{gain:.1f}" for gain in pairs)])
        sizes.append([digit])
        for kind, found in best.items():
            theirs = TABLE_1[kind][digit]
            sizes[-1] += [theirs[0], found and found["k"], theirs[1], found and found["d"]]
    columns = ["digit", *(head for name in KINDS.values() for head in (name, "±"))]
    note = (
        "Mean log predictive density of 400 test images by Gibbs sampling, in nats; ± is the standard error "
        "over images. Gains of MDAG/n are in per cent of the other's score."
    )
    heads = ["digit"]
    for name in KINDS.values():
        heads += [f"{name} k printed", "ours", "d printed", "ours"]
    return [
        Listing(f"figure-2{behind}", f"Figure 2 in numbers: log predictive scores of the digits; {how}",
                [*columns, "over MFULL/n %", "over MDIAG/n %"], scores, note),
        Listing(f"table-1{behind}", f"Table 1: components and parameters; {how}", heads, sizes,
                "Ours are other images (MNIST for CEDAR), so that the numbers need not be the same."),
    ]  # fmt: skip


def _gain(best: dict[str, Any], other: str) -> float:
    """Return how much less MDAG/n loses: the difference of the scores over the other's size."""
    return float((best["learn"]["score"] - best[other]["score"]) / abs(best[other]["score"]))


def digit_found(results: Results) -> dict[str, Found]:
    """Return answers about Figure 2, Table 1 and times."""
    found: dict[str, Found] = {}
    for kind, name in KINDS.items():
        records = grown(results, kind)
        if records:
            found |= _class(kind, name.partition("/")[0].lower(), records)
    done, *others = (_whole(_best(results, seed=seed)) for seed in SEEDS)
    once = _whole(_best(results, "print"))
    if len(done) >= ENOUGH:
        found |= _averages([done, *(own for own in others if own.keys() == done.keys())]) | _seeds(results)
    if len(once) >= ENOUGH:
        found["digits-print"] = _as_printed(_averages([once]), once, done)
    return found | peaks(results)[0]


def _whole(best: Digits) -> Digits:
    """Return the digits of which all classes are done."""
    return {digit: own for digit, own in best.items() if all(own.values())}


def _as_printed(found: dict[str, Found], once: Digits, done: Digits) -> Found:
    """Return what one random start a number comes to, and how far its scores are behind."""
    gains = (found[name] for name in ("gain-full", "gain-diag"))
    told = " and ".join(f"{gain.value:.1f} ± {gain.error:.1f} %" for gain in gains)
    behind = [done[d]["learn"]["score"] - best["learn"]["score"] for d, best in once.items() if d in done]
    lost = f"MDAG/n is {np.mean(behind):.1f} nats behind itself, at most {max(behind):.1f}" if behind else ""
    return Found(f"gains {told}; best on {found['best'].value}", note=lost, behind=_behind([once]))


def _class(kind: str, name: str, records: dict[int, Record]) -> dict[str, Found]:
    """Return what one class of mixtures came to: components, parameters, convergence, and times."""
    found: dict[str, Found] = {}
    for digit, record in records.items():
        line = chosen(record)
        found[f"k-{name}-{digit}"] = Found(line["k"], seconds=float(record.value["seconds"]))
        if kind == "learn":
            found[f"d-{digit}"] = Found(line["d"], note=f"{line['k']} components, {line['arcs']} arcs")
    lines = [line for record in records.values() for line in record.value["tried"]]
    if kind == "learn":
        found["halts"] = all_of(
            sum(line["converged"] for line in lines), len(lines), "mixtures", behind=f"{len(records)} digits"
        )
    else:  # every mixture has as many parameters a component as in print
        right = sum(line["d"] == PARAMETERS[kind] * line["k"] for line in lines)
        found[f"d-{kind}"] = stated(
            f"{right} of {len(lines)} mixtures",
            right == len(lines),
            chance=0.0,
            behind=f"{len(lines)} mixtures",
        )
    then, mean = 3600 * HOURS[kind], float(np.mean([record.value["seconds"] for record in records.values()]))
    note = f"over {len(records)} digits, on one core; {then / mean:.0f} times faster"
    found[f"time-{kind}"] = Found(f"{mean:.0f} s", note=note, seconds=mean)
    return found


def _behind(seeds: Sequence[Digits]) -> str:
    told = "one seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
    return f"{len(seeds[0])} digits, {TRAIN} images to learn from and 400 to test on, {told}"


def _averages(seeds: Sequence[Digits]) -> dict[str, Found]:
    """Return what the digits come to on average, over seeds too; all seeds have the same digits."""
    found, behind, many = {}, _behind(seeds), len(seeds[0])
    pairs = [best for done in seeds for best in done.values()]
    for other, name in (("complete", "gain-full"), ("empty", "gain-diag")):
        each = 100 * np.array([_gain(best, other) for best in pairs]).reshape(len(seeds), many)
        gains = each.mean(axis=0)
        note = f"over {many} digits: lowest {gains.min():.1f}, highest {gains.max():.1f}"
        squares = [  # of the errors that come from the test images, which are the same with every seed
            (best["learn"]["spread"] ** 2 + best[other]["spread"] ** 2) / best[other]["score"] ** 2
            for best in pairs
        ]
        error = np.hypot(100 * np.sqrt(np.mean(squares) / many), error_of_mean(each.mean(axis=1)))
        if many < 10:
            # Which digits are still missing is chance too; with all ten there is nothing left of that.
            error = np.hypot(error, np.sqrt((1 - many / 10) * gains.var(ddof=1) / many))
        note += _by_seed(each.mean(axis=1))
        found[name] = Found(round(float(gains.mean()), 2), float(error), note=note, behind=behind)
    wins = sum(
        all(
            own[d]["learn"]["score"] > max(own[d][k]["score"] for k in ("complete", "empty")) for own in seeds
        )
        for d in seeds[0]
    )
    found["best"] = all_of(wins, many, "digits", by=1 / 3, behind=behind)
    full, dags = (
        np.array([np.mean([best[kind]["d"] for best in done.values()]) for done in seeds])
        for kind in ("complete", "learn")
    )
    saved = 100 * (1 - dags / full)
    note = f"{dags.mean():.0f} for {full.mean():.0f} on average over {many} digits{_by_seed(saved)}"
    error = error_of_mean(saved) if len(seeds) > 1 else None
    note += "; Table 1 has 2340 for 3647, 36 %"
    found["fewer"] = Found(round(float(saved.mean()), 1), error, note=note, behind=behind)
    for kind, name in KINDS.items():
        sizes = np.array([best[kind]["k"] for best in pairs]).reshape(len(seeds), many)
        note = f"from {sizes.min()} to {sizes.max()}{_by_seed(sizes.mean(axis=1))}"
        mean, error = float(sizes.mean()), error_of_mean(sizes.mean(axis=0))
        found[f"k-{name.partition('/')[0].lower()}"] = Found(round(mean, 2), error, note=note, behind=behind)
    return found


def _by_seed(values: NDArray[np.float64]) -> str:
    """Return what each seed gave, if there are several."""
    return f"; by seed {', '.join(f'{value:.1f}' for value in values)}" if len(values) > 1 else ""


def _seeds(results: Results) -> dict[str, Found]:
    """Return how far chosen numbers and scores differ between starts."""
    told = []
    for kind, name in KINDS.items():
        starts = [grown(results, kind, seed) for seed in SEEDS]
        each = [[chosen(own[digit]) for own in starts if digit in own] for digit in range(10)]
        several = [lines for lines in each if len(lines) > 1]
        if several:
            k, score = (
                np.mean([np.ptp([line[what] for line in lines]) for lines in several])
                for what in ("k", "score")
            )
            told.append(f"{name}: k differs by {k:.1f}, the score by {score:.1f} nats")
    return {"seeds": Found("; ".join(told), note="range over starts, averaged over digits")} if told else {}


def _by_number(record: Record) -> list[dict[str, Any]]:
    """Return the best mixture of each number of components, by Cheeseman–Stutz; some are tried often."""
    best: dict[int, dict[str, Any]] = {}
    for line in sorted(record.value["tried"], key=lambda line: float(line["cs"])):
        best[line["k"]] = line
    return [best[k] for k in sorted(best)]


def peaks(results: Results, seed: int = 0) -> tuple[dict[str, Found], dict[int, list[dict[str, Any]]]]:
    """Return whether both scores of the MDAGs peak at the same number of components, and the curves."""
    curves = {digit: _by_number(record) for digit, record in grown(results, "learn", seed).items()}
    if not curves:
        return {}, {}
    apart, moves = [], []
    for lines in curves.values():
        k, cs, score = (np.array([line[name] for line in lines]) for name in ("k", "cs", "plug-in"))
        apart.append(int(abs(k[cs.argmax()] - k[score.argmax()])))
        moves += list(np.sign(np.diff(cs)) == np.sign(np.diff(score)))
    same = sum(gap == 0 for gap in apart)
    listed = ", ".join(f"“{digit}” {gap}" for digit, gap in zip(curves, apart, strict=True))
    note = "predictive score at the point estimates; on shuffled signs one would expect half"
    found = {
        "peak": most_of(
            same, len(apart), "digits", f"components apart: {listed}", behind=f"{len(apart)} digits"
        ),
        "synchrony": most_of(int(sum(moves)), len(moves), "steps", note, behind=f"{len(apart)} digits"),
    }
    return found, curves
