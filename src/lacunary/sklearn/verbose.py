"""How far learning is, as lines of text: what ``verbose`` asks for."""

from __future__ import annotations

from time import monotonic
from typing import Any

__all__ = ["Spoken"]

PATIENCE = 2.0
"""Seconds between two lines; what is over sooner prints none."""


class Spoken:
    """A ``watch`` for any verb that prints how far it is, every two seconds."""

    def __init__(self, who: str) -> None:
        self._who, self._began, self._last = who, monotonic(), monotonic()

    def __call__(self, *progress: Any) -> None:
        """Print how far learning is, unless that was said a moment ago."""
        now = monotonic()
        if now - self._last >= PATIENCE:
            self._last = now
            print(f"[{self._who}] {_words(*progress)}, {now - self._began:.0f} s", flush=True)


def _words(first: Any, many: int | None = None) -> str:
    """Return how far it is: steps of so many, or what a `Progress` of a verb says."""
    if many is not None:
        return f"step {first} of {many}"
    if hasattr(first, "tick"):
        return f"{first.asked} components, {first.tick.phase}"
    if hasattr(first, "arcs"):
        return f"search, step {first.steps}, {first.arcs} arcs, best {first.best:.2f}"
    return f"iteration {first.iteration}, {first.active} starts, best {first.best:.2f}"
