"""Standard output in place of a file: what ``-`` stands for where a file of text is to be written.

The command writes a file in a folder of its own, which goes to standard output once all is done; what it
would have said there is said on standard error.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import typer

from lacunary.errors import FileError

__all__ = ["called", "diverted", "is_standard", "send", "standard"]

_taken: list[Path] = []
"""The file that standard output belongs to, while a command runs that was asked for it."""

USUAL = (".json", ".csv", ".svg", ".html")
"""What is written where ``-`` has no suffix, the first of them that may be."""

BYTES = (".png", ".gz")


def is_standard(path: str) -> bool:
    """Whether a path stands for standard output: ``-``, or ``-.bif`` to say as what."""
    return path == "-" or path.startswith("-.")


def standard(path: str, suffixes: Sequence[str]) -> str:
    """Return the place of a file that goes to standard output when the command is done."""
    if _taken:
        raise FileError("only one file can go to standard output; name the other")
    suffix = path[1:].lower() or next((each for each in USUAL if each in suffixes), suffixes[0])
    if suffix not in suffixes or suffix in BYTES:
        known = [each for each in suffixes if each not in BYTES]
        raise FileError(f"{path}: standard output takes text, as -{', -'.join(known)}")
    _taken.append(Path(tempfile.mkdtemp(prefix="lacunary-")) / f"out{suffix}")
    return str(_taken[0])


def diverted() -> bool:
    """Whether standard output belongs to a file, so that all else is said on standard error."""
    return bool(_taken)


def called(path: str) -> str:
    """Return what a place is called to people."""
    return "standard output" if path in map(str, _taken) else path


def send() -> None:
    """Send the file to standard output, if one was asked for and written, and take it away."""
    while _taken:
        file = _taken.pop()
        try:
            if file.is_file():
                typer.echo(file.read_text(encoding="utf-8"), nl=False)
        finally:
            shutil.rmtree(file.parent, ignore_errors=True)
