"""Files read piece by piece, within bounds: what they unpack to, how long a line is, what memory there is."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, BinaryIO

from lacunary.budget import SMALL, reserve
from lacunary.errors import FileError

__all__ = ["Bounded"]

RATIO, FREE = 400, 64 * 2**20
"""How many times as large as the file what it unpacks to may be, once that is more than so many bytes."""

LINE = 64 * 2**20
"""Bytes that a line may have; a table's row takes far less."""

STRIDE = 64 * 2**20
"""Bytes after which it is asked again whether there is room."""


class Bounded(io.RawIOBase):
    """A binary file, unpacked or as it is, that refuses to go on where it would never end well.

    Parameters
    ----------
    plain
        What to read from.
    path
        The file's path, for errors.
    below
        The file below, where ``plain`` unpacks it.
    lines
        Whether it is read line by line.
    """

    def __init__(
        self, plain: BinaryIO, path: Path, below: BinaryIO | None = None, lines: bool = True
    ) -> None:
        self.plain, self.path, self.below, self.lines = plain, path, below, lines
        self.read_so_far = self.line = 0
        self.asked = STRIDE

    def readable(self) -> bool:
        """Return that it is."""
        return True

    def seekable(self) -> bool:
        """Return that it is, back to its beginning."""
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go back to the beginning."""
        if (offset, whence) != (0, 0):
            raise io.UnsupportedOperation("only to the beginning")
        self.read_so_far = self.line = 0
        return self.plain.seek(0)

    def tell(self) -> int:
        """Return how many bytes were read."""
        return self.read_so_far

    def readinto(self, buffer: Any, /) -> int:
        """Read the next piece; refuse where a bound is passed."""
        data = self.plain.read(len(buffer))
        buffer[: len(data)] = data
        self.read_so_far += len(data)
        last = data.rfind(b"\n")
        self.line = self.line + len(data) if last < 0 else len(data) - last - 1
        self._check()
        return len(data)

    def _check(self) -> None:
        if self.lines and self.line > LINE:
            raise FileError(f"{self.path}: a line of more than {LINE} bytes; this is no table of rows")
        limit = FREE if self.below is None else max(FREE, RATIO * self.below.tell())
        if self.below is not None and self.read_so_far > limit:
            raise FileError(
                f"{self.path} unpacks to more than {RATIO} times its size; unpack it first if that is right"
            )
        if self.read_so_far > self.asked:
            self.asked += STRIDE
            # What was read takes about as much again as numbers, and while these are put together.
            reserve(
                max(STRIDE, SMALL) * 2.0, f"{self.path}: going on to read it", "read fewer rows or columns"
            )
