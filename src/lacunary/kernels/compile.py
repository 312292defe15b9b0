"""The one decorator for all kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["called", "inlined", "kernel"]

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile to machine code that runs without the interpreter's lock, and keep it on disk.

    Where no folder is writable the code is compiled afresh in each process. Division follows
    NumPy (no check for zero); sums may be reassociated and products fused, but NaN and infinity
    keep their meaning.
    """
    return _compiled(function, forceinline=False)


def inlined(function: F) -> F:
    """Compile a piece of a kernel that is always merged into it: a call would cost more than the work."""
    return _compiled(function, forceinline=True)


def called(function: F) -> F:
    """Compile a piece of a kernel that is called as a function: it is long, and used in several places."""
    return _compiled(function, forceinline=False, from_python=False)


def _compiled(function: F, *, forceinline: bool, from_python: bool = True) -> F:
    njit: Any = numba.njit
    options = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"reassoc", "contract"},
        "forceinline": forceinline,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": forceinline or not from_python,
    }
    try:
        return cast(F, njit(cache=True, **options)(function))
    except RuntimeError:  # no folder on this machine can be written to
        return cast(F, njit(**options)(function))
