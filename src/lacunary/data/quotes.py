"""Lines of delimited text as `csv` takes them: no blanks between a closing quote and what parts cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lacunary.data.wording import counted

__all__ = ["Closed"]


class Closed:
    """Lines in which what parts cells comes right behind a closing quote, if only blanks stood between.

    Python's reader takes ``"a" ,b`` for a mistake if it is strict, and if not, ``"a"b`` for ``ab``.

    Attributes
    ----------
    many
        Cells so far behind which blanks were left out.
    """

    def __init__(
        self, lines: Iterable[str], delimiter: str, quote: str = '"', escape: str | None = None
    ) -> None:
        self.lines, self.quote, self.many = lines, quote, 0
        mark, parts = re.escape(quote or '"'), re.escape(delimiter)
        blank = " " if delimiter == "\t" else r"[ \t]"
        inner = rf"[^{mark}]|{mark}{mark}" if escape is None else rf"{re.escape(escape)}.|[^{mark}]"
        self.opening = re.compile(rf" *{mark}")
        self.closing = re.compile(rf"(?:{inner})*+{mark}({blank}+(?=[{parts}\r\n]|\Z))?", re.DOTALL)
        self.next = re.compile(rf"[^{parts}]*{parts}")

    @property
    def said(self) -> tuple[str, ...]:
        """What was done, if anything."""
        return (f"blanks behind quotes left out, in {counted(self.many, 'cell')}",) if self.many else ()

    def __iter__(self) -> Iterator[str]:
        inside = False
        for line in self.lines:
            if self.quote and (inside or self.quote in line):
                line, inside = self._closed(line, inside)
            yield line

    def _closed(self, line: str, inside: bool) -> tuple[str, bool]:
        """Return a line without such blanks, and whether it ends within quotes."""
        kept: list[str] = []
        place = done = 0
        while True:
            opened = None if inside else self.opening.match(line, place)
            if inside or opened:
                ended = self.closing.match(line, opened.end() if opened else place)
                inside = ended is None
                if ended is None:
                    break
                if ended[1]:
                    self.many += 1
                    kept.append(line[done : ended.start(1)])
                    done = ended.end()
                place = ended.end()
            following = self.next.match(line, place)
            if following is None:
                break
            place = following.end()
        return "".join(kept) + line[done:], inside
