"""One experiment of ENT section 3: a truth, rows, holes, thirty climbs, three ways to choose.

README.md says why starts are drawn and climbs stopped as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr
from scipy.stats import spearmanr

import lacunary as lac
from lacunary.papers import kept_under

SEED = 20261116
NETWORKS = ("asia", "alarm", "random")
METHODS = ("average", "entropy", "best")
SETTINGS = ((100, 0.3), (100, 0.6), (200, 0.3), (200, 0.6))
"""Rows, and the share of cells that are missing."""

STARTS = 30
RELATIVE = 1e-3
"""Climbs stop once the score changes by less than this share of itself."""

ITERATIONS = 100
FAR = 1e6
"""Stands for an infinite divergence, which a record cannot hold."""


@dataclass(frozen=True)
class OnScore(lac.Stop):
    """A rule that looks at ENT's score, which is the objective without the prior's constant."""

    constant: float = 0.0

    def met(self, first: float, before: float, now: float) -> bool:
        """Tell whether a climb has converged."""
        return super().met(first - self.constant, before - self.constant, now - self.constant)


def graph_of(network: str, rng: np.random.Generator) -> lac.Dag:
    """Return the graph of an experiment; random ones as in section 3.3."""
    if network == "random":
        return lac.random_dag(20, 1 / 3, max_parents=4, states=(2, 4), rng=rng)
    return (lac.asia() if network == "asia" else lac.alarm()).dag


def draw(
    network: str, rows: int, missing: float, number: int
) -> tuple[lac.Network, lac.Table, lac.Dag, np.random.Generator]:
    """Draw truth, rows and holes; return them, the graph to be fitted, and the generator for the starts."""
    rng = np.random.default_rng([SEED, NETWORKS.index(network), rows, round(100 * missing), number])
    truth = lac.random_network(graph_of(network, rng), rng=rng)
    table = lac.make_holes(truth.sample(rows, rng=rng), missing, rng=rng)
    return truth, table, blank_hidden(truth.dag, table), rng


def blank_hidden(graph: lac.Dag, table: lac.Table) -> lac.Dag:
    """Return the graph with the columns hidden of which nothing is left."""
    blank = [graph.names[i] for i in np.flatnonzero(table.holes.all(axis=0))]
    return lac.Dag(graph.schema.hide(blank), graph.parents) if blank else graph


def starting_points(graph: lac.Dag, kind: str, count: int, rng: np.random.Generator) -> list[lac.Network]:
    """Draw starts: "uniform" entries that are normalised, or from a Dirichlet, "1" or "0.5"."""
    shape = (count, graph.layout.size)
    # A distribution all of whose entries are too small to be told from zero becomes uniform.
    draws = rng.random(shape) if kind == "uniform" else rng.standard_gamma(float(kind), shape) + 1e-12
    return [lac.Network(graph, theta) for theta in graph.layout.normalize(draws)]


def climb(
    graph: lac.Dag,
    table: lac.Table,
    initial: Sequence[lac.Network] | lac.Fit,
    *,
    relative: float = RELATIVE,
    iterations: int = ITERATIONS,
    fixed: dict[str, ArrayLike] | None = None,
    accelerate: bool = False,
) -> lac.Fit:
    """Climb from every start by EM with BDeu(1), until the score changes by less than a share of itself."""
    belief = lac.bdeu(1)(graph)
    constant = belief.log_normalizer
    if fixed:  # known tables have no prior
        once = lac.Stop(iterations=1)
        constant = lac.fit(graph, table, prior=lac.bdeu(1), initial=initial, fixed=fixed, stop=once).constant
    stop = OnScore(relative=relative, iterations=iterations, constant=constant)
    return lac.fit(
        graph, table, prior=lac.bdeu(1), initial=initial, fixed=fixed, stop=stop, accelerate=accelerate
    )


def chosen(found: lac.Fit, table: lac.Table, method: Any, **options: Any) -> lac.Network:
    """Return the parameters that a method chooses from the starts."""
    return lac.reselect(found, table, method, prior=lac.bdeu(1), select_options=options).network


def distances(truth: lac.Network, estimates: Sequence[lac.Network]) -> list[float]:
    """Return KL(truth ‖ estimate) of the joint distribution, the joint metric."""
    return [min(lac.kl(truth, estimate), FAR) for estimate in estimates]


def leaf_distances(truth: lac.Network, estimates: Sequence[lac.Network]) -> list[float]:
    """Return KL(truth ‖ estimate) of the variables without children, the leaf metric."""
    leaves = [name for name in truth.dag.names if not truth.dag.children_of(name)]
    true, *theirs = (network.query(*leaves).probabilities for network in (truth, *estimates))
    return [min(max(float(rel_entr(true, other).sum()), 0.0), FAR) for other in theirs]


def table_block(network: str, rows: int, missing: float, first: int, count: int) -> dict[str, Any]:
    """Do some experiments of a setting; each number is KL of average, entropy and best, in that order.

    ``weighted`` is KL of the average with the printed weights, in proportion to the score (Asia alone).
    """
    joint, leaf, weighted, iterations = [], [], [], []
    for number in range(first, first + count):
        truth, table, graph, rng = draw(network, rows, missing, number)
        found = climb(graph, table, starting_points(graph, "uniform", STARTS, rng))
        estimates = [chosen(found, table, method) for method in METHODS]
        joint.append(distances(truth, estimates))
        leaf.append(leaf_distances(truth, estimates))
        iterations.append(max(start.iterations for start in found.starts))
        if network == "asia":
            weighted += distances(truth, [chosen(found, table, "average", weights="score")])
    return {"joint": joint, "leaf": leaf, "weighted": weighted, "iterations": iterations}


SOLVED = ("max-entropy", *METHODS)
"""C_entropy, the most entropic parameters of a high score, and what it is compared with."""


def solved_block(network: str, rows: int, missing: float, first: int, count: int) -> list[list[float]]:
    """Do some experiments of a setting with C_entropy, which the paper left for later; KL of `SOLVED`."""
    joint = []
    for number in range(first, first + count):
        truth, table, graph, rng = draw(network, rows, missing, number)
        found = climb(graph, table, starting_points(graph, "uniform", STARTS, rng))
        joint.append(distances(truth, [chosen(found, table, method) for method in SOLVED]))
    return joint


def figure_runs(missing: float, runs: int) -> dict[str, Any]:
    """Climb from many starts on one table of 200 rows from Asia, for Figure 1."""
    truth, table, graph, rng = draw("asia", 200, missing, 1_000_000)
    found = climb(graph, table, starting_points(graph, "uniform", runs, rng))
    return {
        "scores": found.scores.tolist(),
        "entropies": found.entropies.tolist(),
        "kl": distances(truth, [start.network for start in found.starts]),
    }


def correlations(missing: float, first: int, count: int) -> list[list[float]]:
    """Return Spearman's correlation of score and KL, and of entropy and KL, for tables of 200 rows of Asia.

    Over the thirty starts of each of the registered experiments, nearly all of which are of high score.
    """
    out = []
    for number in range(first, first + count):
        truth, table, graph, rng = draw("asia", 200, missing, number)
        found = climb(graph, table, starting_points(graph, "uniform", STARTS, rng))
        far = distances(truth, [start.network for start in found.starts])
        out.append([float(spearmanr(x, far)[0]) for x in (found.scores, found.entropies)])
    return out


STARTS_TRIED = {"uniform": "uniform, normalised", "1": "Dirichlet(1)", "0.5": "Dirichlet(0.5)"}
STOPS = ("1e-3, ten iterations", "1e-3", "1e-4", "1e-5", "1e-8")
SAME = 1e-3
"""Nats within which two climbs to the end have reached the same score."""


@kept_under("ent.sensitivity")
def sensitivity_block(
    network: str, rows: int, missing: float, starts: str, first: int, count: int
) -> dict[str, Any]:
    """Do some experiments of a setting, each stopped at every rule; KL of the joint, by rule.

    The first two rules begin at the starts; each later one goes on where the one before stopped, the last
    with acceleration. ``end`` has, of every experiment climbed to the end, the share of starts at the highest
    score, and how far (KL) the farthest of *these* is from the best.
    """
    joint: dict[str, list[list[float]]] = {stop: [] for stop in STOPS}
    end = []
    for number in range(first, first + count):
        truth, table, graph, rng = draw(network, rows, missing, number)
        points = starting_points(graph, starts, STARTS, rng)
        found = climb(graph, table, points, iterations=10)
        for stop in STOPS:
            if stop == "1e-3":
                found = climb(graph, table, points)
            elif stop != STOPS[0]:
                how: dict[str, Any] = {"relative": float(stop), "accelerate": float(stop) < 1e-6}
                found = climb(graph, table, found, iterations=5000, **how)
            joint[stop].append(distances(truth, [chosen(found, table, method) for method in METHODS]))
        top = found.scores >= found.scores.max() - SAME
        far = max(lac.kl(found.network, found.starts[i].network) for i in np.flatnonzero(top))
        end.append([float(top.mean()), float(far)])
    return {"joint": joint, "end": end}
