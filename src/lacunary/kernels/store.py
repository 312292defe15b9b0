"""Where compiled code is kept on disk, under a key of all that it depends on.

A kernel is compiled together with the kernels it calls, which stand in other files. The folder of the store
is therefore named by the content of *all* kernel files, the versions of Numba, llvmlite and Python, and the
CPU: code that is out of date lies in a folder that nobody looks into, and goes when newer ones come.

The store lies in ``LACUNARY_CACHE`` if that is set, or else in ``NUMBA_CACHE_DIR``, beside the kernels, in
the user's cache folder, or in a folder of the user's alone among temporary files, whichever first can be
written to. If none can, code lives as long as its process.
All of these are looked into, so that code may be shipped where nothing can be written.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path

__all__ = ["HERE", "folder", "is_cold", "is_current", "key", "shelves", "unkept"]

HERE = Path(__file__).parent

PREFIX = "lacunary-"

KEPT = 4
"""Folders of compiled code that are kept side by side, for other versions and machines that share a home."""


def _sources() -> list[Path]:
    return sorted(HERE.glob("*.py"))


def _stamps() -> tuple[tuple[str, int, int], ...]:
    """When each kernel file was last changed, and how long it is."""
    found = [(path.name, path.stat()) for path in _sources()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)


def key() -> str:
    """Return what compiled code depends on, as one short name."""
    import llvmlite
    import numba
    from llvmlite import binding
    from numba import config

    digest = hashlib.sha256()
    for path in _sources():
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)} ".encode() + content)
    cpu: tuple[object, ...] = (config.CPU_NAME, config.CPU_FEATURES)
    if not config.CPU_NAME:  # else code is for the processor that is named, whichever makes it
        cpu = (*cpu, binding.get_host_cpu_name(), binding.get_host_cpu_features())
    versions = (numba.__version__, llvmlite.__version__, sys.version, binding.get_process_triple())
    settings = (config.OPT, config.BOUNDSCHECK, config.DEBUGINFO_DEFAULT)
    digest.update(repr((*(str(part) for part in cpu), versions, settings)).encode())
    return digest.hexdigest()[:24]


_STAMPS = _stamps()
_key = cache(key)


def is_current() -> bool:
    """Whether the files are those that were there when this process began; else nothing is read or kept."""
    try:
        return _stamps() == _STAMPS
    except OSError:
        return False


def places() -> list[Path]:
    """Return the folders in which the store may lie, the first choice first."""
    told = [os.environ.get("LACUNARY_CACHE"), os.environ.get("NUMBA_CACHE_DIR")]
    return [*(Path(place) for place in told if place), HERE / "__pycache__", *_home()]


def _home() -> list[Path]:
    """Return the user's folder for what can be made again; none where there is no user."""
    if os.environ.get("XDG_CACHE_HOME"):
        return [Path(os.environ["XDG_CACHE_HOME"]) / "lacunary"]
    if sys.platform == "win32":
        return [Path(os.environ["LOCALAPPDATA"]) / "lacunary"] if "LOCALAPPDATA" in os.environ else []
    with suppress(RuntimeError):
        return [Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "lacunary"]
    return []


def _temporary() -> Iterator[Path]:
    """Yield a folder among temporary files, if it is the user's own and nobody else can write to it.

    A read-only installation without a home would compile in every process. Code is run as it is found, so
    that a folder that somebody else may have made is left alone.
    """
    if not hasattr(os, "getuid"):
        return
    place = Path(tempfile.gettempdir()) / f"{PREFIX}{os.getuid()}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022:
        yield place


@cache
def folder() -> Path | None:
    """Return the folder of this process, made if need be; none if no place can be written to."""
    for place in chain(places(), _temporary()):
        mine = place / f"{PREFIX}{_key()}"
        try:
            if not mine.is_dir():
                mine.mkdir(parents=True)
                _tidy(place, mine)
            probe = mine / f"{uuid.uuid4().hex}.tmp"
            probe.touch()
            probe.unlink()
            os.utime(mine)  # the folders used last are kept
        except OSError:
            continue
        return mine
    return None


def is_cold(kernel: str) -> bool:
    """Whether a kernel is surely compiled nowhere: a guess that costs nothing, before Numba is loaded.

    Folders that were last used before the kernels were changed are not counted.
    """
    changed = max(stamp for _, stamp, _ in _STAMPS) / 1e9
    shelves = (path for place in chain(places(), _temporary()) for path in place.glob(f"{PREFIX}*"))
    return not any(_last_used(path) >= changed and any(path.glob(f"{kernel}-*")) for path in shelves)


def shelves(place: str | None = None) -> list[Path]:
    """Return the folders with code for this process, the one it writes to first; or those in a place."""
    mine = folder() if place is None else None
    found = [Path(at) / f"{PREFIX}{_key()}" for at in ([place] if place else places())]
    return [*([mine] if mine else []), *(at for at in found if at != mine and _is_there(at))]


def unkept() -> str:
    """Return that compiled code cannot be kept, and what helps; nothing where it can."""
    if folder() is not None:
        return ""
    found = [place for place in places() if _holds_code(place)]
    told = "; what lies in " + ", ".join(map(str, found)) if found else ""
    told += " is for other versions or another kind of processor (NUMBA_CPU_NAME)" if found else ""
    return (
        "compiled code cannot be kept, so that every process compiles anew: no folder can be written to"
        f"{told}. Name one with LACUNARY_CACHE, which may be read-only once `lacunary warm-up --into` has "
        "filled it"
    )


def _holds_code(place: Path) -> bool:
    """Whether there is code in a place, for whatever machine."""
    try:
        return any(place.glob(f"{PREFIX}*"))
    except OSError:
        return False


def _is_there(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _tidy(place: Path, mine: Path) -> None:
    """Remove all but the folders that were used last, and what Numba itself once kept beside the kernels."""
    others = [path for path in place.glob(f"{PREFIX}*") if path != mine and path.is_dir()]
    for path in sorted(others, key=_last_used, reverse=True)[KEPT - 1 :]:
        shutil.rmtree(path, ignore_errors=True)
    if place == HERE / "__pycache__":
        for path in [*place.glob("*.nbi"), *place.glob("*.nbc")]:
            path.unlink(missing_ok=True)


def _last_used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
