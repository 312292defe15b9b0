"""The decorators of all kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, TypeVar, cast

import numba
from llvmlite import binding
from numba.core import caching
from numba.core.runtime import _nrt_python, rtsys

__all__ = ["bare", "called", "inlined", "kernel", "unfolded"]

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


def unfolded(function: F) -> F:
    """Compile a piece as if its text stood in its kernel; it alone may return views of arrays."""
    return _compiled(function, _nrt=False, inline="always", no_cpython_wrapper=True)


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
    compiled._cache = _Stored(compiled.py_func, makes_arrays=options.get("_nrt", True))
    return cast(F, compiled)


class _Stored:
    """Machine code on disk, looked for when it is needed and loaded as it is; see `numba.core.caching.Cache`.

    Numba would first import all that it can compile, and compile its own memory management: a third of a
    second that code which is compiled already, and makes no arrays, does not need. What has to be compiled
    does so then.
    """

    def __init__(self, function: Callable[..., object], makes_arrays: bool) -> None:
        self._function = function
        self._makes_arrays = makes_arrays

    @cached_property
    def _files(self) -> Any:
        try:
            return caching.FunctionCache(self._function)
        except RuntimeError:  # no folder on this machine can be written to
            return caching.NullCache()

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for these types if it is there."""
        if isinstance(self._files, caching.NullCache):
            return None
        if self._makes_arrays:
            rtsys.initialize(target)
        else:
            _name_helpers()
        with self._files._guard_against_spurious_io_errors():
            return self._files._load_overload(signature, target)

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep the code for these types."""
        self._files.save_overload(signature, code)

    def flush(self) -> None:
        """Forget what is on disk."""
        self._files.flush()

    @property
    def cache_path(self) -> Any:
        """Where the files are."""
        return self._files.cache_path


@cache
def _name_helpers() -> None:
    """Tell the linker where the functions are by which arrays are taken from Python."""
    for name, address in _nrt_python.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
