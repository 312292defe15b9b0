"""What a number of classes is worth, what each class is like, and rows that are shown as examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lacunary.data.schema import Label
from lacunary.learn.fit import Fit
from lacunary.study.levels import Shift

__all__ = ["Candidate", "Case", "Contrast", "Profile", "candidate_record", "profile_record"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best fit with one number of classes, and how strongly the table speaks for it.

    Attributes
    ----------
    classes
        How many states the hidden class has.
    parameters
        d: how many free parameters the model has.
    log_evidence
        Estimates of the log marginal likelihood by method, in nats; higher is better.
    """

    classes: int
    fit: Fit
    parameters: int
    log_evidence: Mapping[str, float]


@dataclass(frozen=True)
class Contrast:
    """A state of a variable that is commoner, or rarer, in one class than in the others."""

    variable: str
    state: Label
    here: float
    elsewhere: float

    @property
    def apart(self) -> float:
        """How much the chances differ."""
        return abs(self.here - self.elsewhere)


@dataclass(frozen=True)
class Profile:
    """One class: its size, how a variable kept aside is distributed in it, and what sets it apart."""

    label: Label
    size: float
    share: float
    aside: dict[Label, float]
    contrasts: tuple[Contrast | Shift, ...]


@dataclass(frozen=True)
class Case:
    """A row, why it is shown, and to which class it probably belongs."""

    row: int
    why: str
    aside: Label | None
    holes: int
    probabilities: tuple[float, ...]


def candidate_record(candidate: Candidate) -> dict[str, Any]:
    """Return a candidate as plain numbers."""
    return {
        "classes": candidate.classes,
        "parameters": candidate.parameters,
        "log_likelihood": candidate.fit.log_likelihood,
        "log_evidence": dict(candidate.log_evidence),
        "objective": candidate.fit.objective,
        "iterations": candidate.fit.iterations,
        "converged": candidate.fit.converged,
        "starts": len(candidate.fit.starts),
    }


def profile_record(profile: Profile) -> dict[str, Any]:
    """Return a profile as plain words and numbers."""
    return {
        "label": profile.label,
        "size": profile.size,
        "share": profile.share,
        "aside": {str(state): share for state, share in profile.aside.items()},
        "contrasts": [asdict(c) for c in profile.contrasts],
    }
