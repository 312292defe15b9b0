"""Faults: killed writers, full disks, failing allocations, clocks that jump, two processes on one output."""

from __future__ import annotations

import errno
import faulthandler
import itertools
import linecache
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import numpy as np

import lacunary as lac
from lacunary.files import whole
from tests.campaign.run import FORK, Campaign, Found

HOLED = ("a,b,c\n" + "x,1,0\ny,,1\n,2,0\nx,2,\ny,1,1\n" * 8).encode()


def work(rng: np.random.Generator, index: int) -> Found:
    """Make one fault happen; each piece has the next fault's turn."""
    fault = (_killed, _ended, _full, _no_memory, _no_object, _clock, _two)[index % 7]
    with tempfile.TemporaryDirectory() as folder:
        return Found(fault(rng, Path(folder)))


def _started(folder: Path, *arguments: str, code: str = "") -> subprocess.Popen[bytes]:
    (folder / "t.csv").write_bytes(HOLED)
    command = [sys.executable, *(("-c", code) if code else ("-m", "lacunary", *arguments))]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def _copy(does: Callable[..., object], *given: object) -> tuple[Any, IO[bytes]]:
    """Start a copy of this process, which has all it needs; return it, and what it writes to its outputs."""
    reader, writer = os.pipe()
    process = FORK.Process(target=_copied, args=(writer, does, given))
    process.start()
    os.close(writer)
    return process, os.fdopen(reader, "rb")


def _copied(writer: int, does: Callable[..., object], given: Sequence[object]) -> None:
    for output in (1, 2):
        os.dup2(writer, output)
    does(*given)


def _ended_copy(process: Any, told: IO[bytes]) -> tuple[int, bytes]:
    """Return how a copy ended, and all that it wrote."""
    with told:
        said = told.read()
    process.join()
    return process.exitcode, said


def _write(folder: Path) -> None:
    dag = lac.dag("a -> b", states=50)
    both = [lac.random_network(dag, rng=k) for k in (1, 2)]
    lac.save(both[0], folder / "n.json")
    os.write(1, b"ready\n")
    for k in itertools.count():
        lac.save(both[k % 2], folder / "n.json")


def _killed(rng: np.random.Generator, folder: Path) -> int:
    """A file whose writer is killed is one of the two it wrote; the next writer takes away what was left."""
    writer, told = _copy(_write, folder)
    told.readline()
    time.sleep(float(rng.uniform(0, 0.05)))
    writer.kill()
    _ended_copy(writer, told)
    dag = lac.dag("a -> b", states=50)
    found = lac.load(folder / "n.json", lac.Network)
    assert any(np.array_equal(found.theta, lac.random_network(dag, rng=k).theta) for k in (1, 2))
    lac.save(found, folder / "n.json")
    left = {path.name for path in folder.iterdir()} - {"n.json", "t.csv"}
    assert not left, left
    return 2


LONG = (
    ("fit", "t.csv", "--hidden", "h=3", "--starts", "4000", "--iterations", "400"),
    ("search", "t.csv", "--hidden", "h=2", "--starts", "400"),
    ("mixture", "t.csv", "--components", "1..8", "--starts", "200"),
    ("classes", "t.csv", "--components", "1..12", "--starts", "4000"),
)
"""Commands that are not over before they are ended."""


def _at_work(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait until a process has worked so long, whatever else the machine does."""
    stat = Path(f"/proc/{process.pid}/stat")
    if not stat.exists():  # pragma: no cover - no Linux
        time.sleep(2 * seconds)
    while stat.exists() and process.poll() is None:
        used = stat.read_text().rpartition(")")[2].split()[11:13]
        if sum(map(int, used)) > seconds * os.sysconf("SC_CLK_TCK"):
            return
        time.sleep(0.02)


def _ended(rng: np.random.Generator, folder: Path) -> int:
    """SIGTERM in the midst of a command: exit code 130 (or it was done), and what is written can be read."""
    ran = _started(folder, *LONG[int(rng.integers(len(LONG)))], "--out", "f.json")
    _at_work(ran, float(rng.uniform(0.3, 2.5)))
    ran.send_signal(signal.SIGTERM)
    _, err = ran.communicate(timeout=120)
    # Before Python has begun to listen SIGTERM ends it; where the signal comes within an exec(), Python ends
    # itself by SIGINT, which a shell calls 130 as well.
    assert ran.returncode in (0, 130, -signal.SIGTERM, -signal.SIGINT), (ran.returncode, err[-300:])
    assert b"Traceback" not in err, err[-1000:]
    if (folder / "f.json").exists():
        lac.load(folder / "f.json")
    left = {path.name for path in folder.iterdir()} - {"f.json", "t.csv"}
    assert not left, left
    return 3


def _full(rng: np.random.Generator, folder: Path) -> int:
    """The disk is full at one of the steps of one writing: the old file stays, and a named error says so."""
    number, step = int(rng.integers(1, 4)), whole.STEPS[int(rng.integers(len(whole.STEPS)))]
    old = lac.random_network(lac.dag("a -> b", states=2), rng=1)
    lac.save(old, folder / "n.json")
    seen = [0]

    def fails(at: str, target: Path) -> None:
        seen[0] += at == step
        if at == step and seen[0] >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before, told = whole.before, list[str]()
    whole.before = fails
    try:
        for k in range(4):
            try:
                lac.save(lac.random_network(old.dag, rng=2 + k), folder / "n.json")
            except lac.FileError as problem:
                told.append(str(problem))
    finally:
        whole.before = before
    assert told
    assert all("No space left" in line for line in told), told
    found = lac.load(folder / "n.json", lac.Network)
    known = [old, *(lac.random_network(old.dag, rng=2 + k) for k in range(number - 1))]
    assert np.array_equal(found.theta, known[-1].theta)
    assert {path.name for path in folder.iterdir()} == {"n.json"}
    return 3


@cache
def _holed() -> lac.Table:
    """A table with holes, to which a network was fitted before: nothing is compiled afterwards."""
    table = lac.make_holes(lac.asia().sample(400, rng=1), 0.2, rng=1)
    lac.fit(lac.naive_bayes(table.schema, "h", 2), table, starts=2)
    return table


def _fit_in(room: int, states: int) -> None:
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, used + room))
    try:
        lac.fit(lac.naive_bayes(_holed().schema, "h", states), _holed(), starts=40)
    except lac.BudgetError as problem:
        os.write(1, f"refused {problem}".encode())
    else:
        os.write(1, b"done")


def _no_memory(rng: np.random.Generator, folder: Path) -> int:
    """Address space ends somewhere in a fit: it is done, or refused by name."""
    if sys.platform != "linux":  # pragma: no cover - limits of Linux
        return 0
    _holed()
    code, told = _ended_copy(*_copy(_fit_in, int(rng.integers(2**18, 2**26)), int(rng.integers(10, 400))))
    assert code == 0, told[-1000:]
    assert told.startswith((b"refused", b"done")), told
    return 1


@cache
def _verbs() -> list[Callable[[], object]]:
    """Verbs that have run before: nothing is compiled or read afterwards."""
    asia = lac.asia()
    table = lac.make_holes(asia.sample(60, rng=1), 0.2, rng=1)
    mixed = lac.read({"x": [1.0, 2.5, None, 3.1, 0.4, 2.2] * 6, "s": ["a", "b", "a", None, "b", "a"] * 6})
    dag = lac.naive_bayes(table.schema, "h", 2)
    verbs: list[Callable[[], object]] = [
        lambda: lac.fit(dag, table, starts=2),
        lambda: lac.search(table, max_parents=1),
        lambda: lac.score(dag, table, "laplace", starts=2),
        lambda: asia.query("lung", given={"smoke": "yes"}),
        lambda: asia.posterior(table),
        lambda: lac.fit_mixture(mixed, components=[1, 2]),
        lambda: lac.impute(mixed, rng=0),
        lambda: lac.read({"x": ["1", "2", "x"]}),
    ]
    for verb in verbs:
        verb()
    return verbs


def _lack(seed: int) -> None:
    hooks = import_module("_testcapi")
    faulthandler.enable(2)
    rng, verbs = np.random.default_rng(seed), _verbs()
    for trial in range(40):
        verb, number = verbs[trial % len(verbs)], int(10 ** rng.uniform(0.5, 5.0))
        hooks.set_nomemory(number, number + 1)
        try:
            verb()
        except lac.BudgetError:
            pass
        finally:
            hooks.remove_mem_hooks()
        os.write(1, b"as promised\n")


INDEXED = """
import numpy as np
from _testcapi import remove_mem_hooks, set_nomemory
values, places = np.arange(8.0), np.array([1, 0, 3], dtype=np.int32)
for number in range(20):
    set_nomemory(number, number + 1)
    try:
        values[places]
    except (MemoryError, SystemError):
        pass
    finally:
        remove_mem_hooks()
"""
"""Nothing but NumPy: up to 2.4 at least it ends the process where the room to widen indices cannot be had."""


def _no_object(rng: np.random.Generator, folder: Path) -> int:
    """One allocation of an object fails, at a random point of a verb: it is done, or refused by name."""
    if find_spec("_testcapi") is None:  # pragma: no cover - some builds of Python lack it
        return 0
    _verbs()
    code, told = _ended_copy(*_copy(_lack, int(rng.integers(2**31))))
    assert code == 0 or _numpy_ended(code, told, folder), told[-1000:]
    return told.count(b"as promised\n")


def _numpy_ended(code: int, err: bytes, folder: Path) -> bool:
    """Tell whether a process ended in NumPy's indexing, of which NumPy by itself ends processes."""
    where = re.search(rb'File "(.*?)", line (\d+)', err)
    indexing = where and "[" in linecache.getline(where[1].decode(), int(where[2]))
    if code != -signal.SIGSEGV or not indexing:
        return False
    alone = _started(folder, code=INDEXED)
    alone.communicate(timeout=60)
    return alone.returncode == -signal.SIGSEGV


def _clock(rng: np.random.Generator, folder: Path) -> int:
    """Clocks that jump, back too, change no number and stop nothing."""
    table = lac.make_holes(lac.asia().sample(60, rng=1).select(["lung", "xray", "dysp", "bronc"]), 0.2, rng=1)
    dag = lac.naive_bayes(table.schema, "h", 2)

    def told() -> Any:
        fit = lac.fit(dag, table, starts=2, watch=lambda *_: None)
        return fit.network.theta, lac.search(table, max_parents=1).score

    plain = told()
    names = ("time", "monotonic", "perf_counter")
    clocks = {name: getattr(time, name) for name in names}
    try:
        for name in names:
            setattr(time, name, lambda: float(rng.uniform(-1e9, 1e9)))
        jumping = told()
    finally:
        for name, clock in clocks.items():
            setattr(time, name, clock)
    assert np.array_equal(plain[0], jumping[0])
    assert plain[1] == jumping[1]
    return 2


def _two(rng: np.random.Generator, folder: Path) -> int:
    """Two processes write one file at once: it is one of theirs, whole."""
    both = [_copy(_write, folder) for _ in range(2)]
    for _, told in both:
        told.readline()
    for _ in range(10):
        lac.load(folder / "n.json", lac.Network)
        time.sleep(float(rng.uniform(0, 0.02)))
    for writer, told in both:
        writer.kill()
        _ended_copy(writer, told)
    lac.load(folder / "n.json", lac.Network)
    return 11


CAMPAIGN = Campaign(
    "faults",
    "Writers killed with SIGKILL, commands ended with SIGTERM, disks full at each step of a writing, address "
    "space that ends somewhere in a fit, single allocations that fail at random points of verbs, clocks "
    "that jump, two processes on one output: no damaged file, no traceback, no other number.",
    (35, 1400),
    work,
)
