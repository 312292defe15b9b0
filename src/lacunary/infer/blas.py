"""BLAS on one thread: where its products are small and stand between kernels that run on all cores.

Threads of OpenBLAS wait for the next product by running, for some hundredths of a second: what they gain on
small matrices is less than what kernels lose that share the cores with them meanwhile.
"""

from __future__ import annotations

import ctypes
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


_lock, _before = Lock(), list[list[int]]()
"""One entry for each who is within: the first has what there was before, which the last puts back."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Have the BLAS of NumPy and SciPy use one thread in all of this process, where it is OpenBLAS."""
    libraries = _libraries()
    with _lock:
        _before.append([get() for get, _ in libraries])
        for _, put in libraries:
            put(1)
    try:
        yield
    finally:
        with _lock:
            first = _before[0]
            _before.pop()
            if not _before:
                for (_, put), many in zip(libraries, first, strict=True):
                    put(many)


@cache
def _libraries() -> list[tuple[Callable[[], int], Callable[[int], object]]]:
    """Return, for each library, what gets and what sets its number of threads."""
    found = []
    for package, folder in product((np, scipy), FOLDERS):
        home = Path(package.__file__).parent / folder.format(package.__name__)
        for path in sorted(home.glob("*openblas*")):
            library = ctypes.CDLL(str(path))  # it is loaded already: this is a handle to it
            for name in NAMES:
                if hasattr(library, name.format("set")):
                    found.append((getattr(library, name.format("get")), getattr(library, name.format("set"))))
                    break
    return found
