"""What a paper printed, what was found, and how the two agree."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from lacunary import FileError

__all__ = ["Claim", "Found", "Judged", "Verdict", "judge", "read_claims", "verdict_if"]

Verdict = Literal["reproduced", "near", "not", "open", "answered"]
"""Of a claim; open if this size of the work does not answer it; answered if the question is our own."""

SIGMAS = 2.0
"""Standard errors that a number may be off by chance."""


@dataclass(frozen=True)
class Claim:
    """A number or a statement in print.

    Attributes
    ----------
    id
        What `Outcome.found` calls it.
    where
        Where it stands in the paper.
    says
        What it says, in words.
    printed
        The number; or a text, if it is a statement, on which the run then passes the verdict itself.
    why
        Why this tolerance; for a statement, what counts as its being true.
    tolerance
        How far ours may be from the printed number, beside chance.
    near
        Up to how far it is called near; twice what is allowed for *reproduced* unless given.
    printed_error
        The standard error of the printed number, where it is an average.
    proof
        What holds whatever the run finds: an argument, a reading of the text, a reference. It is shown after
        the run's own note.
    then
        The time it took them.
    ours
        True for a question of our own, which the paper left open: it has an answer, and no printed value.
    """

    id: str
    where: str
    says: str
    why: str
    printed: float | str = ""
    tolerance: float = 0.0
    near: float | None = None
    printed_error: float = 0.0
    proof: str = ""
    then: str = ""
    ours: bool = False


@dataclass(frozen=True)
class Found:
    """Our answer to a claim.

    Attributes
    ----------
    value
        The number, or a short text.
    error
        Its standard error; None if it has none.
    verdict
        On statements; on numbers it is worked out unless given.
    note
        The evidence, in words. A *not* needs one.
    seconds
        How long it took.
    """

    value: float | str
    error: float | None = None
    verdict: Verdict | None = None
    note: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Judged:
    """A claim with its answer and the verdict."""

    claim: Claim
    found: Found | None
    verdict: Verdict
    margin: float | None
    """How far ours may be from the printed number, chance included."""

    @property
    def note(self) -> str:
        """The evidence, in words."""
        told = [self.found.note, self.claim.proof] if self.found else []
        return " ".join(text for text in told if text)


def verdict_if(true: object, near: object = False) -> Verdict:
    """Return the verdict on a statement: whether it is true, and if it is not, whether it nearly is."""
    return "reproduced" if true else "near" if near else "not"


def stated(value: float | str, true: object, near: object = False, note: str = "", **more: Any) -> Found:
    """Return our answer to a statement: what was found, and whether the statement is true, or nearly so."""
    return Found(value, verdict=verdict_if(true, near), note=note, **more)


def held(count: int, of: int, what: str, note: str = "") -> Found:
    """Return our answer to a statement about all of something: near if it holds for four out of five."""
    return stated(f"{count} of {of} {what}".strip(), count == of, count >= 0.8 * of, note)


def judge(claim: Claim, found: Found | None) -> Judged:
    """Compare what was found with what was printed."""
    if found is None:
        return Judged(claim, None, "open", None)
    if claim.ours:
        return Judged(claim, found, "answered", None)
    if isinstance(claim.printed, str) or isinstance(found.value, str):
        return Judged(claim, found, found.verdict or "open", None)
    margin = claim.tolerance + SIGMAS * math.hypot(claim.printed_error, found.error or 0.0)
    gap = abs(found.value - claim.printed)
    # Printed numbers are decimal: a difference of exactly the margin must not fail by a rounding error.
    slack = 1e-9 * max(1.0, abs(claim.printed))
    near = 2 * margin if claim.near is None else claim.near
    verdict = found.verdict or verdict_if(gap <= margin + slack, gap <= near + slack)
    return Judged(claim, found, verdict, margin)


def read_claims(path: Path) -> tuple[Mapping[str, Any], tuple[Claim, ...]]:
    """Return the head and the claims of a ``claims.toml``."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {field.name for field in fields(Claim)}
    paper, entries = path.parent.name, content["claim"]
    for entry in entries:
        if unknown := set(entry) - known:
            raise FileError(f"{paper}: claim {entry.get('id')!r} has unknown fields {sorted(unknown)}")
    count = Counter(entry["id"] for entry in entries)
    if twice := sorted(name for name, times in count.items() if times > 1):
        raise FileError(f"{paper}: claims appear twice: {', '.join(twice)}")
    return content["paper"], tuple(Claim(**entry) for entry in entries)
