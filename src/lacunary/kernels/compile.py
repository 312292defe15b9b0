"""The decorators of all kernels."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np

from lacunary.kernels import hooks, promote

__all__ = ["COMPILES", "bare", "called", "compact", "faithful", "inlined", "kernel", "patient"]

F = TypeVar("F", bound=Callable[..., object])

COMPILES = not numba.config.DISABLE_JIT
"""Whether kernels are compiled; with ``NUMBA_DISABLE_JIT=1`` they run as Python, for looking into them."""


EASY = 0.25
"""Seconds for which a patient kernel runs as Python does before it is compiled, which takes about as long."""

SMALL = 20_000
"""Numbers in a patient kernel's arrays above which it is compiled at once."""


def kernel(function: F) -> F:
    """Compile to machine code that runs without the interpreter's lock, and keep it on disk.

    Where no folder is writable the code is compiled afresh in each process. Division follows
    NumPy (no check for zero); sums may be reassociated and products fused, but NaN and infinity
    keep their meaning.
    """
    return _compiled(function, makes_arrays=True)


def faithful(function: F) -> F:
    """Compile a kernel whose sums and products keep their order: it rounds as the plain function does."""
    return _compiled(function, makes_arrays=True, fastmath=False)


def faithful_piece(function: F) -> F:
    """Compile a piece of such kernels, which Python does not call; see `called`."""
    return _compiled(function, makes_arrays=True, fastmath=False, no_cpython_wrapper=True)


def bare(function: F) -> F:
    """Compile a kernel that makes no arrays of its own, and so need not count references."""
    return _compiled(function)


def compact(function: F) -> F:
    """Compile a bare kernel whose loops are not unrolled: it is long, and no faster if they are."""
    return _compiled(function, compact=True)


def inlined(function: F) -> F:
    """Compile a piece that is always merged into its kernel; it is bare, and cannot be called from Python."""
    return _compiled(function, forceinline=True, no_cpython_wrapper=True)


def called(function: F) -> F:
    """Compile a piece that kernels call as a function: it is long, or rarely needed; it is bare."""
    return _compiled(function, no_cpython_wrapper=True)


def patient(function: F) -> F:
    """Compile a bare kernel once that pays: until then it runs as Python does, to the same numbers.

    Only for kernels that Python calls and whose numbers are whole, or are added in an order that is told.
    Small tables are laid out by many such kernels, which take far longer to compile than to run. What is on
    disk already is used from the first.
    """
    return cast(F, wraps(function)(_Patient(function))) if COMPILES else _interpreted(function)


class _Patient:
    """A kernel that is compiled when its arrays are large, or it has cost `EASY` without that."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.compiled: Any = _compiled(function, compact=True)
        self._function, self._left = function, min(EASY, promote.PATIENCE)

    def __call__(self, *arguments: Any) -> Any:
        if self._left <= 0.0 or _numbers_in(arguments) > SMALL or hooks.is_stored(self._function):
            self._left = 0.0
            return self.compiled(*arguments)
        began = time.perf_counter()
        try:
            return _plain(self._function)(*arguments)
        finally:
            self._left -= time.perf_counter() - began


def _numbers_in(arguments: tuple[Any, ...]) -> int:
    """Return how many numbers there are in arrays and tuples of them."""
    return sum(_numbers_in(one) if isinstance(one, tuple) else getattr(one, "size", 1) for one in arguments)


@cache
def _plain(function: Callable[..., object]) -> Callable[..., object]:
    """Return a kernel that runs as Python does, with all kernels that it calls."""
    used: dict[str, Any] = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    plain = {name: _plain(one.py_func) for name, one in used.items() if hasattr(one, "py_func")}
    made = FunctionType(function.__code__, function.__globals__ | plain, function.__name__)
    return _interpreted(made)


def _compiled(function: F, makes_arrays: bool = False, compact: bool = False, **settings: Any) -> F:
    if not COMPILES:
        return _interpreted(function)
    settings = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"reassoc", "contract"},
        "no_cfunc_wrapper": True,
    } | settings
    return cast(F, hooks.compiled_by(function, makes_arrays, compact, settings))


def _interpreted(function: F) -> F:
    """Return the function as it is, but integers wrap round and zero divides in silence, as if compiled."""

    @wraps(function)
    def run(*arguments: Any) -> object:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return cast(F, run)
