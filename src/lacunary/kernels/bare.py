"""Kernels that allocate nothing and count no references.

Numba counts a reference whenever an array is taken out of a tuple or handed to a function. On a cell of
four configurations that is nine tenths of the time. Code that only works on arrays its caller holds has no
need of it; such code must not make arrays of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["bare", "bare_inlined"]

F = TypeVar("F", bound=Callable[..., object])

OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}, "_nrt": False}


def bare(function: F) -> F:
    """Compile code that allocates nothing, without counting references, and keep it on disk."""
    return _compiled(function, forceinline=False)


def bare_inlined(function: F) -> F:
    """Compile a piece of such code that is always merged into its caller."""
    return _compiled(function, forceinline=True)


def _compiled(function: F, *, forceinline: bool) -> F:
    njit: Any = numba.njit
    try:
        return cast(F, njit(cache=True, forceinline=forceinline, **OPTIONS)(function))
    except RuntimeError:  # no folder on this machine can be written to
        return cast(F, njit(forceinline=forceinline, **OPTIONS)(function))
