"""A large text file as polars parts it, some lines at a time, with measurements laid side by side.

Read in one piece, polars holds the whole text beside the columns, and does not give back the memory of
columns that are given up; so here some lines are parted at a time, and measurements go at once where a table
has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BLOCK", "Parted", "head", "parted"]

QUOTE = ord('"')

BLOCK = 2**22
"""Bytes of a part of a file that is read by itself."""

DEEP = 2**13
"""Bytes of a column that are parted at a time, at least: each time takes as long as some of them."""


@dataclass(frozen=True, eq=False)
class Parted:
    """The columns of a file.

    Attributes
    ----------
    series
        Texts, categories and whole numbers, by name.
    places
        Where each column of measurements stands in ``cells``, by name.
    cells
        Measurements, NaN where there is none, side by side; (rows, columns). Columns of others mean nothing.
    infinite
        Columns of measurements in which NaN or an infinity is spelled out.
    whole
        Columns of measurements in which a number is whole, so that it may be written as codes are.
    """

    series: dict[str, pl.Series]
    places: dict[str, int]
    cells: NDArray[np.float64]
    infinite: frozenset[str]
    whole: frozenset[str]

    def measured(self, name: str) -> NDArray[np.float64]:
        """Return a copy of a column of measurements; (rows,)."""
        return np.ascontiguousarray(self.cells[:, self.places[name]])


def parted(path: Path, chosen: Sequence[str], how: dict[str, Any]) -> Parted:
    """Return the chosen columns of a file with a header line, read as polars is told how."""
    import polars as pl

    series: dict[str, list[pl.Series]] = {}
    places: dict[str, int] = {}
    blocks: list[NDArray[np.float64]] = []
    infinite, whole = set[str](), set[str]()
    for frame in _frames(path, max(BLOCK, DEEP * len(chosen)), how):
        block = np.empty((len(frame), len(chosen)))
        columns = {each.name: each.alias("") for each in frame.get_columns()}  # polars takes * for a pattern
        for place, name in enumerate(chosen):
            column = columns[name]
            if not column.dtype.is_float():
                series.setdefault(name, []).append(column)
                continue
            places[name] = place
            if not column.is_finite().all():  # of what is not null
                infinite.add(name)
            values = column.to_numpy()
            if name not in whole and np.any(values == np.floor(values)):
                whole.add(name)
            block[:, place] = values
        blocks.append(block)
    together = {name: pl.concat(parts) for name, parts in series.items()}
    cells = _below(blocks, bool(places))
    return Parted(together, places, cells, frozenset(infinite), frozenset(whole))


def _below(blocks: list[NDArray[np.float64]], any_measured: bool) -> NDArray[np.float64]:
    """Return blocks below each other, each given up as soon as it is laid."""
    rows, width = sum(map(len, blocks)), blocks[0].shape[1]
    if not any_measured:
        return np.empty((rows, 0))
    cells, end = np.empty((rows, width)), rows
    while blocks:
        block = blocks.pop()
        cells[end - len(block) : end] = block
        end -= len(block)
    return cells


def _frames(path: Path, size: int, how: dict[str, Any]) -> Iterator[pl.DataFrame]:
    """Yield a file's columns, some lines at a time; at least once, if only with the header line."""
    import polars as pl

    with open(path, "rb") as file:
        header = _to_line_end(file, file.readline())
        more = True
        while more:
            text = _to_line_end(file, header, file.read(size))
            more = len(text) >= len(header) + size
            yield pl.read_csv(text, **how)


def head(path: Path, lines: int) -> bytes:
    """Return the first lines of a file, of which polars would take all into memory."""
    with open(path, "rb") as file:
        return _to_line_end(file, b"".join(islice(file, lines)))


def _to_line_end(file: BinaryIO, *parts: bytes) -> bytes:
    """Return some bytes of a file with what follows up to the end of a line that is not within a cell."""
    pieces = list(parts)
    if pieces[-1] and not pieces[-1].endswith(b"\n"):
        pieces.append(file.readline())
    inside = sum(map(_quotes, pieces)) % 2
    while inside and (line := file.readline()):
        pieces.append(line)
        inside = (inside + _quotes(line)) % 2
    return b"".join(pieces)


def _quotes(text: bytes) -> int:
    """Return how many quotes there are; where they are many, NumPy counts them several times as fast."""
    if b'"' not in text:
        return 0
    return int(np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == QUOTE))
