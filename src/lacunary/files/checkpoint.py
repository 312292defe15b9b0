"""Learning that survives the machine it runs on, and goes on as if it had never stopped."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from lacunary.errors import FileError
from lacunary.files.store import check_writable, save

__all__ = ["Checkpoint"]

SHARE = 0.1
"""The most of the time that goes into writing: where a file takes long to write it is written less often."""


class Watched(Protocol):
    """What `fit`, `search`, `fit_mixture` and `classes` tell as they go."""

    def trail(self) -> object:
        """Return what is to be gone on from."""
        ...


@dataclass
class Checkpoint:
    """A ``watch`` that writes learning as it stands to a file, every so many seconds.

    The file is whole at every moment, so that learning that is killed goes on with
    ``fit(dag, table, initial=load(path))``, ``search(table, ..., start=load(path))``,
    ``fit_mixture(table, ..., resume=load(path))`` or ``classes(table, ..., resume=load(path))``, and ends
    where it would have ended. Each carries a fingerprint of rows, variables, prior, rules and versions; what
    does not match is refused by name.

    A place that cannot be written to is refused when the checkpoint is made. If writing fails later, a
    warning says so once, it is tried again, and learning goes on: a checkpoint never costs a result.

    Attributes
    ----------
    path
        Where to write; native JSON, ``.json`` or ``.json.gz``.
    seconds
        How long to wait between two writings.
    writings
        How often it has written.
    problem
        Why it could not be written the last time, if it could not.
    """

    path: str | os.PathLike[str]
    seconds: float = 5.0
    writings: int = field(default=0, init=False)
    problem: str | None = field(default=None, init=False)
    _last: float = field(default_factory=monotonic, init=False, repr=False)
    _took: float = field(default=0.0, init=False, repr=False)
    _seen: Watched | None = field(default=None, init=False, repr=False)
    _warned: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        check_writable(self.path, (".json",))

    def __call__(self, *told: object) -> None:
        """Write, if it is time; what is told last is the progress of the work."""
        self._seen = told[-1]  # type: ignore[assignment]
        if monotonic() - self._last >= max(self.seconds, self._took / SHARE):
            self.write()

    def write(self) -> None:
        """Write what was last seen, at once; nothing if that was nothing."""
        if self._seen is None:
            return
        began = monotonic()
        try:
            save(self._seen.trail(), self.path)
            self.writings, self.problem = self.writings + 1, None
        except FileError as problem:
            self.problem = str(problem)
            self._warn()
        self._last = monotonic()
        self._took = self._last - began if self.seconds > 0 else 0.0

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            kept = "; what was written before is there" if self.writings else ""
            warnings.warn(
                f"the checkpoint was not written: {self.problem}{kept}. The work goes on, and it is tried "
                "again",
                UserWarning,
                stacklevel=4,
            )
