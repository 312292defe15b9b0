"""How time grows: with rows, with width, with starts; and what the first call costs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter

import lacunary as lac
from benchmarks import ours
from benchmarks.measure import Effort, Line

__all__ = ["TITLE", "lines"]

TITLE = "Growth, and the import"
ROWS = (10**5, 10**6, 10**7)
WIDTHS = (100, 1_000, 5_000)
STARTS = (1, 2, 4, 8, 16, 30, 64)


def lines(effort: Effort) -> Iterator[Line]:
    """Measure each kind of growth."""
    yield from _rows(effort)
    yield from _width(effort)
    yield from _starts(effort)
    yield from _import(effort)


def _rows(effort: Effort) -> Iterator[Line]:
    """Ten binary variables with holes: at most 3¹⁰ = 59 049 rows are distinct, however many there are."""
    names = [f"x{i}" for i in range(10)]
    arcs = "; ".join(f"{' '.join(names[max(0, i - 2) : i])} -> {names[i]}" for i in range(1, 10))
    truth = lac.random_network(lac.dag(arcs, states=2), rng=0)
    start = lac.random_network(truth.dag, rng=1)
    sizes = ROWS[:-1] if effort == Effort.quick() else ROWS
    found = []
    for rows in sizes:
        table = ours.simulate(truth, rows, 0.3)
        began = perf_counter()  # a table looks for its distinct rows once, and keeps them
        distinct = len(table.distinct.first)
        finding = perf_counter() - began
        iteration, preparation = ours.em(start, table, effort)
        found.append((rows, distinct, iteration, finding + preparation))
    for rows, distinct, iteration, _ in found:
        note = f"10 variables, {distinct:,} distinct rows, {iteration * 1e3:.1f} ms an iteration"
        yield Line("iteration, per distinct row", f"{rows:,} rows", iteration / distinct, note=note)
    for rows, _, _, preparation in found:
        yield Line("preparation, per row", f"{rows:,} rows", preparation / rows)


def _width(effort: Effort) -> Iterator[Line]:
    """200 rows with 30 % holes; a chain, and a hidden class over all variables."""
    for shape in ("chain", "naive Bayes"):
        for width in WIDTHS:
            names = [f"x{i}" for i in range(width)]
            hidden = () if shape == "chain" else ("h",)
            arrows = " -> ".join(names) if shape == "chain" else f"h -> {' '.join(names)}"
            truth = lac.random_network(lac.dag(arrows, states=2, hidden=hidden), rng=0)
            table = ours.simulate(truth, 200, 0.3)
            iteration, _ = ours.em(lac.random_network(truth.dag, rng=1), table, effort)
            note = f"{iteration * 1e3:.2f} ms an iteration"
            yield Line(f"{shape}, per cell", f"{width:,} variables", iteration / 200 / width, note=note)


def _starts(effort: Effort) -> Iterator[Line]:
    """ALARM, 200 rows, 60 % holes."""
    truth = lac.alarm()
    table = ours.simulate(truth, 200, 0.6)
    for starts in STARTS:
        together = [lac.random_network(truth.dag, rng=seed) for seed in range(starts)]
        iteration, _ = ours.em(together, table, effort)
        note = f"{iteration * 1e3:.2f} ms an iteration"
        yield Line(
            "starts together, per start", f"{starts} start{'s' * (starts > 1)}", iteration / starts, note=note
        )


def _import(effort: Effort) -> Iterator[Line]:
    """A whole process, interpreter included; `first_minute` has first calls."""
    spent = _processor_seconds("import lacunary", effort)
    yield Line("import, CPU time of a process", "lacunary", spent)


def _processor_seconds(code: str, effort: Effort) -> float:
    """CPU time of a child process: the least of several, as other work only ever adds to it."""
    spent = []
    for _ in range(effort.repeats):
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        after = os.times()
        spent.append(
            after.children_user - before.children_user + after.children_system - before.children_system
        )
    return min(spent)
