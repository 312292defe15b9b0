"""Kernels compiled ahead: those that a fit asks for, by another process, and only where that helps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

import lacunary as lac
from lacunary.kernels import ahead, store
from lacunary.kernels.cell import fill_with_care
from lacunary.kernels.compile import COMPILES
from lacunary.kernels.normalize import normalize
from lacunary.kernels.places import narrow, widen
from lacunary.kernels.rare import rare
from lacunary.kernels.sweep import sweep

pytestmark = pytest.mark.skipif(not COMPILES, reason="nothing is compiled")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The programs that would have been started, on a machine with two cores where nothing is compiled."""
    programs: list[list[str]] = []

    def start(program: list[str]) -> list[str]:
        programs.append(program)
        return program

    monkeypatch.setattr(ahead, "_others", [])
    monkeypatch.setattr(ahead, "_started", start)
    monkeypatch.setattr(store, "is_cold", lambda kernel: kernel == "sweep.sweep")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.delenv("LACUNARY_THREADS", raising=False)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    return programs


def test_another_process_is_begun_once(started: list[list[str]]) -> None:
    ahead.begin()
    ahead.begin()
    assert started == [[sys.executable, "-m", "lacunary.kernels.ahead"]]


@pytest.mark.parametrize("told", [{"LACUNARY_THREADS": "1"}, {"NUMBA_DISABLE_JIT": "1"}], ids=str)
def test_who_wants_one_core_or_no_code_gets_none(
    told: dict[str, str], started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    ahead.begin()
    assert started == []


def test_nothing_is_begun_on_one_core_or_where_code_is(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1}, raising=False)
    ahead.begin()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(store, "is_cold", lambda kernel: False)
    ahead.begin()
    assert started == []


def test_where_no_process_can_be_started_all_goes_on(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(program: list[str]) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(ahead, "_started", refuse)
    ahead.begin()
    assert ahead._others == []


def test_code_is_looked_for_in_every_place_and_old_code_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    monkeypatch.setattr(store, "places", lambda: [first, second])
    monkeypatch.setattr(store, "_temporary", lambda: iter(()))
    assert store.is_cold("sweep.sweep")
    shelf = second / f"{store.PREFIX}0"
    shelf.mkdir(parents=True)
    (shelf / "swept.sweep-1.nbi").touch()
    assert store.is_cold("sweep.sweep")
    (shelf / "sweep.sweep-1.nbi").touch()
    assert not store.is_cold("sweep.sweep")
    os.utime(shelf, (1e9, 1e9))  # last used before the kernels were written
    assert store.is_cold("sweep.sweep")


def _misses(kernel: Any) -> int:
    return sum(kernel.stats.cache_misses.values())


def test_types_are_those_that_a_fit_asks_for() -> None:
    """Else code would be made that nobody uses; the rare way is found, as a sweep has left it."""
    table = lac.read({"a": ["x", "y", None, "x"], "b": ["u", None, "v", None], "c": ["s", "t", "t", "s"]})
    lac.fit("a -> b -> c", table)  # rows of several kinds: `sweep_lone` takes those of one
    lac.fit(lac.naive_bayes(table.schema, hidden="h", states=2), table, starts=lac.Draws(3), rng=0)
    compiled: Any = sweep
    known = {tuple(map(str, one)) for one in compiled.signatures}
    assert {tuple(map(str, ahead._signature(several))) for several in (True, False)} <= known
    for kernel, asked in ahead.around():
        # Others may have asked for other types, in the same process, before.
        assert tuple(map(str, asked)) in [tuple(map(str, one)) for one in kernel.signatures]
    assert {kernel for kernel, _ in ahead.around()} == {normalize, narrow, widen}
    before = _misses(fill_with_care)
    settings: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}
    alone: Any = rare
    numba.njit(**settings)(alone.py_func).compile(ahead._signature(several=False)[:-1])
    assert _misses(fill_with_care) == before


def test_the_other_process_ends_in_silence() -> None:
    done = subprocess.run([sys.executable, "-m", "lacunary.kernels.ahead"], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
