"""ENT section 4: two small networks, on which entropy and score are maximised by dedicated solvers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import lacunary as lac
from lacunary.papers.ent.experiment import (
    ITERATIONS,
    SEED,
    STARTS,
    blank_hidden,
    chosen,
    climb,
    distances,
    starting_points,
)

__all__ = ["BN1", "BN1_METHODS", "BN2_METHODS", "bn1_block", "bn1_early", "bn2_block"]

BN1 = {"one": "A -> U -> T <- E <- B", "both": "A -> U E; B -> U E; U -> T <- E"}
"""The arcs of BN1 as assumed, and the variant in which U and E have both parents."""

BN1_METHODS = ("average", "max-entropy", "entropy", "best", "global")
BN2_METHODS = ("max-entropy", "average", "entropy", "best")
AND: ArrayLike = [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]
"""p(T | U, E) of T = U and E; states are false, true."""


def bn1_truth(arcs: str, rng: np.random.Generator) -> lac.Network:
    """Draw p(U | …) and p(E | …); A and B are uniform."""
    graph = lac.dag(BN1[arcs], states={"A": 2, "B": 3, "U": 2, "E": 2, "T": 2})
    tables = dict(lac.random_network(graph, rng=rng).tables)
    tables |= {"A": np.full(2, 1 / 2), "B": np.full(3, 1 / 3), "T": np.array(AND)}
    return lac.Network.from_tables(graph, tables)


def bn1_block(arcs: str, rows: int, first: int, count: int) -> dict[str, Any]:
    """Do some experiments with BN1; U and E are observed if and only if T is true.

    ``joint`` has KL of `BN1_METHODS`; ``learned`` the part of it that lies in the tables of U and E;
    ``missing`` the share of rows without U and E; ``gain`` how much higher the global maximum scores than the
    best start, as a share; ``certified`` whether its bound was closed.
    """
    return _bn1(arcs, rows, first, count, ITERATIONS)


def bn1_early(rows: int, iterations: int, first: int, count: int) -> dict[str, Any]:
    """Do the same with climbs that are broken off after so many iterations; not the registered run."""
    return _bn1("one", rows, first, count, iterations)


def _bn1(arcs: str, rows: int, first: int, count: int, iterations: int) -> dict[str, Any]:
    out: dict[str, list[Any]] = {"joint": [], "learned": [], "missing": [], "gain": [], "certified": []}
    for number in range(first, first + count):
        rng = np.random.default_rng([SEED, 10 + list(BN1).index(arcs), rows, number])
        truth = bn1_truth(arcs, rng)
        table = _hide_unless(truth.sample(rows, rng=rng), "T", ("U", "E"))
        graph, fixed = blank_hidden(truth.dag, table), {"T": AND}
        found = climb(
            graph, table, starting_points(graph, "uniform", STARTS, rng), fixed=fixed, iterations=iterations
        )
        options: dict[str, Any] = {"prior": lac.bdeu(1), "fixed": fixed}
        top = lac.reselect(found, table, "global", **options, select_options={"seconds": 20.0})
        high = climb(graph, table, [top.network], fixed=fixed, iterations=1)
        networks = {
            "average": lac.reselect(found, table, "average", **options).network,
            "entropy": lac.reselect(found, table, "entropy", **options).network,
            "best": found.network,
            "global": top.network,
            "max-entropy": lac.reselect(high, table, "max-entropy", **options).network,
        }
        estimates = [networks[method] for method in BN1_METHODS]
        out["joint"].append(distances(truth, estimates))
        out["learned"].append([_learned(truth, estimate) for estimate in estimates])
        out["missing"].append(float(table.holes[:, table.schema.index("U")].mean()))
        out["gain"].append(float((high.scores[0] - found.scores.max()) / abs(found.scores.max())))
        out["certified"].append(bool(top.selection.details["certified"]))
    return out


def bn2_block(states: list[int], rows: int, first: int, count: int) -> dict[str, Any]:
    """Do some experiments with A → B → C, B missing in 85 % of the rows; KL of `BN2_METHODS`.

    ``learned`` is the part that lies in the tables of B and C.
    """
    graph = lac.dag("A -> B -> C", states=dict(zip("ABC", states, strict=True)))
    joint, learned, solved = [], [], []
    for number in range(first, first + count):
        rng = np.random.default_rng([SEED, 20, *states, rows, number])
        truth = lac.random_network(graph, rng=rng)
        table = lac.make_holes(truth.sample(rows, rng=rng), 0.85, columns=["B"], rng=rng)
        found = climb(graph, table, starting_points(graph, "uniform", STARTS, rng))
        flat = lac.reselect(found, table, "max-entropy", prior=lac.bdeu(1))
        estimates = [
            flat.network,
            *(chosen(found, table, method) for method in ("average", "entropy", "best")),
        ]
        joint.append(distances(truth, estimates))
        learned.append([_learned(truth, estimate, ("B", "C")) for estimate in estimates])
        solved.append(bool(flat.selection.details["converged"]))
    return {"joint": joint, "learned": learned, "solved": solved}


def _learned(truth: lac.Network, estimate: lac.Network, names: tuple[str, ...] = ("U", "E")) -> float:
    """Return the part of KL(truth ‖ estimate) that lies in some tables."""
    parts = lac.family_distances(truth, estimate)
    return float(sum(parts[name].kl for name in names))


def _hide_unless(table: lac.Table, driver: str, names: tuple[str, ...]) -> lac.Table:
    """Empty some cells of the rows in which the driver is not true."""
    codes = table.codes.copy()
    rows = codes[:, table.schema.index(driver)] == 0
    for name in names:
        codes[rows, table.schema.index(name)] = -1
    return replace(table, codes=codes)
