"""Units of work: small enough to be lost without grief, kept once they are done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

__all__ = ["Record", "Results", "Unit", "blocks", "seed_of", "sweep"]

Arguments = Mapping[str, Any]


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
        what = [edition, f"{self.function.__module__}.{self.function.__qualname__}", self.arguments]
        return f"{self.function.__name__}-{_digest(what)[:20]}"


@dataclass(frozen=True)
class Record:
    """What a unit gave, and how long it took."""

    function: str
    arguments: Arguments
    value: Any
    seconds: float


@dataclass(frozen=True)
class Results:
    """The records of all units that are done, in the units' order."""

    records: tuple[Record, ...]

    def of(self, function: Callable[..., Any], **wanted: Any) -> list[Record]:
        """Return the records of a function, of those arguments that are given."""
        name = function.__name__
        return [
            record
            for record in self.records
            if record.function == name and all(record.arguments.get(k) == v for k, v in wanted.items())
        ]

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
