"""Files that lie elsewhere, under addresses such as ``s3://bucket/visits/*.parquet``; through fsspec alone.

A file is fetched whole when some of its rows are read, and kept on this machine while it is among the last
few that were: parts are read in order, so that each file is fetched once a pass, and no more than a few
take up room.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any, Generic, TypeVar
from weakref import finalize

from lacunary.errors import FileError, SourceError

__all__ = ["Copies", "found", "here", "is_remote", "remote_stamp"]

T = TypeVar("T")

KEPT = 4
"""Files that are kept on this machine at a time."""

SIGNS = "*?["


def is_remote(path: object) -> bool:
    """Tell whether a path is an address."""
    return isinstance(path, str) and "://" in path


def found(address: str, suffixes: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the files that an address, a folder's or a pattern names, each with its folders' names."""
    with _named(address):
        files, inside = _opened(address)
        signs = [inside.find(sign) for sign in SIGNS if sign in inside]
        if files.isdir(inside):
            root, names = (
                inside,
                [n for n in files.find(inside) if PurePosixPath(n).suffix.lower() in suffixes],
            )
        elif signs:
            root, names = inside[: min(signs)].rpartition("/")[0], files.glob(inside)
        else:
            root, names = inside.rpartition("/")[0], [inside]
        folders = [PurePosixPath(name.removeprefix(root).lstrip("/")).parts[:-1] for name in names]
        return sorted(zip(map(files.unstrip_protocol, names), folders, strict=True))


def remote_stamp(address: str) -> tuple[int, int]:
    """Return the size of a file, and what changes with its content."""
    with _named(address):
        files, inside = _opened(address)
        key = hashlib.sha256(str(files.ukey(inside)).encode()).hexdigest()
        return int(files.size(inside) or 0), int(key[:15], 16)


def here(path: str) -> str:
    """Return where a file can be read on this machine, fetching it if it lies elsewhere."""
    if not is_remote(path):
        return path
    return _FETCHED.entry((path, remote_stamp(path)), partial(_fetch, path))


class Copies(Generic[T]):
    """The last few files that were fetched or written, in a folder that goes with the process.

    A copy is known by its path, or by what begins with its path.
    """

    def __init__(self) -> None:
        self.files: OrderedDict[Hashable, T] = OrderedDict()
        self.folder, self.lock, self.process = "", Lock(), 0

    def entry(self, key: Hashable, make: Callable[[str], T]) -> T:
        """Return what a key stands for, made in a folder if it is not known."""
        with self.lock:
            self._settle()
            known = self.files.get(key)
            if known is None:
                known = self.files[key] = make(self.folder)
                while len(self.files) > KEPT:
                    os.unlink(_path(self.files.popitem(last=False)[1]))
            self.files.move_to_end(key)
            return known

    def _settle(self) -> None:
        if self.process != os.getpid():  # a fork must not share, or take away, what its parent fetched
            self.folder, self.process = tempfile.mkdtemp(prefix="lacunary-"), os.getpid()
            self.files.clear()
            finalize(self, _removed, self.folder, os.getpid())


_FETCHED: Copies[str] = Copies()


def _path(copy: Any) -> str:
    return str(copy if isinstance(copy, str) else copy[0])


def _fetch(address: str, folder: str) -> str:
    handle, path = tempfile.mkstemp(Path(address).suffix, dir=folder)
    os.close(handle)
    with _named(address):
        files, inside = _opened(address)
        files.get_file(inside, path)
    return path


def _removed(folder: str, process: int) -> None:
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


def _opened(address: str) -> tuple[Any, str]:
    """Return the file system that an address belongs to, and the path inside."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise SourceError(f"{address} needs fsspec: pip install 'lacunary[remote]'") from None
    files, inside = url_to_fs(address)
    return files, str(inside)


@contextmanager
def _named(address: str) -> Iterator[None]:
    """Have what goes wrong on the way to a file told with its address."""
    try:
        yield
    except (SourceError, FileError):
        raise
    except ImportError as error:  # fsspec knows which package serves an address
        raise SourceError(f"{address} cannot be read: {error}") from None
    except Exception as error:
        told = str(error).strip().splitlines() or [type(error).__name__]
        absent = isinstance(error, FileNotFoundError)
        raise FileError(
            f"{address} cannot be read: {'there is no such file' if absent else told[0]}"
        ) from None
