"""The decorators of all kernels."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from numba.core import caching
from numba.core.runtime import rtsys

__all__ = ["bare", "called", "inlined", "kernel"]

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile to machine code that runs without the interpreter's lock, and keep it on disk.

    Where no folder is writable the code is compiled afresh in each process. Division follows
    NumPy (no check for zero); sums may be reassociated and products fused, but NaN and infinity
    keep their meaning.
    """
    return _compiled(function)


def bare(function: F) -> F:
    """Compile a kernel that makes no arrays of its own, and so need not count references.

    Numba counts one whenever an array is taken out of a tuple, which on small cells is most of the time.
    """
    return _compiled(function, _nrt=False)


def inlined(function: F) -> F:
    """Compile a piece that is always merged into its kernel; it is bare, and cannot be called from Python."""
    return _compiled(function, _nrt=False, forceinline=True, no_cpython_wrapper=True)


def called(function: F) -> F:
    """Compile a piece that kernels call as a function: it is long, or rarely needed; it is bare."""
    return _compiled(function, _nrt=False, no_cpython_wrapper=True)


def _compiled(function: F, **options: Any) -> F:
    njit: Any = numba.njit
    options |= {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"reassoc", "contract"},
        "no_cfunc_wrapper": True,
    }
    compiled = njit(**options)(function)
    with suppress(RuntimeError):  # no folder on this machine can be written to
        compiled._cache = _Stored(compiled.py_func)
    return cast(F, compiled)


class _Stored(caching.FunctionCache):  # type: ignore[misc]
    """Machine code on disk, loaded as it is.

    Numba would first import all that it can compile, a quarter of a second, which code that is compiled
    already does not need; what has to be compiled imports it then.
    """

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for these types if it is there; see `numba.core.caching.Cache`."""
        rtsys.initialize(target)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, target)
