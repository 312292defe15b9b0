"""The runner of campaigns: pieces in processes of their own, what they find on disk, a page at the end."""

from __future__ import annotations

import json
import platform
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from lacunary.files.whole import write_whole

__all__ = ["Campaign", "Found", "State", "page", "run"]

FORK = get_context("fork")
"""Pieces are done by copies of this process, which does nothing itself: what ends one ends no more."""


@dataclass
class Found:
    """What a piece found: how many things were checked, and numbers that are judged over all pieces."""

    checks: int
    values: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Campaign:
    """One kind of campaign.

    Attributes
    ----------
    name, what
        How it is called, and what it does, in a sentence.
    pieces
        How many pieces the default run has, and the long one.
    work
        Does a piece, given a generator that depends on the seed and the piece's number alone, and the number.
        Whatever it raises is a failure.
    judge
        Tells what is wrong with the numbers of all pieces, a sentence each; and what to say of them.
    """

    name: str
    what: str
    pieces: tuple[int, int]
    work: Callable[[np.random.Generator, int], Found]
    judge: Callable[[Mapping[str, Sequence[float]]], tuple[list[str], list[str]]] = lambda values: ([], [])


@dataclass
class State:
    """How far a campaign has come."""

    seed: int
    done: list[int] = field(default_factory=list)
    checks: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path, seed: int) -> State:
        """Return the state that was kept, or a new one where there is none of this seed."""
        try:
            state = cls(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return cls(seed)
        return state if state.seed == seed else cls(seed)

    def add(self, piece: int, told: Found | str, seconds: float) -> None:
        """Take in what a piece found, or why it failed."""
        self.done.append(piece)
        self.seconds += seconds
        if isinstance(told, str):
            self.failures.append(f"piece {piece}: {told}")
            return
        self.checks += told.checks
        for name, values in told.values.items():
            self.values.setdefault(name, []).extend(map(float, values))


def run(
    campaign: Campaign,
    folder: Path,
    seed: int,
    pieces: int,
    say: Callable[[str], object],
    processes: int = 1,
) -> State:
    """Do what is still to be done of a campaign, and return its state, which is kept after every piece."""
    path = folder / f"{campaign.name}.json"
    state = State.of(path, seed)
    left = sorted({*range(pieces)} - {*state.done})
    for piece, told, seconds in _found(campaign, seed, left, processes):
        state.add(piece, told, seconds)
        write_whole(path, json.dumps(asdict(state)))
        if isinstance(told, str):
            say(f"{campaign.name}: {state.failures[-1]}")
        if len(state.done) % max(pieces // 10, 1) == 0:
            say(f"{campaign.name}: {len(state.done)} of {pieces} pieces, {state.checks} checks")
    return state


@dataclass
class Worker:
    """A process that does pieces, and the piece it is at."""

    process: Any
    link: Connection
    piece: int

    @classmethod
    def start(cls, campaign: Campaign, seed: int, piece: int) -> Worker:
        """Return a copy of this process that is at a piece."""
        here, there = FORK.Pipe()
        process = FORK.Process(target=_worker, args=(campaign, seed, there))
        process.start()
        there.close()
        worker = cls(process, here, piece)
        worker.take(piece)
        return worker

    def take(self, piece: int) -> None:
        """Have the process do another piece."""
        self.piece = piece
        self.link.send(piece)

    def told(self) -> tuple[Found | str, float] | None:
        """Return what it tells of its piece, and how long that took; nothing where the piece ended it."""
        try:
            found: tuple[Found | str, float] = self.link.recv()
        except EOFError:
            self.process.join()
            return None
        return found

    def end(self) -> str:
        """End the process; return how it ended."""
        self.process.kill()
        self.process.join()
        self.link.close()
        return f"the process ended, exit code {self.process.exitcode}"


def _found(
    campaign: Campaign, seed: int, pieces: Sequence[int], processes: int
) -> Iterator[tuple[int, Found | str, float]]:
    """Yield what every piece found, in the order of their ends; one that ends its process is a failure."""
    waiting = iter(pieces)
    working = [Worker.start(campaign, seed, piece) for piece in islice(waiting, processes)]
    try:
        while working:
            ready = wait([worker.link for worker in working])
            worker = next(worker for worker in working if worker.link in ready)
            piece, told, following = worker.piece, worker.told(), next(waiting, None)
            if told and following is not None:
                worker.take(following)
            else:
                working.remove(worker)
                ended = worker.end()
                told = told or (ended, 0.0)
                if following is not None:
                    working.append(Worker.start(campaign, seed, following))
            yield piece, *told
    finally:
        for worker in working:
            worker.end()


def _worker(campaign: Campaign, seed: int, link: Connection) -> None:
    """Do the pieces that are asked for, until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with suppress(EOFError):
        while True:
            link.send(_piece(campaign, seed, link.recv()))


def _piece(campaign: Campaign, seed: int, piece: int) -> tuple[Found | str, float]:
    """Return what a piece found, or how it failed, and the seconds of the processor that it took."""
    began, key = process_time(), sum(map(ord, campaign.name))
    told: Found | str
    try:
        told = campaign.work(np.random.default_rng([seed, key, piece]), piece)
    except Exception as problem:
        where = traceback.extract_tb(problem.__traceback__)[-1]
        said = " ".join(str(problem).split())[:4000]
        told = f"{type(problem).__name__} at {where.name}:{where.lineno}: {said}"
    return told, process_time() - began


def page(ran: Mapping[str, tuple[Campaign, State]], long: bool) -> str:
    """Return what was found, as a page of Markdown."""
    lines = [
        "# Campaigns",
        "",
        f"`make campaign`, {'the long run' if long else 'the default run'}; Python "
        f"{platform.python_version()}, numpy {np.__version__}, {sys.platform}. Seconds are CPU seconds, "
        "without those of processes that it starts.",
        "",
        "| campaign | seed | pieces | checks | failures | seconds |",
        "|---|---|---|---|---|---|",
    ]
    notes: list[str] = []
    for name, (campaign, state) in ran.items():
        wrong, said = campaign.judge(state.values)
        failures = [*state.failures, *wrong]
        cells = (name, state.seed, len(state.done), state.checks, len(failures), f"{state.seconds:.0f}")
        lines.append(f"| {' | '.join(map(str, cells))} |")
        notes += [
            "",
            f"## {name}",
            "",
            campaign.what,
            *([""] if said else []),
            *(f"- {line}" for line in said),
        ]
        notes += ["", "Failures:", "", *(f"- {line}" for line in failures)] if failures else []
    return "\n".join([*lines, *notes, ""])
