"""The decorators of all kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numba
import numpy as np

from lacunary.kernels import hooks

__all__ = ["COMPILES", "bare", "called", "faithful", "inlined", "kernel", "unfolded"]

F = TypeVar("F", bound=Callable[..., object])

COMPILES = not numba.config.DISABLE_JIT
"""Whether kernels are compiled; with ``NUMBA_DISABLE_JIT=1`` they run as Python, for looking into them."""


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


def bare(function: F) -> F:
    """Compile a kernel that makes no arrays of its own, and so need not count references."""
    return _compiled(function)


def inlined(function: F) -> F:
    """Compile a piece that is always merged into its kernel; it is bare, and cannot be called from Python."""
    return _compiled(function, forceinline=True, no_cpython_wrapper=True)


def unfolded(function: F) -> F:
    """Compile a piece as if its text stood in its kernel; it is bare, and may return views of arrays."""
    return _compiled(function, inline="always", no_cpython_wrapper=True)


def called(function: F) -> F:
    """Compile a piece that kernels call as a function: it is long, or rarely needed; it is bare."""
    return _compiled(function, no_cpython_wrapper=True)


def _compiled(function: F, makes_arrays: bool = False, **settings: Any) -> F:
    if not COMPILES:
        return _interpreted(function)
    settings = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"reassoc", "contract"},
        "no_cfunc_wrapper": True,
    } | settings
    return cast(F, hooks.compiled_by(function, makes_arrays, settings))


def _interpreted(function: F) -> F:
    """Return the function as it is, but integers wrap round and zero divides in silence, as if compiled."""

    @wraps(function)
    def run(*arguments: Any) -> object:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return cast(F, run)
