"""The public names: listed, sorted, documented, and cheap to import."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

import lacunary
from tests.house.pages import ROOT

HEAVY = ("numba", "scipy", "pandas", "polars", "pyarrow", "matplotlib", "narwhals", "rich", "typer", "jinja2")
"""What takes time to import and a plain ``import lacunary`` does not need."""


def test_names_are_sorted_and_distinct() -> None:
    assert lacunary.__all__ == sorted(set(lacunary.__all__))


def test_dir_shows_the_public_names() -> None:
    assert dir(lacunary) == lacunary.__all__


def test_type_checkers_see_the_same_names() -> None:
    """The names imported for type checkers alone are those that are loaded when first used."""
    tree = ast.parse((ROOT / "src/lacunary/__init__.py").read_text(encoding="utf-8"))
    [checked] = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: node.module for node in imports for alias in node.names}
    assert sorted(seen) == lacunary.__all__
    assert seen == {name: f"lacunary.{module}" for name, module in lacunary._MODULE.items()}


@pytest.mark.parametrize("name", lacunary.__all__)
def test_a_name_is_what_it_says_and_documented(name: str) -> None:
    thing = getattr(lacunary, name)
    assert inspect.isclass(thing) or inspect.isfunction(thing), "nouns are classes, verbs are functions"
    assert thing.__name__ == name
    assert inspect.isclass(thing) == name[0].isupper()
    summary = (thing.__doc__ or "").split("\n\n")[0].strip()
    assert summary, "there is no docstring"
    assert "\n" not in summary, "a summary is one line"
    assert summary[-1] in ".:"
    assert not summary.startswith(f"{name}("), "this is the docstring that a dataclass makes up"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        lacunary.nonsense  # noqa: B018


def test_a_verb_stays_a_verb() -> None:
    """A package of the same name would take a verb's place once anything in it is imported."""
    code = (
        "import importlib, pkgutil, lacunary\n"
        "for module in pkgutil.walk_packages(lacunary.__path__, 'lacunary.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        importlib.import_module(module.name)\n"
        "print(*(name for name in lacunary.__all__ if not callable(getattr(lacunary, name))))"
    )
    assert _python(code) == ""


def test_importing_costs_next_to_nothing() -> None:
    """Only what `import lacunary` itself loads counts; NumPy alone would be fine."""
    code = f"import sys, lacunary; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    assert _python(code) == ""


def _python(code: str) -> str:
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return found.stdout.strip()
