"""Structure search on complete tables, beside pyAgrum, PyBNesian and pgmpy.

All look for the graph of the highest score, no number of arcs being more probable than another beforehand,
and every graph found is scored by the same code, so that scores compare. Asia and Alarm ship with the
package; name a folder with further networks (child.bif, insurance.bif) in LACUNARY_NETWORKS to measure them
as well.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import lacunary as lac
from benchmarks.measure import Effort, Line, called, turns
from benchmarks.rivals import gum, pgmpy

__all__ = ["TITLE", "lines"]

TITLE = "Structure search without holes (the column log-likelihood holds the score of the graph found)"
SIZES = {
    "asia": (1_000, 10_000),
    "child": (1_000, 10_000),
    "insurance": (1_000, 10_000),
    "alarm": (1_000, 10_000),
}
SLOW_ROWS, SLOW_VARIABLES = 1_000, 20
"""Up to which pgmpy, which takes minutes on more, is measured; once."""

METHODS = (None, "greedy", "tabu")
"""What is meant where none is named comes first: it is what rivals are compared with."""

Parents = list[tuple[str, ...]]
Search = Callable[[], Parents]


def lines(effort: Effort) -> Iterator[Line]:
    """Measure the default search, greedy search and tabu, each network at each size."""
    for name, network in _networks():
        for rows in SIZES[name]:
            table = _shuffled(network.sample(rows, rng=1))
            frame = table.to_frame("pandas").astype(str).astype("category")
            yield from _bdeu(f"{name}, {rows} rows, BDeu", table, frame, effort)
            yield from _bic(f"{name}, {rows} rows, BIC", table, frame, effort)


def _shuffled(table: lac.Table) -> lac.Table:
    """Return the table with its columns in random order: files of networks tend to list causes first."""
    names = table.schema.names
    return table.select([names[i] for i in np.random.default_rng(0).permutation(len(names))])


def _networks() -> Iterator[tuple[str, lac.Network]]:
    folder = os.environ.get("LACUNARY_NETWORKS")
    for name in SIZES:
        if name in ("asia", "alarm"):
            yield name, getattr(lac, name)()
        elif folder and (path := Path(folder) / f"{name}.bif").exists():
            yield name, lac.load(path)


def _bdeu(case: str, table: lac.Table, frame: Any, effort: Effort) -> Iterator[Line]:
    rivals: dict[str, Search] = {}
    if gum is not None:
        rivals |= {f"pyAgrum {way}": partial(_agrum, table, frame, way) for way in ("greedy", "tabu")}
    yield from _case(case, table, "bdeu", rivals, effort)
    if gum is None:
        yield Line(case, "pyAgrum", note="not installed")
    if pgmpy is not None and len(table) <= SLOW_ROWS and len(table.schema) <= SLOW_VARIABLES:
        with _quiet():
            began = perf_counter()
            parents = _pgmpy(frame)
            taken = perf_counter() - began
        yield _line(case, "pgmpy greedy", taken, table, "bdeu", lac.Dag(table.schema, tuple(parents)))


def _bic(case: str, table: lac.Table, frame: Any, effort: Effort) -> Iterator[Line]:
    try:
        rival = import_module("pybnesian")
    except ImportError:
        yield from _case(case, table, "bic", {}, effort)
        yield Line(case, "PyBNesian", note="not installed")
        return
    yield from _case(case, table, "bic", {"PyBNesian greedy": partial(_pybnesian, rival, frame)}, effort)


def _case(
    case: str, table: lac.Table, score: str, rivals: dict[str, Search], effort: Effort
) -> Iterator[Line]:
    """All by turns, and what each finds."""

    def ours(method: Any) -> lac.Dag:
        fresh = lac.Table(table.schema, table.codes)  # with nothing worked out beforehand
        return lac.search(fresh, method=method, score=score, structure_prior=None).dag

    calls: dict[str, Callable[[], Any]] = {
        f"lacunary {method or 'default'}": partial(ours, method) for method in METHODS
    }
    calls |= rivals
    with _quiet():
        found = {who: call() for who, call in calls.items()}
        times = turns([called(call) for call in calls.values()], effort)
    for (who, graph), time in zip(found.items(), times, strict=True):
        dag = graph if isinstance(graph, lac.Dag) else lac.Dag(table.schema, tuple(graph))
        yield _line(case, who, time, table, score, dag)


def _line(case: str, who: str, time: float, table: lac.Table, score: str, dag: lac.Dag) -> Line:
    """Every graph is scored as ours are: without a prior of graphs, which rivals do not have."""
    value = lac.search(table, score=score, start=dag, method=_Stay(), structure_prior=None).score
    return Line(case, who, time, value, f"{len(dag.arcs)} arcs")


class _Stay:
    """A search that stays where it starts: it only scores."""

    name = "stay"

    def run(self, walk: Any) -> None:
        """Do nothing."""


def _agrum(table: lac.Table, frame: Any, way: str) -> Parents:
    template = gum.BayesNet()
    for variable in table.schema:
        template.add(gum.LabelizedVariable(variable.name, "", [str(state) for state in variable.states]))
    learner = gum.BNLearner(frame, template)
    learner.useScoreBDeu()
    if way == "tabu":
        learner.useLocalSearchWithTabuList(100, 2)
    else:
        learner.useGreedyHillClimbing()
    found = learner.learnDAG()
    names = table.schema.names
    return [tuple(names[p] for p in sorted(found.parents(i))) for i in range(len(names))]


def _pgmpy(frame: Any) -> Parents:
    estimators = import_module("pgmpy.estimators")
    score = estimators.BDeu(frame, equivalent_sample_size=1)
    found = estimators.HillClimbSearch(frame).estimate(scoring_method=score, show_progress=False)
    return _from_arcs(frame.columns, found.edges())


def _pybnesian(rival: Any, frame: Any) -> Parents:
    empty = rival.DiscreteBN(list(frame.columns))
    found = rival.hc(frame, start=empty, operators=["arcs"], score="bic")
    return _from_arcs(frame.columns, found.arcs())


def _from_arcs(names: Sequence[str], arcs: Any) -> Parents:
    return [tuple(tail for tail, head in arcs if head == name) for name in names]


@contextmanager
def _quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)
