"""EM on networks with 30 % of the cells missing: seconds per iteration, same start, same answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import lacunary as lac
from benchmarks import ours, rivals
from benchmarks.measure import Effort, Line, one_core, per_iteration

__all__ = ["TITLE", "lines"]

TITLE = "EM with 30 % of the cells missing, seconds per iteration"
HOLES = 0.3
ROWS = (200, 2_000, 20_000)
ITERATIONS = {("asia", 200): 100, ("asia", 2_000): 10, ("alarm", 200): 10}
"""After how many iterations the log-likelihoods are compared; 3 elsewhere, for the rivals' sake."""


def lines(effort: Effort) -> Iterator[Line]:
    """Measure every network at every number of rows."""
    for name, truth in (("asia", lac.asia()), ("alarm", lac.alarm())):
        start = lac.random_network(truth.dag, rng=1)
        table = ours.simulate(truth, max(ROWS), HOLES)
        for rows in ROWS:
            yield from _case(name, start, table.take(slice(rows)), effort)


def _case(name: str, start: lac.Network, table: lac.Table, effort: Effort) -> Iterator[Line]:
    case = f"{name}, {len(table):,} rows"
    iterations = ITERATIONS.get((name, len(table)), 3)
    found = ours.log_likelihood(start, table, iterations)
    yield Line(
        case, "lacunary", ours.em(start, table, effort).iteration, found, f"after {iterations} iterations"
    )
    with one_core():
        alone = ours.em(start, table, effort).iteration
    yield Line(case, "lacunary, one core", alone, note=f"{alone / len(table) * 1e6:.3g} µs a row")
    yield _pyagrum(case, start, table, iterations, effort)
    yield _pgmpy(case, table)


def _pyagrum(case: str, start: lac.Network, table: lac.Table, iterations: int, effort: Effort) -> Line:
    if rivals.gum is None:
        return Line(case, "pyAgrum", note="not installed")
    few = table.take(slice(effort.rival_rows))
    observed = ours.cases(few)
    with TemporaryDirectory() as folder:
        run = rivals.pyagrum_em(rivals.pyagrum_network(start), observed, Path(folder) / "rows.csv")
        seconds = per_iteration(run, effort) * len(table) / len(few)
        if len(few) < len(table):
            return Line(case, "pyAgrum", seconds, note=f"≈ scaled from {len(few):,} rows")
        found = rivals.pyagrum_log_likelihood(run(iterations), observed)
    return Line(case, "pyAgrum", seconds, found, f"after {iterations} iterations")


def _pgmpy(case: str, table: lac.Table) -> Line:
    if rivals.pgmpy is None:
        return Line(case, "pgmpy", note="not installed")
    left = int((~table.holes.any(axis=1)).sum())
    return Line(case, "pgmpy", note=f"its EM leaves out every row with a hole: {left:,} would remain")
