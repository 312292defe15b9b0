"""What ENT's experiments with dedicated solvers come to (section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Results, Verdict, error_of_mean, verdict_if
from lacunary.papers.ent.judgement import Cell, rank_verdict, worst
from lacunary.papers.ent.plan import BN1_ROWS, BN2, EARLY
from lacunary.papers.ent.printed import BN1_MEDIANS, BN1_PLACES, BN2_MEDIANS, BN2_PLACES
from lacunary.papers.ent.small import BN1, BN1_METHODS, BN2_METHODS, bn1_block, bn1_early, bn2_block
from lacunary.papers.ent.summary import median_found, with_error

__all__ = ["bn1", "bn2"]


WHY = "bn1-gain; the best start is so near the global maximum that little is left to gain"


def bn1(results: Results) -> tuple[Listing, dict[str, Found]]:
    """Return the results on BN1."""
    found: dict[str, Found] = {}
    lines: list[list[Any]] = []
    worse = []
    for arcs in BN1:
        for rows in BN1_ROWS:
            values = _joined(results, bn1_block, arcs=arcs, rows=rows)
            for metric in ("joint", "learned"):
                cell = Cell.of(values.get(metric, []), BN1_METHODS)
                if cell is None:
                    continue
                lines.append([BN1[arcs], rows, metric, *_solver_line(cell, BN1_MEDIANS.get(rows, {}))])
                if arcs == "one" and metric == "joint" and rows in BN1_MEDIANS:
                    found |= _solver_found(f"bn1-{rows}", cell, BN1_MEDIANS[rows], BN1_PLACES, WHY)
                    worse.append(_worse(cell))
    for iterations in EARLY:
        values = _joined(results, bn1_early, iterations=iterations)
        cell = Cell.of(values.get("joint", []), BN1_METHODS)
        if cell is not None:
            gain = f"after {iterations} iterations: global gains {np.mean(values['gain']):.1%}"
            lines.append([gain, 100, "joint", *_solver_line(cell, BN1_MEDIANS[100])])
    everything = _joined(results, bn1_block, arcs="one")
    if everything.get("missing"):
        found |= _bn1_shares(everything)
    if len(worse) == len(BN1_MEDIANS):
        found["bn1-worse"] = Found(
            "; ".join(told for _, told in worse), verdict=worst([verdict for verdict, _ in worse])
        )
    note = (
        "Median KL from the truth over that of the best start; joint, and the part in the tables of U and E. "
        "Print has n = 100 and n = 300, and the arcs are assumed. Rows with climbs broken off after a few "
        "iterations are no part of the registered run."
    )
    columns = _columns("arcs", BN1_METHODS)
    return Listing("bn1", "Section 4.1: BN1", columns, lines, note), found


def _columns(first: str, methods: tuple[str, ...]) -> list[str]:
    printed = (f"{method} (printed)" for method in methods)
    return [first, "n", "metric", "experiments", *printed, "Friedman and Tukey"]


def _worse(cell: Cell) -> tuple[Verdict, str]:
    top, best = cell.methods.index("global"), cell.methods.index("best")
    ratio, error = cell.relative("global")
    ranks = f"ranks {cell.test.ranks[best]:.2f} and {cell.test.ranks[top]:.2f}"
    return verdict_if(cell.test.better(best, top), ratio > 1), f"{ranks}, ratio {with_error(ratio, error)}"


def _bn1_shares(values: Mapping[str, list[Any]]) -> dict[str, Found]:
    missing, gain = np.array(values["missing"]), np.array(values["gain"])
    certified = f"{sum(values['certified'])} of {len(gain)} global maxima are certified to 1e-6 nats"
    spread = f"median {np.median(gain):.2%}, highest {gain.max():.2%}; {certified}"
    return {
        "bn1-missing": Found(float(missing.mean()), error_of_mean(missing)),
        "bn1-gain": Found(float(gain.mean()), error_of_mean(gain), note=spread),
    }


def bn2(results: Results) -> tuple[Listing, dict[str, Found]]:
    """Return the results on BN2."""
    found: dict[str, Found] = {}
    lines: list[list[Any]] = []
    for states, rows in BN2:
        values = _joined(results, bn2_block, states=states)
        for metric in ("joint", "learned"):
            cell = Cell.of(values.get(metric, []), BN2_METHODS)
            if cell is None:
                continue
            name = "-".join(map(str, states))
            lines.append([name, rows, metric, *_solver_line(cell, BN2_MEDIANS[rows])])
            if metric == "joint":
                found |= _solver_found(f"bn2-{rows}", cell, BN2_MEDIANS[rows], BN2_PLACES, "bn2")
    note = (
        "Median KL from the truth over that of the best start; joint, and the part in the tables of B and C."
    )
    columns = _columns("states", BN2_METHODS)
    return Listing("bn2", "Section 4.2: BN2, A → B → C, B missing in 85 %", columns, lines, note), found


def _joined(results: Results, function: Any, **wanted: Any) -> dict[str, list[Any]]:
    """Return the values of all blocks, put together by name."""
    out: dict[str, list[Any]] = {}
    for record in results.of(function, **wanted):
        for name, values in record.value.items():
            out.setdefault(name, []).extend(values)
    return out


def _solver_line(cell: Cell, printed: Mapping[str, float]) -> list[Any]:
    shown = [
        "1"
        if method == "best"
        else with_error(*cell.relative(method)) + (f" ({printed[method]:g})" if method in printed else "")
        for method in cell.methods
    ]
    return [len(cell.values), *shown, cell.told]


def _solver_found(
    prefix: str, cell: Cell, printed: Mapping[str, float], places: Any, see: str
) -> dict[str, Found]:
    found = {
        f"{prefix}-{method}": median_found(cell, method, value, see) for method, value in printed.items()
    }
    ranks = ", ".join(f"{m} {r:.2f}" for m, r in zip(cell.methods, cell.test.ranks, strict=True))
    found[f"{prefix}-rank"] = Found(
        cell.told, verdict=rank_verdict(cell, places), note=f"mean ranks: {ranks}"
    )
    return found
