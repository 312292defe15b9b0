"""What a first fit of tables needs, compiled by two processes at once.

The compiler's lock is global: only another process compiles at the same time. It begins once it is known
that rows have discrete holes alone, and sees to the small kernels and the rare way of the E-step; this one
compiles the E-step itself, finds the other's code in the store, and makes for itself what is not there yet:
nobody waits for anybody.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

from lacunary.kernels import store

__all__ = ["around", "begin", "compile_sweep"]

_others: list[subprocess.Popen[bytes]] = []
"""The process that compiles, once it was begun."""


def begin() -> None:
    """Have another process compile, unless that was done before.

    Only for a program that is lacunary itself: where Python is embedded there may be no interpreter to start.
    """
    if _others or _cores() < 2 or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return
    with suppress(OSError):  # then all is compiled here
        if store.is_cold("sweep.sweep"):
            _others.append(_started([sys.executable, "-m", __name__]))


def compile_sweep(several: bool) -> None:
    """Compile the E-step, for several parameter vectors or for one, if another process has begun to help."""
    if _others:
        from lacunary.kernels.sweep import sweep

        sweep.compile(_signature(several))  # type: ignore[attr-defined]


def _started(program: list[str]) -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    started = subprocess.Popen(program, stdin=nothing, stdout=nothing, stderr=nothing)
    atexit.register(_end, started)
    return started


def _end(started: subprocess.Popen[bytes]) -> None:
    started.kill()
    started.wait()


def _cores() -> int:
    with suppress(ValueError):
        if int(os.environ.get("LACUNARY_THREADS", "2")) < 2:
            return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def _compile() -> None:
    """Compile what the E-step comes to last, then what stands around it."""
    from lacunary.kernels.rare import rare

    for kernel, types in [(rare, _signature(several=False)[:-1]), *around()]:
        if store.folder() is not None:
            kernel.compile(types)


if __name__ == "__main__":
    _compile()
