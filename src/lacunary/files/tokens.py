"""Words, quoted texts and punctuation of the BIF and NET languages, each with its line and column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf

from lacunary.errors import FileError
from lacunary.files.parsed import Word

__all__ = ["Dialect", "Tokens", "as_numbers"]


@dataclass(frozen=True)
class Dialect:
    """What a token is in one language.

    Attributes
    ----------
    pattern
        Matches a comment, or a token as its only group. It has to match in linear time: an unclosed
        comment or quote is therefore one token to its end, which no parser accepts.
    punctuation
        The characters that are tokens by themselves.
    """

    pattern: re.Pattern[str]
    punctuation: frozenset[str]


def as_numbers(texts: Sequence[str]) -> list[float] | None:
    """Return the texts as numbers, or None if one is not a number, negative or not finite."""
    try:
        values = list(map(float, texts))
    except ValueError:
        return None
    # A sum notices NaN and ∞ in one comparison; float() takes "1_0" for ten, which no file means.
    sound = not values or (min(values) >= 0 and sum(values) < inf and "_" not in "".join(texts))
    return values if sound else None


class Tokens:
    """The tokens of a text, read from the first to the last.

    A *place* is the number of a token. Its line and column are worked out when an error asks for
    them, so the text is split by one pass of the pattern.
    """

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text = text
        self.dialect = dialect
        self.all = [token for token in dialect.pattern.findall(text) if token]
        self.place = 0

    def peek(self) -> str:
        """Return the next token without taking it; empty at the end."""
        return self.all[self.place] if self.place < len(self.all) else ""

    def take(self, *wanted: str) -> str:
        """Take the next token, which must be one of these."""
        token = self.peek()
        if token not in wanted:
            raise self.unexpected(self.place, " or ".join(repr(word) for word in wanted))
        self.place += 1
        return token

    def name(self, what: str) -> Word:
        """Take the next token as a name, without its quotes."""
        word = self.word(self.place, what)
        self.place += 1
        return word

    def word(self, place: int, what: str) -> Word:
        """Return the token at a place as a name, without its quotes."""
        token = self.all[place] if place < len(self.all) else ""
        if not token or token in self.dialect.punctuation or token.startswith("/*"):
            raise self.unexpected(place, what)
        if token.startswith('"'):
            if len(token) < 2 or not token.endswith('"'):
                raise self.error(place, "this quote is not closed on its line")
            token = token[1:-1].replace('\\"', '"')
        return Word(token, place)

    def until(self, end: str) -> range:
        """Take everything up to and with ``end``; return the places before it."""
        start = self.place
        stop = self.find(end, start, len(self.all))
        self.place = stop + 1
        return range(start, stop)

    def find(self, token: str, start: int, stop: int) -> int:
        """Return the first place of a token between two places."""
        try:
            return self.all.index(token, start, stop)
        except ValueError:
            raise self.unexpected(stop, repr(token)) from None

    def numbers(self, places: Sequence[int], end: int, count: int, what: str) -> list[float]:
        """Return the tokens at these places, all before ``end``, as ``count`` numbers, none negative."""
        values = as_numbers([self.all[place] for place in places])
        if values is None:
            bad = next((p for p in places if as_numbers([self.all[p]]) is None), places[0])
            raise self.unexpected(bad, "a number that is not negative")
        if len(values) != count:
            where = places[0] if places else end
            raise self.error(where, f"{what} needs {count} value{'s' * (count != 1)}, not {len(values)}")
        return values

    def unexpected(self, place: int, wanted: str) -> FileError:
        """Return the error that something else was wanted at a place."""
        if place >= len(self.all):
            return self.error(place, f"expected {wanted}, but the text ends here; is the file cut short?")
        token = self.all[place]
        if token.startswith("/*"):
            return self.error(place, "this comment is not closed")
        return self.error(
            place, f"expected {wanted}, but found {token if len(token) < 40 else token[:37] + '…'!r}"
        )

    def error(self, place: int, message: str) -> FileError:
        """Return the error with the line and column of a place."""
        starts = (match.start(1) for match in self.dialect.pattern.finditer(self.text) if match.group(1))
        start = next(islice(starts, place, None), len(self.text))
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start)
        return FileError(f"line {line}, column {column}: {message}")
