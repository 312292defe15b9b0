"""The house is in order: sizes, words, layers, versions, sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import lacunary
from tests.house.pages import ROOT

SOURCE = ROOT / "src" / "lacunary"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MODULES = sorted(SOURCE.rglob("*.py"))

WAIST = SOURCE / "infer"
"""The package that owns how rows are laid out."""

LAYOUT = {"packed", "Packed", "Slab", "Chunk", "Spots", "stand_ins"}
"""What only that package may know of rows."""

KINDS = {"DiscreteRows", "MixedRows", "PartitionedRows", "Partitioned", "GaussianRows"}
"""Kinds of rows and of sources, which nobody else may tell apart."""

# One letter of each word stands in brackets, so that this file does not hold what it looks for.
FORBIDDEN = {
    "a path of some machine": re.compile(r"(?<![\w.])/(?:wor[k]|hom[e]|roo[t]|User[s])/\w"),
    "a folder beside this one": re.compile(r"\.\./share[d]|share[d]/seeds"),
    "a host of packages": re.compile(r"pyp[i]\.org|pythonhoste[d]|artifactor[y]|jfro[g]", re.IGNORECASE),
    "a job left undone": re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K])\b"),
}


def tracked() -> Iterator[Path]:
    """Return the files of the project: those under version control, or all if there is none."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split("\0") if listed.returncode == 0 else []
    found = [ROOT / name for name in names if name] or [
        p for d in ("src", "tests", "docs") for p in (ROOT / d).rglob("*")
    ]
    return (path for path in found if path.is_file())


def text_of(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def names_in(node: ast.AST) -> set[str]:
    """Return the names and attributes that an expression is made of."""
    return {
        n.id if isinstance(n, ast.Name) else n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Name | ast.Attribute)
    }


def long_kernels() -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Yield what has more than 25 lines and a loop among kernels; parts of such a function go with it."""
    for path in sorted((SOURCE / "kernels").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            loops = any(isinstance(inner, ast.For | ast.While) for inner in ast.walk(node))
            if loops and isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 25:
                yield path, node


@pytest.mark.parametrize(
    ("path", "node"), [pytest.param(*one, id=f"{one[0].stem}-{one[1].name}") for one in long_kernels()]
)
def test_long_kernels_say_what_holds_in_their_loops(path: Path, node: ast.FunctionDef) -> None:
    """A comment says what is true each time round, and a docstring what arrays hold, or whose they are."""
    assert ast.get_docstring(node)
    lines = path.read_text(encoding="utf-8").splitlines()[node.lineno - 1 : node.end_lineno]
    assert any(re.search(r"(^ *|  )# (?!fmt:)", line) for line in lines)


ABOVE = [path for path in MODULES if WAIST not in path.parents and path.parent.name != "kernels"]


@pytest.mark.parametrize("path", ABOVE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_above_the_waist_knows_how_rows_are_laid_out(path: Path) -> None:
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom):
            assert not {alias.name for alias in node.names} & LAYOUT, node.lineno
        if isinstance(node, ast.Attribute):
            assert node.attr not in LAYOUT, node.lineno
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            assert not names_in(node.args[1]) & KINDS, node.lineno


def test_no_forbidden_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}, line {text.count(chr(10), 0, match.start()) + 1}: {match[0]!r} is {what}"
        for path in tracked()
        if (text := text_of(path)) is not None
        for what, pattern in FORBIDDEN.items()
        for match in pattern.finditer(text)
    ]
    assert not found, "\n".join(found)


def test_the_forbidden_words_would_be_found() -> None:
    bad = ["/hom·e/someone", "../share·d/x", "https://pyp·i.org/simple", "# TOD·O: later"]
    for text in (marked.replace("·", "") for marked in bad):
        assert any(pattern.search(text) for pattern in FORBIDDEN.values()), text


def test_no_module_without_an_idea() -> None:
    """A module is named after what it holds."""
    vague = {"utils", "util", "misc", "core", "base", "helpers", "common", "tools"}
    assert not {path.stem for path in MODULES} & vague


def test_nothing_is_unpickled_or_evaluated() -> None:
    """Files are data: reading one must never run it. What parts are kept as never leaves the process."""
    for path in MODULES:
        if path.parts[-2:] == ("data", "parts.py"):
            assert "pickle.load(" not in path.read_text(encoding="utf-8")
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                modules = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not modules & {"pickle", "marshal", "shelve", "dill", "joblib"}, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec"), f"{path}, line {node.lineno}"


def test_the_version_is_one() -> None:
    """It stands in the package; the metadata are made from it and the tag, and what repeats it agrees."""
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["expression"] == "version()"  # of hatch_build.py
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {lacunary.__version__}\n" in cited
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {lacunary.__version__}" in changes


def test_shipped_data_have_sources() -> None:
    folder = SOURCE / "data" / "shipped"
    sources = (folder / "SOURCES.md").read_text(encoding="utf-8")
    data = [path.name for path in folder.iterdir() if path.suffix not in (".md", ".pyc")]
    assert data
    assert [name for name in data if name not in sources] == []


def test_layers_list_every_package() -> None:
    [layers] = [c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    listed = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    assert layers["exhaustive"]
    there = {p.stem for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert listed == there - {"__init__", "__main__"}


@pytest.mark.parametrize(("module", "home"), [("numba", "kernels"), ("matplotlib", "report")])
def test_heavy_imports_are_forbidden_everywhere_else(module: str, home: str) -> None:
    [contract] = [
        c for c in PROJECT["tool"]["importlinter"]["contracts"] if c.get("forbidden_modules") == [module]
    ]
    packages = {f"lacunary.{p.name}" for p in SOURCE.iterdir() if (p / "__init__.py").exists()}
    assert set(contract["source_modules"]) | {f"lacunary.{home}", "lacunary.errors"} >= packages


PAPERS = SOURCE / "papers"
FOR_PAPERS = {"numpy", "scipy", "matplotlib", "jinja2", "markupsafe"} | set(sys.stdlib_module_names)


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Return what a module imports: the module, and the name taken from it, if any."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("path", sorted(PAPERS.rglob("*.py")), ids=lambda path: str(path.relative_to(PAPERS)))
def test_papers_are_clients_of_the_public_names(path: Path) -> None:
    public = {*lacunary.__all__, "__version__", ""}
    for module, name in imported(path):
        inside = module.startswith("lacunary.papers") or (module == "lacunary" and name in public)
        assert inside or module.partition(".")[0] in FOR_PAPERS, f"{module} {name}"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "lac":
                assert node.attr in public, f"lac.{node.attr}, line {node.lineno}"
            private = node.attr.startswith("_") and node.attr not in ("__name__", "_asdict")
            assert not private or node.value.id == "self", f"{node.attr}, line {node.lineno}"


def test_nothing_below_the_papers_knows_one() -> None:
    """No word that is run is a paper's key; citations stand in docstrings."""
    keys = {path.name for path in PAPERS.iterdir() if (path / "run.py").exists()}
    assert keys
    for path in (p for p in MODULES if p.relative_to(SOURCE).parts[0] not in ("papers", "cli")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            words = {getattr(node, field, None) for field in ("id", "attr", "arg", "name")}
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                words |= set(re.split(r"\W+", node.value))
            assert not words & keys, f"{path.relative_to(SOURCE)}, line {getattr(node, 'lineno', 0)}"


def test_packages_are_where_the_plan_says() -> None:
    """ARCHITECTURE.md names every package and every file that sets the bar."""
    plan = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for package in (p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()):
        assert f"`{package}/`" in plan, package
    bar = plan.rpartition("## Files that set the bar")[2]
    for name in re.findall(r"`([\w/]+\.py)`", bar):
        assert (SOURCE / name).exists() or (ROOT / name).exists(), name
