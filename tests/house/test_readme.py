"""The commands that the pages tell people to type exist."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from lacunary.cli.listed import COMMANDS
from tests.house.pages import ROOT, blocks, commands

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("", "console", "sh", "bash", "shell")


def typed(page: Path) -> list[str]:
    """Return the lines of a page that are meant for a prompt, without the prompt."""
    shown = [block for block in blocks(page) if block.language in LANGUAGES]
    with_prompt = [command.line for block in shown for command in commands(block)]
    plain = [line.strip() for block in shown for line in block.text.splitlines()]
    return with_prompt + [line for line in plain if line.startswith(("make ", "pip ", "lacunary "))]


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`make ([a-z-]+)", text)) | {
        line.split()[1] for line in typed(page) if line.startswith("make ")
    }
    assert named <= targets()


def test_the_pages_speak_of_make() -> None:
    """Lest the test above pass because it finds nothing."""
    assert any(line.startswith("make test") for line in typed(ROOT / "CONTRIBUTING.md"))
    assert {"demo", "test", "bench"} <= targets()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    for line in typed(page):
        words = shlex.split(line, comments=True)
        if words[:1] == ["lacunary"]:
            assert words[1] in COMMANDS or words[1].startswith("-"), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_extras_exist(page: Path) -> None:
    """``pip install 'lacunary[parquet]'`` names an extra that there is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"lacunary\[([a-z,]+)\]", page.read_text(encoding="utf-8"))
    assert {extra for group in named for extra in group.split(",")} <= set(project["optional-dependencies"])
