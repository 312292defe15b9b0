"""A hidden class with 64 binary children: the specialists' home ground."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks import ours, plain, rivals
from benchmarks.measure import Effort, Line, best_threads, multiply_adds, per_iteration, per_step

__all__ = ["TITLE", "lines"]

TITLE = "EM for a hidden root with 64 binary children, seconds per iteration"
CHILDREN = 64
SIZES = ((32, 400), (8, 100_000))
ITERATIONS = 10
PGMPY_ROWS = 40


def lines(effort: Effort) -> Iterator[Line]:
    """Measure both sizes, without holes and with 30 %."""
    for classes, rows in SIZES:
        for holes in (0.0, 0.3):
            codes, start = problem(classes, rows, holes)
            yield from _case(f"{classes} classes, {rows:,} rows, {holes:.0%} holes", codes, start, effort)


def problem(classes: int, rows: int, holes: float) -> tuple[NDArray[np.int8], plain.HiddenRoot]:
    """Return rows from a random model of this kind, and another random model to start from."""
    rng = np.random.default_rng(0)
    weights, ones = rng.dirichlet(np.ones(classes)), rng.uniform(0.05, 0.95, (classes, CHILDREN))
    group = rng.choice(classes, rows, p=weights)
    codes = (rng.random((rows, CHILDREN)) < ones[group]).astype(np.int8)
    codes[rng.random(codes.shape) < holes] = -1
    return codes, (rng.dirichlet(np.full(classes, 5.0)), rng.uniform(0.25, 0.75, (classes, CHILDREN)))


def _case(case: str, codes: NDArray[np.int8], start: plain.HiddenRoot, effort: Effort) -> Iterator[Line]:
    note = f"after {ITERATIONS} iterations"
    network, table = ours.hidden_root(start), ours.binary(codes)
    found = ours.log_likelihood(network, table, ITERATIONS)
    iteration = ours.em(network, table, effort).iteration
    # A row's shares are products over its observed children, and are added to as many counts.
    needed = np.count_nonzero(codes >= 0) * len(start[0]) / multiply_adds()
    yield Line(case, "lacunary", iteration, found, f"{note}; {needed / iteration:.0%} of the limit")
    yield Line(case, "the limit", needed, note="as many multiplications and additions, all threads, in cache")

    by_hand = best_threads(lambda: per_step(plain.em(codes, start), effort))
    reached = next(islice(plain.em(codes, start), ITERATIONS, None))
    yield Line(case, "plain NumPy", by_hand, reached, note)
    yield _stepmix(case, codes, start, effort)
    yield _pgmpy(case, codes, start, effort)


def _stepmix(case: str, codes: NDArray[np.int8], start: plain.HiddenRoot, effort: Effort) -> Line:
    if rivals.stepmix is None:
        return Line(case, "StepMix", note="not installed")
    run = rivals.stepmix_em(codes, start)
    note = f"after {ITERATIONS} iterations"
    if np.any(codes < 0):  # same fixed points, another path to them
        note += ", its M-step passing over holes"
    seconds = best_threads(lambda: per_iteration(run, effort))
    return Line(case, "StepMix", seconds, run(ITERATIONS), note)


def _pgmpy(case: str, codes: NDArray[np.int8], start: plain.HiddenRoot, effort: Effort) -> Line:
    if rivals.pgmpy is None:
        return Line(case, "pgmpy", note="not installed")
    if np.any(codes < 0):
        return Line(case, "pgmpy", note="its EM leaves out every row with a hole")
    if len(codes) > 10 * PGMPY_ROWS:
        return Line(case, "pgmpy", note="not run, too slow")
    few = codes[:PGMPY_ROWS]
    run = rivals.pgmpy_hidden_root(few, ours.hidden_root(start), ours.ROOT)
    scaled = per_iteration(run, effort) * len(codes) / len(few)
    return Line(case, "pgmpy", scaled, note=f"≈ scaled from {len(few)} rows")
