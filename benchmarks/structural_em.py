"""What structural EM recovers of ALARM from rows with holes, against what people do instead.

``python -m benchmarks.structural_em`` prints, for several samples, how far each learned graph is from the
true one: structural Hamming distance between equivalence classes, lower is better, and how many
of ALARM's 46 arcs have their two ends joined. All ways use the same greedy search and the same score (BDeu,
one row's worth of prior).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

import lacunary as lac
from lacunary.data.table import Table
from lacunary.structure.structural_em import structural_em

__all__ = ["Outcome", "outcomes", "run"]

ROWS = (1000, 2000)
SHARES = (0.1, 0.2, 0.3)
SEEDS = 5


@dataclass(frozen=True)
class Outcome:
    """What one way of learning made of one sample.

    Attributes
    ----------
    distance
        Structural Hamming distance to the true graph's class.
    joined
        Arcs of the true graph whose ends are joined in the learned one.
    arcs
        Arcs of the learned graph.
    gain
        For structural EM, by how much the Cheeseman–Stutz score of the last graph exceeds that of the graph
        after the first search, and of the initial graph.
    """

    rows: int
    share: float
    seed: int
    way: str
    distance: int
    joined: int
    arcs: int
    seconds: float
    gain: tuple[float, float] | None = None


def outcomes(rows: Sequence[int], shares: Sequence[float], seeds: int, first: int = 0) -> Iterator[Outcome]:
    """Draw samples, make holes completely at random, and learn in every way."""
    truth = lac.alarm()
    for many in rows:
        for seed in range(first, first + seeds):
            whole = truth.sample(many, rng=seed)
            yield _outcome(truth.dag, (many, 0.0, seed), "no holes", partial(_searched, whole))
            for share in shares:
                holes = lac.make_holes(whole, share, rng=1000 + seed)
                case = many, share, seed
                yield _structural(truth.dag, case, holes)
                yield _outcome(truth.dag, case, "modes first", partial(_searched, with_modes(holes)))
                yield _outcome(truth.dag, case, "rows dropped", partial(without_holes, holes))


def _outcome(truth: lac.Dag, case: tuple[int, float, int], way: str, learn: Callable[[], lac.Dag]) -> Outcome:
    start = perf_counter()
    dag = learn()
    took = perf_counter() - start
    return Outcome(*case, way, *_compared(truth, dag), took)


def _structural(truth: lac.Dag, case: tuple[int, float, int], holes: Table) -> Outcome:
    start = perf_counter()
    found = structural_em(holes)
    took = perf_counter() - start
    first, second = (r.cheeseman_stutz for r in found.rounds[:2])
    gain = found.score - second, found.score - first
    return Outcome(*case, "structural EM", *_compared(truth, found.dag), took, gain)


def _compared(truth: lac.Dag, dag: lac.Dag) -> tuple[int, int, int]:
    joined = {frozenset(arc) for arc in dag.arcs} & {frozenset(arc) for arc in truth.arcs}
    return lac.structural_hamming_distance(dag, truth), len(joined), len(dag.arcs)


def _searched(table: Table) -> lac.Dag:
    return lac.search(table).dag


def with_modes(table: Table) -> Table:
    """Return the table with every hole filled by its column's most frequent state."""
    codes = table.codes.copy()
    for column in codes.T:
        column[column < 0] = np.bincount(column[column >= 0]).argmax()
    return Table(table.schema, codes)


def without_holes(table: Table) -> lac.Dag:
    """Return the graph learned from the rows that have no hole; without any such row, one without arcs."""
    rows = table.take(np.flatnonzero(~table.holes.any(axis=1)))
    return lac.search(rows).dag if len(rows) else lac.Dag.from_arcs(table.schema, ())


WAYS = ("structural EM", "modes first", "rows dropped", "no holes")


def run(
    rows: Sequence[int] = ROWS, shares: Sequence[float] = SHARES, seeds: int = SEEDS, first: int = 0
) -> str:
    """Return the table as Markdown: means over the samples, and how often structural EM was nearest."""
    found = list(outcomes(rows, shares, seeds, first))
    lines = [
        "| rows | missing | way | distance | true arcs joined, of 46 | arcs | seconds |",
        "|---:|---:|---|---:|---:|---:|---:|",
    ]
    for many in rows:
        for share in shares:
            for way in WAYS:
                here = [
                    o for o in found
                    if o.rows == many and o.way == way and o.share == (0.0 if way == "no holes" else share)
                ]  # fmt: skip
                numbers = [[o.distance, o.joined, o.arcs, o.seconds] for o in here]
                distance, joined, arcs, took = np.mean(numbers, axis=0)
                cells = f"{distance:.1f} | {joined:.1f} | {arcs:.1f} | {took:.2f}"
                lines.append(f"| {many} | {share:.0%} | {way} | {cells} |")
    return "\n".join([*lines, "", *_verdict(found)])


def _verdict(found: Sequence[Outcome]) -> list[str]:
    ours = {(o.rows, o.share, o.seed): o for o in found if o.way == "structural EM"}
    lines = []
    for way in ("modes first", "rows dropped"):
        pairs = [(ours[o.rows, o.share, o.seed], o) for o in found if o.way == way]
        nearer = sum(one.distance < other.distance for one, other in pairs)
        more = sum(one.joined > other.joined for one, other in pairs)
        lines.append(
            f"- Against {way}: nearer in {nearer}, more true arcs in {more}, of {len(pairs)} samples."
        )
    gains = [o.gain for o in ours.values() if o.gain is not None]
    lines.append(
        "- The Cheeseman-Stutz score of the last graph, less that of the graph after the first search: "
        f"at least {min(g[0] for g in gains):.1f}, less that of the initial graph: "
        f"at least {min(g[1] for g in gains):.1f} nats."
    )
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many samples")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    options = parser.parse_args()
    print(run(options.rows, options.shares, options.seeds, options.first))
