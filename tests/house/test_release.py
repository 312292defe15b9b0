"""What would be published says what it should, and the log is silent until it is asked."""

from __future__ import annotations

import logging
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

described = runpy.run_path(str(ROOT / "hatch_build.py"))["described"]


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
