"""What a page opens with: the summary that people wrote of a full run, in the README beside it."""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import Markup, escape

from lacunary import FileError

__all__ = ["in_short"]

HEAD = "## In short"
SPANS = (
    (re.compile(r"\*\*(.+?)\*\*"), "b"),
    (re.compile(r"`(.+?)`"), "code"),
    (re.compile(r"\*(.+?)\*"), "i"),
)
"""Marks within a line and the tags that they become."""


def in_short(path: Path) -> list[Markup]:
    """Return the points under ``## In short`` of a README, as HTML; none if it has no such part."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as problem:
        raise FileError(f"cannot read {path}: {problem}") from None
    part = re.split(r"^## ", text.partition(f"{HEAD}\n")[2], flags=re.MULTILINE)[0]
    points = re.split(r"^- ", part, flags=re.MULTILINE)[1:]
    return [_marked(" ".join(point.split())) for point in points]


def _marked(text: str) -> Markup:
    marked = str(escape(text))
    for marks, tag in SPANS:
        marked = marks.sub(rf"<{tag}>\1</{tag}>", marked)
    return Markup(marked)  # escaped above
