"""Posteriors of all variables, row by row or a table at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import lacunary as lac
from benchmarks import ours, rivals
from benchmarks.measure import Effort, Line, called, turns

__all__ = ["TITLE", "lines"]

TITLE = "Posteriors of all variables given partly observed rows seconds per row"
DATA = Path(__file__).with_name("data")
ROWS = 10_000
RIVAL_ROWS = {"LazyPropagation": 300, "ShaferShenoyInference": 300}
PGMPY_ROWS = 30


def lines(effort: Effort) -> Iterator[Line]:
    """Measure at 30 % and at 60 % holes; nothing was ever tuned on win95pts."""
    others = lac.load(DATA / "win95pts.bif.gz", lac.Network)
    for name, network in (("alarm", lac.alarm()), ("win95pts", others)):
        for holes in (0.3, 0.6):
            case, table = f"{name}, {holes:.0%} holes", ours.simulate(network, ROWS, holes)
            yield from _case(case, network, table, effort)


def _case(case: str, network: lac.Network, table: lac.Table, effort: Effort) -> Iterator[Line]:
    """All by turns; rivals on fewer rows, one after the other as they take them."""
    calls: dict[str, tuple[int, Callable[[], object]]] = {
        "lacunary": (ROWS, lambda: ours.posteriors(network, table))
    }
    if rivals.gum is not None:
        twin = rivals.pyagrum_network(network)
        for engine, rows in RIVAL_ROWS.items():
            few = ours.cases(table.take(slice(rows)))
            calls[f"pyAgrum {engine.removesuffix('Inference')}"] = (
                rows,
                partial(rivals.pyagrum_posteriors, engine, twin, few),
            )
    if rivals.pgmpy is not None:
        least = ours.cases(table.take(slice(PGMPY_ROWS)))
        other = rivals.pgmpy_network(network)
        calls["pgmpy VariableElimination"] = PGMPY_ROWS, lambda: rivals.pgmpy_posteriors(other, least)
    times = turns([called(call) for _, call in calls.values()], effort)
    for (who, (rows, _)), time in zip(calls.items(), times, strict=True):
        yield Line(case, who, time / rows, note=f"{rows / time:,.0f} rows/s")
    for who, module in (("pyAgrum", rivals.gum), ("pgmpy", rivals.pgmpy)):
        if module is None:
            yield Line(case, who, note="not installed")
