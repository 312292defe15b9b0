"""Whether the buffers of an Arrow file can be as long as they say.

The library that reads Arrow files believes what a batch of rows says of its buffers, and where that is
damaged it asks for more memory than there is, which ends the process. So what batches say is gone through
first: flatbuffers, of which only the few tables are read that name blocks, batches and buffers.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import reserve
from lacunary.errors import FileError

__all__ = ["check_batches"]

MAGIC, LEAST = b"ARROW1", 24
"""What files begin and end with, and the fewest bytes that have a footer."""

DICTIONARIES, BATCHES = 2, 3
"""Fields of the footer: where the blocks of dictionaries and of rows are, each 24 bytes long."""

KIND, HEADER = 1, 2
"""Fields of a block's message: what it holds, and that itself."""

DICTIONARY, ROWS = 2, 3
"""Kinds of messages; a dictionary has its rows in its field 1."""

BUFFERS, COMPRESSION = 2, 3
"""Fields of rows: a place and a length for each buffer, and how they are packed, if they are."""

LARGEST = 2**16
"""What a byte of a packed buffer can become at most: zstd has repeats of 128 KiB in four bytes."""


class _Broken(ValueError):
    """What is read is not what it should be."""


class _Bytes:
    """Some bytes of a file, and the tables and lists of a flatbuffer in it."""

    def __init__(self, data: mmap.mmap, first: int, end: int) -> None:
        if not 0 <= first <= end <= len(data):
            raise _Broken
        self.data, self.first, self.end = data, first, end

    def numbers(self, form: str, at: int) -> tuple[int, ...]:
        """Return the numbers at some place of the file."""
        if not self.first <= at <= self.end - struct.calcsize(form):
            raise _Broken
        return struct.unpack_from(form, self.data, at)

    def root(self) -> int:
        """Return where the outermost table is."""
        return self.first + self.numbers("<I", self.first)[0]

    def field(self, table: int, number: int) -> int | None:
        """Return where a field of a table is; None if the table does not have it."""
        fields = table - self.numbers("<i", table)[0]
        [size] = self.numbers("<H", fields)
        if size < 2 * number + 6:
            return None
        [offset] = self.numbers("<H", fields + 4 + 2 * number)
        return table + offset if offset else None

    def inner(self, table: int, number: int) -> int | None:
        """Return where the table or list is that a field stands for."""
        at = self.field(table, number)
        return None if at is None else at + self.numbers("<I", at)[0]

    def rows(self, table: int, number: int, width: int) -> NDArray[np.int64]:
        """Return the whole numbers in a list of a table, so many in each of its things."""
        at = self.inner(table, number)
        if at is None:
            return np.empty((0, width), dtype=np.int64)
        [many] = self.numbers("<I", at)
        size = 8 * width * many
        if at + 4 + size > self.end:
            raise _Broken
        return np.frombuffer(self.data[at + 4 : at + 4 + size], dtype="<i8").reshape(many, width)


def check_batches(path: Path | str) -> None:
    """Refuse an Arrow file with a batch of rows whose buffers cannot be, or not in memory; each file once."""
    try:
        about = os.stat(path)
    except OSError:  # for who reads it to say
        return
    largest = _largest(str(path), about.st_size, about.st_mtime_ns)
    if largest is None:
        raise FileError(
            f"{path} cannot be read as an Arrow file; it is damaged: a batch of rows says of itself what "
            "cannot be"
        )
    reserve(float(largest), f"{path}: a batch of its rows when unpacked", "write it again in smaller batches")


@lru_cache(maxsize=4096)
def _largest(path: str, size: int, changed: int) -> int | None:
    """Return the bytes of the largest packed batch when unpacked; None if a batch says what cannot be."""
    if size < LEAST:
        return 0
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return max((_unpacked(data, *block) for block in _blocks(data)), default=0)
    except OSError:  # for who reads it to say
        return 0
    except (ValueError, struct.error):
        return None


def _blocks(data: mmap.mmap) -> Iterator[tuple[int, int, int]]:
    """Yield where each batch begins, and how many bytes there are of what is told of it, and of itself."""
    size = len(data)
    if data[: len(MAGIC)] != MAGIC or data[size - len(MAGIC) :] != MAGIC:
        return  # for who reads it to say
    footer = size - len(MAGIC) - 4
    length = int.from_bytes(data[footer : footer + 4], "little", signed=True)
    told = _Bytes(data, footer - length, footer)
    for number in (DICTIONARIES, BATCHES):
        for first, about, length in told.rows(told.root(), number, 3).tolist():
            yield first, about & 0xFFFFFFFF, length  # the second is of 32 bits, and as many of nothing


def _unpacked(data: mmap.mmap, first: int, about: int, length: int) -> int:
    """Return the bytes that a batch's buffers have when unpacked; none where they are not packed."""
    told = _Bytes(data, first + _prefix(data, first), first + about)
    if not 0 <= length <= len(data) - first - about:
        raise _Broken
    message = told.root()
    kind, rows = told.field(message, KIND), told.inner(message, HEADER)
    if kind is None or rows is None or told.numbers("<B", kind)[0] not in (DICTIONARY, ROWS):
        raise _Broken
    if told.numbers("<B", kind)[0] == DICTIONARY and (rows := told.inner(rows, 1)) is None:
        raise _Broken
    places, sizes = told.rows(rows, BUFFERS, 2).T
    if places.size == 0:
        return 0
    if places.min() < 0 or sizes.min() < 0 or (places > length - sizes).any():
        raise _Broken
    if told.inner(rows, COMPRESSION) is None:
        return 0
    places, sizes = places[sizes > 0], sizes[sizes > 0]
    begin = first + about
    heads = b"".join(data[begin + place : begin + place + 8] for place in places.tolist())
    whole = np.frombuffer(heads, dtype="<i8")  # their sizes when unpacked; -1 if they are not packed
    if len(whole) != len(sizes) or (whole < -1).any() or (whole // LARGEST > sizes).any():
        raise _Broken
    return int(np.where(whole < 0, sizes, whole).sum())


def _prefix(data: mmap.mmap, first: int) -> int:
    """Return how many bytes stand before a message: its length, and of later writers a sign before that."""
    [sign] = _Bytes(data, first, len(data)).numbers("<I", first)
    return 8 if sign == 0xFFFFFFFF else 4
