"""Checkpoints at the prompt: written as work goes on, and once more where it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import typer

import lacunary as lac
from lacunary.cli.app import INTERRUPTED, complain

__all__ = ["Checkpoints", "resumed"]

T = TypeVar("T")


def resumed(path: str, kind: type[T], what: str) -> T:
    """Return the work that a checkpoint holds, which must be of a kind."""
    trail = lac.load(path)
    if not isinstance(trail, kind):
        raise lac.FileError(f"{path}: a {type(trail).__name__.lower()} is no {what} to go on from")
    return trail


class Checkpoints:
    """Work that is kept in a file as it goes on, if one was named."""

    def __init__(self, path: str | None) -> None:
        self.file = None if path is None else lac.Checkpoint(path)

    def watching(self, tell: Callable[[Any], object]) -> Callable[[Any], None]:
        """Return a ``watch`` that tells of the work and keeps it."""

        def watch(progress: Any) -> None:
            tell(progress)
            if self.file is not None:
                self.file(progress)

        return watch

    def now(self) -> str:
        """Write what there is; return how to go on from it, as the end of a sentence."""
        if self.file is None:
            return ""
        self.file.write()
        return f"; --resume {self.file.path} goes on" if self.file.writings else ""

    def stop(self, what: str) -> NoReturn:
        """Say what was interrupted, write what there is, and end."""
        complain(what + self.now())
        raise typer.Exit(INTERRUPTED)
