"""What is shipped is what the sources build, and it is small."""

from __future__ import annotations

import ast
import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import lacunary
from tests.house.pages import ROOT

STATIC = ROOT / "src/lacunary/workbench/static"
SOURCES = ROOT / "workbench"
MOST = 150_000
"""Bytes of all that is shipped, compressed."""


def test_it_is_small() -> None:
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in STATIC.iterdir()) <= MOST


def test_it_asks_no_other_host() -> None:
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8")
        for scheme in ("https://", "http://", "wss://"):
            for part in text.split(scheme)[1:]:
                assert part.startswith(("www.w3.org/", "svelte.dev/")), part[
                    :60
                ]  # names of things, never asked


@pytest.mark.skipif(
    shutil.which("node") is None or not (SOURCES / "node_modules").is_dir(),
    reason="building the page needs Node and its packages (npm ci in workbench/)",
)
def test_it_is_what_the_sources_build(tmp_path: Path) -> None:
    done = subprocess.run(
        ["node", "build.mjs", str(tmp_path / "static")],
        cwd=SOURCES,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NODE_ENV": "production"},
    )
    assert done.returncode == 0, done.stderr
    built = {path.name: path.read_bytes() for path in (tmp_path / "static").iterdir()}
    assert built == {path.name: path.read_bytes() for path in STATIC.iterdir()}


PACKAGE = ROOT / "src/lacunary/workbench"


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_the_workbench_calls_public_names_alone(path: Path) -> None:
    public = {*lacunary.__all__, "__version__"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lacunary"):
            assert (node.module or "").startswith("lacunary.workbench"), node.module
        if isinstance(node, ast.Import):
            assert not [a.name for a in node.names if a.name.startswith("lacunary.")], node.lineno
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "lac":
            assert node.attr in public, f"lac.{node.attr}, line {node.lineno}"
