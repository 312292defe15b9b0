"""EM on networks with 30 % of the cells missing: seconds per iteration, same start, same answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import lacunary as lac
from benchmarks import ours, rivals
from benchmarks.measure import Effort, Line, one_core, per_iteration, side_by_side

__all__ = ["ROWS", "TITLE", "lines"]

TITLE = "EM with 30 % of the cells missing, seconds per iteration"
HOLES = 0.3
ROWS = (200, 2_000, 20_000)
ITERATIONS = {("asia", 200): 100, ("asia", 2_000): 10, ("alarm", 200): 10}
"""After how many iterations the log-likelihoods are compared; 3 elsewhere, for the rivals' sake."""


def lines(effort: Effort) -> Iterator[Line]:
    """Measure every network at every number of rows."""
    for name, truth in (("asia", lac.asia()), ("alarm", lac.alarm())):
        start = lac.random_network(truth.dag, rng=1)
        drawn = ours.simulate(truth, max(ROWS), HOLES)
        for rows in ROWS:
            case, table = f"{name}, {rows:,} rows", drawn.take(slice(rows))
            iterations = ITERATIONS.get((name, rows), 3)
            yield from _ours(case, start, table, iterations, effort)
            if rows <= effort.rival_rows:
                rival, measured = _pyagrum(case, start, table, iterations, effort), rows
                yield rival
            else:
                yield _scaled(rival, case, measured, rows)
            yield _pgmpy(case, table)


def _ours(case: str, start: lac.Network, table: lac.Table, iterations: int, effort: Effort) -> Iterator[Line]:
    found = ours.log_likelihood(start, table, iterations)
    note = f"after {iterations} iterations"
    yield Line(case, "lacunary", ours.em(start, table, effort).iteration, found, note)
    with one_core():
        alone = ours.em(start, table, effort).iteration
    yield Line(case, "lacunary, one core", alone, note=f"{alone / len(table) * 1e6:.3g} µs a row")
    if len(table) == max(ROWS):
        apart = side_by_side(lambda: ours.em(start, table, effort).iteration)
        note = "a process on every core at once, time over cores: as near as threads could come"
        yield Line(case, "lacunary, no threads", apart, note=note)


def _pyagrum(case: str, start: lac.Network, table: lac.Table, iterations: int, effort: Effort) -> Line:
    if rivals.gum is None:
        return Line(case, "pyAgrum", note="not installed")
    observed = ours.cases(table)
    run = rivals.pyagrum_em(rivals.pyagrum_network(start), observed)
    seconds = per_iteration(run, effort)
    found = rivals.pyagrum_log_likelihood(run(iterations), observed)
    return Line(case, "pyAgrum", seconds, found, f"after {iterations} iterations")


def _scaled(line: Line, case: str, measured: int, rows: int) -> Line:
    """Return what a measurement comes to with more rows, its time being linear in them."""
    if line.seconds is None:
        return replace(line, case=case)
    return Line(case, line.who, line.seconds * rows / measured, note=f"≈ scaled from {measured:,} rows")


def _pgmpy(case: str, table: lac.Table) -> Line:
    if rivals.pgmpy is None:
        return Line(case, "pgmpy", note="not installed")
    left = int((~table.holes.any(axis=1)).sum())
    return Line(case, "pgmpy", note=f"its EM leaves out every row with a hole: {left:,} would remain")
