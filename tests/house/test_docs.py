"""What the documentation shows is what happens: every example is run, and its output compared."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lacunary
from lacunary.cli import app
from tests.house.pages import ROOT, Block, Command, blocks, commands, guides
from tests.reference.agrum import pyagrum

assert pyagrum, "examples may import it: loaded here, where its warnings are kept quiet"

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def modules_with_examples() -> list[str]:
    found = pkgutil.walk_packages(lacunary.__path__, "lacunary.")
    source = ROOT / "src"
    names = ["lacunary", *(module.name for module in found if not module.name.endswith("__main__"))]
    return [name for name in names if ">>>" in _file(source, name).read_text(encoding="utf-8")]


def _file(source: Path, name: str) -> Path:
    stem = source.joinpath(*name.split("."))
    return stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")


def run_python(block: Block, page: str, names: dict[str, Any]) -> None:
    """Run a block as a doctest, or as it stands if it has no prompts."""
    if ">>>" not in block.text:
        exec(compile(block.text, f"{page}:{block.line}", "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, {}, page, page, block.line - 1)
    test.globs = names
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append, clear_globs=False)
    assert not result.failed, "".join(said)


def run_command(command: Command) -> None:
    """Run a line that calls lacunary; the exit code must be 0, or 1 if the page shows a complaint."""
    result = CliRunner().invoke(app, shlex.split(command.line)[1:], prog_name="lacunary")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    wrong = command.output.startswith("lacunary: ")
    assert result.exit_code == (1 if wrong else 0), f"{command.line}\n{result.output}"
    if command.output.strip():
        same = doctest.OutputChecker().check_output(command.output, result.output, FLAGS)
        assert same, f"{command.line}\nshown:\n{command.output}\nprinted:\n{result.output}"


@pytest.mark.parametrize("page", guides(), ids=lambda page: page.name)
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks run in order, in one folder and one namespace: later ones may use what earlier ones made."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "csv" and block.argument:
            Path(block.argument).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            run_python(block, page.name, names)
        elif block.language == "console":
            for command in commands(block):
                if command.line.startswith("lacunary"):
                    run_command(command)


@pytest.mark.parametrize("name", modules_with_examples())
def test_every_example_in_a_docstring_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    runner, examples = doctest.DocTestRunner(optionflags=FLAGS), 0
    for test in doctest.DocTestFinder().find(importlib.import_module(name)):
        examples += runner.run(test, out=said.append).attempted
    assert examples > 0, "the examples are in no docstring"
    assert not runner.failures, "".join(said)


def test_console_blocks_begin_with_a_prompt() -> None:
    """A command without its prompt would pass for output, and never be run."""
    for page in guides():
        for block in blocks(page):
            if block.language == "console":
                assert block.text.startswith("$ "), f"{page.name}, line {block.line}"
            else:
                assert not re.search(r"^\$ ", block.text, re.MULTILINE), f"{page.name}, line {block.line}"


def test_links_lead_somewhere() -> None:
    for page in guides():
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in link:
                assert (page.parent / link.partition("#")[0]).exists(), f"{page.name}: {link}"


def test_every_page_is_in_the_contents() -> None:
    docs = ROOT / "docs"
    contents = (docs / "README.md").read_text(encoding="utf-8")
    for page in docs.glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in contents, page.name


@pytest.mark.parametrize("page", [*guides(), ROOT / "ARCHITECTURE.md"], ids=lambda page: page.name)
def test_named_modules_exist(page: Path) -> None:
    """``learn/em.py`` in a page is a file of the package, ``tests/naive.py`` one of the project."""
    for name in re.findall(r"`((?:\w+/)+\w+\.py)`", page.read_text(encoding="utf-8")):
        assert any((ROOT / folder / name).exists() for folder in ("src/lacunary", "src", "")), name
