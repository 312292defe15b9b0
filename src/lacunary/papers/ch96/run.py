"""CH96, reproduced: five approximations of the evidence of naive Bayes models with a hidden root."""

from __future__ import annotations

from lacunary.papers import Outcome, Paper, Results
from lacunary.papers.ch96.plan import units

__all__ = ["PAPER"]


def outcome(results: Results) -> Outcome:
    """Return what the work shows."""
    return Outcome()


PAPER = Paper(units, outcome)
