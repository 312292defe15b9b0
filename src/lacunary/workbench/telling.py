"""A job as its own process knows it: what is asked, where results go, and what is told on the way."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import lacunary as lac
from lacunary.workbench.plain import plain
from lacunary.workbench.tables import read_as

__all__ = ["Job", "Stopped", "columns_of"]

EVERY = 0.3
"""Seconds between two tellings of progress."""

CHECKPOINT = 2.0
"""Seconds between two checkpoints."""


def columns_of(model: lac.Network | lac.Mixture) -> list[str]:
    """Return the columns a model sees: evidence is compared between models that see the same."""
    schema = model.dag.schema if isinstance(model, lac.Network) else model.schema
    return sorted(variable.name for variable in schema if not variable.hidden)


class Stopped(Exception):
    """The job was asked to stop, or nobody listens."""


class Job:
    """A job's folder, what is asked, and what is told of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: dict[str, Any] = json.loads((folder / "job.json").read_text(encoding="utf-8"))
        self.options: dict[str, Any] = self.asked["options"]
        self.checkpoint = lac.Checkpoint(folder / "checkpoint.json", seconds=CHECKPOINT)
        self.models: list[dict[str, Any]] = []
        self.files: list[dict[str, Any]] = []
        self._told = 0.0

    def tell(self, progress: dict[str, Any]) -> None:
        """Send a line to the server; if there is none any more, stop."""
        try:
            sys.stdout.write(json.dumps(plain(progress)) + "\n")
            sys.stdout.flush()
        except (BrokenPipeError, OSError, ValueError):
            raise Stopped from None

    def due(self) -> bool:
        """Tell whether it is time to say something, and stop if that is wanted."""
        now = monotonic()
        if now - self._told < EVERY:
            return False
        self._told = now
        if (self.folder / "stop").exists():
            raise Stopped
        return True

    def watched(self, say: Callable[..., dict[str, Any]], kept: bool = True) -> Callable[..., None]:
        """Return a ``watch`` that tells what ``say`` makes of the progress, and keeps checkpoints."""

        def watch(*progress: Any) -> None:
            if kept:
                self.checkpoint(*progress)
            if self.due():
                self.tell(say(*progress))

        return watch

    def earlier(self) -> Any:
        """Return what a checkpoint holds; None if there is none."""
        path = self.folder / "checkpoint.json"
        return lac.load(path) if self.asked.get("resume") and path.exists() else None

    def table(self) -> lac.Table:
        """Return the table, as it was read when the job was asked for."""
        return read_as(self.asked["table_path"], self.asked["table_settings"])

    def keep(self, model: Any, name: str, **about: Any) -> None:
        """Keep a model that was found."""
        file = f"model-{len(self.models)}.json"
        lac.save(model, self.folder / file)
        self.models.append({"file": file, "name": name, "columns": columns_of(model), **about})

    def file(self, file: str, name: str) -> Path:
        """Return where to write a file that can be taken home under a name."""
        self.files.append({"file": file, "name": name})
        return self.folder / file
