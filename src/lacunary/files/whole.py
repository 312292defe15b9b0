"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from lacunary.errors import FileError

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # pragma: no cover - where files cannot be locked so, each part has a name of its own
    flock = None  # type: ignore[assignment]

__all__ = ["check_new_folder", "check_place", "write_whole"]

LONG = 100
"""Letters of a name that its part repeats; a longer one is told by its digest."""

STEPS = ("open", "write", "sync", "replace")
before: Callable[[str, Path], None] = lambda step, target: None  # noqa: E731 - what tests of faults put in its place
"""Called before each of the `STEPS` of a writing, with the file that is to appear."""


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that at every moment it holds all of its old content or all of the new.

    The content goes to a partial file in the same folder, to the disk, and then takes the file's place in one
    step, which goes to the disk too. Where that fails (a full disk, a folder that cannot be written to) the
    partial file is removed, the old file stays as it was, and a `FileError` says why. What a process left
    behind that was killed as it wrote is taken away by the next that writes the same file.

    Examples
    --------
    >>> import lacunary as lac, pathlib
    >>> lac.write_whole("notes.txt", "all of it")
    >>> pathlib.Path("notes.txt").read_text()
    'all of it'
    """
    data = content.encode() if isinstance(content, str) else content
    with _target(path) as target:
        _replace(target, data)


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a place to which no file can be written now; nothing is left behind."""
    with _target(path) as target:
        before("open", target)
        part, descriptor = _part(target)
        os.close(descriptor)
        part.unlink()


def check_new_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a folder that cannot be made because something is there, or because of its name."""
    if os.path.lexists(_checked(path)):
        raise FileError(f"{path} exists already; give a folder that does not")


def _checked(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    if "\0" in name:
        raise FileError(f"cannot write {name!r}: there is a null in its name")
    return name


@contextmanager
def _target(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the place of a file; have what goes wrong there told by the name that the caller gave it."""
    name = _checked(path)
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            raise FileError(f"cannot write {name}: it is not a regular file")
        yield target
    except OSError as problem:
        raise FileError(
            f"cannot write {name}: {problem.strerror or problem}; nothing was changed"
        ) from problem


def _replace(target: Path, data: bytes) -> None:
    before("open", target)
    part, descriptor = _part(target)
    try:
        with open(descriptor, "wb") as file:
            before("write", target)
            file.write(data)
            file.flush()
            before("sync", target)
            os.fsync(file.fileno())
            with suppress(FileNotFoundError):
                shutil.copymode(target, part)
            before("replace", target)
            os.replace(part, target)  # while it is locked: nobody takes it for an orphan
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    _sync(target.parent)


def _part(target: Path) -> tuple[Path, int]:
    """Return a partial file of a target, empty and locked, and its descriptor.

    It has a name that its target gives it, so that what a killed process left is written over and not kept
    for ever. Who finds it locked writes at the same moment, and gets another; so does who may not lock.
    """
    name = target.name if len(target.name) <= LONG else sha256(os.fsencode(target.name)).hexdigest()
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    if flock is not None:
        part = target.with_name(f".{name}.part")
        with suppress(PermissionError, IsADirectoryError):
            descriptor = os.open(part, flags, 0o666)
            if _owned(part, descriptor):
                os.ftruncate(descriptor, 0)
                return part, descriptor
            os.close(descriptor)
    part = target.with_name(f".{name}.{secrets.token_hex(8)}.part")
    # Made with open's usual permissions, unlike the private ones of the tempfile module.
    return part, os.open(part, flags | os.O_EXCL, 0o666)


def _owned(part: Path, descriptor: int) -> bool:
    """Lock a partial file; tell whether that succeeded, and it still has its name once it is locked."""
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        return os.path.samestat(os.stat(part), os.fstat(descriptor))
    except OSError:
        return False


def _sync(folder: Path) -> None:
    """Have a folder's new entry on the disk, where folders can be opened for that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
