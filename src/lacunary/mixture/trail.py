"""Learning a mixture as plain numbers, so that it survives, and goes on as if it had never stopped.

Every trial draws from a stream of its own, so that what is kept of one serves whatever is tried besides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lacunary.evidence.estimate import Estimate

__all__ = ["KeptTrial", "MixtureTrail"]


@dataclass(frozen=True, eq=False)
class KeptTrial:
    """One trial, over or under way.

    Attributes
    ----------
    asked, start
        The components it started with, and which start it was.
    state
        Where it is, as `lacunary.structure.resume` writes it.
    estimate
        What it is worth, if it is over.
    how, met, winners
        As in `Trial`.
    """

    asked: int
    start: int
    state: Mapping[str, Any]
    estimate: Estimate | None = None
    how: str = "a draw"
    met: int = 1
    winners: int = 0


@dataclass(frozen=True, eq=False)
class MixtureTrail:
    """Learning a mixture as it stands; ``fit_mixture(..., resume=trail)`` goes on from it.

    Attributes
    ----------
    fingerprint
        Of which rows it is learned and how, by name; with others one cannot go on.
    trials
        Those that are over, and the one that is under way.
    """

    fingerprint: Mapping[str, str]
    trials: tuple[KeptTrial, ...]
