"""What would be published says what it should, and the log is silent until it is asked."""

from __future__ import annotations

import logging
import re
import runpy
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import lacunary as lac
from tests.house.pages import ROOT
from tests.house.release import LARGEST, complaints

build = runpy.run_path(str(ROOT / "hatch_build.py"))
described, version = build["described"], build["version"]


def test_links_are_absolute_where_there_is_an_address() -> None:
    assert described("[a](docs/a.md)", "https://x.test/y") == "[a](https://x.test/y/docs/a.md)"
    assert described("[a](https://z.test) [b](#here)", "https://x.test") == "[a](https://z.test) [b](#here)"


def test_files_are_named_where_there_is_none() -> None:
    text = described((ROOT / "README.md").read_text(encoding="utf-8"), "")
    assert "](docs/" not in text
    assert "Architecture (`ARCHITECTURE.md`)" in text
    assert described("[x.md](x.md)", "") == "x.md"


def _pair(folder: Path, wheel: dict[str, bytes], source: list[str]) -> tuple[Path, Path]:
    first, second = folder / "a.whl", folder / "a.tar.gz"
    with zipfile.ZipFile(first, "w") as files:
        for name, data in wheel.items():
            files.writestr(name, data)
    with tarfile.open(second, "w:gz") as files:
        for name in source:
            files.addfile(tarfile.TarInfo(f"a/{name}"))
    return first, second


NEEDED = ["LICENSE", "README.md", "CITATION.cff", "docs/index.md", "tests/house/release.py"]


def test_what_does_not_belong_is_found(tmp_path: Path) -> None:
    assert complaints(*_pair(tmp_path, {"lacunary/__init__.py": b""}, NEEDED)) == []
    wrong = complaints(
        *_pair(tmp_path, {"tests/x.py": b"", "lacunary/big": bytes(LARGEST + 1)}, ["results/x.csv"])
    )
    assert len(wrong) == 3 + len(NEEDED)


def test_verbs_tell_the_log_how_long_they_took(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="lacunary"):
        lac.read({"x": ["a", "b"]})
        with pytest.raises(lac.LacunaryError):
            lac.read({"x": []})
    assert [record.getMessage().split()[:2] for record in caplog.records] == [
        ["read", "took"],
        ["read", "refused"],
    ]


def test_the_log_is_silent_until_it_is_asked() -> None:
    code = "import logging, lacunary; logging.getLogger('lacunary').warning('heard')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def _project(folder: Path, declared: str) -> None:
    (folder / "src" / "lacunary").mkdir(parents=True, exist_ok=True)
    (folder / "src" / "lacunary" / "__init__.py").write_text(f'__version__ = "{declared}"\n')


def _git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=n@x.test", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_the_version_comes_from_the_tag(tmp_path: Path) -> None:
    _project(tmp_path, "0.2.0")
    assert version(tmp_path) == "0.2.0"  # no repository, as in an archive of the source
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    assert version(tmp_path) == "0.2.0"  # a clone without tags
    _git(tmp_path, "tag", "other")
    _git(tmp_path, "tag", "-a", "v0.2.0", "-m", "0.2.0")
    assert version(tmp_path) == "0.2.0"
    _git(tmp_path, "commit", "-q", "--allow-empty", "-m", "second")
    assert re.fullmatch(r"0\.2\.0\.post1\+g[0-9a-f]{7,}", version(tmp_path))
    _project(tmp_path, "0.3.0")
    assert re.fullmatch(r"0\.3\.0\.dev1\+g[0-9a-f]{7,}", version(tmp_path))
    _git(tmp_path, "tag", "v0.4.0")
    with pytest.raises(ValueError, match=r"the tag says 0\.4\.0, src/lacunary/__init__\.py 0\.3\.0"):
        version(tmp_path)
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: lacunary\nVersion: 0.2.0.post1+gabc\n")
    assert version(tmp_path) == "0.2.0.post1+gabc"  # a source distribution


def test_a_project_in_a_repository_of_others_and_one_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    _git(tmp_path, "tag", "v9.9.9")
    inner = tmp_path / "vendored"
    _project(inner, "0.2.0")
    assert version(inner) == "0.2.0"
    _project(tmp_path, "0.2.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version(tmp_path) == "0.2.0"
