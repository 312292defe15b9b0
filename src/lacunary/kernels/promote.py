"""Compile modules of plain functions, all of them, when that pays; until then they run as they stand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["LOADING", "PATIENCE", "in_use", "is_due", "is_promoted", "promote", "spend"]

LOADING = 0.2
"""Seconds that a process spends on plain functions before it loads compiled ones, if they are on disk."""

PATIENCE = 0.5
"""Seconds that it spends on them before they are compiled: ten times as long, once per machine.

Who has asked for so long keeps asking, and has answers in a thirtieth of the time from then on.
"""

_twins: dict[str, ModuleType] = {}
"""By their names, the compiled forms of modules."""

_spent = [0.0]
_lock = Lock()


def spend(seconds: float) -> None:
    """Count seconds that were spent on plain functions."""
    _spent[0] += seconds


def is_due(*functions: Callable[..., object]) -> bool:
    """Return whether enough was spent, or a plain function's compiled form is on disk and quick to load."""
    if _spent[0] >= PATIENCE:
        return True
    if _spent[0] <= LOADING and "lacunary.kernels.compile" not in sys.modules:
        return False
    from lacunary.kernels.hooks import is_stored

    return any(map(is_stored, functions))


def is_promoted(module: ModuleType) -> bool:
    """Return whether a module's functions are compiled."""
    return module.__name__ in _twins


def in_use(module: ModuleType) -> ModuleType:
    """Return a module whose functions are compiled, if they are; else the one given."""
    return _twins.get(module.__name__, module)


def promote(*modules: ModuleType) -> None:
    """Have modules of plain functions that call each other compiled; `in_use` returns them from then on.

    Python can call those that a module lists as its ``ENTRIES``; all others are compiled as parts of them.
    Sums keep their order, so that both forms give the same numbers to the last bit. The plain functions stay
    what they are, as other threads may be in the midst of them.
    """
    with _lock:
        new = [module for module in modules if module.__name__ not in _twins]
        twins = {module.__name__: ModuleType(module.__name__) for module in new}
        for module in new:
            _fill(twins[module.__name__].__dict__, module, twins)
        _twins.update(twins)


def _fill(own: dict[str, Any], module: ModuleType, twins: dict[str, ModuleType]) -> None:
    """Give a module's twin all that the module has: functions compiled, and other modules' twins."""
    from lacunary.kernels.compile import faithful, faithful_piece

    for name, held in vars(module).items():
        own[name] = twins.get(held.__name__, held) if isinstance(held, ModuleType) else held
        if isinstance(held, FunctionType) and held.__module__ == module.__name__:
            decorate = faithful if name in module.ENTRIES else faithful_piece
            own[name] = decorate(_copied(held, own))


def _copied(function: FunctionType, own: dict[str, Any]) -> FunctionType:
    """Return a function that finds what it calls among other names."""
    copy = FunctionType(function.__code__, own, function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy
