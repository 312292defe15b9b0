"""A study of classes under way: what is fitted, and the fit that is not over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lacunary.learn.found import Climbs, Fit

__all__ = ["ClassesTrail"]


@dataclass(frozen=True, eq=False)
class ClassesTrail:
    """A study of classes as it stands; ``classes(..., resume=trail)`` goes on from it.

    Attributes
    ----------
    fingerprint
        Of which rows it is and how, by name; with others one cannot go on.
    fits
        Those that are over, by their number of classes.
    climbs
        The one that is under way, with its number of classes.
    """

    fingerprint: Mapping[str, str]
    fits: Mapping[int, Fit]
    climbs: tuple[int, Climbs] | None = None
