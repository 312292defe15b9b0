"""Diagnostics of columns that were, or would be, read otherwise than their author meant."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lacunary.data.column import CODE, Labels, Numbers, parse_number
from lacunary.data.moments import dated
from lacunary.data.schema import Label
from lacunary.data.screen import any_alike, any_line, any_of, numbers_at_most
from lacunary.data.spelling import Spelling, different_units, spelled
from lacunary.data.table import HOLE
from lacunary.data.wording import listed

__all__ = [
    "Diagnostic",
    "diagnose_codes",
    "diagnose_labels",
    "diagnose_numbers",
    "notes",
    "sounds_missing",
    "stray_numbers",
]

MISSING = frozenset(
    {
        "-",
        "--",
        ".",
        "n/a",
        "na",
        "nan",
        "null",
        "none",
        "nil",
        "missing",
        "unknown",
        "-9",
        "-99",
        "-999",
        "n.a.",
        "#n/a",
        "#na",
        "#div/0!",
        "#value!",
        "#ref!",
        "#name?",
        "#num!",
        "#null!",
        "(null)",
        "<na>",
        "\u2013",
        "\u2014",
        "\\n",
        *(f".{letter}" for letter in string.ascii_lowercase),
    }
)
"""Labels, in small letters, that often stand for a hole."""

AROUND = " $€£¥₹"
"""What may stand around such a label."""

FEW, SOME = 20, 6
"""The most whole numbers that may be states, and the most labels or names that are listed."""

DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}(?:[T ].*)?")
IDENTIFIER = re.compile(r"(?:^|[\W_])(?:id|key|index|nr|no|rownames?|unnamed.*)$", re.IGNORECASE)
NEARLY = re.compile(
    r"[<>\u2264\u2265~\u2248]\s*=?\s*\d+(?:[.,]\d+)?|(?:\d+ )?\d+/\d+"
    r"|\d+(?:[.,]\d+)?\s*[x\u00d7*]\s*10\s*\^?\s*[-+]?\d+"
    r"|[-+]?\d+(?:[.,]\d+)?\s*(?:\u00b1|\+/-)\s*\d+(?:[.,]\d+)?"
    r"|[-+]?\d+(?:[.,]\d+)?\s*[*\u2020\u2021]+"
    r"|[-+]?\d+(?:[.,]\d+)?\s*\u00b0[\s\d.,'\"\u2032\u2033]*[NSEWO]?"
)
"""Below or about a number, fractions, powers of ten, errors, marks, degrees: forms that are not read."""

MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
OF_MONTHS = rf"{MONTH}[-\s]\s*'?\d{{1,2}}(?:\s+\d{{1,2}}:\S+)?|\d{{1,2}}[-\s]{MONTH}"
MONTHLY = re.compile(OF_MONTHS, re.IGNORECASE)
"""A month with a year of two digits, or with a day."""

DAILY = re.compile(rf"\n(?:{DATE.pattern}|{OF_MONTHS})(?=\n)", re.IGNORECASE)
"""A date or a month, in a line of its own."""

SUMS = ("total", "sum", "gesamt", "ergebnis")
TOTAL = re.compile(r"(.+?)[\s:,-]+(?:sub)?(?:total|sum|summe|gesamt|ergebnis)", re.IGNORECASE)

FIGURE = re.compile(r"[0-9]|^\s*[+-]?(?:inf|nan)", re.IGNORECASE | re.MULTILINE)
"""What a number or a date holds, one of them at least."""

CODED = frozenset({-7, -8, -9, -77, -88, -99, -777, -888, -999, -9999, 99, 999, 9999, 99999})
"""Numbers that often stand for a hole among measurements."""

CAMEL = re.compile(r"[a-z](?:Id|ID|Key|Nr|No)$")
INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060\ufeff\u00ad]")
GARBLED = re.compile("\u00c3[\u0080-\u00bf\u0192\u201a-\u2030\u20ac]|\u00e2\u20ac|\u00c2[\u00a0-\u00bf]")
PLAIN = Spelling()
YES_OR_NO = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n"})


@dataclass(frozen=True)
class Diagnostic:
    """What a column looks like, and what to do if it is so.

    Attributes
    ----------
    column
        The column's name.
    what, remedy
        What is to be seen, and what sets it right.
    kind
        What it is about; those that are "written", "doubtful" or "missing" are said together for all their
        columns.
    labels
        The labels that may mean a hole or, where most cells are numbers, those that are none.
    misread
        Whether numbers have become labels, which nobody wants.
    """

    column: str
    what: str
    remedy: str
    kind: Literal[
        "written", "mixed", "dates", "missing", "identifier", "spelling", "doubtful", "garbled", "codes"
    ]
    labels: tuple[Label, ...] = ()
    misread: bool = False


def stray_numbers(labels: Labels, how: Spelling | None = None) -> Diagnostic | None:
    """Return what labels are if most cells are numbers or dates, in a dress of their own or beside others."""
    levels = np.flatnonzero(labels.observed()).tolist()
    texts = [str(text) for level in levels if isinstance(text := labels.levels[level], str)]
    if not texts or len(texts) < len(levels) or _are_words(texts):
        return None
    return (
        _units(labels.name, texts)
        or _nearly(labels.name, texts)
        or _dresses(labels.name, texts)
        or _mixed(labels, levels, how or Spelling())
        or _dates(labels.name, texts)
    )


def _are_words(texts: Sequence[str]) -> bool:
    """Whether no text can be a number or a date: no digit is in any, nor what is a number without one."""
    together = "\n".join(texts)
    return together.isascii() and not FIGURE.search(together)


def diagnose_labels(labels: Labels, how: Spelling | None = None) -> Iterator[Diagnostic]:
    """Yield what the states of a discrete column look like."""
    stray = stray_numbers(labels, how)
    if stray is not None:
        yield stray
    plain = "".join(map(str, labels.levels)).isascii()
    strange = () if plain else [label for label in labels.levels if not str(label).isascii()]
    if hidden := next((label for label in strange if INVISIBLE.search(str(label))), None):
        what = f"labels such as {str(hidden)!r} hold signs that cannot be seen"
        yield Diagnostic(labels.name, what, "take them out of the source", "garbled")
    if garbled := next((label for label in strange if GARBLED.search(str(label))), None):
        what = f"letters such as those of {garbled!r} look like UTF-8 that was once read in another encoding"
        yield Diagnostic(labels.name, what, "mend the source if they are", "garbled")
    yield from _shaped(labels)
    doubtful = () if stray else _missing(labels.levels)
    if doubtful and len(doubtful) < len(labels.levels):
        yield Diagnostic(labels.name, "", "", "missing", doubtful)
    if same := list(_spelled_alike(labels.levels)):
        groups = "; ".join(listed(group, SOME) for group in same[:SOME])
        yield Diagnostic(
            labels.name,
            f"some states differ in spelling alone: {groups}",
            "give them one spelling in the source if they are the same",
            "spelling",
        )


def _shaped(labels: Labels) -> Iterator[Diagnostic]:
    """Yield what a spreadsheet has made of a column: dates of other labels, sums, and blocks of rows."""
    levels = [str(label) for label in labels.levels]
    together = "\n".join(levels).casefold()
    made = [label for label in levels if MONTHLY.fullmatch(label)] if any_line(DAILY, levels) else []
    if made and 2 * len(made) <= len(levels):
        what = f"{listed(made, SOME)} may be dates that a spreadsheet has made of something else, as of 3-4"
        yield Diagnostic(labels.name, what, "mend the source if they are", "garbled")
    ends = levels if any(word in together for word in SUMS) else []
    if sums := [label for label in ends if (of := TOTAL.fullmatch(label)) and of[1] in levels]:
        what = f"rows with {listed(sums, SOME)} may sum up others"
        yield Diagnostic(labels.name, what, "leave them out of the source if they do", "garbled")
    counts, rows = labels.observed(), len(labels)
    if rows > SOME - 2 and labels.codes[0] != HOLE and counts.max() == 1 and 1 < counts.sum() <= rows / 2:
        what = "every value stands once, and holes follow it"
        yield Diagnostic(labels.name, what, "write it in each row if it is meant for those below", "garbled")


def diagnose_numbers(numbers: Numbers) -> Iterator[Diagnostic]:
    """Yield what whole numbers taken as continuous look like."""
    distinct, cells = numbers.counts
    least, most = numbers.bounds
    span = most - least + 1
    named = IDENTIFIER.search(numbers.name) or CAMEL.search(numbers.name)
    if distinct == cells and (span == cells or named):
        order = "in sequence" if span == cells else "none of them twice"
        yield Diagnostic(
            numbers.name,
            f"{cells} whole numbers, {order}, look like an identifier of the rows",
            f"drop=[{numbers.name!r}] leaves it out",
            "identifier",
        )


def diagnose_codes(numbers: Numbers) -> Iterator[Diagnostic]:
    """Yield a number that looks like a code for holes among measurements: repeated, far from all others."""
    for code in numbers.bounds:
        if code not in CODED:
            continue
        seen = numbers.values[~np.isnan(numbers.values)]
        others = seen[seen != code]
        if not others.size or seen.size - others.size < 2:
            continue
        low, high = others.min(), others.max()
        gap = low - code if code < low else code - high
        if gap > high - low or (code < 0 <= low):
            many = seen.size - others.size
            what = f"{code:g} comes {many} times, apart from all others, which are {low:g} to {high:g}"
            yield Diagnostic(numbers.name, what, _as_holes([f"{code:g}"]), "codes")


def notes(diagnostics: Iterable[Diagnostic]) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each kind of diagnostic, and whether numbers were misread."""
    groups: dict[object, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        key = (
            (diagnostic.kind, diagnostic.remedy)
            if diagnostic.kind in ("written", "missing", "doubtful")
            else diagnostic
        )
        groups.setdefault(key, []).append(diagnostic)
    for group in groups.values():
        first, columns = group[0], _some([diagnostic.column for diagnostic in group])
        if first.kind == "missing":
            labels = sorted({str(label) for diagnostic in group for label in diagnostic.labels})
            yield f"{columns}: {listed(labels)} may mean that a value is missing; {_as_holes(labels)}", False
        else:
            yield f"{columns}: {first.what}; {first.remedy}", first.misread


def sounds_missing(label: Label) -> bool:
    """Tell whether a label looks as if somebody had written it for a hole."""
    return str(label).strip(AROUND).lower() in MISSING


def _missing(labels: Sequence[Label]) -> tuple[Label, ...]:
    """Return the labels that look as if they stood for holes."""
    none = not any_of([str(label) for label in labels], MISSING, AROUND)
    return () if none else tuple(label for label in labels if sounds_missing(label))


def _units(name: str, texts: Sequence[str]) -> Diagnostic | None:
    """Return that texts are numbers whose units or currencies differ, if they are."""
    units = different_units(text for text in texts if not sounds_missing(text))
    if not units or len(units) > SOME:
        return None
    what = f"numbers in different units, {listed(units, SOME)}, read as labels"
    return Diagnostic(name, what, "give all cells one unit in the source", "written", misread=True)


def _dresses(name: str, texts: Sequence[str]) -> Diagnostic | None:
    """Return that every text is a number by itself, but not all of them in one way of writing."""
    plain, other = [], []
    for text in texts:
        if sounds_missing(text):
            continue
        if parse_number(text) is not None:
            plain.append(text)
        elif CODE.match(text) or spelled([text], PLAIN) is None:
            return None
        else:
            other.append(text)
    if not plain or not other:
        return None
    what = f"numbers in different ways of writing, {listed([plain[0], other[0]])}, read as labels"
    return Diagnostic(
        name, what, "write all in one way, or say decimal=… or thousands=…", "written", misread=True
    )


def _nearly(name: str, texts: Sequence[str]) -> Diagnostic | None:
    """Return that texts are numbers, some of which stand in a form that is not read."""
    strange = []
    for text in texts:
        if sounds_missing(text) or parse_number(text) is not None:
            continue
        if NEARLY.fullmatch(text):
            strange.append(text)
        elif spelled([text], PLAIN) is None:
            if text.isascii() or _ascii(text) is None:
                return None
            strange.append(text)
    if not strange:
        return None
    what = f"{listed(strange, 3)} look like numbers in a form that is not read, and are labels"
    return Diagnostic(name, what, "write plain numbers in the source, or name them in holes=…", "written")


def _ascii(text: str) -> float | None:
    """Return the number that digits of another script or width stand for."""
    try:
        return float(unicodedata.normalize("NFKC", text))
    except ValueError:
        return None


def _mixed(labels: Labels, levels: Sequence[int], how: Spelling) -> Diagnostic | None:
    """Return what labels are if most cells are numbers but some are not."""
    counts = labels.observed()
    texts, cells = [str(labels.levels[level]) for level in levels], int(counts.sum())
    if numbers_at_most(texts, counts[levels].tolist()) < 0.5 * cells:
        return None
    values = _numbers(texts, how)
    known = [value for value in values if value is not None]
    others = sorted(str(labels.levels[k]) for k, value in zip(levels, values, strict=True) if value is None)
    numbers = int(sum(counts[k] for k, value in zip(levels, values, strict=True) if value is not None))
    missing = all(map(sounds_missing, others))
    measured = len(known) > FEW or any(value != np.floor(value) for value in known)
    if not others or numbers < (0.5 if missing else 0.75) * cells or not (missing or measured):
        return None
    header = " (a header line that is repeated?)" if labels.name in others else ""
    verb = "the other is" if cells - numbers == 1 else "the others are"
    what = f"{numbers} of {cells} cells are numbers, {verb} {_some_quoted(others)}{header}"
    named = tuple(others)
    remedy = _as_holes(others)
    if len(others) == 1 and labels.first_row(labels.levels.index(others[0])) == 1 and not missing:
        remedy += "; if the first row is a second line of the header, header=2 joins them"
    return Diagnostic(labels.name, what, remedy, "mixed", named, misread=missing or len(others) <= SOME)


def _numbers(texts: Sequence[str], how: Spelling) -> list[float | None]:
    """Return the number that each text is, in any dress if no plain one; None where it is none."""
    plain = [parse_number(text) for text in texts]
    if 2 * sum(value is not None for value in plain) >= len(texts):
        return plain
    dressed = [spelled([text], how) for text in texts]
    return [None if value is None else float(value.values[0]) for value in dressed]


def _dates(name: str, texts: Sequence[str]) -> Diagnostic | None:
    """Return that texts are dates, if most are, and which of them are none."""
    if not any_line(DAILY, texts):
        return None
    told = [text for text in texts if not sounds_missing(text)]
    dates = [text for text in told if DATE.fullmatch(text) or MONTHLY.fullmatch(text)]
    if not told or len(dates) < 0.75 * len(told):
        return None
    if all(map(MONTHLY.fullmatch, dates)):
        what = f"months with a year of two digits, or with a day, such as {told[0]!r}, read as labels"
        return Diagnostic(name, what, "write 2024-01, or 2024-01-31, to count days", "dates")
    odd = [text for text in texts if dated([text]) is None]
    if odd and dated([text for text in texts if text not in odd]):
        verb = "is none" if len(odd) == 1 else "are none"
        return Diagnostic(name, f"dates, but {_some_quoted(odd)} {verb}", _as_holes(odd), "mixed", tuple(odd))
    what = f"dates, such as {told[0]!r}"
    return Diagnostic(name, what, "write all in one way, such as 2024-01-31, to count days", "dates")


def _spelled_alike(states: Sequence[Label]) -> Iterator[list[str]]:
    """Yield groups of states that differ in case, blanks or short forms of yes and no, true and false."""
    if not any_alike([s for s in states if isinstance(s, str)], YES_OR_NO):
        return iter(())
    keys = {s: _key(s) for s in states if isinstance(s, str) and (s.isalpha() or any(map(str.isalpha, s)))}
    if keys and set(keys.values()) <= YES_OR_NO:
        keys = {state: key[0] for state, key in keys.items()}
        for digit, letters in (("1", "ty"), ("0", "fn")):
            if digit in states and (same := [key for key in keys.values() if key in letters]):
                keys[digit] = same[0]
    groups: dict[str, list[str]] = {}
    for state, key in keys.items():
        groups.setdefault(key, []).append(state)
    return (group for group in groups.values() if len(group) > 1)


def _key(state: str) -> str:
    return state.casefold() if state.isalnum() else re.sub(r"[\s_-]+", " ", state.casefold()).strip()


def _as_holes(labels: Sequence[str]) -> str:
    if len(labels) > SOME:
        return "name those that mean a missing value in holes=…"
    return f"holes={list(labels)!r} makes {'it a hole' if len(labels) == 1 else 'them holes'}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - SOME
    return ", ".join(names[:SOME]) + (f" and {more} more" if more > 0 else "")


def _some_quoted(labels: Sequence[str]) -> str:
    if len(labels) > SOME:
        return listed(labels, SOME)
    return " and ".join(part for part in (listed(labels[:-1]), repr(labels[-1])) if part)
