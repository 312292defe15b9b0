"""Posteriors of all variables, row by row or a table at once."""

from __future__ import annotations

from collections.abc import Iterator

import lacunary as lac
from benchmarks import ours, rivals
from benchmarks.measure import Effort, Line, seconds

__all__ = ["TITLE", "lines"]

TITLE = "Posteriors of all variables given partly observed rows of ALARM, seconds per row"
ROWS = 10_000
RIVAL_ROWS = {"LazyPropagation": 300, "ShaferShenoyInference": 300}
PGMPY_ROWS = 30


def lines(effort: Effort) -> Iterator[Line]:
    """Measure at 30 % and at 60 % holes."""
    network = lac.alarm()
    for holes in (0.3, 0.6):
        yield from _case(network, ours.simulate(network, ROWS, holes), holes, effort)


def _case(network: lac.Network, table: lac.Table, holes: float, effort: Effort) -> Iterator[Line]:
    case = f"{holes:.0%} holes"
    time = seconds(lambda: ours.posteriors(network, table), effort) / ROWS
    yield Line(case, "lacunary", time, note=f"{1 / time:,.0f} rows/s")
    for engine, rows in RIVAL_ROWS.items():
        yield _pyagrum(case, engine, network, table.take(slice(rows)), effort)
    yield _pgmpy(case, network, table.take(slice(PGMPY_ROWS)), effort)


def _pyagrum(case: str, engine: str, network: lac.Network, table: lac.Table, effort: Effort) -> Line:
    who = f"pyAgrum {engine.removesuffix('Inference')}"
    if rivals.gum is None:
        return Line(case, who, note="not installed")
    twin, observed = rivals.pyagrum_network(network), ours.cases(table)
    time = seconds(lambda: rivals.pyagrum_posteriors(engine, twin, observed), effort) / len(observed)
    return Line(case, who, time, note=f"{1 / time:,.0f} rows/s")


def _pgmpy(case: str, network: lac.Network, table: lac.Table, effort: Effort) -> Line:
    who = "pgmpy VariableElimination"
    if rivals.pgmpy is None:
        return Line(case, who, note="not installed")
    twin, observed = rivals.pgmpy_network(network), ours.cases(table)
    time = seconds(lambda: rivals.pgmpy_posteriors(twin, observed), effort) / len(observed)
    return Line(case, who, time, note=f"{1 / time:,.0f} rows/s")
