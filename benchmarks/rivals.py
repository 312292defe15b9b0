"""The peers, each behind as few lines as it takes. All of them are optional."""

from __future__ import annotations

import csv
import logging
import math
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.plain import HiddenRoot

__all__ = [
    "Case",
    "gum",
    "pgmpy",
    "pgmpy_hidden_root",
    "pgmpy_posteriors",
    "pyagrum_em",
    "pyagrum_log_likelihood",
    "pyagrum_network",
    "pyagrum_posteriors",
    "stepmix",
    "stepmix_em",
]

Case = dict[str, str]
"""What is observed in one row: states by variable."""


def _load(name: str) -> Any:
    """Return a module without its warnings, or None where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module(name)
        except ImportError:
            return None


gum, pgmpy, stepmix = _load("pyagrum"), _load("pgmpy"), _load("stepmix.stepmix")


def pyagrum_network(network: lac.Network) -> Any:
    """Return the same network as pyAgrum holds it."""
    twin = gum.BayesNet()
    for variable in network.dag.schema:
        twin.add(gum.LabelizedVariable(variable.name, "", [str(state) for state in variable.states]))
    for child in network.dag.names:
        for parent in network.dag.parents_of(child):
            twin.addArc(parent, child)
    for child in network.dag.names:
        axes = [*network.dag.parents_of(child), child]
        order = [axes.index(name) for name in reversed(twin.cpt(child).names)]
        twin.cpt(child)[:] = np.ascontiguousarray(network.table(child).transpose(order))
    return twin


def pyagrum_em(start: Any, cases: Sequence[Case], *, smoothing: bool = False) -> Callable[[int], Any]:
    """Return the run of some EM iterations from exactly this start, maximum likelihood unless smoothed.

    Without smoothing it refuses rows in which a configuration of parents never occurs.
    """
    names = list(start.names())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([names, *([case.get(name, "?") for name in names] for case in cases)])
        learner = gum.BNLearner(str(path), start, ["?"])  # reads the file here and now
    if smoothing:
        learner.useSmoothingPrior(1)
    else:
        learner.useNoPrior()

    def run(iterations: int) -> Any:
        learner.useEM(1e-300, 0.0)  # a criterion it cannot meet, and no noise on the start
        learner.EMsetMaxIter(iterations)
        return learner.learnParameters(start)

    return run


def pyagrum_log_likelihood(network: Any, cases: Sequence[Case]) -> float:
    """Return Σ log p(what is observed), one row after the other."""
    engine, total = gum.LazyPropagation(network), 0.0
    for case in cases:
        engine.setEvidence(case)
        total += math.log(engine.evidenceProbability())
    return total


def pyagrum_posteriors(engine: str, network: Any, cases: Sequence[Case]) -> list[NDArray[np.float64]]:
    """Return p(variable | row) of all open variables, one row after the other."""
    inference, found = getattr(gum, engine)(network), []
    for case in cases:
        inference.setEvidence(case)
        inference.makeInference()
        found += [inference.posterior(name).toarray() for name in network.names() if name not in case]
    return found


def pgmpy_network(network: lac.Network) -> Any:
    """Return the same network as pgmpy holds it."""
    dag, cpd = network.dag, _load("pgmpy.factors.discrete").TabularCPD
    states = {variable.name: list(variable.states) for variable in dag.schema}
    twin = _load("pgmpy.models").DiscreteBayesianNetwork(dag.arcs)
    twin.add_nodes_from(dag.names)
    for child in dag.names:
        parents = list(dag.parents_of(child))
        table = network.table(child).reshape(-1, len(states[child])).T
        names = {name: states[name] for name in [child, *parents]}
        twin.add_cpds(
            cpd(child, len(table), table, parents or None, [len(states[p]) for p in parents] or None, names)
        )
    return twin


def pgmpy_posteriors(network: Any, cases: Sequence[Case]) -> list[NDArray[np.float64]]:
    """Return p(variable | row) of all open variables, one row after the other.

    One query a variable: asking for several at once, even with ``joint=False``, builds their joint table,
    which took up to 22 s for a row.
    """
    engine, found = _load("pgmpy.inference").VariableElimination(network), []
    for case in cases:
        holes = [name for name in network.nodes() if name not in case]
        found += [engine.query([name], evidence=case, show_progress=False).values for name in holes]
    return found


def pgmpy_hidden_root(codes: NDArray[np.int8], start: lac.Network, root: str) -> Callable[[int], Any]:
    """Return the run of some EM iterations on complete rows under a hidden root."""
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    pandas = import_module("pandas")
    twin = pgmpy_network(start)
    twin.latents = {root}
    children = [name for name in start.dag.names if name != root]
    settings = {
        "latent_card": {root: start.dag.schema[root].size},
        "state_names": {name: [0, 1] for name in children},
        "init_cpds": {cpd.variable: cpd for cpd in twin.cpds},
        "show_progress": False,
    }
    estimator = _load("pgmpy.parameter_estimator").DiscreteEM
    frame = pandas.DataFrame(codes, columns=children)
    return lambda iterations: estimator(max_iter=iterations, atol=0.0, **settings).fit(twin, frame)


def stepmix_em(codes: NDArray[np.int8], start: HiddenRoot) -> Callable[[int], float]:
    """Return the run of some EM iterations from exactly this start; it gives the log-likelihood."""
    data = np.where(codes < 0, np.nan, codes.astype(np.float64))
    measurement = "binary_nan" if np.any(codes < 0) else "binary"

    class Started(stepmix.StepMix):  # type: ignore[misc,name-defined]
        def _initialize_parameters(self, X: Any, random_state: Any) -> None:
            emission = {"pis": start[1]}  # a new dict each time: fitting writes into it
            self.set_parameters(
                {"weights": start[0], "measurement": emission, "measurement_in": codes.shape[1]}
            )

    def run(iterations: int) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns that so few iterations do not converge
            model = Started(
                len(start[0]), measurement=measurement, max_iter=iterations, abs_tol=0.0, progress_bar=0
            ).fit(data)
        return float(model.score(data)) * len(codes)

    return run
