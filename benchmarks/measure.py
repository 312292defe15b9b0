"""What a measurement is, and how time is taken."""

from __future__ import annotations

import multiprocessing
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any, TypeVar

__all__ = [
    "Effort",
    "Line",
    "Measure",
    "by_turns",
    "called",
    "iterated",
    "machine",
    "multiply_adds",
    "one_blas_thread",
    "one_core",
    "seconds",
    "side_by_side",
    "stepped",
    "turns",
]

T = TypeVar("T")

Measure = Callable[[], float]
"""Seconds, found anew at every call."""

PAUSE = 0.06
"""Seconds after which threads of BLAS have gone to sleep."""

PACKAGES = ("lacunary", "numpy", "numba", "pyagrum", "pgmpy", "stepmix")


@dataclass(frozen=True)
class Line:
    """One measurement. The first line of a case is what the others are compared with.

    ``seconds`` is None where a rival is not installed or cannot do the case; ``note`` then says so.
    """

    case: str
    who: str
    seconds: float | None = None
    log_likelihood: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Effort:
    """How long to take.

    Attributes
    ----------
    repeats
        Measurements of which the median is taken.
    span
        Seconds one measurement should last, so that the clock's and the scheduler's noise is small.
    patience
        Seconds after which a measurement is not repeated any more.
    rival_rows
        Rows on which a rival whose time is linear in rows is measured; more are scaled and marked ≈.
    """

    repeats: int = 5
    span: float = 0.3
    patience: float = 20.0
    rival_rows: int = 2_000

    @classmethod
    def quick(cls) -> Effort:
        """Return the effort for a first look."""
        return cls(repeats=3, span=0.1, patience=3.0, rival_rows=200)


def seconds(call: Callable[[], object], effort: Effort) -> float:
    """Return the median wall time of a call, after one call that is not counted."""
    return turns([called(call)], effort)[0]


def by_turns(calls: Sequence[Callable[[], object]], effort: Effort) -> list[float]:
    """Return the least wall time of each of several calls, which take turns after one that is not counted."""
    return turns([called(call) for call in calls], effort, min)


def turns(
    measures: Sequence[Measure], effort: Effort, pick: Callable[[list[float]], float] = median
) -> list[float]:
    """Return what each of several measures finds, the median if not told otherwise; they take turns.

    A program that slows the machine down for a while then slows all of them. The first turn is not counted
    where there is another; who has used up all patience takes no more. Before each there is a pause in which
    threads of BLAS, which wait for more by running, go to sleep.
    """
    times: list[list[float]] = [[] for _ in measures]
    spent = [0.0] * len(measures)
    while due := [
        i
        for i, mine in enumerate(times)
        if not mine
        or (
            spent[i] < effort.patience
            and (len(mine) <= effort.repeats or sum(spent) < effort.repeats * effort.span)
        )
    ]:
        for i in due:
            sleep(PAUSE)
            began = perf_counter()
            times[i].append(measures[i]())
            spent[i] += perf_counter() - began
    return [pick(mine[1:] or mine) for mine in times]


def called(call: Callable[[], object]) -> Measure:
    """Return the measure of one call's wall time."""
    return partial(_time, call)


def stepped(steps: Iterator[object], effort: Effort) -> Measure:
    """Return the measure of the median wall time of a step; the first, which sets up, is left out."""
    next(steps)

    def measure() -> float:
        times: list[float] = []
        while len(times) < 2 or (sum(times) < effort.span and len(times) < 500):
            times.append(_time(lambda: next(steps)))
        return median(times)

    return measure


def iterated(run: Callable[[int], object], effort: Effort) -> Measure:
    """Return the measure of an iteration of something that can only be run from start to end.

    It takes the least time of one iteration from the time of 1 + n, with n so large that the difference is
    well above the clock's noise and the set-up's.
    """
    singles = [_time(run, 1), _time(run, 1)]
    while len(singles) < 4 and singles[-1] < effort.patience / 4:
        singles.append(_time(run, 1))
    once, more, longer = min(singles), 2, _time(run, 3)
    while longer - once < max(effort.span, once) and longer < effort.patience / 4 and more < 256:
        more *= 2
        longer = _time(run, 1 + more)
    return lambda: (_time(run, 1 + more) - once) / more


def multiply_adds() -> float:
    """Return how many multiplications with an addition each all threads do in a second, arrays in cache."""
    import lacunary as lac

    return _of_one_thread() * lac.threads()


@cache
def _of_one_thread() -> float:
    import numba
    import numpy as np

    @numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
    def loop(x: Any, y: Any, times: int) -> None:
        for _ in range(times):
            for i in range(len(x)):
                y[i] = y[i] * 0.5 + x[i]

    # Both begin where a line of the cache does, or vectors lie across two and half of the speed is lost.
    room, size, times = np.ones(4096), 1024, 20_000
    first = -room.ctypes.data % 64 // room.itemsize
    x, y = room[first : first + size], room[first + 1280 : first + 1280 + size]
    loop(x, y, 1)
    best = float("inf")
    for _ in range(20):  # processor time: a limit that waited for other programs would flatter
        began = process_time()
        loop(x, y, times)
        best = min(best, process_time() - began)
    return size * times / best


def one_blas_thread(call: Callable[[], T]) -> Callable[[], T]:
    """Return a call during which BLAS keeps to one thread, if that can be asked for.

    On small matrices BLAS can lose more by waiting for its threads than they gain.
    """
    try:
        control = import_module("threadpoolctl").ThreadpoolController()
    except ImportError:
        return call

    def limited() -> T:
        with control.limit(limits=1):
            return call()

    return limited


@contextmanager
def one_core() -> Iterator[None]:
    """Keep what runs here, and what it would start, on one core."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def side_by_side(measure: Callable[[], float]) -> float | None:
    """Return what all cores achieve together: each measures in a process of its own, at the same time.

    The mean time over the number of cores: the best that threads could reach here, as cores share memory,
    caches and, where one core is shown as two, arithmetic. None where processes cannot be kept on a core.
    """
    if not hasattr(os, "sched_setaffinity") or "fork" not in multiprocessing.get_all_start_methods():
        return None
    context, cores = multiprocessing.get_context("fork"), sorted(os.sched_getaffinity(0))
    together, found = context.Barrier(len(cores)), context.SimpleQueue()

    def work(core: int) -> None:
        os.sched_setaffinity(0, {core})
        measure()  # what is slow the first time
        together.wait()
        found.put(measure())

    workers = [context.Process(target=work, args=(core,)) for core in cores]
    for worker in workers:
        worker.start()
    times = [found.get() for _ in workers]
    for worker in workers:
        worker.join()
    return float(sum(times)) / len(times) / len(cores)


def machine() -> list[str]:
    """Return the facts without which a time means nothing."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = [f"{_processor()}, {cores} cores", f"{platform.system()}, Python {platform.python_version()}"]
    return [*facts, ", ".join(f"{name} {_version(name)}" for name in PACKAGES)]


def _time(call: Callable[..., object], *arguments: int) -> float:
    began = perf_counter()
    call(*arguments)
    return perf_counter() - began


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "?")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
