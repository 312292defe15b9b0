"""Threads: kernels release the interpreter's lock, so plain threads keep all cores busy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count
from typing import Any, TypeVar

__all__ = ["in_parallel"]

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(function: Callable[[T], R], tasks: Iterable[T]) -> list[R]:
    """Apply a function that releases the interpreter's lock to all tasks; results in the tasks' order.

    Whoever asks works too, and every thread takes the next task when it has done one: a thread that wakes up
    late costs nothing, and one that finds no task left is not waited for.
    """
    listed = list(tasks)
    helpers = min(len(listed), _threads()) - 1 if len(listed) > 1 else 0
    if helpers < 1:
        return [function(task) for task in listed]
    results: list[Any] = [None] * len(listed)
    turn = count()

    def work() -> None:
        while (k := next(turn)) < len(listed):
            results[k] = function(listed[k])

    others = [_pool(os.getpid()).submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        for other in others:
            if not other.cancel():
                other.result()
    return results


def _threads() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the threads of this process; a forked child must not inherit its parent's."""
    return ThreadPoolExecutor(_threads(), thread_name_prefix="lacunary")
