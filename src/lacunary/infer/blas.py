"""BLAS on one thread: where its products are small and stand between kernels that run on all cores.

Threads of OpenBLAS wait for the next product by running, for some hundredths of a second: what they gain on
small matrices is less than what kernels lose that share the cores with them meanwhile.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from threading import Lock

import numpy as np
import scipy

__all__ = ["one_blas_thread"]

FOLDERS = ("../{}.libs", ".dylibs")
"""Where wheels keep their libraries: beside the package on Linux and Windows, in it on a Mac."""

NAMES = tuple(
    name + "_{}_num_threads" + end for name in ("scipy_openblas", "openblas") for end in ("64_", "")
)
"""What gets the number of threads and what sets it are called, in one build or another."""

Setter = Callable[[int], object]

_lock, _within, _before = Lock(), list[None](), dict[Path, tuple[Setter, int]]()
"""One entry for each who is within; and what there was before, which the last to leave puts back."""

_loaded: dict[Path, tuple[Callable[[], int], Setter] | None] = {}


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Have the BLAS of NumPy and SciPy use one thread in all of this process, where it is OpenBLAS."""
    with _lock:
        _within.append(None)
        for path, get, put in _libraries():
            _before.setdefault(path, (put, get()))
            put(1)
    try:
        yield
    finally:
        with _lock:
            _within.pop()
            while _before and not _within:
                put, many = _before.popitem()[1]
                put(many)


def _libraries() -> Iterator[tuple[Path, Callable[[], int], Setter]]:
    """Go over the libraries that are loaded: where each is, and what gets and sets its number of threads."""
    for path in _paths():
        if path not in _loaded:
            try:
                library = ctypes.CDLL(str(path), mode=ctypes.DEFAULT_MODE | getattr(os, "RTLD_NOLOAD", 0))
            except OSError:  # nobody has loaded it
                continue
            name = next((name for name in NAMES if hasattr(library, name.format("set"))), None)
            _loaded[path] = (
                None if name is None else (library[name.format("get")], library[name.format("set")])
            )
        if (found := _loaded[path]) is not None:
            yield path, *found


@cache
def _paths() -> list[Path]:
    homes = [
        Path(package.__file__).parent / folder.format(package.__name__)
        for package, folder in product((np, scipy), FOLDERS)
    ]
    return [path for home in homes for path in sorted(home.glob("*openblas*"))]
