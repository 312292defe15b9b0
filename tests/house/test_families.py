"""Families are objects: outside their package nothing goes by a family's name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lacunary.family.registry import FAMILIES
from tests.house.pages import ROOT

SOURCE = ROOT / "src" / "lacunary"
OUTSIDE = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if not {"family", "papers"} & set(path.relative_to(SOURCE).parts)
]
CLASSES = {family.__name__ for family in FAMILIES.values()}
LISTS = {f"{name}s" for name in FAMILIES} - {"tables", "regressions"}
"""Attributes such as ``dag.uniforms``; the places of tables have a name of their own."""


def branches(tree: ast.AST) -> list[int]:
    """Return the lines in which something is compared with, or looked up by, a family's name."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            every = [each for part in parts for each in ast.walk(part)]
            names = {each.value for each in every if isinstance(each, ast.Constant)}
            told = " ".join(ast.unparse(part) for part in parts if not isinstance(part, ast.Constant))
            if names & set(FAMILIES) and "famil" in told:
                found.append(node.lineno)
        elif (isinstance(node, ast.Attribute) and node.attr in LISTS) or (
            isinstance(node, ast.Name) and node.id in CLASSES
        ):
            found.append(node.lineno)
    return found


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_file_branches_on_a_familys_name(path: Path) -> None:
    assert not branches(ast.parse(path.read_text(encoding="utf-8")))


BAD = ["family == 'poisson'", "dag.family_of(x) in ('sigmoid', 'table')", "dag.uniforms", "PoissonFamily"]


@pytest.mark.parametrize("text", BAD)
def test_a_branch_would_be_found(text: str) -> None:
    assert branches(ast.parse(text))


def test_every_family_has_a_file_of_its_own() -> None:
    assert len({family.__module__ for family in FAMILIES.values()}) == len(FAMILIES)
