"""What JSON can hold: no NaN, no arrays of NumPy."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(thing: Any) -> Any:
    """Return a thing made of what JSON has; a number that is none becomes null."""
    if isinstance(thing, dict):
        return {str(key): plain(value) for key, value in thing.items()}
    if isinstance(thing, np.ndarray):
        return plain(thing.tolist())
    if isinstance(thing, list | tuple | set | frozenset):
        return [plain(value) for value in thing]
    if isinstance(thing, np.generic):
        return plain(thing.item())
    return None if isinstance(thing, float) and not isfinite(thing) else thing
