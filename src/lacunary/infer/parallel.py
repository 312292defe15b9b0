"""Threads: kernels release the interpreter's lock, so plain threads keep all cores busy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import chain
from typing import TypeVar

__all__ = ["in_parallel"]

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(function: Callable[[T], R], tasks: Iterable[T]) -> Iterable[R]:
    """Apply a function that releases the interpreter's lock to all tasks; results in the tasks' order."""
    listed = list(tasks)
    if len(listed) < 2 or _threads() < 2:
        return map(function, listed)
    pool = _pool(os.getpid())
    others = [pool.submit(function, task) for task in listed[1:]]
    # The first is done here meanwhile: waking another thread takes longer than some tasks do.
    return chain([function(listed[0])], (other.result() for other in others))


def _threads() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the threads of this process; a forked child must not inherit its parent's."""
    return ThreadPoolExecutor(_threads(), thread_name_prefix="lacunary")
