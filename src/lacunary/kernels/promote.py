"""Compile modules of plain functions, all of them, when that pays; until then they run as they stand."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["LOADING", "PATIENCE", "are_stored", "in_use", "is_due", "is_promoted", "promote", "spend"]

LOADING = 0.2
"""Seconds that a process spends on plain functions before it loads compiled ones, if they are on disk."""

LOADED = 0.05
"""Seconds of that where the compiler's own modules are there already, which is most of what is loaded."""

PATIENCE = 0.5
"""Seconds that it spends on them before they are compiled, by another process if there can be one.

Who has asked for so long keeps asking, and has answers in a thirtieth of the time from then on.
"""

KEEN = 10
"""Questions after which compiled ones are loaded, if they are on disk, however short these questions were."""

LOOK = 0.1
"""Seconds spent on plain functions after which it is looked again whether compiled ones are there."""

_twins: dict[str, ModuleType] = {}
"""By their names, the compiled forms of modules."""

_spent = [0.0]
_times = [0]
_look = [0.0]
"""Seconds spent, in how many questions, and the seconds that it takes until the store is looked at next."""

_lock = Lock()


def spend(seconds: float) -> None:
    """Count seconds that a question has spent on plain functions."""
    _spent[0] += seconds
    _times[0] += 1


def is_due(*modules: ModuleType, here: bool = False) -> bool:
    """Return whether to run modules' functions compiled from now on.

    They are on disk and enough was spent, or asked, to load them; or more was spent, and no other process
    compiles them, or they are to be compiled by this one.
    """
    spent = _spent[0]
    if spent < _look[0] or (_times[0] < KEEN and spent < min(_loading(), PATIENCE)):
        return False
    _look[0] = spent + LOOK
    if are_stored(*modules):
        return True
    if spent < PATIENCE:
        return False
    from lacunary.kernels import ahead

    return here or not ahead.is_at_work()


def _loading() -> float:
    return LOADED if "lacunary.kernels.compile" in sys.modules else LOADING


def are_stored(*modules: ModuleType) -> bool:
    """Return whether all that Python calls is on disk; the compiler is loaded only where that may be."""
    from lacunary.kernels import store

    entries = [getattr(module, name) for module in modules for name in module.ENTRIES]
    names = [f"{one.__module__.rpartition('.')[2]}.{one.__name__}" for one in entries]
    with suppress(OSError):
        if "lacunary.kernels.compile" in sys.modules or not any(map(store.is_cold, names)):
            from lacunary.kernels import hooks

            return hooks.are_stored(entries)
    return False


def is_promoted(module: ModuleType) -> bool:
    """Return whether a module's functions are compiled."""
    return module.__name__ in _twins


def in_use(module: ModuleType) -> ModuleType:
    """Return a module whose functions are compiled, if they are; else the one given."""
    return _twins.get(module.__name__, module)


def promote(*modules: ModuleType) -> None:
    """Have modules of plain functions, and those that they call, compiled; `in_use` returns them then.

    Python can call those that a module lists as its ``ENTRIES``; all others are compiled as parts of them.
    Sums keep their order, so that both forms give the same numbers to the last bit. The plain functions stay
    what they are, as other threads may be in the midst of them.
    """
    with _lock:
        new = [module for module in _with_called(modules) if module.__name__ not in _twins]
        twins = {module.__name__: ModuleType(module.__name__) for module in new}
        for module in new:
            _fill(twins[module.__name__].__dict__, module, _twins | twins)
        _twins.update(twins)


def _with_called(modules: Iterable[ModuleType]) -> list[ModuleType]:
    """Return modules of plain functions, and all such modules that they call."""
    found = list(modules)
    for module in found:
        for held in vars(module).values():
            if isinstance(held, ModuleType) and hasattr(held, "ENTRIES") and held not in found:
                found.append(held)
    return found


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
