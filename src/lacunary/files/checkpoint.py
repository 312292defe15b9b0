"""Learning that survives the machine it runs on, and goes on as if it had never stopped."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from lacunary.files.store import save

__all__ = ["Checkpoint"]


class Watched(Protocol):
    """What `fit`, `search` and `fit_mixture` tell as they go."""

    def trail(self) -> object:
        """Return what is to be gone on from."""
        ...


@dataclass
class Checkpoint:
    """A ``watch`` that writes learning as it stands to a file, every so many seconds.

    The file is whole at every moment, so that learning that is killed goes on with
    ``fit(dag, table, initial=load(path))``, ``search(table, ..., start=load(path))`` or
    ``fit_mixture(table, ..., resume=load(path))``; the last two end where they would have ended.

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
    seconds: float = 5.0
    writings: int = field(default=0, init=False)
    _last: float = field(default_factory=monotonic, init=False, repr=False)
    _seen: Watched | None = field(default=None, init=False, repr=False)

    def __call__(self, progress: Watched) -> None:
        """Write, if it is time."""
        self._seen = progress
        if monotonic() - self._last >= self.seconds:
            self.write()

    def write(self) -> None:
        """Write what was last seen, at once; nothing if that was nothing."""
        if self._seen is None:
            return
        save(self._seen.trail(), self.path)
        self.writings += 1
        self._last = monotonic()
