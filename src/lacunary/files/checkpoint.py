"""Fits that survive the machine they run on."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from time import monotonic

from lacunary.files.fits import Climbs
from lacunary.files.store import save
from lacunary.infer.network import Network
from lacunary.learn.fit import Start
from lacunary.learn.loop import Progress
from lacunary.model.dag import Dag

__all__ = ["Checkpoint"]


@dataclass
class Checkpoint:
    """A ``watch`` for `fit` that writes the climbs as they stand to a file, every so many seconds.

    The file is whole at every moment, so that a fit that is killed goes on with
    ``fit(dag, table, initial=load(path))``.

    Attributes
    ----------
    path
        Where to write; native JSON, ``.json`` or ``.json.gz``.
    dag
        The graph that is fitted.
    seconds
        How long to wait between two writings.
    writings
        How often it has written.
    """

    path: str | os.PathLike[str]
    dag: Dag
    seconds: float = 30.0
    writings: int = field(default=0, init=False)
    _last: float = field(default_factory=monotonic, init=False, repr=False)

    def __call__(self, progress: Progress) -> None:
        """Write, if it is time."""
        if monotonic() - self._last < self.seconds:
            return
        save(Climbs(self.dag, tuple(self._starts(progress))), self.path)
        self.writings += 1
        self._last = monotonic()

    def _starts(self, progress: Progress) -> list[Start]:
        return [
            Start(
                Network(self.dag, c.theta), c.objective, c.log_likelihood, c.trace, c.iterations, c.converged
            )
            for c in progress.climbs()
        ]
