"""What a paper printed, what was found, and the one rule by which the two agree (docs/verdicts.md)."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from scipy.stats import binom

from lacunary import FileError

__all__ = [
    "VERDICTS",
    "Claim",
    "Found",
    "Judged",
    "Verdict",
    "all_of",
    "compared",
    "judge",
    "most_of",
    "read_claims",
    "stated",
    "tail",
]

Verdict = Literal["reproduced", "near", "not", "wrong", "undecided", "noted", "open", "answered"]
"""Of a claim: see docs/verdicts.md.

wrong: in print, by proof; undecided: our work cannot tell; noted: nothing that could fail; open: this size
of the work does not ask; answered: the question is our own.
"""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

SIGMAS = 2.0
"""Standard errors that a number may be off by chance."""

LUCK = 0.05
"""How often an answer by chance may pass a test that is to count."""

NEARLY = 0.9
"""Share of cases from which a statement about all of them is called near."""


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
        The number; or a text, if it is a statement.
    why
        Why this tolerance; for a statement, what counts as its being true.
    tolerance
        How far ours may be from the printed number, beside chance.
    near
        Up to how far it is called near; not at all unless given.
    printed_error
        The standard error of the printed number, where it is an average.
    same_error
        True if print has as many experiments as we, and so an error of the same size.
    flat
        What answers that know nothing would have got: no effect, a choice at random.
    flat_is
        What these answers are, in words.
    proof
        What holds whatever the run finds: an argument, a reading of the text, a reference. It is shown after
        the run's own note.
    wrong
        True if the proof shows that print is wrong.
    fact
        Why it is no claim that could fail (a count of rows, a time, a number that other data cannot have);
        it is shown, and not judged.
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
    same_error: bool = False
    flat: tuple[float, ...] = ()
    flat_is: str = ""
    proof: str = ""
    wrong: bool = False
    fact: str = ""
    then: str = ""
    ours: bool = False

    @property
    def exact(self) -> bool:
        """Whether it is a number that only the same number reproduces."""
        inexact = self.tolerance or self.near or self.printed_error or self.same_error or self.flat
        return not (isinstance(self.printed, str) or inexact)


@dataclass(frozen=True)
class Found:
    """Our answer to a claim.

    Attributes
    ----------
    value
        The number, or a short text.
    error
        Its standard error; None if it has none.
    span
        Where print has a single draw: the middle of ours, in which it should lie.
    verdict
        On statements; on numbers it is worked out.
    chance
        On statements: how often an answer by chance would have passed. Zero where nothing is left to chance.
    note
        The evidence, in words. A *not* needs one.
    behind
        What stands behind it: how many models, seeds and rows.
    seconds
        How long it took.
    run
        The library that found it, if it was an earlier one.
    readings
        The answers under other readings of what print leaves open; a verdict stands only if it is theirs too.
    """

    value: float | str
    error: float | None = None
    span: tuple[float, float] | None = None
    verdict: Verdict | None = None
    chance: float | None = None
    note: str = ""
    behind: str = ""
    seconds: float | None = None
    run: str = ""
    readings: tuple[Found, ...] = ()


@dataclass(frozen=True)
class Judged:
    """A claim with its answer and the verdict."""

    claim: Claim
    found: Found | None
    verdict: Verdict
    margin: float | None = None
    """How far ours may be from the printed number, chance included."""

    @property
    def note(self) -> str:
        """The evidence, in words."""
        own, always = (self.found.note, self.claim.proof or self.claim.fact) if self.found else ("", "")
        if own and always and own[-1] not in ".;:":
            own += ";" if always[0].islower() else "."
        return f"{own} {always}".strip()

    @property
    def power(self) -> str:
        """What an answer that knows nothing would have got, in words."""
        claim, found = self.claim, self.found
        if found is None or claim.ours or claim.fact:
            return ""
        if isinstance(claim.printed, str) or isinstance(found.value, str):
            return "" if found.chance is None else f"By chance it passes {_often(found.chance)}."
        if claim.exact and not found.error:
            return "Any other number fails."
        got = [f"{flat:g} {_flat_would_be(claim, found, flat)}" for flat in claim.flat]
        return f"{claim.flat_is}: {'; '.join(got)}." if got else ""


def _flat_would_be(claim: Claim, found: Found, flat: float) -> str:
    """Return what an answer that knows nothing would have got, and whether ours can be told from it."""
    if found.span is None:
        return f"would be {said(_number(claim, replace(found, value=flat)))}"
    within = found.span[0] <= flat <= found.span[1]
    verdict = _number(claim, replace(found, value=flat, span=(flat, flat)))
    return f"{'lies within ours and ' if within else ''}would be {said(verdict)}"


def said(verdict: Verdict) -> str:
    """Return a verdict in words."""
    return {"not": "not reproduced", "undecided": "not decided", "wrong": "wrong in print"}.get(
        verdict, verdict
    )


def _often(chance: float) -> str:
    return (
        "never"
        if chance == 0
        else f"{chance:.0%} of the time"
        if chance >= 0.01
        else "less than 1 % of the time"
    )


def tail(need: int, of: int, by: float = 0.5) -> float:
    """Return how often at least so many of so many independent cases hold if each does with chance ``by``."""
    return float(binom.sf(need - 1, of, by))


def stated(
    value: float | str, true: object, near: object = False, note: str = "", *, chance: float, **more: Any
) -> Found:
    """Return our answer to a statement: what was found, whether it is true, or nearly so.

    ``chance`` says how often an answer by chance would have passed the test that was passed.
    """
    verdict: Verdict = "reproduced" if true else "near" if near else "not"
    return Found(value, verdict=verdict, chance=chance, note=note, **more)


def all_of(count: int, of: int, what: str, note: str = "", *, by: float = 0.5, **more: Any) -> Found:
    """Return our answer to a statement about all of something: near if it holds for nine out of ten.

    ``by`` is the chance that one of them holds if the statement means nothing.
    """
    passed = of if count == of else math.ceil(NEARLY * of)
    told = f"{count} of {of} {what}".strip()
    return stated(told, count == of, count >= passed, note, chance=tail(passed, of, by), **more)


def most_of(count: int, of: int, what: str, note: str = "", *, by: float = 0.5, **more: Any) -> Found:
    """Return our answer to a statement about most of something, by a sign test in both directions.

    So many that chance seldom gives as many: reproduced. So few that chance seldom gives as few: not.
    Otherwise it is not decided.
    """
    up, down = tail(count, of, by), tail(of - count, of, 1.0 - by)
    verdict: Verdict = "reproduced" if up <= LUCK else "not" if down <= LUCK else "undecided"
    return Found(f"{count} of {of} {what}".strip(), verdict=verdict, chance=up, note=note, **more)


def compared(pairs: Iterable[tuple[str, float, float]], note: str = "", **more: Any) -> Found:
    """Return our answer to a statement that something is ahead everywhere: names, leads and their errors.

    Reproduced if every lead is more than two standard errors; not, if one is as far behind; else undecided.
    """
    leads = list(pairs)
    ahead = [name for name, lead, error in leads if lead > SIGMAS * error]
    behind = [name for name, lead, error in leads if lead < -SIGMAS * error]
    verdict: Verdict = "reproduced" if len(ahead) == len(leads) else "not" if behind else "undecided"
    told = f"ahead in {len(ahead)}, level in {len(leads) - len(ahead) - len(behind)}, behind in {len(behind)}"
    each = "; ".join(f"{name} {lead:+.2f} ± {error:.2f}" for name, lead, error in leads)
    chance = 0.023 ** len(leads)  # of a normal deviate, to be above two
    return Found(told, verdict=verdict, chance=chance, note=f"{each}. {note}".strip(), **more)


def judge(claim: Claim, found: Found | None) -> Judged:
    """Compare what was found with what was printed, by the rule of docs/verdicts.md."""
    if claim.fact:
        return Judged(claim, found, "noted")
    if found is None:
        return Judged(claim, None, "open")
    if claim.ours:
        return Judged(claim, found, "answered")
    if len({_verdict(claim, reading) for reading in (found, *found.readings)}) > 1:
        return Judged(claim, found, "undecided")
    verdict = _verdict(claim, found)
    number = not (isinstance(claim.printed, str) or isinstance(found.value, str) or found.span)
    return Judged(claim, found, verdict, _margin(claim, found) if number else None)


def _verdict(claim: Claim, found: Found) -> Verdict:
    statement = isinstance(claim.printed, str) or isinstance(found.value, str)
    verdict = _statement(found) if statement else _number(claim, found)
    return "wrong" if claim.wrong and verdict == "not" else verdict


def _statement(found: Found) -> Verdict:
    """Return the verdict of the run, unless chance would have passed as well."""
    lucky = found.chance is None or found.chance > LUCK
    if found.verdict in ("reproduced", "near") and lucky:
        return "undecided"
    return found.verdict or "open"


def _margin(claim: Claim, found: Found) -> float:
    ours = found.error or 0.0
    return claim.tolerance + SIGMAS * math.hypot(ours if claim.same_error else claim.printed_error, ours)


def _number(claim: Claim, found: Found) -> Verdict:
    """Judge a number: it must fit print, and what knows nothing must fit neither print nor our number."""
    assert isinstance(found.value, float | int)
    assert not isinstance(claim.printed, str)
    ours, printed = found.value, claim.printed
    # Printed numbers are decimal: a difference of exactly the margin must not fail by a rounding error.
    slack = 1e-9 * max(1.0, abs(printed))
    if found.span:
        low, high = found.span
        fits, blurred = low <= printed <= high, any(low <= flat <= high for flat in claim.flat)
    else:
        margin, chance = _margin(claim, found) + slack, SIGMAS * (found.error or 0.0)
        fits = abs(ours - printed) <= margin
        blurred = any(abs(f - printed) <= margin or abs(f - ours) <= chance for f in claim.flat)
    if fits:
        return "undecided" if blurred else "reproduced"
    gap = abs(ours - printed)
    nearer = all(gap < abs(ours - flat) for flat in claim.flat)
    return "near" if claim.near is not None and gap <= claim.near + slack and nearer else "not"


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
    return content["paper"], tuple(
        Claim(**(entry | {"flat": tuple(entry.get("flat", ()))})) for entry in entries
    )
