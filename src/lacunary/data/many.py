"""Columns of very many texts that are dates, times or numbers with decimal commas, all of them: read at once.

Their texts are never numbered one by one, as those of other columns are. What is read, and what is said of
it, is what `lacunary.data.bare` would make of the texts; what it would make anything else of is left to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lacunary.data.column import Moments, Numbers
from lacunary.data.moments import Dated, by_stencil
from lacunary.data.spelling import Spelling, spelled
from lacunary.data.wording import holes_told

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Reads"]

AS_IT_SEEMS = Spelling()

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
    kept: Callable[[str], bool] = bool

    def column(self, name: str, texts: pl.Series, marks: frozenset[str]) -> Moments | Numbers | None:
        """Return many texts as what all of them are but marks of holes; None if they are something else."""
        if self.kept(name):
            return None
        told = [text for text in map(str.strip, texts.head(2 * SAMPLE).to_list()) if text not in marks][
            :SAMPLE
        ]
        if not told:
            return None
        if self.spelling.dates_of(name) != "text" and (found := self._moments(name, texts, told, marks)):
            return found
        return self._numbers(name, texts, told, marks)

    def _moments(self, name: str, texts: pl.Series, told: list[str], marks: frozenset[str]) -> Moments | None:
        width = len(told[0])
        if {*map(len, told)} != {width} or self._dated("".join(told), width) is None:
            return None
        cells, seen, gone = _without(texts, marks)
        found = self._dated(cells.str.join("").item(), width) if _alike(cells, width) else None
        if found is None:
            return None
        wall = None if found.wall is None else _laid(found.wall, seen)
        said = f"; {found.said}{holes_told(gone)}"
        return Moments(name, _laid(found.seconds, seen), found.kind, found.zone, wall, said, found.doubt)

    def _dated(self, joined: str, width: int) -> Dated | None:
        if not joined.isascii():
            return None
        cells = np.frombuffer(joined.encode(), dtype=np.uint8).reshape(-1, width)
        return by_stencil(cells, self.spelling.day_first)

    def _numbers(self, name: str, texts: pl.Series, told: list[str], marks: frozenset[str]) -> Numbers | None:
        import polars as pl

        how = self.spelling
        if (
            how.decimal == "."
            or how.thousands == ","
            or "," not in "".join(told)
            or spelled(told, how) is None
        ):
            return None
        cells, seen, gone = _without(texts, marks)
        if not cells.str.contains(COMMA).all():
            return None
        if not any(map(NO_THOUSANDS.search, told)) and not cells.str.contains(NO_THOUSANDS.pattern).any():
            return None
        values = cells.str.replace(",", ".", literal=True).cast(pl.Float64).to_numpy()
        longest = int(cells.str.len_bytes().arg_max() or 0)
        said = f"; {cells[longest]!r} is read as {values[longest]:.12g}{holes_told(gone)}"
        return Numbers(name, _laid(values, seen), said=said)


def _without(texts: pl.Series, marks: frozenset[str]) -> tuple[pl.Series, pl.Series | None, list[str]]:
    """Return the texts that are no marks of holes, where these stand if not everywhere, and the marks."""
    cells = texts.str.strip_chars()
    empty = cells.is_in(list(marks))
    if not empty.any():
        return cells, None, []
    return cells.filter(~empty), ~empty, cells.filter(empty).unique(maintain_order=True).to_list()


def _alike(cells: pl.Series, width: int) -> bool:
    """Whether all texts have so many letters."""
    lengths = cells.str.len_bytes()
    return bool(lengths.min() == width == lengths.max())


def _laid(values: NDArray[np.float64], seen: pl.Series | None) -> NDArray[np.float64]:
    """Return numbers where they were seen, and holes elsewhere."""
    if seen is None:
        return values
    out = np.full(len(seen), np.nan)
    out[seen.to_numpy()] = values
    return out
