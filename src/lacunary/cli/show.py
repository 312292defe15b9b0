"""What the commands put on the screen: answers on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from threading import Lock, Timer
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer

from lacunary.cli.standard import diverted
from lacunary.data.wording import harmless
from lacunary.kernels.compiling import listeners

if TYPE_CHECKING:
    from rich.console import RenderableType

    import lacunary as lac

__all__ = ["Waiting", "draw", "emit", "say_written", "show"]

PATIENCE = 1.0
"""Seconds that may pass before anything is said about waiting."""


def emit(data: Any) -> None:
    """Print data as JSON, and nothing else."""
    typer.echo(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2, default=str), err=diverted())


def show(thing: RenderableType) -> None:
    """Print text or a grid; colours only on a terminal."""
    if isinstance(thing, str):
        typer.echo(harmless(thing.replace("\r", "").expandtabs()), err=diverted())
        return
    from lacunary.cli.screen import Screen  # text must not wait for what this needs

    Screen(stderr=diverted(), highlight=False, emoji=False).print(thing, markup=False)


def say_written(paths: Iterable[str | None], hint: str = "") -> None:
    """Say which files were written; if none was, how to have one."""
    written = [path for path in paths if path]
    for path in () if diverted() else written:
        show(f"\nwritten: {path}")
    if hint and not written:
        show(f"\n{hint}")


def draw(what: str, thing: Any, path: str) -> None:
    """Write a figure of `lacunary.report.figures` to a file, .svg or .png."""
    from lacunary.files import write_whole
    from lacunary.report import figures

    form: Any = "png" if path.lower().endswith(".png") else "svg"
    write_whole(path, figures.picture(getattr(figures, what)(thing), form))


class Waiting:
    """Says on a terminal what is being done, once it takes longer than a moment; silent in a pipe.

    With ``watch`` of `fit`: how many starts have arrived, the iteration, and the best objective.
    """

    def __init__(self, what: str) -> None:
        self._told: dict[str, Any] = {"description": what, "total": None, "completed": 0}
        self._began = monotonic()
        self._starts = 0
        self._kernels = 0
        self._display: Any = None
        self._over = False
        self._turn = Lock()
        self._later = Timer(PATIENCE, self._appear)
        self._later.daemon = True

    def __enter__(self) -> Waiting:
        if sys.stderr.isatty():
            self._later.start()
        listeners.append(self._compiling)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        listeners.remove(self._compiling)
        self._later.cancel()
        with self._turn:
            self._over = True
            if self._display is not None:
                self._display.stop()
        if self._kernels:
            from lacunary.kernels.store import unkept

            if said := unkept():
                typer.echo(f"note: {said}", err=True)

    def _appear(self) -> None:
        """Show what is being done, from now on; who waits less never loads what draws it."""
        from lacunary.cli.screen import waiting_line

        with self._turn:
            if not self._over:
                self._display = waiting_line(self._began, **self._told)

    def _tell(self, what: str, total: float | None = None, completed: float = 0) -> None:
        """Say what is being done, now or once it is shown."""
        self._told = {"description": what, "total": total, "completed": completed}
        with self._turn:
            if self._display is not None:
                self._display.update(self._display.task_ids[0], **self._told)

    def _compiling(self, kernel: str) -> None:
        """Say that kernels are compiled, and how many so far."""
        from lacunary.kernels.store import folder

        self._kernels += 1
        often = "once per machine" if folder() else "as in every process"
        self._tell(f"compiling, {often}: kernel {self._kernels}")

    def say(self, what: str) -> None:
        """Say what is being done now."""
        self._starts = 0
        self._tell(what)

    def progress(self, what: str, part: float | None) -> None:
        """Say what is being done, and how much of it is done where that is known."""
        self._tell(what, None if part is None else 1.0, part or 0.0)

    def watch(self, progress: lac.Progress, what: str = "fitting") -> None:
        """Say how far a fit is."""
        if progress.iteration == 1:
            self._starts = 0
        self._starts = max(self._starts, progress.active)
        done = self._starts - progress.active
        best = f"{done}/{self._starts} starts, iteration {progress.iteration}, best {progress.best:.2f}"
        self._tell(f"{what}: {best}", self._starts, done)
