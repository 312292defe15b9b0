"""Columns of very many texts that are dates, times or numbers with decimal commas, all of them: read at once.

Their texts are never numbered one by one, as those of other columns are. What is read, and what is said of
it, is what `lacunary.data.bare` would make of the texts; what it would make anything else of is left to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.column import Moments, Numbers
from lacunary.data.moments import by_stencil
from lacunary.data.schema import Label
from lacunary.data.spelling import Spelling, spelled
from lacunary.data.stencil import bytes_of
from lacunary.data.wording import holes_told

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Reads"]

AS_IT_SEEMS = Spelling()

NEWLINE, PART, MINUS, ZERO = b"\n,-0"

DIGITS = 15
"""Digits before a decimal comma."""

PIECE = 2**16
"""Letters that are looked through at a time."""

SAMPLE = 200
"""Texts that are looked at before all are."""

COMMA = r"^-?(?:0|[1-9][0-9]{0,14})(?:,[0-9]{1,40})?$"
NO_THOUSANDS = re.compile(r",(?:[0-9]{1,2}|[0-9]{4,})$")
"""A number with a decimal comma, and one whose comma does not part thousands; as `spelling.COMMAS`."""


@dataclass(frozen=True)
class Reads:
    """What may be read at once in a file.

    Attributes
    ----------
    spelling
        How numbers and dates are written.
    kept
        Whether the column of a name stays as it is written.
    """

    spelling: Spelling = AS_IT_SEEMS
    kept: Callable[[str], bool] = lambda name: False

    def column(self, name: str, texts: pl.Series, marks: frozenset[str]) -> Moments | Numbers | None:
        """Return many texts as what all of them are but marks of holes; None if they are something else."""
        if self.kept(name):
            return None
        told = [text for text in map(str.strip, texts.head(2 * SAMPLE).to_list()) if text not in marks][
            :SAMPLE
        ]
        if not told:
            return None
        if self.spelling.dates_of(name) != "text" and self._dated_by(told):
            for cells in _looks(texts, marks):
                if found := self._moments(name, cells, len(told[0])):
                    return found
        if self._may_have_commas(told):
            for cells in _looks(texts, marks):
                if numbers := self._numbers(name, cells, told):
                    return numbers
        return None

    def _moments(self, name: str, cells: _Cells, width: int) -> Moments | None:
        letters = cells.letters
        if letters is None or letters.size != len(cells.texts) * (width + 1):
            return None
        lines = letters.reshape(-1, width + 1)
        if not (lines[:, width] == NEWLINE).all():
            return None
        found = by_stencil(lines[:, :width], self.spelling.day_first)
        if found is None:
            return None
        wall = None if found.wall is None else _laid(found.wall, cells.seen)
        said = f"; {found.said}{holes_told(cells.gone)}"
        seconds = _laid(found.seconds, cells.seen)
        return Moments(name, seconds, found.kind, found.zone, wall, said, found.doubt)

    def _dated_by(self, told: list[str]) -> bool:
        """Whether texts are all written by one stencil."""
        letters = bytes_of(told)
        return letters is not None and by_stencil(letters, self.spelling.day_first) is not None

    def _may_have_commas(self, told: list[str]) -> bool:
        """Whether texts are numbers, some of them with a comma that may be a decimal one."""
        how = self.spelling
        if how.decimal == "." or how.thousands == "," or "," not in "".join(told):
            return False
        return spelled(told, how) is not None

    def _numbers(self, name: str, cells: _Cells, told: list[str]) -> Numbers | None:
        import polars as pl

        texts, lengths = cells.texts, cells.texts.str.len_bytes()
        short = int(lengths.max() or 0) <= DIGITS  # type: ignore[arg-type]
        if short and (cells.letters is None or not _all_with_commas(cells.letters)):
            return None
        if not short and not texts.str.contains(COMMA).all():
            return None
        if not any(map(NO_THOUSANDS.search, told)) and not texts.str.contains(NO_THOUSANDS.pattern).any():
            return None
        if short and cells.letters is not None:  # which takes two thirds of the time
            how: dict[str, Any] = {"has_header": False, "separator": ";", "decimal_comma": True}
            found = pl.read_csv(cells.letters.tobytes(), schema={"x": pl.Float64}, **how)["x"]
        else:
            found = texts.str.replace(",", ".", literal=True).cast(pl.Float64)
        values = found.to_numpy()
        longest = int(lengths.arg_max() or 0)
        said = f"; {texts[longest]!r} is read as {values[longest]:.12g}{holes_told(cells.gone)}"
        return Numbers(name, _laid(values, cells.seen), said=said)


@dataclass(frozen=True)
class _Cells:
    """Texts of a column, where these stand if not everywhere, and the marks of holes elsewhere."""

    texts: pl.Series
    seen: pl.Series | None = None
    gone: Sequence[Label] = ()

    @cached_property
    def letters(self) -> NDArray[np.uint8] | None:
        """Their letters, each text with a line end behind it; None if others than ASCII's are among them."""
        joined = self.texts.str.join("\n").item()
        joined += "\n"
        letters = np.frombuffer(joined.encode(), dtype=np.uint8) if joined.isascii() else None
        if letters is None or np.count_nonzero(letters == NEWLINE) != len(self.texts):
            return None
        return letters


def _looks(texts: pl.Series, marks: frozenset[str]) -> Iterator[_Cells]:
    """Yield all texts, if no mark of holes is read as what they are, and then those that are no marks."""
    if not any(map(str.isdigit, "".join(marks))):
        yield _Cells(texts)
    cells = texts.str.strip_chars()
    empty = cells.is_in(list(marks))
    if not empty.any():
        yield _Cells(cells)
    else:
        gone = cells.filter(empty).unique(maintain_order=True).to_list()
        yield _Cells(cells.filter(~empty), ~empty, gone)


def _all_with_commas(letters: NDArray[np.uint8]) -> bool:
    """Whether all lines are numbers as `COMMA` has them, if none has more than `DIGITS` letters."""
    begin = 0
    while begin < len(letters):  # some lines at a time, which stay in the processor's cache
        rest = letters[begin + PIECE - 1 : begin + PIECE + DIGITS]
        end = begin + PIECE + int(np.argmax(rest == NEWLINE)) if len(rest) else len(letters)
        if not _are_with_commas(letters[begin:end]):
            return False
        begin = end
    return True


def _are_with_commas(letters: NDArray[np.uint8]) -> bool:
    around = np.concatenate([np.frombuffer(b"\n", dtype=np.uint8), letters])
    digit, comma, minus, end = around - ZERO < 10, around == PART, around == MINUS, around == NEWLINE
    if not (digit | comma | minus | end).all() or np.any(minus[1:] & ~end[:-1]):
        return False
    # A comma stands behind a digit, as the end of a line does, and before one, as a minus does.
    if np.any((comma | end)[1:] & ~digit[:-1]) or np.any((comma | minus)[:-1] & ~digit[1:]):
        return False
    if np.any((end | minus)[:-2] & (around[1:-1] == ZERO) & digit[2:]):
        return False
    signs = around[comma | end]
    return not np.any((signs[1:] == PART) & (signs[:-1] == PART))


def _laid(values: NDArray[np.float64], seen: pl.Series | None) -> NDArray[np.float64]:
    """Return numbers where they were seen, and holes elsewhere."""
    if seen is None:
        return values
    out = np.full(len(seen), np.nan)
    out[seen.to_numpy()] = values
    return out
