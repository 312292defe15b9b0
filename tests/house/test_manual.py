"""The manual: public names have pages and examples, our calls beside others' run, the site is local."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import lacunary
from tests.house.pages import ROOT, blocks

DOCS = ROOT / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))
MOVES = sorted((DOCS / "tutorials").glob("from-*.md"))
CELL = re.compile(r"(?<!\\)\|")


def _extension(name: str) -> Any:
    """Return a module of the manual's build, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = _extension("reference")


def test_every_public_name_has_a_page() -> None:
    names = [name for group in REFERENCE.groups() for name in group.names]
    assert sorted(names) == lacunary.__all__
    stems = [REFERENCE.stem(name).lower() for name in names]
    assert len(set(stems)) == len(stems), "two pages of one name where case does not count"


def test_groups_lead_to_guides_that_there_are() -> None:
    for group in REFERENCE.groups():
        assert group.guides
        assert all((DOCS / f"{guide}.md").exists() for guide in group.guides), group.title


@pytest.mark.parametrize("name", [name for name in lacunary.__all__ if name[0].islower()])
def test_a_verb_says_first_what_comes_back(name: str) -> None:
    first = REFERENCE.summary(name).split()[0]
    nothing = {"keep_rows": "Let", "save": "Write", "write_whole": "Write"}
    assert first in ("Return", "Whether", nothing.get(name)), REFERENCE.summary(name)


@pytest.mark.parametrize("name", lacunary.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    """Its own, one of a public method's, or that of the verb that returns it."""
    assert ">>>" in REFERENCE.example(name)


def test_examples_are_lent_only_where_there_is_none() -> None:
    for name, verb in REFERENCE.lent().items():
        assert name in lacunary.__all__
        assert ">>>" not in (inspect.getdoc(getattr(lacunary, name)) or ""), name
        assert ">>>" in REFERENCE.example(verb), verb


def calls(page: Path) -> list[tuple[str, str]]:
    """Return the rows of a page that sets another program's calls beside ours."""
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [CELL.split(line)[1:-1] for line in lines if line.startswith("| ")]
    return [(a.strip(), b.strip().strip("`").replace("\\|", "|")) for a, b in rows if "`" in b]


@pytest.mark.parametrize("page", MOVES, ids=lambda page: page.stem)
def test_our_side_of_every_call_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(blocks(page)[0].text):
        exec(example.source, names)
    shown = calls(page)
    assert len(shown) >= 30
    for theirs, ours in shown:
        try:
            exec(compile(ours, page.name, "exec"), names)
        except Exception as problem:
            pytest.fail(f"{theirs}: {ours}: {problem}")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_gallery_scripts_use_public_names(path: Path) -> None:
    """They are run when the site is built; here it is checked quickly that they could be."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title, rule = (ast.get_docstring(tree) or "").splitlines()[:2]
    assert len(rule) == len(title)
    assert set(rule) == {"="}
    used = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "lac"}
    assert used <= set(lacunary.__all__)


def test_there_is_a_gallery() -> None:
    assert len(SCRIPTS) >= 12


def test_every_row_of_the_comparison_says_yes_or_why_not() -> None:
    rows = [
        line for line in (DOCS / "comparison.md").read_text(encoding="utf-8").splitlines() if line[:2] == "| "
    ]
    cells = [[cell.strip() for cell in CELL.split(row)[1:-1]] for row in rows]
    assert len(rows) > 30
    assert {len(row) for row in cells} == {7}
    assert all(all(row) for row in cells), "a cell is empty"
    assert all(row[1].startswith(("yes", "lacunary", "no:", "part:")) for row in cells)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://cdn.example/x.js">', 1),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', 1),
        ("@import url(http://fonts.example/a.css);", 1),
        (
            '<a href="https://example.org">a link is no load</a><link rel="canonical" href="https://example.org">',
            0,
        ),
        ('<script src="_static/x.js"></script><img src="a.png">', 0),
    ],
)
def test_what_a_page_would_load_from_elsewhere_is_seen(text: str, found: int) -> None:
    assert len(_extension("local").loads(text)) == found
