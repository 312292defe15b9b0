"""The evidence: Laplace beside its fit, variational beside plain EM, and BG03's 136 structures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations_with_replacement, product
from time import perf_counter
from typing import Any

import numpy as np

import lacunary as lac
from benchmarks import ours
from benchmarks.measure import Effort, Line, seconds

__all__ = ["TITLE", "bg03_data", "bg03_structures", "lines"]

TITLE = "Evidence: Laplace, variational Bayes, annealed importance sampling, seconds"
PRINTED = {"bic": 200.0, "variational": 575.0, "ais": 55_000.0}
"""Seconds that BG03 reports for all its structures at 480 rows; "bic" stands for MAP and BIC together."""

HIDDEN, OBSERVED, ROWS, STEPS = 2, 4, 480, 16_384


def lines(effort: Effort) -> Iterator[Line]:
    """Measure CH96's largest case, variational Bayes against EM, and BG03's experiment."""
    yield from _laplace(effort)
    yield from _variational(effort)
    yield from _bg03(full=effort.repeats >= Effort().repeats)


def _laplace(effort: Effort) -> Iterator[Line]:
    schema = lac.Schema(tuple(lac.Variable(f"x{i + 1}", (0, 1)) for i in range(64)))
    dag = lac.naive_bayes(schema, hidden="class", states=32)
    table = ours.simulate(lac.random_network(dag, rng=1), 400, 0.0)
    prior, case = lac.Dirichlet(1.01), "64 binary variables, 32 classes, 400 rows"
    began = perf_counter()
    found = lac.fit(dag, table, prior=prior, basis="probability", starts=lac.Tournament(64))
    yield Line(case, "tournament EM", perf_counter() - began, found.log_likelihood)
    time = seconds(lambda: lac.score(found, table, "laplace", prior=prior, basis="probability"), effort)
    yield Line(case, "Laplace after it", time, note=f"d = {dag.layout.free}")


def _variational(effort: Effort) -> Iterator[Line]:
    network = lac.alarm()
    table = ours.simulate(network, 20_000, 0.3)
    for method in ("map", "variational"):
        times = [seconds(partial(_iterate, network, table, method, n), effort) for n in (1, 21)]
        yield Line("ALARM, 20,000 rows, 30 % holes", method, (times[1] - times[0]) / 20, note="an iteration")


def _iterate(network: lac.Network, table: lac.Table, method: Any, iterations: int) -> lac.Fit:
    return lac.fit(network.dag, table, method=method, initial=network, stop=lac.Stop(iterations=iterations))


def bg03_structures() -> list[lac.Dag]:
    """Return BG03's structures: any arcs from two binary hidden to four observed variables of five states.

    A structure and its mirror image, the hidden variables swapped, are one: (256 + 16) / 2 = 136.
    """
    names = [f"y{j + 1}" for j in range(OBSERVED)]
    columns = list(product((False, True), repeat=OBSERVED))  # which observed variables a hidden one points to
    graphs = []
    for first, second in combinations_with_replacement(columns, 2):
        arcs = [
            (f"h{h + 1}", n)
            for h, to in enumerate((first, second))
            for n, there in zip(names, to, strict=True)
            if there
        ]
        schema = lac.Schema(
            (
                *(lac.Variable(f"h{h + 1}", (0, 1), hidden=True) for h in range(HIDDEN)),
                *(lac.Variable(name, tuple(range(5))) for name in names),
            )
        )
        graphs.append(lac.Dag.from_arcs(schema, arcs))
    return graphs


def bg03_data(rng: int = 0) -> lac.Table:
    """Return rows from BG03's true structure: two observed variables with both parents, two with one."""
    true = lac.dag(
        "h1 -> y1 y2 y3 y4; h2 -> y1 y2",
        states={"h1": 2, "h2": 2, **{f"y{j + 1}": 5 for j in range(OBSERVED)}},
        hidden=["h1", "h2"],
    )
    drawn = lac.random_network(true, rng=rng).sample(ROWS, rng=rng)
    return drawn.select([f"y{j + 1}" for j in range(OBSERVED)])


def _bg03(full: bool) -> Iterator[Line]:
    graphs, table = bg03_structures(), bg03_data()
    chosen = graphs if full else graphs[:: len(graphs) // 8]
    runs: dict[str, tuple[str, dict[str, Any]]] = {
        "MAP and BIC": ("bic", {}),
        "variational": ("variational", {}),
        "AIS, one chain": ("ais", {"steps": STEPS, "chains": 1}),
    }
    for who, (method, options) in runs.items():
        lac.score(chosen[-1], table, method, starts=10, **options)  # compiles what is not compiled yet
        began = perf_counter()
        for dag in chosen:
            lac.score(dag, table, method, starts=10, **options)
        time = (perf_counter() - began) * len(graphs) / len(chosen)
        scaled = "" if full else f", scaled from {len(chosen)}"
        yield Line(
            f"BG03, {len(graphs)} structures, {ROWS} rows",
            who,
            time,
            note=f"{PRINTED[method]:,.0f} s in print{scaled}",
        )
    few = np.array_split(np.arange(len(graphs)), 4)[-1][:4]
    began = perf_counter()
    for i in few:
        lac.score(graphs[i], table, "ais", steps=STEPS, chains=16)
    time = (perf_counter() - began) * len(graphs) / len(few)
    yield Line(
        f"BG03, {len(graphs)} structures, {ROWS} rows",
        "AIS, sixteen chains",
        time,
        note=f"scaled from {len(few)}",
    )
