"""How many threads there are, and who says so."""

from __future__ import annotations

import math
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.exactness import exact_only, exactly
from lacunary.infer import parallel
from lacunary.infer.blas import _libraries, one_blas_thread
from lacunary.infer.engine import prepare_discrete
from lacunary.infer.parallel import check_wanted, in_parallel, in_runs, worth


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Eight cores, no quota, nothing said."""
    monkeypatch.delenv("LACUNARY_THREADS", raising=False)
    monkeypatch.setattr(parallel, "_cores", lambda: 8)
    monkeypatch.setattr(parallel, "_quota", lambda groups: math.inf)
    return monkeypatch


def test_the_least_limit_holds(machine: pytest.MonkeyPatch) -> None:
    assert lac.threads() == 8
    machine.setattr(parallel, "_quota", lambda groups: 3.5)
    assert lac.threads() == 3
    machine.setenv("LACUNARY_THREADS", "2")
    assert lac.threads() == 2
    machine.setenv("LACUNARY_THREADS", "200")
    assert lac.threads() == 3
    machine.setattr(parallel, "_quota", lambda groups: 0.5)
    assert lac.threads() == 1


def test_what_is_said_in_python_holds(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("LACUNARY_THREADS", "4")
    try:
        assert lac.threads(6) == 6
        with lac.threads(np.int64(2)) as many:
            assert many == lac.threads() == 2
            with lac.threads(3):
                assert lac.threads() == 3
            assert lac.threads() == 2
        assert lac.threads() == 6
        with pytest.raises(ZeroDivisionError), lac.threads(1):
            1 / 0  # noqa: B018, it is to fail
        assert lac.threads() == 6
    finally:
        assert lac.threads(None) == 4


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2x", True, "two"])
def test_bad_numbers_are_refused_by_name(bad: Any) -> None:
    before = lac.threads()
    with pytest.raises(
        lac.ParameterError, match=r"threads\(n\) must be a whole number of threads, at least 1, not"
    ):
        lac.threads(bad)
    assert lac.threads() == before


@pytest.mark.parametrize("bad", ["0", "-3", "1.5", "many"])
def test_bad_variables_are_refused_by_name(bad: str, machine: pytest.MonkeyPatch) -> None:
    machine.setenv("LACUNARY_THREADS", bad)
    with pytest.raises(lac.ParameterError, match=f"LACUNARY_THREADS must be .* not '{bad}'"):
        in_parallel(abs, [1, 2])


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, math.inf),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4.0),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ({"cpu.max": "nonsense"}, math.inf),
        ({}, math.inf),
    ],
)
def test_quotas_of_containers(files: dict[str, str], cores: float, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert parallel._quota(tmp_path) == cores


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux tells")
def test_affinity_is_looked_up() -> None:
    assert parallel._cores() == len(os.sched_getaffinity(0))


def test_results_are_the_same_bits_on_any_number(small_chunks: None) -> None:
    network = lac.asia()
    prepared = prepare_discrete(network.dag, lac.make_holes(network.sample(100, rng=0), 0.3, rng=1))
    assert len(prepared.packed.chunks) > 3
    found = []
    for many in (1, 2, 5):
        with lac.threads(many):
            found.append(prepared.expect(network.theta[None]))
    for other in found[1:]:
        np.testing.assert_array_equal(other.counts, found[0].counts)
        np.testing.assert_array_equal(other.log_likelihood, found[0].log_likelihood)


def test_after_an_error_no_task_is_begun_and_what_is_forbidden_stays_so() -> None:
    done: list[int] = []

    def work(task: int) -> bool:
        if task == 0:
            raise ZeroDivisionError
        done.append(task)
        time.sleep(0.001)
        return exact_only()

    with lac.threads(2), exactly():
        with pytest.raises(ZeroDivisionError):
            in_parallel(work, range(1000))
        assert len(done) < 999
        assert all(in_parallel(work, range(1, 9)))


def test_threads_are_woken_only_where_each_finds_enough_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    least = parallel.WORTH
    with lac.threads(4):
        assert [worth(n * least) for n in (0, 0.99, 1.99, 2.01, 3.5, 9, math.inf)] == [1, 1, 1, 2, 3, 4, 4]
        who: set[int] = set()
        in_parallel(lambda task: who.add(threading.get_ident()), range(50), 1.9 * least)
        assert who == {threading.get_ident()}
        cuts: list[range] = []
        in_runs(cuts.append, 7, seconds=1.9 * least)
        assert cuts == [range(7)]


def test_no_more_threads_are_at_work_than_were_allowed() -> None:
    """A task that asks for threads gets those that are idle; an error gives them back."""
    at_work, most, lock = 0, 0, threading.Lock()

    def work(task: int) -> int:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.001)
        with lock:
            at_work -= 1
        return task

    def several(task: int) -> list[int]:
        return in_parallel(work, range(task))

    with lac.threads(3):
        for _ in range(3):
            most = 0
            assert in_parallel(several, [5, 1, 0, 4, 7]) == [list(range(n)) for n in (5, 1, 0, 4, 7)]
            assert 1 < most <= 3
            with pytest.raises(ZeroDivisionError):
                in_parallel(lambda task: 1 // task, [1, 2, 0, 3])
        most = 0
        in_parallel(work, range(20))
        assert most == 3  # nobody is counted who is done


def test_blas_keeps_to_one_thread_while_somebody_asks_for_it() -> None:
    """Whoever leaves last puts back what there was, in whatever order they came."""
    libraries = [(get, put) for _, get, put in _libraries()]
    if not libraries:
        pytest.skip("NumPy and SciPy are not wheels with OpenBLAS here")
    before = [get() for get, _ in libraries]
    try:
        for _, put in libraries:
            put(2)
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        assert {get() for get, _ in libraries} == {1}
        second.__enter__()
        first.__exit__(None, None, None)
        assert {get() for get, _ in libraries} == {1}
        second.__exit__(None, None, None)
        assert {get() for get, _ in libraries} == {2}
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            1 / 0  # noqa: B018, it is to fail
        assert {get() for get, _ in libraries} == {2}
    finally:
        for (_, put), many in zip(libraries, before, strict=True):
            put(many)


def test_a_long_task_leaves_off_once_nobody_waits_for_it() -> None:
    begun, left = threading.Event(), threading.Event()

    def task(k: int) -> None:
        if k == 0:
            assert begun.wait(60.0)
            raise ValueError("no")
        begun.set()
        try:
            for _ in range(6000):  # a minute, should nobody say so
                check_wanted()
                time.sleep(0.01)
        except BaseException:
            left.set()
            raise

    check_wanted()  # nobody is helping here
    with lac.threads(2), pytest.raises(ValueError, match="no"):
        in_parallel(task, range(2))
    assert left.is_set()
    check_wanted()
