"""GHM96, reproduced: the dimension of networks with hidden variables."""

from __future__ import annotations

from lacunary.papers import Outcome, Paper, Results
from lacunary.papers.ghm96.plan import units

__all__ = ["PAPER"]


def outcome(results: Results) -> Outcome:
    """Return what the work shows."""
    return Outcome()


PAPER = Paper(units, outcome)
