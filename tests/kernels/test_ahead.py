"""Kernels compiled by another process: those that a fit or questions ask for, and only where that helps."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import lacunary as lac
from lacunary.infer import forest
from lacunary.kernels import ahead, buckets, hooks, orders, promote, questions, store
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

    monkeypatch.setattr(ahead, "_others", {})
    monkeypatch.setattr(ahead, "_started", start)
    monkeypatch.setattr(store, "is_cold", lambda kernel: kernel == "sweep.sweep")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.delenv("LACUNARY_THREADS", raising=False)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    return programs


def test_another_process_is_begun_once(started: list[list[str]]) -> None:
    ahead.begin()
    ahead.begin()
    assert started == [[sys.executable, "-m", "lacunary.kernels.ahead", "fit", str(os.getpid())]]


@pytest.mark.parametrize("told", [{"LACUNARY_THREADS": "1"}, {"NUMBA_DISABLE_JIT": "1"}], ids=str)
def test_who_wants_one_core_or_no_code_gets_none(
    told: dict[str, str], started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    ahead.begin()
    assert started == []


def test_who_says_one_thread_gets_no_second_process(started: list[list[str]]) -> None:
    with lac.threads(1):
        ahead.begin()
        assert not ahead.is_at_work()
    assert started == []
    with lac.threads(2):
        ahead.begin()
    assert len(started) == 1


def test_nothing_is_begun_on_one_core_or_where_code_is(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1}, raising=False)
    ahead.begin()
    assert not ahead.is_at_work()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(store, "is_cold", lambda kernel: False)
    ahead.begin()
    assert started == []


@pytest.mark.parametrize("program", ["", "/usr/sbin/uwsgi", "/opt/app/app.exe"])
def test_a_program_in_which_python_is_embedded_is_not_run_once_more(
    program: str, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    ahead.begin()
    assert not ahead.is_at_work()
    monkeypatch.setattr(sys, "executable", "/opt/app/python")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not ahead.is_at_work()
    assert started == []


def test_where_no_process_can_be_started_all_goes_on(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(program: list[str]) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(ahead, "_started", refuse)
    ahead.begin()
    assert not ahead.is_at_work()
    assert ahead._others == {}


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


def test_types_are_those_that_questions_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """From tables with and without soft evidence, networks that were pickled, and trees of single islands."""
    monkeypatch.setattr(promote, "_twins", {})
    promote.promote(orders, buckets, questions)
    for network in (lac.asia(), pickle.loads(pickle.dumps(lac.asia()))):
        for known in ({"smoke": "yes"}, {"smoke": {"yes": 0.5}}, {}):
            network.query("lung", given=known)
            network.engine(known).marginals()
            network.explain(known)
    monkeypatch.setattr(forest, "WIDE", 0)
    rows = lac.read({"a": ["x", "y", None, "x"], "b": ["u", None, None, "v"], "c": ["s", "t", "t", None]})
    lac.fit("a -> b -> c", rows, rng=0)
    for kernel, asked in list(ahead.asked()):
        assert [tuple(map(str, one)) for one in kernel.signatures] == [tuple(map(str, asked))]
    entries = {name for module in (orders, buckets, questions) for name in module.ENTRIES}
    assert {kernel.__name__ for kernel, _ in ahead.asked()} == entries


class _Other:
    """A process that compiles until it is told that it has ended."""

    code: int | None = None

    def poll(self) -> int | None:
        return self.code


@pytest.fixture
def other(started: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> _Other:
    """The other process, while this one has just spent its patience, and nothing is stored."""
    process = _Other()

    def start(program: list[str]) -> _Other:
        started.append(program)
        return process

    monkeypatch.setattr(ahead, "_started", start)
    monkeypatch.setattr(promote, "are_stored", lambda *modules: False)
    monkeypatch.setattr(promote, "_twins", {})
    monkeypatch.setattr(promote, "_look", [0.0])
    monkeypatch.setattr(promote, "_spent", [promote.PATIENCE])
    monkeypatch.setattr(promote, "_times", [0])
    return process


@pytest.mark.parametrize("code", [0, 1], ids=["with code", "without"])
def test_questions_go_on_while_another_process_compiles(
    code: int, other: _Other, started: list[list[str]]
) -> None:
    """Plain functions answer meanwhile; once it has ended, with result or without, compiled ones do."""
    network = lac.asia()
    wanted = network.query("lung", given={"smoke": "yes"}).probabilities
    for _ in range(3):
        promote.spend(promote.LOOK)
        found = network.query("lung", given={"smoke": "yes"}).probabilities
        np.testing.assert_array_equal(found, wanted)
    assert [program[1:-1] for program in started] == [["-m", "lacunary.kernels.ahead", "questions"]]
    assert not promote.is_promoted(questions)
    other.code = code
    promote.spend(promote.LOOK)
    np.testing.assert_array_equal(network.query("lung", given={"smoke": "yes"}).probabilities, wanted)
    assert promote.is_promoted(questions)
    assert len(started) == 1


def test_code_that_appears_on_disk_is_taken_and_seldom_looked_for(
    other: _Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def stored(*modules: Any) -> bool:
        looks.append(modules)
        return len(looks) > 1

    monkeypatch.setattr(promote, "are_stored", stored)
    assert not any(promote.is_due(orders, buckets, questions) for _ in range(100))
    assert len(looks) == 1
    promote.spend(promote.LOOK)
    assert promote.is_due(orders, buckets, questions)


def test_who_keeps_asking_short_questions_gets_code_that_is_on_disk(
    other: _Other, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promote, "are_stored", lambda *modules: True)
    monkeypatch.setattr(promote, "_spent", [0.0])
    monkeypatch.setattr(promote, "_times", [0])
    for _ in range(promote.KEEN):
        assert not promote.is_due(orders, buckets, questions)
        promote.spend(1e-6)
    assert promote.is_due(orders, buckets, questions)


def test_who_has_no_second_core_compiles_here(other: _Other, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LACUNARY_THREADS", "1")
    assert promote.is_due(orders, buckets, questions)


def test_code_is_complete_only_with_all_that_python_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that lacks would be compiled while somebody waits."""
    monkeypatch.setattr(hooks, "_shelves", lambda: [tmp_path])
    for module in (orders, buckets, questions):
        for name in module.ENTRIES:
            assert not promote.are_stored(orders, buckets, questions)
            (tmp_path / f"{module.__name__.rpartition('.')[2]}.{name}-1.nbi").touch()
    assert promote.are_stored(orders, buckets, questions)


WAITING = """
import os, sys, time
from lacunary.kernels import ahead
code = f"from lacunary.kernels import ahead; print(1, flush=True); ahead._follow({os.getpid()})"
ahead.subprocess.DEVNULL = None
print(ahead._started([sys.executable, "-c", code]).pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="parents are not told of there")
def test_the_other_process_does_not_outlive_this_one() -> None:
    with subprocess.Popen([sys.executable, "-c", WAITING], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        process.stdout.readline()  # both are there
        process.kill()
        assert process.communicate(timeout=20)[0] == b""  # which comes when both have closed it


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_leaves_the_process_to_its_parent() -> None:
    code = (
        "import os; from lacunary.kernels import ahead; ahead._others['questions'] = None\n"
        "if not (child := os.fork()): os._exit(len(ahead._others))\n"
        "assert (os.waitpid(child, 0)[1], len(ahead._others)) == (0, 1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("work", [ahead.FIT, ahead.QUESTIONS])
def test_the_other_process_ends_in_silence(work: str) -> None:
    program = [sys.executable, "-m", "lacunary.kernels.ahead", work, str(os.getpid())]
    done = subprocess.run(program, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
