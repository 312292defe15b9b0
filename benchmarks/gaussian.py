"""A mixture of full Gaussians written as a network: seconds per EM iteration, with and without holes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.measure import Effort, Line, by_turns, one_blas_thread
from lacunary.infer.rows import prepare
from lacunary.learn.em import maximize_rule

try:
    from sklearn.mixture import GaussianMixture
except ImportError:
    GaussianMixture = None

__all__ = ["TITLE", "lines"]

Iterate = Callable[[], float]

TITLE = "EM of mixtures of full Gaussians written as networks, seconds per iteration"
DIMENSIONS, CLASSES, HOLES = 64, 8, 0.1
PATTERNS = (10, 100, 1_000)
SHARES = (0.1, 0.3, 0.45, 0.6)
OTHERS = ((5_000, 100, 8), (5_000, 64, 20), (5_000, 16, 3))
"""Rows, columns and classes that are measured beside them, with some of these shares of holes."""

WARM = 3
"""Iterations after which time is taken: the first ones, from shares at random, are not like the others."""


def lines(effort: Effort) -> Iterator[Line]:
    """Measure complete rows beside scikit-learn, then more and more patterns of holes."""
    rows = 10_000 if effort.repeats < 5 else 100_000
    yield from _case(rows, DIMENSIONS, CLASSES, PATTERNS, SHARES, effort)
    for size in OTHERS:
        yield from _case(*size, (), SHARES[1:3], effort)


def _case(
    rows: int, columns: int, classes: int, patterns: Sequence[int], shares: Sequence[float], effort: Effort
) -> Iterator[Line]:
    x, labels = _data(rows, columns, classes)
    dag = _network(columns, classes)
    start = _start(dag, x, labels)
    case = f"{rows:,} rows x {columns}, {classes} classes"
    rng = np.random.default_rng(1)
    ours, theirs = _ours(dag, start, x), _theirs(x, labels, classes)
    who = {"lacunary": ours, "lacunary, one thread": _alone(ours), **theirs}
    for many in patterns:
        pattern = rng.random((many, columns)) < HOLES
        holes = np.where(pattern[rng.integers(0, many, rows)], np.nan, x)
        who[f"lacunary, 10 % holes in {many:,} patterns"] = _ours(dag, start, holes)
    for share in shares:
        holes = np.where(rng.random(x.shape) < share, np.nan, x)
        who[f"lacunary, {share:.0%} holes, a pattern for each row"] = _ours(dag, start, holes)
    yield from _measured(case, who, effort)
    if not theirs:
        yield Line(case, "scikit-learn", note="not installed")


def _data(rows: int, columns: int, classes: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows from overlapping Gaussians, and labels of which a fifth are wrong, to start from."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, rows)
    turn = rng.normal(size=(classes, columns, columns)) / np.sqrt(columns)
    middle = 0.5 * rng.normal(size=(classes, columns))
    noise = rng.normal(size=(rows, columns))
    x = np.empty_like(noise)
    for c in range(classes):
        x[truth == c] = noise[truth == c] @ turn[c] + middle[c]
    wrong = rng.random(rows) < 0.2
    return x, np.where(wrong, rng.integers(0, classes, rows), truth)


def _network(columns: int, classes: int) -> lac.Dag:
    names = [f"x{i}" for i in range(columns)]
    arcs = [f"{name} -> {' '.join(names[i + 1 :])}" for i, name in enumerate(names[:-1])]
    return lac.dag(
        "; ".join([f"H -> {' '.join(names)}", *arcs]),
        hidden={"H": classes},
        kinds=dict.fromkeys(names, "continuous"),
    )


def _start(dag: lac.Dag, x: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """The parameters that follow from the labels; (size,)."""
    seen = lac.Dag(dag.schema.reveal(), dag.parents)
    codes = np.full((len(x), len(seen.schema)), -1, dtype=np.int8)
    codes[:, 0] = labels
    table = lac.Table(seen.schema, codes, np.column_stack([np.full(len(x), np.nan), x]))
    return np.array(lac.fit(seen, table, method="ml").network.theta)


def _ours(dag: lac.Dag, start: NDArray[np.float64], x: NDArray[np.float64]) -> Iterate:
    codes = np.full((len(x), len(dag.schema)), -1, dtype=np.int8)
    prepared = prepare(dag, lac.Table(dag.schema, codes, np.column_stack([np.full(len(x), np.nan), x])))
    rule = maximize_rule(lac.Dirichlet(1.0)(dag), "ml", "softmax", None)
    points, turn = [start[None]], count()

    def iterate() -> float:
        """Go on, but round and round the first points: at the top nothing would be left to work out."""
        k = next(turn) % WARM
        swept = prepared.expect(points[k])
        after = rule.improve(swept.counts)
        if len(points) == k + 1 < WARM:
            points.append(after)
        return float(swept.log_likelihood[0])

    return iterate


def _alone(iterate: Iterate) -> Iterate:
    def alone() -> float:
        with lac.threads(1):
            return iterate()

    return alone


def _theirs(x: NDArray[np.float64], labels: NDArray[np.int64], classes: int) -> dict[str, Iterate]:
    """With one thread of BLAS, which is faster on most machines, and with all."""
    if GaussianMixture is None:
        return {}
    model = GaussianMixture(classes, reg_covar=0.0)
    model._check_parameters(x)
    model._initialize(x, np.eye(classes)[labels])

    def iterate() -> float:
        log, shares = model._e_step(x)
        model._m_step(x, shares)
        return float(log) * len(x)

    return {"scikit-learn": iterate, "scikit-learn, one thread": one_blas_thread(iterate)}


def _measured(case: str, who: dict[str, Iterate], effort: Effort) -> Iterator[Line]:
    """All by turns; the first iterations are not counted."""
    found = {name: [iterate() for _ in range(WARM)][-1] for name, iterate in who.items()}
    times = by_turns(list(who.values()), effort)
    for (name, log_likelihood), time in zip(found.items(), times, strict=True):
        yield Line(case, name, time, log_likelihood, "log-likelihood after a few iterations")
