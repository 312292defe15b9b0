"""While kernels are compiled, as nothing on disk has them: who wants to know, and what must wait."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["listeners", "uncollected", "uninterrupted"]

listeners: list[Callable[[str], None]] = []
"""Each is told the name of a kernel before it is compiled."""

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""What may end a run."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave garbage where it is until the block is over: the compiler makes much, and keeps most of it."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals that may end a run back until the block is over.

    An interrupt in the midst of a compilation is lost in a callback from C, or leaves the compiler with half
    a function that it believes to be whole.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    waiting: list[tuple[int, Any]] = []
    held = [number for number, handler in handlers.items() if callable(handler)]
    for number in held:
        signal.signal(number, lambda *arrived: waiting.append(arrived))
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, handlers[number])
        for number, frame in waiting[:1]:
            handlers[number](number, frame)  # type: ignore[operator, misc]
