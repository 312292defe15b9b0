"""What libraries in Rust print of their own where they panic, which is kept from the prompt's one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["at_the_prompt", "hushed"]

STDERR = 2
_prompt: list[bool] = []
_lock = Lock()
_kept: list[int] = []
"""Standard error as it was, once for each reader that is at work; the first has the real one."""


def at_the_prompt() -> None:
    """Have `hushed` do something: this process is a command's, and its standard error nobody else's."""
    _prompt[:] = [True]


@contextmanager
def hushed() -> Iterator[None]:
    """Keep from standard error what a library says there while it reads, at the prompt alone.

    A damaged file makes it panic, of which it prints a page before it raises what becomes a named error.
    """
    if not _prompt or not _turned():
        yield
        return
    try:
        yield
    finally:
        with _lock:
            kept = _kept.pop()
            if not _kept:
                os.dup2(kept, STDERR)
            os.close(kept)


def _turned() -> bool:
    """Turn standard error away; tell whether there is one."""
    with _lock:
        try:
            kept = os.dup(_kept[0] if _kept else STDERR)
        except OSError:
            return False
        _kept.append(kept)
        if len(_kept) == 1:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, STDERR)
            os.close(null)
        return True
