"""Selecting parameters from many starts: what a batch of starts costs, and what selection gains (ENT).

``python -m benchmarks.selection`` prints ENT's Tables beside ours. The paper says neither when its climbs
stop nor how its starts are drawn, and much hangs on that: see docs/parameters.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.measure import Effort, Line, seconds
from lacunary.infer.divergence import kl, marginal_kl
from lacunary.infer.rows import prepare
from lacunary.learn.fit import reselect
from lacunary.learn.select import Select
from lacunary.papers.ent.judgement import Friedman, friedman

__all__ = ["PRINTED", "TITLE", "Cell", "experiment", "lines", "run"]

TITLE = "A sweep of 30 starts as a batch against a sweep of one, ALARM, 200 rows, 60 % missing"
STARTS = 30
RELATIVE = 2e-3
"""Climbs stop once the score changes by less than this share of itself."""

SPREAD = 0.5
"""Starts are drawn from a Dirichlet with this hyperparameter: 1 is uniform, less is nearer the corners."""

EXPERIMENTS = 300
METHODS = ("average", "entropy", "best")
SETTINGS = [(100, 0.3), (100, 0.6), (200, 0.3), (200, 0.6)]

PRINTED = {
    "asia": {
        "joint": [(0.90, 0.96), (0.79, 0.90), (0.92, 0.96), (0.81, 0.91)],
        "leaf": [(0.93, 0.92), (0.87, 0.86), (0.98, 0.99), (0.92, 0.89)],
    },
    "alarm": {
        "joint": [(0.85, 0.93), (0.79, 0.88), (0.89, 0.93), (0.82, 0.89)],
        "leaf": [(0.96, 0.95), (0.94, 0.94), (0.98, 0.97), (0.97, 0.96)],
    },
    "random": {
        "joint": [(0.78, 0.94), (0.75, 0.89), (0.82, 0.92), (0.80, 0.89)],
        "leaf": [(0.89, 0.92), (0.88, 0.88), (0.96, 0.97), (0.95, 0.92)],
    },
}
"""ENT's Tables 1 to 3: medians of average and entropy over the median of best, in the order of SETTINGS."""

Maker = Callable[[np.random.Generator], lac.Dag]

GRAPHS: dict[str, Maker] = {
    "asia": lambda rng: lac.asia().dag,
    "alarm": lambda rng: lac.alarm().dag,
    "random": lambda rng: lac.random_dag(20, 1 / 3, max_parents=4, states=(2, 4), rng=rng),
}


@dataclass(frozen=True)
class Corners:
    """Starts from a Dirichlet with one hyperparameter throughout."""

    alpha: float

    def points(
        self, belief: lac.Belief, prior: object, table: object, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the draws; where all of a distribution is too small to be drawn it is uniform."""
        draws = rng.standard_gamma(self.alpha, size=(STARTS, belief.alpha.size))
        return belief.dag.layout.normalize(draws + 1e-12)


@dataclass(frozen=True, eq=False)
class Cell:
    """What a setting gave: divergences from the truth, (experiments, methods), and seconds an experiment."""

    network: str
    rows: int
    missing: float
    joint: NDArray[np.float64]
    leaf: NDArray[np.float64] | None
    seconds: float

    def relative(self, metric: str) -> tuple[float, float]:
        """Return the medians of average and entropy over that of best."""
        values = self.joint if metric == "joint" else self.leaf
        assert values is not None
        medians = np.median(values, axis=0)
        return float(medians[0] / medians[2]), float(medians[1] / medians[2])

    def verdict(self, metric: str) -> Friedman:
        """Return Friedman's test at 1 %."""
        values = self.joint if metric == "joint" else self.leaf
        assert values is not None
        return friedman(values, level=0.01)


def lines(effort: Effort) -> Iterator[Line]:
    """Measure one sweep of one start and of thirty."""
    truth = lac.random_network(lac.alarm().dag, rng=0)
    table = lac.make_holes(truth.sample(200, rng=1), 0.6, rng=2)
    prepared = prepare(truth.dag, table)
    theta = np.array([lac.random_network(truth.dag, rng=seed).theta for seed in range(STARTS)])
    one = seconds(lambda: [prepared.expect(theta[:1]) for _ in range(20)], effort) / 20
    many = seconds(lambda: [prepared.expect(theta) for _ in range(20)], effort) / 20
    yield Line("alarm, 200 rows, 60 % missing", "one start", one)
    yield Line("alarm, 200 rows, 60 % missing", f"{STARTS} starts", many, note=f"{many / one:.2f} times one")


def experiment(
    graph: lac.Dag, rows: int, missing: float, rng: np.random.Generator, relative: float, spread: float
) -> tuple[lac.Network, dict[str, lac.Network]]:
    """Draw a truth, rows and holes, climb from every start, and select in every way (ENT section 3)."""
    truth = lac.random_network(graph, rng=rng)
    table = lac.make_holes(truth.sample(rows, rng=rng), missing, rng=rng)
    # A column in which nothing is left is legal in the paper's setting: it is hidden then.
    blank = [graph.names[i] for i in np.flatnonzero(table.holes.all(axis=0))]
    if blank:
        graph = lac.Dag(graph.schema.hide(blank), graph.parents)
    prior = lac.bdeu(1)
    found = lac.fit(
        graph, table, prior=prior, starts=Corners(spread), rng=rng, stop=lac.Stop(relative=relative)
    )
    picks: tuple[Select, ...] = ("average", "entropy", "best")
    return truth, {name: reselect(found, table, name, prior=prior).network for name in picks}


def run(
    network: str,
    rows: int,
    missing: float,
    experiments: int,
    *,
    leaf: bool,
    relative: float = RELATIVE,
    spread: float = SPREAD,
    seed: int = 0,
) -> Cell:
    """Run the experiments of a setting; each is seeded by its own number."""
    joint, leaves = [], []
    begun = perf_counter()
    for number in range(experiments):
        rng = np.random.default_rng([seed, number, rows, round(100 * missing)])
        graph = GRAPHS[network](rng)
        truth, chosen = experiment(graph, rows, missing, rng, relative, spread)
        joint.append([kl(truth, chosen[method]) for method in METHODS])
        if leaf:
            names = [name for name in graph.names if not graph.children_of(name)]
            leaves.append([marginal_kl(truth, chosen[method], names) for method in METHODS])
    spent = (perf_counter() - begun) / experiments
    return Cell(network, rows, missing, np.array(joint), np.array(leaves) if leaf else None, spent)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print ENT's tables beside the printed ones, the verdicts, and the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=60, help="a setting; ENT has 300")
    parser.add_argument("--networks", nargs="*", default=["asia"], choices=list(GRAPHS))
    parser.add_argument("--leaf", action="store_true", help="measure the leaf metric as well")
    parser.add_argument("--relative", type=float, default=RELATIVE, help="when a climb stops")
    parser.add_argument("--spread", type=float, default=SPREAD, help="Dirichlet starts are drawn from")
    wish = parser.parse_args(arguments)
    for line in lines(Effort.quick()):
        print(f"{line.who:10s} {1e3 * (line.seconds or 0):8.3f} ms  {line.note}")
    hours = 0.0
    for network in wish.networks:
        for place, (rows, missing) in enumerate(SETTINGS):
            cell = run(
                network,
                rows,
                missing,
                wish.experiments,
                leaf=wish.leaf,
                relative=wish.relative,
                spread=wish.spread,
            )
            hours += cell.seconds * EXPERIMENTS / 3600
            for metric in ("joint", "leaf") if wish.leaf else ("joint",):
                print(_told(cell, metric, PRINTED[network][metric][place]), flush=True)
    print(f"{EXPERIMENTS} experiments of each of these settings: {hours:.2f} hours")


def _told(cell: Cell, metric: str, printed: tuple[float, float]) -> str:
    verdict, (average, entropy) = cell.verdict(metric), cell.relative(metric)
    places = " < ".join(" & ".join(METHODS[m] for m in place) for place in verdict.places)
    return (
        f"{cell.network:6s} n={cell.rows} mp={cell.missing:.0%} {metric:5s}: "
        f"average {average:.2f} ({printed[0]:.2f}), entropy {entropy:.2f} ({printed[1]:.2f}); "
        f"ranks {np.round(verdict.ranks, 2)}, p {verdict.p_value:.1e}: {places}; "
        f"{cell.seconds:.2f} s an experiment"
    )


if __name__ == "__main__":
    main()
