"""How counts, names and labels are put into words, in one place for all that is said to people."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["counted", "listed", "meant", "plural", "visible"]


def counted(number: int, word: str) -> str:
    """Return so many of something: 1 row, 2 rows."""
    return f"{number} {word if number == 1 else plural(word)}"


def plural(word: str) -> str:
    """Return the plural of an English noun, as far as an ending tells: class, classes; bloc, blocs."""
    return f"{word}es" if word.endswith(("s", "x", "z", "ch", "sh")) else f"{word}s"


def visible(text: object) -> str:
    """Return a text on one line: line breaks and other control characters as they are escaped in Python."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def listed(items: Iterable[object], most: int = 12) -> str:
    """Return items in quotes with commas between, shortened when there are many."""
    known = [repr(item) for item in items]
    return ", ".join(known[:most]) + (f", … ({len(known)} in all)" if len(known) > most else "")


def meant(given: object, known: Iterable[object]) -> str:
    """Return " (did you mean 'x'?)" if a known name or state is spelled much like what was given."""
    spelled: dict[str, object] = {}
    for item in known:
        spelled.setdefault(str(item).casefold(), item)
    close = get_close_matches(str(given).casefold(), list(spelled), n=1)
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""
