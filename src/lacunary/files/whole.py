"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from lacunary.errors import FileError

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that at every moment it holds all of its old content or all of the new.

    The content goes to a temporary file in the same folder, to the disk, and then takes the file's
    place in one step. Where that fails (a full disk, a folder that cannot be written to) the
    temporary file is removed, the old file stays as it was, and a `FileError` says why.
    """
    target = Path(os.path.realpath(path))
    data = content.encode() if isinstance(content, str) else content
    try:
        if target.exists() and not target.is_file():
            raise FileError(f"cannot write {os.fspath(path)}: it is not a regular file")
        _replace(target, data)
    except OSError as problem:
        reason = problem.strerror or problem
        raise FileError(f"cannot write {os.fspath(path)}: {reason}; nothing was changed") from problem


def _replace(target: Path, data: bytes) -> None:
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    # Made with open's usual permissions, unlike the private ones of the tempfile module.
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            shutil.copymode(target, part)
        os.replace(part, target)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
