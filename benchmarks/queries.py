"""One question at a time: a random target given 0, 2 and 10 random findings; all marginals after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
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
BLOCK, FEW, CHANGES = 7, 12, 15
"""Questions before it is another's turn, those for the slowest rival, and changes of a finding."""

Question = tuple[str, dict[str, Any]]
Ask = Callable[[str, dict[str, Any]], object]


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
    """All are asked the same questions, some at a time and by turns, and none twice."""
    network.query(*asked[0][:1], given=asked[0][1])
    fresh = iter([lac.Network(_again(network.dag), network.theta.copy()) for _ in asked])
    kept = lac.Network(_again(network.dag), network.theta.copy())
    who: dict[str, Ask] = {
        "lacunary, network kept": lambda t, g: kept.query(t, given=g),
        "lacunary, fresh network": lambda t, g: next(fresh).query(t, given=g),
    }
    if rivals.gum is not None:
        twin = rivals.pyagrum_network(network)
        engine = rivals.gum.LazyPropagation(twin)
        who["pyAgrum LazyPropagation, kept"] = partial(_lazily, engine)
        who["pyAgrum LazyPropagation, fresh"] = lambda t, g: _lazily(rivals.gum.LazyPropagation(twin), t, g)
    times: dict[str, list[float]] = {each: [] for each in who}
    for first in range(0, len(asked), BLOCK):
        for each, ask in who.items():
            times[each] += [_time(ask, *question) for question in asked[first : first + BLOCK]]
    case = f"{name}, one target"
    for each, mine in times.items():
        yield Line(case, each, median(mine))
    if rivals.gum is None:
        yield Line(case, "pyAgrum LazyPropagation", note="not installed")
    yield _pgmpy(case, network, asked[:FEW])


def _pgmpy(case: str, network: lac.Network, asked: list[Question]) -> Line:
    who = "pgmpy VariableElimination"
    if rivals.pgmpy is None:
        return Line(case, who, note="not installed")
    if len(network.dag.names) > 100:
        return Line(case, who, note="not tried: minutes for a question")
    engine = rivals._load("pgmpy.inference").VariableElimination(rivals.pgmpy_network(network))
    times = [_time(lambda t, g: engine.query([t], evidence=g, show_progress=False), *ask) for ask in asked]
    return Line(case, who, median(times), note=f"of the first {len(asked)}")


def _all_marginals(name: str, network: lac.Network) -> Iterator[Line]:
    """Of every variable, after the state of one finding was changed; by turns."""
    case, variable = f"{name}, all marginals after a change", network.dag.schema[network.dag.names[-1]]
    engine = network.engine({variable.name: variable.states[0]})
    engine.marginals()

    def ours(k: int) -> None:
        engine.set(variable.name, variable.states[k % variable.size])
        engine.marginals()

    changes = {"lacunary, engine kept": ours}
    if rivals.gum is not None:
        twin = rivals.pyagrum_network(network)
        lazy = rivals.gum.LazyPropagation(twin)

        def theirs(k: int) -> None:
            lazy.setEvidence({variable.name: str(variable.states[k % variable.size])})
            lazy.makeInference()
            for other in network.dag.names:
                lazy.posterior(other)

        changes["pyAgrum LazyPropagation, kept"] = theirs
    times = [[_time(change, k) for change in changes.values()] for k in range(CHANGES)]
    for who, mine in zip(changes, zip(*times, strict=True), strict=True):
        yield Line(case, who, median(mine))


def _lazily(engine: Any, target: str, given: dict[str, Any]) -> Any:
    engine.setEvidence({name: str(state) for name, state in given.items()})
    engine.setTargets({target})
    engine.makeInference()
    return engine.posterior(target)


def _time(call: Callable[..., object], *arguments: Any) -> float:
    began = perf_counter()
    call(*arguments)
    return perf_counter() - began


def _again(dag: lac.Dag) -> lac.Dag:
    """The same graph without what it has kept."""
    return lac.Dag(dag.schema, dag.parents, dag.tied, dag.family)
