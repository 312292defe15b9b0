"""What happens where exact inference does not fit: an approximation that is announced, or a refusal.

A verb that may fall back on chains says so once, with an `ApproximationWarning`, when it is done; asked with
``exact=True`` it raises the error that says why exact inference does not fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from lacunary.errors import ApproximationWarning, TooWideError

__all__ = ["announced", "approximate", "exact_only", "exactly"]

P = ParamSpec("P")
R = TypeVar("R")

_forbidden: ContextVar[bool] = ContextVar("exact only", default=False)
_noted: ContextVar[list[str] | None] = ContextVar("approximations", default=None)


def exact_only() -> bool:
    """Return whether approximations are forbidden."""
    return _forbidden.get()


def approximate(what: str, why: TooWideError, exact: bool | None = None) -> None:
    """Note that something is approximated because it does not fit; raise why, where that is forbidden."""
    if exact_only() if exact is None else exact:
        raise why
    said, noted = f"{what}, because exact inference does not fit: {why}", _noted.get()
    if noted is None:
        _warn(said, 'warnings.simplefilter("error", lacunary.ApproximationWarning) forbids approximations')
    else:
        noted.append(said)


class exactly:
    """Forbid approximations inside, or allow them; what is forbidden outside stays so."""

    def __init__(self, exact: bool = True) -> None:
        self._exact = exact

    def __enter__(self) -> None:
        self._noted: list[str] | None = [] if _noted.get() is None else None  # none: who is outside tells
        self._forbidding = _forbidden.set(True) if self._exact else None
        self._noting = _noted.set(self._noted) if self._noted is not None else None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._noting is not None:
            _noted.reset(self._noting)
        if self._forbidding is not None:
            _forbidden.reset(self._forbidding)
        if self._noted and kind is None:
            _warn(self._noted[0], "exact=True forbids approximations")


def announced(verb: Callable[P, R]) -> Callable[P, R]:
    """Return a verb that heeds its option ``exact``, and announces approximations once."""

    @wraps(verb)
    def within(*args: P.args, **options: P.kwargs) -> R:
        with exactly(bool(options.get("exact", False))):
            return verb(*args, **options)

    return within


def _warn(said: str, remedy: str) -> None:
    warnings.warn(f"{said}\n{remedy}", ApproximationWarning, stacklevel=4)
