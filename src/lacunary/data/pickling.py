"""What of an object is copied and pickled."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

__all__ = ["given_state"]


def given_state(held: Any) -> dict[str, Any]:
    """Return the fields of a dataclass without what it has worked out from them and can work out again."""
    return {one.name: held.__dict__[one.name] for one in fields(held)}
