"""Work at the prompt that is not lost: checkpoints as it goes on, and the result in any case."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import typer

import lacunary as lac
from lacunary.cli.app import INTERRUPTED, complain

__all__ = ["CHECKPOINT", "Checkpoints", "end_as_if_interrupted", "keep_result", "resumed"]

T = TypeVar("T")

CHECKPOINT = "Write the work as it stands here every 5 seconds, for --resume; .json, .json.gz."


def end_as_if_interrupted() -> None:
    """Have a signal to end, or a terminal that is closed, do what Ctrl-C does: keep the best so far."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup has it ignored
            signal.signal(number, signal.default_int_handler)


def resumed(path: str, kind: type[T], what: str) -> T:
    """Return the work that a checkpoint holds, which must be of a kind."""
    trail = lac.load(path)
    if not isinstance(trail, kind):
        raise lac.FileError(f"{path}: a {type(trail).__name__.lower()} is no {what} to go on from")
    return trail


def keep_result(thing: Any, out: str | None, in_json: Any = None) -> str | None:
    """Write a result; where that fails, elsewhere: hours of work must not be lost to a full disk.

    ``in_json`` is what the native format keeps, if that is more.
    """
    if out is None:
        return None
    in_json = thing if in_json is None else in_json
    try:
        lac.save(in_json if ".json" in map(str.lower, Path(out).suffixes) else thing, out)
        return out
    except lac.FileError as problem:
        rescue = _rescued(in_json)
        if rescue is None:
            raise problem from None
        complain(f"the result was kept in {rescue}")
        raise


def _rescued(thing: Any) -> str | None:
    """Write a result among temporary files; return where, or None where there is no room either."""
    try:
        folder = tempfile.mkdtemp(prefix="lacunary-")
    except OSError:
        return None
    path = os.path.join(folder, "result.json")
    try:
        lac.save(thing, path)
    except lac.FileError:
        os.rmdir(folder)
        return None
    return path


class Checkpoints:
    """Work that is kept in a file as it goes on, if one was named; a place that cannot be is refused."""

    def __init__(self, path: str | None) -> None:
        self.file = None if path is None else lac.Checkpoint(path)

    def watching(self, tell: Callable[..., object]) -> Callable[..., None]:
        """Return a ``watch`` that tells of the work and keeps it."""

        def watch(*progress: Any) -> None:
            tell(*progress)
            if self.file is not None:
                self.file(*progress)

        return watch

    def now(self) -> str:
        """Write what there is; return how to go on from it, as the end of a sentence."""
        if self.file is None:
            return ""
        self.file.write()
        if self.file.problem is not None:
            return f"; the checkpoint could not be written: {self.file.problem}"
        return f"; --resume {self.file.path} goes on" if self.file.writings else ""

    def stop(self, what: str) -> NoReturn:
        """Say what was interrupted, write what there is, and end."""
        complain(what + self.now())
        raise typer.Exit(INTERRUPTED)
