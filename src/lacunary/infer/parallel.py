"""Threads: kernels release the interpreter's lock, so plain threads keep all cores busy.

No result depends on how many there are. Unless `threads` says otherwise there are as many as the least of:
the environment variable ``LACUNARY_THREADS``, the cores this process may run on, and the share of them that a
container's quota allows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache
from itertools import count
from operator import index
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, SupportsIndex, TypeVar

from lacunary.errors import ParameterError

__all__ = ["check_wanted", "in_parallel", "in_runs", "threads", "worth"]

T = TypeVar("T")
R = TypeVar("R")

UNCHANGED: Any = object()

CONTROL_GROUPS = Path("/sys/fs/cgroup")
"""Where Linux tells of the limits of a container."""


TURNS = 4
"""Runs of tasks for each thread: more would prepare more often, with fewer one thread waits for another."""

WORTH = 1.5e-4
"""Seconds of work that a thread must find. To hand it over takes a twentieth of a millisecond, and to wait
for its end another: two threads begin to gain where the work takes a quarter of a millisecond in all."""

_over: ContextVar[Callable[[], bool]] = ContextVar("over", default=lambda: False)
"""Whether what a thread is working on has ended by an error or an interrupt in another."""

_said: list[int] = []
"""What Python code said last about the number of threads; empty: nothing."""


class Threads(int):
    """A number of threads; as a context it puts the number before it back at the end."""

    _before: list[int]

    def __enter__(self) -> Threads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _said[:] = self._before


def threads(n: SupportsIndex | None = UNCHANGED, /) -> Threads:
    """Return the number of threads that kernels run on, and set it if one is given.

    Results are the same, bit for bit, on any number.

    Parameters
    ----------
    n
        So many from now on, in the whole process; None: as many as the environment allows. Without it the
        number stays as it is.

    Returns
    -------
    Threads
        The number that now holds, an int. In a ``with`` statement the number before is put back at the end.

    Examples
    --------
    >>> import lacunary as lac
    >>> with lac.threads(1):
    ...     print(lac.threads())
    1
    """
    before = [*_said]
    if n is not UNCHANGED:
        _said[:] = [] if n is None else [_whole(n, "threads(n)")]
    now = Threads(_threads())
    now._before = before
    return now


def worth(seconds: float) -> int:
    """Return on how many threads, of those that are idle, work that takes one about so many seconds pays."""
    if seconds < 2 * WORTH:  # too short, however many there are: to ask takes microseconds
        return 1
    return int(max(1.0, min(_threads() - _crew(os.getpid()).busy, seconds / WORTH)))


def in_parallel(function: Callable[[T], R], tasks: Iterable[T], seconds: float = math.inf) -> list[R]:
    """Apply a function that releases the interpreter's lock to all tasks; results in the tasks' order.

    Whoever asks works too, and every thread takes the next task when it has done one: a thread that wakes up
    late costs nothing, and one that finds no task left is not waited for. What holds for whoever asks
    (`lacunary.exactness`) holds for all; after an error or an interrupt no further task is begun.

    Parameters
    ----------
    function, tasks
        What is done, and with what. A task may ask for threads in turn: it gets those that are idle.
    seconds
        About how long all of it takes one thread: where that is too little, nobody else is asked (`worth`).
    """
    listed = list(tasks)
    wanted = min(len(listed), worth(seconds)) - 1
    if wanted < 1 or not (helpers := (crew := _crew(os.getpid())).hired(wanted)):
        return [function(task) for task in listed]
    results: list[Any] = [None] * len(listed)
    turn, ended, outer = count(), False, _over.get()

    def over() -> bool:
        return ended or outer()

    def work() -> None:
        nonlocal ended
        try:
            while not ended and (k := next(turn)) < len(listed):
                results[k] = function(listed[k])
        except BaseException:
            ended = True
            raise

    def help_out() -> None:
        _over.set(over)  # in this thread's own context
        try:
            work()
        except _Unwanted:
            pass
        finally:
            crew.freed()

    pool, others, token = crew.pool(_threads()), list[Future[None]](), _over.set(over)
    try:
        others += (pool.submit(copy_context().run, help_out) for _ in range(helpers))
        work()
    except _Unwanted:  # what has ended it comes from another thread below, or is known above
        if outer():
            raise
    finally:
        _over.reset(token)
        crew.freed(helpers - len(others) + sum(other.cancel() for other in others))
        for other in others:
            if not other.cancelled():
                other.result()
    return results


def check_wanted() -> None:
    """Leave off if what this thread works on has ended by an error or an interrupt in another meanwhile.

    Long tasks call this now and then, or whoever asked has to wait until they are done.
    """
    if _over.get()():
        raise _Unwanted


class _Unwanted(BaseException):
    """Nobody waits any more for what a thread is doing."""


def in_runs(
    function: Callable[[range], object], many: int, turns: int = TURNS, seconds: float = math.inf
) -> None:
    """Have ``many`` tasks done by a function of several neighbours, which prepares once for all of them.

    Every task must have a place of its own for what it finds: how they are cut depends on the threads.
    """
    step = -(-many // (turns * workers)) if (workers := worth(seconds)) > 1 else many
    runs = [range(first, min(first + step, many)) for first in range(0, many, max(step, 1))]
    in_parallel(function, runs, seconds)


class _Crew:
    """The threads of a process, and how many of them are busy: together never more than are allowed."""

    def __init__(self) -> None:
        self.busy, self._lock = 0, Lock()
        self.pool = cache(lambda workers: ThreadPoolExecutor(workers, thread_name_prefix="lacunary"))

    def hired(self, wanted: int) -> int:
        """Take so many threads, or as many as are idle beside whoever asks; return how many."""
        with self._lock:
            found = max(0, min(wanted, _threads() - 1 - self.busy))
            self.busy += found
        return found

    def freed(self, many: int = 1) -> None:
        """Give threads back."""
        with self._lock:
            self.busy -= many


def _threads() -> int:
    """Return what was said, or the least of the environment variable and what this process is given."""
    if _said:
        return _said[0]
    told, limits = os.environ.get("LACUNARY_THREADS"), [_cores(), _quota(CONTROL_GROUPS)]
    if told:
        limits.append(_whole(told, "the environment variable LACUNARY_THREADS"))
    return max(1, math.floor(min(limits)))


def _whole(told: SupportsIndex | str, who: str) -> int:
    """Return a number of threads; raise an error that says who asked for what is none."""
    try:
        number = int(told) if isinstance(told, str) else index(told)
    except (ValueError, TypeError):
        number = 0
    if number < 1 or isinstance(told, bool):
        raise ParameterError(f"{who} must be a whole number of threads, at least 1, not {told!r}")
    return number


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@cache
def _quota(groups: Path) -> float:
    """Return how many cores' worth of time a container may use (control groups, version 2 or 1); ∞ if any."""
    try:
        if (groups / "cpu.max").exists():
            most, period = (groups / "cpu.max").read_text().split()
        else:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            most, period = ((groups / "cpu" / name).read_text() for name in names)
        return math.inf if most == "max" or int(most) <= 0 else int(most) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


@cache
def _crew(process: int) -> _Crew:
    """Return the threads of this process; a forked child must not inherit its parent's."""
    return _Crew()
