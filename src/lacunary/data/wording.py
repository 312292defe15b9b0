"""How counts, names and labels are put into words, in one place for all that is said to people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

__all__ = [
    "MISSING_AT_RANDOM",
    "NEAR",
    "chained",
    "counted",
    "harmless",
    "holes_told",
    "latex",
    "listed",
    "meant",
    "near_best",
    "plural",
    "visible",
]

MISSING_AT_RANDOM = (
    "Cells are taken to be missing at random: whether one is missing depends on what is observed alone."
)
"""What every report on a table with holes says."""

NEAR = 0.1
"""Nats within which two starts count as having found the same peak."""

PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
PICTURES |= dict.fromkeys((*range(128, 160), *range(55296, 57344), 65534, 65535), 65533)
"""Signs for characters that command a terminal, or that XML and UTF-8 do not allow."""


def counted(number: int, word: str) -> str:
    """Return so many of something: 1 row, 2 rows."""
    return f"{number} {word if number == 1 else plural(word)}"


def holes_told(marks: Sequence[object]) -> str:
    """Say which marks were taken for holes; nothing if none was."""
    found = ", ".join(map(repr, marks))
    return f"; {found} {'is a hole' if len(marks) == 1 else 'are holes'}" if found else ""


def plural(word: str) -> str:
    """Return the plural of an English noun, as far as an ending tells: class, classes; entry, entries."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"


def visible(text: object) -> str:
    """Return a text on one line: line breaks and other control characters as they are escaped in Python."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def harmless(text: str) -> str:
    """Return a text for a page, a drawing or a terminal: signs in place of characters that command these."""
    return text.translate(PICTURES)


TEX = str.maketrans(
    {sign: rf"\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "\n": " ", "\r": " "}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {"[": "{[}", "]": "{]}", "-": "{-}"}
)
"""What LaTeX would take for a command, a ligature or another letter, as it writes them."""


def latex(text: str) -> str:
    """Return a text for a line of LaTeX: no sign in it commands anything."""
    return harmless(text).translate(TEX)


LONGEST = 100
"""So much of an item is said where several are listed."""


def listed(items: Iterable[object], most: int = 12) -> str:
    """Return items in quotes with commas between, shortened when there are many."""
    known = [short if len(short := repr(item)) <= LONGEST else f"{short[: LONGEST - 1]}…" for item in items]
    return ", ".join(known[:most]) + (f", … ({len(known)} in all)" if len(known) > most else "")


def chained(names: Sequence[str], most: int = 12) -> str:
    """Return names with arrows between; of many the middle is left out."""
    few = names if len(names) <= most else [*names[: most // 2], "…", *names[-most // 2 :]]
    return " -> ".join(few)


def meant(given: object, known: Iterable[object]) -> str:
    """Return " (did you mean 'x'?)" if a known name or state is spelled much like what was given."""
    spelled: dict[str, object] = {}
    for item in known:
        spelled.setdefault(str(item).casefold(), item)
    close = get_close_matches(str(given).casefold(), list(spelled), n=1)
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""


def near_best(objectives: Sequence[float]) -> int:
    """Return how many starts came within `NEAR` nats of the best, by what they ended with."""
    return sum(value >= max(objectives) - NEAR for value in objectives)
