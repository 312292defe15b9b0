"""The second core: the same work on one thread and on all, by turns; results are the same, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.measure import Effort, Line, by_turns

__all__ = ["TITLE", "lines"]

TITLE = "One thread and all: the best of a few turns, seconds"
WIDE, STATES = 100, 3


def lines(effort: Effort) -> Iterator[Line]:
    """Measure searches, mixtures and Laplace's method."""
    for case, work in (*_searches(effort.repeats < 5), *_mixtures(), *_curvatures()):
        one, every = by_turns([partial(_on, 1, work), work], effort)
        yield Line(case, "one thread", one)
        yield Line(case, f"{lac.threads()} threads", every, note=f"{one / every:.2f} times as fast")


def _searches(quick: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    alarm = lac.alarm()
    for rows in (10_000, 200_000):
        few = alarm.sample(rows, rng=3)
        yield f"search, ALARM, {rows:,} rows", partial(lac.search, few)
    yield f"search, {WIDE} variables, 100,000 rows", partial(lac.search, wide(100_000))
    for rows, part in ((500, 0.05), (2_000, 0.05), (2_000, 0.2), *(() if quick else [(20_000, 0.05)])):
        holes = lac.make_holes(alarm.sample(rows, rng=3), part, rng=1)
        yield f"search, ALARM, {rows:,} rows, {part:.0%} holes", partial(lac.search, holes)


def _mixtures() -> Iterator[tuple[str, Callable[[], object]]]:
    many = blobs(5_000, 16, 4)
    for kind, structure in (("full", "complete"), ("diagonal", "empty")):
        yield (
            f"fit_mixture, 4 {kind} Gaussians, 20,000 rows x 16",
            partial(lac.fit_mixture, many, components=4, structure=structure, starts=1),
        )
    few = blobs(1_000, 8, 3)
    numbers = partial(lac.fit_mixture, few, components=[1, 2, 3], structure="complete")
    yield "fit_mixture, 1 to 3 full Gaussians, 3,000 rows x 8", numbers
    holes = blobs(2_000, 10, 3)
    holes[np.random.default_rng(3).random(holes.shape) < 0.1] = np.nan
    yield (
        "fit_mixture, 3 full Gaussians, 6,000 rows x 10, 10 % holes",
        partial(lac.fit_mixture, holes, components=3, structure="complete", starts=2),
    )
    states = classes(5_000, 12)
    yield (
        "fit_mixture, 1 to 4 components, 5,000 rows of 12 discrete columns",
        partial(lac.fit_mixture, states, components=[1, 2, 3, 4]),
    )
    drawn = partial(lac.fit_mixture, blobs(100, 4, 4), components=4, structure="complete", choose="ais")
    yield "fit_mixture by annealing, 4 full Gaussians, 400 rows x 4", drawn


def _curvatures() -> Iterator[tuple[str, Callable[[], object]]]:
    alarm = lac.alarm()
    for rows in (500, 2_000):
        table = lac.make_holes(alarm.sample(rows, rng=3), 0.2, rng=1)
        fit = lac.fit(alarm.dag, table, rng=0, starts=1)
        yield f"Laplace, ALARM, {rows:,} rows, 20 % holes", partial(lac.score, fit, table, "laplace")


def blobs(rows: int, width: int, groups: int) -> NDArray[np.float64]:
    """Return so many rows of each of several normal distributions with covariances of their own."""
    rng = np.random.default_rng(0)
    each = [rng.normal(size=(rows, width)) @ rng.normal(size=(width, width)) for _ in range(groups)]
    return np.concatenate([rows + 2 * c for c, rows in enumerate(each)])


def classes(rows: int, width: int) -> lac.Table:
    """Return rows of four hidden classes, in which each column leans to another of three states."""
    rng = np.random.default_rng(4)
    of = rng.integers(4, size=rows)
    drawn = [np.minimum(2, (rng.random(rows) * (1 + (of + i) % 4)).astype(int)) for i in range(width)]
    return lac.read({f"x{i}": np.array(list("abc"))[codes] for i, codes in enumerate(drawn)})


def wide(rows: int) -> lac.Table:
    """Return rows of a random network over `WIDE` variables, each with two parents at most."""
    rng = np.random.default_rng(0)
    codes = np.zeros((rows, WIDE), dtype=np.int64)
    for i in range(WIDE):
        parents = rng.permutation(i)[: rng.integers(3)]
        which = codes[:, parents] @ np.arange(1, len(parents) + 1)
        chances = rng.dirichlet(np.full(STATES, 0.5), size=int(which.max()) + 1)
        codes[:, i] = (rng.random((rows, 1)) > chances.cumsum(axis=1)[which, :-1]).sum(axis=1)
    return lac.read({f"x{i}": codes[:, i].astype(str) for i in range(WIDE)})


def _on(threads: int, work: Callable[[], object]) -> None:
    with lac.threads(threads):
        work()
