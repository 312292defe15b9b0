"""A folder that holds all tables, models and jobs, whole at every moment, so that nothing is ever lost."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import RLock
from time import time
from typing import Any

import lacunary as lac

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # pragma: no cover - Windows has no such locks
    flock = None  # type: ignore[assignment]

__all__ = ["KINDS", "Unknown", "Workspace", "default_folder"]

KINDS = ("tables", "models", "jobs")
"""What is kept, each in a folder of its own."""

HAS: dict[str, dict[str, type]] = {
    "tables": {"created": float, "name": str, "file": str, "suffix": str, "settings": dict},
    "models": {"created": float, "name": str},
    "jobs": {"created": float, "status": str, "kind": str, "table": str},
}
"""What every record has, and of which type."""

ID = re.compile(r"[0-9a-f]{16,24}")
MARK = "lacunary-workspace.json"


class Unknown(lac.LacunaryError):
    """There is no such table, model or job."""


def default_folder() -> Path:
    """Return where a workspace is kept unless told."""
    home = os.environ.get("XDG_DATA_HOME")
    return Path(home or Path.home() / ".local" / "share") / "lacunary" / "workspace"


class Workspace:
    """Records of tables, models and jobs: a folder each, with ``meta.json`` and what belongs to it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()
        self._lock = RLock()
        try:
            for name in (*KINDS, MARK, "lock"):
                if (self.folder / name).is_symlink():
                    raise lac.FileError(f"{self.folder / name} leads elsewhere; name another --workspace")
            for kind in KINDS:
                (self.folder / kind).mkdir(parents=True, exist_ok=True)
            self._held = _held(self.folder / "lock")
        except OSError as problem:
            raise lac.FileError(f"cannot use the workspace {folder}: {problem.strerror or problem}") from None
        lac.write_whole(self.folder / MARK, json.dumps({"lacunary": "workspace", "version": 1}) + "\n")
        self._records: dict[str, dict[str, dict[str, Any]]] = {kind: self._read(kind) for kind in KINDS}

    def close(self) -> None:
        """Let another server have the folder."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _read(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return what an earlier server left; what it had not finished writing is no record."""
        found = {}
        for place in sorted((self.folder / kind).iterdir()):
            # A folder may have come from somebody else: nothing in it may lead out of it.
            if not ID.fullmatch(place.name) or any(p.is_symlink() for p in (place, *place.glob("*"))):
                continue
            with suppress(OSError, ValueError, RecursionError, AttributeError, LookupError, TypeError):
                record = json.loads((place / "meta.json").read_text(encoding="utf-8"))
                if _is_record(kind, record):
                    found[place.name] = {**record, "id": place.name}
        return dict(sorted(found.items(), key=lambda pair: float(pair[1]["created"])))

    def every(self, kind: str) -> list[dict[str, Any]]:
        """Return all records of a kind, the oldest first."""
        with self._lock:
            return [dict(record) for record in self._records[kind].values()]

    def record(self, kind: str, key: str) -> dict[str, Any]:
        """Return one record; an unknown one is refused."""
        with self._lock:
            if key not in self._records[kind]:
                raise Unknown(f"there is no {kind[:-1]} {key[:40]!r} in this workspace")
            return dict(self._records[kind][key])

    def has(self, kind: str, key: str) -> bool:
        """Tell whether there is such a record."""
        with self._lock:
            return key in self._records[kind]

    def place(self, kind: str, key: str) -> Path:
        """Return the folder of a record, which there must be: no path is ever made of what a client says."""
        return self.folder / kind / str(self.record(kind, key)["id"])

    def new(self, kind: str, key: str | None = None) -> tuple[str, Path]:
        """Return a new name and an empty folder for it; the record comes to be with `keep`."""
        name = key or secrets.token_hex(8)
        assert ID.fullmatch(name)
        place = self.folder / kind / name
        place.mkdir(exist_ok=key is not None)
        return name, place

    def keep(self, kind: str, key: str, record: dict[str, Any]) -> dict[str, Any]:
        """Write a record, in the place of what it was."""
        with self._lock:
            known = {"created": time(), **self._records[kind].get(key, {}), **record, "id": key}
            lac.write_whole(self.folder / kind / key / "meta.json", json.dumps(known, indent=1) + "\n")
            self._records[kind][key] = known
            return dict(known)

    def drop(self, kind: str, key: str) -> None:
        """Forget a record and its files."""
        with self._lock:
            place = self.place(kind, key)
            del self._records[kind][key]
            shutil.rmtree(place, ignore_errors=True)

    def models_of(self, table: str) -> Iterator[dict[str, Any]]:
        """Go over the models that were learned from a table."""
        return (record for record in self.every("models") if record.get("table") == table)


def _is_record(kind: str, record: Any) -> bool:
    """Whether something has what every record of its kind has, and names no file outside of its folder."""
    if not isinstance(record, dict) or any(
        type(record.get(key)) is not has for key, has in HAS[kind].items()
    ):
        return False
    files = (record.get("result") or {}).get("files", [])
    return all(Path(name).name == name for name in (one["file"] for one in files)) and "/" not in str(
        record.get("suffix")
    )


def _held(path: Path) -> int | None:
    """Return a lock on the folder that ends with the process, however that ends."""
    if flock is None:  # pragma: no cover
        return None
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise lac.FileError(
            f"{path.parent} is in use by another workbench; end that one, or name another --workspace"
        ) from None
    return descriptor
