"""Text files of which nothing is to be left out but lines above the header: copied as they are, much faster.

Where there is more to do, or a line is odd, it is left to `lacunary.data.rewrite`, which says what and where.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any, BinaryIO

from lacunary.data.delimited import BROKEN, strictly
from lacunary.data.large import is_regular
from lacunary.data.tidy import BLANKS, FIXED, WIDE, Opening, Tidied, unpacked

__all__ = ["beheaded"]

PIECE = 2**20
BOM = b"\xef\xbb\xbf"
PLAIN = Opening()


def beheaded(path: Path, target: Path, found: Tidied, how: Opening) -> int | None:
    """Write a text file again from its header on; return how many comments were above, None if it is odd."""
    plain = (how.header, how.names, how.quote, how.escape, how.ragged)
    if (
        plain != (PLAIN.header, PLAIN.names, PLAIN.quote, PLAIN.escape, PLAIN.ragged)
        or found.encoding != "utf-8-sig"
        or found.delimiter in (BLANKS, WIDE, FIXED)
        or any((found.wrapped, found.unnamed, found.empty, found.described, found.below))
    ):
        return None
    comment = how.comment or found.comment or ""
    with unpacked(path) as raw, open(target, "wb") as out:
        try:
            header, comments = _header(raw, found.above, comment)
            [names] = strictly([header], found.delimiter)
            out.write(header.encode())
            if not _copied(raw, out, comment):
                return None
        except (ValueError, csv.Error, *BROKEN):  # it is no UTF-8, or no line of cells
            return None
    return comments if is_regular(target, found.delimiter, len(names)) else None


def _header(raw: BinaryIO, above: int, comment: str) -> tuple[str, int]:
    """Return the first line behind so many that is no comment, nor blank, and how many comments were."""
    comments, line = 0, raw.readline().removeprefix(BOM)
    for number in range(above + PIECE):
        text = line.decode()
        if not line or "\r" in text.rstrip("\r\n"):
            raise ValueError
        if number >= above and text.strip():
            if not comment or not text.lstrip().startswith(comment):
                return text, comments
            comments += 1
        line = raw.readline()
    raise ValueError


def _copied(raw: Any, out: BinaryIO, comment: str) -> bool:
    """Copy all lines that are left; tell whether none of them is odd."""
    odd = re.compile(rf"\n\s*{re.escape(comment)}")
    while block := raw.read(PIECE):
        block += raw.readline()
        text = block.decode()
        if "\x1a" in text or (comment and comment in text and odd.search("\n" + text)):
            return False
        out.write(block)
    return True
