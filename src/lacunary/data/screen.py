"""Looks through many labels at once for what few of them have, so that most need no look one by one.

Each function may see something where there is nothing, never the other way round: labels are joined by line
ends, and one that holds a line end is taken for two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lacunary.data.spelling import CURRENCY

__all__ = ["any_alike", "any_line", "any_of", "numbers_at_most"]

PARTING = "-/. \t\r\v\f\x1c\x1d\x1e\x1f"
"""What parts the numbers of a date, in ASCII."""

BLANKS = re.compile(r"(?:[^\S\n]|[_-])+")
START = rf"\s*(?:[-+(.,\s\d\u2013\u2212]|[iI][nN][fF]|[nN][aA][nN]|(?:{CURRENCY})\s*[-+(.,\s\d\u2013\u2212])"
NUMBER, LINES = re.compile(START), re.compile(f"^{START}", re.MULTILINE)
"""What every number begins with, in whatever dress: of one text, and of one of several lines."""


def any_of(texts: Sequence[str], known: frozenset[str], around: str) -> bool:
    """Whether a text may be, in small letters and without some signs around it, a known one."""
    together = "\n".join(texts).lower()
    lines = together.split("\n")
    if any(sign in together for sign in around):
        lines = [text.strip(around) for text in lines]
    return not known.isdisjoint(lines)


def any_line(pattern: re.Pattern[str], texts: Sequence[str]) -> bool:
    """Whether a text may match a pattern, which begins and ends with line ends: these are found fast.

    Whatever matches it must hold a blank, a hyphen, a slash or a point.
    """
    together = "\n".join(texts)
    if (
        together.isascii()
        and not any(sign in together for sign in PARTING)
        and together.count("\n") < len(texts)
    ):
        return False
    return pattern.search(f"\n{together}\n") is not None


def any_alike(texts: Sequence[str], short: frozenset[str]) -> bool:
    """Whether two texts may differ in case and blanks alone, or one may be a short form."""
    together = "\n".join(texts).casefold()
    if not together.replace("\n", "").isalnum():
        together = BLANKS.sub(" ", together)
    lines = together.split("\n")
    keys = set(map(str.strip, lines))
    return len(lines) != len(texts) or len(keys) < len(texts) or not short.isdisjoint(keys)


def numbers_at_most(texts: Sequence[str], counts: Sequence[int]) -> int:
    """Return how many cells may be numbers, if each text stands in so many."""
    if not LINES.search("\n".join(texts)):
        return 0
    return sum(count for text, count in zip(texts, counts, strict=True) if NUMBER.match(text))
