"""What was found, for people: as text, as pages, as figures."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    """Return what was moved: ``study`` is `lacunary.classes` now, and ``Study`` is `lacunary.Classes`."""
    if name not in ("study", "Study"):
        raise AttributeError(f"module 'lacunary.report' has no attribute {name!r}")
    from warnings import warn

    from lacunary.study.classes import classes
    from lacunary.study.result import Classes

    new = classes if name == "study" else Classes
    warn(f"lacunary.report.{name} is lacunary.{new.__name__} now", DeprecationWarning, stacklevel=2)
    return new
