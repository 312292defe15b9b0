"""Units of work, and carrying them out: each record is written whole when it is done, and kept."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import getitem
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

from lacunary import FileError, write_whole

__all__ = [
    "Record",
    "Results",
    "Unit",
    "blocks",
    "carry_out",
    "collect",
    "kept_under",
    "seed_of",
    "sweep",
    "text_of",
]

Arguments = Mapping[str, Any]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Unit:
    """A call of a top-level function with JSON arguments, which returns JSON.

    Attributes
    ----------
    function
        What to call.
    arguments
        With what; all that the result depends on, seeds included.
    """

    function: Callable[..., Any]
    arguments: Arguments = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What is being done, for people."""
        return f"{self.function.__name__} " + " ".join(f"{k}={v}" for k, v in self.arguments.items())

    def key(self, edition: str) -> str:
        """Return the name of its record: the same as long as all it depends on is the same."""
        place = getattr(self.function, "place", self.function.__module__)
        what = [edition, f"{place}.{self.function.__name__}", self.arguments]
        return f"{self.function.__name__}-{_digest(what)[:20]}"


def kept_under(place: str) -> Callable[[Function], Function]:
    """Return a decorator for a unit's function that has moved: its records stay those of the old module."""

    def mark(function: Function) -> Function:
        vars(function)["place"] = f"lacunary.papers.{place}"
        return function

    return mark


@dataclass(frozen=True)
class Record:
    """What a unit gave, and how long the processor took, so that other work on the machine does not count."""

    function: str
    arguments: Arguments
    value: Any
    seconds: float


@dataclass(frozen=True)
class Results:
    """The records of all units that are done, in the units' order."""

    records: tuple[Record, ...]

    def of(self, function: Callable[..., Any], *left: str, **wanted: Any) -> list[Record]:
        """Return the records of a function with these arguments, those named being left at their defaults."""
        return [
            record
            for record in self.records
            if record.function == function.__name__
            and wanted.items() <= record.arguments.items()
            and not set(left) & set(record.arguments)
        ]

    def lines(self, function: Callable[..., Any], *names: str, **wanted: Any) -> list[Any]:
        """Return what blocks of experiments gave, put together: their lists, or those under these names."""
        values = [record.value for record in self.of(function, **wanted)]
        return [line for value in values for line in reduce(getitem, names, value)]

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


def sweep(
    function: Callable[..., Any], same: Arguments | None = None, **axes: Iterable[Any]
) -> Iterator[Unit]:
    """Return a unit for every combination of the arguments' values; the last argument's change fastest."""
    for values in product(*axes.values()):
        yield Unit(function, {**(same or {}), **dict(zip(axes, values, strict=True))})


def blocks(
    function: Callable[..., Any], same: Arguments, count: int, last: int, first: int = 0
) -> Iterator[Unit]:
    """Return units that do numbered experiments, so many at a time, from the first to before the last."""
    for begin in range(first, last, count):
        yield Unit(function, {**same, "first": begin, "count": count})


def seed_of(*parts: str | int | float) -> int:
    """Return a seed that depends on all parts and on nothing else."""
    return int(_digest(list(parts))[:12], 16)


def _digest(what: Iterable[Any]) -> str:
    text = json.dumps(what, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


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
        with _interrupts() as heard:
            for unit in units:
                yield _do(unit, folder, edition, heard)
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


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Note interruptions: a sampler that hears one returns what it has, which is not what was asked for."""
    heard: list[int] = []
    ways = {sign: signal.getsignal(sign) for sign in (signal.SIGINT, signal.SIGTERM)}
    main = threading.current_thread() is threading.main_thread()  # which alone may say who hears signals
    told = {sign: way for sign, way in ways.items() if main and callable(way)}

    def note(sign: int, frame: Any) -> None:
        heard.append(sign)
        told[signal.Signals(sign)](sign, frame)

    try:
        for sign in told:
            signal.signal(sign, note)
        yield heard
    finally:
        for sign, way in told.items():
            signal.signal(sign, way)


def _do(unit: Unit, folder: Path, edition: str, heard: Sequence[int] = ()) -> str:
    began = process_time()
    value = unit.function(**unit.arguments)
    if heard:
        raise KeyboardInterrupt
    record = {
        "function": unit.function.__name__,
        "arguments": dict(unit.arguments),
        "value": value,
        "seconds": process_time() - began,
    }
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    write_whole(_path(unit, folder, edition), text + "\n")
    return unit.name


def text_of(unit: Unit, folder: Path, edition: str) -> str | None:
    """Return the text of a unit's record; None if it is not done."""
    path = _path(unit, folder, edition)
    return None if _read(path) is None else path.read_text(encoding="utf-8")


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
