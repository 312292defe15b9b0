"""The decorators of all kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

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
    try:
        return cast(F, njit(cache=True, **options)(function))
    except RuntimeError:  # no folder on this machine can be written to
        return cast(F, njit(**options)(function))
