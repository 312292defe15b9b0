"""Searches that survive the machine they run on, and go on as if they had never stopped."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from math import isfinite
from time import monotonic
from typing import Any

from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record
from lacunary.files.store import save
from lacunary.model.dag import Dag
from lacunary.structure.result import Step
from lacunary.structure.walk import SearchProgress, Trail

__all__ = ["SearchCheckpoint"]


@dataclass
class SearchCheckpoint:
    """A ``watch`` for `search` that writes the search as it stands to a file, every so many seconds.

    The file is whole at every moment, so that a search that is killed goes on with
    ``search(table, ..., start=load(path))`` and ends where it would have ended.

    Attributes
    ----------
    path
        Where to write; native JSON, ``.json`` or ``.json.gz``.
    seconds
        How long to wait between two writings.
    writings
        How often it has written.
    """

    path: str | os.PathLike[str]
    seconds: float = 30.0
    writings: int = field(default=0, init=False)
    _last: float = field(default_factory=monotonic, init=False, repr=False)

    def __call__(self, progress: SearchProgress) -> None:
        """Write, if it is time."""
        if monotonic() - self._last < self.seconds:
            return
        save(progress.trail(), self.path)
        self.writings += 1
        self._last = monotonic()


def _encode_trail(trail: Trail) -> dict[str, Any]:
    return {
        "method": trail.method,
        "dag": encode(trail.dag),
        "best": encode(trail.best),
        # One text: the states of random generators are whole numbers longer than many readers hold.
        "memory": json.dumps(dict(trail.memory), allow_nan=False),
        "path": [[s.action, s.tail, s.head, s.gain, s.score] for s in trail.path],
    }


def _decode_trail(record: Record) -> Trail:
    return Trail(
        method=record.text("method"),
        dag=decode(record.record("dag"), Dag),
        best=decode(record.record("best"), Dag),
        memory=_memory(record),
        path=tuple(_step(record, item) for item in record.list("path")),
    )


def _memory(record: Record) -> dict[str, Any]:
    try:
        memory = json.loads(record.text("memory"))
    except (json.JSONDecodeError, RecursionError):
        raise record.error("memory", "expected a JSON object, as a text") from None
    if type(memory) is not dict:
        raise record.error("memory", "expected a JSON object, as a text")
    return memory


def _step(record: Record, item: Any) -> Step:
    good = (
        type(item) is list
        and len(item) == 5
        and all(type(text) is str for text in item[:3])
        and all(type(number) in (int, float) and isfinite(number) for number in item[3:])
    )
    if not good:
        raise record.error("path", "expected lists of action, tail, head, gain and score")
    action, tail, head, gain, score = item
    return Step(action, tail, head, float(gain), float(score))


register("trail", Trail, _encode_trail, _decode_trail)
