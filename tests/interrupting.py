"""Interrupts at a chosen moment, as Ctrl-C would make them."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["stop_after"]


def stop_after(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, calls: int) -> None:
    """Interrupt the call after so many of a method or function."""
    whole, left = getattr(owner, name), iter(range(calls))

    def stopped(*given: Any, **options: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return whole(*given, **options)

    monkeypatch.setattr(owner, name, stopped)
