"""Units for tests of the frame: top-level functions, so that other processes find them."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path


def shrug(number: int) -> int:
    """Return all the same when interrupted, as a sampler does with what it has."""
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    return number


def double(number: int) -> int:
    return 2 * number


def double_once(number: int, folder: str) -> int:
    """Double, leave a mark of having been called, and fail on seven."""
    if number == 7:
        raise KeyboardInterrupt
    with (Path(folder) / "calls.txt").open("a") as file:
        file.write(f"{number}\n")
    return 2 * number
