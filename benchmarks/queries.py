"""One question at a time: a random target given 0, 2 and 10 random findings; all marginals after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import lacunary as lac
from benchmarks import rivals
from benchmarks.measure import Effort, Line

__all__ = ["TITLE", "lines"]

TITLE = "One question at a time, median seconds of the same draws (random target; 0, 2 and 10 findings)"
DATA = Path(__file__).with_name("data")
WIDE = ("win95pts", "pigs", "andes", "link", "munin1")
QUESTIONS = 100
CHANGES = 15

Question = tuple[str, dict[str, Any]]


def lines(effort: Effort) -> Iterator[Line]:
    """Measure every network: fresh objects for each question, kept ones, and all marginals."""
    many = QUESTIONS if effort.repeats > 3 else 21
    for name, network in networks():
        asked = questions(network, many)
        yield from _singly(name, network, asked)
        if name in ("alarm", "andes", "link"):
            yield from _all_marginals(name, network)


def networks() -> Iterator[tuple[str, lac.Network]]:
    """Every network, with its name."""
    yield "asia", lac.asia()
    yield "alarm", lac.alarm()
    for name in WIDE:
        yield name, lac.load(DATA / f"{name}.bif.gz", lac.Network)


def questions(network: lac.Network, many: int) -> list[Question]:
    """Random targets with findings from rows of the network itself, so that all are possible."""
    rng, rows = np.random.default_rng(7), network.sample(many, rng=8)
    out: list[Question] = []
    for row in range(many):
        chosen = rng.permutation(network.dag.names)[: 1 + (0, 2, 10)[row % 3]]
        given = {n: rows.schema[n].states[rows.codes[row, rows.schema.index(n)]] for n in chosen[1:]}
        out.append((str(chosen[0]), {str(name): state for name, state in given.items()}))
    return out


def _singly(name: str, network: lac.Network, asked: list[Question]) -> Iterator[Line]:
    network.query(*asked[0][:1], given=asked[0][1])
    fresh = [lac.Network(_again(network.dag), network.theta.copy()) for _ in asked]
    kept = lac.Network(_again(network.dag), network.theta.copy())
    case = f"{name}, one target"
    yield Line(case, "lacunary, network kept", _each(lambda t, g: kept.query(t, given=g), asked))
    queue = iter(fresh)
    yield Line(case, "lacunary, fresh network", _each(lambda t, g: next(queue).query(t, given=g), asked))
    if rivals.gum is None:
        yield Line(case, "pyAgrum LazyPropagation", note="not installed")
    else:
        twin = rivals.pyagrum_network(network)
        engine = rivals.gum.LazyPropagation(twin)
        yield Line(case, "pyAgrum LazyPropagation, kept", _each(lambda t, g: _lazily(engine, t, g), asked))
        yield Line(
            case,
            "pyAgrum LazyPropagation, fresh",
            _each(lambda t, g: _lazily(rivals.gum.LazyPropagation(twin), t, g), asked),
        )
    yield _pgmpy(case, network, asked[:12])


def _pgmpy(case: str, network: lac.Network, asked: list[Question]) -> Line:
    who = "pgmpy VariableElimination"
    if rivals.pgmpy is None:
        return Line(case, who, note="not installed")
    if len(network.dag.names) > 100:
        return Line(case, who, note="not tried: minutes for a question")
    engine = rivals._load("pgmpy.inference").VariableElimination(rivals.pgmpy_network(network))
    return Line(case, who, _each(lambda t, g: engine.query([t], evidence=g, show_progress=False), asked))


def _all_marginals(name: str, network: lac.Network) -> Iterator[Line]:
    """Of every variable, after the state of one finding was changed."""
    case, variable = f"{name}, all marginals after a change", network.dag.schema[network.dag.names[-1]]
    engine = network.engine({variable.name: variable.states[0]})
    engine.marginals()

    def ours(k: int) -> None:
        engine.set(variable.name, variable.states[k % variable.size])
        engine.marginals()

    yield Line(case, "lacunary, engine kept", _times(ours))
    if rivals.gum is not None:
        twin = rivals.pyagrum_network(network)
        lazy = rivals.gum.LazyPropagation(twin)

        def theirs(k: int) -> None:
            lazy.setEvidence({variable.name: str(variable.states[k % variable.size])})
            lazy.makeInference()
            for other in network.dag.names:
                lazy.posterior(other)

        yield Line(case, "pyAgrum LazyPropagation, kept", _times(theirs))


def _lazily(engine: Any, target: str, given: dict[str, Any]) -> Any:
    engine.setEvidence({name: str(state) for name, state in given.items()})
    engine.setTargets({target})
    engine.makeInference()
    return engine.posterior(target)


def _each(ask: Callable[[str, dict[str, Any]], object], asked: list[Question]) -> float:
    times = []
    for target, given in asked:
        began = perf_counter()
        ask(target, given)
        times.append(perf_counter() - began)
    return median(times)


def _times(change: Callable[[int], None]) -> float:
    times = []
    for k in range(CHANGES):
        began = perf_counter()
        change(k)
        times.append(perf_counter() - began)
    return median(times)


def _again(dag: lac.Dag) -> lac.Dag:
    """The same graph without what it has kept."""
    return lac.Dag(dag.schema, dag.parents, dag.tied, dag.family)
