"""The second core: the same work on one thread and on all, by turns; results are the same, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import lacunary as lac
from benchmarks.measure import Effort, Line, by_turns

__all__ = ["TITLE", "lines"]

TITLE = "One thread and all: the best of a few turns, seconds"
WIDE, STATES = 100, 3


def lines(effort: Effort) -> Iterator[Line]:
    """Measure searches, a mixture and Laplace's method."""
    for case, work in _cases(effort.repeats < 5):
        one, every = by_turns([partial(_on, 1, work), work], effort)
        yield Line(case, "one thread", one)
        yield Line(case, f"{lac.threads()} threads", every, note=f"{one / every:.2f} times as fast")


def _cases(quick: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    alarm = lac.alarm()
    few = alarm.sample(10_000, rng=3)
    yield "search, ALARM, 10,000 rows", lambda: lac.search(few)
    many = wide(100_000)
    yield f"search, {WIDE} variables, 100,000 rows", lambda: lac.search(many)
    rows = 2_000 if quick else 20_000
    holes = lac.make_holes(alarm.sample(rows, rng=3), 0.05, rng=1)
    yield f"search, ALARM, {rows:,} rows, 5 % holes", lambda: lac.search(holes)
    rng = np.random.default_rng(0)
    blobs = np.concatenate(
        [rng.normal(size=(5_000, 16)) @ rng.normal(size=(16, 16)) + 2 * c for c in range(4)]
    )
    yield (
        "fit_mixture, 4 full Gaussians, 20,000 rows x 16",
        lambda: lac.fit_mixture(blobs, components=4, structure="complete", starts=1),
    )
    table = lac.make_holes(alarm.sample(2_000, rng=3), 0.2, rng=1)
    fit = lac.fit(alarm.dag, table, rng=0, starts=1)
    yield "Laplace, ALARM, 2,000 rows, 20 % holes", lambda: lac.score(fit, table, "laplace")


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
