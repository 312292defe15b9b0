"""The runner of campaigns: pieces in order, what they found kept on disk, a page at the end."""

from __future__ import annotations

import json
import platform
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import process_time

import numpy as np

from lacunary.files.whole import write_whole

__all__ = ["Campaign", "Found", "State", "page", "run"]


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
    done: int = 0
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


def run(campaign: Campaign, folder: Path, seed: int, pieces: int, say: Callable[[str], object]) -> State:
    """Do what is still to be done of a campaign, and return its state, which is kept after every piece."""
    path = folder / f"{campaign.name}.json"
    state = State.of(path, seed)
    key = sum(map(ord, campaign.name))
    while state.done < pieces:
        began = process_time()
        try:
            found = campaign.work(np.random.default_rng([seed, key, state.done]), state.done)
            state.checks += found.checks
            for name, values in found.values.items():
                state.values.setdefault(name, []).extend(map(float, values))
        except Exception as problem:
            where = traceback.extract_tb(problem.__traceback__)[-1]
            said = " ".join(str(problem).split())[:400]
            state.failures.append(
                f"piece {state.done}: {type(problem).__name__} at {where.name}:{where.lineno}: {said}"
            )
            say(f"{campaign.name}: {state.failures[-1]}")
        state.seconds += process_time() - began
        state.done += 1
        write_whole(path, json.dumps(asdict(state)))
        if state.done % max(pieces // 10, 1) == 0:
            say(f"{campaign.name}: {state.done} of {pieces} pieces, {state.checks} checks")
    return state


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
        cells = (name, state.seed, state.done, state.checks, len(failures), f"{state.seconds:.0f}")
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
