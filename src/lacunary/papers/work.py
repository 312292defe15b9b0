"""Carrying units out: on one process or several, each record written whole when it is done."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from time import perf_counter
from typing import Any

from lacunary import FileError, write_whole
from lacunary.papers.unit import Record, Results, Unit

__all__ = ["carry_out", "collect"]

Watch = Callable[[int, int, str], object]


def carry_out(
    units: Sequence[Unit], folder: Path, *, edition: str = "1", jobs: int = 1, watch: Watch | None = None
) -> Results:
    """Do all units that have no record in the folder yet, and return the records of all.

    Parameters
    ----------
    units
        The work, in the order in which it is begun.
    folder
        Where records are kept; made if need be.
    edition
        What the records depend on beside the units' own arguments.
    jobs
        On how many processes.
    watch
        Called with how many units are done, how many there are, and which was done last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    open_ones = [unit for unit in units if _read(_path(unit, folder, edition)) is None]
    done = len(units) - len(open_ones)
    tell = watch or (lambda *_: None)
    tell(done, len(units), "")
    for name in _each(open_ones, folder, edition, jobs):
        done += 1
        tell(done, len(units), name)
    return collect(units, folder, edition=edition)


def collect(units: Iterable[Unit], folder: Path, *, edition: str = "1") -> Results:
    """Return the records of those units that are done."""
    found = (_read(_path(unit, folder, edition)) for unit in units)
    return Results(tuple(record for record in found if record is not None))


def _each(units: Sequence[Unit], folder: Path, edition: str, jobs: int) -> Iterable[str]:
    """Do the units; give the name of each when it is done."""
    if jobs < 2 or len(units) < 2:
        for unit in units:
            yield _do(unit, folder, edition)
        return
    context = multiprocessing.get_context("spawn")
    turn = context.Value("i", 0)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_settle, initargs=(turn,))
    try:
        waiting: list[Future[str]] = [pool.submit(_do, unit, folder, edition) for unit in units]
        for future in as_completed(waiting):
            yield future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    pool.shutdown()


def _settle(turn: Any) -> None:
    """Give each process a core of its own: threads of several would only wait for one another."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        with turn.get_lock():
            mine = cores[turn.value % len(cores)]
            turn.value += 1
        os.sched_setaffinity(0, {mine})


def _do(unit: Unit, folder: Path, edition: str) -> str:
    began = perf_counter()
    value = unit.function(**unit.arguments)
    record = {
        "function": unit.function.__name__,
        "arguments": dict(unit.arguments),
        "value": value,
        "seconds": perf_counter() - began,
    }
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_whole(_path(unit, folder, edition), text + "\n")
    return unit.name


def _path(unit: Unit, folder: Path, edition: str) -> Path:
    return folder / f"{unit.key(edition)}.json"


def _read(path: Path) -> Record | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return Record(kept["function"], kept["arguments"], kept["value"], kept["seconds"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError) as problem:
        raise FileError(f"cannot read {path}: {problem}; remove the file, and it is made again") from None
