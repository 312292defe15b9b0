"""Compile a module of plain functions, all of it, when that pays; until then it runs as it stands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock
from types import FunctionType, ModuleType

__all__ = ["LOADING", "PATIENCE", "is_due", "is_promoted", "promote", "spend"]

LOADING = 0.2
"""Seconds that a process spends on plain functions before it loads compiled ones, if they are on disk."""

PATIENCE = 0.5
"""Seconds that it spends on them before they are compiled: ten times as long, once per machine.

Who has asked for so long keeps asking, and has answers in a thirtieth of the time from then on.
"""

_promoted: set[str] = set()
_spent = [0.0]
_lock = Lock()


def spend(seconds: float) -> None:
    """Count seconds that were spent on plain functions."""
    _spent[0] += seconds


def is_due(function: Callable[..., object]) -> bool:
    """Return whether enough was spent, or a plain function's compiled form is on disk and quick to load."""
    if _spent[0] >= PATIENCE:
        return True
    if _spent[0] <= LOADING and "lacunary.kernels.compile" not in sys.modules:
        return False
    from lacunary.kernels.hooks import is_stored

    return is_stored(function)


def is_promoted(module: ModuleType) -> bool:
    """Return whether a module's functions are compiled."""
    return module.__name__ in _promoted


def promote(module: ModuleType) -> None:
    """Put compiled functions in the place of a module's plain ones; they call each other by these names.

    Sums keep their order, so that both give the same numbers to the last bit.
    """
    from lacunary.kernels.compile import faithful

    with _lock:
        if module.__name__ in _promoted:
            return
        own = {
            name: held
            for name, held in vars(module).items()
            if isinstance(held, FunctionType) and held.__module__ == module.__name__
        }
        for name, function in own.items():
            setattr(module, name, faithful(function))
        _promoted.add(module.__name__)
