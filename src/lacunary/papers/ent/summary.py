"""What ENT's experiments come to: its tables, and a verdict on each of its claims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Results, Verdict, all_of, stated, tail
from lacunary.papers.ent.experiment import (
    METHODS,
    NETWORKS,
    SETTINGS,
    SOLVED,
    STARTS,
    solved_block,
    table_block,
)
from lacunary.papers.ent.judgement import LEVEL, Cell, Places, rank_verdict

MEDIANS = {
    "asia": {
        "joint": ((0.90, 0.96), (0.79, 0.90), (0.92, 0.96), (0.81, 0.91)),
        "leaf": ((0.93, 0.92), (0.87, 0.86), (0.98, 0.99), (0.92, 0.89)),
    },
    "alarm": {
        "joint": ((0.85, 0.93), (0.79, 0.88), (0.89, 0.93), (0.82, 0.89)),
        "leaf": ((0.96, 0.95), (0.94, 0.94), (0.98, 0.97), (0.97, 0.96)),
    },
    "random": {
        "joint": ((0.78, 0.94), (0.75, 0.89), (0.82, 0.92), (0.80, 0.89)),
        "leaf": ((0.89, 0.92), (0.88, 0.88), (0.96, 0.97), (0.95, 0.92)),
    },
}
"""Tables 1 to 3: average and entropy, each over the best start, in the order of `plan.SETTINGS`."""

THREE: Places = (("average",), ("entropy",), ("best",))
LEAF_TIE: Places = (("average", "entropy"), ("best",))
"""The two rankings that occur in print; the second only on leaves, of ALARM and of random networks."""

METRICS = ("joint", "leaf")
NEAR = 0.05
"""A gap from print that is worth a note, if it is no chance."""

TITLES = {
    "asia": "Table 1: Asia",
    "alarm": "Table 2: ALARM",
    "random": "Table 3: random networks of 20 variables",
}


Setting = tuple[int, float]
"""Rows, and the share of cells that are missing."""


def cells_of(
    results: Results, function: Callable[..., Any], *names: str, **wanted: str
) -> dict[Setting, Cell]:
    """Return what each setting gave under these names, of those that have enough experiments."""
    cells = {
        (n, share): Cell.of(results.lines(function, *names, rows=n, missing=share, **wanted), METHODS)
        for n, share in SETTINGS
    }
    return {setting: cell for setting, cell in cells.items() if cell is not None}


def _printed(network: str, metric: str, setting: Setting) -> Iterable[tuple[str, float]]:
    """Return average and entropy, each with its printed relative median."""
    return zip(METHODS[:2], MEDIANS[network][metric][SETTINGS.index(setting)], strict=True)


def table_listing(results: Results, network: str) -> Listing:
    """Return one of Tables 1–3, each number beside the printed one."""
    lines: list[list[Any]] = []
    for metric in METRICS:
        for (rows, missing), cell in cells_of(results, table_block, metric, network=network).items():
            printed = _printed(network, metric, (rows, missing))
            shown = [x for method, value in printed for x in (value, with_error(*cell.relative(method)))]
            ranks = ", ".join(f"{rank:.2f}" for rank in cell.test.ranks)
            setting = [metric, rows, f"{missing:.0%}", len(cell.values)]
            lines.append([*setting, *shown, cell.base, ranks, f"{cell.test.p_value:.1e}", cell.told])
    heads = ["metric", "n", "missing", "experiments"]
    ours = ["average, printed", "ours", "entropy, printed", "ours"]
    more = ["median KL of best", "mean ranks", "p", "Friedman and Tukey at 1 %"]
    note = (
        "Median KL from the truth over that of the best start, ± bootstrap standard error; mean ranks of "
        "average, entropy and best. Starts and stopping rule as registered in the README of this paper."
    )
    return Listing(network, TITLES[network], heads + ours + more, lines, note)


def with_error(value: float, error: float) -> str:
    """Return a ratio with its standard error."""
    return f"{value:.3f} ± {error:.3f}"


def median_found(cell: Cell, method: str, printed: float, see: str = "stopping") -> Found:
    """Return the answer to one relative median."""
    value, error = cell.relative(method)
    what = "gain" if printed < 1 else "loss"
    size = "greater" if (value < printed) == (printed < 1) else "smaller"
    note = f"The {what} is {size} than printed: see {see}."
    far = abs(value - printed) > max(NEAR, 2 * math.sqrt(2) * error)
    return Found(value, error, note=note if far else "", behind=behind(cell))


def behind(*cells: Cell) -> str:
    """Return how many experiments stand behind an answer."""
    return f"{' + '.join(str(len(cell.values)) for cell in cells)} experiments of {STARTS} starts"


def table_found(results: Results) -> dict[str, Found]:
    """Return the answers to all rankings and numbers of Tables 1–3."""
    found = {}
    for network, metric in product(NETWORKS, METRICS):
        cells = cells_of(results, table_block, metric, network=network)
        if len(cells) == len(SETTINGS):
            found[f"{network}-{metric}-rank"] = _ranking(network, metric, cells)
        for (rows, missing), cell in cells.items():
            for method, printed in _printed(network, metric, (rows, missing)):
                name = f"{network}-{metric}-{rows}-{round(100 * missing)}-{method}"
                found[name] = median_found(cell, method, printed)
    return found


def _ranking(network: str, metric: str, cells: Mapping[Setting, Cell]) -> Found:
    told = "; ".join(f"n = {rows}, {missing:.0%}: {cell.told}" for (rows, missing), cell in cells.items())
    ties = {"alarm": 3, "random": 2}.get(network, 0) if metric == "leaf" else 0
    same, verdict = _as_printed(list(cells.values()), ties)
    if verdict == "not" and network == "asia":
        told += ". Climbed to the end all starts meet, and nothing is left to choose: see stopping"
    value = f"{same} of {len(cells)} settings as printed"
    return Found(value, verdict=verdict, chance=LEVEL, note=told, behind=behind(*cells.values()))


def _as_printed(cells: list[Cell], ties: int) -> tuple[int, Verdict]:
    """Judge the rankings of four settings, of which print has so many with a tie and does not say which."""
    tied = [rank_verdict(cell, LEAF_TIE) for cell in cells]
    apart = [rank_verdict(cell, THREE) for cell in cells]
    same = min(tied.count("reproduced"), ties) + min(apart.count("reproduced"), len(cells) - ties)
    if same == len(cells):
        return same, "reproduced"
    # Without ties in print a tie of ours is near only if the mean ranks have the printed order.
    pairs = [(other,) if not ties else (one, other) for one, other in zip(tied, apart, strict=True)]
    if any(set(pair) == {"not"} for pair in pairs):
        return same, "not"
    return same, "undecided" if any("undecided" in pair for pair in pairs) else "near"


def solved_found(results: Results) -> tuple[Listing, dict[str, Found]]:
    """Return what C_entropy does on the networks of section 3, which the paper left for later."""
    lines: list[list[Any]] = []
    told = []
    for network in NETWORKS:
        for rows, missing in SETTINGS:
            found = results.lines(solved_block, network=network, rows=rows, missing=missing)
            cell = Cell.of(found, SOLVED)
            if cell is None:
                continue
            ratios = [with_error(*cell.relative(method)) for method in SOLVED[:-1]]
            lines.append([network, rows, f"{missing:.0%}", len(found), *ratios, cell.told])
            told.append(f"{network}, n = {rows}, {missing:.0%}: {cell.ratio('max-entropy'):.2f}")
    columns = ("network", "n", "missing", "experiments", *SOLVED[:-1], "Friedman and Tukey at 1 %")
    note = "Median KL from the truth, joint metric, over that of the best start."
    listing = Listing("c-entropy", "C_entropy on the networks of section 3", columns, lines, note)
    answer = Found("; ".join(told), note="median KL over the best start's; one means that nothing is gained")
    return listing, {"c-entropy": answer} if told else {}


def remarks(results: Results) -> dict[str, Found]:
    """Return the answers to what section 3.1 says of Table 1 as a whole."""
    ratios = {
        metric: {
            setting: [cell.ratio(method) for method in METHODS[:2]]
            for setting, cell in cells_of(results, table_block, metric, network="asia").items()
        }
        for metric in METRICS
    }
    if any(len(found) < len(SETTINGS) for found in ratios.values()):
        return {}
    return {"harder": _harder(ratios["joint"]), "range": _range(ratios)}


def _harder(ratios: Mapping[Setting, list[float]]) -> Found:
    lower, wider = [], []
    for rows in (100, 200):
        few, many = ratios[rows, 0.3], ratios[rows, 0.6]
        lower += [m < f for f, m in zip(few, many, strict=True)]
        wider.append(many[1] - many[0] > few[1] - few[0])
    note = "average / entropy: " + "; ".join(
        f"n = {rows}, {missing:.0%}: {a:.2f} / {e:.2f}" for (rows, missing), (a, e) in ratios.items()
    )
    told = f"{sum(lower)} of 4 ratios fall, {sum(wider)} of 2 gaps widen"
    return stated(told, all(lower + wider), note=note, chance=tail(6, 6), behind="four settings")


def _range(ratios: Mapping[str, Mapping[Setting, list[float]]]) -> Found:
    both = np.array([pair for found in ratios.values() for pair in found.values()])
    gains = [
        f"{round(100 * (1 - high))} to {round(100 * (1 - low))} %"
        for low, high in zip(both.min(0), both.max(0), strict=True)
    ]
    below = int((both < 1).sum())
    note = f"{below} of {both.size} ratios are below one"
    return replace(all_of(below, both.size, "", note, behind="four settings"), value=" and ".join(gains))
