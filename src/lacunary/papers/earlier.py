"""What an earlier run left in a folder: answers to claims that a new run did not ask, and its pictures."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from lacunary import FileError
from lacunary.papers.claims import VERDICTS, Claim, Found, Verdict

__all__ = ["kept_answers", "kept_pictures", "kept_tables"]


def kept_answers(path: Path, claims: Sequence[Claim]) -> dict[str, Found]:
    """Return the answers in a ``claims.csv`` of an earlier run, each with the library that found it.

    They are judged anew, by the rule and the claims of today. Without such a file there are none.
    """
    if not os.path.exists(path):
        return {}
    known = {claim.id: claim for claim in claims}
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        return {
            row["claim"]: _found(row, known[row["claim"]])
            for row in rows
            if row["claim"] in known and row["ours"] != ""
        }
    except (OSError, ValueError, KeyError, csv.Error) as problem:
        raise FileError(f"cannot read {path}: {problem}; remove the file, and what it kept is open") from None


def _found(row: dict[str, str], claim: Claim) -> Found:
    number = {name: _number(row.get(name) or "") for name in ("error", "low", "high", "chance")}
    low, high = number["low"], number["high"]
    before = row["verdict"]
    verdict: Verdict | None = next((v for v in VERDICTS if v == before), None)
    ours = _number(row["ours"])
    note = row["note"].removesuffix(claim.proof or claim.fact or "\0").strip()
    return Found(
        row["ours"] if ours is None else ours,
        number["error"],
        span=None if low is None or high is None else (low, high),
        verdict=verdict,
        chance=number["chance"],
        note=note,
        behind=row.get("behind") or "",
        run=row.get("run") or "an earlier release",
    )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value.is_integer() and "." not in text else value


def kept_pictures(folder: Path, drawn: Collection[str]) -> list[str]:
    """Return the names of pictures in a folder that a new run did not draw; they stay beside the page."""
    return sorted(path.stem for path in folder.glob("*.png") if path.stem not in drawn)


SHORT = 40_000
"""Characters up to which a table of an earlier run is shown; longer ones are files beside the page."""


def kept_tables(folder: Path, written: Collection[str]) -> dict[str, str]:
    """Return the tables in a folder that a new run did not write, by name, as text."""
    found = (path for path in sorted(folder.glob("*.txt")) if path.stem not in {"claims", *written})
    texts = {path.stem: path.read_text(encoding="utf-8") for path in found}
    return {name: text for name, text in texts.items() if len(text) <= SHORT}
