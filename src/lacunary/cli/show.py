"""What the commands put on the screen: answers on stdout, progress on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from lacunary.cli.standard import diverted
from lacunary.data.wording import harmless
from lacunary.kernels.compiling import listeners

if TYPE_CHECKING:
    import lacunary as lac

__all__ = ["Waiting", "draw", "emit", "say_written", "show"]

PATIENCE = 1.0
"""Seconds that may pass before anything is said about waiting."""


def emit(data: Any) -> None:
    """Print data as JSON, and nothing else."""
    typer.echo(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2, default=str), err=diverted())


def show(thing: RenderableType) -> None:
    """Print text or a grid; colours only on a terminal."""
    screen = Screen(stderr=diverted(), highlight=False, emoji=False, soft_wrap=isinstance(thing, str))
    screen.print(thing, markup=False)


class Screen(Console):
    """A console on which names and states command nothing: control characters are shown as signs."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return what is printed, piece by piece."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(harmless(piece.text), piece.style)


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


class _Late(Progress):
    """A progress display that keeps out of sight until waiting gets long."""

    def __init__(self, *columns: Any, **settings: Any) -> None:
        self.began = monotonic()
        super().__init__(*columns, **settings)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the lines to show: none, at first."""
        return super().get_renderables() if monotonic() - self.began > PATIENCE else ()


class Waiting:
    """Says on a terminal what is being done, once it takes longer than a moment; silent in a pipe.

    With ``watch`` of `fit`: how many starts have arrived, the iteration, and the best objective.
    """

    def __init__(self, what: str) -> None:
        console = Console(stderr=True)
        self._display = _Late(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._display.add_task(what, total=None)
        self._starts = 0
        self._kernels = 0

    def __enter__(self) -> Waiting:
        self._display.start()
        listeners.append(self._compiling)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        listeners.remove(self._compiling)
        if not self._display.disable:  # older releases of Rich end a line that was never begun
            self._display.stop()

    def _compiling(self, kernel: str) -> None:
        """Say that kernels are compiled, and how many so far."""
        self._kernels += 1
        self._display.update(self._task, description=f"compiling, once per machine: kernel {self._kernels}")

    def say(self, what: str) -> None:
        """Say what is being done now."""
        self._starts = 0
        self._display.update(self._task, description=what, total=None, completed=0)

    def progress(self, what: str, part: float | None) -> None:
        """Say what is being done, and how much of it is done where that is known."""
        self._display.update(
            self._task, description=what, total=None if part is None else 1.0, completed=part or 0.0
        )

    def watch(self, progress: lac.Progress, what: str = "fitting") -> None:
        """Say how far a fit is."""
        if progress.iteration == 1:
            self._starts = 0
        self._starts = max(self._starts, progress.active)
        done = self._starts - progress.active
        self._display.update(
            self._task,
            description=f"{what}: {done}/{self._starts} starts, iteration {progress.iteration}, "
            f"best {progress.best:.2f}",
            total=self._starts,
            completed=done,
        )
