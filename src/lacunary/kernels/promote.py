"""Compile a module of plain functions, all of it, when that pays; until then it runs as it stands."""

from __future__ import annotations

from threading import Lock
from types import FunctionType, ModuleType

__all__ = ["is_promoted", "promote"]

_promoted: set[str] = set()
_lock = Lock()


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
