"""A hidden class with 64 binary children: the specialists' home ground."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from benchmarks import ours, plain, rivals
from benchmarks.measure import Effort, Line, Measure, iterated, multiply_adds, one_blas_thread, stepped, turns

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
    """All by turns; of those that rest on BLAS the better of one thread and all."""
    after = f"after {ITERATIONS} iterations"
    network, table = ours.hidden_root(start), ours.binary(codes)
    once = replace(effort, repeats=1)
    measures = {"lacunary": [lambda: ours.em(network, table, once).iteration]}
    measures["plain NumPy"] = _by_blas(stepped(plain.em(codes, start), effort))
    if rivals.stepmix is not None:
        run = rivals.stepmix_em(codes, start)
        measures["StepMix"] = _by_blas(iterated(run, effort))
    few = codes[:PGMPY_ROWS]
    if rivals.pgmpy is not None and not _why_without_pgmpy(codes):
        slow = rivals.pgmpy_hidden_root(few, network, ours.ROOT)
        measures["pgmpy"] = [iterated(slow, effort)]
    taken = iter(turns([measure for each in measures.values() for measure in each], effort))
    best = {who: min(next(taken) for _ in each) for who, each in measures.items()}

    # A row's shares are products over its observed children, and are added to as many counts.
    needed = np.count_nonzero(codes >= 0) * len(start[0]) / multiply_adds()
    note = f"{after}; {needed / best['lacunary']:.0%} of the limit"
    yield Line(case, "lacunary", best["lacunary"], ours.log_likelihood(network, table, ITERATIONS), note)
    yield Line(case, "the limit", needed, note="as many multiplications and additions, all threads, in cache")
    reached = next(islice(plain.em(codes, start), ITERATIONS, None))
    yield Line(case, "plain NumPy", best["plain NumPy"], reached, after)
    if rivals.stepmix is None:
        yield Line(case, "StepMix", note="not installed")
    else:  # with holes the same fixed points, another path to them
        note = after + (", its M-step passing over holes" if np.any(codes < 0) else "")
        yield Line(case, "StepMix", best["StepMix"], run(ITERATIONS), note)
    if "pgmpy" in best:
        scaled = best["pgmpy"] * len(codes) / len(few)
        yield Line(case, "pgmpy", scaled, note=f"≈ scaled from {len(few)} rows")
    else:
        yield Line(case, "pgmpy", note=_why_without_pgmpy(codes) or "not installed")


def _by_blas(measure: Measure) -> list[Measure]:
    return [measure, one_blas_thread(measure)]


def _why_without_pgmpy(codes: NDArray[np.int8]) -> str:
    if np.any(codes < 0):
        return "its EM leaves out every row with a hole"
    return "not run, too slow" if len(codes) > 10 * PGMPY_ROWS else ""
