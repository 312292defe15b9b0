"""EM on networks with 30 % of the cells missing: seconds per iteration, same start, same answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import lacunary as lac
from benchmarks import ours, rivals
from benchmarks.measure import Effort, Line, iterated, one_core, side_by_side, turns

__all__ = ["ROWS", "TITLE", "lines"]

TITLE = "EM with 30 % of the cells missing, seconds per iteration"
DATA = Path(__file__).with_name("data")
HOLES = 0.3
ROWS = (200, 2_000, 20_000)
ITERATIONS = {("asia", 200): 100, ("asia", 2_000): 10, ("alarm", 200): 10}
"""After how many iterations the log-likelihoods are compared; 3 elsewhere, for the rivals' sake."""

SMOOTHED = "win95pts"
"""The network of whose rows pyAgrum wants a prior: some parents never take some configuration."""


def lines(effort: Effort) -> Iterator[Line]:
    """Measure every network at every number of rows; nothing was ever tuned on win95pts."""
    others = lac.load(DATA / "win95pts.bif.gz", lac.Network)
    for name, truth in (("asia", lac.asia()), ("alarm", lac.alarm()), ("win95pts", others)):
        start = lac.random_network(truth.dag, rng=1)
        drawn = ours.simulate(truth, max(ROWS), HOLES)
        for rows in ROWS:
            case, table = f"{name}, {rows:,} rows", drawn.take(slice(rows))
            iterations = ITERATIONS.get((name, rows), 3)
            yield from _case(case, start, table, iterations, effort)
            yield _pgmpy(case, table)


def _case(case: str, start: lac.Network, table: lac.Table, iterations: int, effort: Effort) -> Iterator[Line]:
    """Both by turns; the rival on no more rows than it is given, from which its time is scaled."""
    few, smoothed = table.take(slice(effort.rival_rows)), case.startswith(SMOOTHED)
    measures = [_ours(start, table, effort), _on_one_core(_ours(start, table, effort))]
    if rivals.gum is not None:
        observed = ours.cases(few)
        run = rivals.pyagrum_em(rivals.pyagrum_network(start), observed, smoothing=smoothed)
        measures.append(iterated(run, effort))
    every, alone, *theirs = turns(measures, effort)
    after = f"after {iterations} iterations"
    yield Line(case, "lacunary", every, ours.log_likelihood(start, table, iterations), after)
    yield Line(case, "lacunary, one core", alone, note=f"{alone / len(table) * 1e6:.3g} µs a row")
    if len(table) == max(ROWS):
        apart = side_by_side(_ours(start, table, effort))
        note = "a process on every core at once, time over cores: as near as threads could come"
        yield Line(case, "lacunary, no threads", apart, note=note)
    if not theirs:
        yield Line(case, "pyAgrum", note="not installed")
    elif smoothed or len(few) < len(table):
        note = f"≈ scaled from {len(few):,} rows, its time being linear in them"
        note = f"with a prior, as it refuses without; {note}" if smoothed else note
        yield Line(case, "pyAgrum", theirs[0] * len(table) / len(few), note=note)
    else:
        found = rivals.pyagrum_log_likelihood(run(iterations), observed)
        yield Line(case, "pyAgrum", theirs[0], found, after)


def _ours(start: lac.Network, table: lac.Table, effort: Effort) -> Callable[[], float]:
    once = replace(effort, repeats=1)
    return lambda: ours.em(start, table, once).iteration


def _on_one_core(measure: Callable[[], float]) -> Callable[[], float]:
    def measured() -> float:
        with one_core():
            return measure()

    return measured


def _pgmpy(case: str, table: lac.Table) -> Line:
    if rivals.pgmpy is None:
        return Line(case, "pgmpy", note="not installed")
    left = int((~table.holes.any(axis=1)).sum())
    return Line(case, "pgmpy", note=f"its EM leaves out every row with a hole: {left:,} would remain")
