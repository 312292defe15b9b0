"""The project's Markdown pages, and what stands in their fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(
    r"^(?P<fence>```+)(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what follows the language, its text and the line it begins at."""

    language: str
    argument: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A line at the prompt, and what the page says it prints."""

    line: str
    output: str


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(*_info(found["info"]), found["text"], text.count("\n", 0, found.start("text")) + 1)
        for found in _FENCE.finditer(text)
    ]


def commands(block: Block) -> Iterator[Command]:
    """Return the commands of a console block: each line after ``$``, with the lines that follow it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield Command(line.partition("  #")[0].strip(), output)


def guides() -> list[Path]:
    """Return the pages that users read: the README and all of docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _info(info: str) -> tuple[str, str]:
    language, _, argument = info.strip().partition(" ")
    return language, argument.strip()
