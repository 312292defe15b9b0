"""Whether the pages of a Parquet file can be as long as they say.

The library that reads Parquet believes what a page says of its own length, and where that is damaged it asks
for more memory than there is, which ends the process. So pages are gone through first: only their headers,
in the compact form of Thrift, bounded in depth and in what they may say.
"""

from __future__ import annotations

import mmap
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from lacunary.errors import FileError

__all__ = ["check_pages"]

DEPTH = 16
"""Structures and lists within one another, of which Parquet's own are eight at most."""

FOOTER = 2**21
"""Bytes at the end of a file, where its columns are told, beyond which pages are not gone through: with so
very many columns that would take seconds."""

MAGIC, LEAST = b"PAR1", 12
"""What files begin and end with, and the fewest bytes they have."""

GROUPS, COLUMNS, ABOUT = 4, 1, 3
"""Fields: the groups of rows of a file, the columns of a group, what is told of a column."""

VALUES, LENGTH, DATA, DICTIONARY = 5, 7, 9, 11
"""Fields of what is told of a column: values, bytes, where pages begin, and where their dictionary does."""

FULL, PACKED, WORDS = 2, 3, 7
"""Fields of a page's header: bytes when unpacked and as they are, and what a dictionary says of itself."""

HEADERS = (5, WORDS, 8)
"""Fields of a page's header: what pages of each kind say of themselves (5 and 8 hold data)."""

WRONG = (ValueError, LookupError, TypeError, AttributeError)
"""What comes of reading what is not there: anything may stand anywhere."""


class _Broken(ValueError):
    """What is read is not what it should be."""


class _Reader:
    """Reads the compact form of Thrift from some place on."""

    def __init__(self, data: Any, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return a structure's fields by number."""
        out: dict[int, Any] = {}
        field = 0
        while kind := self._byte():
            field = field + (kind >> 4) if kind >> 4 else self._number()
            out[field] = self._value(kind & 15, depth)
        return out

    def _value(self, kind: int, depth: int) -> Any:
        if depth > DEPTH:
            raise _Broken
        if kind in (1, 2):  # true and false
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):  # whole numbers of any length
            return self._number()
        if kind == 7:
            return self.skip(8)
        if kind == 8:
            return self.skip(self._unsigned())
        if kind in (9, 10):
            return self._list(depth + 1)
        if kind == 12:
            return self.struct(depth + 1)
        raise _Broken

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        many = self._unsigned() if head >> 4 == 15 else head >> 4
        if many > self.end - self.at:  # each takes a byte at least
            raise _Broken
        if head & 15 in (1, 2):
            return [self._byte() == 1 for _ in range(many)]
        return [self._value(head & 15, depth) for _ in range(many)]

    def _byte(self) -> int:
        if self.at >= self.end:
            raise _Broken
        self.at += 1
        return int(self.data[self.at - 1])

    def _unsigned(self) -> int:
        out = shift = 0
        while shift < 70:
            byte = self._byte()
            out |= (byte & 127) << shift
            if byte < 128:
                return out
            shift += 7
        raise _Broken

    def _number(self) -> int:
        folded = self._unsigned()
        return (folded >> 1) ^ -(folded & 1)

    def skip(self, size: int) -> None:
        """Go on behind so many bytes."""
        if size > self.end - self.at:
            raise _Broken
        self.at += size


def check_pages(path: Path | str) -> None:
    """Refuse a Parquet file with a page that says of itself what cannot be; each file once."""
    try:
        about = os.stat(path)
    except OSError:  # for who reads it to say
        return
    group = _broken_group(str(path), about.st_size, about.st_mtime_ns)
    if group is not None:
        raise FileError(
            f"{path} cannot be read as parquet; it is damaged: in row group {group} a page says of itself "
            "what cannot be"
        )


@lru_cache(maxsize=4096)
def _broken_group(path: str, size: int, changed: int) -> int | None:
    """Return the first group of rows of a file, as it is now, with such a page; None if there is none."""
    if size < LEAST:
        return None
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            groups = _groups(data)
            return next((k for k, group in enumerate(groups) if not _is_sound(data, group)), None)
    except OSError:  # for who reads it to say
        return None
    except WRONG:
        return 0


def _is_sound(data: mmap.mmap, group: dict[int, Any]) -> bool:
    """Whether the pages of a group's columns say what can be."""
    try:
        for column in group.get(COLUMNS, []):
            if ABOUT in column:  # it is not where the file is encrypted
                _check_column(data, column[ABOUT])
    except WRONG:
        return False
    return True


def _groups(data: mmap.mmap) -> list[dict[int, Any]]:
    """Return what is told of every group of rows; nothing where that is too long."""
    size = len(data)
    length = int.from_bytes(data[size - 8 : size - 4], "little")
    if data[size - 4 :] != MAGIC or length > min(FOOTER, size - LEAST):
        return []
    return list(_Reader(data, size - 8 - length, size - 8).struct().get(GROUPS, []))


def _check_column(data: mmap.mmap, told: dict[int, Any]) -> None:
    first = min(at for at in (told.get(DATA), told.get(DICTIONARY)) if at)
    length, left = told[LENGTH], told[VALUES]
    if not (0 < first <= first + length <= len(data)) or left < 0:
        raise _Broken
    page = _Reader(data, first, len(data))  # some writers leave the dictionary out of the length
    while left > 0 and page.at < first + length:
        header = page.struct()
        if header.get(FULL, -1) < 0 or header.get(PACKED, -1) < 0:
            raise _Broken
        for kind in HEADERS:
            values = header.get(kind, {1: 0}).get(1, -1)
            # A dictionary may have more than its column uses, but each takes a byte at least.
            most = header[FULL] if kind == WORDS else told[VALUES]
            if not 0 <= values <= most:
                raise _Broken
            left -= 0 if kind == WORDS else values
        page.skip(header[PACKED])
