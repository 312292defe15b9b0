"""Compiled code on disk: never out of date, never in the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lacunary
from lacunary.kernels import store

PACKAGE = Path(lacunary.__file__).parent

CALLER = """
from lacunary.kernels.compile import bare
from lacunary.kernels.variate import uniform

@bare
def drawn(stream):
    return uniform(stream)
"""

ASK = """
import numpy as np
from lacunary.kernels.caller import drawn
print(drawn(np.array([7], np.uint64)), len(drawn._cache_hits))
"""

Ask = Callable[..., tuple[float, bool]]

WITHOUT_HOOKS = "from lacunary.kernels import hooks; hooks.PRESENT = False\n"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package's kernels, with one more that calls one in another file."""
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE / "kernels", tmp_path / "src/lacunary/kernels", ignore=skipped)
    shutil.copy(PACKAGE / "__init__.py", tmp_path / "src/lacunary")
    (tmp_path / "src/lacunary/kernels/caller.py").write_text(CALLER)
    return tmp_path / "src"


NEW = """
import io, json, os, sys, traceback
from contextlib import redirect_stdout
import numba
numba.njit(lambda number: number + 1)(1)
for line in sys.stdin:
    path, code, told = json.loads(line)
    if os.fork():
        os.wait()
        continue
    os.environ.clear()
    os.environ.update(told)
    sys.path.insert(0, path)
    sys.dont_write_bytecode = True
    said = io.StringIO()
    try:
        with redirect_stdout(said):
            exec(code, {})
    except BaseException:
        said.write(traceback.format_exc())
    print(json.dumps(said.getvalue()), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """What a new process draws, and whether it found the code on disk.

    Processes are forks of one that has loaded Numba, which takes most of the time, and nothing of lacunary.
    """
    command = [sys.executable, "-c", NEW]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as origin:
        assert origin.stdin is not None
        assert origin.stdout is not None
        to, back = origin.stdin, origin.stdout

        def asked(path: Path, code: str = ASK, **environment: str) -> tuple[float, bool]:
            kept = {n: v for n, v in os.environ.items() if n not in ("LACUNARY_CACHE", "NUMBA_CACHE_DIR")}
            print(json.dumps([str(path), code, kept | environment]), file=to, flush=True)
            said = json.loads(back.readline())
            assert len(said.split()) == 2, said
            drawn, hits = said.split()
            return float(drawn), int(hits) > 0

        yield asked
        to.close()


def _halve(path: Path) -> None:
    """Edit the kernel that is called: what it draws is half of what it was. The caller stays as it is."""
    file = path / "lacunary/kernels/variate.py"
    before = file.read_text()
    file.write_text(before.replace("+ 0.5) * 2.0**-52", "+ 0.5) * 2.0**-53"))
    assert file.read_text() != before


@pytest.mark.parametrize("before", ["", WITHOUT_HOOKS])
def test_an_edit_of_a_kernel_is_seen_by_those_that_call_it(ask: Ask, copied: Path, before: str) -> None:
    first, found = ask(copied, before + ASK)
    assert not found
    assert ask(copied, before + ASK) == (first, True)
    _halve(copied)
    assert ask(copied, before + ASK) == (first / 2, False)


def test_both_ways_draw_the_same(ask: Ask, copied: Path) -> None:
    assert ask(copied)[0] == ask(copied, WITHOUT_HOOKS + ASK)[0]


def test_an_edit_while_a_process_runs_does_not_reach_the_store(ask: Ask, copied: Path) -> None:
    """It has the old text in memory, or some of the old and some of the new: it keeps its code to itself."""
    edit = f"""
from lacunary.kernels import caller
from pathlib import Path
file = Path({str(copied / "lacunary/kernels/variate.py")!r})
file.write_text(file.read_text().replace("+ 0.5) * 2.0**-52", "+ 0.5) * 2.0**-53"))
"""
    old, _ = ask(copied, edit + ASK)
    assert ask(copied) == (old / 2, False)


def test_the_store_can_be_sent_elsewhere(ask: Ask, copied: Path, tmp_path: Path) -> None:
    place = tmp_path / "else" / "where"
    ask(copied, LACUNARY_CACHE=str(place))
    assert list(place.glob("lacunary-*/caller.drawn-*.nbc"))
    assert not list(copied.glob("lacunary/kernels/__pycache__/lacunary-*"))
    assert ask(copied, LACUNARY_CACHE=str(place))[1]


def test_code_is_read_where_nothing_can_be_written(ask: Ask, copied: Path, tmp_path: Path) -> None:
    """A folder made before, as in an image: it need not be the one that is written to."""
    shipped, fresh = tmp_path / "shipped", tmp_path / "home"
    drawn, _ = ask(copied, LACUNARY_CACHE=str(shipped))
    for path in [*shipped.rglob("*"), shipped]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    (copied / "lacunary/kernels/__pycache__").touch()  # nothing can be made inside a file
    # To whoever may write anywhere the folder is not read-only; the next place has to be asked for then.
    told = {"XDG_CACHE_HOME": str(shipped.parent / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
    assert ask(copied, LACUNARY_CACHE=str(shipped), **told) == (drawn, True)
    (fresh / "lacunary").mkdir(parents=True)
    shutil.copytree(shipped, fresh / "lacunary", dirs_exist_ok=True)
    elsewhere = tmp_path / "empty"
    told = {"LACUNARY_CACHE": str(elsewhere), "XDG_CACHE_HOME": str(fresh), "PYTHONDONTWRITEBYTECODE": "1"}
    assert ask(copied, **told) == (drawn, True)
    assert not list(elsewhere.rglob("*.nbc"))  # it is written to where need be, and others are read


@pytest.mark.parametrize("code", [ASK, WITHOUT_HOOKS + ASK])
def test_where_nothing_can_be_written_code_lives_in_memory(
    ask: Ask, copied: Path, tmp_path: Path, code: str
) -> None:
    (tmp_path / "file").touch()  # nothing can be made inside a file, whoever asks
    (copied / "lacunary/kernels/__pycache__").touch()
    kept, temporary = tmp_path / "home", tmp_path / "temporary"
    temporary.mkdir()
    told = {"LACUNARY_CACHE": str(tmp_path / "file" / "x"), "PYTHONDONTWRITEBYTECODE": "1"}
    told |= {"TMPDIR": str(temporary)}
    drawn, _ = ask(copied, code, XDG_CACHE_HOME=str(kept), **told)  # the user's folder comes last but one
    assert ask(copied, code, XDG_CACHE_HOME=str(kept), **told) == (drawn, True)
    assert list(kept.glob("lacunary/lacunary-*"))
    told |= {"XDG_CACHE_HOME": str(tmp_path / "file" / "y")}
    assert ask(copied, code, **told) == (drawn, False)
    assert ask(copied, code, **told) == (drawn, True)  # a folder of the user's own among temporary files
    (mine,) = temporary.iterdir()
    mine.chmod(0o777)  # somebody else may have put something there
    assert ask(copied, code, **told) == (drawn, False)


def test_it_is_said_where_nothing_can_be_kept(
    ask: Ask, copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a process, whatever is compiled, to whoever listens; and that code is there but for others."""
    (tmp_path / "file").touch()
    (copied / "lacunary/kernels/__pycache__").touch()
    (tmp_path / "shipped/lacunary-of-another-processor").mkdir(parents=True)
    nowhere = str(tmp_path / "file" / "x")
    code = f"""
import logging
from pathlib import Path
told = []
listener = logging.Handler()
listener.emit = told.append
logging.getLogger("lacunary").addHandler(listener)
from lacunary.kernels import store
store.places, store._temporary = lambda: [Path({nowhere!r}), Path({"x" * 300!r})], lambda: []
import numpy as np
from lacunary.kernels.caller import drawn
drawn(np.array([7], np.uint64)), drawn(np.array([[7]], np.uint64)[0])
print(len(told), int("another kind of processor" in told[0].getMessage()))
"""
    assert ask(copied, code, PYTHONDONTWRITEBYTECODE="1") == (1.0, False)
    monkeypatch.setattr(store, "folder", lambda: None)
    monkeypatch.setattr(store, "places", lambda: [tmp_path / "shipped"])
    assert f"what lies in {tmp_path / 'shipped'} is for other versions" in store.unkept()
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    assert store.unkept() == ""


def test_a_damaged_file_is_compiled_again(ask: Ask, copied: Path) -> None:
    drawn, _ = ask(copied)
    for path in copied.glob("lacunary/kernels/__pycache__/lacunary-*/*.nb?"):
        path.write_bytes(path.read_bytes()[:100])
    assert ask(copied) == (drawn, False)
    assert ask(copied) == (drawn, True)


def test_old_folders_go_and_the_last_used_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for age in range(10):
        old = tmp_path / f"lacunary-{age}"
        old.mkdir()
        (old / "x.code").touch()
        os.utime(old, (1e9 - age, 1e9 - age))
    (tmp_path / "not ours").mkdir()
    monkeypatch.setenv("LACUNARY_CACHE", str(tmp_path))
    store.folder.cache_clear()
    try:
        mine = store.folder()
        assert mine is not None
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {mine.name, "not ours", *(f"lacunary-{age}" for age in range(store.KEPT - 1))}
        assert not list(mine.iterdir())
    finally:
        store.folder.cache_clear()


@pytest.mark.parametrize("what", ["CPU_NAME", "OPT"])
def test_the_key_speaks_of_machine_and_settings(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = store.key()
    assert store.key() == before
    monkeypatch.setattr(f"numba.config.{what}", "another")
    assert store.key() != before


@pytest.mark.parametrize("module", ["numba", "llvmlite", "sys"])
def test_the_key_speaks_of_versions(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = store.key()
    monkeypatch.setattr(f"{module}.{'version' if module == 'sys' else '__version__'}", "0")
    assert store.key() != before
