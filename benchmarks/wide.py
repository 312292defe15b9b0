"""E-steps on networks with wide cliques, beside what the machine could do at most, and pyAgrum's EM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import process_time

import numpy as np

import lacunary as lac
from benchmarks import ours, rivals
from benchmarks.measure import Effort, Line, multiply_adds
from lacunary.infer.engine import DiscreteRows, prepare_discrete

__all__ = ["TITLE", "lines", "operations"]

TITLE = "E-steps of discrete networks, processor seconds a row and iteration, one thread"
DATA = Path(__file__).with_name("data")
CASES = (
    ("alarm", 20_000, 0.3, 100),
    ("hailfinder", 5_000, 0.3, 20),
    ("mildew", 1_000, 0.3, 5),
    ("munin1", 300, 0.6, 5),
    ("mildew", 300, 0.6, 12),
    ("hailfinder", 2_000, 0.6, 5),
)
"""Networks, rows, the share of holes, and the rows that the rival is given."""


def lines(effort: Effort) -> Iterator[Line]:
    """Measure every case, preparation and rival included."""
    for name, rows, holes, few in CASES:
        network = lac.alarm() if name == "alarm" else lac.load(DATA / f"{name}.bif.gz", lac.Network)
        table = ours.simulate(network, rows, holes)
        with lac.threads(1):
            yield from _ours(f"{name}, {rows:,} rows, {holes:.0%} holes", network, table, effort)
        yield _pyagrum(f"{name}, {rows:,} rows, {holes:.0%} holes", network, table.take(slice(few)))


def _ours(case: str, network: lac.Network, table: lac.Table, effort: Effort) -> Iterator[Line]:
    prepare_discrete(network.dag, table).expect(network.theta[None])  # compiles
    began = process_time()
    prepared = prepare_discrete(network.dag, table)
    preparation = process_time() - began
    times = []
    for _ in range(effort.repeats):
        began = process_time()
        prepared.expect(network.theta[None])
        times.append(process_time() - began)
    best, rows = min(times), len(table)
    needed = operations(prepared) / (multiply_adds() / lac.threads())
    share = f"{needed / best:.0%} of the limit; preparation {preparation / best:.1f} iterations' worth"
    yield Line(case, "lacunary", best / rows, note=share)
    count = f"{operations(prepared) / rows:,.0f} multiplications and additions a row, in cache"
    yield Line(case, "the limit", needed / rows, note=count)


def operations(rows: DiscreteRows) -> float:
    """Return how many multiplications with an addition each a sweep does.

    Up, each configuration of a cell is multiplied with every factor and message, and summed; down, with what
    its parent believes, and added to as many counts and beliefs.
    """
    total = 0.0
    for chunk in rows.packed.chunks:
        slab = chunk.slab
        links, children = np.diff(slab.base_start), np.diff(slab.child_start)
        total += float(chunk.kinds.size[slab.kind] @ (1 + links + children))
    return total


def _pyagrum(case: str, network: lac.Network, table: lac.Table) -> Line:
    if rivals.gum is None:
        return Line(case, "pyAgrum", note="not installed")
    rivals.gum.setNumberOfThreads(1)
    run = rivals.pyagrum_em(rivals.pyagrum_network(network), ours.cases(table), smoothing=True)
    times = []
    for iterations in (1, 2):
        began = process_time()
        run(iterations)
        times.append(process_time() - began)
    return Line(case, "pyAgrum", (times[1] - times[0]) / len(table), note=f"≈ scaled from {len(table)} rows")
