"""Records as they are published: one file of all that a paper's units gave, from which work can go on."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path

from lacunary import FileError, write_whole
from lacunary.papers.work import Unit, text_of

__all__ = ["RECORDS", "pack", "unpack"]

RECORDS = "records.jsonl.gz"
"""What the file is called."""

NAME = re.compile(r"\w+-[0-9a-f]{20}")


def pack(units: Iterable[Unit], folder: Path, path: Path, *, edition: str) -> int:
    """Write the records of those units that are done into one file, a line each; return how many."""
    found = {unit.key(edition): text_of(unit, folder, edition) for unit in units}
    lines = [
        json.dumps({"unit": key, "edition": edition, **json.loads(text)}, ensure_ascii=False) + "\n"
        for key, text in found.items()
        if text is not None
    ]
    if lines:
        write_whole(path, gzip.compress("".join(lines).encode(), mtime=0))
    return len(lines)


def unpack(path: Path, folder: Path) -> None:
    """Lay out the records in a file as work that is done; those that are there already stay as they are."""
    if not os.path.exists(path):
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                del record["edition"]
                _lay(folder, record.pop("unit"), record)
    except (OSError, EOFError, ValueError, KeyError, TypeError, zlib.error) as problem:
        raise FileError(f"cannot read {path}: {problem}; remove the file, and work begins anew") from None


def _lay(folder: Path, name: str, record: object) -> None:
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} names no unit")
    place = folder / f"{name}.json"
    if not place.exists():
        place.write_text(
            json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
        )
