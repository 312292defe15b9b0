"""Build what would be published, check it, install it into an empty environment and run the demo there."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

import lacunary
from tests.house.pages import ROOT

DIST = ROOT / "dist"
LARGEST = 3_000_000
"""Bytes that a wheel may have."""


def run(*words: str | Path, folder: Path = ROOT) -> str:
    """Run a command, show what it says, and stop where it fails."""
    print("$", *words, flush=True)
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, text=True, stdout=subprocess.PIPE, check=False
    )
    print(done.stdout, end="", flush=True)
    if done.returncode:
        sys.exit(f"stopped: {words[0]} ended with {done.returncode}")
    return done.stdout


def tagged() -> str:
    """Return what is to be said of the tag that a release has."""
    wanted = f"v{lacunary.__version__}"
    here = subprocess.run(
        ["git", "tag", "--points-at", "HEAD"], cwd=ROOT, text=True, capture_output=True, check=False
    ).stdout.split()
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, text=True, capture_output=True, check=False
    ).stdout.strip()
    if wanted in here and not changed:
        return f"tag {wanted} is on this commit"
    missing = (
        f"no tag {wanted} on this commit" if wanted not in here else "files differ from the tagged commit"
    )
    return f"a trial, not a release: {missing}"


def built() -> tuple[Path, Path]:
    """Return the wheel and the source distribution, built anew."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)
    [wheel], [source] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, source


def complaints(wheel: Path, source: Path) -> list[str]:
    """Return what is wrong with the size and the contents of the two."""
    found = []
    if wheel.stat().st_size > LARGEST:
        found.append(f"{wheel.name} has {wheel.stat().st_size} bytes, more than {LARGEST}")
    inside = zipfile.ZipFile(wheel).namelist()
    found += [f"{name} does not belong into the wheel" for name in inside if not name.startswith("lacunary")]
    with tarfile.open(source) as files:
        names = [name.partition("/")[2] for name in files.getnames()]
    found += [f"{name} does not belong into the source" for name in names if name.startswith("results/")]
    needed = ("LICENSE", "README.md", "CITATION.cff", "docs/index.md", "tests/house/release.py")
    return found + [f"{name} is missing from the source" for name in needed if name not in names]


def tried(wheel: Path) -> None:
    """Install the wheel into an empty environment, in a folder of its own, and run the demo there."""
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        venv.create(folder / "empty", with_pip=True)
        python = folder / "empty" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, folder=folder)
        said = run(python, "-c", "import lacunary; print(lacunary.__version__)", folder=folder).strip()
        if said != lacunary.__version__:
            sys.exit(f"stopped: the wheel says it is {said}")
        run(folder / "empty" / "bin" / "lacunary", "demo", folder=folder)


def main() -> None:
    """Do all of it."""
    wheel, source = built()
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, source)
    if wrong := complaints(wheel, source):
        sys.exit("stopped: " + "; ".join(wrong[:10]))
    tried(wheel)
    for path in (wheel, source):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")
    print(tagged())


if __name__ == "__main__":
    main()
