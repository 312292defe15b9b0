"""What Rich draws on a terminal: grids, and a line about what is being waited for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment

from lacunary.data.wording import harmless

__all__ = ["Screen", "waiting_line"]


class Screen(Console):
    """A console on which names and states command nothing: control characters are shown as signs."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Return what is printed, piece by piece."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(harmless(piece.text), piece.style)


def waiting_line(began: float, **told: Any) -> Progress:
    """Return a line on the error stream that says what is being done, and how long it has taken so far."""
    line = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    line.add_task(**told)
    line.tasks[0].start_time = began
    line.start()
    return line
