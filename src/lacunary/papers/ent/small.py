"""ENT section 4: two small networks, on which entropy and score are maximised by dedicated solvers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import lacunary as lac
from lacunary.papers import Found, Listing, Results, Verdict, error_of_mean
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
from lacunary.papers.ent.judgement import LEVEL, Cell, Places, rank_verdict, worst
from lacunary.papers.ent.summary import behind, median_found, with_error

BN1 = {"one": "A -> U -> T <- E <- B", "both": "A -> U E; B -> U E; U -> T <- E"}
"""The arcs of BN1 as assumed, and the variant in which U and E have both parents."""

BN1_METHODS = ("average", "max-entropy", "entropy", "best", "global")
BN2_METHODS = ("max-entropy", "average", "entropy", "best")
BN1_ROWS = (100, 200, 300)
BN2 = (([5, 3, 5], 300), ([8, 4, 8], 500))
EARLY = (2, 3, 5)
"""Iterations after which climbs on BN1 are broken off, to see what far too few of them would do."""

BN1_MEDIANS = {
    100: {"average": 0.27, "max-entropy": 0.33, "entropy": 0.37, "global": 1.5},
    300: {"average": 0.14, "max-entropy": 0.25, "entropy": 0.35, "global": 1.2},
}
BN1_PLACES: Places = (("average",), ("max-entropy",), ("entropy",), ("best",), ("global",))
BN2_MEDIANS = {
    300: {"max-entropy": 0.71, "average": 0.78, "entropy": 0.90},
    500: {"max-entropy": 0.68, "average": 0.78, "entropy": 0.92},
}
BN2_PLACES: Places = (("max-entropy",), ("average",), ("entropy",), ("best",))

WHY = "bn1-gain; the best start is very near the global maximum"

AND: ArrayLike = [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]
"""p(T | U, E) of T = U and E; states are false, true."""


def bn1_truth(arcs: str, rng: np.random.Generator, rare: bool = False) -> lac.Network:
    """Draw p(U | …) and p(E | …); A and B are uniform.

    Drawn uniformly, T is true in a quarter of the rows on average. Print has U and E missing in about 85 %:
    with ``rare``, draws are kept in which T is true in `RARE` of the rows.
    """
    graph = lac.dag(BN1[arcs], states={"A": 2, "B": 3, "U": 2, "E": 2, "T": 2})
    while True:
        tables = dict(lac.random_network(graph, rng=rng).tables)
        tables |= {"A": np.full(2, 1 / 2), "B": np.full(3, 1 / 3), "T": np.array(AND)}
        truth = lac.Network.from_tables(graph, tables)
        if not rare or RARE[0] < truth.query("T").probabilities[1] < RARE[1]:
            return truth


RARE = (0.10, 0.20)
"""Shares of rows in which T is true, where 85 % of the cells of U and E are to be missing."""


def bn1_block(arcs: str, rows: int, first: int, count: int, rare: bool = False) -> dict[str, Any]:
    """Do some experiments with BN1; U and E are observed if and only if T is true.

    ``joint`` has KL of `BN1_METHODS`; ``learned`` the part of it that lies in the tables of U and E;
    ``missing`` the share of rows without U and E; ``gain`` how much higher the global maximum scores than the
    best start, as a share; ``certified`` whether its bound was closed.
    """
    return _bn1(arcs, rows, first, count, ITERATIONS, rare)


def bn1_early(rows: int, iterations: int, first: int, count: int) -> dict[str, Any]:
    """Do the same with climbs that are broken off after so many iterations; not the registered run."""
    return _bn1("one", rows, first, count, iterations)


def _bn1(arcs: str, rows: int, first: int, count: int, iterations: int, rare: bool = False) -> dict[str, Any]:
    out: dict[str, list[Any]] = {"joint": [], "learned": [], "missing": [], "gain": [], "certified": []}
    for number in range(first, first + count):
        rng = np.random.default_rng([SEED, 10 + list(BN1).index(arcs) + 2 * rare, rows, number])
        truth = bn1_truth(arcs, rng, rare)
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
        estimates = [flat.network, *(chosen(found, table, method) for method in BN2_METHODS[1:])]
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


SAID = {arcs: text.replace(";", ",") for arcs, text in BN1.items()}
READINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "one": (SAID["one"], {"arcs": "one"}),
    "both": (SAID["both"], {"arcs": "both"}),
    "one-85": (f"{SAID['one']}, 85 % missing", {"arcs": "one", "rare": True}),
    "both-85": (f"{SAID['both']}, 85 % missing", {"arcs": "both", "rare": True}),
}
"""Readings of BN1: arcs, which print does not give, and parameters that give its share of holes or not."""


def _read(results: Results, reading: str, name: str, **wanted: Any) -> list[Any]:
    """Return what the experiments of one reading gave under a name."""
    how = READINGS[reading][1]
    blocks = [r for r in results.of(bn1_block, **how, **wanted) if "rare" in how or "rare" not in r.arguments]
    return [line for record in blocks for line in record.value[name]]


def bn1(results: Results) -> tuple[Listing, dict[str, Found]]:
    """Return the results on BN1: a claim is answered under every reading."""
    lines: list[list[Any]] = []
    answers: dict[str, dict[str, Found]] = {}
    for reading, rows, metric in product(READINGS, BN1_ROWS, ("joint", "learned")):
        cell = Cell.of(_read(results, reading, metric, rows=rows), BN1_METHODS)
        if cell is None:
            continue
        lines.append([READINGS[reading][0], rows, metric, *_solver_line(cell, BN1_MEDIANS.get(rows, {}))])
        if metric == "joint" and rows in BN1_MEDIANS:
            own = _solver_found(f"bn1-{rows}", cell, BN1_MEDIANS[rows], BN1_PLACES, WHY)
            answers.setdefault(reading, {}).update(own | {f"worse-{rows}": _worse(cell)})
    for iterations in EARLY:
        cell = Cell.of(results.lines(bn1_early, "joint", iterations=iterations), BN1_METHODS)
        if cell is not None:
            gain = np.mean(results.lines(bn1_early, "gain", iterations=iterations))
            told = f"after {iterations} iterations: global gains {gain:.1%}"
            lines.append([told, 100, "joint", *_solver_line(cell, BN1_MEDIANS[100])])
    for reading in READINGS:
        answers.setdefault(reading, {}).update(
            _gains(results, reading) | _both_worse(answers.get(reading, {}))
        )
    names = {name for own in answers.values() for name in own if name.startswith("bn1-")}
    note = (
        "Median KL from the truth over that of the best start; joint, and the part in the tables of U and E. "
        "Print has n = 100 and n = 300, and the arcs are assumed. Rows with climbs broken off after a few "
        "iterations are no part of the registered run."
    )
    listing = Listing("bn1", "Section 4.1: BN1", _columns("reading", BN1_METHODS), lines, note)
    return listing, {name: _together(name, answers) for name in sorted(names)} | _missing(results)


def _together(name: str, answers: Mapping[str, Mapping[str, Found]]) -> Found:
    """Return the answer under the first reading there is, with those under the others."""
    own = {READINGS[reading][0]: found[name] for reading, found in answers.items() if name in found}
    first, *others = own.values()
    told = "; ".join(f"{reading}: {_shown(found)}" for reading, found in own.items())
    note = f"{first.note} By reading: {told}.".strip()
    behind = "; ".join([first.behind, *(f"{r}: {found.behind}" for r, found in list(own.items())[1:])])
    return replace(first, note=note, behind=behind, readings=tuple(others))


def _shown(found: Found) -> str:
    """Return an answer under one reading: a text as it is, small shares in per cent."""
    if isinstance(found.value, str):
        return found.value
    error = found.error or 0.0
    small = abs(found.value) < 0.01
    return f"{found.value:.3%} ± {error:.3%}" if small else with_error(found.value, error)


def _both_worse(found: Mapping[str, Found]) -> dict[str, Found]:
    """Return whether the global maximum is worse at both sizes."""
    parts = [found[name] for name in (f"worse-{rows}" for rows in BN1_MEDIANS) if name in found]
    if len(parts) < len(BN1_MEDIANS):
        return {}
    verdict = worst([part.verdict or "undecided" for part in parts])
    told, behind = "; ".join(str(part.value) for part in parts), "; ".join(part.behind for part in parts)
    return {"bn1-worse": Found(told, verdict=verdict, chance=LEVEL, behind=behind)}


def _columns(first: str, methods: tuple[str, ...]) -> list[str]:
    printed = (f"{method} (printed)" for method in methods)
    return [first, "n", "metric", "experiments", *printed, "Friedman and Tukey"]


def _worse(cell: Cell) -> Found:
    """Return whether the global maximum is further from the truth than the best start."""
    top, best = cell.methods.index("global"), cell.methods.index("best")
    told = f"ranks {cell.test.ranks[best]:.2f} and {cell.test.ranks[top]:.2f}"
    told += f", ratio {with_error(*cell.relative('global'))}"
    found: Verdict = "reproduced" if cell.test.better(best, top) else "undecided"
    if cell.test.better(top, best):
        found = "not"
    return Found(told, verdict=found, chance=LEVEL, behind=behind(cell))


def _gains(results: Results, reading: str) -> dict[str, Found]:
    """Return how much higher the global maximum scores than the best start."""
    gain, certified = (np.array(_read(results, reading, name)) for name in ("gain", "certified"))
    if len(gain) < 2:
        return {}
    sure = f"{sum(certified)} of {len(gain)} global maxima are certified to 1e-6 nats"
    note = f"median {np.median(gain):.2%}, highest {gain.max():.2%}; {sure}."
    mean, error = float(gain.mean()), error_of_mean(gain)
    return {"bn1-gain": Found(mean, error, note=note, behind=f"{len(gain)} tables")}


def _missing(results: Results) -> dict[str, Found]:
    """Return what share of U and E is missing under parameters drawn uniformly, whatever the arcs."""
    missing = [*_read(results, "one", "missing"), *_read(results, "both", "missing")]
    if len(missing) < 2:
        return {}
    behind = f"{len(missing)} tables"
    return {"bn1-missing": Found(float(np.mean(missing)), error_of_mean(missing), behind=behind)}


def bn2(results: Results) -> tuple[Listing, dict[str, Found]]:
    """Return the results on BN2."""
    found: dict[str, Found] = {}
    lines: list[list[Any]] = []
    for (states, rows), metric in product(BN2, ("joint", "learned")):
        cell = Cell.of(results.lines(bn2_block, metric, states=states), BN2_METHODS)
        if cell is None:
            continue
        lines.append(["-".join(map(str, states)), rows, metric, *_solver_line(cell, BN2_MEDIANS[rows])])
        if metric == "joint":
            found |= _solver_found(f"bn2-{rows}", cell, BN2_MEDIANS[rows], BN2_PLACES, "bn2")
    note = (
        "Median KL from the truth over that of the best start; joint, and the part in the tables of B and C."
    )
    title = "Section 4.2: BN2, A → B → C, B missing in 85 %"
    return Listing("bn2", title, _columns("states", BN2_METHODS), lines, note), found


def _solver_line(cell: Cell, printed: Mapping[str, float]) -> list[Any]:
    """Return experiments, relative medians with the printed ones behind, and places."""
    beside = {method: f" ({value:g})" for method, value in printed.items()}
    shown = [
        "1" if method == "best" else with_error(*cell.relative(method)) + beside.get(method, "")
        for method in cell.methods
    ]
    return [len(cell.values), *shown, cell.told]


def _solver_found(
    prefix: str, cell: Cell, printed: Mapping[str, float], places: Places, see: str
) -> dict[str, Found]:
    found = {
        f"{prefix}-{method}": median_found(cell, method, value, see) for method, value in printed.items()
    }
    ranks = ", ".join(f"{m} {r:.2f}" for m, r in zip(cell.methods, cell.test.ranks, strict=True))
    verdict, note = rank_verdict(cell, places), f"mean ranks: {ranks}"
    ranking = Found(cell.told, verdict=verdict, chance=LEVEL, note=note, behind=behind(cell))
    return found | {f"{prefix}-rank": ranking}
