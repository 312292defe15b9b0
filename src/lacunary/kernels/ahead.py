"""What a first fit of tables, or many questions, need: compiled by another process.

The compiler's lock is global: only another process compiles at the same time. For a fit it begins once it is
known that rows have discrete holes alone, and sees to the small kernels and the rare way of the E-step; this
one compiles the E-step itself, finds the other's code in the store, and makes for itself what is not there
yet: nobody waits for anybody. Questions go on as plain functions until the other process has ended.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from lacunary.errors import LacunaryError
from lacunary.kernels import store
from lacunary.registry import borrow

__all__ = ["FIT", "QUESTIONS", "around", "asked", "begin", "compile_for", "compile_sweep", "is_at_work"]

FIT, QUESTIONS = "fit", "questions"
"""What another process may compile for."""

LOOK = 0.5
"""Seconds after which it looks again whether the one that began it is still there."""

_others: dict[str, subprocess.Popen[bytes]] = {}
"""The processes that were begun, by what they compile for."""

_lock = threading.RLock()  # a signal's handler may ask a question


def begin() -> None:
    """Have another process compile for a first fit, unless that was done before."""
    with suppress(OSError):
        if store.is_cold("sweep.sweep"):
            _begin(FIT)


def is_at_work() -> bool:
    """Return whether another process compiles what questions need: it is begun now, unless it was before.

    It has ended without result where nothing can be written to.
    """
    with suppress(OSError, RuntimeError):  # no room, or Python comes to its end: all is compiled here
        _begin(QUESTIONS)
    with _lock:
        return QUESTIONS in _others and _others[QUESTIONS].poll() is None


def _begin(work: str) -> None:
    """Begin another process once, unless one thread is all that is wanted, or can be had.

    Where Python is embedded there may be no interpreter to start, but a program that would run once more.
    """
    plain = not hasattr(sys, "frozen") and Path(sys.executable or "").name.lower().startswith("python")
    if not plain or _threads() < 2 or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return
    with _lock:
        if work not in _others:
            _others[work] = _started([sys.executable, "-m", __name__, work, str(os.getpid())])


def compile_sweep(several: bool) -> None:
    """Compile the E-step, for several parameter vectors or for one, if another process has begun to help."""
    if FIT in _others:
        from lacunary.kernels.sweep import sweep

        sweep.compile(_signature(several))  # type: ignore[attr-defined]


def _started(program: list[str]) -> subprocess.Popen[bytes]:
    """Start a program that finds modules where this one does; an interrupt at the terminal is not for it."""
    nothing = subprocess.DEVNULL
    paths = os.pathsep.join(str(path) or os.getcwd() for path in sys.path)
    told = os.environ | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
    started = subprocess.Popen(
        program, stdin=nothing, stdout=nothing, stderr=nothing, env=told, start_new_session=True
    )
    atexit.register(_end, started)
    return started


def _end(started: subprocess.Popen[bytes]) -> None:
    started.kill()
    started.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_others.clear)  # they are the parent's


def _threads() -> int:
    with suppress(LacunaryError):  # what is wrong with the number is said where threads are needed
        return int(borrow("number of threads")())
    return 1


def _array(kind: str, dimensions: int = 1) -> Any:
    from numba import types

    return types.Array(getattr(types, kind), dimensions, "C")


def _signature(several: bool) -> tuple[Any, ...]:
    """Return the types of the E-step's arguments, as `sweep` has them."""
    from numba import types

    from lacunary.kernels.lanes import LANES

    whole, real = _array("int64"), _array("float64")
    cells, room = (whole, whole, real), (real, real, real, _array("float64", 3), whole)
    told = (real, _array("float64", 2), real, real, _array("bool_"))
    return (*cells, real, *room, *told, types.UniTuple(types.int64, LANES if several else 1))


def around() -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the kernels that stand around the E-step, with the types of their arguments."""
    from lacunary.kernels.normalize import normalize
    from lacunary.kernels.places import narrow, widen

    real, tables, whole = _array("float64"), _array("float64", 2), _array("int64", 2)
    return [
        (normalize, (tables, whole, real, tables)),
        (widen, (tables, whole, tables)),
        (narrow, (tables, tables, tables, whole, tables)),
    ]


def asked() -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the kernels by which questions are answered, with the types of their arguments."""
    from numba import types

    from lacunary.kernels import buckets, orders, questions
    from lacunary.kernels.promote import in_use, promote

    promote(orders, buckets, questions)
    whole, real, truth, number = _array("int64"), _array("float64"), _array("bool_"), types.float64
    families, tables = (whole,) * 5, types.Array(types.float64, 1, "C", readonly=True)
    graph, logs, choice = (real, whole, whole), (real, real), _array("int32")
    room = (real, real, real, real, choice, truth, real)  # from messages to the root
    ask = (*families, *graph, whole, whole, tables, *logs, whole, whole, number, number, number)
    laid = (whole, whole, whole, whole, real, whole, types.bool_, number, number)
    return [
        (in_use(questions).ask, ask),
        (in_use(questions).lay, laid),
        (in_use(questions).collect, (*families, whole, whole, tables, *logs, *room)),
        (in_use(buckets).distribute, (whole, whole, real, real, whole, real)),
        (in_use(buckets).explain, (whole, whole, choice, whole)),
        (in_use(orders).order, (whole, whole, truth, truth, real, whole, types.int64)),
    ]


def _for_a_fit() -> list[tuple[Any, tuple[Any, ...]]]:
    """Return what the E-step comes to last, then what stands around it."""
    from lacunary.kernels.rare import rare

    return [(rare, _signature(several=False)[:-1]), *around()]


def compile_for(work: str) -> None:
    """Compile what some work needs, `FIT` or `QUESTIONS`, if it can be kept."""
    from lacunary.kernels.compile import COMPILES

    for kernel, types in {FIT: _for_a_fit, QUESTIONS: asked}[work]() if COMPILES else ():
        if store.folder() is not None:
            kernel.compile(types)


def _follow(parent: int) -> None:
    """End this process when the one that began it has ended, however it did."""
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)


if __name__ == "__main__":
    if sys.platform != "win32":  # there a launcher stands between the two
        threading.Thread(target=_follow, args=(int(sys.argv[2]),), daemon=True).start()
    compile_for(sys.argv[1])
