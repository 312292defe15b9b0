"""One budget of memory, asked before anything large is allocated.

It is what the machine has available, or the container, or the limit on the process's address space, whichever
is least; and no more than ``lacunary.memory``, or the environment variable ``LACUNARY_MEMORY``, says the
process may use. What would not fit is refused at once, by name, with what to do.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from lacunary.errors import BudgetError, LacunaryError, ParameterError

try:
    import resource
except ImportError:  # pragma: no cover - a system without limits
    resource = None  # type: ignore[assignment]

__all__ = ["Bytes", "budgeted", "check_engine", "memory", "parsed", "reserve", "room", "said"]

log = logging.getLogger("lacunary")
"""Verbs tell it, as they end, how long they took; nobody hears unless asked to (level DEBUG)."""

P = ParamSpec("P")
R = TypeVar("R")

SMALL = 16 * 2**20
"""Bytes that can always be had: looking would take longer than having them."""

ENGINE, BLAS = 512 * 2**20, 64 * 2**20
"""Address space that compiled code and libraries take when loaded, and each thread of linear algebra."""

LACKING = re.compile(
    r"SystemError\(.*exception|RuntimeError\(.*can't allocate|AttributeError\(.*no attribute '__class__'",
    re.DOTALL,
)
"""Errors of libraries whose allocation failed, and that did not say so by their name."""

UNREAD = (MemoryError, TypeError, RuntimeError)
"""Who asks how much memory there is may have none to ask with, which Python may call a type or a lock."""

CONTROL_GROUPS = Path("/sys/fs/cgroup")
PROCESS = Path("/proc/self")
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {f"{unit}i": 2 ** (10 * power) for power, unit in enumerate("kmgt", 1)}

UNCHANGED: Any = object()
_set: list[int] = []
"""What Python code said last; empty: nothing."""

MOMENT = 0.1
_looked: list[float] = []
"""When room was last looked for, and what was found."""


class Bytes(int):
    """A number of bytes; as a context it puts the limit before it back at the end."""

    _before: list[int]

    def __str__(self) -> str:
        return said(self)

    __repr__ = __str__

    def __enter__(self) -> Bytes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set[:] = self._before
        _looked.clear()


def memory(limit: str | float | None = UNCHANGED, /) -> Bytes:
    """Return how much memory can be allocated now, and set how much the process may use if a limit is given.

    What would need more is refused with a `BudgetError` before it is allocated. No result depends on it.

    Parameters
    ----------
    limit
        Bytes, or a text such as "2 GB" or "500MiB", from now on, in the whole process; None: what the
        environment variable ``LACUNARY_MEMORY`` says, or else all there is. Without it the limit stays.

    Returns
    -------
    Bytes
        What can be allocated now, an int: the limit less what the process has, and no more than the machine,
        its container and ``ulimit -v`` leave. In a ``with`` statement the limit before comes back at the end.

    Examples
    --------
    >>> import lacunary as lac
    >>> with lac.memory("1 GB"):
    ...     lac.memory() < 1e9
    True
    """
    before = [*_set]
    if limit is not UNCHANGED:
        _set[:] = [] if limit is None else [parsed(limit, "memory(limit)")]
    _looked.clear()
    now = Bytes(room())
    now._before = before
    return now


def room() -> int:
    """Return how many bytes can be allocated now; looked up again after a moment."""
    if not _looked or monotonic() - _looked[0] > MOMENT:
        try:
            found = min(_rooms(), default=2**62)
        except UNREAD:
            found = 0
        _looked[:] = [monotonic(), max(found, SMALL)]
    return int(_looked[1])


def reserve(needed: float, what: str, advice: str, kind: type[BudgetError] = BudgetError) -> None:
    """Refuse what needs more bytes than there are, before it is allocated; say what to do instead."""
    if needed > SMALL and needed > (left := room()):
        raise kind(f"{what} would need about {said(needed)} of memory, and {said(left)} can be had; {advice}")


def said(count: float) -> str:
    """Return a number of bytes in words."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.3g} {unit}" if count < 1000 * size else f"{count / size:,.0f} {unit}"
    return f"{count / 1e3:.3g} kB"


def check_engine() -> None:
    """Refuse to load compiled code and libraries where the address space is too small: they would hang."""
    if "scipy.special" in sys.modules and "numba" in sys.modules:
        return
    if not _bounds():
        return
    left = min(_address_space(), default=None)
    if left is not None and left < (needed := ENGINE + BLAS * _blas_threads()):
        raise BudgetError(
            f"loading compiled code would need about {said(needed)} of address space, and the limit on the "
            f"process leaves {said(left)}; raise it, with ulimit -v"
        )


def budgeted(verb: Callable[P, R]) -> Callable[P, R]:
    """Return a verb that heeds its option ``memory``, and says by name where memory ran out."""

    @wraps(verb)
    def within(*args: P.args, **options: P.kwargs) -> R:
        began, limit = monotonic(), cast("str | float | None", options.get("memory"))
        try:
            check_engine()
            if limit is None:
                found = verb(*args, **options)
            else:
                with memory(limit):
                    found = verb(*args, **options)
        except LacunaryError as problem:
            log.debug("%s refused after %.3g s: %s", verb.__name__, monotonic() - began, problem)
            raise
        except MemoryError as problem:
            raise ran_out(verb.__name__, problem) from problem
        except (SystemError, RuntimeError, AttributeError) as problem:
            if LACKING.match(repr(problem)):
                raise ran_out(verb.__name__, problem) from problem
            raise
        log.debug("%s took %.3g s", verb.__name__, monotonic() - began)
        return found

    return within


def ran_out(what: str, problem: Exception) -> BudgetError:
    """Return the error that memory ran out in the midst of something."""
    asked = f" ({problem})" if str(problem) else ""
    return BudgetError(
        f"{what}: memory ran out{asked}, and {said(room())} can be had; take fewer rows, states, parents or "
        "starts, or give the process more"
    )


def _rooms() -> Iterator[int]:
    """Yield what each limit leaves, as far as the system tells."""
    limit = _limit()
    if limit is not None:
        yield limit - _resident()
    yield from _machine()
    yield from _groups()
    yield from _address_space()


def _limit() -> int | None:
    if _set:
        return _set[0]
    text = os.environ.get("LACUNARY_MEMORY", "").strip()
    return parsed(text, "LACUNARY_MEMORY") if text else None


def parsed(limit: str | float, where: str) -> int:
    """Return a number of bytes that was given as such, or as a text such as "2 GB"."""
    match = re.fullmatch(r"\s*([\d.]+(?:e[+-]?\d+)?)\s*([kmgt]i?)?b?\s*", str(limit).lower())
    try:
        count = float(match[1]) * UNITS[match[2] or ""] if match else -1.0
    except ValueError:
        count = -1.0
    if not 0 < count < 2**62 or isinstance(limit, bool):
        raise ParameterError(
            f"{where}: a limit of memory is a text such as '2 GB' or '500MiB', not {limit!r}"
        )
    return int(count)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError, *UNREAD):
        return ""


def _resident() -> int:
    """Return how many bytes of memory are the process's own; files that are mapped are given up at need."""
    pages = _text(PROCESS / "statm").split()
    return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 2 else 0


def _machine() -> Iterator[int]:
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _text(Path("/proc/meminfo")), re.M)
    if found:
        yield int(found[1]) * 1024
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 0.75)


def _groups() -> Iterator[int]:
    """Yield what the process's own control group leaves, and each group that it is in."""
    for line in _text(PROCESS / "cgroup").splitlines():
        number, kinds, own = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not kinds:
            yield from _up(CONTROL_GROUPS, own, "memory.max", "memory.current", "inactive_file")
        elif "memory" in kinds.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _up(CONTROL_GROUPS / "memory", own, *files)


def _up(root: Path, own: str, most: str, used: str, cached: str) -> Iterator[int]:
    """Yield what a group leaves, and those above it; a path that is not there is another namespace's."""
    group = root / own.strip("/")
    group = group if group.is_dir() and ".." not in own else root
    while True:
        limit, current = _text(group / most).strip(), _text(group / used).strip()
        if limit.isdecimal() and current.isdecimal() and int(limit) < 2**60:
            found = re.search(rf"^{cached} (\d+)$", _text(group / "memory.stat"), re.M)
            yield int(limit) - int(current) + (int(found[1]) if found else 0)  # which the system takes back
        if group == root:
            return
        group = group.parent


def _bounds() -> list[tuple[int, int]]:
    """Return the limits on the process's own memory, each with where in ``statm`` stands what it is about."""
    if resource is None:  # pragma: no cover - no such limits
        return []
    found = (resource.getrlimit(resource.RLIMIT_AS)[0], 0), (resource.getrlimit(resource.RLIMIT_DATA)[0], 5)
    return [bound for bound in found if bound[0] != resource.RLIM_INFINITY]


def _address_space() -> Iterator[int]:
    """Yield what the limits on the process's own memory leave."""
    bounded = _bounds()
    pages = _text(PROCESS / "statm").split() if bounded else []
    for most, place in bounded:
        if len(pages) > place:
            yield most - int(pages[place]) * os.sysconf("SC_PAGE_SIZE")


def _blas_threads() -> int:
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        if os.environ.get(name, "").isdecimal():
            return max(int(os.environ[name]), 1)
    return min(os.cpu_count() or 1, 64)
