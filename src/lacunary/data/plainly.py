"""Text files as a scan reads them: as they are, or written again in UTF-8 with commas, once for each process.

A file in order is read where it lies, some rows at a time. One in another encoding, compressed, or with lines
that are no part of the table is written again as `lacunary.read` would have it, and the copy is kept on this
machine while it is among the last few that were asked for.
"""

from __future__ import annotations

import codecs
import os
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lacunary.data.delimited import HEAD, delimiter_of, header_of, opened, strictly
from lacunary.data.foreign import PACKED, TEXT, is_text, other_encoding, unpacked_file
from lacunary.data.large import is_regular
from lacunary.data.parted import BLOCK
from lacunary.data.quotes import Closed
from lacunary.data.remote import Copies, here, is_remote, remote_stamp
from lacunary.data.rewrite import rewrite
from lacunary.data.tidy import Opening, look
from lacunary.errors import FileError

__all__ = ["Plain", "is_delimited", "plain_path", "plainly"]


class Plain(NamedTuple):
    """A text file that can be read some rows at a time.

    Attributes
    ----------
    path
        Where it lies on this machine.
    names, delimiter
        The columns, and what parts their cells.
    opening
        How the file was written again; None if it is read as it is.
    said, notes
        What was done to it, and what is doubtful about it, a sentence each.
    """

    path: str
    names: tuple[str, ...]
    delimiter: str
    opening: Opening | None = None
    said: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def is_delimited(path: str) -> bool:
    """Whether a file is delimited text by its suffix, compressed or not."""
    inner = Path(path).with_suffix("") if Path(path).suffix.lower() in (".gz", *PACKED) else Path(path)
    return inner.suffix.lower() in TEXT or Path(path).suffix.lower() == ".zip"


def plainly(path: str, how: Opening) -> Plain:
    """Return a text file as it is, or written again where it is not in order."""
    local, packed = here(path), not is_text(Path(path)) or path.lower().endswith(".gz")
    if not packed:
        encoding = how.encoding is None and not _is_utf8(local)
        found = look(Path(local), how)
        if encoding and found.encoding == "utf-8-sig":
            guess, note = other_encoding(local)
            plain = plainly(path, replace(how, encoding=guess))
            return plain._replace(notes=(note, *plain.notes))
        if how.plain and not found:
            names, sign, again = _header(Path(local))
            if not again and (len(names) == 1 or is_regular(Path(local), sign, len(names))):
                return Plain(local, names, sign, notes=found.notes)
    target, said, notes = _copy(path, how)
    names, sign, _ = _header(Path(target), ",")
    return Plain(target, names, sign, how, said, notes)


def plain_path(path: str, how: Opening | None) -> str:
    """Return where a text file lies on this machine, written again if it was not in order."""
    if how is None:
        return here(path)
    return _copy(path, how)[0]


Copy = tuple[str, tuple[str, ...], tuple[str, ...]]
"""Where a copy lies, what was done to it, and what is doubtful about it."""

_COPIES: Copies[Copy] = Copies()


def _copy(path: str, how: Opening) -> Copy:
    """Return the copy of a file as it is now."""
    if is_remote(path):
        stamp = remote_stamp(path)
    else:
        told = os.stat(path)
        stamp = told.st_size, told.st_mtime_ns
    return _COPIES.entry((path, stamp, repr(how)), partial(_written_again, path, how))


def _written_again(path: str, how: Opening, folder: str) -> Copy:
    with ExitStack() as stack:
        source, name = Path(here(path)), Path(path)
        done: tuple[str, ...] = ()
        if source.suffix.lower() in PACKED:
            below = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
            source, name, done = unpacked_file(source, name, below)
            if not is_text(source):
                raise FileError(f"{path} holds no delimited text; unpack it first")
        found = look(source, how)
        handle, target = tempfile.mkstemp(".csv", dir=folder)
        os.close(handle)
        more = rewrite(source, Path(target), found, how, name)
        return target, (*done, *found.said, *more), found.notes


def _is_utf8(path: str) -> bool:
    """Whether all of a file is UTF-8; one that begins as UTF-16 or 32 does is none, and tells by itself."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with open(path, "rb") as file:
            while block := file.read(BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}") from None
    return True


def _header(path: Path, sign: str | None = None) -> tuple[tuple[str, ...], str, bool]:
    """Return the names of the columns, what parts cells, and whether the header comes again further down."""
    with opened(path) as file:
        head = file.read(HEAD)
        sign = sign or delimiter_of(path, head)
        file.seek(0)
        names = header_of(path, strictly(Closed(file, sign), sign))
    line = next((line.strip() for line in head.splitlines() if line.strip()), "").encode()
    return names, sign, len(names) > 1 and _comes_again(path, line)


def _comes_again(path: Path, line: bytes) -> bool:
    """Whether a line stands in a file more than once."""
    seen, before = 0, b"\n"
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            text = before + block
            seen += text.count(b"\n" + line) + text.count(b"\n" + codecs.BOM_UTF8 + line)
            before = text[-len(line) :]  # shorter than what is looked for
    return seen > 1
